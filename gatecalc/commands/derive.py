"""``gatecalc derive``: the Jacobian of one vector of a cell by another."""

from __future__ import annotations

import click

from gatecalc.commands._options import named
from gatecalc.report import format_option, plain, print_json, table


@click.command()
@click.argument("cell")
@click.argument("output")
@click.argument("input")
@click.option(
    "--path",
    default="local",
    help="local holds the other previous states fixed; total lets INPUT act through them.",
    show_default=True,
)
@click.option(
    "--steps", type=int, default=1, help="Go through so many steps, with h_1, f_2, ... for the names of each."
)
@click.option("--explain", is_flag=True, help="Show which rule was applied to which equation, and what came out.")
@click.option("--at", multiple=True, metavar="NAME=VALUE", help="Follow the gradient at these weights and inputs.")
@click.option(
    "--digits", type=click.IntRange(0, 1000), default=6, help="Digits after the point, with --at.", show_default=True
)
@click.option("--explicit", type=int, metavar="H", help="Write the entries out with SymPy, for H up to 3.")
@click.option("--check/--no-check", default=True, help="Compare with differences at 50 digits; on by default.")
@format_option("latex", "markdown", "numpy", "html", "unicode")
def command(
    cell: str,
    output: str,
    input: str,
    path: str,
    steps: int,
    explain: bool,
    at: tuple[str, ...],
    digits: int,
    explicit: int | None,
    check: bool,
    format: str,
) -> None:
    """Derive OUTPUT by INPUT, both names of CELL: a state, its _prev, a gate, x, a bias or a weight.

    \b
    gatecalc derive lstm c c_prev
    gatecalc derive gru h h_prev --explain
    gatecalc derive lstm c c_prev --path total --format latex
    gatecalc derive lstm c c_prev --steps 20 --at b_f=3
    """
    from gatecalc.calculus.derivation import derive

    found = derive(cell, output, input, path, steps, check and format in ("text", "json", "markdown", "html"))
    followed = None
    if at:
        from gatecalc.calculus.story import read_values, story

        with named("--at", "write numbers or nested lists of numbers, as in --at 'b_f=3, x=[1, 0]'"):
            followed = story(found._jacobian, read_values(at), digits)
    entries = None if explicit is None else found.explicit(explicit)
    if format == "json":
        more = {"explanation": found.explanation if explain else None, "explicit": entries, "at": followed}
        print_json(plain(found) | more)
        return
    if format != "text":
        pages = {"latex": lambda: found.latex, "numpy": found.numpy, "unicode": found.unicode}
        pages |= {"markdown": lambda: found.markdown(explain), "html": lambda: found.html(explain)}
        click.echo(pages[format]().rstrip("\n"))
        return
    _print_text(found, explain)
    if entries is not None:
        click.echo("\n" + "\n".join(f"J[{i}, {j}] = {e}" for i, row in enumerate(entries) for j, e in enumerate(row)))
    if followed is not None:
        click.echo()
        _print_story(followed, found.output, found.input)


def _print_text(found: object, explain: bool) -> None:
    """Print the formula; what follows it is a comment to whoever reads it as one, ``gatecalc grade`` too."""
    from gatecalc.calculus.derivation import Derivation, remarks

    assert isinstance(found, Derivation)
    if explain:
        click.echo(found.explain() + "\n")
    click.echo(found.text)
    for part in found.where:
        click.echo(f"# where {part.name} = {part.text}")
    for remark in remarks(found):
        click.echo(f"# {remark}")


def _print_story(followed: object, output: str, input: str) -> None:
    from gatecalc.calculus.story import Story

    assert isinstance(followed, Story)
    header = ("step", "factor", "along the belt", "in full")
    click.echo(table([(row.step, row.factor, row.belt, row.whole) for row in followed.rows], header, right="rrrr"))
    click.echo(f"\nthe {followed.measure} of d {output} / d {input}: of each step, and of all steps so far\n")
    rows = [(each.path, each.factors[-1], each.product or "") for each in followed.paths]
    click.echo(table(rows, ("path", "at the last step", "over all steps"), right="lrr"))
