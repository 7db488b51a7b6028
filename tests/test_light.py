"""What the light commands load, and so how fast they start."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Each costs more than a light command may: numbers, algebra, and what is slow to load of the standard library.
HEAVY = [
    "sympy", "numpy", "mpmath", "flint", "fractions", "decimal", "dataclasses", "pathlib", "tomllib", "difflib",
    "importlib.resources", "importlib.metadata", "gatecalc.counts.layouts", "gatecalc.numbers.algebra",
]  # fmt: skip

LIGHT = [
    ["--help"],
    ["--version"],
    ["count", "lstm", "--input", "3", "--hidden", "5"],
    ["count", "gru_reset_after", "--input", "3", "--hidden", "5", "--layers", "2", "--bidirectional", "--steps", "6"],
    ["fair", "lstm:5", "gru", "--input", "3"],
    ["fair", "lstm:5", "--all", "--input", "3"],
    ["fair", "lstm", "gru", "--input", "3", "--width", "1..512"],
]


@pytest.mark.parametrize("arguments", LIGHT, ids=" ".join)
def test_a_light_command_loads_nothing_heavy(arguments: list[str]) -> None:
    """Neither SymPy nor NumPy, nor anything that click alone would not need and that takes a millisecond."""
    code = f"""
import sys, click
before = set(sys.modules)
from gatecalc.cli import main
try:
    main({arguments!r})
except SystemExit as end:
    assert not end.code, end.code
new = set(sys.modules) - before
sys.exit(", ".join(name for name in {HEAVY!r} if name in new) or 0)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout
