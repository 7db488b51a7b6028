"""``gatecalc cells``: the built-in cells."""

from __future__ import annotations

import click

from gatecalc.report import format_option, print_json, table


@click.command()
@format_option()
def command(format: str) -> None:
    """List the built-in cells.

    \b
    gatecalc cells
    """
    from gatecalc.cell import built_in, cell

    found = [cell(name) for name in built_in()]
    if format == "json":
        print_json({"cells": [{"name": each.name, "title": each.title, "source": each.source} for each in found]})
    else:
        click.echo(table([(each.name, each.title) for each in found]))
        click.echo("\ngatecalc show CELL prints the equations, the parameters and the source of one.")
