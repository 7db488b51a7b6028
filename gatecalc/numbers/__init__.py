"""Numbers with a guarantee: proved values, printed figures, verdicts, and hand-run tables."""
