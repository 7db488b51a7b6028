"""Which files are meant by the paths of a command: files as they are, and in folders those with certain endings."""

from __future__ import annotations

import os
from collections.abc import Iterable

from gatecalc.errors import GatecalcError, Place
from gatecalc.files import unreadable


def find_files(
    paths: Iterable[str], endings: Iterable[str], what: str, help: str
) -> tuple[list[str], list[GatecalcError]]:
    """Return the files that are meant, each once, and what is wrong with the folders that give none.

    Args:
        paths: Files and folders; ``-``, standard input, is a file.
        endings: Those of the files that are taken in folders, in lower case, with their dots.
        what: What such files are, for the error.
        help: How one is known.

    Raises:
        GatecalcError: The first error, where nothing is left to be read.
    """
    endings = frozenset(endings)
    found: dict[str, None] = {}
    errors: list[GatecalcError] = []
    for path in paths:
        if not os.path.isdir(path):
            found[path] = None
            continue
        before = len(errors)
        inside = _in_folder(path, endings, errors)
        if not inside and len(errors) == before:
            errors.append(GatecalcError(f"file: no {what} in this folder", Place(path), help))
        found |= dict.fromkeys(inside)
    if errors and not found:
        raise errors[0]
    return list(found), errors


def _in_folder(path: str, endings: frozenset[str], errors: list[GatecalcError]) -> list[str]:
    def note(error: OSError) -> None:
        errors.append(unreadable(str(error.filename), error, "let it be read, or leave it out"))

    inside = []
    for folder, folders, files in os.walk(path, onerror=note):
        folders[:] = [each for each in folders if not each.startswith(".")]  # such as virtual environments
        inside += [os.path.join(folder, file) for file in files if os.path.splitext(file)[1].lower() in endings]
    return sorted(inside)
