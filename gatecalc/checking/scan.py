"""Every arithmetic statement that documents themselves make, with its verdict: no pack is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from gatecalc.checking.documents import read_document
from gatecalc.checking.equality import judge
from gatecalc.checking.passages import KINDS, passages
from gatecalc.checking.paths import find_files
from gatecalc.checking.statements import find
from gatecalc.errors import GatecalcError, Place, text
from gatecalc.numbers.verdictnames import VERDICTS


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
        GatecalcError: For folders without documents, where there is nothing else to scan. What is wrong with one of
            several paths, or with one document, is in the report's ``errors``.
    """
    documents, errors = find_files(
        [text(path, "the path") for path in paths], KINDS, "documents", f"documents end in {', '.join(sorted(KINDS))}"
    )
    findings: list[Finding] = []
    done = unread = 0
    try:
        for path in documents:
            try:
                findings += scan_text(read_document(path).text, path)
            except GatecalcError as error:
                errors.append(error.at(Place(path)))
                unread += 1
            done += 1
            if progress:
                progress(done, len(documents))
    except KeyboardInterrupt:
        return ScanReport(findings, errors, done - unread, True)
    return ScanReport(findings, errors, done - unread)


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
