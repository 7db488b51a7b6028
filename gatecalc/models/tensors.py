"""Tensors in model files: a name, a shape, a number type, and a way to read them; and the limits of all readers."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

from gatecalc.errors import GatecalcError, shorten
from gatecalc.record import Record

MAX_BYTES = 2**34  # of a file or of an array in it
MAX_HEADER = 2**27  # bytes of a part that is parsed
MAX_TENSORS = 1_000_000
MAX_DEPTH = 50  # of nested groups and graphs

SIZES = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint64": 8,
    "uint32": 4,
    "uint16": 2,
    "uint8": 1,
    "bool": 1,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
}


# What the readers of zip archives, JSON, NumPy headers and byte strings raise for bytes that make no sense to them.
DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, struct.error, UnicodeDecodeError, NotImplementedError),
    *(ValueError, KeyError, IndexError, TypeError, AttributeError),
)


class Stored(Record):
    """A tensor in a file: its shape, its number type, and how to read it as a NumPy array."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    load: Callable[[], Any]

    def read(self) -> Any:
        """Return it as a NumPy array; refuse one that its file cannot give."""
        try:
            return self.load()
        except DAMAGE as error:
            what = shorten(str(error) or type(error).__name__)
            help = "export it again"
            raise GatecalcError(f"file: '{shorten(self.name)}' is cut short or damaged ({what})", help=help) from None

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        size = 1
        for extent in self.shape:
            size *= extent
        return size


def checked(stored: Stored) -> Stored:
    """Return a tensor that may be read; refuse one that is too large."""
    if stored.size * SIZES.get(stored.dtype, 1) > MAX_BYTES:
        raise GatecalcError(f"limit: '{shorten(stored.name)}' would have {stored.size:,} numbers", help="split it")
    return stored


def check_shape(extents: Any) -> tuple[int, ...]:
    """Return a shape that a file states; refuse what is none."""
    shape = tuple(extents)
    if len(shape) > 64 or any(
        not isinstance(extent, int) or isinstance(extent, bool) or extent < 0 for extent in shape
    ):
        raise GatecalcError(f"file: {shorten(str(list(shape)))} is not a shape", help="export it again")
    return shape


def array(data: bytes, shape: tuple[int, ...], dtype: str) -> Any:
    """Return the NumPy array of little-endian bytes; bfloat16 becomes float32, whose upper half it is."""
    import numpy

    if dtype == "bfloat16":
        upper = numpy.frombuffer(data, "<u2").astype(numpy.uint32) << 16
        return upper.view(numpy.float32).reshape(shape)
    if dtype in ("float8_e4m3fn", "float8_e5m2"):
        raise GatecalcError(f"dtype: NumPy has no {dtype}", help="export the weights as float32")
    return numpy.frombuffer(data, numpy.dtype(dtype).newbyteorder("<")).reshape(shape).astype(dtype)
