"""The derivative of one elementwise formula."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from gatecalc.calculus.derivatives import derivative, partials, plus, tidy, times
from gatecalc.calculus.differences import Arithmetic
from gatecalc.cell import built_in, cell, parse_cell
from gatecalc.elementwise import ELEMENTWISE
from gatecalc.errors import GatecalcError
from gatecalc.language import Tree, name, parse

POINTS = [Fraction(each, 7) for each in (-23, -9, -2, 3, 8, 25)]


@pytest.mark.parametrize("function", ELEMENTWISE)
def test_every_row_is_the_derivative_of_its_function(function: str) -> None:
    """Against mpmath's own numerical differentiation at 60 digits, away from kinks."""
    arithmetic = Arithmetic()
    context = arithmetic.context
    formula = parse(f"{function}(a)")
    slope = derivative(formula, "a")
    for point in POINTS:
        a = context.mpf(point.numerator) / point.denominator
        if function in ("log", "sqrt") and a < 0:
            continue
        found = context.mpf(arithmetic.vector(slope, {"a": a}))
        step = context.mpf(10) ** -20
        high, low = (arithmetic.vector(formula, {"a": a + sign * step}) for sign in (1, -1))
        assert abs(found - (high - low) / (2 * step)) < context.mpf(10) ** -35, (function, point)


@pytest.mark.parametrize("function", [row.name for row in ELEMENTWISE.values() if row.definition])
def test_every_row_agrees_with_the_derivative_of_its_definition(function: str) -> None:
    """The row and what the rules make of its definition are the same number."""
    arithmetic = Arithmetic()
    definition = parse(str(ELEMENTWISE[function].definition))
    for point in POINTS:
        a = arithmetic.context.mpf(point.numerator) / point.denominator
        ours = arithmetic.vector(derivative(parse(f"{function}(a)"), "a"), {"a": a})
        other = arithmetic.vector(derivative(definition, "a"), {"a": a})
        assert abs(ours - other) < mpmath.mpf(10) ** -50


def test_a_gate_is_derived_by_its_own_name() -> None:
    """f * (1 - f), never the exponentials; a value without a name stays as it is written."""
    found = partials(cell("lstm"))
    assert str(found["f", "U_f @ h_prev"]) == "f * (1 - f)"
    assert str(found["g", "b_g"]) == "1 - g**2"
    assert str(found["h", "c"]) == "o * (1 - tanh(c)**2)"
    assert str(found["c", "f"]) == "c_prev"


@pytest.mark.parametrize("built", built_in())
def test_every_partial_reads_the_same_when_it_is_printed(built: str) -> None:
    """Printing and parsing are inverse, but for parts, whose names are their text."""
    for (output, read), partial in partials(cell(built)).items():
        assert str(parse(str(partial))) == str(partial), (output, read)


def test_every_read_has_a_partial() -> None:
    """A derivative that is 0 is there, as 0: nothing is left out silently."""
    found = partials(parse_cell("h = step(W @ x + U @ h_prev + b)"))
    assert {str(each) for each in found.values()} == {"0"}
    assert len(found) == 3


@pytest.mark.parametrize(
    ("formula", "slope"),
    [
        ("a", "1"),
        ("b", "0"),
        ("a * a * b", "2 * a * b"),
        ("a**3", "3 * a**2"),
        ("a**-2", "-2 * a**-3"),
        ("(1 - a) * b + a * c", "c - b"),
        ("-a * b", "-b"),
        ("a / 4", "0.25"),
        ("b / (1 + a)", "-b / (1 + a)**2"),
        ("a * b / (2 + a) / 3", "(1 / 3) * (b / (2 + a) - a * b / (2 + a)**2)"),
        ("sqrt(a)", "0.5 / sqrt(a)"),
        ("b * sqrt(1 + a**2)", "b * a / sqrt(1 + a**2)"),
        ("tanh(2 * a)", "2 * (1 - tanh(2 * a)**2)"),
        ("relu(a)", "step(a)"),
    ],
)
def test_rules_keep_the_author_s_order(formula: str, slope: str) -> None:
    """Each rule by its simplest case."""
    assert str(tidy(derivative(parse(formula), "a"))) == slope


def test_what_has_no_derivative_is_named() -> None:
    """An error, never a silent zero."""
    with pytest.raises(GatecalcError, match=r"derivative: 'spike\(a\)' has none that is known"):
        derivative(Tree("call", (name("a"),), "spike"), "a")


def test_sums_and_products_collect_what_rules_leave_behind() -> None:
    """Zeros and ones go, equal factors become powers, equal terms are counted."""
    assert str(plus(parse("a"), parse("0"), parse("a"))) == "2 * a"
    assert str(tidy(times(parse("-1"), parse("a"), parse("1"), parse("a")))) == "-a**2"
    assert str(times(parse("a"), parse("0"))) == "0"
