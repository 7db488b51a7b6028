"""``gatecalc audit``: the recurrent layers of a model file or of a pasted summary."""

from __future__ import annotations

from typing import Any

import click

from gatecalc.report import format_option, print_json, table


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(), metavar="MODEL...")
@format_option()
def command(format: str, paths: tuple[str, ...]) -> int:
    """Say which recurrent layers a model holds, how large they are, and whether a table's counts are right.

    \b
    gatecalc audit model.safetensors
    gatecalc audit model.onnx model.keras
    gatecalc audit summary.txt

    MODEL is an ONNX, .safetensors, .npz, PyTorch, .keras or .h5 file, a Keras configuration as JSON, or the text of
    model.summary() or of a torchinfo table; - is standard input. Nothing in a file is run, and none of the packages
    that wrote it is needed. The status is 1 if a printed count is wrong, or if the weights in a Keras file are not
    those that its configuration describes.
    """
    from gatecalc.cli import BROKEN, FOUND, OK
    from gatecalc.errors import GatecalcError, printable
    from gatecalc.models.audit import audit

    status, found, errors = OK, [], []
    for path in paths:
        try:
            found.append(audit(path))
        except GatecalcError as error:
            click.echo(str(error), err=True)
            errors.append(error)
            status = BROKEN
    if status == OK and any(each.wrong or each.contradicted for each in found):
        status = FOUND
    if format == "json":
        print_json({"files": found, "errors": errors})
    else:
        for each in found:
            click.echo(printable("\n".join(_lines(each))))
    return status


def _lines(found: Any) -> list[str]:
    lines = [f"{found.path}: {found.kind}"]
    for layer in found.layers:
        widths = [f"D = {layer.input}" if layer.input else "D not told", f"H = {layer.hidden}"]
        widths += [f"P = {layer.projection}"] if layer.projection else []
        widths += [f"{layer.layers} layers"] if layer.layers > 1 else []
        widths += ["two directions"] if layer.directions == 2 else []
        lines.append(f"  {layer.name}: {layer.cell} ({layer.framework} {layer.layer}), {', '.join(widths)}")
        number = f"{layer.parameters:,} = " if layer.parameters is not None else ""
        lines.append(f"    parameters {number}{layer.formula}, bias rule '{layer.bias}'")
        if layer.macs is not None:
            lines.append(f"    MACs per step {layer.macs:,}")
        if layer.weights:
            lines.append(f"    its weights {layer.weights} with the configuration")
        if layer.note:
            lines.append(f"    note: {layer.note}")
    if found.table:
        rows = [(f"  {row.line}", row.name, f"{row.printed:,}", row.verdict, row.note) for row in found.table]
        lines.append(table(rows, ("  line", "layer", "printed", "", ""), right="rlrl"))
    if found.parameters is not None:
        lines.append(f"  {found.parameters:,} numbers in all, {found.recurrent:,} of them in recurrent layers")
    if not found.layers and not found.table:
        lines.append("  no recurrent layer of a known layout")
    return [*lines, *(f"  note: {note}" for note in found.notes)]
