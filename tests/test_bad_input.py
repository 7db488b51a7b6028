"""Bad input on the command line: one clear line, the remedy, status 2, at once, never a traceback."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from tests.test_check import run

CASES = [
    ("trace lstm --input a,b", "--input: value: 'x' is 'a', not a number"),
    ("trace lstm --input 1 --set W_f=abc", "--set: value: 'W_f' is 'abc', not a number"),
    ("trace lstm --input 1 --set x=1", "name: 'lstm' has no weight 'x'"),
    ("trace lstm --input 1 --set digits=1", "name: 'lstm' has no weight 'digits'"),
    ("trace lstm --input 1 --show U_f@h_prev", "syntax: 'U_f@h_prev' is not elementwise"),
    ("train remember-first --rate abc", "--rate: value: 'rate' is 'abc', not a number"),
    ("train remember-first --rate -1", "--rate: it is -1"),
    ("train remember-first --rate 1e400", "--rate: value: 'rate' is too large for float64"),
    ("train remember-first --length abc", "--length: value: 'length' is 'abc', not a number"),
    ("train remember-first --length 1000000000", "limit: the length is 1000000000, 262144 at most"),
    ("train remember-first --length 1e26", "--length: value: the length is 1e+26"),
    ("train remember-first --set rate=1", "--set: 'rate' is no weight"),
    ("train remember-first --hidden 1" + "0" * 30, "limit: the network has more than 67,108,864 weights"),
    ("train remember-first --layers 1000000000", "limit: 1,000,000,000 layers, and 1,000 at most"),
    ("train remember-first --passes 1000000000000", "--passes: it is "),
    ("train remember-first --seed -1", "--seed: it is -1"),
    ("train remember-first --threshold nan", "--threshold: it is nan"),
    ("train remember-first --clip-norm -1", "--clip-norm: it is -1"),
    ("train information --loss square", "option: 'information' has no target for the loss 'square'"),
    ("derive lstm c c_prev --at b_f=abc", "--at: value: 'b_f' is 'abc', not a number"),
    ("derive lstm c c_prev --at b_f=3 --digits -1", "gatecalc derive: invalid value for '--digits'"),
    ("derive lstm c c_prev --steps 3 --explicit 2", "limit: entries are written out for 1 to 2 steps, not 3"),
    ("layout lstm --framework pytorch --input 3 --hidden 5 --layers 1000000000", "limit: 1,000,000,000 layers"),
    ("layout lstm --framework keras --input 3 --hidden 5 --projection 2", "width: lstm has no projection"),
    ("fair lstm:5 gru --input 3 --all", "--all: it compares every built-in cell, and 'gru' is given beside it"),
    ("fair --budget 24M lstm gru --input 3", "--budget: it stands for the reference, and 2 cells are given"),
    ("fair lstm:5 gru --input 3 --scheme minimal", "--scheme: it is that of stored numbers"),
    ("fair --input 3", "fair: 0 arguments are given, and REFERENCE:WIDTH and CELL needed"),
    ("count lstm --hidden 5 --set H=7", "width: H is given twice"),
    ("count lstm --steps 4", "width: totals need every width, and D is not given"),
    ("count lstm --input", "gatecalc count: option '--input' requires an argument"),
    ("fair :5 gru --input 3", "reference: ':5' has no cell"),
    ("derive lstm c c_prev --steps 0", "limit: 0 steps; from 1 to 1000 can be derived\nhelp: take 1 or more"),
    ("derive lstm c c_prev --steps 1.5", "gatecalc derive: invalid value for '--steps': '1.5' is not a whole number"),
    ("derive lstm c q", "name: 'q' is not part of lstm\nhelp: its names are x, "),
    (
        "trace lstm --input ,",
        "--input:1:1: syntax: invalid syntax\n    ,\n    ^\nhelp: write numbers, as in '--input 1,0",
    ),
    ("trace lstm --input 1,0;0", "--input: step 2 is 1 wide, and step 1 is 2"),
    ("trace lstm --input 1 --set W_f=1+", "--set:1:7: syntax: the formula stops too early"),
    ("train adding --length=", "--length: it is empty\nhelp: write numbers, as in '--length 5,10'"),
    ("train adding --rate=", "--rate: it is empty\nhelp: write numbers, as in '--rate 0.1,0.5'"),
    ("train adding --threshold x", "gatecalc train: invalid value for '--threshold': 'x' is not a number"),
    ("train adding --save=", "'': file: cannot write it: "),
    (
        "value " + "a" * 9_999,
        "<formula>:1:1: name: unknown name 'aaaaaaaaaaaaaa",
    ),
    ("value --" + "a" * 9_999, "gatecalc value: no such option '--aaaaaaaaaaaaaaa"),
]


@pytest.mark.parametrize(("line", "message"), CASES, ids=[line[:60] for line, _ in CASES])
def test_bad_input_names_its_option_and_the_remedy(line: str, message: str) -> None:
    """Sizes are refused before anything of that size is made."""
    start = time.process_time()
    result = run(*line.split())
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(message)
    assert "\nhelp: " in result.stderr
    assert max(map(len, result.stderr.splitlines())) < 400
    assert time.process_time() - start < 30  # a hang, not a measure of speed


def test_the_remedy_says_what_to_write() -> None:
    """With the option's own name."""
    assert "help: write numbers, as in '--rate 0.1,0.5'" in run("train", "adding", "--rate", "abc").stderr
    assert "as in '--set W_f=0.5'" in run("trace", "lstm", "--input", "1", "--set", "W_f=abc").stderr


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"lengths": np.array([9, -1])}, "value: a length is -1"),
        ({"lengths": np.array(["a", "b"])}, "shape: the lengths are (2,) of <U1"),
        ({"x": np.zeros((5, 2, 1), complex)}, "value: 'x' of "),
        ({"x": np.full((5, 2, 1), np.nan)}, "value: 'x' of "),
    ],
    ids=["lengths", "words", "complex", "nan"],
)
def test_data_that_do_not_fit_are_refused(arrays: dict[str, object], message: str, tmp_path: Path) -> None:
    """Before the first pass."""
    path = tmp_path / "own.npz"
    np.savez(path, **({"x": np.zeros((5, 2, 1)), "y": np.zeros((2, 1))} | arrays))  # type: ignore[arg-type]
    result = run("train", str(path))
    assert (result.exit_code, result.stderr[: len(message)]) == (2, message)


@pytest.mark.parametrize("option", ["data", "resume"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"\x80\x04N."])
def test_a_file_that_is_no_npz_is_refused(option: str, content: bytes, tmp_path: Path) -> None:
    """Empty, cut short, a lone array, a pickle."""
    path = tmp_path / "own.npz"
    path.write_bytes(content)
    result = run("train", str(path)) if option == "data" else run("train", "adding", "--resume", str(path))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{path}: file: it is not ")


def test_where_nothing_is_to_be_learned_the_text_names_the_norm() -> None:
    """`information` is a measure: no pass is called learned or not."""
    one = run("train", "information", "--length", "5", "--set", "W_g=2", "--set", "b_i=1")
    assert one.stdout.startswith("norm of the last state 0.0220095\n")
    table = run("train", "information", "--length", "5,10", "--set", "W_g=2", "--set", "b_i=1").stdout
    assert table.split() == ["length", "norm", "5", "0.0220095", "10", "0.000688242"]


def test_a_run_in_which_nothing_moves_says_why() -> None:
    """All weights 0: every gradient is 0."""
    assert "every gradient is 0" in run("train", "remember-first", "--passes", "2").stdout
    assert "every gradient is 0" not in run("train", "adding", "--passes", "2", "--initial", "uniform").stdout
    dead = ("train", "adding", "--cell", "rnn_relu", "--passes", "2", "--initial", "uniform", "--set", "b=-9")
    assert "give weights by --set, or draw others by --seed" in run(*dead).stdout


def test_a_number_that_is_all_but_one_is_shown() -> None:
    """Whether it lies above or below a power of ten does not matter for its digits."""
    assert run("value", "sigmoid(10**9)").stdout.startswith("1.000000 ")
    assert run("value", "tanh(10**100)", "--states", "1.00").stdout.startswith("1.00: rounded\n")


@pytest.mark.parametrize(
    "line", ["lstm h h_prev --explicit 1 --steps 2", "lstm_peephole c c_prev --explicit 1 --steps 2"]
)
def test_what_is_held_fixed_is_held_fixed_for_sympy_too(line: str) -> None:
    """The second opinion agrees over two steps on the local path."""
    result = run("derive", *line.split(), "--no-check")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "J[0, 0] = " in result.stdout


@pytest.mark.parametrize(
    "line",
    [
        "show -",
        "count - --input 3 --hidden 5",
        "derive - h h_prev",
        "grade - h x diag(1-h**2)@W",
        "trace - --input 1",
        "fair lstm:5 - --input 3",
        "train adding --cell - --passes 2 --length 2",
    ],
)
def test_a_cell_is_read_from_standard_input(line: str) -> None:
    """`-` stands where the path of a .cell file does."""
    result = run(*line.split(), stdin="h = tanh(W @ x + U @ h_prev + b)\n")
    assert (result.exit_code, result.stderr) == (0, "")


def test_a_summary_is_read_from_standard_input() -> None:
    """As one pastes it; what is no model is refused under the name `-`."""
    text = """Model: "sequential"
_________________________________________________________________
 Layer (type)                Output Shape              Param #
=================================================================
 lstm (LSTM)                 (None, 5)                 180
=================================================================
Total params: 180
"""
    result = run("audit", "-", stdin=text)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("-: ")
    assert run("audit", "-", stdin="\0\0").stderr.startswith("-: file: ")
