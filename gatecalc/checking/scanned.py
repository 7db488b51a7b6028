"""How the statements of a scan are shown as text: one line for each that needs a human, then the counts."""

from __future__ import annotations

import click

from gatecalc.checking.scan import Finding, ScanReport
from gatecalc.errors import shorten
from gatecalc.numbers.verdictnames import PASSING, VERDICTS
from gatecalc.report import verdict_word


def show_scan(report: ScanReport, verbose: bool = False, allow_undecided: bool = False) -> str:
    """Return the report on a scan: what does not hold, every statement if verbose, and the counts on one line."""
    hidden = () if verbose else (*PASSING, "undecided") if allow_undecided else PASSING
    lines = [show_finding(finding) for finding in report.statements if finding.verdict not in hidden]
    counts = report.summary
    parts = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    if report.errors:
        parts.append(f"{len(report.errors)} not read")
    documents, statements = counts["documents"], counts["statements"]
    text = f"{statements} {'statement' if statements == 1 else 'statements'} in {documents}"
    text += f" {'document' if documents == 1 else 'documents'}: {', '.join(parts) or 'none'}"
    failed = report.errors or report.failures(allow_undecided)
    return "\n".join([*lines, click.style(text, fg="red" if failed else "green", bold=True)])


def show_finding(finding: Finding) -> str:
    """Return the line of one finding: place, verdict, the statement as printed, what is right, and why."""
    verdict = verdict_word(finding.verdict)
    text = f"{finding.path}:{finding.line}:{finding.column}: {verdict}: {shorten(finding.text, 100)}"
    if finding.should and finding.verdict in ("wrong", "truncated"):
        text += f"; it should be {finding.should.strip()}"
        text += f", from {finding.value}" if finding.value and finding.value != finding.should.strip() else ""
    elif finding.verdict in ("wrong", "undecided") and finding.value:
        text += f"; it is {finding.value}"
    return text + (f" ({finding.reason})" if finding.reason else "")
