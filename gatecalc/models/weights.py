"""Weights of a layer from one framework's layout to another's: reordered, transposed, merged, split, and nothing else.

A layer's tensors are cut into the cell's own parameters, by the slices of its layout, and laid out again by another.
Every step but the sum of two biases only moves numbers or changes their sign, so it is exact to the last bit; what is
rounded is said. Where two layers compute different functions the conversion is refused with the reason.
"""

from __future__ import annotations

import io
import json
import math
import os
import struct
from collections.abc import Callable
from typing import Any

from gatecalc.cell import cell as load_cell
from gatecalc.cell import is_bias
from gatecalc.counts.layouts import Block, Row, Tensor, framework
from gatecalc.errors import GatecalcError, Place, closest, shorten
from gatecalc.files import write_whole
from gatecalc.models.artefacts import SAFETENSORS, read
from gatecalc.models.recognise import Unit, units
from gatecalc.record import Record

Parameter = tuple[str, str | None]  # a parameter, and for a bias the side that it stands on
Values = dict[Parameter, Any]


class Converted(Record):
    """What :func:`convert` returns.

    Attributes:
        source, target: The two files; ``target`` is None where nothing was written.
        source_framework, target_framework: The layouts.
        cell, target_cell: The cells; they differ where one is the other with z counted the other way.
        layer, layers, directions: What was converted.
        tensors: {name: shape} as written.
        dtype: The type of the numbers, as written.
        exact: Whether every number is the same, or its negative: nothing was rounded.
        notes: What was done that one should know.
        arrays: {name: array}.
    """

    source: str
    target: str | None
    source_framework: str
    target_framework: str
    cell: str
    target_cell: str
    layer: str
    layers: int
    directions: int
    tensors: dict[str, list[int]]
    dtype: str
    exact: bool
    notes: list[str]


def convert(
    source: str,
    target: str | None,
    to: str,
    *,
    where: str | None = None,
    cell: str | None = None,
    prefix: str | None = None,
    layer: str | None = None,
    forget_bias: float | None = None,
    dtype: str | None = None,
) -> Converted:
    """Convert the weights of one layer, of any number of layers and directions, and write them.

    Args:
        source: A model file: ``.npz``, ``.safetensors``, PyTorch's, ONNX's or Keras's.
        target: The file to write, ``.npz`` or ``.safetensors``, or ``.onnx`` where that is the layout; None for none.
        to: The framework whose layout is wanted.
        where: The framework of the source, where its names do not tell.
        cell: The cell, where the names and shapes do not tell (tanh or relu).
        prefix: Which layer of the file, where it has several.
        layer: The target's own name of the layer, where several compute the cell.
        forget_bias: What the source adds to its stored forget bias when it runs, where that is not its default.
        dtype: The type of the numbers to write, one of :data:`DTYPES`; the source's by default, float32 for bfloat16,
            which NumPy does not have.

    Raises:
        GatecalcError: For a file that holds no such layer, for layers that do not compute the same function, and for a
            type in which a number would be rounded.
    """
    arrays, result = converted(source, to, where=where, cell=cell, prefix=prefix, layer=layer, forget_bias=forget_bias)
    if dtype is not None:
        arrays = {name: _as_type(name, array, dtype) for name, array in arrays.items()}
        result = result._replace(dtype=dtype, notes=[note for note in result.notes if note != _WIDENED])
    if target is not None:
        if os.path.abspath(target) == os.path.abspath(source):
            raise GatecalcError("file: the target is the source", Place(target), "give another path")
        write(target, arrays, result)
    return result._replace(target=target)


def converted(
    source: str,
    to: str,
    *,
    where: str | None = None,
    cell: str | None = None,
    prefix: str | None = None,
    layer: str | None = None,
    forget_bias: float | None = None,
) -> tuple[dict[str, Any], Converted]:
    """Return the converted arrays and what was done; see :func:`convert`."""
    found = read(source)
    name = framework(where).name if where else None
    if cell is not None:
        load_cell(cell)
    chosen = _chosen(source, units(found, name, cell), prefix)
    if forget_bias is not None:
        chosen = [unit._replace(row=_with_forget_bias(unit.row, forget_bias)) for unit in chosen]
    notes: list[str] = []
    if chosen[0].also and cell is None:
        could = [chosen[0].row.cell, *chosen[0].also]
        if set(could) != {"rnn", "rnn_relu"}:
            help = f"say which it is, as in --cell {could[-1]}"
            raise GatecalcError(f"cell: {' and '.join(could)} have the same tensors", Place(source), help)
        notes.append("whether it is tanh or relu does not show in the weights")
    row, change = _target(chosen[0].row.cell, to, layer)
    layers, directions = 1 + max(unit.layer for unit in chosen), 1 + max(unit.direction for unit in chosen)
    parts: dict[str, Any] = {}
    rounded = False
    if any(tensor.dtype == "bfloat16" for unit in chosen for tensor in unit.tensors.values()):
        notes.append(_WIDENED)
    for unit in chosen:
        try:
            values = extract(unit)
        except GatecalcError as error:
            raise error.at(Place(source)) from None
        if change is not None:
            values = change(_effective(values, unit.row))
        added = unit.row.added if change is None else {}
        arrays, inexact = fill(row, values, unit.widths, added, unit.bias, notes)
        rounded = rounded or inexact
        for tensor, array in arrays.items():
            _place(parts, row, tensor, array, unit, layers, directions)
    for constant in row.added:
        notes.append(
            f"{row.framework} adds {row.added[constant]:g} to the stored {constant} when it runs; it is taken off"
        )
    if rounded:
        notes.append("two biases were added into one, and a sum was rounded")
    result = Converted(
        source=source,
        target=None,
        source_framework=chosen[0].row.framework,
        target_framework=row.framework,
        cell=chosen[0].row.cell,
        target_cell=row.cell,
        layer=row.names[0],
        layers=layers,
        directions=directions,
        tensors={tensor: list(array.shape) for tensor, array in parts.items()},
        dtype=next(iter(parts.values())).dtype.name,
        exact=not rounded,
        notes=list(dict.fromkeys(notes)),
    )
    return parts, result


_WIDENED = "bfloat16 is written as float32, which holds each of its numbers: --dtype bfloat16 writes it as it is"
DTYPES = ("float64", "float32", "float16", "bfloat16")


def _as_type(name: str, array: Any, dtype: str) -> Any:
    """Return an array of numbers of a type; bfloat16 stays float32 here. Refuse to round."""
    import numpy

    if dtype not in DTYPES:
        raise GatecalcError(
            f"dtype: unknown '{shorten(dtype)}'{closest(dtype, DTYPES)}", help=f"it is one of {', '.join(DTYPES)}"
        )
    with numpy.errstate(over="ignore"):
        cast = array.astype("float32" if dtype == "bfloat16" else dtype)
    lost = (cast != array) & ~numpy.isnan(array)
    if dtype == "bfloat16":
        lost |= cast.view(numpy.uint32) & 0xFFFF != 0
    if lost.any():
        raise GatecalcError(
            f"dtype: {int(lost.sum()):,} of the {array.size:,} numbers of {name} are no {dtype}, and would be rounded",
            help="leave --dtype out",
        )
    return cast


def _with_forget_bias(row: Row, forget_bias: float) -> Row:
    if not math.isfinite(forget_bias):
        raise GatecalcError(f"--forget-bias: it is {forget_bias}", help="give a finite number, as in --forget-bias 1")
    if "b_f" not in load_cell(row.cell).parameters:
        raise GatecalcError(f"forget bias: {row.cell} has no forget gate", help="leave --forget-bias out")
    return row._replace(added=row.added | {"b_f": forget_bias} if forget_bias else {})


def _chosen(source: str, found: list[Unit], prefix: str | None) -> list[Unit]:
    """Return the units of the layer that is asked for, or of the only one."""
    if not found:
        raise GatecalcError(
            "file: no recurrent layer of a known layout is in it", Place(source), "see what it holds: gatecalc audit"
        )
    prefixes = list(dict.fromkeys(unit.prefix for unit in found))
    if prefix is None and len(prefixes) > 1:
        listed = ", ".join(f"'{each}'" for each in prefixes[:8])
        raise GatecalcError(
            f"file: it holds {len(prefixes)} layers: {listed}", Place(source), f"choose one: --prefix {prefixes[0]}"
        )
    if prefix is not None and prefix not in prefixes:
        raise GatecalcError(
            f"prefix: no layer stands under '{shorten(prefix)}'",
            Place(source),
            f"it has {', '.join(map(repr, prefixes[:8]))}",
        )
    return [unit for unit in found if unit.prefix == (prefixes[0] if prefix is None else prefix)]


# ------------------------------------------------------------------------------------------- from and to a cell's own


def extract(unit: Unit) -> Values:
    """Return {(parameter, side): array} of a layer: matrices (H, D), (H, H), ..., and vectors (H,)."""
    values: Values = {}
    for tensor in unit.row.tensors:
        if tensor.name not in unit.tensors or not tensor.parts:
            continue
        array = unit.tensors[tensor.name].read()
        if tensor.direction_axis is not None:
            array = array.take([unit.direction if unit.directions > 1 else 0], axis=tensor.direction_axis)
        for block in tensor.blocks(unit.widths):
            piece = array[tuple(slice(*limits) for limits in block.ranges)].squeeze(axis=block.drop or ())
            values[block.parameter, block.side] = (piece.T if block.transposed else piece).copy()
    return values


def fill(
    row: Row, values: Values, widths: dict[str, int], added: dict[str, float], bias: bool, notes: list[str]
) -> tuple[dict[str, Any], bool]:
    """Return {tensor: array} of a layout for a cell's parameters, and whether a number had to be rounded.

    Args:
        row: The layout that is wanted.
        values: The parameters, with the biases' sides.
        widths: D, H and P.
        added: Constants that the source adds to its stored biases when it runs.
        bias: Whether the source has biases.
        notes: To be extended.

    Raises:
        GatecalcError: Where the layout has no place for a parameter that is not zero.
    """
    import numpy

    kept = list(row.kept(bias or row.bias_off is None))
    dtype = next(iter(values.values())).dtype
    arrays = {tensor.name: numpy.zeros(tensor.extents(widths), dtype) for tensor in kept}
    slots: dict[str, list[tuple[Tensor, Block]]] = {}
    for tensor in kept:
        for block in tensor.blocks(widths):
            slots.setdefault(block.parameter, []).append((tensor, block))
    rounded = False
    sides: dict[str, dict[str | None, Any]] = {}
    for (parameter, side), value in values.items():
        sides.setdefault(parameter, {})[side] = value
    for parameter in dict.fromkeys((*slots, *sides)):
        places, parts = slots.get(parameter, []), sides.get(parameter, {})
        constant = added.get(parameter, 0.0) - row.added.get(parameter, 0.0)
        wanted, inexact = _sides([block.side for _, block in places], parts, constant, (widths["H"],), dtype)
        rounded = rounded or inexact
        if not places and any(part.any() for part in parts.values()):
            raise GatecalcError(
                f"convert: {row.framework} has no {parameter} in its {row.names[0]}, and it is not zero",
                help=_absent(row, parameter),
            )
        for (tensor, block), value in zip(places, wanted):
            if value is None:
                raise GatecalcError(
                    f"convert: the source has no {parameter}", help="choose another layer of the target: --layer"
                )
            ranges = tuple(slice(*limits) for limits in block.ranges)
            piece = arrays[tensor.name][ranges]
            arrays[tensor.name][ranges] = (value.T if block.transposed else value).reshape(piece.shape)
    return arrays, rounded


def _absent(row: Row, parameter: str) -> str:
    if parameter == "b_u":
        return "b_u stands inside the reset: r * (U_n @ h_prev + b_u) cannot be had with another bias"
    return "no other parameter of the layout can take its part"


def _sides(
    places: list[str | None], parts: dict[str | None, Any], constant: float, shape: tuple[int, ...], dtype: Any
) -> tuple[list[Any], bool]:
    """Share what a parameter's sides hold out to the target's places; return the shares, and whether one is rounded."""
    import numpy

    if not places:
        return [], False
    if not parts:  # only a bias or a peephole may be missing: it is zero
        parts = {None: numpy.zeros(shape, dtype)} if len(places) else {}
    if set(places) == set(parts):
        shares, rounded = [parts[side] for side in places], False
    elif len(parts) == 1:
        only = next(iter(parts.values()))
        shares, rounded = [only, *(numpy.zeros_like(only) for _ in places[1:])], False
    else:
        one, other = parts.values()
        shares, rounded = [one + other], _is_rounded(one, other)
        shares += [numpy.zeros_like(one) for _ in places[1:]]
    if constant:
        step = numpy.asarray(constant, dtype)
        rounded = rounded or _is_rounded(shares[0], step)
        shares[0] = shares[0] + step
    return shares, rounded


def _is_rounded(one: Any, other: Any) -> bool:
    """Tell whether a sum of floating-point numbers differs from the exact one (Knuth's error-free transformation)."""
    total = one + other
    part = total - one
    return bool(((one - (total - part)) + (other - part)).any())


def _effective(values: Values, row: Row) -> Values:
    """Return the parameters with the constants added that the framework adds when it runs."""
    return {
        key: value + value.dtype.type(row.added[key[0]]) if key[0] in row.added and key[1] in (None, "input") else value
        for key, value in values.items()
    }


def _place(parts: dict[str, Any], row: Row, name: str, array: Any, unit: Unit, layers: int, directions: int) -> None:
    """Put one layer and direction's tensor where the framework has it, or under a name that says which it is."""
    import numpy

    tensor = next(each for each in row.tensors if each.name == name)
    if tensor.direction_axis is not None and directions > 1:
        full = f"l{unit.layer}/{name}" if layers > 1 else name
        if full not in parts:
            shape = list(array.shape)
            shape[tensor.direction_axis] *= directions
            parts[full] = numpy.zeros(shape, array.dtype)
        where = [slice(None)] * array.ndim
        where[tensor.direction_axis] = slice(unit.direction, unit.direction + 1)
        parts[full][tuple(where)] = array
        return
    if tensor.template and "{layer}" in tensor.template and (directions == 1 or "{direction}" in tensor.template):
        direction = row.directions[unit.direction] if row.directions else ""
        parts[tensor.template.replace("{layer}", str(unit.layer)).replace("{direction}", direction)] = array
        return
    single = layers == directions == 1
    parts[name if single else f"l{unit.layer}{'_reverse' if unit.direction else ''}/{name}"] = array


# ------------------------------------------------------------------------------------------- one cell as another


def _flip_z(values: Values) -> Values:
    """Count z the other way: sigmoid(-a) = 1 - sigmoid(a)."""
    return {(name, side): -value if name in ("W_z", "U_z", "b_z") else value for (name, side), value in values.items()}


def _uncouple(values: Values) -> Values:
    """Write the input gate of a coupled LSTM out: i = 1 - f, and 1 - sigmoid(a) = sigmoid(-a)."""
    written = {
        (name.replace("_f", "_i"), side): -value for (name, side), value in values.items() if name.endswith("_f")
    }
    return values | written


def _same(values: Values) -> Values:
    return values


Change = Callable[[Values], Values]

# Cells that are another cell with its parameters moved or negated: an exact conversion, one row each.
CHANGES: dict[tuple[str, str], Change] = {
    ("gru", "gru_cho"): _flip_z,
    ("gru_cho", "gru"): _flip_z,
    ("gru_reset_after", "gru_reset_after_write"): _flip_z,
    ("gru_reset_after_write", "gru_reset_after"): _flip_z,
    ("lstm_coupled", "lstm"): _uncouple,
    ("lstm", "lstm_peephole"): _same,
}


def _target(source: str, to: str, layer: str | None) -> tuple[Row, Change | None]:
    """Return the row of the other framework, and how the cell becomes its cell."""
    given = framework(to)
    rows = [row for row in given.rows if layer is None or layer.lower() in (name.lower() for name in row.names)]
    for row in rows:
        if row.cell == source:
            return row, None
    for row in rows:
        if (source, row.cell) in CHANGES:
            return row, CHANGES[source, row.cell]
    family = [row.cell for row in rows if row.cell.split("_")[0] == source.split("_")[0]]
    if layer is not None and not family:
        raise GatecalcError(
            f"convert: {given.title}'s {shorten(layer)} does not compute {source}", help="leave --layer out"
        )
    if not family:
        help = f"see 'gatecalc layout {source} --framework ...'"
        raise GatecalcError(f"convert: {given.title} has no layer that could compute {source}", help=help)
    raise GatecalcError(
        f"convert: {source} cannot become {family[0]} of {given.title}: {_reason(source, family[0])}",
        help="convert to a framework that has it, or train again",
    )


def _reason(source: str, target: str) -> str:
    if ("reset_after" in source) != ("reset_after" in target) and source.startswith("gru"):
        return "U_n @ (r * h_prev) is not r * (U_n @ h_prev), and no weights make it so"
    if {source, target} == {"rnn", "rnn_relu"}:
        return "tanh is not relu"
    if (
        load_cell(source).parameters.keys()
        - load_cell(target).parameters.keys()
        - {name for name in load_cell(source).parameters if is_bias(name)}
    ):
        return "it has weights that the other has no place for"
    return "no exact conversion is known"


# ------------------------------------------------------------------------------------------- writing


def write(path: str, arrays: dict[str, Any], what: Converted | None = None) -> None:
    """Write named arrays as ``.npz`` or ``.safetensors``, or converted layers as ``.onnx``; whole or not at all."""
    import numpy

    kind = os.path.splitext(path)[1]
    halved = what is not None and what.dtype == "bfloat16"
    if halved and kind in (".npz", ".onnx"):
        raise GatecalcError(
            f"file: '{shorten(path)}' cannot be written in bfloat16", help="end its name in .safetensors"
        )
    if kind == ".onnx" and what is not None:
        data = _onnx(path, arrays, what)
    elif kind == ".safetensors":
        data = _safetensors(arrays, halved)
    elif kind == ".npz":
        buffer = io.BytesIO()
        numpy.savez(buffer, **arrays)
        data = buffer.getvalue()
    else:
        raise GatecalcError(
            f"file: '{shorten(path)}' does not say how to write it", help="end its name in .npz or .safetensors"
        )
    write_whole(path, data)


def _onnx(path: str, arrays: dict[str, Any], what: Converted) -> bytes:
    if what.target_framework != "onnx":
        raise GatecalcError(
            f"file: '{shorten(path)}' would hold layers of {what.target_framework}",
            help="an .onnx file is written with --to onnx; end the name in .npz or .safetensors",
        )
    from gatecalc.models.onnxfile import model_of

    layers: list[dict[str, Any]] = [{} for _ in range(what.layers)]
    for name, array in arrays.items():  # l0/W, or W of the only layer
        layer, _, role = name.rpartition("/")
        layers[int(layer.removeprefix("l") or 0)][role] = array
    return model_of(what.target_cell, layers)


def _safetensors(arrays: dict[str, Any], halved: bool = False) -> bytes:
    """Return the bytes of a .safetensors file; of float32 only the upper halves, which are bfloat16, if so wanted."""
    kinds = {dtype: kind for kind, dtype in SAFETENSORS.items()}
    header: dict[str, Any] = {}
    data = []
    length = 0
    for name, array in arrays.items():
        kind = "BF16" if halved else kinds[array.dtype.name]
        if halved:
            array = (array.view("uint32") >> 16).astype("uint16")
        data.append(array.astype(array.dtype.newbyteorder("<")).tobytes())
        header[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [length, length + len(data[-1])],
        }
        length += len(data[-1])
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(data)
