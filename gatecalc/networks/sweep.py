"""Many settings at once: every combination of lengths, rates and weights, one table out.

Combinations run together, vectorised over the settings; runs of different lengths too, where they are small. A
shorter run then goes through steps after its end, which count nothing, unless they overflow: 0 times infinity does
count. So a run to which that may have happened is made again, with others of its own length.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gatecalc.cell import Cell
from gatecalc.cell import cell as find_cell
from gatecalc.errors import GatecalcError
from gatecalc.networks.options import Options
from gatecalc.networks.tasks import task
from gatecalc.networks.training import Progress, Trained, Trainer, can_mix

MAX_RUNS = 10_000


@dataclasses.dataclass
class Sweep:
    """The table of a sweep.

    Attributes:
        columns: ``length``, what was varied, and ``learned``, ``passes``, ``loss``.
        rows: One for each combination, the lengths varying fastest; after Ctrl-C, of those that have made a pass.
        runs: What came of each, in the order of the rows.
    """

    columns: list[str]
    rows: list[list[Any]]
    runs: list[Trained]


def sweep(
    task_name: str,
    cell: Cell | str,
    lengths: Sequence[int],
    settings: Mapping[str, Sequence[Any]],
    options: Options,
    progress: Progress | None = None,
) -> Sweep:
    """Run every combination of lengths and settings.

    Args:
        settings: {weight or ``rate``: the values that it takes}.

    >>> sweep("remember-first", "rnn", [5, 10], {"W": [0.5], "U": [0.5], "V": [0.5]}, Options(rate=0.5)).rows[1]
    [10, 25, 25, 0.0...]
    """
    found_cell = find_cell(cell) if isinstance(cell, str) else cell
    combinations = [dict(zip(settings, values)) for values in itertools.product(*settings.values())]
    if len(combinations) * len(lengths) > MAX_RUNS:
        raise GatecalcError(
            f"limit: the sweep has {len(combinations) * len(lengths)} runs, {MAX_RUNS} at most", help="vary less"
        )
    found = task(task_name, options.loss)
    if len(lengths) > 1 and not found.sized:
        raise GatecalcError(
            f"option: the data of '{found.name}' have a length of their own, and this asks for {len(lengths)} lengths",
            help="give one --length, or leave it out",
        )
    together = can_mix(found, lengths, options, len(combinations) * len(lengths))
    runs: dict[tuple[int, int], Trained] = {}
    done = 0

    def make(keys: list[tuple[int, int]], share: int) -> None:
        nonlocal done
        before, own = done, [length for _, length in keys]
        trainer = Trainer(found, found_cell, own[0], [combinations[number] for number, _ in keys], options, own)

        def report(passes: int, loss: float) -> None:
            if progress is not None:
                progress(before + passes * share, loss)

        for key, run in zip(keys, trainer.run(report)):
            runs[key] = run
            done = max(done, before + run.passes * share)

    def interrupted() -> bool:
        return any(run.interrupted for run in runs.values())

    for batch in [lengths] if together else [[length] for length in lengths]:
        if not interrupted():
            make(list(itertools.product(range(len(combinations)), batch)), len(batch))
    if together and not interrupted():
        for length in sorted({*lengths} - {max(lengths)}):
            lost = [key for key, run in runs.items() if key[1] == length and _may_be_spoilt(run)]
            if lost:
                make(lost, 0)
    varied = [name for name, values in settings.items() if len(values) > 1]
    rows, ordered = [], []
    for (number, combination), length in itertools.product(enumerate(combinations), lengths):
        run = runs.get((number, length))
        if run is None or not run.passes:
            continue
        rows.append([run.length, *(combination[name] for name in varied), run.learned, run.passes, run.loss])
        ordered.append(run)
    return Sweep(["length", *varied, "learned", "passes", "loss"], rows, ordered)


def _may_be_spoilt(run: Trained) -> bool:
    """Tell whether a run has met numbers that are not finite."""
    return run.diverged is not None or not all(np.isfinite(value).all() for value in run.first_gradient.values())
