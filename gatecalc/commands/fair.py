"""``gatecalc fair``: the width at which two cells are a fair comparison."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from gatecalc.commands import _options as shared
from gatecalc.errors import GatecalcError
from gatecalc.report import format_option, print_json, table

if TYPE_CHECKING:
    from gatecalc.counts.fair import Fair, Problem

SUFFIXES = {"k": 10**3, "M": 10**6, "G": 10**9, "B": 10**9, "T": 10**12}
BYTES = {"kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "bytes": 1}
BYTES |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


@click.command()
@click.argument("cells", nargs=-1, metavar="[REFERENCE:WIDTH] CELL")
@shared.input_option
@shared.bias_option
@click.option("--reference-bias", metavar="RULE", help="The bias rule of REFERENCE, if it is not that of CELL.")
@click.option("--match", metavar="parameters|macs|stored", default="parameters", help="What must be equal.")
@click.option("--scheme", metavar="NAME", default="written", help="The storage scheme, with --match stored.")
@click.option(
    "--budget", metavar="SIZE", help="What to meet instead of a reference: 180, 24M, or in bytes 24MB, 16MiB."
)
@click.option("--dtype", metavar="TYPE", help="Of the numbers in a budget in bytes; float32 by default.")
@click.option("--steps", type=shared.WHOLE, metavar="T", default=1, help="Match MACs or stored numbers of T steps.")
@click.option("--batch", type=shared.WHOLE, metavar="N", default=1, help="Match them of N sequences.")
@click.option("--all", "every", is_flag=True, help="Every built-in cell at its fair width, and what then differs.")
@click.option("--width", metavar="FIRST..LAST", help="All exact matches for reference widths from FIRST to LAST.")
@click.option("--solve", metavar="hidden|input|layers|projection", default="hidden", help="The width to look for.")
@click.option("--hidden", type=shared.WHOLE, metavar="H", help="Hidden width of CELL, when another one is looked for.")
@shared.layers_option
@shared.bidirectional_option
@click.option("--projection", type=shared.WHOLE, metavar="P", help="P of the cells that have one.")
@shared.around_options
@shared.set_option
@format_option()
def command(
    format: str,
    cells: tuple[str, ...],
    budget: str | None,
    every: bool,
    width: str | None,
    widths: tuple[str, ...],
    **given: Any,
) -> None:
    """Find the width of CELL at which it costs what REFERENCE costs at WIDTH, or what a budget allows.

    \b
    gatecalc fair lstm:5 gru --input 3
    gatecalc fair lstm:5 --all --input 3 --bias double
    gatecalc fair lstm gru --input 3 --width 1..512
    gatecalc fair lstm:5 gru --input 3 --bias single --reference-bias double
    gatecalc fair --budget 24M lstm --input 80 --layers 2 --readout 1000
    gatecalc fair --budget 24MB lstm --input 80 --dtype float16
    gatecalc fair --budget 1GiB lstm --input 80 --match stored --steps 100 --batch 32

    The count is a polynomial in the width and is solved in whole numbers, so the answer is proved: one width, or the
    two around it.
    """
    from gatecalc.cell import cell
    from gatecalc.counts import fair

    problem = fair.Problem(**given, widths=shared.settings(widths))
    target: Any = None
    if budget is not None:
        target, in_bytes = _budget(budget)
        problem = problem._replace(dtype=problem.dtype or "float32") if in_bytes else problem
    if problem.dtype and not (budget and in_bytes):
        raise GatecalcError("--dtype: it is that of a budget in bytes", help="write the budget as in '--budget 24MB'")
    if problem.scheme != "written" and problem.match != "stored" and not every:
        raise GatecalcError("--scheme: it is that of stored numbers", help="give --match stored as well")
    if problem.reference_bias and budget is not None:
        raise GatecalcError("--reference-bias: with a budget there is no reference", help="leave it out")
    expected = (budget is None) + (not every)
    if len(cells) != expected:
        raise _wrong_number(cells, budget is not None, every)
    if width is not None:
        if every or budget is not None:
            raise GatecalcError(
                "--width: a range of widths is that of one reference",
                help="write 'gatecalc fair lstm gru --input 3 --width 1..512'",
            )
        _sweep(format, problem, cells[0].partition(":")[0], cells[1], width)
        return
    if target is None:
        target = fair.parse_reference(cells[0])
    if not every and cells[-1].rpartition(":")[2].isdigit():
        name, _, width = cells[-1].rpartition(":")
        raise GatecalcError(
            f"fair: '{cells[-1][:60]}' has a width, and that of CELL is what is looked for",
            help=f"leave ':{width[:20]}' out, as in '{name[:40]}'",
        )
    if every:
        _every(format, problem, target)
        return
    found = fair.solved(problem, cell(cells[-1]), target)
    if format == "json":
        print_json(found)
    else:
        click.echo("\n".join(_lines(found)))


def _wrong_number(cells: tuple[str, ...], budget: bool, every: bool) -> GatecalcError:
    if every and len(cells) > (not budget):
        extra = cells[-1]
        return GatecalcError(
            f"--all: it compares every built-in cell, and '{extra[:40]}' is given beside it",
            help=f"leave '{extra[:40]}' out, or leave --all out",
        )
    if budget and len(cells) > 1:
        return GatecalcError(
            f"--budget: it stands for the reference, and {len(cells)} cells are given",
            help=f"leave '{cells[0][:40]}' out, or leave --budget out",
        )
    wanted = "CELL" if budget else "REFERENCE:WIDTH" if every else "REFERENCE:WIDTH and CELL"
    example = "--budget 24M" if budget else "lstm:5"
    example += " --all" if every else " gru"
    given = f"{len(cells)} arguments are" if len(cells) != 1 else "1 argument is"
    return GatecalcError(
        f"fair: {given} given, and {wanted or 'none'} needed", help=f"write 'gatecalc fair {example} --input 3'"
    )


def _lines(found: Fair) -> list[str]:
    start = f"{found.reference}: {found.target_formula} = {found.target:,}" if found.reference else ""
    rule = found.reference_bias or found.bias
    lines = [f"{start or f'budget: {found.target:,}'} {_what(found)}, bias rule '{rule}'"]
    own = "" if found.bias == rule else f", bias rule '{found.bias}'"
    lines.append(f"{found.cell}: {found.equation}{own}")
    solving = f"  {found.quadratic}"
    if found.discriminant is not None:
        solving += f", discriminant {found.discriminant}"
    root = found.root_formula if found.root_formula == str(found.root) else f"{found.root_formula} = {found.root}"
    lines += [solving, f"  {found.solve} = {root}"]
    if found.exact:
        lines.append(f"exact: {found.solve} = {found.width}")
    elif found.below and found.above:
        lines.append("no whole number; the two around it:")
        rows = [
            (f"  {found.solve} = {at.width}", f"{at.value:,}", _error(at.value, found.target))
            for at in (found.below, found.above)
        ]
        lines.append(table(rows, right="lrr"))
    return lines


def _what(of: Fair | Problem) -> str:
    """Return what is matched, and of how much: ``MACs per step``, ``bytes of parameters in float16``."""
    what = {"parameters": "parameters", "macs": "MACs", "stored": "stored numbers"}[of.match]
    what = f"bytes of {what} in {of.dtype}" if of.dtype else what
    if of.match == "parameters":
        return what
    many = of.steps * of.batch > 1
    return f"{what} for {of.batch:,} sequences of {of.steps:,} steps" if many else f"{what} per step"


def _rules(problem: Problem, reference: str) -> str:
    """Return the bias rules of a table, where a reference may have its own."""
    if problem.reference_bias in (None, problem.bias):
        return f"bias rule '{problem.bias}'"
    return f"bias rule '{problem.reference_bias}' for {reference} and '{problem.bias}' for the rest"


def _error(value: int, target: int) -> str:
    """Return the difference and its share in percent, to two places, in whole numbers."""
    difference = value - target
    hundredths = (abs(difference) * 20_000 + target) // (2 * target)
    sign = "+" if difference > 0 else "-" if difference < 0 else ""
    return f"{sign}{abs(difference):,} ({sign}{hundredths // 100}.{hundredths % 100:02}%)"


def _every(format: str, problem: Problem, target: Any) -> None:
    from gatecalc.counts import fair

    rows = fair.comparison(problem, target)
    if format == "json":
        print_json({"target": rows[0].target, "match": problem.match, "cells": rows})
        return
    rules = _rules(problem, "the reference")
    click.echo(f"{rows[0].target:,} {_what(problem)}, {rules}; the nearest width of each cell")
    matched = "bytes" if problem.dtype else problem.match
    header = ("cell", rows[0].solve, matched, "off by", "parameters", "MACs", f"stored, {problem.scheme}")
    body = [
        (
            row.cell,
            row.width,
            f"{row.value:,}",
            _error(row.value, row.target) if row.value != row.target else "exact",
            f"{row.parameters:,}",
            f"{row.macs:,}",
            f"{row.stored:,}",
        )
        for row in rows
    ]
    click.echo(table(body, header, right="lrrrrrr"))


def _sweep(format: str, problem: Problem, reference: str, of: str, text: str) -> None:
    from gatecalc.cell import cell
    from gatecalc.counts.fair import exact_matches

    first, dots, last = text.partition("..")
    if not dots or not (first.isdigit() and last.isdigit()) or len(last) > 30 or not 1 <= int(first) <= int(last):
        raise GatecalcError(f"--width: '{text[:40]}' is not a range", help="write it as in '--width 1..512'")
    if int(last) - int(first) > 50_000_000:
        raise GatecalcError("--width: the range has more than 50,000,000 widths", help="take a shorter one")
    found = exact_matches(problem, cell(reference), cell(of), int(first), int(last))
    if format == "json":
        print_json(
            {
                "reference": reference,
                "cell": of,
                "match": problem.match,
                "matches": [{"reference_width": r, "width": w, "value": v} for r, w, v in found],
            }
        )
        return
    rules = _rules(problem, reference)
    click.echo(f"{len(found)} exact matches of {reference}:{text} and {of} in {problem.match}, {rules}")
    if found:
        click.echo(
            table([(f"{r:,}", f"{w:,}", f"{v:,}") for r, w, v in found], (reference, of, problem.match), right="rrr")
        )


def _budget(text: str) -> tuple[int, bool]:
    """Read ``180``, ``24M``, ``1.5k``, ``1e6``, ``24MB`` or ``16MiB``: a whole number, and whether it is of bytes."""
    number = text.strip().replace("_", "").replace(",", "")
    match = re.fullmatch(r"([0-9]{0,1000})(?:\.([0-9]{1,1000}))?(?:[eE]\+?([0-9]{1,3}))?\s*([A-Za-z]*)", number)
    units = {"": 1} | SUFFIXES | BYTES
    if match is None or not (match[1] or match[2]) or match[4] not in units:
        help = "write it as 180, 24M or 1.5k, or in bytes as 24MB or 16MiB"
        raise GatecalcError(f"--budget: '{text[:60]}' is not a number", help=help)
    whole, part, power, suffix = match[1], match[2] or "", int(match[3] or 0), match[4]
    value: int
    value, rest = divmod(int(whole + part) * 10**power * units[suffix], 10 ** len(part))
    if rest:
        raise GatecalcError(f"--budget: '{text[:60]}' is not a whole number", help="a budget counts things: round it")
    return value, suffix in BYTES
