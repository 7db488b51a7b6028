"""Keras models: which recurrent layers their configuration describes, and where the weights of these stand in HDF5.

A ``.keras`` file names its groups after classes, counted where one class occurs twice, and numbers the variables; the
older ``.h5`` file names them after the layers. Here a kernel is called ``kernel`` in both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gatecalc.errors import GatecalcError
from gatecalc.models import hdf5file
from gatecalc.models.tensors import MAX_HEADER, Stored
from gatecalc.record import Record

MAX_PARTS = 100_000  # of a configuration
KINDS = ("SimpleRNN", "LSTM", "GRU")
ROLES = ("kernel", "recurrent_kernel", "bias")
_BLOCKS = (1, 3, 4)  # of a recurrent kernel, side by side
_NO_WEIGHTS = re.compile(r"(?:optimizer|optimizer_weights)/|(?:.*/)?seed_generator(?:_\d+)?/")


class Configured(Record):
    """A recurrent layer, or cell, of a configuration.

    Attributes:
        name, kind: What the model calls it, and its class without ``Cell``.
        config: Its own part of the configuration.
        input: The width that it was built for, where that is told.
        groups: Where a ``.keras`` file has its weights, for each direction.
        within: The names of the parts that it is in, the outermost first.
        own: What an ``.h5`` file calls it, for each direction.
    """

    name: str
    kind: str
    config: dict[str, Any]
    input: int | None
    groups: tuple[str, ...]
    within: tuple[str, ...]
    own: tuple[str, ...]


class _Part(Record):
    """A part of a configuration that is still to be looked at."""

    value: Any
    width: int | None = None
    groups: tuple[str, ...] = ("",)
    within: tuple[str, ...] = ()
    directions: tuple[str, ...] = ("",)


def layers(model: Any) -> Iterator[Configured]:
    """Yield the recurrent layers of a Keras model's own description, in its order.

    Raises:
        GatecalcError: For a description of more than 100,000 parts.
    """
    waiting = [_Part(model)]
    visited = 0
    while waiting:
        part = waiting.pop()
        visited += 1
        if visited > MAX_PARTS:
            raise GatecalcError(
                f"limit: the configuration has more than {MAX_PARTS:,} parts", help="save a smaller model"
            )
        value = part.value
        if isinstance(value, list):
            waiting += reversed(list(_numbered(part)))
        if not isinstance(value, dict):
            continue
        config = _inner(value, "config")
        kind = str(value.get("class_name", ""))
        part = part._replace(width=_width(value) or part.width)
        if kind.removesuffix("Cell") in KINDS and isinstance(config.get("units"), int):
            yield _configured(kind, config, part)
            continue
        part = part._replace(within=(*part.within, str(config.get("name", ""))))
        if kind == "Bidirectional":
            groups = tuple(f"{part.groups[0]}/{name}_layer" for name in ("forward", "backward"))
            waiting.append(
                part._replace(value=config.get("layer"), groups=groups, directions=("forward_", "backward_"))
            )
        else:  # a model, or what wraps a layer or a cell
            inside = [
                part._replace(value=config[key], groups=tuple(f"{group}/{key}" for group in part.groups))
                for key in ("layers", "layer", "cells", "cell")
                if config.get(key) is not None
            ]
            if "config" not in value and "model_config" in value:
                inside.append(part._replace(value=value["model_config"]))
            waiting += reversed(inside)


def _numbered(part: _Part) -> Iterator[_Part]:
    """Yield the parts of a list, their groups named after their classes: ``lstm``, ``lstm_1``."""
    used: dict[str, int] = {}
    for item in part.value:
        name = _snake(str(item.get("class_name", ""))) if isinstance(item, dict) else "container"
        number = used[name] = used.get(name, -1) + 1
        own = f"{name}_{number}" if number else name
        yield part._replace(value=item, groups=tuple(f"{group}/{own}" for group in part.groups))


def _snake(name: str) -> str:
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", name))
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


def _configured(kind: str, config: dict[str, Any], part: _Part) -> Configured:
    name, inner = str(config.get("name", kind.removesuffix("Cell"))), "" if kind.endswith("Cell") else "/cell"
    both = len(part.directions) > 1
    return Configured(
        name=(both and part.within[-1]) or name,
        kind=kind.removesuffix("Cell"),
        config=config,
        input=part.width,
        groups=tuple(f"{group}{inner}".lstrip("/") for group in part.groups),
        within=part.within,
        own=tuple(f"{direction}{name.removeprefix('forward_') if both else name}" for direction in part.directions),
    )


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


# ------------------------------------------------------------------------------------------- weights


def saved(read: hdf5file.Source) -> tuple[Any, dict[str, Stored]]:
    """Return the configuration in an HDF5 file, or None, and its weights: no state of optimisers or generators."""
    found = hdf5file.content(read)
    text = found.attributes.get("model_config")
    if text is not None and len(text) > MAX_HEADER:
        raise GatecalcError(f"limit: its configuration has more than {MAX_HEADER:,} characters", help="save it again")
    tensors = {_plain(name): tensor for name, tensor in found.tensors.items() if not _NO_WEIGHTS.match(name)}
    roles = {}
    for name in tensors:
        group, _, number = name.rpartition("/vars/")
        if number in ("0", "1", "2") and _recurrent(group, tensors):
            roles[name] = f"{group}/{ROLES[int(number)]}"
    tensors = {roles.get(name, name): tensor._replace(name=roles.get(name, name)) for name, tensor in tensors.items()}
    return None if text is None else json.loads(text), tensors


def _plain(name: str) -> str:
    name = name.removeprefix("model_weights/").removesuffix(":0")
    return name.replace("_layer_checkpoint_dependencies", "layers")


def _recurrent(group: str, tensors: Mapping[str, Stored]) -> bool:
    """Tell whether the numbered variables of a group are those of a recurrent cell."""
    if not re.fullmatch(r"(?:.*_)?cell(?:_\d+)?", group.rpartition("/")[2]):
        return False
    there = [tensors[name].shape for name in (f"{group}/vars/{number}" for number in range(4)) if name in tensors]
    if len(there) not in (2, 3) or len(there[0]) != 2 or len(there[1]) != 2:
        return False
    hidden, wide = there[1]
    return wide in [blocks * hidden for blocks in _BLOCKS] and all(shape[-1:] == (wide,) for shape in there)


def weights(layer: Configured, tensors: Mapping[str, Stored]) -> list[dict[str, Stored]] | None:
    """Return each direction's tensors by their role; None where the file has not, or does not tell which they are."""
    found = []
    groups = {name.rpartition("/")[0] for name in tensors if name.endswith("/recurrent_kernel")}
    for group, name in zip(layer.groups, layer.own, strict=True):
        place = group if group in groups else _named(groups, name, layer.within)
        if place is None:
            return None
        names = {role: f"{place}/{role}" for role in ROLES}
        found.append({role: tensors[name] for role, name in names.items() if name in tensors})
    return found


def _named(groups: Iterable[str], name: str, within: tuple[str, ...]) -> str | None:
    """Return the group that is named after a layer; of several the one that is in most of the parts that it is in."""
    ranked: dict[int, list[str]] = {}
    for group in groups:
        parts = group.split("/")
        if name in parts:
            ranked.setdefault(sum(outer in parts for outer in within), []).append(group)
    best = ranked[max(ranked)] if ranked else []
    return best[0] if len(best) == 1 else None
