"""``gatecalc trace``: a cell run by hand, step by step, every digit proved."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import click

from gatecalc.commands._options import named
from gatecalc.errors import GatecalcError, Place
from gatecalc.report import format_option, print_json, table


@click.command()
@click.argument("cell")
@click.option(
    "--input",
    "input_text",
    required=True,
    metavar="NUMBERS",
    help="The input of each step: 1,0,0,0; vectors are separated by ';': 1,0;0,1.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A weight or an initial state (h_prev), a number or a nested list; 0 where not set.",
)
@click.option("--show", multiple=True, metavar="FORMULA", help="A further column, as in 'r * h_prev'.")
@click.option("--digits", type=click.IntRange(0, 1000), default=6, show_default=True, help="Decimals.")
@format_option("csv", "markdown", "latex")
def command(
    cell: str, input_text: str, settings: tuple[str, ...], show: tuple[str, ...], digits: int, format: str
) -> None:
    """Run a cell step by step: every gate, candidate and state, correctly rounded.

    \b
    gatecalc trace lstm --input 1,0,0,0 --set W_i=4 --set b_i=-2 --set W_g=2 --set b_f=3
    """
    from gatecalc.numbers.trace import run

    inputs, values = read_input(input_text), read_settings(settings)
    found = run(cell, inputs, values, digits, show)
    if format == "json":
        print_json(found)
    else:
        click.echo(_PRINTERS[format](found.columns, found.rows))


def read_input(text: str) -> list[object]:
    """Read ``1,0,0`` as steps of one number, ``1,0;0,1`` as steps of vectors."""
    from gatecalc.language import Source, parse
    from gatecalc.numbers.trace import real

    def read(part: str) -> tuple[object, ...]:
        with named("--input", "write numbers, as in '--input 1,0,0,0', or vectors, as in '--input \"1,0;0,1\"'"):
            tree = parse(Source(part, "--input"))
            return tuple(real(item, "x") for item in (tree.args if tree.op == "list" else (tree,)))

    if ";" not in text:
        return list(read(text))
    steps: list[object] = [read(part) for part in text.split(";")]
    widths = [len(step) for step in steps if isinstance(step, tuple)]
    if len(set(widths)) > 1:
        step = next(number for number, width in enumerate(widths) if width != widths[0])
        raise GatecalcError(
            f"--input: step {step + 1} is {widths[step]} wide, and step 1 is {widths[0]}",
            help="give each step as many numbers, as in '--input \"1,0;0,1\"'",
        )
    return steps


def read_settings(settings: tuple[str, ...]) -> dict[str, object]:
    """Read NAME=VALUE options; a later one takes the place of an earlier one."""
    from gatecalc.language import Source, parse
    from gatecalc.numbers.trace import as_nested

    found: dict[str, object] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not value.strip() or not name.strip().isidentifier():
            raise GatecalcError(
                f"option: '{text[:60]}' is not NAME=VALUE", Place("--set"), "write it as in --set b_f=3"
            )
        with named("--set", f"write a number or a nested list of numbers, as in '--set {name.strip()}=0.5'"):
            tree = parse(Source(value, "--set", 1, len(name) + 2))
            found[name.strip()] = as_nested(tree, name.strip())
    return found


def _csv(columns: list[str], rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    return text.getvalue().rstrip("\n")


def _markdown(columns: list[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---:"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _latex(columns: list[str], rows: list[list[str]]) -> str:
    def set_(column: str) -> str:
        base, underscore, index = column.partition("_")
        return rf"\mathrm{{{base}}}{underscore}{index}" if len(base) > 1 and column.isidentifier() else column

    head = " & ".join(
        column if column == "step" else "$" + set_(column).replace("_prev", r"_{t-1}").replace(" * ", r" \odot ") + "$"
        for column in columns
    )
    body = "\n".join(" & ".join(row) + r" \\" for row in rows)
    return (
        f"\\begin{{tabular}}{{{'r' * len(columns)}}}\n\\hline\n{head} \\\\\n\\hline\n{body}\n\\hline\n\\end{{tabular}}"
    )


_PRINTERS: dict[str, Callable[[list[str], list[list[str]]], str]] = {
    "text": lambda columns, rows: table(rows, columns, "r" * len(columns)),
    "csv": _csv,
    "markdown": _markdown,
    "latex": _latex,
}
