"""How results are shown: the options and printers that all commands share. Nothing is computed here."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from gatecalc.errors import GatecalcError, integer, printable

MAX_DIGITS = 10_000  # after the point, that one may ask for


def checked_digits(digits: Any) -> int:
    """Return the digits after the point that are asked for, or refuse what is no such number."""
    if not 0 <= integer(digits, "digits") <= MAX_DIGITS:
        raise GatecalcError(f"limit: {digits} digits, and 0 to {MAX_DIGITS:,} can be had", help="ask for 6, or 50")
    return int(digits)


def format_option(*more: str) -> Callable[[Any], Any]:
    """Return the decorator of ``--format``; every command has ``text`` and ``json``."""
    return click.option(
        "--format",
        "format",
        type=click.Choice(["text", "json", *more]),
        default="text",
        help="How to print the result.",
    )


def print_json(result: Any) -> None:
    """Print a result object as JSON: its public attributes are the keys."""
    import json

    click.echo(json.dumps(plain(result), indent=2, ensure_ascii=False))


def plain(value: Any) -> Any:
    """Turn result objects into dictionaries, lists, strings and numbers.

    Exact integers stay integers; other exact numbers become decimal strings: JSON's own are floats to most readers.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif hasattr(value, "__dataclass_fields__"):
        value = {field: getattr(value, field) for field in value.__dataclass_fields__ if field[0] != "_"}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [plain(item) for item in value]
    return str(value)


def table(rows: Iterable[Sequence[Any]], header: Sequence[str] = (), right: str = "") -> str:
    """Lay out rows in aligned columns; those whose position in ``right`` is ``r`` are set to the right.

    >>> print(table([("lstm", 180), ("gru", 135)], ("cell", "parameters"), right="lr"))
    cell  parameters
    lstm         180
    gru          135
    """
    cells = [[printable(str(item)) for item in row] for row in ([header] if header else [])] + [
        [printable(str(item)) for item in row] for row in rows
    ]
    if not cells:
        return ""
    widths = [max(len(row[column]) for row in cells if column < len(row)) for column in range(max(map(len, cells)))]
    sides = right.ljust(len(widths), "l")
    lines = []
    for row in cells:
        parts = [item.rjust(widths[c]) if sides[c] == "r" else item.ljust(widths[c]) for c, item in enumerate(row)]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


_COLOURS = {"wrong": "red", "truncated": "yellow", "undecided": "magenta"}


def verdict_word(verdict: str, otherwise: str = "green") -> str:
    """Return a verdict in its colour, one that passes in another."""
    return click.style(verdict, fg=_COLOURS.get(verdict, otherwise), bold=True)


@contextmanager
def progress_bar(what: str, after: float = 1.0) -> Iterator[Callable[[int, int], None]]:
    """Give a function to be called with (done, total); it shows them on a terminal that has waited for a second."""
    start = time.monotonic()
    shown = False

    def show(done: int, total: int) -> None:
        nonlocal shown
        if sys.stderr.isatty() and time.monotonic() - start > after:
            filled = 30 * done // max(total, 1)
            click.echo(f"\r[{'#' * filled}{' ' * (30 - filled)}] {done}/{total} {what}", nl=False, err=True)
            shown = True

    try:
        yield show
    finally:
        if shown:
            click.echo("\r\033[K", nl=False, err=True)
