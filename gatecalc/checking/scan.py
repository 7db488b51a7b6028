"""Every arithmetic statement that documents themselves make, with its verdict: no pack is needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gatecalc.checking.documents import read_document
from gatecalc.checking.equality import judge
from gatecalc.checking.passages import KINDS, passages
from gatecalc.checking.statements import find
from gatecalc.errors import GatecalcError, Place

VERDICTS = ("exact", "rounded", "chained", "truncated", "wrong", "undecided")


class Finding(NamedTuple):
    """The verdict on one statement of a document.

    Attributes:
        path: The document.
        line: Its line, from 1.
        column: Its column, from 1.
        text: As printed.
        verdict: One of ``exact``, ``rounded``, ``chained``, ``truncated``, ``wrong``, ``undecided``.
        value: What the arithmetic gives; None where that could not be found.
        should: What should stand in the figure's place, when something else should.
        reason: Why it is undecided, or how it had to be read to hold.
    """

    path: str
    line: int
    column: int
    text: str
    verdict: str
    value: str | None
    should: str | None
    reason: str


class ScanReport(NamedTuple):
    """The statements of some documents, the errors of those that could not be read, and whether it was interrupted."""

    statements: list[Finding]
    errors: list[GatecalcError]
    documents: int
    interrupted: bool = False

    @property
    def summary(self) -> dict[str, int]:
        """Counts: documents, statements, and each verdict."""
        counts = dict.fromkeys(VERDICTS, 0)
        for finding in self.statements:
            counts[finding.verdict] += 1
        return {"documents": self.documents, "statements": len(self.statements), **counts}

    def failures(self, allow_undecided: bool = False) -> list[Finding]:
        """Return the findings that a human must look at; a figure that is cut is only noted."""
        failing = ("wrong",) if allow_undecided else ("wrong", "undecided")
        return [finding for finding in self.statements if finding.verdict in failing]


def scan(*paths: str, progress: Callable[[int, int], None] | None = None) -> ScanReport:
    """Judge every arithmetic statement of documents, or of all documents in folders.

    Args:
        paths: Files and folders; ``-`` is standard input.
        progress: Called with how many documents are done, and how many there are.

    Raises:
        GatecalcError: For a folder without documents. What is wrong with one document is in the report's ``errors``.
    """
    documents = find_documents(paths)
    findings: list[Finding] = []
    errors: list[GatecalcError] = []
    done = 0
    try:
        for path in documents:
            try:
                findings += scan_text(read_document(path).text, path)
            except GatecalcError as error:
                errors.append(error.at(Place(path)))
            done += 1
            if progress:
                progress(done, len(documents))
    except KeyboardInterrupt:
        return ScanReport(findings, errors, done, True)
    return ScanReport(findings, errors, done - len(errors))


def scan_text(text: str, path: str = "<text>") -> Iterator[Finding]:
    """Yield the findings on the text of one document; what kind of text it is, the end of its path tells.

    >>> [(finding.text, finding.verdict) for finding in scan_text("We get 8/3 = 2.667, and 7! = 720.")]
    [('8/3 = 2.667', 'rounded'), ('7! = 720', 'wrong')]
    """
    for passage in passages(path, text):
        for statement in find(passage.text):
            start, end = statement.left.start, statement.right.end
            if not passage.reads(start, end):
                continue
            judged = judge(statement, passage.text)
            if judged is None:
                continue
            line, column = passage.place(start)
            yield Finding(path, line, column, passage.text[start:end], *judged)


def find_documents(paths: Sequence[str]) -> list[str]:
    """Return the documents among the paths: files as they are, and what is a document in folders."""
    found: list[str] = []
    for path in paths:
        if not os.path.isdir(path):
            found.append(path)
            continue
        inside = sorted(
            os.path.join(folder, file)
            for folder, folders, files in os.walk(path)
            if _visible(folders)
            for file in files
            if os.path.splitext(file)[1].lower() in KINDS
        )
        if not inside:
            raise GatecalcError(
                f"{path}: file: no documents in this folder", help=f"documents end in {', '.join(sorted(KINDS))}"
            )
        found += inside
    return found


def _visible(folders: list[str]) -> bool:
    """Keep a walk out of hidden folders, such as virtual environments."""
    folders[:] = [folder for folder in folders if not folder.startswith(".")]
    return True
