"""``gatecalc layout``: where a framework keeps a cell's weights."""

from __future__ import annotations

from typing import Any

import click

from gatecalc.commands import _options as shared
from gatecalc.report import format_option, print_json, table


@click.command()
@click.argument("cell")
@click.option("--framework", required=True, metavar="NAME", help="pytorch, keras, onnx, tf1, flax-linen, ...")
@click.option("--input", "input", type=shared.WHOLE, metavar="D", required=True, help="Input width.")
@click.option("--hidden", type=shared.WHOLE, metavar="H", required=True, help="Hidden width.")
@shared.projection_option
@shared.layers_option
@shared.bidirectional_option
@click.option("--no-bias", is_flag=True, help="Leave the biases out, where the framework can.")
@click.option("--layer", metavar="NAME", help="The framework's own name, where several of its layers compute the cell.")
@format_option()
def command(format: str, cell: str, no_bias: bool, **given: Any) -> None:
    """Print the tensors of a framework's layer that computes CELL, and the rows of each gate.

    \b
    gatecalc layout lstm --framework pytorch --input 3 --hidden 5
    gatecalc layout gru_reset_after --framework keras --input 3 --hidden 5

    Rows count from 0, both ends included. A name that means another cell in the framework is refused, with the one that
    is meant.
    """
    from gatecalc.counts.layouts import layout

    found = layout(cell, bias=not no_bias, **given)
    if format == "json":
        print_json(found)
        return
    click.echo(f"{found.framework} {found.layer}" + (f", {found.when}" if found.when else "") + f": {found.cell}")
    click.echo(table([(name, " x ".join(map(str, shape)), found.holds[name]) for name, shape in found.tensors.items()]))
    if found.gates:
        click.echo()
        rows = [
            (gate.gate, f"{gate.first_row} to {gate.last_row}", f"axis {gate.axis} of {gate.tensor}")
            for gate in found.gates
        ]
        click.echo(table(rows, ("gate", "rows", "")))
    click.echo(f"\n{found.parameters:,} parameters, bias rule '{found.bias}'")
    if found.reset:
        click.echo(f"reset {found.reset} the product by U_n; z is the share that is {found.z}")
    for parameter, constant in found.added.items():
        click.echo(f"the framework adds {constant:g} to the stored {parameter} when it runs")
    for note in (found.note, found.source_note):
        if note:
            click.echo(f"note: {note}")
    click.echo(f"source: {found.source}")
