"""``gatecalc value``: the calculator."""

from __future__ import annotations

import click

from gatecalc.commands._options import FormulaCommand
from gatecalc.errors import GatecalcError
from gatecalc.report import MAX_DIGITS, format_option, print_json, table


@click.command(cls=FormulaCommand)
@click.argument("expression", required=False)
@click.option("--states", metavar="FIGURE", help="A printed figure to judge.")
@click.option(
    "--digits", type=click.IntRange(0, MAX_DIGITS), default=6, show_default=True, help="Digits after the point."
)
@click.option("--list", "list_functions", is_flag=True, help="List the functions that a claim may call.")
@click.option("--allow-undecided", is_flag=True, help="Exit with 0 when the figure could not be judged.")
@format_option()
def command(
    expression: str | None, states: str | None, digits: int, list_functions: bool, allow_undecided: bool, format: str
) -> int:
    """Evaluate EXPRESSION with every digit proved; with --states, judge a printed figure.

    \b
    gatecalc value "sigmoid(3)**20" --digits 50
    gatecalc value "sigmoid(-4) * tanh(2)" --states 0.0174
    """
    if list_functions:
        return _list(format)
    if expression is None:
        raise GatecalcError("gatecalc value: there is no expression", help='write gatecalc value "sigmoid(3)**20"')
    from gatecalc.checking.check import value
    from gatecalc.numbers.verdictnames import PASSING

    result = value(expression.strip(), states, digits)
    if format == "json":
        print_json(result)
    elif result.verdict is None:
        click.echo(f"{result.value}  ({_HOW[str(result.how)]})")
    elif result.verdict == "undecided":
        click.echo(f"{states.strip() + ': ' if states else ''}undecided: {result.reason}")
    else:
        click.echo(
            f"{(states or '').strip()}: {result.verdict}" + (f"; it should be {result.should}" if result.should else "")
        )
        if result.value:
            click.echo(f"{result.value}  ({_HOW[str(result.how)]})")
        if result.reason:
            click.echo(result.reason)
    passing = (*PASSING, None, "undecided") if allow_undecided else (*PASSING, None)
    return 0 if result.verdict in passing else 1


_HOW = {
    "exact": "exact arithmetic",
    "algebra": "algebra",
    "enclosure": "every digit proved by an enclosure",
    "float64": "a float64 run",
    "float32": "a float32 run",
}


def _list(format: str) -> int:
    from gatecalc.checking.functions import FUNCTIONS

    rows = sorted(FUNCTIONS.values())
    if format == "json":
        print_json(
            {
                "functions": [
                    {"name": r.name, "signature": r.signature, "title": r.title, "example": r.example} for r in rows
                ]
            }
        )
    else:
        click.echo(table([(row.signature, f"{row.example} = {row.value}", row.title) for row in rows]))
    return 0
