"""``gatecalc scan``: the arithmetic that documents themselves state, found and judged, without a pack."""

from __future__ import annotations

import click

from gatecalc.report import format_option, print_json, progress_bar


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("-v", "--verbose", is_flag=True, help="Show every statement, those that hold too.")
@click.option("--allow-undecided", is_flag=True, help="Do not fail on statements that could not be decided.")
@format_option()
def command(paths: tuple[str, ...], verbose: bool, allow_undecided: bool, format: str) -> int:
    """Judge every arithmetic statement of documents (Markdown, LaTeX, HTML, notebooks, text), or of folders of them.

    Exits with 0 when all hold, 1 when one is wrong or undecided, 2 when a document could not be read. A figure that is
    cut where it should have been rounded is noted, and no failure.

    \b
    gatecalc scan docs/scan.md
    gatecalc scan docs --allow-undecided
    echo "7! = 720" | gatecalc scan -
    """
    from gatecalc.checking.scan import scan
    from gatecalc.checking.scanned import show_scan

    with progress_bar("documents") as progress:
        report = scan(*paths, progress=progress)
    for error in report.errors:
        click.echo(str(error), err=True)
    if format == "json":
        print_json({"statements": report.statements, "summary": report.summary, "errors": report.errors})
    else:
        click.echo(show_scan(report, verbose, allow_undecided))
    if report.interrupted:
        raise KeyboardInterrupt
    return 2 if report.errors else 1 if report.failures(allow_undecided) else 0
