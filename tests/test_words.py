"""Sums of words: building, multiplying out, and equality for every width."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatecalc.calculus.words import Algebra, chain, paths, total
from gatecalc.errors import GatecalcError
from gatecalc.language import Tree, parse

DEFINITIONS = {"c": parse("f * c_prev + i * g"), "f": parse("sigmoid(a)"), "h": parse("o * tanh(c)")}


@st.composite
def elementwise(draw: st.DrawFn, depth: int = 2) -> str:
    if depth == 0:
        return draw(st.sampled_from(["f", "i", "c", "1", "2", "0.5", "tanh(c)"]))
    one, other = draw(elementwise(depth - 1)), draw(elementwise(depth - 1))
    return draw(st.sampled_from(["({} + {})", "({} - {})", "{} * {}", "({})**2 * {}"])).format(one, other)


@st.composite
def words(draw: st.DrawFn, depth: int = 2) -> str:
    if depth == 0:
        return draw(st.sampled_from(["U", "V", "I", f"diag({draw(elementwise())})"]))
    one, other = draw(words(depth - 1)), draw(words(depth - 1))
    return draw(st.sampled_from(["({} + {})", "({} - {})", "({}) @ ({})", "-{} + {}"])).format(one, other)


@settings(max_examples=40, deadline=None)
@given(words(), words(), words())
def test_the_normal_form_is_that_of_a_ring(a: str, b: str, c: str) -> None:
    """Sums commute, products distribute and associate, and do not commute with one another."""
    expand = Algebra(DEFINITIONS).expand
    assert expand(parse(f"({a}) + ({b})")) == expand(parse(f"({b}) + ({a})"))
    assert expand(parse(f"({a}) @ (({b}) + ({c}))")) == expand(parse(f"({a}) @ ({b}) + ({a}) @ ({c})"))
    assert expand(parse(f"(({a}) @ ({b})) @ ({c})")) == expand(parse(f"({a}) @ (({b}) @ ({c}))"))


@settings(max_examples=40, deadline=None)
@given(words(3))
def test_multiplying_out_keeps_the_value(text: str) -> None:
    """The words of a formula sum to it; so do words built again from their factors."""
    formula = parse(text)
    expand = Algebra(DEFINITIONS).expand
    found = paths(formula)
    assert expand(total(*found)) == expand(formula)
    assert expand(Tree("+", (*found, parse("0"), parse("0")))) == expand(formula)
    assert expand(chain(formula, parse("V"))) == expand(parse(f"({text}) @ V"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("diag(f) @ diag(i)", "diag(i * f)"),
        ("diag(c)", "diag(f * c_prev) + diag(g * i)"),
        ("diag(sigmoid(a))", "diag(f)"),
        ("diag(tanh(c))", "diag(tanh(i * g + c_prev * f))"),
        ("diag(U @ (a + 2 * b))", "diag(U @ a) + 2 * diag(U @ b)"),
        ("diag(a / b * b**2)", "diag(a * b)"),
        ("diag(a**0.5 * a**0.5)", "diag(a)"),
        ("diag(1 / (1 + a)**2)", "diag((1 + a)**-1) @ diag((a + 1)**-1)"),
        ("2 * U / 4", "0.5 * U"),
        ("I", "diag(f) + diag(1 - f)"),
    ],
)
def test_these_are_equal_for_every_width(one: str, other: str) -> None:
    """In the normal form."""
    algebra = Algebra(DEFINITIONS)
    assert algebra.expand(parse(one)) == algebra.expand(parse(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("diag(f) @ U", "U @ diag(f)"),
        ("U @ V", "V @ U"),
        ("diag(U @ (f * a))", "diag(f * (U @ a))"),
        ("diag(tanh(a))", "diag(tanh(b))"),
        ("U", "-U"),
    ],
)
def test_these_are_not(one: str, other: str) -> None:
    """The normal form tells them apart."""
    algebra = Algebra(DEFINITIONS)
    assert algebra.expand(parse(one)) != algebra.expand(parse(other))


def test_multiplying_out_has_a_limit() -> None:
    """Which is stated, with a remedy."""
    with pytest.raises(GatecalcError, match="limit: the formula has more than 100 words when multiplied out"):
        paths(parse(" @ ".join(["(U + V)"] * 9)), 100)
    with pytest.raises(GatecalcError, match="limit: the formula has more than"):
        Algebra({}).expand(parse(" @ ".join(["(U + V)"] * 15)))
    with pytest.raises(GatecalcError, match="limit: the formula has more than"):
        Algebra({}).expand(parse("diag(" + " * ".join(f"(1 + a{k})" for k in range(20)) + ")"))


def test_a_division_by_zero_is_refused() -> None:
    """Not an infinity."""
    with pytest.raises(GatecalcError, match="value: a division by zero"):
        Algebra({}).expand(parse("diag(1 / (a - a))"))
