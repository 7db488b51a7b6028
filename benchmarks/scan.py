"""How fast documents are scanned for arithmetic, beside what one would do without: a pattern, and SymPy.

    python benchmarks/scan.py [RUNS] > benchmarks/results/scan-DATE.md

Texts are made here, from a seed: prose without a sign, prose with a definition or an equality in every tenth line, and
equalities alone, one a line. Everything runs in this process, in turn, so that a busy machine slows all alike; medians
of RUNS (5). The pattern only finds what may be an equality; SymPy only parses and compares sides that were found.
"""

from __future__ import annotations

import platform
import random
import re
import statistics
import sys
import time
from collections.abc import Callable
from datetime import date

from gatecalc.checking.scan import scan_text

NAIVE = re.compile(r"[-+*/().\d\s]*\d[-+*/().\d\s]*=\s*-?\d+(?:\.\d+)?")
WORDS = ["the", "gate", "of", "a", "cell", "keeps", "what", "it", "has", "learned", "and", "lets", "all", "else", "go"]


def equality(draw: random.Random) -> str:
    """Return a true equality with two operators, its value rounded to four decimals."""
    a, b, c = draw.randint(2, 999), draw.randint(2, 99), draw.randint(2, 99)
    if draw.random() < 0.5:
        return f"{a}*{b}+{c}={a * b + c}"
    return f"({a}+{b})/{c}={(a + b) / c:.4f}"


def prose(lines: int, more: Callable[[random.Random], str] | None = None) -> str:
    """Return lines of words; with ``more``, every tenth has something in it."""
    draw = random.Random(1)
    found = []
    for number in range(lines):
        words = [draw.choice(WORDS) for _ in range(14)]
        if more and number % 10 == 0:
            words.insert(7, more(draw))
        found.append(" ".join(words))
    return "\n".join(found) + "\n"


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main(runs: int = 5) -> None:
    """Print the tables."""
    draw = random.Random(2)
    texts = {
        "prose without a sign": prose(100_000),
        "prose, a definition in every tenth line": prose(50_000, lambda draw: f"x{draw.randint(1, 9)} = 3"),
        "prose, an equality in every tenth line": prose(20_000, equality),
        "equalities alone": "\n".join(equality(draw) for _ in range(10_000)) + "\n",
    }
    works: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        name: (lambda text=text: list(scan_text(text, "a.txt")), lambda text=text: NAIVE.findall(text))  # type: ignore[misc]
        for name, text in texts.items()
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for _ in range(runs):
        for name, pair in works.items():
            times[name].append((seconds(pair[0]), seconds(pair[1])))
    print(f"# Scanning, {date.today()}\n")
    print(f"Python {platform.python_version()}, medians of {runs} runs in turn, one process.\n")
    print("| text | MB | MB/s | equalities a second | a naive pattern alone, MB/s | ratio |\n|---|---|---|---|---|---|")
    for name, text in texts.items():
        scanned, naive = (statistics.median(each) for each in zip(*times[name], strict=True))
        size, count = len(text) / 1e6, len(works[name][0]())  # type: ignore[arg-type]
        rate = f"{count / scanned:,.0f}" if count else "-"
        print(f"| {name} | {size:.1f} | {size / scanned:.1f} | {rate} | {size / naive:.1f} | {naive / scanned:.2f} |")
    some = [equality(draw) for _ in range(200)]
    ours = statistics.median(seconds(lambda: list(scan_text("\n".join(some), "a.txt"))) for _ in range(runs))
    theirs = statistics.median(seconds(lambda: [compare(each) for each in some]) for _ in range(runs))
    print(f"\nThe same 200 equalities, found, read and judged: {ours / 200 * 1e6:.0f} microseconds each.")
    print(f"Parsed by SymPy's parse_expr: {theirs / 200 * 1e6:.0f}, {theirs / ours:.0f} times as long.")


def compare(text: str) -> bool:
    """Compare the sides of an equality that was made here, as SymPy reads them."""
    from sympy.parsing.sympy_parser import parse_expr

    left, right = text.split("=")
    return bool(abs(parse_expr(left) - parse_expr(right)) < 1e-4)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
