"""A run on disk: an ``.npz`` file of arrays and a description, written whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gatecalc.errors import GatecalcError, Place

Array = npt.NDArray[Any]


def unwritable(path: str, error: OSError) -> GatecalcError:
    """Return what is said of a file that cannot be written."""
    reason = (error.strerror or "error").lower()
    return GatecalcError(f"file: cannot write it: {reason}", Place(path), "give a path in a folder that exists")


def check_writable(path: str) -> None:
    """Refuse, before the work, a file that could not be written after it; an older one stays as it is.

    Raises:
        GatecalcError: For a folder that is not there or may not be written in, or a path that is a folder itself.
    """
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        number = errno.EISDIR
    elif not path or not os.path.isdir(folder):
        number = errno.ENOENT
    elif not os.access(path if os.path.exists(path) else folder, os.W_OK):
        number = errno.EACCES
    else:
        return
    raise unwritable(path, OSError(number, os.strerror(number)))


def write(path: str, arrays: Mapping[str, Array], about: Mapping[str, Any]) -> None:
    """Write arrays, and what they are about as JSON; an older file is replaced only once the new one is complete."""
    everything = {**arrays, "about": np.array(json.dumps(about))}
    folder = os.path.dirname(os.path.abspath(path))
    try:
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
    except OSError as error:
        raise unwritable(path, error) from None
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **everything)  # type: ignore[arg-type]
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


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
        reason = (error.strerror or "not a saved run").lower()
        raise GatecalcError(f"file: cannot read it: {reason}", Place(path), "give a file that --save wrote") from None
    except (*DAMAGE, KeyError):
        raise GatecalcError("file: it is not a saved run", Place(path), "give a file that --save wrote") from None
    return arrays, about
