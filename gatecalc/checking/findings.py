"""How findings are shown as text: one line for each that needs a human, the errata apart, a summary."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from gatecalc.checking.check import Finding, Report
from gatecalc.errors import shorten
from gatecalc.numbers.verdictnames import PASSING, VERDICTS
from gatecalc.report import table, verdict_word


def show_report(report: Report, failures: Sequence[Finding], verbose: bool = False) -> str:
    """Return the report on packs: every claim if verbose, what failed, the known errata, and the counts."""
    parts = []
    if verbose:
        parts += [_every_claim(path, report) for path in dict.fromkeys(finding.pack for finding in report.claims)]
    if failures:
        parts.append("\n".join(show_failure(finding) for finding in failures))
    errata = [finding for finding in report.claims if finding.is_erratum]
    if errata and not verbose:
        lines = [f"  {_name(finding)}: line {finding.line or '?'} {_says(finding)}" for finding in errata]
        parts.append("\n".join(["known errata, still there:", *lines]))
    parts.append(summary_line(report, len(failures)))
    return "\n\n".join(part for part in parts if part)


def show_failure(finding: Finding) -> str:
    """Return the line of a finding that a human must look at: place, verdict, printed figure, right one, and why."""
    place = f"{finding.pack}:{finding.pack_line}" if finding.pack_line else finding.pack
    verdict = verdict_word(finding.verdict, "red")  # one that passes too, where an erratum was expected
    if finding.expect:
        note = f"expected {finding.expect}"
        note += ": this erratum has become right" if finding.verdict in PASSING else ""
        return f"{place}: {verdict} ({note}): {_where(finding)}{_says(finding)}"
    return f"{place}: {verdict}: {_where(finding)}{_says(finding)}"


def _where(finding: Finding) -> str:
    return f"line {finding.line} " if finding.line else f"{finding.id} "


def _says(finding: Finding) -> str:
    """Say what is printed and what is right."""
    of = shorten(finding.of, 70)
    if finding.verdict == "undecided":
        return f"prints {shorten(finding.states)} for {of}: {finding.reason}"
    if finding.states == finding.of or not finding.states or finding.value in ("true", "false"):
        return f"says '{shorten(finding.states, 70)}', which {'holds' if finding.value == 'true' else 'does not hold'}"
    text = f"prints {shorten(finding.states)} for {of}"
    if finding.should and finding.should != finding.value:
        text += f"; it is {finding.should}, from {shorten(finding.value or '')}"
    elif finding.value is not None:
        text += f"; it is {shorten(finding.value)}"
    return text + (f" ({finding.reason})" if finding.reason else "") + (f" [{finding.note}]" if finding.note else "")


def show_errata(report: Report) -> str:
    """Return the mistakes that the packs know of, and those that nobody expected, as Markdown for the author."""
    from gatecalc.checking.claims import read_pack

    packs = {path: read_pack(path) for path in dict.fromkeys(finding.pack for finding in report.claims)}
    rows = []
    parts = []
    for path, pack in packs.items():
        findings = [finding for finding in report.claims if finding.pack == path]
        counts = [sum(finding.verdict == verdict for finding in findings) for verdict in VERDICTS[:-1]]
        rows.append(f"| {pack.document} | {pack.numerals or ''} | {len(findings)} | {' | '.join(map(str, counts))} |")
        wrong = sorted((f for f in findings if f.verdict not in PASSING), key=lambda finding: finding.line or 0)
        if wrong:
            parts.append("\n\n".join([f"## {pack.document}", *map(_erratum, wrong)]))
    header = f"| document | numerals | claims | {' | '.join(VERDICTS[:-1])} |"
    rule = "|---|" + "---|" * (len(VERDICTS) + 1)
    return "\n\n".join(["# Errata", "\n".join([header, rule, *rows]), *parts])


def _erratum(finding: Finding) -> str:
    """Return one mistake: place, what it says, what it should say, why, and the command that shows it."""
    where = f"Line {finding.line}" if finding.line else f"Claim {finding.id}"
    if finding.verdict == "undecided":
        says = f"`{finding.states}` could not be judged: {finding.reason}."
    elif finding.value in ("true", "false"):
        condition = "".join(finding.states.split()) == "".join(finding.of.split())
        says = f"says what `{finding.of}` states" if condition else f"says that {' '.join(finding.states.split())}"
        says += ", which does not hold."
    elif finding.should:
        more = f" (the value is {finding.value})" if finding.value not in (None, finding.should) else ""
        says = f"prints `{finding.states}`; it should be `{finding.should}`{more}."
    else:
        says = f"prints `{finding.states}`; it is `{finding.value}`."
    why = " ".join((finding.note or "").split())
    command = f"    gatecalc check {finding.pack} --only '{finding.id}'"
    return "\n\n".join(part for part in (f"**{where}** {says}{' ' + _sentence(why) if why else ''}", command) if part)


def _sentence(text: str) -> str:
    text = f"{text[:1].upper()}{text[1:]}"
    return text if text.endswith((".", "?", "!")) else text + "."


def _name(finding: Finding) -> str:
    return os.path.basename(finding.pack).removesuffix(".toml")


def _every_claim(path: str, report: Report) -> str:
    rows = [
        (
            finding.verdict + ("!" if not finding.as_expected else "*" if finding.is_erratum else ""),
            finding.id,
            shorten(finding.states, 40),
            shorten(finding.value or "-", 50),
            finding.how or "",
            shorten(finding.of, 60) if finding.of != finding.states else "",
        )
        for finding in report.claims
        if finding.pack == path
    ]
    header = ("verdict", "id", "printed", "value", "how", "of")
    return f"{path}\n" + table(rows, header)


def summary_line(report: Report, failed: int) -> str:
    """Return the counts on one line, as a test runner ends."""
    counts = report.summary
    packs = len({finding.pack for finding in report.claims})
    parts = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    if counts["errata"]:
        parts.append(f"{counts['errata']} known {'erratum' if counts['errata'] == 1 else 'errata'}")
    if report.errors:
        parts.append(f"{len(report.errors)} not checked")
    claims, plural = counts["claims"], "s" * (packs != 1)
    text = f"{claims} claim{'s' * (claims != 1)} in {packs} pack{plural}: {', '.join(parts) or 'none'}"
    return click.style(text, fg="red" if failed or report.errors else "green", bold=True)
