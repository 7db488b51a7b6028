"""Many settings at once: every combination of lengths, rates and weights, one table out.

Combinations run together, vectorised over the settings; runs of different lengths too, where they are small.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from gatecalc.cell import Cell
from gatecalc.cell import cell as find_cell
from gatecalc.errors import GatecalcError
from gatecalc.networks.tasks import task
from gatecalc.networks.training import Options, Progress, Trained, Trainer, can_mix

MAX_RUNS = 10_000


@dataclasses.dataclass
class Sweep:
    """The table of a sweep.

    Attributes:
        columns: ``length``, what was varied, and ``learned``, ``passes``, ``loss``.
        rows: One for each combination, the lengths varying fastest.
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
    together = can_mix(found, lengths, options, len(combinations) * len(lengths))
    runs: dict[tuple[int, int], Trained] = {}
    done = 0
    for batch in [lengths] if together else [[length] for length in lengths]:
        keys = list(itertools.product(range(len(combinations)), batch))
        trainer = Trainer(
            found,
            found_cell,
            batch[0],
            [combinations[number] for number, _ in keys],
            options,
            [length for _, length in keys],
        )
        before = done

        def report(passes: int, loss: float, before: int = before, share: int = len(batch)) -> None:
            if progress is not None:
                progress(before + passes * share, loss)

        for key, run in zip(keys, trainer.run(report)):
            runs[key] = run
            done = max(done, before + run.passes * len(batch))
    varied = [name for name, values in settings.items() if len(values) > 1]
    rows, ordered = [], []
    for (number, combination), length in itertools.product(enumerate(combinations), lengths):
        run = runs[number, length]
        rows.append([length, *(combination[name] for name in varied), run.learned, run.passes, run.loss])
        ordered.append(run)
    return Sweep(["length", *varied, "learned", "passes", "loss"], rows, ordered)
