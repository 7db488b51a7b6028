"""Which recurrent layers a set of named tensors holds: names and shapes against the rows of the layouts.

A row fits where all of its tensors are there under one prefix and one choice of widths gives every shape. Nothing is
guessed: where two rows fit alike (tanh and relu have the same tensors), the first stands, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gatecalc.counts.layouts import Row, Tensor, framework, frameworks
from gatecalc.counts.polynomial import Polynomial
from gatecalc.models.artefacts import Artefact
from gatecalc.models.tensors import Stored
from gatecalc.record import Record

FIRST = ("pytorch", "keras")  # of several frameworks with the same names, these are meant
SEPARATORS = "./:|"  # what a prefix ends with


class Unit(Record):
    """One layer and direction of a framework's layer, found in a file.

    Attributes:
        row: The layout that fits.
        prefix: What stands before the names.
        layer, direction: Numbers from 0.
        directions: How many directions the layer has.
        tensors: {the layout's name: the file's tensor}.
        widths: D, H and P, solved from the shapes.
        bias: Whether there are biases.
        also: Other cells that have the same tensors.
        title: What the file itself calls it.
    """

    row: Row
    prefix: str
    layer: int
    direction: int
    directions: int
    tensors: dict[str, Stored]
    widths: dict[str, int]
    bias: bool
    also: tuple[str, ...] = ()
    title: str = ""


def units(found: Artefact, where: str | None = None, cell: str | None = None) -> list[Unit]:
    """Return the recurrent layers of a file, in its own order, each layer and direction apart.

    Args:
        found: The file.
        where: Only rows of this framework.
        cell: Only rows of this cell.
    """
    if found.kind == "onnx":
        return _nodes(found, cell)
    if found.kind in ("keras", "hdf5") and where is None:
        where = "keras"
    names = sorted(set(frameworks().values()), key=lambda name: (name not in FIRST, name)) if where is None else [where]
    rows = [row for name in names for row in framework(name).rows]
    rows = [row for row in rows if row.framework != "onnx" or where == "onnx"]
    best: dict[str, Unit] = {}
    for row in rows:
        if cell in (None, row.cell):
            for unit in _row_units(row, found.tensors):
                key = min(tensor.name for tensor in unit.tensors.values()) + str(unit.direction)
                known = best.get(key)
                if known is None or len(unit.tensors) > len(known.tensors):
                    best[key] = unit
                elif len(unit.tensors) == len(known.tensors) and unit.row.cell != known.row.cell:
                    best[key] = known._replace(also=(*dict.fromkeys((*known.also, unit.row.cell)),))
    claimed: set[str] = set()
    kept = []
    for unit in sorted(best.values(), key=lambda unit: -len(unit.tensors)):
        own = {tensor.name for tensor in unit.tensors.values()}
        along = any(tensor.direction_axis is not None for tensor in unit.row.tensors)
        if along or not own & claimed:
            kept.append(unit)
            claimed |= own
    order = {name: position for position, name in enumerate(found.tensors)}
    return sorted(
        kept, key=lambda unit: (min(order[t.name] for t in unit.tensors.values()), unit.layer, unit.direction)
    )


def _row_units(row: Row, tensors: Mapping[str, Stored]) -> Iterable[Unit]:
    """Yield every place where the row's tensors are all there and fit."""
    places: dict[tuple[str, int, int], dict[str, Stored]] = {}
    for tensor in row.tensors:
        pattern = _pattern(row, tensor)
        for name, stored in tensors.items():
            match = pattern.fullmatch(name)
            if match:
                groups = match.groupdict()
                direction = row.directions.index(groups["direction"]) if groups.get("direction") else 0
                direction += bool(groups.get("reverse"))
                key = (match["prefix"], int(groups.get("layer") or 0), direction)
                places.setdefault(key, {})[tensor.name] = stored
    for (prefix, layer, direction), there in places.items():
        yield from _fitted(row, prefix, layer, direction, there)


def _fitted(
    row: Row, prefix: str, layer: int, direction: int, there: dict[str, Stored], title: str = ""
) -> Iterable[Unit]:
    needed = [tensor for tensor in row.tensors if not tensor.only_shape and not tensor.optional]
    bias = all(tensor.name in there for tensor in needed)
    if not bias and (row.bias_off is None or not all(tensor.name in there for tensor in needed if not tensor.is_bias)):
        return
    if not bias and any(tensor.name in there for tensor in needed if tensor.is_bias):
        return
    axes = {tensor.direction_axis for tensor in needed}
    number = 1
    first = there[needed[0].name].shape
    if None not in axes and len(first) == len(needed[0].shape):
        number = first[needed[0].direction_axis or 0]
        if number not in (1, 2):
            return
    widths = solve(
        [
            (extent, stored // number if axis == tensor.direction_axis else stored)
            for tensor in row.tensors
            if tensor.name in there
            for axis, (extent, stored) in enumerate(_paired(tensor, there[tensor.name]))
        ]
    )
    if widths is None:
        return
    for part in range(number) if number > 1 else [direction]:
        yield Unit(row, prefix, layer, part, number, there, widths, bias, (), title)


def _paired(tensor: Tensor, stored: Stored) -> list[tuple[Polynomial, int]]:
    """Return the extents side by side; one that cannot be met where the ranks differ."""
    if len(tensor.shape) != len(stored.shape):
        return [(Polynomial({}), 1)]
    return list(zip(tensor.shape, stored.shape, strict=True))


def solve(equations: list[tuple[Polynomial, int]]) -> dict[str, int] | None:
    """Solve extents such as ``4*H = 20`` and ``D + H = 8`` for positive whole widths; None where they contradict.

    >>> from gatecalc.counts.polynomial import symbol
    >>> solve([(symbol("D") + symbol("H"), 8), (4 * symbol("H"), 20)])
    {'H': 5, 'D': 3}
    """
    widths: dict[str, int] = {}
    waiting = equations
    while waiting:
        left = []
        for extent, value in waiting:
            here = extent.at(**widths)
            if not here.names:
                if here() != value:
                    return None
            elif len(here.names) == 1:
                constant, slope = (each() for each in here.coefficients(here.names[0])[:2])
                width, rest = divmod(value - constant, slope)
                if rest or width < 1:
                    return None
                widths[here.names[0]] = width
            else:
                left.append((extent, value))
        if len(left) == len(waiting):
            return None
        waiting = left
    return widths


def _pattern(row: Row, tensor: Tensor) -> re.Pattern[str]:
    """Return the pattern of a tensor's name: a prefix, its layer and direction, and the name itself.

    Where the framework's own name tells neither, it may begin with ``l0/`` or ``l0_reverse/``, as ``convert`` writes.
    """
    text = re.escape(tensor.template or tensor.name)
    text = text.replace(r"\{layer\}", r"(?P<layer>\d{1,6})")
    directions = "|".join(re.escape(direction) for direction in sorted(row.directions, reverse=True))
    text = text.replace(r"\{direction\}", f"(?P<direction>{directions})")
    own = "" if "(?P<" in text else r"(?:l(?P<layer>\d{1,6})(?P<reverse>_reverse)?/)?"
    return re.compile(rf"(?P<prefix>(?:.*[{re.escape(SEPARATORS)}])??){own}{text}(?::0)?", re.DOTALL)


def _nodes(found: Artefact, cell: str | None) -> list[Unit]:
    """Return the layers of an ONNX graph: its nodes say what they are, and which tensors are theirs."""
    result: list[Unit] = []
    for position, node in enumerate(found.nodes):
        there = {
            role: found.tensors[name] for role, name in node.inputs.items() if role in "WRBP" and name in found.tensors
        }
        for row in framework("onnx").rows:
            if node.op in row.names and cell in (None, row.cell) and _says(node.attributes, row.cell):
                title = node.name or f"{node.op} {position + 1}"
                result += _fitted(row, f"{title}/", 0, _direction(node.attributes), there, title)
    return result


def _direction(attributes: Mapping[str, Any]) -> int:
    return 1 if attributes.get("direction") == "reverse" else 0


def _says(attributes: Mapping[str, Any], cell: str) -> bool:
    """Tell whether a node's attributes are those of the cell."""
    activations = [str(name).lower() for name in attributes.get("activations") or []]
    if cell.startswith("rnn"):
        return set(activations or ["tanh"]) == {"relu" if cell == "rnn_relu" else "tanh"}
    if cell.startswith("gru"):
        after = attributes.get("linear_before_reset", 0) == 1
        return ("reset_after" in cell) == after and set(activations or ["sigmoid", "tanh"]) == {"sigmoid", "tanh"}
    return not attributes.get("input_forget", 0) and set(activations or ["sigmoid", "tanh"]) == {"sigmoid", "tanh"}
