"""The examples of every --help: each runs as it is printed."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from gatecalc.cli import Commands
from tests.test_audit import TORCHINFO
from tests.test_check import run
from tests.test_keras_files import sequential, written
from tests.test_weights import layer

ROOT = Path(__file__).parent.parent
NAMES = Commands().list_commands(None)  # type: ignore[arg-type]


def examples(*command: str) -> list[str]:
    """Return the lines of a help that begin with the program's name."""
    return re.findall(r"^  gatecalc (.+)$", run(*command, "--help").stdout, re.MULTILINE)


PRINTED = [line for name in NAMES for line in examples(name)] + examples()
ELSEWHERE = {  # run by other tests, as they are printed, and long
    "check worked_examples --errata": "test_docs.py",
}
EXAMPLES = sorted(set(PRINTED) - set(ELSEWHERE))


def _pytorch_file(folder: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: make oracles")
    torch.save(torch.nn.LSTM(3, 5).state_dict(), folder / "model.pt")


def _convertible(folder: Path, name: str) -> None:
    shutil.move(layer(folder, "pytorch", "lstm"), folder / "source.npz")
    target = "onnx" if name.endswith("onnx") else "pytorch"
    assert run("convert", str(folder / "source.npz"), str(folder / name), "--to", target).exit_code == 0


MAKERS: dict[str, Any] = {
    "model.pt": _pytorch_file,
    "model.keras": lambda folder: written(sequential(), folder / "model.keras"),
    "model.onnx": lambda folder: _convertible(folder, "model.onnx"),
    "model.safetensors": lambda folder: _convertible(folder, "model.safetensors"),
    "summary.txt": lambda folder: (folder / "summary.txt").write_text(TORCHINFO, encoding="utf-8"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_of_a_help_runs_as_it_is_printed(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder with the pages, the packs, and the model files that it names; its status is no error's."""
    arguments = shlex.split(line)
    for folder in ("docs", "worked_examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    written_to = arguments[2] if arguments[0] == "convert" else None
    for name in arguments[1:]:
        if name in MAKERS and name != written_to:
            MAKERS[name](tmp_path)
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert (result.exit_code in (0, 1), result.stderr) == (True, "")
    assert len(result.stdout) > 3


def test_every_command_has_an_example() -> None:
    """At least one of its own."""
    assert {line.split()[0] for line in PRINTED} == set(NAMES)
    assert set(ELSEWHERE) <= set(PRINTED)
