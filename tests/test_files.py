"""Files that are written whole or not at all, and texts of others that reach a terminal."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gatecalc import GatecalcError
from gatecalc.errors import printable
from gatecalc.files import check_writable, write_whole
from tests.test_check import run

ESCAPE = "\x1b[31m"


def test_a_file_is_replaced_only_by_a_whole_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a write is stopped half way, the older file is still there, and nothing else."""
    path = tmp_path / "out.bin"
    write_whole(str(path), b"old")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        write_whole(str(path), b"new")
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"old"]


@pytest.mark.parametrize(
    ("name", "reason"), [("", "is a directory"), ("no/out.bin", "no such file or directory"), ("out.bin", "")]
)
def test_what_cannot_be_written_is_told_before_and_when_it_is_tried(name: str, reason: str, tmp_path: Path) -> None:
    """In the same words."""
    path = str(tmp_path / name)
    for attempt in (lambda: check_writable(path), lambda: write_whole(path, b"")):
        if not reason:
            attempt()
            continue
        with pytest.raises(GatecalcError) as error:
            attempt()
        assert str(error.value).startswith(f"{path}: file: cannot write it: {reason}\nhelp: ")


def test_no_text_of_others_steers_the_terminal(tmp_path: Path) -> None:
    """In names, titles, packs and documents; letters of all scripts stay as they are."""
    assert printable(f"é 模型 🙂\n\t{ESCAPE}") == "é 模型 🙂\n\t?[31m"
    cell, pack = tmp_path / "own.cell", tmp_path / "pack.toml"
    document = tmp_path / "text.md"
    cell.write_text(f'"""A {ESCAPE} title."""\nh = tanh(W @ x)\n', encoding="utf-8")
    pack.write_text('document = "d"\n[[claim]]\nid = "\\u001b[31m"\nstates = "2"\nof = "2"\n', encoding="utf-8")
    document.write_text(f"{ESCAPE} 7! = 720 {ESCAPE} and 3.\n", encoding="utf-8")
    commands = (
        ["show", str(cell)],
        ["check", str(pack)],
        ["scan", str(document)],
        ["coverage", str(document), "docs/parameters.toml", "--show"],
        ["count", f"no{ESCAPE}thing"],
        ["audit", f"{tmp_path}/{ESCAPE}"],
    )
    for command in commands:
        result = run(*command)
        assert result.stdout + result.stderr
        assert "\x1b" not in result.stdout + result.stderr, command
    refused = run("check", str(pack)).stderr.splitlines()
    assert refused[0] == f"{pack}:3:1: text: 'id' has a character that steers a terminal and is no letter"
    assert refused[-1] == "help: leave it out"
