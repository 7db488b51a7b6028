"""How long a command takes from the shell, as a ratio to the import that it cannot avoid.

    python benchmarks/startup.py [RUNS] > benchmarks/results/startup-DATE.md

Whole processes, one after the other in turn, so that a busy machine slows all of them alike; medians of RUNS (21).
"""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from datetime import date

HERE = os.path.dirname(os.path.abspath(__file__))
GATECALC = shutil.which("gatecalc", path=os.path.dirname(sys.executable)) or "gatecalc"
PACKS = os.path.join(os.path.dirname(HERE), "worked_examples")
CLICK, SYMPY = [sys.executable, "-c", "import click"], [sys.executable, "-c", "import sympy"]

ROWS = [
    ("import click", CLICK, CLICK, 1.0),
    ("gatecalc --version", [GATECALC, "--version"], CLICK, 1.25),
    ("gatecalc --help", [GATECALC, "--help"], CLICK, 1.25),
    ("gatecalc count lstm", [GATECALC, "count", "lstm", "--input", "3", "--hidden", "5"], CLICK, 1.25),
    ("gatecalc fair lstm:5 gru", [GATECALC, "fair", "lstm:5", "gru", "--input", "3"], CLICK, 1.25),
    ("import sympy", SYMPY, SYMPY, 1.0),
    ("gatecalc check four-gates", [GATECALC, "check", os.path.join(PACKS, "four-gates.toml")], SYMPY, 2.0),
    ("gatecalc value", [GATECALC, "value", "sigmoid(3)**20", "--digits", "50"], CLICK, 3.0),
]


def seconds(command: list[str]) -> float:
    """Return how long a command takes; it must succeed."""
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main(runs: int = 21) -> None:
    """Print the table."""
    times: dict[str, list[float]] = {name: [] for name, *_ in ROWS}
    for _, command, *_ in ROWS:
        seconds(command)  # the first run warms the disk
    for _ in range(runs):
        for name, command, *_ in ROWS:
            times[name].append(seconds(command))
    median = {name: statistics.median(values) for name, values in times.items()}
    base = {tuple(command): median[name] for name, command, *_ in ROWS}
    print(f"# Start-up, {date.today()}\n")
    print(f"Python {platform.python_version()}, medians of {runs} runs in turn, whole processes.\n")
    print("| command | ms | to | ratio | aim |\n|---|---|---|---|---|")
    for name, _, reference, aim in ROWS:
        ratio = median[name] / base[tuple(reference)]
        print(f"| `{name}` | {1000 * median[name]:.0f} | `{reference[-1]}` | {ratio:.2f} | {aim:.2f} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
