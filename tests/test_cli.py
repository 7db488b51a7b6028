"""The command line as a whole: help, what is loaded, what goes wrong."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gatecalc.cli import Commands, gatecalc
from tests.test_check import run

NAMES = Commands().list_commands(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_with_an_example_and_two_formats(name: str) -> None:
    """`gatecalc NAME --help` shows a line that begins with `gatecalc NAME`."""
    result = run(name, "--help")
    assert result.exit_code == 0
    assert f"\n  gatecalc {name}" in result.stdout
    assert "--format" in result.stdout


def test_the_help_lists_every_command() -> None:
    """And the version is that of the package."""
    import gatecalc as package

    text = run("--help").stdout
    assert all(f"\n  {name} " in text for name in NAMES)
    assert run("--version").stdout == f"gatecalc, version {package.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cuont"], "unknown command 'cuont'; did you mean 'count'?"),
        (["cells", "--formt", "json"], "gatecalc cells: no such option '--formt'"),
        (["value"], "gatecalc value: there is no expression"),
        (["value", "1", "--digits", "-3"], "gatecalc value: invalid value for '--digits'"),
        (["check"], "gatecalc check: missing argument 'PATH...'"),
        (["value", "1", "--format", "xml"], "gatecalc value: invalid value for '--format'"),
        (["value", "tanh(1"], "<formula>:1:5: syntax: '(' is never closed"),
    ],
)
def test_bad_input_is_one_line_and_a_remedy(arguments: list[str], message: str) -> None:
    """On stderr, with status 2, never a traceback."""
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(message)
    assert "help: " in result.stderr
    assert "Traceback" not in result.stderr


HEAVY = (
    "sympy",
    "numpy",
    "mpmath",
    "flint",
    "tomllib",
    "json",
    "fractions",
    "decimal",
    "dataclasses",
    "importlib.resources",
)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["count", "lstm", "--input", "3", "--hidden", "5"],
        ["fair", "lstm:5", "gru", "--input", "3"],
        ["cells"],
    ],
    ids=" ".join,
)
def test_a_light_command_loads_nothing_heavy(arguments: list[str]) -> None:
    """What costs more than click itself is loaded only where it is needed."""
    code = (
        "import sys\nfrom gatecalc.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as end:\n    assert not end.code\n"
        f"print('loaded', *[name for name in {HEAVY} if name in sys.modules])"
    )
    base = subprocess.run(
        [sys.executable, "-c", "import click, sys; print(*sys.modules)"], capture_output=True, text=True
    )
    result = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    loaded = set(result.stdout.splitlines()[-1].split()[1:]) - set(base.stdout.split())
    assert loaded == set()


def test_python_dash_m_is_the_same_command() -> None:
    """`python -m gatecalc`."""
    result = subprocess.run([sys.executable, "-m", "gatecalc", "--version"], capture_output=True, text=True)
    assert (result.returncode, result.stdout[:8]) == (0, "gatecalc")


def test_a_reader_that_leaves_early_is_no_error() -> None:
    """`gatecalc value --list | head -1` ends quietly."""
    code = f"{sys.executable} -m gatecalc value --list | head -1"
    result = subprocess.run(code, shell=True, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


def test_output_that_cannot_be_written_is_one_error_and_none_that_is_wanted_is_none() -> None:
    """A full disk; and a standard output that was closed."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    command = f"{sys.executable} -m gatecalc count lstm"
    full = subprocess.run(f"{command} > /dev/full", shell=True, capture_output=True, text=True)
    assert (full.returncode, full.stderr.splitlines()[0]) == (2, "output: cannot write it: no space left on device")
    assert "help: " in full.stderr
    assert "Traceback" not in full.stderr
    closed = subprocess.run(f"{command} >&-", shell=True, capture_output=True, text=True)
    assert (closed.returncode, closed.stderr) == (0, "")


def test_the_group_is_a_click_command() -> None:
    """So that others can mount it."""
    assert gatecalc.name == "gatecalc"


COMMANDS = [
    'value "1/3"',
    'value "1/3" --states 0.33',
    'value "exp(exp(exp(10)))"',
    "check docs/parameters.toml",
    "check docs/missing.toml",
    "coverage docs/parameters.md docs/parameters.toml",
    "cells",
    "show gru",
    "derive lstm c c_prev",
    "derive lstm c c_prev --explain --explicit 1 --at b_f=3",
    'grade lstm c c_prev "diag(f)"',
    'grade lstm c c_prev "diag(i)"',
    "count lstm",
    "count lstm --input 3 --hidden 5 --steps 2",
    "layout lstm --framework keras --input 3 --hidden 5",
    "fair lstm:5 gru --input 3",
    "fair lstm:6 gru --input 3",
    "trace lstm --input 1,0",
    "train information --length 3",
    "audit docs/missing.npz",
]


def test_in_json_the_keys_of_a_command_are_the_same_and_nothing_is_an_empty_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Null stands where there is nothing; what could not be read is told to programs too."""
    monkeypatch.chdir(Path(__file__).parent.parent)
    keys: dict[str, set[str]] = {}
    for line in COMMANDS:
        arguments = shlex.split(line)
        result = json.loads(run(*arguments, "--format", "json").stdout)
        assert '""' not in json.dumps(result), line
        assert keys.setdefault(arguments[0], set(result)) == set(result), line
        for row in result.get("claims", ()):
            assert keys.setdefault("claim", set(row)) == set(row)
    (error,) = json.loads(run("check", "docs/missing.toml", "--format", "json").stdout)["errors"]
    assert (error["path"], error["line"]) == ("docs/missing.toml", None)
    assert error["message"] == "file: cannot read it: no such file or directory"
    assert json.loads(run("value", "exp(exp(exp(10)))", "--format", "json").stdout)["how"] is None


@pytest.mark.parametrize("line", ["show -", "check -", "scan -", "audit -", "grade lstm c c_prev -"])
def test_input_that_is_closed_is_empty(line: str) -> None:
    """`gatecalc check - <&-`, as some schedulers start programs."""
    code = f"{sys.executable} -m gatecalc {line} <&-"
    result = subprocess.run(code, shell=True, capture_output=True, text=True)
    assert result.returncode == (0 if line == "scan -" else 2)  # a document without statements is one
    assert "Traceback" not in result.stderr


def test_without_a_command_the_help_is_shown() -> None:
    """Whole, as a newcomer needs it; and nothing was done, so that a script notices."""
    result = run()
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == run("--help").stdout
