"""The names of the verdicts, apart from how one is reached: what only shows them need not load a prover."""

VERDICTS = ("exact", "rounded", "chained", "truncated", "wrong", "undecided")
PASSING = ("exact", "rounded", "chained")
