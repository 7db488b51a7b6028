"""The documentation: every example in it runs, and prints what it says."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from gatecalc import check
from gatecalc.cell import parse_cell
from gatecalc.cli import Commands
from gatecalc.elementwise import ELEMENTWISE
from tests.test_check import run

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_prints_what_its_commands_print(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each `$ gatecalc ...` of a console block, with the lines below it."""
    monkeypatch.chdir(ROOT)
    for block in blocks(path, "console"):
        for command, output in re.findall(r"^\$ gatecalc (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            assert run(*shlex.split(command)).output == output, command


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_packs_of_a_page_hold(path: Path, tmp_path: Path) -> None:
    """A toml block that names a document is a pack, and checks."""
    for number, block in enumerate(blocks(path, "toml")):
        if "document =" in block:
            pack = tmp_path / f"{number}.toml"
            pack.write_text(block, encoding="utf-8")
            report = check(str(pack))
            assert not report.errors
            assert not report.failures()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_python_of_a_page_runs(path: Path) -> None:
    """As a doctest."""
    for block in blocks(path, "python"):
        test = doctest.DocTestParser().get_doctest(block, {}, path.name, None, None)
        result = doctest.DocTestRunner(verbose=False).run(test)
        assert result.failed == 0
        assert result.attempted > 0


def test_the_errata_of_the_worked_examples_are_those_that_check_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    """`gatecalc check --errata worked_examples > worked_examples/README.md`."""
    monkeypatch.chdir(ROOT)
    printed = run("check", "--errata", "worked_examples", "-j", "2").stdout
    assert printed == (ROOT / "worked_examples" / "README.md").read_text(encoding="utf-8")


def test_the_readme_opens_with_an_example_and_its_numbers() -> None:
    """By line 15."""
    head = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:15])
    assert "$ gatecalc" in head
    assert re.search(r"\d\.\d{4}", head)


@pytest.mark.parametrize("path", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda path: path.name)
def test_the_paths_that_a_page_names_are_there(path: Path) -> None:
    """Files and folders of the repository, and links."""
    text = path.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:gatecalc|tests|docs|worked_examples|benchmarks)/[\w./-]*)`", text):
        assert (ROOT / name).exists(), name
    for link in re.findall(r"\]\(([\w./-]+)\)", text):
        assert (path.parent / link).exists(), link


def test_every_page_is_linked_from_the_readme() -> None:
    """So that it is found."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES[1:] if f"(docs/{page.name})" not in text] == []


def test_the_page_of_cells_lists_every_function_and_its_cell_is_one() -> None:
    """As a cell takes them; its first block counts."""
    text = (ROOT / "docs" / "cells.md").read_text(encoding="utf-8")
    assert [name for name in ELEMENTWISE if f"`{name}`" not in text] == []
    example = blocks(ROOT / "docs" / "cells.md", "")[0]
    assert parse_cell(example).source == "your paper, equation 3."
    assert parse_cell(example).dimensions == ["D", "H", "P"]


def test_the_readme_names_every_command() -> None:
    """And no other."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `gatecalc (\w+)` \|", text, re.MULTILINE))
    assert named == set(Commands().list_commands(None))  # type: ignore[arg-type]
