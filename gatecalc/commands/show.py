"""``gatecalc show``: the equations and the parameters of a cell."""

from __future__ import annotations

import click

from gatecalc.report import format_option, print_json, table


@click.command()
@click.argument("cell")
@format_option("latex", "markdown")
def command(cell: str, format: str) -> None:
    """Show the equations and the parameters of CELL, a built-in cell, a .cell file, or - for standard input.

    \b
    gatecalc show gru
    gatecalc show lstm --format latex
    """
    from gatecalc.cell import cell as load

    found = load(cell)
    shapes = [(name, " by ".join(shape)) for name, shape in found.parameters.items()]
    if format == "text":
        blocks = [found.title or f"{found.name}, a cell without a title", str(found), table(shapes)]
        click.echo("\n\n".join(filter(None, blocks)))
        click.echo(f"\ninputs {', '.join(found.inputs) or 'none'}; states {', '.join(found.states) or 'none'}")
        click.echo(f"source: {found.source}" if found.source else "source: not given")
        return
    from gatecalc.calculus.notation import LATEX, Notation, cell_latex

    latex = cell_latex(found)
    if format == "json":
        print_json(
            {
                "cell": found.name,
                "title": found.title or None,
                "source": found.source or None,
                "equations": str(found).splitlines(),
                "parameters": found.parameters,
                "inputs": found.inputs,
                "states": found.states,
                "latex": latex,
            }
        )
    elif format == "latex":
        click.echo(latex)
    else:
        notation = Notation(LATEX, found.parameters)
        rows = [f"| ${notation.symbol(name)}$ | {shape} |" for name, shape in shapes]
        head = ["| parameter | shape |", "|---|---|"]
        title = f"**{found.name}**" + (f": {found.title}" if found.title else "")
        click.echo(f"{title}\n\n$$\n{latex}\n$$\n\n" + "\n".join(head + rows))
        click.echo(f"\nSource: {found.source}" if found.source else "")
