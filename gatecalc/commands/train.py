"""``gatecalc train``: a training run, or a table of many."""

from __future__ import annotations

import csv
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from gatecalc.commands._options import named
from gatecalc.errors import GatecalcError, Place
from gatecalc.report import format_option, print_json, table


@click.command()
@click.argument("task")
@click.option("--cell", default="lstm", show_default=True, help="A built-in cell, or the path of a .cell file.")
@click.option(
    "--length",
    "lengths",
    default="20",
    show_default=True,
    metavar="T,...",
    help="Steps of the task, where its data have none of their own; several make a table.",
)
@click.option("--hidden", type=click.IntRange(1), default=1, show_default=True, help="The hidden width.")
@click.option("--projection", type=click.IntRange(1), help="The width of a projected state.")
@click.option("--layers", type=click.IntRange(1), default=1, show_default=True, help="Layers, one on another.")
@click.option("--bidirectional", is_flag=True, help="Read each sequence from both ends.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE,...", help="An initial weight; several values make a table."
)
@click.option(
    "--rate",
    "rates",
    default="0.1",
    show_default=True,
    metavar="R,...",
    help="The learning rate; several make a table.",
)
@click.option("--passes", type=click.IntRange(1), help="The most passes. [default: the task's own, mostly 3000]")
@click.option("--threshold", type=float, default=0.01, show_default=True, help="The loss below which it has learned.")
@click.option("--go-on", is_flag=True, help="Go on after it has learned.")
@click.option("--freeze", multiple=True, metavar="NAME", help="A weight that keeps its initial value.")
@click.option(
    "--initial",
    default="zeros",
    show_default=True,
    help="Weights not set: zeros, uniform (as PyTorch draws them), glorot or orthogonal.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the weights and of the task's data.")
@click.option("--rand", help="Draw the weights by the rand() of a C library: glibc, microsoft, macos, ...")
@click.option("--optimiser", default="descent", show_default=True, help="descent, momentum or adam.")
@click.option("--loss", help="Another loss than the task's: half-square, square, cross-entropy, logistic.")
@click.option("--text", default="hello", show_default=True, help="The text of next-character.")
@click.option(
    "--dtype", type=click.Choice(["float64", "float32"]), default="float64", show_default=True, help="Of all numbers."
)
@click.option("--dropout", type=float, default=0.0, help="The share left out between layers.")
@click.option("--clip-norm", type=float, help="The largest norm of the gradient.")
@click.option("--clip-value", type=float, help="The largest size of a number of the gradient.")
@click.option(
    "--window", type=click.IntRange(1), help="Cut backpropagation after so many steps; states are carried on."
)
@click.option("--readout-bias", is_flag=True, help="Give the read-out a bias, b_V.")
@click.option("--every", type=click.IntRange(1), metavar="N", help="Print loss and mean gates of every N-th pass.")
@click.option("--csv", "csv_path", metavar="FILE", help="Write the loss of each pass, or the table.")
@click.option("--plot", "plot_path", metavar="FILE", help="Draw the loss, the gates, and the gradient by steps back.")
@click.option("--save", metavar="FILE", help="Write the run to an .npz file.")
@click.option("--resume", metavar="FILE", help="Go on with a run that --save wrote.")
@format_option()
def command(
    task: str,
    cell: str,
    lengths: str,
    settings: tuple[str, ...],
    rates: str,
    every: int | None,
    csv_path: str | None,
    plot_path: str | None,
    save: str | None,
    resume: str | None,
    format: str,
    **options: Any,
) -> None:
    """Train a cell on a task: remember-first, information, count-bits, next-character, adding, copying, or an .npz.

    \b
    gatecalc train remember-first --cell rnn --length 5,10 --set W=0.5 --set U=0.5 --set V=0.5 --rate 0.5

    It has learned at the first pass, from 1, whose loss, before its step, is below the threshold.
    """
    from gatecalc.cell import cell as find_cell
    from gatecalc.files import check_writable
    from gatecalc.networks.options import Options
    from gatecalc.networks.plot import check as check_picture
    from gatecalc.networks.sweep import sweep
    from gatecalc.networks.tasks import task as find_task

    varied = dict(map(_values, settings))
    if "rate" in varied:
        raise GatecalcError("--set: 'rate' is no weight", help="write it as in --rate 0.1")
    steps = [_length(value) for value in _values(f"--length={lengths}")[1]]
    varied["rate"] = _values(f"--rate={rates}")[1]
    chosen = Options(**options)
    runs = len(steps)
    for values in varied.values():
        runs *= len(values)
    if runs > 1 and (every or plot_path or save or resume):
        raise GatecalcError(
            f"option: --every, --plot, --save and --resume are for one run, and this is {runs}",
            help="give one length and one value of each setting",
        )
    for path in [each for each in (csv_path, plot_path, save) if each is not None]:
        check_writable(path)
    if plot_path:
        check_picture(plot_path)
    passes = chosen.passes or find_task(task, chosen.loss).passes
    if runs > 1:
        with _progress(passes * len(steps)) as report:
            found = sweep(task, cell, steps, varied, chosen, report)
        _write_csv(csv_path, found.columns, found.rows)
        if format == "json":
            print_json(found)
        else:
            click.echo(_sweep_text(found, find_task(task, chosen.loss).goal))
            click.echo(_hint(found.runs, chosen.initial != "zeros"), nl=False)
            stopped = sum(run.interrupted for run in found.runs)
            if stopped or len(found.runs) < runs:
                click.echo(
                    f"interrupted: {stopped} of these runs had not ended, and {runs - len(found.runs)} not begun"
                )
        return
    weights = {name: values[0] for name, values in varied.items()}
    watched = bool(every or plot_path)
    result, watch = _one(task, find_cell(cell), steps[0], weights, chosen, passes, watched, plot_path, save, resume)
    _write_csv(csv_path, ["pass", "loss"], list(enumerate(result.losses, 1)))
    if format == "json":
        print_json(result)
    else:
        if every:
            click.echo(_passes(result.losses, watch.gates, every) + "\n")
        click.echo(_text(result, find_task(task, chosen.loss)))
        click.echo(_hint([result], chosen.initial != "zeros"), nl=False)


def _sweep_text(found: Any, goal: bool) -> str:
    """Lay out the table of a sweep; where nothing is to be learned, the loss is the measure alone."""
    columns = found.columns if goal else [*found.columns[:-3], "norm"]
    rows = []
    for row, run in zip(found.rows, found.runs):
        loss = "diverged" if row[-1] is None else f"{row[-1]:.6g}"
        never = "interrupted" if run.interrupted else "never"
        learned = [never if row[-3] is None else row[-3], row[-2]] if goal else []
        rows.append([*row[:-3], *learned, loss])
    return table(rows, columns, "r" * len(columns))


def _hint(runs: Sequence[Any], drawn: bool) -> str:
    """Say what to do about runs in which nothing moves, since every gradient is 0."""
    import numpy as np

    if any(np.any(value) for run in runs for value in run.first_gradient.values()):
        return ""
    remedy = "draw others by --seed" if drawn else "draw them by --initial uniform"
    return f"\nnote: every gradient is 0, so no weight moves: give weights by --set, or {remedy}\n"


def _one(
    task: str,
    cell: Any,
    length: int,
    weights: dict[str, Any],
    options: Any,
    passes: int,
    watched: bool,
    plot_path: str | None,
    save: str | None,
    resume: str | None,
) -> Any:
    """Make one run, with its picture and its file; return it, and what was watched at each pass."""
    from gatecalc.networks.plot import Watch
    from gatecalc.networks.tasks import task as find_task
    from gatecalc.networks.training import Trainer

    trainer = Trainer(find_task(task, options.loss), cell, length, [weights], options)
    watch = Watch()
    if watched:
        trainer.watch = watch
    if resume:
        trainer.restore(resume)
    with _progress(passes) as report:
        (result,) = trainer.run(report)
    if save:
        trainer.save(save)
    if plot_path:
        from gatecalc.networks.plot import plot

        plot(result, watch, plot_path)
    return result, watch


def _passes(losses: Sequence[float], gates: dict[str, list[float]], every: int) -> str:
    """Lay out the loss and the mean of each gate, at the first pass, every so many, and the last.

    The pass at which it has learned takes no step, and its gates are not looked at.
    """
    shown = sorted({1, *range(every, len(losses) + 1, every), len(losses)}) if losses else []
    rows = [
        [at, f"{losses[at - 1]:.6f}", *(f"{means[at - 1]:.4f}" if at <= len(means) else "" for means in gates.values())]
        for at in shown
    ]
    return table(rows, ["pass", "loss", *gates], "r" * (2 + len(gates)))


def _values(setting: str) -> tuple[str, list[Any]]:
    """Read NAME=VALUE or NAME=VALUE,VALUE: numbers or nested lists, each as floats."""
    from gatecalc.language import Source, parse
    from gatecalc.numbers.trace import nested_floats

    name, equals, text = setting.partition("=")
    place = name if name.startswith("--") else "--set"
    example = {"--rate": "--rate 0.1,0.5", "--length": "--length 5,10"}.get(name, f"--set {name.strip()}=0.5")
    if place != "--set" and not text.strip():
        raise GatecalcError(f"{place}: it is empty", help=f"write numbers, as in '{example}'")
    if not equals or not text.strip():
        raise GatecalcError(
            f"option: '{setting[:60]}' is not NAME=VALUE", Place("--set"), "write it as in --set b_f=0,1,2"
        )
    with named(place, f"write numbers, as in '{example}'"):
        tree = parse(Source("[" + text + "]", place))
        return name.strip(), [nested_floats(item, name.strip().removeprefix("--")) for item in tree.args]


def _length(value: Any) -> int:
    if not isinstance(value, float) or value != int(value) or not 1 <= value < 2**53:
        text = f"{value:.6g}" if isinstance(value, float) else str(value)
        raise GatecalcError(f"value: the length is {text}", Place("--length"), "give whole numbers from 1")
    return int(value)


def _text(result: Any, task: Any) -> str:
    """Say what came of a run."""
    if result.diverged:
        lost = f"diverged: the loss of pass {result.diverged} is not a finite number"
        return lost + "\nhelp: a smaller --rate, or --clip-norm"
    passes = f"{result.passes} pass" + ("es" if result.passes != 1 else "")
    lines = [f"learned at pass {result.learned}" if result.learned else f"not learned in {passes}"]
    if result.interrupted:
        lines[0] = f"interrupted after {passes}"
    elif not task.goal:
        lines = []
    what = "loss" if task.goal else "norm of the last state"
    lines.append(f"{what} {result.loss:.6g}" if result.loss is not None else "no pass was made")
    names = list(result.weights or {})
    small = [name for name in names if isinstance(result.weights[name], float)]
    rows = [
        [name, f"{result.weights[name]:.6g}", f"{result.first_gradient.get(name, float('nan')):.6g}"] for name in small
    ]
    lines += ["", table(rows, ["weight", "value", "first gradient"], "lrr")] if rows else []
    rest = [name for name in names if name not in small]
    lines += ["", "of more than one number: " + ", ".join(rest) + " (--format json prints them)"] if rest else []
    return "\n".join(lines)


def _write_csv(path: str | None, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    from gatecalc.files import unwritable

    if path is None:
        return
    try:
        with open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([columns, *rows])
    except OSError as error:
        raise unwritable(path, error) from None


@contextmanager
def _progress(passes: int) -> Iterator[Any]:
    """Show a bar on a terminal's standard error, once a second has gone by."""
    start = time.monotonic()
    shown = 0.0
    terminal = sys.stderr.isatty() and "CI" not in os.environ

    def report(done: int, loss: float) -> None:
        nonlocal shown
        now = time.monotonic()
        if terminal and now - start > 1 and now - shown > 0.1:
            shown = now
            filled = min(30, 30 * done // passes)
            click.echo(
                f"\r[{'#' * filled}{'.' * (30 - filled)}] pass {done} of {passes}, loss {loss:.3g}   ",
                err=True,
                nl=False,
            )

    yield report
    if shown:
        click.echo("\r" + " " * 79 + "\r", err=True, nl=False)
