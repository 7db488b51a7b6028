"""Cells run as C programs run them."""

from __future__ import annotations

import math
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from gatecalc.cell import cell, parse_cell
from gatecalc.errors import GatecalcError
from gatecalc.networks.crand import LIBRARIES, fractions
from gatecalc.networks.simulation import float32, simulate
from gatecalc.numbers.trace import trace

TANH = "(1 - exp(-2*a)) / (1 + exp(-2*a))"
GRU = "W_z W_r W_n | U_z U_r U_n"
LSTM = "W_f | U_f; W_i | U_i; W_o | U_o; W_g | U_g"
DRAWS = {"rnn": "W | U", "gru_cho": GRU, "gru": GRU, "gru_reset_after": GRU, "lstm": LSTM, "mgu": "W_f W_n | U_f U_n"}


def floats(value: Any) -> Any:
    """Return nested lists of exact numbers as floats."""
    return [floats(item) for item in value] if isinstance(value, list) else float(value.fraction)


@pytest.mark.parametrize("name", DRAWS)
def test_exact_run_contains_the_hand_run_table(name: str) -> None:
    """Both follow from one cell: the enclosed run, and the proved trace of the same weights."""
    run = simulate(name, x=[1, 0, Fraction(1, 2)], H=3, draws=DRAWS[name], arithmetic="exact")
    table = trace(name, x=[1, 0, Fraction(1, 2)], **run.weights)
    for step in (1, 2, 3):
        for here, there in zip(run.h[step], table.h[step], strict=True):
            assert here.decimal(30) == there.decimal(30)


@pytest.mark.parametrize("name", DRAWS)
def test_float32_run_stays_near_the_mathematics(name: str) -> None:
    """With correctly rounded functions, float32 is within a few units of its last place of the weights' size."""
    settings: dict[str, Any] = {"x": [1] + [0] * 5, "H": 4, "draws": DRAWS[name], "trials": 3}
    rounded, exact = (simulate(name, arithmetic=how, **settings) for how in ("float32", "exact"))
    for step in range(1, 7):
        gap = np.abs(np.array(floats(rounded.h[step])) - [[float(h.decimal(15)) for h in row] for row in exact.h[step]])
        assert gap.max() < 1e-7


PROGRAM = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#define H 5
static unsigned state;
static float draw(void) {
    state = state * 214013u + 2531011u;
    return (float)(int)((state >> 16) & 32767u) / 32767 * 0.2f - 0.1f;
}
static float squash(float a) { float e = expf(-2 * a); return (1 - e) / (1 + e); }
static float gate(float a) { return 1.0f / (1.0f + expf(-a)); }
int main(void) {
    float wz[H], wr[H], wn[H], uz[H][H], ur[H][H], un[H][H], h[H] = {0}, next[H];
    state = 7;
    for (int i = 0; i < H; i++) {
        wz[i] = draw(); wr[i] = draw(); wn[i] = draw();
        for (int j = 0; j < H; j++) { uz[i][j] = draw(); ur[i][j] = draw(); un[i][j] = draw(); }
    }
    for (int t = 0; t < 40; t++) {
        float r[H];
        for (int i = 0; i < H; i++) {
            r[i] = wr[i] * (t == 0);
            for (int j = 0; j < H; j++) r[i] += ur[i][j] * h[j];
            r[i] = gate(r[i]);
        }
        for (int i = 0; i < H; i++) {
            float z = wz[i] * (t == 0), n = wn[i] * (t == 0);
            for (int j = 0; j < H; j++) z += uz[i][j] * h[j];
            for (int j = 0; j < H; j++) n += un[i][j] * (r[RESET] * h[j]);
            z = gate(z);
            next[i] = z * h[i] + (1.0f - z) * squash(n);
        }
        for (int i = 0; i < H; i++) { h[i] = next[i]; printf("%a ", h[i]); }
    }
}
"""


@pytest.mark.parametrize("name, reset", [("gru_cho", "j"), ("gru_reset_after", "i")])
def test_float32_run_is_that_of_a_compiled_program_bit_by_bit(name: str, reset: str, tmp_path: Path) -> None:
    """r before the product is r[j] in the loop over j, and r after it is r[i]; every bit of 40 steps agrees."""
    if not shutil.which("gcc"):
        pytest.skip("no C compiler here")
    (tmp_path / "run.c").write_text(PROGRAM)
    flags = ["-O0", "-ffp-contract=off", "-fexcess-precision=standard", f"-DRESET={reset}"]
    subprocess.run(["gcc", *flags, "-o", tmp_path / "run", tmp_path / "run.c", "-lm"], check=True)
    printed = subprocess.run([tmp_path / "run"], capture_output=True, text=True, check=True).stdout.split()
    run = simulate(name, x=[1] + [0] * 39, H=5, draws=GRU, seed=7, functions={"tanh": TANH})
    assert [h for step in run.h for h in floats(step)] == [float.fromhex(number) for number in printed]


def test_norm_is_the_mean_over_the_trials() -> None:
    """In exact arithmetic it is that of the states, to any number of digits."""
    run = simulate("rnn", x=[1, 0, 0], H=3, draws="W | U", trials=4, arithmetic="exact")
    with mpmath.workdps(40):
        norms = [mpmath.sqrt(sum(mpmath.mpf(h.decimal(45)) ** 2 for h in row)) for row in run.h[3]]
        assert run.norm[3].decimal(30) == mpmath.nstr(mpmath.fsum(norms) / 4, 28, strip_zeros=False)[:32]


def test_drawn_weights_follow_the_order_of_the_draws() -> None:
    """A row takes its numbers before the bar, then column by column those after it; _ takes one and drops it."""
    run = simulate("mgu", x=[1], H=2, draws="W_n _ | U_f; W_f |", rand="c_standard", seed=3, spread=[1, 0])
    numbers = [float(number) for number in fractions("c_standard", 3, 10)]
    weights = {name: floats(value) for name, value in run.weights.items()}
    assert weights["W_n"] == [[numbers[0]], [numbers[4]]]
    assert weights["U_f"] == [numbers[2:4], numbers[6:8]]
    assert weights["W_f"] == [[numbers[8]], [numbers[9]]]
    assert weights["U_n"] == [[0, 0], [0, 0]]


def test_set_weights_stand_in_every_trial() -> None:
    """A bias that is set is not drawn."""
    run = simulate("lstm", x=[1], H=2, draws=LSTM, trials=2, b_f=1)
    assert floats(run.weights["b_f"]) == [[1, 1], [1, 1]]


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_c_library_gives_another_run(library: str) -> None:
    """Which library a program was linked with shows in what it prints."""
    first = simulate("rnn", x=[1], H=2, draws="W | U", rand=library).norm[1]
    other = simulate("rnn", x=[1], H=2, draws="W | U", rand="glibc").norm[1]
    assert (first.fraction == other.fraction) == (library == "glibc")
    assert first.how == "float32"


def test_tanh_by_exponentials_loses_what_is_small() -> None:
    """(1 - e) / (1 + e) in float32 is 0 where e rounds to 1, and tanh is not."""
    tiny = parse_cell("h = tanh(W @ x)")
    settings: dict[str, Any] = {"x": [1], "H": 1, "draws": "W |", "spread": [0, Fraction(-1, 10**9)]}
    assert floats(simulate(tiny, functions={"tanh": TANH}, **settings).h[1]) == [0]
    assert math.isclose(floats(simulate(tiny, **settings).h[1])[0], 1e-9, rel_tol=1e-6)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"draws": "W_q | U"}, "has no weight 'W_q'"),
        ({"draws": "W W | U"}, "name a weight twice"),
        ({"draws": "| W U"}, "'W' has one column"),
        ({"draws": ""}, "name a weight twice, or none"),
        ({"rand": "msvc"}, "unknown C library"),
        ({"arithmetic": "float23"}, "unknown arithmetic 'float23'; did you mean 'float32'"),
        ({"b_z": 1}, "has no weight 'b_z'"),
        ({"functions": {"tanh": "tanh(a)"}}, "defined through itself"),
        ({"functions": {"tanh": "b + 1"}}, "is not a formula of 'tanh'"),
        ({"functions": {"tahn": "a"}}, "unknown function 'tahn'"),
        ({"H": 10**6}, "nothing, or more than"),
        ({"trials": 0}, "nothing, or more than"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_cannot_be_run_is_refused(change: dict[str, Any], message: str) -> None:
    """With one error that names it."""
    settings = {"x": [1, 0], "H": 2, "draws": "W | U", **change}
    with pytest.raises(GatecalcError, match=message):
        simulate("rnn", **settings).norm[1]


def test_a_cell_of_two_widths_is_refused() -> None:
    """A projection has a width of its own, which no program here draws."""
    with pytest.raises(GatecalcError, match="has widths D, H, P"):
        simulate(cell("lstm_projected"), x=[1], H=2, draws="W_f | U_f")


def test_steps_count_from_one() -> None:
    """Step 0 is not a step of the run."""
    run = simulate("rnn", x=[1, 0], H=2, draws="W | U")
    with pytest.raises(GatecalcError, match="'h' has no step 0; its steps are 1 to 2"):
        run.h[0]
    with pytest.raises(AttributeError):
        run.c  # noqa: B018


def test_a_formula_in_float32_rounds_each_operation() -> None:
    """As NumPy's float32 does, number by number and from left to right; lists go item by item."""
    a, b, c = (np.float32(number) for number in (0.1, 0.7, -0.3))
    values: dict[str, Any] = {"a": Fraction(1, 10), "b": Fraction(7, 10), "c": Fraction(-3, 10)}
    assert floats(float32("a * b + (1 - a) * c", **values)) == float(a * b + (np.float32(1) - a) * c)
    e = np.float32(math.exp(-2 * np.float64(b)))
    assert floats(float32("tanh(b)", {"tanh": TANH}, **values)) == float((np.float32(1) - e) / (np.float32(1) + e))
    assert floats(float32("a * v", a=values["a"], v=[1, values["b"]])) == [float(a), float(a * b)]
    with pytest.raises(GatecalcError, match="'a \\+ q' is not a formula over a"):
        float32("a + q", a=1)


PLAIN = "h = tanh(b + W @ x + U @ h_prev)"
RESET_AFTER = (
    "z = sigmoid(b_z + W_z @ x + U_z @ h_prev); r = sigmoid(b_r + W_r @ x + U_r @ h_prev);"
    "n = tanh(b_n + W_n @ x + r * (U_n @ h_prev)); h = z * h_prev + (1 - z) * n"
)


@pytest.mark.parametrize(("library", "number"), [("glibc", 0), ("microsoft", 1)])
def test_cells_and_equations_as_text_give_a_compiled_program_s_bits(library: str, number: int, tmp_path: Path) -> None:
    """The GRU's states and the mean norms of three cells, to nine digits, which tell a float32."""
    if not shutil.which("gcc"):
        pytest.skip("no C compiler here")
    if library == "glibc" and "GNU" not in subprocess.run(["ldd", "--version"], capture_output=True, text=True).stdout:
        pytest.skip("the system's C library is not glibc")
    source = Path(__file__).parent / "programs" / "cells.c"
    command = ["gcc", "-O1", "-ffp-contract=off", f"-DRAND={number}", source, "-o", tmp_path / "cells", "-lm"]
    subprocess.run(command, check=True)
    lines = subprocess.run([tmp_path / "cells"], capture_output=True, text=True, check=True).stdout.splitlines()
    printed = [[float(np.float32(word)) for word in line.split()] for line in lines]
    settings: dict[str, Any] = {"H": 6, "rand": library, "functions": {"tanh": TANH}}
    own = simulate(RESET_AFTER, x=[1] + [0] * 8, draws=GRU, **settings)
    assert [floats(state) for state in own.h] == printed[:9]
    settings |= {"x": [1] + [0] * 23, "trials": 7}
    runs = [
        simulate(PLAIN, draws="W | U", spread=[Fraction(2, 5), Fraction(1, 5)], **settings),
        simulate("gru_reset_after", draws=GRU, **settings),
        simulate("lstm", draws=LSTM, b_f=1, **settings),
    ]
    for row, steps in zip(printed[9:], (3, 6, 12, 24), strict=True):
        assert row == [floats(run.norm[steps]) for run in runs]


def test_float64_run_is_the_network() -> None:
    """The same weights in double precision give what the compiled network gives."""
    from gatecalc.networks.network import Network

    run = simulate("gru_reset_after", [1, Fraction(1, 2), -1], 3, GRU, "musl", 5, spread=[2, 1], arithmetic="float64")
    network = Network("gru_reset_after", input=1, hidden=3)
    for name, value in run.weights.items():
        network.set(name, np.array(floats(value)))
    outputs = network.forward(np.array([1, 0.5, -1]).reshape(3, 1, 1)).outputs
    assert np.abs(np.array([floats(state) for state in run.h]) - outputs[:, 0]).max() < 1e-15
    assert run.h.how == run.h[1][0].how == "float64"


def test_equations_as_text_are_summed_in_the_order_written() -> None:
    """The bias first or last: with a bias of 1 the two orders round differently."""
    settings: dict[str, Any] = {"x": [1, 0, 0], "H": 8, "draws": "W | U", "b": 1}
    first, last = (
        simulate(f"h = tanh({text})", **settings) for text in ("b + W @ x + U @ h_prev", "W @ x + U @ h_prev + b")
    )
    assert floats(first.h[3]) == floats(simulate("rnn", **settings).h[3]) != floats(last.h[3])
