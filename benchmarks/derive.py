"""How long a derivation takes, beside SymPy's explicit Jacobians and tensorgrad; and that it is linear in the steps.

    python benchmarks/derive.py [RUNS] > benchmarks/results/derive-DATE.md

Medians of RUNS (15) warm runs in turn, in one process, by its own clock; whole processes for the command line. SymPy is
given the sigmoid as a function that knows its derivative, which makes it 5 to 40 times faster than the exponential; its
cache is emptied before each run, or it would look up what it did before. tensorgrad, where it is installed, derives
with a symbolic width; its result has the gates written out.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from typing import Any

from gatecalc.calculus.derivation import derive
from gatecalc.calculus.explicit import derived_by_sympy
from gatecalc.calculus.jacobian import jacobian
from gatecalc.cell import cell

PAIRS = [("rnn", "h", "h_prev"), ("lstm", "h", "h_prev"), ("lstm_peephole", "h", "h_prev"), ("gru", "h", "h_prev")]
STEPS = (10, 25, 50, 100)


def seconds(call: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    start = clock()
    call()
    return clock() - start


def medians(
    calls: dict[str, Callable[[], Any]], runs: int, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Run all in turn, so that a busy machine slows all of them alike."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(runs):
        for name, call in calls.items():
            times[name].append(seconds(call, clock))
    return {name: statistics.median(values) for name, values in times.items()}


def tensorgrad_jacobian(name: str) -> Callable[[], Any]:
    """Return what derives dh/dh_prev with tensorgrad, the input's part of each gate as one vector."""
    import sympy
    from tensorgrad import Derivative, Variable
    from tensorgrad import functions as F  # noqa: N812

    width = sympy.Symbol("H")
    h = Variable("h", j=width)

    def gate(letter: str, vector: Any) -> Any:
        return Variable(f"U_{letter}", o=width, j=width) @ vector + Variable(f"p_{letter}", o=width)

    def gru() -> Any:
        z, r = F.sigmoid(gate("z", h)), F.sigmoid(gate("r", h))
        here = h.rename(j="o")
        n = F.tanh(gate("n", (r * here).rename(o="j")))
        return (F.Ones(o=width) - z) * here + z * n

    def lstm() -> Any:
        f, i, o = (F.sigmoid(gate(letter, h)) for letter in "fio")
        return o * F.tanh(f * Variable("c", o=width) + i * F.tanh(gate("g", h)))

    build = {"gru": gru, "lstm": lstm}[name]
    return lambda: str(Derivative(build(), h, {"j": "k"}).full_simplify())


def by_sympy(name: str, output: str, by: str, width: int) -> None:
    from sympy.core.cache import clear_cache

    clear_cache()
    derived_by_sympy(jacobian(name, output, by), width)


def compare(runs: int) -> None:
    print("| dh/dh_prev | gatecalc, any width | SymPy, width 2 | width 4 | width 8 | tensorgrad, any width |")
    print("|---|---|---|---|---|---|")
    for name, output, by in PAIRS:
        calls: dict[str, Callable[[], Any]] = {
            "ours": lambda name=name, output=output, by=by: derive(name, output, by, check=False),
            "2": lambda row=(name, output, by, 2): by_sympy(*row),
        }
        if importlib.util.find_spec("tensorgrad") and name in ("gru", "lstm"):
            calls["tensorgrad"] = tensorgrad_jacobian(name)
        found = medians(calls, runs)
        for width in (4, 8):
            found[str(width)] = seconds(lambda row=(name, output, by, width): by_sympy(*row))
        others = ("2", "4", "8", "tensorgrad")
        ratios = [f"{found[each] / found['ours']:.0f} times" if each in found else "" for each in others]
        print(f"| {name} | {1000 * found['ours']:.1f} ms | {' | '.join(ratios)} |")


def unroll(runs: int) -> None:
    print("\n| steps, total path | lstm, ms | ms a step | gru, ms | ms a step |\n|---|---|---|---|---|")
    for steps in STEPS:
        calls = {
            name: lambda name=name, steps=steps: jacobian(name, "h", f"{cell(name).states[0]}_prev", "total", steps)
            for name in ("lstm", "gru")
        }
        found = medians(calls, runs)
        parts = (f"{1000 * found[name]:.0f} | {1000 * found[name] / steps:.2f}" for name in calls)
        print(f"| {steps} | {' | '.join(parts)} |")


def command_line(runs: int) -> None:
    """Whole processes, as ratios to the import that a derivation by SymPy would begin with."""
    rows = {
        "import sympy": [sys.executable, "-c", "import sympy"],
        "derive, checked": [sys.executable, "-m", "gatecalc", "derive", "gru", "h", "h_prev"],
        "derive --no-check": [sys.executable, "-m", "gatecalc", "derive", "gru", "h", "h_prev", "--no-check"],
        "grade": [sys.executable, "-m", "gatecalc", "grade", "lstm", "c", "c_prev", "diag(f)"],
    }
    root = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}
    calls = {
        name: lambda row=row: subprocess.run(row, stdout=subprocess.DEVNULL, check=True, env=root)
        for name, row in rows.items()
    }
    found = medians(calls, runs, time.perf_counter)
    print("\n| process | ms | ratio |\n|---|---|---|")
    for name, value in found.items():
        print(f"| {name} | {1000 * value:.0f} | {value / found['import sympy']:.2f} |")


def main(runs: int = 15) -> None:
    """Print the tables."""
    print(f"# Derivations, {date.today()}\n")
    print(
        f"Python {platform.python_version()}, medians of {runs} warm runs, CPU time; text, LaTeX and paths included.\n"
    )
    compare(runs)
    unroll(runs)
    command_line(runs)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
