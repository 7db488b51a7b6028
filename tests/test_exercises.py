"""The pages of the worked examples: every command runs and prints what it says; the newcomer's pack covers its text."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from gatecalc.checking.claims import read_pack
from gatecalc.checking.coverage import coverage
from gatecalc.checking.documents import read_document
from tests.test_check import run

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "worked_examples"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
ERROR = re.compile(r"(?<=largest error )\S+")  # of a derivation's check: its size is the arithmetic library's

COMMANDS = [
    pytest.param(command, output, id=f"{path.stem}-{number}")
    for path in sorted(EXAMPLES.glob("*.md"))
    for number, (command, output) in enumerate(
        (
            pair
            for block in re.findall(r"^```console\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)
            for pair in re.findall(r"^\$ gatecalc (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)
        ),
        start=1,
    )
]


@pytest.mark.parametrize("command, output", COMMANDS)
def test_a_page_prints_what_its_command_prints(command: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Word for word but for the errors of checks; of a training run, the words, and the numbers to 2 percent."""
    monkeypatch.chdir(ROOT)
    result = run(*shlex.split(command))
    assert result.exit_code == (1 if "not correct" in output else 0)
    if not command.startswith("train"):
        assert ERROR.sub("#", result.output) == ERROR.sub("#", output)
        assert all(float(error) < 1e-25 for error in ERROR.findall(result.output))
        return
    assert NUMBER.sub("#", result.output).split() == NUMBER.sub("#", output).split()
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in (result.output, output)]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.02, abs=2e-6)


def test_every_exercise_has_a_command() -> None:
    """Seven sections, none without one."""
    text = (EXAMPLES / "exercises.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", text, flags=re.M)[1:]
    assert [section[:2] for section in sections] == [f"{number}." for number in range(1, 8)]
    assert all("$ gatecalc " in section for section in sections)


def test_the_first_pack_accounts_for_every_numeral_of_its_document() -> None:
    """And most of them are checked."""
    pack = read_pack(str(EXAMPLES / "your-first-pack.toml"))
    found = coverage(read_document(str(EXAMPLES / "your-first-pack.md")), [pack])
    assert (found.unaccounted, found.warnings) == ([], [])
    assert found.checked > found.given + found.label
    assert found.numerals == pack.numerals
