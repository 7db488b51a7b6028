"""A displayed equation against a cell's own."""

from __future__ import annotations

import pytest

from gatecalc.cell import built_in, cell
from gatecalc.checking.equations import equation
from gatecalc.errors import GatecalcError
from gatecalc.language import Source


@pytest.mark.parametrize("name", built_in())
def test_each_equation_of_a_cell_is_its_own(name: str) -> None:
    """As written, and with every sum and product of two the other way round."""
    for vector, formula in cell(name).written.items():
        assert equation(name, vector).compare_formula(Source(str(formula))).verdict == "exact"
        assert equation(name, vector).compare_formula(Source(f"0 + 1 * ({formula})")).verdict == "exact"
        assert equation(name, vector).compare_formula(Source(f"1.01 * ({formula})")).verdict == "wrong"


@pytest.mark.parametrize(
    ("of", "vector", "stated", "verdict"),
    [
        ("lstm", "f", "sigmoid(b_f + U_f @ h_prev + W_f @ x)", "exact"),
        ("lstm", "f", "1 / (1 + exp(-(U_f @ h_prev + W_f @ x + b_f)))", "exact"),
        ("lstm", "f", "sigmoid(W_f @ x + U_f @ h_prev)", "wrong"),
        ("lstm", "c", "i * g + c_prev * f", "exact"),
        ("lstm", "h", "o * c", "wrong"),
        ("gru", "h", "h_prev + z * (n - h_prev)", "exact"),
        ("gru", "h", "z * h_prev + (1 - z) * n", "wrong"),
        ("gru", "n", "tanh(W_n @ x + r * (U_n @ h_prev) + b_n)", "wrong"),
        ("gru_reset_after", "n", "tanh(W_n @ x + b_n + r * U_n @ h_prev + r * b_u)", "shape"),
        ("gru_reset_after", "n", "tanh(W_n @ x + b_n + r * (U_n @ h_prev) + b_u * r)", "exact"),
    ],
)
def test_a_stated_equation_is_compared_as_vectors(of: str, vector: str, stated: str, verdict: str) -> None:
    """Order is free, the place of the reset and who keeps are not."""
    if verdict == "shape":
        with pytest.raises(GatecalcError, match="is not a matrix of the cell"):
            equation(of, vector).compare_formula(Source(stated))
    else:
        assert equation(of, vector).compare_formula(Source(stated)).verdict == verdict


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ("tanh(U @ x)", "multiplies a matrix by a vector that does not fit it"),
        ("x + h_prev", "joins vectors of different widths"),
        ("tanh(W)", "'W' is a matrix"),
        ("tanh(W @ x + U @ h_prew)", "the cell has no 'h_prew'; did you mean 'h_prev'?"),
        ("tan(b)", "unknown function 'tan'"),
    ],
)
def test_what_does_not_fit_is_refused(stated: str, message: str) -> None:
    """With the place and the reason."""
    with pytest.raises(GatecalcError) as caught:
        equation("rnn", "h").compare_formula(Source(stated))
    assert message in str(caught.value)


def test_an_unknown_vector_is_refused() -> None:
    """With the closest name."""
    with pytest.raises(GatecalcError, match="'rnn' has no equation for 'c'"):
        equation("rnn", "c")
