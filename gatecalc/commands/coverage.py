"""``gatecalc coverage``: which numerals of a document are accounted for."""

from __future__ import annotations

import click

from gatecalc.report import format_option, print_json


@click.command()
@click.argument("document")
@click.argument("packs", nargs=-1, required=True, metavar="PACK...")
@click.option("--show", is_flag=True, help="Print the lines with what is not accounted for underlined.")
@format_option()
def command(document: str, packs: tuple[str, ...], show: bool, format: str) -> int:
    """Tell which numerals of DOCUMENT the packs check, which are givens or labels, and which nobody accounts for.

    Exits with 1 when a numeral is unaccounted for, and with 2 when a pack could not be read.

    \b
    gatecalc coverage docs/parameters.md docs/parameters.toml
    """
    from gatecalc.checking.claims import find_packs, read_pack
    from gatecalc.checking.coverage import coverage
    from gatecalc.checking.documents import read_document
    from gatecalc.errors import GatecalcError, printable

    text = read_document(document)
    paths, errors = find_packs(packs)
    read = []
    for path in paths:
        try:
            read.append(read_pack(path))
        except GatecalcError as error:
            errors.append(error)
    if errors and not read:  # then every numeral would be unaccounted for, which tells nothing
        raise errors[0]
    found = coverage(text, read, errors)
    status = 2 if errors else 1 if found.unaccounted else 0
    for each in errors:
        click.echo(str(each), err=True)
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    if format == "json":
        print_json(found)
        return status
    by_line: dict[int, list[tuple[int, str]]] = {}
    for numeral in found.unaccounted:
        by_line.setdefault(numeral.line, []).append((numeral.column, numeral.text))
    for line, numerals in by_line.items():
        if show:
            marks = [" "] * len(text.lines[line - 1])
            for column, numeral_text in numerals:
                marks[column - 1 : column - 1 + len(numeral_text)] = "^" * len(numeral_text)
            click.echo(f"{document}:{line}:\n{printable(text.lines[line - 1])}\n{''.join(marks).rstrip()}")
        else:
            for column, numeral_text in numerals:
                click.echo(f"{document}:{line}:{column}: unaccounted: {numeral_text}")
    click.echo(
        f"{found.numerals} numerals: {found.checked} checked, {found.given} given, {found.label} labels,"
        f" {len(found.unaccounted)} unaccounted for"
    )
    return status
