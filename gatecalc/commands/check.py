"""``gatecalc check``: the claims of packs against their values."""

from __future__ import annotations

import click

from gatecalc.report import format_option, print_json, progress_bar


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("-v", "--verbose", is_flag=True, help="Show every claim, its value, and how it was proved.")
@click.option("--allow-undecided", is_flag=True, help="Do not fail on claims that could not be decided.")
@click.option("--only", metavar="ID", help="Check only the claim that has this id.")
@click.option("--errata", is_flag=True, help="Print the mistakes of the documents, as their authors want to read them.")
@click.option("-j", "--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Packs to check at once.")
@format_option()
def command(
    paths: tuple[str, ...], verbose: bool, allow_undecided: bool, only: str | None, errata: bool, jobs: int, format: str
) -> int:
    """Check the claims of packs (.toml files), or of all packs in a folder.

    Exits with 0 when all is as expected, 1 when a claim fails or a known erratum has become right, 2 when a pack could
    not be checked.

    \b
    gatecalc check worked_examples
    gatecalc check worked_examples/four-gates.toml -v
    gatecalc check worked_examples --errata
    """
    from gatecalc.checking.check import check
    from gatecalc.checking.findings import show_errata, show_report

    with progress_bar("packs") as progress:
        report = check(*paths, jobs=jobs, only=only, progress=progress)
    for error in report.errors:
        click.echo(str(error), err=True)
    failures = report.failures(allow_undecided)
    if format == "json":
        print_json({"claims": report.claims, "summary": report.summary, "errors": report.errors})
    elif errata:
        click.echo(show_errata(report))
    else:
        click.echo(show_report(report, failures, verbose or only is not None))
    return 2 if report.errors else 1 if failures else 0
