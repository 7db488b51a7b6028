"""Which files the paths of a command mean."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gatecalc import GatecalcError, scan
from gatecalc.checking.paths import find_files


def find(*paths: Path | str) -> tuple[list[str], list[str]]:
    found, errors = find_files(map(str, paths), {".md"}, "pages", "a page ends in .md")
    return found, [str(error) for error in errors]


def test_files_are_taken_as_they_are_and_folders_are_searched(tmp_path: Path) -> None:
    """Each once, in order, hidden folders and other endings apart."""
    for name in ("b.md", "a.MD", "c.txt", "deep/d.md", ".venv/e.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    names = [str(tmp_path / name) for name in ("c.txt", "a.MD", "b.md", "deep/d.md")]
    assert find(names[0], tmp_path, names[2], "-") == ([*names, "-"], [])


def test_a_folder_without_them_is_an_error_and_the_rest_is_found(tmp_path: Path) -> None:
    """Alone, it is all that there is to say."""
    (tmp_path / "empty").mkdir()
    page = tmp_path / "page.md"
    page.touch()
    error = f"{tmp_path / 'empty'}: file: no pages in this folder\nhelp: a page ends in .md"
    assert find(tmp_path / "empty", page) == ([str(page)], [error])
    with pytest.raises(GatecalcError) as raised:
        find(tmp_path / "empty")
    assert str(raised.value) == error


def test_a_folder_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Instead of being passed over."""
    for name in ("a/page.md", "locked/page.md"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    usual = os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return usual(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found, errors = find(tmp_path)
    assert found == [str(tmp_path / "a" / "page.md")]
    assert errors[0].startswith(f"{tmp_path / 'locked'}: file: cannot read it: permission denied")


def test_a_scan_goes_on_after_a_folder_without_documents(tmp_path: Path) -> None:
    """Which is in its errors, and counts as no document."""
    (tmp_path / "empty").mkdir()
    page = tmp_path / "page.md"
    page.write_text("It is 2 * 3 = 6.", encoding="utf-8")
    report = scan(str(tmp_path / "empty"), str(page))
    assert (report.summary["documents"], report.summary["exact"], len(report.errors)) == (1, 1, 1)
