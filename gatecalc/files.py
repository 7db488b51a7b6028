"""Files that are read and written: what is said when one cannot be, and results written whole or not at all."""

from __future__ import annotations

import errno
import os

from gatecalc.errors import GatecalcError, Place


def unreadable(path: str, error: OSError, help: str) -> GatecalcError:
    """Return what is said of a file that cannot be read; ``help`` tells what is to be given."""
    return GatecalcError(f"file: cannot read it: {(error.strerror or 'error').lower()}", Place(path), help)


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


def write_whole(path: str, data: bytes) -> None:
    """Write a file; an older one is replaced only once the new one is complete.

    Raises:
        GatecalcError: Where it cannot be written.
    """
    partial = f"{path}.{os.getpid()}.partial"
    try:
        try:
            with open(partial, "wb") as file:
                file.write(data)
            os.replace(partial, path)
        finally:
            if os.path.exists(partial):
                os.unlink(partial)
    except OSError as error:
        raise unwritable(path, error) from None
