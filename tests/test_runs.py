"""Training runs as claims read them."""

from __future__ import annotations

import pytest

from gatecalc.checking.calculator import calculate
from gatecalc.checking.check import show
from gatecalc.errors import GatecalcError

PLAIN = "'remember-first', 'rnn', {}, W=0.5, U=0.5, V=0.5, rate=0.5"


def text(formula: str) -> str | None:
    return show(calculate(formula), 6)


def test_what_a_run_gave_is_readable() -> None:
    """Numbers as float64 has them, weights and gradients by name."""
    run = f"train({PLAIN.format(5)})"
    assert text(f"{run}.learned") == "8"
    assert text(f"{run}.loss < 0.01") == "true"
    assert text(f"{run}.first_gradient.W") == "-0.022597"
    assert text(f"{run}.weights.V > 0.5") == "true"
    assert calculate(f"{run}.loss").how == "float64"


def test_a_sweep_has_a_row_for_each_setting_and_a_column_for_each_length() -> None:
    """And its runs are those that are run alone."""
    table = "sweep('remember-first', 'rnn', [5, 10], W=0.5, U=[0.5, 1], V=0.5, rate=0.5)"
    assert text(f"{table}.learned") == "[[8, 25], [5, 5]]"
    assert text(f"{table}.runs[0][1].weights.U == train({PLAIN.format(10)}).weights.U") == "true"
    rates = "sweep('remember-first', 'rnn', [5], W=0.5, U=0.5, V=0.5, rate=[0.25, 0.5])"
    assert text(f"{rates}.learned[1]") == "[8]"


def test_a_frozen_weight_stays() -> None:
    """Options go through."""
    run = "train('remember-first', 'lstm', 5, W_i=0.5, W_g=0.5, W_o=0.5, V=0.5, b_f=2, rate=0.3, freeze='b_f')"
    assert text(f"{run}.weights.b_f") == "2"


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("train('remember-first', 'rnn', 5, W_q=1)", "'rnn' has no weight 'W_q'"),
        ("train('remember', 'rnn', 5)", "remember"),
        ("train('remember-first', 'rnn', 5, passes=1/2)", "'passes' must be an integer"),
        ("train('remember-first', 'rnn', 0)", "the length is 0, and must be at least 1"),
    ],
)
def test_what_cannot_be_run_is_refused(formula: str, message: str) -> None:
    """By one line."""
    with pytest.raises(GatecalcError) as caught:
        calculate(formula)
    assert message in str(caught.value)
