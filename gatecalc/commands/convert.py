"""``gatecalc convert``: weights from one framework's layout to another's."""

from __future__ import annotations

from typing import Any

import click

from gatecalc.report import format_option, print_json, table


@click.command()
@click.argument("source", type=click.Path())
@click.argument("target", type=click.Path(), required=False)
@click.option("--to", required=True, metavar="NAME", help="The layout that is wanted: pytorch, keras, onnx, ...")
@click.option("--from", "where", metavar="NAME", help="The framework of the source, where its names do not tell.")
@click.option("--cell", metavar="CELL", help="The cell, where names and shapes do not tell (tanh or relu).")
@click.option("--prefix", metavar="TEXT", help="Which layer of the source, where it has several.")
@click.option("--layer", metavar="NAME", help="The target's own name of the layer, where several compute the cell.")
@click.option("--forget-bias", type=float, metavar="NUMBER", help="What the source adds to b_f when it runs.")
@click.option("--dtype", metavar="TYPE", help="float64, float32, float16 or bfloat16, if no number is rounded by it.")
@format_option()
def command(format: str, source: str, target: str | None, **given: Any) -> None:
    """Convert the weights of a recurrent layer and write TARGET (.npz, .safetensors or .onnx).

    \b
    gatecalc convert model.pt keras.npz --to keras
    gatecalc convert model.onnx layer.safetensors --to pytorch
    gatecalc convert model.pt model.onnx --to onnx

    Without TARGET, it says what would be written. SOURCE is an .npz, .safetensors, PyTorch, ONNX, .keras or .h5 file;
    nothing in it is run. Gates are reordered, matrices transposed, biases merged or split, and z is negated where the
    frameworks count it differently. Layers that compute different functions are refused with the reason.
    """
    from gatecalc.models.weights import convert

    found = convert(source, target, **given)
    if format == "json":
        print_json(found)
        return
    became = found.cell if found.cell == found.target_cell else f"{found.cell} as {found.target_cell}"
    click.echo(f"{found.source_framework} to {found.target_framework} {found.layer}: {became}")
    click.echo(f"{found.layers} layers, {found.directions} directions" if found.layers + found.directions > 2 else "")
    click.echo(table([(name, " x ".join(map(str, shape))) for name, shape in found.tensors.items()]))
    click.echo("exact: no number was rounded" if found.exact else "not exact to the last bit")
    for note in found.notes:
        click.echo(f"note: {note}")
    click.echo(f"written to {target}" if target else "nothing was written: no TARGET is given")
