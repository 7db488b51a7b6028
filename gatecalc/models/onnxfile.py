"""ONNX models: their initial values and their recurrent nodes, read straight from the protocol buffer."""

from __future__ import annotations

import struct
from typing import Any

from gatecalc.errors import GatecalcError, shorten
from gatecalc.models.tensors import MAX_DEPTH, SIZES, Stored, array, check_shape
from gatecalc.record import Record


class Node(Record):
    """A recurrent node of an ONNX graph: its inputs by their role, and its attributes."""

    op: str
    name: str
    inputs: dict[str, str]
    attributes: dict[str, Any]


_ONNX_TYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
}
_ONNX_TYPES |= {11: "float64", 12: "uint32", 13: "uint64", 16: "bfloat16", 17: "float8_e4m3fn", 19: "float8_e5m2"}
_KNOWN = "known are ONNX, .safetensors, .npz, .pt, .keras and .h5 files, and tables as text"
_ROLES = {
    "RNN": ("X", "W", "R", "B", "sequence_lens", "initial_h"),
    "GRU": ("X", "W", "R", "B", "sequence_lens", "initial_h"),
    "LSTM": ("X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"),
}


def model(path: str) -> tuple[dict[str, Stored], tuple[Node, ...]]:
    """Read the initial values and the recurrent nodes of an ONNX model, a protocol buffer: fields 7, then 1 and 5."""
    with open(path, "rb") as file:
        data = memoryview(file.read())
    graphs = _fields(data).get(7, [])
    if not graphs or not isinstance(graphs[0], memoryview):
        raise GatecalcError(
            "file: it is no model file that is known here",
            help=_KNOWN,
        )
    tensors: dict[str, Stored] = {}
    nodes: list[Node] = []
    for graph in graphs:
        _graph(graph, tensors, nodes, 0)
    return tensors, tuple(nodes)


def _graph(data: memoryview, tensors: dict[str, Stored], nodes: list[Node], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise GatecalcError(f"limit: graphs are nested deeper than {MAX_DEPTH}", help="export it again")
    graph = _fields(data)
    for entry in graph.get(5, []):
        tensor = _onnx_tensor(entry)
        tensors[tensor.name] = tensor
    for entry in graph.get(1, []):
        node = _fields(entry)
        op = _string(node.get(4, [b""])[0])
        attributes = dict(map(_attribute, node.get(5, [])))
        for inner in (value for value in attributes.values() if isinstance(value, _Graph)):
            _graph(inner.data, tensors, nodes, depth + 1)
        if op == "Constant" and isinstance(attributes.get("value"), Stored):
            name = _string(node[2][0])
            tensors[name] = attributes["value"]._replace(name=name)
        if op in _ROLES:
            inputs = {role: _string(name) for role, name in zip(_ROLES[op], node.get(1, [])) if len(name)}
            nodes.append(Node(op, _string(node.get(3, [b""])[0]), inputs, attributes))


class _Graph(Record):
    data: memoryview


def _attribute(data: memoryview) -> tuple[str, Any]:
    fields = _fields(data)
    name = _string(fields[1][0])
    if 6 in fields:
        return name, _Graph(fields[6][0])
    if 5 in fields:
        return name, _onnx_tensor(fields[5][0])
    if 9 in fields:
        return name, [_string(text) for text in fields[9]]
    if 8 in fields:
        return name, _integers(fields[8])
    if 4 in fields:
        return name, _string(fields[4][0])
    if 2 in fields and isinstance(fields[2][0], float):
        return name, fields[2][0]
    return name, fields.get(3, [None])[0]


def _onnx_tensor(data: memoryview) -> Stored:
    fields = _fields(data)
    name, shape = _string(fields.get(8, [b""])[0]), check_shape(_integers(fields.get(1, [])))
    dtype = _ONNX_TYPES.get(fields.get(2, [0])[0])
    if dtype is None:
        dtype = "unknown"
    external = fields.get(14, [0])[0] == 1

    def load() -> Any:
        if external:
            raise GatecalcError(
                f"file: '{shorten(name)}' is stored in another file", help="export the model with its weights inside"
            )
        if 9 in fields:
            return array(bytes(fields[9][0]), shape, dtype)
        packed = b"".join(
            bytes(part) if isinstance(part, memoryview) else struct.pack("<f", part) for part in fields.get(4, [])
        )
        if dtype == "float32" and packed:
            return array(packed, shape, dtype)
        if dtype == "float64" and 10 in fields:
            return array(b"".join(bytes(part) for part in fields[10]), shape, dtype)
        raise GatecalcError(
            f"file: '{shorten(name)}' of type {dtype} is stored in a way that is not read", help="export it again"
        )

    stored = Stored(name, shape, dtype, load)
    if 9 in fields and dtype in SIZES and len(fields[9][0]) != stored.size * SIZES[dtype]:
        raise GatecalcError(
            f"file: '{shorten(name)}' has {len(fields[9][0]):,} bytes for {stored.size:,} numbers",
            help="export it again",
        )
    return stored


def _fields(data: memoryview) -> dict[int, list[Any]]:
    """Return the fields of one protocol buffer message, unread: {number: values}."""
    found: dict[int, list[Any]] = {}
    position = 0
    value: Any
    while position < len(data):
        key, position = _varint(data, position)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, position = _varint(data, position)
        elif wire == 2:
            length, position = _varint(data, position)
            value, position = data[position : position + length], position + length
        elif wire == 5:
            value, position = struct.unpack_from("<f", data, position)[0], position + 4
        elif wire == 1:
            value, position = bytes(data[position : position + 8]), position + 8
        else:
            raise GatecalcError(
                "file: it is no model file that is known here",
                help=_KNOWN,
            )
        if position > len(data):
            raise GatecalcError("file: it is cut short", help="export it again")
        found.setdefault(number, []).append(value)
    return found


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
    raise GatecalcError("file: it is damaged", help="export it again")


def _integers(values: list[Any]) -> list[int]:
    """Return repeated integers, packed or not."""
    found = []
    for value in values:
        if isinstance(value, int):
            found.append(value)
            continue
        position = 0
        while position < len(value):
            number, position = _varint(value, position)
            found.append(number)
    return found


def _string(value: Any) -> str:
    return bytes(value).decode("utf-8", "replace")


def model_of(cell: str, layers: list[dict[str, Any]]) -> bytes:
    """Return an ONNX model of recurrent layers, each reading the one below, by the onnx package.

    Args:
        cell: The cell of all layers.
        layers: For each layer its tensors W, R, B and P as ONNX has them: W is (directions, gates H, D).

    Returns:
        A model with X (steps, batch, D) and the top layer's Y (steps, directions, batch, H).

    Raises:
        GatecalcError: Where the package is not installed.
    """
    try:
        import onnx
    except ImportError:
        raise GatecalcError(
            "file: an ONNX file is written by the onnx package, which is not installed",
            help="pip install onnx, or end the target's name in .npz or .safetensors",
        ) from None
    make, from_array = onnx.helper.make_node, onnx.numpy_helper.from_array
    op = next(op for op in _ROLES if cell.startswith(op.lower()))
    directions, _, inputs = layers[0]["W"].shape
    hidden = layers[0]["R"].shape[2]
    attributes: dict[str, Any] = {"hidden_size": hidden, **_ATTRIBUTES.get(cell, {})}
    if cell == "rnn_relu":
        attributes["activations"] = ["Relu"] * directions
    if directions == 2:
        attributes["direction"] = "bidirectional"
    nodes, initial = [], []
    below, last = "X", len(layers) - 1
    for number, arrays in enumerate(layers):
        mark = f"_{number}" if last else ""
        given = {role: f"{role}{mark}" for role in _ROLES[op] if role in arrays}
        places = [{"X": below, **given}.get(role, "") for role in _ROLES[op]]
        while not places[-1]:
            places.pop()
        above = "Y" if number == last else f"Y{mark}"
        nodes.append(make(op, places, [above], name=f"{cell}{mark}", **attributes))
        initial += [from_array(arrays[role], given[role]) for role in sorted(given)]
        if number < last:  # the directions side by side, as the next layer reads them
            below = f"X_{number + 1}"
            nodes.append(make("Transpose", [above], [f"{above}_swapped"], perm=[0, 2, 1, 3]))
            nodes.append(make("Reshape", [f"{above}_swapped", "side_by_side"], [below]))
    if last:
        import numpy

        initial.append(from_array(numpy.array([0, 0, directions * hidden]), "side_by_side"))
    kind = onnx.helper.np_dtype_to_tensor_dtype(layers[0]["W"].dtype)
    ends = [
        onnx.helper.make_tensor_value_info("X", kind, ["steps", "batch", inputs]),
        onnx.helper.make_tensor_value_info("Y", kind, ["steps", directions, "batch", hidden]),
    ]
    graph = onnx.helper.make_graph(nodes, "gatecalc", ends[:1], ends[1:], initial)
    data: bytes = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 14)]).SerializeToString()
    return data


_ATTRIBUTES: dict[str, dict[str, Any]] = {"gru_reset_after": {"linear_before_reset": 1}}
