"""``gatecalc recover``: settings that a document does not state, found from its figures."""

from __future__ import annotations

from typing import Any

import click

from gatecalc.report import format_option, print_json, progress_bar, table


@click.command()
@click.argument("pack")
@click.option("--list", "most", type=click.IntRange(1), default=20, show_default=True, help="Combinations to print.")
@format_option()
def command(pack: str, most: int, format: str) -> int:
    """Find the unstated settings of a document from the figures that it prints.

    The pack gives candidates under [unknown]; every combination that reproduces all claims that depend on them is
    reported, or, if none does, which comes closest and where it parts. Exits with 1 if a setting was not found.

    \b
    gatecalc recover worked_examples/lstm-and-gru.toml
    """
    from gatecalc.checking.recover import recover

    with progress_bar("combinations") as progress:
        found = recover(pack, progress)
    if format == "json":
        print_json(found)
    else:
        click.echo("\n\n".join(_text(group, most) for group in found.groups))
    return 0 if all(group.found for group in found.groups) else 1


def _text(group: Any, most: int) -> str:
    names = ", ".join(group.unknowns)
    lines = [f"{names}: {len(group.found)} of {group.tried:,} combinations reproduce all {len(group.claims)} claims"]
    if group.found:
        lines.append(table([[row[name] for name in group.unknowns] for row in group.found[:most]], group.unknowns))
        if len(group.found) > most:
            lines.append(f"and {len(group.found) - most} more")
    else:
        lines.append("closest: " + ", ".join(f"{name} = {value}" for name, value in group.closest.items()))
        rows = [(part.id, part.states, part.value) for part in group.parts]
        lines.append(table(rows, ("claim", "states", "it gives")))
    return "\n".join(lines)
