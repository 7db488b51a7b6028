"""HDF5 files, read straight from their bytes: the groups, arrays and attributes of the form in which h5py writes them.

The library that all others use crashes and hangs on damaged files, and is no reader for files of unknown origin. Keras
needs little of the format: version 0 of the superblock, groups as B-trees of version 1, arrays in one piece. What a
file links to, outside of it or by name, is not followed.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Iterator
from typing import Any

from gatecalc.errors import GatecalcError, shorten
from gatecalc.models.tensors import MAX_DEPTH, MAX_HEADER, SIZES, Stored, array, check_shape, checked
from gatecalc.record import Record

MAGIC = b"\x89HDF\r\n\x1a\n"
MAX_OBJECTS = 100_000  # groups and arrays
_NOWHERE = 2**64 - 1  # the address of what was never written
_DATASPACE, _DATATYPE, _EXTERNAL, _LAYOUT, _FILTERS, _ATTRIBUTE, _CONTINUED, _SYMBOLS = 1, 3, 7, 8, 11, 12, 16, 17
_NEW_LINKS = {2, 6}  # a group of the newer form

Source = Callable[[int, int], bytes]  # the bytes from a place on, so many


class Hdf5(Record):
    """What an HDF5 file holds: arrays by their path, and the attributes of its root that are one text."""

    tensors: dict[str, Stored]
    attributes: dict[str, str]


def source(path: str, start: int, size: int) -> Source:
    """Return a source of the part of a file from ``start`` on."""

    def read(at: int, number: int) -> bytes:
        _inside(at, number, size)
        with open(path, "rb") as file:
            file.seek(start + at)
            return file.read(number)

    return read


def source_of(data: bytes) -> Source:
    """Return a source of bytes in memory."""

    def read(at: int, number: int) -> bytes:
        _inside(at, number, len(data))
        return data[at : at + number]

    return read


def _inside(at: int, number: int, size: int) -> None:
    if at < 0 or number < 0 or at + number > size:
        raise ValueError(f"byte {at + number:,} of {size:,}")


def content(read: Source) -> Hdf5:
    """Read the tree of a file, without its numbers.

    Raises:
        OtherForm: For a form of the format that h5py does not write unless it is told to.
        ValueError, struct.error: For what lies outside the file, or is no such structure.
    """
    start = read(0, 24)
    if not start.startswith(MAGIC):
        raise ValueError("no HDF5")
    if start[8] > 1 or start[13:15] != b"\x08\x08":
        raise _newer(f"a superblock of version {start[8]}")
    tables = 24 + 4 * start[8]
    base = _word(read(tables, 8))
    root = _word(read(tables + 40, 8))
    file = _File(lambda at, number: read(base + at, number))
    file.read(_word(read(tables + 16, 8)) - 1, 1)  # the last byte, by what the file says of itself
    messages = file.messages(root)
    attributes = dict(_attribute(file, data) for kind, data in messages if kind == _ATTRIBUTE)
    tensors = {name: _tensor(file, name, inner) for name, inner in file.arrays(root, messages)}
    return Hdf5(tensors, {name: text for name, text in attributes.items() if text is not None})


class OtherForm(GatecalcError):
    """A file that may be whole, in a form of the format that is not read here."""


def _newer(what: str) -> OtherForm:
    return OtherForm(
        f"file: it is HDF5 with {what}, a form that is not read here",
        help="save the model as .keras, or its weights as .npz",
    )


def _word(data: bytes) -> int:
    return int.from_bytes(data[:8], "little")


Messages = list[tuple[int, bytes]]


class _File:
    """The objects of a file, each visited once, and a bounded number of bytes that describe them."""

    def __init__(self, read: Source) -> None:
        self.numbers = read
        self.left = MAX_HEADER
        self.visited: set[int] = set()

    def read(self, at: int, number: int) -> bytes:
        """Return bytes that describe what is in the file."""
        self.left -= number
        if self.left < 0:
            raise GatecalcError(f"limit: its description has more than {MAX_HEADER:,} bytes", help="save it again")
        return self.numbers(at, number)

    def once(self, address: int) -> None:
        """Refuse a place that is visited again, and more places than a file of weights has."""
        if address in self.visited or len(self.visited) >= MAX_OBJECTS:
            raise ValueError("its tree holds itself or too much")
        self.visited.add(address)

    def messages(self, address: int) -> Messages:
        """Return the messages of an object's header: (kind, data) each."""
        version, number, size = struct.unpack("<BxH4xI", self.read(address, 12))
        if version != 1:
            raise _newer("object headers of the newer form")
        blocks = [(address + 16, size)]
        found: Messages = []
        while blocks and len(found) < number:
            at, size = blocks.pop(0)
            self.once(at)
            block, position = self.read(at, size), 0
            while position + 8 <= len(block) and len(found) < number:
                kind, length = struct.unpack_from("<HH", block, position)
                data = block[position + 8 : position + 8 + length]
                position += 8 + length
                found.append((kind, data))
                if kind == _CONTINUED:
                    blocks.append(struct.unpack("<QQ", data[:16]))
        return found

    def arrays(self, address: int, messages: Messages) -> Iterator[tuple[str, Messages]]:
        """Yield the path and the messages of every array below a group."""
        waiting = [("", messages, 0)]
        while waiting:
            path, messages, depth = waiting.pop()
            kinds = dict(messages)
            if kinds.keys() & _NEW_LINKS or depth > MAX_DEPTH:
                raise _newer("groups of the newer form, or nested too deeply")
            if _SYMBOLS in kinds:
                inside = [(f"{path}{name}", self.messages(at)) for name, at in self._members(kinds[_SYMBOLS])]
                waiting += [(f"{name}/", header, depth + 1) for name, header in reversed(inside)]
            elif _DATASPACE in kinds:
                yield path.rstrip("/"), messages

    def _members(self, table: bytes) -> Iterator[tuple[str, int]]:
        """Yield the names of a group's members and where their headers are: a B-tree of version 1 over a heap."""
        tree, heap = struct.unpack("<QQ", table[:16])
        if self.read(heap, 4) != b"HEAP":
            raise ValueError("no heap")
        names = _word(self.read(heap + 24, 8))
        limit = _word(self.read(heap + 8, 8))
        nodes = [tree]
        while nodes:
            node = nodes.pop()
            self.once(node)
            start = self.read(node, 8)
            if start[:4] == b"TREE":
                (used,) = struct.unpack("<H", start[6:8])
                children = self.read(node + 24, 16 * used + 8)
                nodes += [_word(children[16 * each + 8 :]) for each in reversed(range(used))]
            elif start[:4] == b"SNOD":
                entries = self.read(node + 8, 40 * struct.unpack("<H", start[6:8])[0])
                for name, header, cached in struct.iter_unpack("<QQI20x", entries):
                    if cached < 2:  # 2 is a link by name
                        yield self._name(names, name, limit), header
            else:
                raise ValueError("no node")

    def _name(self, names: int, at: int, limit: int) -> str:
        if at > limit:
            raise ValueError("no name")
        data = self.read(names + at, min(1024, limit - at))
        return data.partition(b"\0")[0].decode("utf-8")

    def text(self, place: bytes) -> str:
        """Return a text of any length, which lies in a heap of its own."""
        length, heap, wanted = struct.unpack("<IQI", place[:16])
        start = self.read(heap, 16)
        if start[:4] != b"GCOL":
            raise ValueError("no heap of texts")
        position, end = 16, _word(start[8:])
        while position + 16 <= end:
            index, size = struct.unpack("<H6xQ", self.read(heap + position, 16))
            if index == wanted:
                return self.read(heap + position + 16, min(length, size)).decode("utf-8")
            if index == 0:
                break
            position += 16 + -(-size // 8) * 8
        raise ValueError("no such text")


def _attribute(file: _File, data: bytes) -> tuple[str, str | None]:
    """Return an attribute's name, and its text where it is one text."""
    version, *sizes = struct.unpack("<BxHHH", data[:8])
    position = 8 + (version == 3)
    parts = []
    for size in sizes:
        parts.append(data[position : position + size])
        position += -(-size // 8) * 8 if version == 1 else size
    name, kind, space = parts
    value = data[position:]
    text = None
    if space[1] == 0:  # a single value
        if kind[0] & 15 == 3:
            text = value[: struct.unpack("<I", kind[4:8])[0]].rstrip(b"\0").decode("utf-8")
        elif kind[0] & 15 == 9 and kind[1] & 15 == 1:
            text = file.text(value)
    return name.rstrip(b"\0").decode("utf-8"), text


def _tensor(file: _File, name: str, messages: Messages) -> Stored:
    kinds = dict(messages)
    space = kinds[_DATASPACE]
    shape = check_shape(struct.unpack_from(f"<{space[1]}Q", space, 8 if space[0] == 1 else 4))
    dtype = _dtype(kinds[_DATATYPE])
    if dtype == "opaque":  # NumPy has no bfloat16, and h5py keeps its two bytes as they are
        texts = dict(_attribute(file, data) for kind, data in messages if kind == _ATTRIBUTE)
        dtype = "bfloat16" if texts.get("dtype") == "bfloat16" else "unknown"
    stored = checked(Stored(name, shape, dtype, functools.partial(_numbers, file, name, shape, dtype, kinds)))
    layout = kinds.get(_LAYOUT, b"")
    if layout[1:2] == b"\x01" and dtype != "unknown" and _EXTERNAL not in kinds:
        at, size = struct.unpack("<QQ", layout[2:18])
        if at != _NOWHERE and size != stored.size * SIZES[dtype]:
            raise ValueError(f"{size:,} bytes for {stored.size:,} numbers")
        if at != _NOWHERE and size:
            file.read(at + size - 1, 1)
    return stored


_FLOATS = {(8, 11, 52): "float64", (4, 8, 23): "float32", (2, 5, 10): "float16", (2, 8, 7): "bfloat16"}


def _dtype(data: bytes) -> str:
    """Return the name of a number type; big-endian numbers and all that is no number are unknown."""
    kind, bits, size = data[0] & 15, data[1], struct.unpack("<I", data[4:8])[0]
    if kind == 1 and not bits & 1:
        return _FLOATS.get((size, data[13], data[15]), "unknown")
    if kind == 0 and not bits & 1 and size in (1, 2, 4, 8):
        return f"{'' if bits & 8 else 'u'}int{8 * size}"
    if kind == 5 and size == 2:
        return "opaque"
    return "unknown"


def _numbers(file: _File, name: str, shape: tuple[int, ...], dtype: str, kinds: dict[int, bytes]) -> Any:
    import numpy

    layout = kinds[_LAYOUT]
    plain = layout[0] in (3, 4) and layout[1] < 2 and not kinds.keys() & {_EXTERNAL, _FILTERS}
    if dtype == "unknown" or not plain:
        raise GatecalcError(
            f"file: '{shorten(name)}' is compressed, lies in another file, or holds no plain numbers",
            help="save the weights with Keras, or as .npz",
        )
    if layout[1] == 0:
        (size,) = struct.unpack("<H", layout[2:4])
        data = layout[4 : 4 + size]
    else:
        at, size = struct.unpack("<QQ", layout[2:18])
        if at == _NOWHERE:
            return numpy.zeros(shape, dtype)
        data = file.numbers(at, size)
    return array(data, shape, dtype)
