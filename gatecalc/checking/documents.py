"""How to read a document: its lines, and the numerals that stand on them.

A numeral is a run of digits that is not part of a name: the 2 of ``h_2`` or of ``float32`` is none. Thousands
separators, a decimal point and an exponent belong to it. Where a text has lost the space between two of them, as a
table that came through a web page has, they are one run here: ``110.9526`` may be 1, 1 and 0.9526, and ``1,0244``
1,024 and 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gatecalc.errors import GatecalcError, Place
from gatecalc.files import unreadable

MAX_DOCUMENT = 50_000_000  # bytes
_RUN = re.compile(
    r"(?<![A-Za-z_\d])"
    r"(?:\d{1,3}(?:(?:,|\{,\})\d{3})+\d*(?:\.\d+)*|\d+(?:\.\d+)*|(?<![\w.%)])\.\d+)"
    r"(?:[eE][+\-−]?\d+)?"
)


class Numeral(NamedTuple):
    """A numeral of a document: its text, and where it stands (line and column from 1)."""

    line: int
    column: int
    text: str


class Document(NamedTuple):
    """A document as read: its path, its lines without line ends, and the SHA-256 of its bytes."""

    path: str
    lines: list[str]
    sha256: str

    @property
    def text(self) -> str:
        """Its lines, put together again."""
        return "\n".join(self.lines)

    def numerals(self) -> Iterator[Numeral]:
        """Yield the numerals, in reading order."""
        for number, line in enumerate(self.lines, start=1):
            for text, column in runs(line):
                yield Numeral(number, column, text)


def runs(text: str) -> Iterator[tuple[str, int]]:
    """Yield the numerals of a piece of text, with their columns from 1.

    >>> list(runs("h_2 = 0.5 of 86,272"))
    [('0.5', 7), ('86,272', 14)]
    """
    for match in _RUN.finditer(text):
        yield match.group(), match.start() + 1


def read_document(path: str) -> Document:
    """Read a text document, or standard input for ``-``."""
    import hashlib
    import sys

    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_DOCUMENT + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(MAX_DOCUMENT + 1)
    except OSError as error:
        raise unreadable(path, error, "give the path of a document") from None
    if len(data) > MAX_DOCUMENT:
        raise GatecalcError(f"limit: the file has more than {MAX_DOCUMENT:,} bytes", Place(path), "split it")
    if b"\0" in data:
        raise GatecalcError("file: it is not text: it has zero bytes", Place(path), "save it as text in UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise GatecalcError("file: it is not text in UTF-8", Place(path, line), "save it as UTF-8") from None
    return Document(path, text.replace("\r\n", "\n").split("\n"), hashlib.sha256(data).hexdigest())
