"""What recurrent layers a model file or a pasted summary holds, their sizes, and whether printed counts are right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gatecalc.counts.architecture import count
from gatecalc.errors import GatecalcError, Place
from gatecalc.models.artefacts import Artefact, read
from gatecalc.models.recognise import Unit, units
from gatecalc.models.summaries import Row, rows
from gatecalc.record import Record

MAX_LAYERS = 100_000  # of a configuration


class Layer(Record):
    """A recurrent layer that was found.

    Attributes:
        name: What the file calls it.
        framework, layer, cell: Whose layer it is, under which name, and the cell that it computes.
        input, hidden, projection, layers, directions: Widths and stack; ``input`` is None where nothing tells it.
        bias: The rule that its biases follow, or ``listed``.
        parameters: The numbers in its tensors, or by its configuration.
        counted: The same by the rule; they differ only for an exception to the rules.
        formula: Of the count.
        macs: Multiply-accumulates of one step of one sequence.
        note: What one should know.
    """

    name: str
    framework: str
    layer: str
    cell: str
    input: int | None
    hidden: int
    projection: int | None
    layers: int
    directions: int
    bias: str
    parameters: int | None
    counted: int | None
    formula: str
    macs: int | None
    note: str | None


class Audit(Record):
    """What :func:`audit` returns.

    Attributes:
        path, kind: The file, and what it is.
        layers: The recurrent layers.
        table: The rows of a pasted summary, each with its verdict: ``exact``, ``wrong`` or ``undecided``.
        parameters: All numbers in the file's tensors; None for a configuration or a table.
        recurrent: Those of the recurrent layers.
        notes: What could not be told.
    """

    path: str
    kind: str
    layers: list[Layer]
    table: list[Row]
    parameters: int | None
    recurrent: int
    notes: list[str]

    @property
    def wrong(self) -> list[Row]:
        """The rows whose printed count is not right."""
        return [row for row in self.table if row.verdict == "wrong"]


def audit(path: str) -> Audit:
    """Read a model and say which recurrent layers it holds, by their tensors, their configuration or their summary.

    Args:
        path: An ONNX, ``.safetensors``, ``.npz``, PyTorch or ``.keras`` file, a Keras configuration as JSON, or the
            text of a summary by Keras or torchinfo. Nothing in it is run.

    Raises:
        GatecalcError: For a file that cannot be read, and for one in which there is nothing to audit.
    """
    found = read(path)
    layers: list[Layer] = []
    table: list[Row] = []
    notes: list[str] = []
    if found.kind == "keras":
        layers = list(_configured(found.config))
    elif found.kind == "text":
        table = rows(found.text, path)
        if "mult-adds" in found.text:
            notes.append("torchinfo's mult-adds count the biases as products too: see gatecalc count")
    else:
        layers = _stacks(units(found))
        if found.kind == "onnx" and len(found.nodes) > len({layer.name for layer in layers}):
            notes.append("a recurrent node whose weights or activations are not those of a known cell is left out")
    if not layers and not table and found.kind != "text" and not found.tensors and not found.nodes:
        raise GatecalcError("file: there is no layer in it", Place(path), "give a model with recurrent layers")
    return Audit(
        path=path,
        kind=found.kind,
        layers=layers,
        table=table,
        parameters=_numbers(found),
        recurrent=sum(layer.parameters or 0 for layer in layers),
        notes=notes,
    )


def _numbers(found: Artefact) -> int | None:
    return sum(tensor.size for tensor in found.tensors.values()) if found.tensors else None


def _stacks(found: list[Unit]) -> list[Layer]:
    """Return the layers of which units are the layers and directions, those under one prefix together."""
    together: dict[tuple[str, str, str], list[Unit]] = {}
    for unit in found:
        together.setdefault((unit.prefix, unit.row.cell, unit.row.framework), []).append(unit)
    return [_stack(parts) for parts in together.values()]


def _stack(parts: list[Unit]) -> Layer:
    first = parts[0]
    row, widths = first.row, first.widths
    layers, directions = len({unit.layer for unit in parts}), len({unit.direction for unit in parts})
    tensors = {tensor.name: tensor for unit in parts for tensor in unit.tensors.values()}
    rule = "none" if not first.bias else row.bias
    counted = count(
        row.cell,
        widths["D"],
        widths["H"],
        "single" if rule == "listed" else rule,
        layers,
        directions == 2,
        widths.get("P"),
    )
    notes = [f"{', '.join(first.also)} has the same tensors"] if first.also else []
    if rule == "listed":
        notes.append(f"an exception to the bias rules: it has no {', '.join(row.absent)}")
    return Layer(
        name=first.title or first.prefix.rstrip("./:|") or row.names[0],
        framework=row.framework,
        layer=row.names[0],
        cell=row.cell,
        input=widths["D"],
        hidden=widths["H"],
        projection=widths.get("P"),
        layers=layers,
        directions=directions,
        bias=rule,
        parameters=sum(tensor.size for tensor in tensors.values()),
        counted=counted.parameters,
        formula=counted.parameters_formula,
        macs=counted.macs,
        note="; ".join(notes) or None,
    )


# ------------------------------------------------------------------------------------------- a Keras configuration

_KERAS: dict[str, Callable[[dict[str, Any]], str]] = {
    "SimpleRNN": lambda config: "rnn_relu" if config.get("activation") == "relu" else "rnn",
    "LSTM": lambda config: "lstm",
    "GRU": lambda config: "gru_reset_after" if config.get("reset_after", True) else "gru_cho",
}
_USUAL = {"SimpleRNN": ("tanh", "relu"), "LSTM": ("tanh",), "GRU": ("tanh",)}


def _configured(model: Any) -> Iterator[Layer]:
    """Yield the recurrent layers of a Keras model's own description, in its order."""
    waiting: list[tuple[Any, int, int | None]] = [(model, 1, None)]
    visited = 0
    while waiting:
        part, directions, width = waiting.pop()
        visited += 1
        if visited > MAX_LAYERS:
            raise GatecalcError(
                f"limit: the configuration has more than {MAX_LAYERS:,} parts", help="save a smaller model"
            )
        if isinstance(part, list):
            waiting += [(item, directions, width) for item in reversed(part)]
            continue
        if not isinstance(part, dict):
            continue
        config = _inner(part, "config")
        kind = str(part.get("class_name", "")).removesuffix("Cell")
        width = _width(part) or width
        if kind in _KERAS and isinstance(config.get("units"), int):
            yield _keras_layer(kind, config, directions, width)
        elif kind == "Bidirectional":
            waiting.append((config.get("layer"), 2, width))
        else:  # a model, or what wraps a layer or a cell
            inside = [config.get(key) for key in ("layers", "layer", "cells", "cell")]
            waiting += [(item, directions, width) for item in reversed(inside) if item is not None]
            if "config" not in part and "model_config" in part:
                waiting.append((part["model_config"], directions, width))


def _inner(part: dict[str, Any], key: str) -> dict[str, Any]:
    inner = part.get(key)
    return inner if isinstance(inner, dict) else {}


def _width(part: dict[str, Any]) -> int | None:
    """Return the last extent of the input that a layer was built with."""
    built, config = _inner(part, "build_config"), _inner(part, "config")
    for shape in (built.get("input_shape"), config.get("batch_input_shape"), config.get("batch_shape")):
        if isinstance(shape, list) and shape and isinstance(shape[-1], int) and shape[-1] > 0:
            return int(shape[-1])
    return None


def _keras_layer(kind: str, config: dict[str, Any], directions: int, width: int | None) -> Layer:
    name = _KERAS[kind](config)
    rule = "none" if not config.get("use_bias", True) else "double" if name == "gru_reset_after" else "single"
    found = count(name, width, config["units"], rule, bidirectional=directions == 2)
    activations = (config.get("activation", "tanh"), config.get("recurrent_activation", "sigmoid"))
    usual = activations[0] in _USUAL[kind] and activations[1] == "sigmoid"
    return Layer(
        name=str(config.get("name", kind)),
        framework="keras",
        layer=kind,
        cell=name,
        input=width,
        hidden=config["units"],
        projection=None,
        layers=1,
        directions=directions,
        bias=rule,
        parameters=found.parameters,
        counted=found.parameters,
        formula=found.parameters_formula,
        macs=found.macs,
        note=None if usual else f"its activations are {activations[0]} and {activations[1]}",
    )
