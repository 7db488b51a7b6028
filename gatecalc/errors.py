"""One exception family, and places in files that a caret can point at."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from gatecalc.record import Record


class Place(Record):
    """Where something stands: a path, a line and a column (both from 1), and that line's text."""

    path: str
    line: int | None = None
    column: int | None = None
    text: str | None = None

    def __str__(self) -> str:
        line = self.line or (1 if self.column else None)
        return ":".join(str(part) for part in (self.path or "''", line, self.column) if part is not None)


class GatecalcError(Exception):
    """Input that cannot be used: what is wrong, where, and the likely remedy.

    Args:
        message: One line in lower case, the values quoted, as in ``"name: unknown cell 'lstn'"``.
        place: Where it stands, when that is known.
        help: The likely remedy, one line.
    """

    def __init__(self, message: str, place: Place | None = None, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.help = help

    def at(self, place: Place) -> GatecalcError:
        """Give the error a place, unless it already has one; return it."""
        if self.place is None:
            self.place = place
        return self

    def _asdict(self) -> dict[str, Any]:
        """Return what a program wants to know of it."""
        place = self.place or Place("")
        where = {"path": place.path or None, "line": place.line, "column": place.column}
        return {**where, "message": self.message, "help": self.help}

    def __str__(self) -> str:
        """The line of the error, the source line with a caret, and the remedy."""
        place = self.place
        message = printable(re.sub(r"\S{120,}", lambda match: shorten(match.group()), self.message))
        lines = [f"{place}: {message}" if place else message]
        if place and place.text is not None and place.column is not None:
            text, column = _window(place.text, place.column)
            lines += ["    " + text, "    " + " " * (column - 1) + "^"]
        if self.help:
            lines.append(f"help: {self.help}")
        return "\n".join(lines)


class Undecided(GatecalcError):
    """A question that is well posed and was not settled; the message is the reason."""


def text(value: Any, what: str) -> str:
    """Return a text that Python handed over, or refuse what is none.

    >>> text("lstm", "the cell")
    'lstm'
    """
    if not isinstance(value, str):
        raise GatecalcError(f"type: {what} is {shorten(repr(value))}, where a text is needed", help="give a text")
    return value


def integer(value: Any, what: str) -> int:
    """Return a whole number that Python handed over, NumPy's too, or refuse what is none.

    >>> integer(5, "the length")
    5
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise GatecalcError(
            f"type: {what} is {shorten(repr(value))}, where a whole number is needed", help="give a whole number"
        )
    return int(value.__index__())


def closest(name: object, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the closest known name, or nothing.

    >>> closest("sigmod", ["sigmoid", "tanh"])
    "; did you mean 'sigmoid'?"
    """
    import difflib

    names = {candidate.lower(): candidate for candidate in known}
    match = difflib.get_close_matches(str(name).lower()[:80], names, n=1)
    return f"; did you mean '{names[match[0]]}'?" if match else ""


def shorten(text: str, limit: int = 60) -> str:
    """Return the text on one line, its middle left out when it is long."""
    text = printable(" ".join(text.split()))
    return text if len(text) <= limit else f"{text[: limit - 20]} ... {text[-15:]}"


def printable(text: str) -> str:
    """Return a text of others as it may be sent to a terminal: an escape is shown as a question mark."""
    return text if text.isprintable() else "".join("?" if _steers(character) else character for character in text)


def _steers(character: str) -> bool:
    return unicodedata.category(character) == "Cc" and character not in "\n\t"


def _window(text: str, column: int, width: int = 100) -> tuple[str, int]:
    """Cut a long line around the column that the caret points at."""
    text = "".join(character if character.isprintable() else " " for character in text)
    if len(text) <= width:
        return text, column
    start = min(max(0, column - width // 2), len(text) - width)
    return text[start : start + width], column - start
