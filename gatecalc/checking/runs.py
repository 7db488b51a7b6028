"""Training runs as values that claims can read: every number in them is exactly what the float64 run gave.

A claim on whether a run learns is a claim on ``learned``: the number of the pass, or never where the run was given up
before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gatecalc.errors import GatecalcError, Undecided
from gatecalc.networks.options import Options, split_options
from gatecalc.networks.sweep import sweep as sweep_runs
from gatecalc.networks.tasks import task as find_task
from gatecalc.networks.training import Trained
from gatecalc.networks.training import train as train_run
from gatecalc.numbers.precise import Real
from gatecalc.numbers.verdicts import Never

MAX_TRAINING = 2 * 10**8  # passes times steps times weights of one run
_WHOLE = ("hidden", "projection", "layers", "passes", "seed", "window")  # options that count something


class Run:
    """What came of a run.

    Attributes:
        learned: The first pass whose loss was below the threshold, or never.
        passes: How many passes looked at the loss.
        loss: The loss at the last of them.
        weights: {name: number or nested list} at that loss.
        first_gradient: The same, of the gradient of the first pass.
    """

    readable = ("learned", "passes", "loss", "weights", "first_gradient")

    def __init__(self, run: Trained) -> None:
        how = self.how = run.how
        self.learned = Never(how) if run.learned is None else Real.floating(how, run.learned)
        self.passes = run.passes
        self.loss = Never(how) if run.loss is None else Real.floating(how, run.loss)
        self.weights = _named(run.weights or {}, how)
        self.first_gradient = _named(run.first_gradient, how)


class Runs:
    """The runs of a sweep: a row for each combination of settings, a column for each length.

    Attributes:
        learned, loss: Of each run.
        runs: Each run.
    """

    readable = ("learned", "loss", "runs")

    def __init__(self, runs: list[list[Run]]) -> None:
        self.runs = runs
        self.learned = [[run.learned for run in row] for row in runs]
        self.loss = [[run.loss for run in row] for row in runs]


def train(task: str, cell: str, length: int, values: Mapping[str, Any]) -> Run:
    """Train a cell once; ``values`` are initial weights and options.

    Raises:
        GatecalcError: For an unknown task, cell, weight or option.
    """
    plain = {name: _plain(name, value) for name, value in values.items()}
    _check_size(task, [length], split_options(plain)[0])
    return Run(train_run(task, cell, length, **plain))


def sweep(task: str, cell: str, lengths: Sequence[int], values: Mapping[str, Any]) -> Runs:
    """Train a cell at each of some lengths; a weight or a rate that is a list takes each of its values.

    Raises:
        GatecalcError: For an unknown task, cell, weight or option.
    """
    rate = values.get("rate", [])
    options, _ = split_options({name: _plain(name, value) for name, value in values.items() if value is not rate})
    _check_size(task, lengths, options)
    varied = {name: value for name, value in values.items() if name == "rate" or name not in vars(options)}
    settings = {
        name: [_plain(name, item) for item in (value if isinstance(value, list) else [value])]
        for name, value in varied.items()
    }
    runs = [Run(run) for run in sweep_runs(task, cell, lengths, settings, options).runs]
    return Runs([runs[start : start + len(lengths)] for start in range(0, len(runs), len(lengths))])


def _check_size(task: str, lengths: Sequence[int], options: Options) -> None:
    passes = options.passes or find_task(task, options.loss).passes
    if passes * sum(lengths) * (options.hidden + 1) ** 2 > MAX_TRAINING:
        raise Undecided("the training run is longer than the limit")


def _named(arrays: Mapping[str, Any], how: str) -> dict[str, Any]:
    return {name: _reals(value, how) for name, value in arrays.items()}


def _reals(value: Any, how: str) -> Any:
    """Return exact numbers; a matrix or vector of one element is that element."""
    if isinstance(value, list):
        items = [_reals(item, how) for item in value]
        return items[0] if len(items) == 1 else items
    return Real.floating(how, value)


def _plain(name: str, value: Any) -> Any:
    """Return a claim's value as a program takes it."""
    if isinstance(value, list):
        return [_plain(name, item) for item in value]
    if not isinstance(value, Real):
        return value
    if name in _WHOLE:
        if value.integer is None:
            raise GatecalcError(f"value: '{name}' must be an integer", help=f"write it as in {name}=5")
        return value.integer
    fraction = value.fraction
    return float(value.decimal(20)) if fraction is None else float(fraction)
