"""What becomes of a gradient, in numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gatecalc.calculus.jacobian import jacobian
from gatecalc.calculus.program import numpy_program
from gatecalc.calculus.story import Story, read_values, story
from gatecalc.errors import GatecalcError


def told(cell: str, output: str, by: str, steps: int, *values: str, path: str = "local", digits: int = 6) -> Story:
    return story(jacobian(cell, output, by, path, steps), read_values(values), digits)


@pytest.mark.parametrize(
    ("bias", "after"),
    [
        (1, {10: "0.0436", 20: "0.0019", 30: "0.0001"}),
        (2, {10: "0.2810", 20: "0.0790", 30: "0.0222"}),
        (3, {10: "0.6152", 20: "0.3784", 30: "0.2328"}),
    ],
)
def test_the_belt_of_the_lstm_after_many_steps(bias: int, after: dict[int, str]) -> None:
    """A table of the article on the LSTM and the GRU: the forget gate to the power of the steps."""
    rows = told("lstm", "c", "c_prev", 30, f"b_f={bias}", digits=4).rows
    for step, printed in after.items():
        assert f"{float(rows[step - 1].belt):.4f}" == printed
        assert abs(float(rows[step - 1].belt) - (1 / (1 + math.exp(-bias))) ** step) < 1e-4


def test_without_recurrent_weights_the_belt_is_the_whole() -> None:
    """The gates do not see the past."""
    for row in told("lstm", "c", "c_prev", 20, "b_f=3, W_i=4, b_i=-2, W_g=2, x=[1]").rows:
        assert row.whole == row.belt


def test_a_plain_network_halves() -> None:
    """With a weight of one half and slopes of one: 0.5 to the power of 20."""
    found = told("rnn", "h", "h_prev", 20, "U=0.5")
    assert found.rows[-1].whole == "9.53674e-7"
    assert [row.factor for row in found.rows] == ["0.5"] * 20


def test_the_direct_path_of_the_gru_keeps_eight_hundredths() -> None:
    """1 - z = 0.8808 to the power of 20, when the gate is shut."""
    found = told("gru", "h", "h_prev", 20, "b_z=-2, U_n=1")
    assert found.paths[0].path == "diag(1 - z)"
    assert f"{float(found.paths[0].product or 0):.4f}" == "0.0790"
    assert abs(float(found.paths[0].product or 0) - (1 - 1 / (1 + math.exp(2))) ** 20) < 1e-6


def test_the_paths_of_a_step_sum_to_its_factor() -> None:
    """At one unit, to the digits printed."""
    found = told("gru", "h", "h_prev", 4, "b_z=-1, U_n=1, U_z=2, U_r=1, W_n=2, x=[1, -1], h_prev=1/2", digits=12)
    for k, row in enumerate(found.rows):
        assert abs(sum(float(path.factors[k]) for path in found.paths) - float(row.factor)) < 1e-11


WEIGHTS = (
    "U_f=[[1,2],[0,1]], U_i=[[1/2,0],[1,1]], U_g=[[1,-1],[1/4,1]], U_o=[[0,1],[1,0]]",
    "b_f=[3,1], c_prev=[1,2], h_prev=[1/2,-1/2]",
)


@pytest.mark.parametrize(("output", "by", "steps"), [("c", "c_prev", 3), ("h", "c_prev", 2), ("h", "h_prev", 3)])
def test_norms_are_those_of_the_printed_program(output: str, by: str, steps: int) -> None:
    """Two units: the Frobenius norm of what the NumPy program returns, along the belt and in full."""
    found = told("lstm", output, by, steps, *WEIGHTS, digits=12)
    assert found.measure == "Frobenius norm"
    values: dict[str, Any] = {
        "U_f": [[1, 2], [0, 1]], "U_i": [[0.5, 0], [1, 1]], "U_g": [[1, -1], [0.25, 1]], "U_o": [[0, 1], [1, 0]],
        "b_f": [3, 1], "c_0": [1, 2], "h_0": [0.5, -0.5],
    }  # fmt: skip
    values |= {name: np.zeros((2, 1)) for name in ("W_f", "W_i", "W_g", "W_o")}
    values |= {name: np.zeros(2) for name in ("b_i", "b_g", "b_o")} | {f"x_{k}": np.zeros(1) for k in (1, 2, 3)}
    scope: dict[str, Any] = {}
    exec(numpy_program(jacobian("lstm", output, by, "local", steps)), scope)
    assert abs(float(found.rows[-1].belt) - np.linalg.norm(scope["jacobian"](values))) < 1e-11
    exec(numpy_program(jacobian("lstm", output, by, "total", steps)), scope)
    before = {"o_0": np.zeros(2)}  # so that nothing comes through the step before the first
    whole = np.linalg.norm(scope["jacobian"]({**values, **before}))
    assert abs(float(found.rows[-1].whole) - whole) < 1e-11


def test_the_total_path_goes_through_the_step_before() -> None:
    """With o_prev one half and c_prev one, h_prev moves with c_prev."""
    found = told("lstm", "c", "c_prev", 1, "o_prev=1/2, U_f=1, b_f=3, c_prev=1", path="total", digits=12)
    f = 1 / (1 + math.exp(-3))
    through = f * (1 - f) * 0.5 * (1 - math.tanh(1) ** 2)
    assert abs(float(found.rows[0].whole) - (f + through)) < 1e-11
    assert found.rows[0].belt == found.rows[0].factor
    assert len(found.paths) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lstm", "c", "x", 1, "b_f=3"), "--at: follows a gradient to a previous state, and not to 'x'"),
        (("lstm", "c", "c_prev", 1, "b_q=3"), "name: 'lstm' has no weight 'b_q'; did you mean 'b_o'?"),
        (("lstm", "c", "c_prev", 1, "3"), "--at: '3' is not NAME=VALUE"),
        (("lstm", "c", "c_prev", 2, "x=[1,2,3]"), "--at: x has 3 steps, and --steps is 2"),
        (("lstm", "c", "c_prev", 1, "b_f=[1,2], b_i=[1,2,3]"), "shape: 'b_i' says that H = 3"),
        (("rnn", "h", "h_prev", 1, f"b={[0] * 17}"), "limit: a gradient is followed at widths up to 16"),
    ],
)
def test_bad_input_is_named(arguments: tuple[Any, ...], message: str) -> None:
    """With its remedy."""
    with pytest.raises(GatecalcError) as caught:
        told(*arguments)
    assert caught.value.message.startswith(message)
