"""``gatecalc count``: parameters, multiply-accumulates and stored activations."""

from __future__ import annotations

from typing import Any

import click

from gatecalc.commands import _options as shared
from gatecalc.report import format_option, print_json, table


@click.command()
@click.argument("cell")
@shared.input_option
@shared.hidden_option
@shared.bias_option
@shared.layers_option
@shared.bidirectional_option
@shared.projection_option
@shared.around_options
@shared.totals_options
@shared.set_option
@format_option()
def command(format: str, cell: str, widths: tuple[str, ...], **given: Any) -> None:
    """Count a network of one cell: a built-in name, a .cell file, or - for standard input.

    \b
    gatecalc count lstm --input 3 --hidden 5
    gatecalc count gru_reset_after --input 80 --hidden 256 --bias double --layers 2 --bidirectional
    gatecalc count lstm --input 3 --hidden 5 --projection 2 --steps 6 --batch 4

    MACs are the multiply-accumulates of the matrix products; a FLOP count is twice that. Elementwise operations are
    listed apart. Without widths, the formulas.
    """
    from gatecalc.counts.architecture import count

    found = count(cell, widths=shared.settings(widths), **given)
    if format == "json":
        print_json(found)
        return
    click.echo(_heading(found))
    click.echo(table(_rows(found), right="lr"))
    if found.totals:
        click.echo(f"\n{found.totals['batch']:,} sequences of {found.totals['steps']:,} steps")
        click.echo(table(_totals(found), right="lr"))
    if found.note:
        click.echo(f"\nnote: {found.note}")


def _heading(found: Any) -> str:
    widths = ", ".join(
        f"{letter} = {_figure(value)}" for letter, value in found.widths.items() if (letter, value) != ("L", 1)
    )
    directions = ", two directions" if found.directions == 2 else ""
    return f"{found.cell}: {widths or 'all widths'}{directions}, bias rule '{found.bias}'"


def _rows(found: Any) -> list[tuple[str, str, str]]:
    rows = [("parameters", _figure(found.parameters), found.parameters_formula)]
    if found.bytes:
        rows.append((f"  bytes, {found.bytes['dtype']}", _figure(found.bytes["parameters"]), ""))
    rows += [
        ("MACs per step", _figure(found.macs), found.macs_formula),
        ("  backward", _figure(found.macs_backward), found.macs_backward_formula),
        ("FLOPs, 2 x MACs", _figure(found.flops), found.flops_formula),
    ]
    for kind, formula in found.elementwise_formulas.items():
        rows.append((f"elementwise {kind}", _figure(found.elementwise and found.elementwise[kind]), formula))
    for scheme, formula in found.stored_formulas.items():
        if formula is not None:
            rows.append((f"stored, {scheme}", _figure(found.stored and found.stored[scheme]), formula))
    return rows


def _totals(found: Any) -> list[tuple[str, str]]:
    totals = found.totals
    rows = [("MACs", totals["macs"]), ("  backward", totals["macs_backward"]), ("FLOPs, 2 x MACs", totals["flops"])]
    rows += [(f"stored bytes, {scheme}", size) for scheme, size in totals["stored_bytes"].items() if size is not None]
    return [(name, _figure(number)) for name, number in rows]


def _figure(number: int | None) -> str:
    return "" if number is None else f"{number:,}"
