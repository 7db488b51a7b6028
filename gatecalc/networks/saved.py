"""A run on disk: an ``.npz`` file of arrays and a description, written whole or not at all."""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gatecalc.errors import GatecalcError, Place
from gatecalc.files import unreadable, write_whole

Array = npt.NDArray[Any]


def write(path: str, arrays: Mapping[str, Array], about: Mapping[str, Any]) -> None:
    """Write arrays, and what they are about as JSON; an older file is replaced only once the new one is complete."""
    everything = {**arrays, "about": np.array(json.dumps(about))}
    buffer = io.BytesIO()
    np.savez(buffer, **everything)  # type: ignore[arg-type]
    write_whole(path, buffer.getvalue())


DAMAGE = (ValueError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, MemoryError)


def load(path: str) -> dict[str, Array]:
    """Return the arrays of an ``.npz`` file; nothing in it is run. What it raises for another file is ``DAMAGE``."""
    if not os.path.isdir(path) and not zipfile.is_zipfile(path) and os.path.exists(path):
        raise ValueError("not an .npz file")
    with np.load(path, allow_pickle=False) as file:
        return {key: np.asarray(file[key]) for key in file.files}


def read(path: str) -> tuple[dict[str, Array], dict[str, Any]]:
    """Read what :func:`write` wrote.

    Raises:
        GatecalcError: For a file that cannot be read, or that is something else.
    """
    try:
        arrays = load(path)
        about: dict[str, Any] = json.loads(str(arrays.pop("about")))
    except OSError as error:
        raise unreadable(path, error, "give a file that --save wrote") from None
    except (*DAMAGE, KeyError):
        raise GatecalcError("file: it is not a saved run", Place(path), "give a file that --save wrote") from None
    return arrays, about
