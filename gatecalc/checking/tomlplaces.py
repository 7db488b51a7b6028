"""Where the keys and values of a TOML text stand: tomllib, which reads them, does not say.

The text has been read by tomllib before, so this scan need not look for mistakes.
"""

from __future__ import annotations

import re
from typing import NamedTuple

Path = tuple[str | int, ...]  # ("claim", 3, "of"), ("given", "D"), ("table", 0, "rows", 1, 2)

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BLANK = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_\-]+")
_SCALAR = re.compile(r"[^,\]}#\n]*")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}' r"|'''(?:[^']|'{1,2}(?!'))*'{3,5}" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'",
    re.DOTALL,
)


class Spot(NamedTuple):
    """The offset of a key, of the header of a table or of the item of a list, and that of its value."""

    key: int
    value: int


def places(text: str) -> dict[Path, Spot]:
    """Return where everything stands, by its path; both offsets of what has no key are those of its value.

    >>> places("[[claim]]\\nof = '1'")
    {('claim', 0): Spot(key=0, value=0), ('claim', 0, 'of'): Spot(key=10, value=15)}
    """
    return _Scan(text).found


def first_character(text: str, value: int) -> int:
    """Return the offset of the first character of a string whose quotes begin at ``value``."""
    quote = text[value : value + 3]
    if quote not in ('"""', "'''"):
        return value + 1
    return value + (4 if text[value + 3 : value + 4] == "\n" else 3)


class _Scan:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: dict[Path, Spot] = {}
        self.counts: dict[Path, int] = {}
        table: Path = ()
        self.skip(_SPACE)
        while self.at < len(text):
            if text[self.at] == "[":
                table = self.header()
            else:
                self.assignment(table)
            self.skip(_SPACE)

    def skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise ValueError(f"not TOML at {self.at}")
        self.at = match.end()
        return match.group()

    def header(self) -> Path:
        begin = self.at
        brackets = 2 if self.text.startswith("[[", begin) else 1
        self.at += brackets
        path: Path = ()
        parts = self.key()
        for part in parts:
            path += (part,)
            if path in self.counts and (brackets == 1 or len(path) < len(parts)):
                path += (self.counts[path] - 1,)
        if brackets == 2:
            self.counts[path] = self.counts.get(path, 0) + 1
            path += (self.counts[path] - 1,)
        self.at += brackets
        self.found.setdefault(path, Spot(begin, begin))
        return path

    def key(self) -> list[str]:
        """Read a key, which dots may divide."""
        parts = []
        while True:
            self.skip(_BLANK)
            quoted = self.text[self.at] in "\"'"
            part = self.skip(_STRING if quoted else _BARE)
            parts.append(part[1:-1] if quoted else part)
            self.skip(_BLANK)
            if self.text[self.at : self.at + 1] != ".":
                return parts
            self.at += 1

    def assignment(self, table: Path) -> None:
        begin = self.at
        parts = self.key()
        self.at += 1  # the sign of equality
        self.skip(_BLANK)
        path = table
        for part in parts:
            path += (part,)
            self.found.setdefault(path, Spot(begin, self.at))
        self.value(path)

    def value(self, path: Path) -> None:
        self.found.setdefault(path, Spot(self.at, self.at))
        first = self.text[self.at]
        if first in "\"'":
            self.skip(_STRING)
        elif first in "[{":
            self.at += 1
            count = 0
            while self.skip(_SPACE) is not None and self.text[self.at] not in "]}":
                if self.text[self.at] == ",":
                    self.at += 1
                elif first == "{":
                    self.assignment(path)
                else:
                    self.value((*path, count))
                    count += 1
            self.at += 1
        else:
            self.skip(_SCALAR)
