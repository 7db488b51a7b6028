"""Single precision as C has it: against compiled programs, and against figures that were printed by others."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from gatecalc import GatecalcError
from gatecalc.calculator import calculate
from gatecalc.cell import cell
from gatecalc.float32 import evaluate
from gatecalc.language import parse
from gatecalc.simulate import simulate

PROGRAM = Path(__file__).parent / "programs" / "cells.c"
TANH = {"tanh": "(1 - exp(-2 * a)) / (1 + exp(-2 * a))"}
RNN = "h = tanh(b + W @ x + U @ h_prev)"
GRU = (
    "z = sigmoid(b_z + W_z @ x + U_z @ h_prev); r = sigmoid(b_r + W_r @ x + U_r @ h_prev);"
    "n = tanh(b_n + W_n @ x + r * (U_n @ h_prev)); h = z * h_prev + (1 - z) * n"
)
LSTM = (
    "f = sigmoid(b_f + W_f @ x + U_f @ h_prev); i = sigmoid(b_i + W_i @ x + U_i @ h_prev);"
    "o = sigmoid(b_o + W_o @ x + U_o @ h_prev); g = tanh(b_g + W_g @ x + U_g @ h_prev);"
    "c = f * c_prev + i * g; h = o * tanh(c)"
)
GRU_DRAWS = "W_z W_r W_n | U_z U_r U_n"
LSTM_DRAWS = "W_f | U_f; W_i | U_i; W_o | U_o; W_g | U_g"


def mean_norm(text: str, steps: int, hidden: int, rand: str, runs: int, arithmetic: str = "float32") -> float:
    """Return the mean norm of the last state, over the seeds from 42 on."""
    draws, size, more = {RNN: ("W | U", 0.4, {}), GRU: (GRU_DRAWS, 0.2, {}), LSTM: (LSTM_DRAWS, 0.2, {"b_f": 1})}[text]
    x = [1] + [0] * (steps - 1)
    own = TANH if arithmetic == "float32" else None
    found = simulate(text, x, hidden, draws, rand, range(42, 42 + runs), size, size / 2, own, arithmetic, **more)
    return float(found.mean_norm.fraction or 0)


@pytest.mark.parametrize(("rand", "number"), [("glibc", 0), ("microsoft", 1)])
def test_a_compiled_program_gives_the_same_bits(rand: str, number: int, tmp_path: Path) -> None:
    """The GRU's states and the mean norms of three cells, to nine digits, which tell a float32."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is installed")
    if rand == "glibc" and "GNU" not in subprocess.run(["ldd", "--version"], capture_output=True, text=True).stdout:
        pytest.skip("the system's C library is not glibc")
    program = tmp_path / "cells"
    command = [compiler, "-O1", "-ffp-contract=off", f"-DRAND={number}", str(PROGRAM), "-o", str(program), "-lm"]
    subprocess.run(command, check=True)
    lines = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.splitlines()
    printed = [[np.float32(word) for word in line.split()] for line in lines]
    own = simulate(GRU, [1] + [0] * 8, 6, GRU_DRAWS, rand, [42], 0.2, 0.1, TANH)
    for row, state in zip(printed, own.series["h"]):
        assert row == list(state[0])
    for row, steps in zip(printed[9:], (3, 6, 12, 24)):
        assert [float(value) for value in row] == [mean_norm(text, steps, 6, rand, 7) for text in (RNN, GRU, LSTM)]


@pytest.mark.parametrize(
    ("steps", "figures"),
    [
        (5, ("3.887e-03", "5.239e-03", "1.094e-02")),
        (10, ("2.512e-05", "1.934e-04", "2.498e-03")),
        (20, ("9.934e-10", "3.249e-07", "1.520e-04")),
        (50, ("0.000e+00", "3.147e-16", "4.371e-08")),
    ],
)
def test_information_preservation_prints_as_published(steps: int, figures: tuple[str, ...]) -> None:
    """A chapter on the GRU, its table of three cells, thirty seeds: Microsoft's rand, and no other."""
    assert tuple(f"{mean_norm(text, steps, 8, 'microsoft', 30):.3e}" for text in (RNN, GRU, LSTM)) == figures
    assert f"{mean_norm(LSTM, steps, 8, 'glibc', 30):.3e}" != figures[2]


def test_single_precision_is_what_loses_the_signal() -> None:
    """The same weights in double precision, with a true tanh: 8.6e-20 after fifty steps, and not 0."""
    assert f"{mean_norm(RNN, 50, 8, 'microsoft', 30, 'float64'):.3e}" == "8.612e-20"
    assert f"{mean_norm(GRU, 50, 8, 'microsoft', 30, 'float64'):.3e}" == "2.822e-15"


def test_float64_simulation_is_the_network() -> None:
    """The same weights in double precision give what the compiled network gives."""
    from gatecalc.network import Network

    found = simulate(
        "gru_reset_after", [1, 0.5, -1], 3, "W_r W_z W_n | U_r U_z U_n", "musl", [5], 2, 1, arithmetic="float64"
    )
    network = Network("gru_reset_after", input=1, hidden=3)
    for name, value in found.weights.items():
        network.set(name, value[0])
    outputs = network.forward(np.array([1, 0.5, -1]).reshape(3, 1, 1)).outputs
    assert np.abs(np.array([step[0] for step in found.series["h"]]) - outputs[:, 0]).max() < 1e-15


def test_a_sum_is_rounded_in_the_order_written() -> None:
    """1e8 + 1 - 1e8 is 0 in single precision, and 1e8 - 1e8 + 1 is 1."""
    assert evaluate(parse("1e8 + 1 - 1e8"), {}, {}) == 0
    assert evaluate(parse("1e8 - 1e8 + 1"), {}, {}) == 1


@pytest.mark.parametrize(
    ("formula", "figure"),
    [
        ("float32('z * h + (1 - z) * s', z=0.8, h=0.8, s=-0.3)", "0.580"),
        (f"float32('tanh(W + U * (r * h))', W=-0.3, U=0.6, r=0.5, h=-0.5, tanh='{TANH['tanh']}')", "-0.422"),
        (f"simulate('{GRU.replace('n', 'n')}', [1, 0], 4, '{GRU_DRAWS.replace('W_n |', 'W_n V |')}', rand='microsoft', "
         f"scale=0.2, shift=0.1, tanh='{TANH['tanh']}').h[1][3]", "-0.029"),
    ],
)  # fmt: skip
def test_claims_may_run_a_program(formula: str, figure: str) -> None:
    """What a chapter's programs print, as functions of the language of claims."""
    value = calculate(formula)
    assert value.how == "float32"
    assert value.decimal(len(figure.partition(".")[2])) == figure


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"draws": "W | Q"}, "name: 'program' has no weight 'Q'"),
        ({"draws": "W"}, "value: 'U' is neither drawn nor given"),
        ({"rand": "glib"}, "name: unknown C library 'glib'; did you mean 'glibc'?"),
        ({"arithmetic": "float16"}, "name: unknown arithmetic 'float16'; did you mean 'float64'?"),
        ({"b_q": 1}, "name: 'program' has no weight 'b_q'"),
    ],
)
def test_bad_input_is_one_clear_error(change: dict[str, object], message: str) -> None:
    """What is wrong, and the closest known name."""
    arguments = {"cell": RNN, "x": [1], "hidden": 2, "draws": "W | U", "rand": "glibc", **change}
    with pytest.raises(GatecalcError) as error:
        simulate(**arguments)  # type: ignore[arg-type]
    assert error.value.message == message
    assert cell("rnn").name == "rnn"
