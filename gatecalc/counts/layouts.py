"""Where each framework keeps a cell's weights: one file of data each in ``layouts/``, with a source on every row.

A row is a framework's layer: the cell that it really computes, its tensors in the framework's own order, and for each
tensor which blocks lie along which axis. From that and the widths follow every shape, every gate's rows, and the exact
slice of every parameter. ``layouts/SCHEMA.md`` says what a row may hold. To add a framework, add a file.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping
from typing import Any

from gatecalc.cell import Cell, built_in, cell
from gatecalc.counts.architecture import given_widths, output
from gatecalc.counts.polynomial import Polynomial, symbol
from gatecalc.errors import GatecalcError, closest, shorten
from gatecalc.language import Tree, parse
from gatecalc.record import Record

LAYOUTS = os.path.join(os.path.dirname(__file__), "layouts")


MAX_LAYERS = 1_000  # of a printed layout


class Part(Record):
    """Blocks of one kind in a tensor: ``holds`` is W, U, b, p or W_p, ``gates`` the letters, ``side`` a bias's."""

    holds: str
    gates: tuple[str, ...]
    side: str | None
    size: Polynomial | None


class Block(Record):
    """One parameter's place in a tensor: a range of every axis, axes to drop, and whether it is transposed."""

    parameter: str
    side: str | None
    ranges: tuple[tuple[int, int], ...]
    drop: tuple[int, ...]
    transposed: bool


class Tensor(Record):
    """A tensor of a framework's layer; see ``layouts/SCHEMA.md``."""

    name: str
    template: str | None
    shape: tuple[Polynomial, ...]
    parts: tuple[Part, ...]
    parts_axis: int | None
    axis: int | None
    orientation: str | None
    drop: tuple[int, ...]
    direction_axis: int | None
    only_shape: bool
    optional: str | None

    @property
    def is_bias(self) -> bool:
        """Whether it holds biases and nothing else."""
        return bool(self.parts) and all(part.holds == "b" for part in self.parts)

    def extents(self, widths: Mapping[str, int]) -> tuple[int, ...]:
        """Its shape for one layer and direction."""
        return tuple(extent(**widths) for extent in self.shape)

    def blocks(self, widths: Mapping[str, int]) -> Iterator[Block]:
        """Yield the place of every parameter that it holds."""
        start = 0
        for part in self.parts:
            ranges = [(0, extent) for extent in self.extents(widths)]
            if part.size is not None and self.parts_axis is not None:
                size = part.size(**widths)
                ranges[self.parts_axis] = (start, start + size)
                start += size
            for number, gate in enumerate(part.gates or ("",)):
                cut = list(ranges)
                if gate and self.axis is not None:
                    low, high = ranges[self.axis]
                    step = (high - low) // len(part.gates)
                    cut[self.axis] = (low + number * step, low + (number + 1) * step)
                parameter = f"{part.holds}_{gate}" if gate else part.holds
                yield Block(parameter, part.side, tuple(cut), self.drop, self.orientation == "columns")


class Row(Record):
    """A framework's layer; see ``layouts/SCHEMA.md``."""

    framework: str
    cell: str
    names: tuple[str, ...]
    when: str | None
    gates: tuple[str, ...]
    bias: str
    absent: tuple[str, ...]
    bias_off: str | None
    added: dict[str, float]
    directions: tuple[str, ...]
    prefix: str | None
    other_meaning: tuple[str, ...]
    source: str
    source_note: str | None
    verified: str
    note: str | None
    tensors: tuple[Tensor, ...]

    def kept(self, bias: bool = True) -> Iterator[Tensor]:
        """Yield its tensors; without biases, those that hold nothing else are absent."""
        return (tensor for tensor in self.tensors if bias or not tensor.is_bias)


class Framework(Record):
    """A framework: its rows, and the layers of its own that are no cell of ours, with the reason."""

    name: str
    title: str
    versions: str
    rows: tuple[Row, ...]
    refused: tuple[dict[str, Any], ...]


def frameworks() -> dict[str, str]:
    """Return {name or alias: the name of its file} of all frameworks."""
    return {alias: name for name in _files() for alias in (name, *_raw(name)["framework"].get("aliases", []))}


def framework(name: str) -> Framework:
    """Return a framework by its name or an alias.

    Raises:
        GatecalcError: For an unknown one, with the closest known name.
    """
    names = frameworks()
    if name.lower() not in names:
        raise GatecalcError(
            f"framework: unknown '{shorten(name)}'{closest(name, names)}",
            help=f"the frameworks are {', '.join(_files())}",
        )
    return _read(names[name.lower()])


def find(of: str, where: str, layer: str | None = None) -> Row:
    """Return the row of a cell in a framework; ``layer`` is the framework's own name of one, where there are several.

    Raises:
        GatecalcError: Where the framework has no such layer; with the cell that is meant, if the name means another.
    """
    given = framework(where)
    rows = [row for row in given.rows if row.cell == of]
    if not rows:
        raise _refusal(of, given)
    if layer is None:
        return rows[0]
    chosen = [row for row in rows if layer.lower() in (name.lower() for name in row.names)]
    if not chosen:
        names = [name for row in rows for name in row.names]
        raise GatecalcError(
            f"layer: {given.title} has no '{shorten(layer)}' that computes {of}{closest(layer, names)}",
            help=f"it has {', '.join(names)}",
        )
    return chosen[0]


def _refusal(of: str, given: Framework) -> GatecalcError:
    meant = [row for row in given.rows if of in row.other_meaning]
    if meant:
        cells = list(dict.fromkeys(row.cell for row in meant))
        layers = " or ".join(
            f"{each}" + next((f" ({row.when})" for row in meant if row.cell == each and row.when), "") for each in cells
        )
        return GatecalcError(
            f"layout: {given.title}'s {_short(meant[0])} is {layers}, not {of}",
            help=f"gatecalc layout {cells[0]} --framework {given.name}",
        )
    for entry in given.refused:
        if entry.get("near") == of:
            return GatecalcError(
                f"layout: {given.title} has {entry['names'][0]}, which is not {of}: {entry['reason']}",
                help="see 'gatecalc show " + of + "'",
            )
    known = ", ".join(dict.fromkeys(row.cell for row in given.rows))
    return GatecalcError(f"layout: {given.title} has no layer that computes {of}", help=f"it has {known}")


def _short(row: Row) -> str:
    return min(row.names, key=len)


class GateRows(Record):
    """The rows of one gate, first to last, from 0, both included; of ``tensor`` along ``axis``."""

    gate: str
    first_row: int
    last_row: int
    tensor: str
    axis: int


class Layout(Record):
    """What :func:`layout` returns."""

    framework: str
    layer: str
    cell: str
    when: str | None
    bias: str
    gates: list[GateRows]
    tensors: dict[str, list[int]]
    holds: dict[str, str]
    parameters: int
    reset: str | None
    z: str | None
    added: dict[str, float]
    source: str
    source_note: str | None
    note: str | None


def layout(
    of: str | Cell,
    framework: str,
    input: int,
    hidden: int,
    projection: int | None = None,
    *,
    layers: int = 1,
    bidirectional: bool = False,
    bias: bool = True,
    layer: str | None = None,
) -> Layout:
    """Return how a framework lays out a cell's weights.

    Args:
        of: A built-in cell, or its name.
        framework: A name or an alias, such as ``pytorch``.
        input, hidden, projection: D, H and P.
        layers, bidirectional: The stack, where the framework has one in a single layer object.
        bias: False to leave the biases out, where the framework can.
        layer: The framework's own name for the layer, where several compute the cell.

    Raises:
        GatecalcError: For what the framework does not have, with what it has instead.

    >>> layout("lstm", "pytorch", 3, 5).tensors["weight_ih_l0"]
    [20, 3]
    """
    of = cell(of)
    if of.name not in built_in():
        raise GatecalcError(
            f"layout: no framework has a layer that computes {of.name}",
            help="see 'gatecalc cells' for the cells that one may have",
        )
    row = find(of.name, framework, layer)
    if layers > MAX_LAYERS:
        raise GatecalcError(
            f"limit: {layers:,} layers, and {MAX_LAYERS:,} at most", help="the layers from the second on are alike"
        )
    if projection is not None and "P" not in of.dimensions:
        raise GatecalcError(
            f"width: {of.name} has no projection", help="take lstm_projected, or leave --projection out"
        )
    widths = given_widths(of, {"D": input, "H": hidden, "P": projection, "L": layers})
    if "P" in of.dimensions and projection is None:
        raise GatecalcError(f"width: {of.name} has a width P, which is not given", help="give --projection P")
    if not bias and row.bias_off is None:
        raise GatecalcError(f"bias: {_short(row)} always has its biases", help="leave --no-bias out")
    tensors: dict[str, list[int]] = {}
    holds: dict[str, str] = {}
    count = 0
    for name, tensor, shape in stack(row, of, widths, layers, bidirectional, bias):
        tensors[name] = list(shape)
        holds[name] = (
            " ".join(f"{block.parameter}{_SIDE.get(block.side, '')}" for block in tensor.blocks(widths))
            if tensor.parts
            else "(nothing)"
        )
        if not tensor.only_shape:
            size = 1
            for extent in shape:
                size *= extent
            count += size
    family = of.name.startswith("gru")
    return Layout(
        framework=row.framework,
        layer=row.names[0],
        cell=row.cell,
        when=row.when,
        bias=row.bias if bias else "none",
        gates=list(gate_rows(row, widths)),
        tensors=tensors,
        holds=holds,
        parameters=count,
        reset=None if not family else "after" if "reset_after" in of.name else "before",
        z=None if not family else "written" if of.name in ("gru", "gru_reset_after_write") else "kept",
        added=row.added,
        source=row.source,
        source_note=row.source_note,
        note=row.note,
    )


_SIDE = {None: "", "input": " (input side)", "recurrent": " (recurrent side)"}


def gate_rows(row: Row, widths: Mapping[str, int]) -> Iterator[GateRows]:
    """Yield the rows of every gate in the input weights; where each gate has a tensor of its own, that tensor's."""
    for tensor in row.tensors:
        for block in tensor.blocks(widths):
            if block.parameter.startswith("W_") and block.parameter != "W_p" and tensor.axis is not None:
                first, stop = block.ranges[tensor.axis]
                yield GateRows(block.parameter[2:], first, stop - 1, tensor.name, tensor.axis)


def stack(
    row: Row, of: Cell, widths: Mapping[str, int], layers: int = 1, bidirectional: bool = False, bias: bool = True
) -> Iterator[tuple[str, Tensor, tuple[int, ...]]]:
    """Yield (name, tensor, shape) of every tensor of a stack of layers, in the framework's order.

    Raises:
        GatecalcError: Where one object of the framework is one layer, or one direction.
    """
    named = all(tensor.template for tensor in row.tensors)
    if layers > 1 and not (named and "{layer}" in (row.tensors[0].template or "")):
        raise GatecalcError(
            f"layers: one {_short(row)} is one layer", help="ask for one; the layers above it have another input width"
        )
    along = any(tensor.direction_axis is not None for tensor in row.tensors)
    if bidirectional and not along and len(row.directions) < 2:
        raise GatecalcError(
            f"bidirectional: one {_short(row)} is one direction",
            help="ask for one; the other direction's tensors have the same shapes",
        )
    number = 2 if bidirectional else 1
    for layer in range(layers):
        here = dict(widths) if layer == 0 else {**widths, "D": number * widths[of.widths[output(of)]]}
        for direction in row.directions[: 1 if along else number] or ("",):
            for tensor in row.kept(bias):
                shape = list(tensor.extents(here))
                if tensor.direction_axis is not None:
                    shape[tensor.direction_axis] *= number
                name = (tensor.template or tensor.name).replace("{layer}", str(layer)).replace("{direction}", direction)
                yield name, tensor, tuple(shape)


# ---------------------------------------------------------------------------------------------------- reading the files


@functools.cache
def _files() -> list[str]:
    return sorted(entry[: -len(".toml")] for entry in os.listdir(LAYOUTS) if entry.endswith(".toml"))


@functools.cache
def _raw(name: str) -> dict[str, Any]:
    import tomllib

    with open(os.path.join(LAYOUTS, name + ".toml"), "rb") as file:
        return tomllib.load(file)


@functools.cache
def _read(name: str) -> Framework:
    data = _raw(name)
    about = data["framework"]
    return Framework(
        about["name"],
        about["title"],
        about["versions"],
        tuple(map(_row, data["layer"])),
        tuple(data.get("refused", ())),
    )


def _row(data: dict[str, Any]) -> Row:
    return Row(
        framework=data["framework"],
        cell=data["cell"],
        names=tuple(data["names"]),
        when=data.get("when"),
        gates=tuple(data["gates"]),
        bias=data["bias"],
        absent=tuple(data.get("absent", ())),
        bias_off=data.get("bias_off"),
        added=data.get("added", {}),
        directions=tuple(data.get("directions", ())),
        prefix=data.get("prefix"),
        other_meaning=tuple(data.get("other_meaning", ())),
        source=data["source"],
        source_note=data.get("source_note"),
        verified=data["verified"],
        note=data.get("note"),
        tensors=tuple(map(_tensor, data["tensor"])),
    )


def _tensor(data: dict[str, Any]) -> Tensor:
    parts = data.get("parts") or ([] if data.get("only_shape") else [data])
    return Tensor(
        name=data["name"],
        template=data.get("template"),
        shape=tuple(_extent(text) for text in data["shape"].split(",")),
        parts=tuple(_part(part, "parts" in data) for part in parts),
        parts_axis=data.get("parts_axis"),
        axis=data.get("axis"),
        orientation=data.get("orientation"),
        drop=tuple(data.get("drop", ())),
        direction_axis=data.get("direction_axis"),
        only_shape=data.get("only_shape", False),
        optional=data.get("optional"),
    )


def _part(data: dict[str, Any], several: bool) -> Part:
    return Part(data["holds"], tuple(data["gates"]), data.get("side"), _extent(data["size"]) if several else None)


@functools.cache
def _extent(text: str) -> Polynomial:
    return _polynomial(parse(text))


def _polynomial(tree: Tree) -> Polynomial:
    if tree.op == "number":
        return Polynomial({(): tree.value})
    if tree.op == "name":
        return symbol(tree.value)
    total = _polynomial(tree.args[0])
    for argument in tree.args[1:]:
        total = total + _polynomial(argument) if tree.op == "+" else total * _polynomial(argument)
    return total
