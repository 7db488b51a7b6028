"""PyTorch files, without running anything in them.

Such a file is a zip archive whose ``data.pkl`` is a program for a stack machine. :func:`_pickled` follows only those of
its instructions that build dictionaries of tensors, and knows nothing that could be called.
"""

from __future__ import annotations

import functools
import pickletools
import warnings
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

from gatecalc.errors import GatecalcError, shorten
from gatecalc.models.tensors import MAX_DEPTH, MAX_TENSORS, SIZES, Stored, array, check_shape, checked
from gatecalc.record import Record

_STORAGES = {
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
}


class _Global(Record):
    """A name that a pickle asks for; nothing is imported."""

    module: str
    name: str


class _Storage(Record):
    dtype: str
    key: str
    size: int


class _Tensor(Record):
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def tensors(path: str, archive: zipfile.ZipFile, program: str, data: bytes) -> dict[str, Stored]:
    """Return the tensors of a state dict: ``data`` is its pickle, the entry ``program`` of the archive."""
    folder = program[: -len("data.pkl")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes that Python would not write
        content = _pickled(data)
    sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    found: dict[str, Stored] = {}
    for name, tensor in _named(content):
        entry, item = f"{folder}data/{tensor.storage.key}", SIZES[tensor.storage.dtype]
        last = tensor.offset + sum(
            (extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.strides, strict=True)
        )
        if 0 not in tensor.shape and (last + 1) * item > sizes.get(entry, 0):
            raise GatecalcError(f"file: '{shorten(name)}' does not lie inside the file", help="save it again")
        load = functools.partial(_strided, path, entry, tensor)
        found[name] = checked(Stored(name, tensor.shape, tensor.storage.dtype, load))
    return found


def _strided(path: str, entry: str, tensor: _Tensor) -> Any:
    import numpy

    with zipfile.ZipFile(path) as archive:
        flat = array(archive.read(entry), (-1,), tensor.storage.dtype)
    strides = [stride * flat.itemsize for stride in tensor.strides]
    return numpy.lib.stride_tricks.as_strided(flat[tensor.offset :], tensor.shape, strides).copy()


def _named(content: Any) -> Iterator[tuple[str, _Tensor]]:
    """Yield the tensors of nested dictionaries, their names joined by points."""
    waiting = [("", content, 0)]
    visited = 0
    while waiting:  # counted, since a dictionary may hold itself, or another many times
        name, value, depth = waiting.pop()
        visited += 1
        if depth > MAX_DEPTH or visited > MAX_TENSORS:
            raise GatecalcError("limit: its dictionaries are nested too deeply or hold too much", help=_SAFE)
        if isinstance(value, _Tensor):
            yield name, value
        elif isinstance(value, dict):
            inside = [(f"{name}.{key}" if name else str(key), item, depth + 1) for key, item in value.items()]
            waiting += reversed(inside)


_MARK = object()


def _pickled(data: bytes) -> Any:
    """Follow a pickle as far as it builds dictionaries, lists, numbers and tensors; refuse all else.

    Raises:
        GatecalcError: For a name that is not on the list, with the name: such a file would run code.
    """
    stack: list[Any] = []
    memo: dict[int, Any] = {}

    def pop_to_mark() -> list[Any]:
        items: list[Any] = []
        while stack[-1] is not _MARK:
            items.append(stack.pop())
        stack.pop()
        return items[::-1]

    argument: Any
    for opcode, argument, _ in pickletools.genops(data):
        op = opcode.name
        if op in ("PROTO", "FRAME"):
            continue
        if op == "STOP":
            return stack.pop()
        if op == "MARK":
            stack.append(_MARK)
        elif op in _LITERALS:
            stack.append(_LITERALS[op](argument))
        elif op in ("TUPLE1", "TUPLE2", "TUPLE3"):
            number = int(op[-1])
            stack[-number:] = [tuple(stack[-number:])]
        elif op in ("TUPLE", "LIST", "DICT"):
            items = pop_to_mark()
            stack.append(
                tuple(items)
                if op == "TUPLE"
                else items
                if op == "LIST"
                else dict(zip(items[::2], items[1::2], strict=True))
            )
        elif op in ("BINPUT", "LONG_BINPUT", "PUT", "MEMOIZE"):
            memo[len(memo) if op == "MEMOIZE" else argument] = stack[-1]
        elif op in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(memo[argument])
        elif op == "SETITEMS":
            items = pop_to_mark()
            _dictionary(stack[-1]).update(zip(items[::2], items[1::2], strict=True))
        elif op == "SETITEM":
            value, key = stack.pop(), stack.pop()
            _dictionary(stack[-1])[key] = value
        elif op in ("APPEND", "APPENDS"):
            items = [stack.pop()] if op == "APPEND" else pop_to_mark()
            stack[-1].extend(items)
        elif op == "GLOBAL":
            stack.append(_Global(*argument.split(" ", 1)))
        elif op == "STACK_GLOBAL":
            name, module = stack.pop(), stack.pop()
            stack.append(_Global(module, name))
        elif op == "BINPERSID":
            stack.append(_storage(stack.pop()))
        elif op == "REDUCE":
            arguments, called = stack.pop(), stack.pop()
            stack.append(_rebuilt(called, arguments))
        elif op == "BUILD":
            stack.pop()  # attributes of the dictionary itself: the versions of its modules
            _dictionary(stack[-1])
        else:
            raise GatecalcError(f"file: its pickle has the instruction {op}, which no state dict needs", help=_SAFE)
    raise GatecalcError("file: its pickle has no end", help=_SAFE)


_SAFE = "save the state dict alone: torch.save(model.state_dict(), path)"
_LITERALS: dict[str, Callable[[Any], Any]] = {
    "EMPTY_DICT": lambda _: {},
    "EMPTY_LIST": lambda _: [],
    "EMPTY_TUPLE": lambda _: (),
    "NONE": lambda _: None,
    "NEWTRUE": lambda _: True,
    "NEWFALSE": lambda _: False,
    **dict.fromkeys(
        (
            "STRING",
            "UNICODE",
            "BINSTRING",
            "BINUNICODE",
            "SHORT_BINUNICODE",
            "BINUNICODE8",
            "BININT",
            "BININT1",
            "BININT2",
        ),
        lambda value: value,
    ),
    **dict.fromkeys(
        ("LONG1", "LONG4", "INT", "LONG", "BINFLOAT", "FLOAT", "SHORT_BINBYTES", "BINBYTES"), lambda value: value
    ),
}


def _dictionary(value: Any) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise GatecalcError("file: its pickle builds an object, which may run code", help=_SAFE)
    return value


def _storage(saved: Any) -> _Storage:
    kind, storage, key, _, size = saved
    dtype = (
        _STORAGES.get(storage.name)
        if kind == "storage" and isinstance(storage, _Global) and storage.module == "torch"
        else None
    )
    if dtype is None:
        raise GatecalcError(f"file: its storage is of the unknown kind {shorten(str(storage))}", help=_SAFE)
    return _Storage(dtype, str(key), int(size))


def _rebuilt(called: Any, arguments: Any) -> Any:
    """Return what one of the four functions of a state dict would build."""
    name = f"{called.module}.{called.name}" if isinstance(called, _Global) else type(called).__name__
    if name == "collections.OrderedDict" and arguments in ((), ([],)):
        return {}
    if name == "torch._utils._rebuild_tensor_v2" and isinstance(arguments[0], _Storage):
        storage, offset, shape, strides, *_ = arguments
        if min([offset, *strides], default=0) < 0 or len(shape) != len(strides):
            raise GatecalcError("file: a tensor lies outside its storage", help="save it again")
        return _Tensor(storage, offset, check_shape(shape), tuple(strides))
    if name in ("torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state") and isinstance(
        arguments[0], _Tensor
    ):
        return arguments[0]
    raise GatecalcError(f"file: its pickle calls '{shorten(name)}', which would run code", help=_SAFE)
