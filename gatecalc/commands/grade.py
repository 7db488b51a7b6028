"""``gatecalc grade``: a formula for a Jacobian, right or what is missing."""

from __future__ import annotations

import sys

import click

from gatecalc.cli import FOUND, OK
from gatecalc.commands._options import FormulaCommand
from gatecalc.report import format_option, print_json


@click.command(cls=FormulaCommand)
@click.argument("cell")
@click.argument("output")
@click.argument("input")
@click.argument("formula")
@click.option("--path", default="local", help="local or total, as in 'gatecalc derive'.", show_default=True)
@click.option("--steps", default=1, help="Go through so many steps, with h_1, f_2, ... for the names of each.")
@format_option()
def command(cell: str, output: str, input: str, formula: str, path: str, steps: int, format: str) -> int:
    """Grade FORMULA for the Jacobian of OUTPUT by INPUT: right for every width, or which terms are missing and extra.

    FORMULA is a sum of products by @ of diag(...), matrices and I; '-' reads it from standard input.

    \b
    gatecalc grade lstm c c_prev "diag(f)"
    gatecalc grade gru h h_prev "diag(1 - z) + diag(z * (1 - n**2)) @ U_n @ diag(r)"
    """
    from gatecalc.calculus.grading import grade

    found = grade(cell, output, input, sys.stdin.read() if formula == "-" else formula.strip(), path, steps)
    if format == "json":
        print_json(found)
    else:
        click.echo("correct" if found.correct else "not correct")
        for what, words in (("missing", found.missing), ("extra", found.extra)):
            for word in words:
                click.echo(f"{what}: {word}")
        if found.note:
            click.echo(found.note)
    return OK if found.correct else FOUND
