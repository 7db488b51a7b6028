"""Model files as named tensors, without running anything in them: which kind a file is, and what it holds.

Each reader is a few lines over the file's own structure, and checks sizes before it reads.
"""

from __future__ import annotations

import functools
import json
import os
import struct
import zipfile
from typing import Any

from gatecalc.errors import GatecalcError, Place, shorten
from gatecalc.files import unreadable
from gatecalc.models import hdf5file, kerasmodel, onnxfile, torchfile
from gatecalc.models.onnxfile import Node
from gatecalc.models.tensors import DAMAGE, MAX_BYTES, MAX_HEADER, MAX_TENSORS, SIZES, Stored, array, check_shape
from gatecalc.record import Record

BINARY = (".keras", ".h5", ".hdf5", ".onnx", ".safetensors", ".npz", ".pt", ".pth")  # what is never a pasted table


class Artefact(Record):
    """What a file holds.

    Attributes:
        path: Where it is.
        kind: ``safetensors``, ``npz``, ``pytorch``, ``onnx``, ``keras``, ``hdf5`` or ``text``.
        tensors: {name: tensor}.
        nodes: The recurrent nodes of an ONNX graph.
        config: A Keras model's own description.
        text: The text of a file that is none of these.
        left_out: Why a part of it was not read, if one was not.
    """

    path: str
    kind: str
    tensors: dict[str, Stored]
    nodes: tuple[Node, ...] = ()
    config: Any = None
    text: str = ""
    left_out: str = ""


def read(path: str) -> Artefact:
    """Read a model file, or standard input for ``-``; its kind is told by its content, not by its name.

    Raises:
        GatecalcError: For a file that cannot be read, is cut short, is too large, or would run code.
    """
    if path == "-":
        return _standard_input()
    try:
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            raise _broken(path, "it is no file", "give the path of a model file")
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            start = file.read(16)
    except OSError as error:
        raise unreadable(path, error, "give the path of a model file") from None
    if size > MAX_BYTES:
        raise _broken(path, f"it has {size:,} bytes, {MAX_BYTES:,} at most", "split it")
    try:
        if start.startswith(b"PK\x03\x04"):
            return _zip(path)
        if size > 8 and start[8:9] == b"{" and struct.unpack("<Q", start[:8])[0] <= size - 8:
            return _safetensors(path, size)
        if start.startswith(hdf5file.MAGIC):
            return _hdf5(path, size)
        if start[:1] == b"\x80":
            raise _broken(
                path,
                "it is a bare pickle, which may run code when it is loaded",
                "save the state dict with torch.save, or as .safetensors",
            )
        text = _text(path, size)
        if text is not None:
            if text.kind == "text" and path.lower().endswith(BINARY):
                raise _broken(path, "it is cut short or damaged, or no such file as its name says", "export it again")
            return text
        return Artefact(path, "onnx", *onnxfile.model(path))
    except GatecalcError as error:
        raise error.at(Place(path)) from None
    except DAMAGE as error:
        what = shorten(str(error) or type(error).__name__)
        raise _broken(path, f"it is cut short or damaged ({what})", "export it again") from None
    except (RecursionError, MemoryError, OverflowError, RuntimeError):
        raise _broken(path, "it is nested too deeply, too large or encrypted", "export it again") from None


def _standard_input() -> Artefact:
    """Copy standard input to a file that stays until the end: tensors are read where they are needed."""
    import atexit
    import shutil
    import sys
    import tempfile

    with tempfile.NamedTemporaryFile(delete=False) as file:
        atexit.register(os.unlink, file.name)
        shutil.copyfileobj(sys.stdin.buffer, file)
    try:
        return read(file.name)._replace(path="-")
    except GatecalcError as error:
        place = error.place
        error.place = Place("-", place.line, place.column, place.text) if place else Place("-")
        raise


def _broken(path: str, what: str, help: str) -> GatecalcError:
    return GatecalcError(f"file: {what}", Place(path), help)


def _text(path: str, size: int) -> Artefact | None:
    """Return a file that is text, or None for one that is not; JSON is a Keras configuration."""
    if size > MAX_HEADER:
        return None
    with open(path, "rb") as file:
        data = file.read()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if any(ord(character) < 32 and character not in "\t\n\r\x1b" for character in text):
        return None
    if text.lstrip()[:1] == "{":
        return Artefact(path, "keras", {}, config=json.loads(text), left_out="there are no weights in it")
    return Artefact(path, "text", {}, text=text)


SAFETENSORS = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
    "BOOL": "bool",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}


def _safetensors(path: str, size: int) -> Artefact:
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        if length > MAX_HEADER:
            raise GatecalcError(
                f"limit: its header has {length:,} bytes, {MAX_HEADER:,} at most", help="export it again"
            )
        header = json.loads(file.read(length))
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, stop = entry["data_offsets"]
        shape, dtype = check_shape(entry["shape"]), SAFETENSORS.get(entry["dtype"])
        if dtype is None:
            raise GatecalcError(
                f"file: '{shorten(name)}' has the unknown number type '{shorten(str(entry['dtype']))}'",
                help="export it again",
            )
        load = functools.partial(_raw, path, 8 + length + start, shape, dtype)
        stored = Stored(name, shape, dtype, load)
        if not 0 <= start <= stop <= size - 8 - length or stop - start != stored.size * SIZES[dtype]:
            raise GatecalcError(f"file: '{shorten(name)}' does not lie inside the file", help="export it again")
        tensors[name] = stored
    return Artefact(path, "safetensors", tensors)


def _raw(path: str, offset: int, shape: tuple[int, ...], dtype: str) -> Any:
    size = SIZES[dtype]
    for extent in shape:
        size *= extent
    with open(path, "rb") as file:
        file.seek(offset)
        return array(file.read(size), shape, dtype)


def _zip(path: str) -> Artefact:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if len(names) > MAX_TENSORS:
            raise GatecalcError(f"limit: it has {len(names):,} entries", help="split it")
        program = next((name for name in names if name.rpartition("/")[2] == "data.pkl"), None)
        if program is not None:
            data = _entry(archive, program)
            return Artefact(path, "pytorch", torchfile.tensors(path, archive, program, data))
        if "config.json" in names:
            weights, left_out = {}, "there are no weights in it"
            if WEIGHTS in names:
                try:
                    weights, left_out = kerasmodel.saved(_inside(path, archive, WEIGHTS))[1], ""
                except hdf5file.OtherForm as error:
                    left_out = f"its weights are left out: {error.message.removeprefix('file: ')}"
            config = json.loads(_entry(archive, "config.json"))
            return Artefact(path, "keras", weights, config=config, left_out=left_out)
        arrays = [name for name in names if name.endswith(".npy")]
        if arrays:
            return Artefact(path, "npz", {name[:-4]: _npy(path, archive, name) for name in arrays})
    raise GatecalcError("file: it is a zip archive without a model in it", help="give a .pt, .keras, .h5 or .npz file")


WEIGHTS = "model.weights.h5"  # of a .keras file


def _inside(path: str, archive: zipfile.ZipFile, name: str) -> hdf5file.Source:
    """Return a source of an entry: read where it lies if it is stored as it is, as Keras does, else unpacked."""
    entry = archive.getinfo(name)
    if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
        return hdf5file.source_of(_entry(archive, name))
    header = hdf5file.source(path, 0, os.path.getsize(path))(entry.header_offset, 30)
    if not header.startswith(b"PK\x03\x04"):
        raise zipfile.BadZipFile("no entry where the directory says")
    start = entry.header_offset + 30 + sum(struct.unpack("<HH", header[26:30]))
    if start + entry.file_size > os.path.getsize(path):
        raise zipfile.BadZipFile("an entry reaches beyond the file")
    return hdf5file.source(path, start, entry.file_size)


def _hdf5(path: str, size: int) -> Artefact:
    config, tensors = kerasmodel.saved(hdf5file.source(path, 0, size))
    return Artefact(path, "keras" if config is not None else "hdf5", tensors, config=config)


def _entry(archive: zipfile.ZipFile, name: str) -> bytes:
    """Read an entry that is parsed; its real size is checked, whatever the archive says it is."""
    with archive.open(name) as file:
        data = file.read(MAX_HEADER + 1)
    if len(data) > MAX_HEADER:
        raise GatecalcError(f"limit: '{shorten(name)}' has more than {MAX_HEADER:,} bytes", help="export it again")
    return data


def _npy(path: str, archive: zipfile.ZipFile, name: str) -> Stored:
    """Read the header of an array; ``numpy.load`` refuses objects, and so is this."""
    import numpy

    with archive.open(name) as file:
        version = numpy.lib.format.read_magic(file)
        reader = numpy.lib.format.read_array_header_1_0 if version == (1, 0) else numpy.lib.format.read_array_header_2_0
        shape, _, dtype = reader(file)
    if dtype.hasobject:
        raise GatecalcError(
            f"file: '{shorten(name)}' holds Python objects, which may run code", help="save plain arrays"
        )

    def load() -> Any:
        with numpy.load(path, allow_pickle=False) as arrays:
            return arrays[name[:-4]]

    stored = Stored(name[:-4], check_shape(shape), dtype.name, load)
    if stored.size * dtype.itemsize > MAX_BYTES:
        raise GatecalcError(f"limit: '{shorten(name)}' would have {stored.size:,} numbers", help="split it")
    return stored
