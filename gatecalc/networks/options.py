"""How a run is made: its options, what they may be, and which of the values that a call gives are options."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gatecalc.errors import GatecalcError, closest, shorten, text

MAX_PASSES = 10_000_000


@dataclasses.dataclass(frozen=True)
class Options:
    """How a run is made; the settings that are run at once share them.

    Attributes:
        hidden: H.
        rate: The learning rate.
        passes: The most passes that are made; the task's own number if None.
        threshold: The loss below which a run has learned.
        freeze: Weights that keep their initial values.
        initial: How weights that are not set are drawn (:mod:`gatecalc.networks.initial`).
        seed: Of the weights and of the task's data.
        rand: The C library whose ``rand()`` draws the weights; NumPy's generator if None.
        go_on: Whether a run goes on after it has learned.
        clip_norm: The largest norm of the gradient; a longer one is scaled down to it.
        clip_value: The largest size of a gradient's number.
        window: Steps of truncated backpropagation; states are carried from one window to the next, gradients are not.
        readout_bias: Whether the read-out has a bias ``b_V``.
    """

    hidden: int = 1
    projection: int | None = None
    layers: int = 1
    bidirectional: bool = False
    dtype: str = "float64"
    rate: float = 0.1
    passes: int | None = None
    threshold: float = 0.01
    freeze: tuple[str, ...] = ()
    initial: str = "zeros"
    seed: int = 0
    rand: str | None = None
    optimiser: str = "descent"
    loss: str | None = None
    text: str = "hello"
    dropout: float = 0.0
    clip_norm: float | None = None
    clip_value: float | None = None
    window: int | None = None
    go_on: bool = False
    readout_bias: bool = False


_KINDS: dict[str, tuple[Any, str]] = {  # of the fields of Options, by their annotations
    "int": ((int, np.integer), "a whole number"),
    "float": ((int, float, np.integer, np.floating), "a number"),
    "str": (str, "a text"),
    "bool": ((bool, np.bool_), "True or False"),
    "tuple[str, ...]": (tuple, "a list of names"),
    "None": (type(None), "nothing"),
}


def check_options(options: Options, settings: Sequence[Mapping[str, Any]]) -> None:
    """Refuse options that no run can have."""
    for field in dataclasses.fields(options):
        value, kinds = getattr(options, field.name), str(field.type).split(" | ")
        if not any(isinstance(value, _KINDS[kind][0]) for kind in kinds) or (
            isinstance(value, bool) and kinds != ["bool"]
        ):
            raise GatecalcError(
                f"type: {field.name} is {shorten(repr(value))}, where {_KINDS[kinds[0]][1]} is needed",
                help=f"leave it out, and it is {field.default!r}",
            )
    if options.dropout > 0 and options.layers == 1:
        raise GatecalcError(
            "option: dropout is between layers, and there is one", help="give --layers 2 or more, or leave it out"
        )
    if options.window is not None and options.window < 1:
        raise GatecalcError(f"--window: it is {options.window}", help="give a whole number from 1")
    small = (("seed", options.seed, "a whole number from 0"), ("threshold", options.threshold, "a number from 0"))
    rates = [("rate", setting.get("rate", options.rate), "a number from 0") for setting in settings]
    for name, value, wanted in (*small, *rates):
        if not isinstance(value, _KINDS["float"][0]) or not 0 <= value < float("inf"):
            raise GatecalcError(f"--{name}: it is {_number(value)}", help=f"give {wanted}")
    for name in ("clip_norm", "clip_value"):
        value = getattr(options, name)
        if value is not None and not 0 < value < float("inf"):
            raise GatecalcError(f"--{name.replace('_', '-')}: it is {_number(value)}", help="give a number above 0")
    if options.passes is not None and not 1 <= options.passes <= MAX_PASSES:
        raise GatecalcError(f"--passes: it is {options.passes}", help=f"give a whole number from 1 to {MAX_PASSES:,}")


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float)) else shorten(str(value))


def split_options(values: Mapping[str, Any]) -> tuple[Options, dict[str, Any]]:
    """Tell the options of a run from its initial weights."""
    known = {field.name for field in dataclasses.fields(Options)}
    given = {name: value for name, value in values.items() if name in known}
    if isinstance(given.get("freeze"), (list, tuple)):
        given["freeze"] = tuple(given["freeze"])
    elif "freeze" in given:
        given["freeze"] = (text(given["freeze"], "freeze"),)
    weights = {name: value for name, value in values.items() if name not in known}
    for name in weights:
        if not name.startswith(("W", "U", "V", "b", "p_")) and name[:1].islower():
            raise GatecalcError(
                f"name: unknown option '{shorten(name)}'{closest(name, known)}",
                help="options are " + ", ".join(sorted(known)),
            )
    return Options(**given), weights
