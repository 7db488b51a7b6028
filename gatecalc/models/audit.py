"""What recurrent layers a model file or a pasted summary holds, their sizes, and whether printed counts are right."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gatecalc.counts.architecture import count
from gatecalc.counts.layouts import framework
from gatecalc.errors import GatecalcError, Place
from gatecalc.models import kerasmodel
from gatecalc.models.artefacts import Artefact, read
from gatecalc.models.kerasmodel import Configured
from gatecalc.models.recognise import Unit, units
from gatecalc.models.summaries import Row, rows
from gatecalc.models.tensors import Stored
from gatecalc.record import Record


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
        weights: Of a layer that a Keras model describes, whether the weights in the file ``agree`` with that or
            ``disagree``; None where there are none, and where the weights are all that is known.
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
    weights: str | None = None


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

    @property
    def contradicted(self) -> list[Layer]:
        """The layers whose weights are not those that the model's configuration describes."""
        return [layer for layer in self.layers if layer.weights == "disagree"]


def audit(path: str) -> Audit:
    """Read a model and say which recurrent layers it holds, by their tensors, their configuration or their summary.

    Args:
        path: An ONNX, ``.safetensors``, ``.npz``, PyTorch, ``.keras`` or ``.h5`` file, a Keras configuration as JSON,
            or the text of a summary by Keras or torchinfo. Nothing in it is run.

    Raises:
        GatecalcError: For a file that cannot be read, and for one in which there is nothing to audit.
    """
    found = read(path)
    layers: list[Layer] = []
    table: list[Row] = []
    notes: list[str] = []
    if found.kind == "keras":
        layers = _keras(found)
        if found.left_out:
            notes.append(f"{found.left_out}; what is said is by the configuration alone")
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


# ------------------------------------------------------------------------------------------- a Keras model

_CELLS: dict[str, Callable[[dict[str, Any]], str]] = {
    "SimpleRNN": lambda config: "rnn_relu" if config.get("activation") == "relu" else "rnn",
    "LSTM": lambda config: "lstm",
    "GRU": lambda config: "gru_reset_after" if config.get("reset_after", True) else "gru_cho",
}
_USUAL = {"SimpleRNN": ("tanh", "relu"), "LSTM": ("tanh",), "GRU": ("tanh",)}


def _keras(found: Artefact) -> list[Layer]:
    """Return the layers of a Keras model: those that it describes, and those that only its weights show."""
    layers, left = [], dict(found.tensors)
    for configured in kerasmodel.layers(found.config):
        there = kerasmodel.weights(configured, found.tensors) if found.tensors else None
        layers.append(_keras_layer(configured, there, bool(found.tensors)))
        for tensor in (tensor for part in there or [] for tensor in part.values()):
            left.pop(tensor.name, None)
    return layers + _stacks(units(found._replace(tensors=left)))


def _keras_layer(configured: Configured, there: list[dict[str, Stored]] | None, searched: bool) -> Layer:
    config, kind = configured.config, configured.kind
    cell = _CELLS[kind](config)
    bias = bool(config.get("use_bias", True))
    rule = "none" if not bias else "double" if cell == "gru_reset_after" else "single"
    width = configured.input
    if width is None and there and len(there[0]["recurrent_kernel"].shape) == 2 and "kernel" in there[0]:
        width = (*there[0]["kernel"].shape, 0)[0] or None
    directions = len(configured.groups)
    counted = count(cell, width, config["units"], rule, bidirectional=directions == 2)
    differ = _differences(cell, width, config["units"], bias, there or [])
    activations = (config.get("activation", "tanh"), config.get("recurrent_activation", "sigmoid"))
    notes = list(dict.fromkeys(differ))
    if activations[0] not in _USUAL[kind] or activations[1] != "sigmoid":
        notes.append(f"its activations are {activations[0]} and {activations[1]}")
    if searched and there is None:
        notes.append("its weights are not found in the file")
    return Layer(
        name=configured.name,
        framework="keras",
        layer=kind,
        cell=cell,
        input=width,
        hidden=config["units"],
        projection=None,
        layers=1,
        directions=directions,
        bias=rule,
        parameters=sum(each.size for part in there for each in part.values()) if there else counted.parameters,
        counted=counted.parameters,
        formula=counted.parameters_formula,
        macs=counted.macs,
        note="; ".join(notes) or None,
        weights=None if there is None else "disagree" if differ else "agree",
    )


def _differences(cell: str, width: int | None, hidden: int, bias: bool, there: list[dict[str, Stored]]) -> list[str]:
    """Say where tensors are not those that a configuration describes."""
    row = next(row for row in framework("keras").rows if row.cell == cell)
    expected = {
        tensor.name: tensor.extents({"D": width or 1, "H": hidden})
        for tensor in (row.kept(bias) if there else ())
        if tensor.name in kerasmodel.ROLES
    }
    return [
        f"{role} is {_shape(part[role].shape) if role in part else 'not'} in the weights, and "
        f"{_shape(expected[role]) if role in expected else 'not'} in the configuration"
        for part in there
        for role in kerasmodel.ROLES
        if (part[role].shape if role in part else None) != (tuple(expected[role]) if role in expected else None)
    ]


def _shape(extents: Iterable[int]) -> str:
    return " x ".join(map(str, extents))
