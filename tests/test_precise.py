"""Numbers with a guarantee: enclosures against mpmath, exact values, ties, and the limits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gatecalc.elementwise import ELEMENTWISE
from gatecalc.errors import GatecalcError, Undecided
from gatecalc.language import parse
from gatecalc.numbers.precise import JUMPS, PRIMITIVES, Real, apply, compare, evaluate, magnitude, sign

ORACLE = {
    "exp": mpmath.exp,
    "log": mpmath.log,
    "sqrt": mpmath.sqrt,
    "tanh": mpmath.tanh,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "atan": mpmath.atan,
    "erf": mpmath.erf,
    "abs": abs,
    "step": lambda a: mpmath.mpf(a > 0),
    "sigmoid": lambda a: (1 + mpmath.tanh(a / 2)) / 2,
    "relu": lambda a: max(a, mpmath.mpf(0)),
    "leaky_relu": lambda a: a if a > 0 else a / 100,
    "elu": lambda a: a if a > 0 else mpmath.expm1(a),
    "hard_sigmoid": lambda a: min(max((a + 3) / 6, mpmath.mpf(0)), mpmath.mpf(1)),
    "hard_tanh": lambda a: min(max(a, mpmath.mpf(-1)), mpmath.mpf(1)),
    "softplus": lambda a: -mpmath.log((1 - mpmath.tanh(a / 2)) / 2),
    "softsign": lambda a: a / (1 + abs(a)),
    "silu": lambda a: a * (1 + mpmath.tanh(a / 2)) / 2,
    "gelu": lambda a: a * mpmath.ncdf(a),
    "floor": mpmath.floor,
}


def value(text: str) -> Real:
    return evaluate(parse(text))


def test_every_function_has_an_oracle() -> None:
    """A new function needs one here."""
    assert set(ORACLE) == set(ELEMENTWISE) | set(PRIMITIVES) | set(JUMPS)


@pytest.mark.parametrize("name", sorted(ORACLE))
@given(a=st.fractions(-20, 20, max_denominator=997))
@settings(max_examples=25)
def test_fifty_digits_agree_with_mpmath(name: str, a: Fraction) -> None:
    """arb's enclosure and mpmath's value, of two libraries and by two formulas, give the same digits."""
    assume(a > 0 or name not in ("log", "sqrt"))
    with mpmath.workdps(80):
        expected = ORACLE[name](mpmath.mpf(a.numerator) / a.denominator)
        found = mpmath.mpf(apply(name, Real.number(a)).decimal(50))
        assert abs(found - expected) <= mpmath.mpf("0.51e-50")


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
def test_the_table_prints_each_function_at_one_half(name: str) -> None:
    """The fourth decimal of the table is that of the function."""
    assert apply(name, Real.number(Fraction(1, 2))).decimal(4) == ELEMENTWISE[name].at_half


@given(st.fractions(-1000, 1000, max_denominator=10**6), st.integers(0, 12))
def test_rounding_a_rational_is_rounding_it_exactly(a: Fraction, digits: int) -> None:
    """Against Python's exact rounding of fractions."""
    assert Fraction(Real.number(a).decimal(digits)) == round(a, digits)


@given(st.integers(-(10**6), 10**6), st.integers(1, 6))
def test_a_number_close_to_a_tie_is_rounded_to_its_own_side(n: int, digits: int) -> None:
    """tie + 1e-60 rounds up and tie - 1e-60 down, by precision and not by float."""
    tie = Fraction(2 * n + 1, 2 * 10**digits)
    tiny = value("exp(-140)")  # about 1.6e-61
    above = Fraction((Real.number(tie) + tiny).decimal(digits))
    below = Fraction((Real.number(tie) - tiny).decimal(digits))
    assert above == tie + Fraction(1, 2 * 10**digits)
    assert below == tie - Fraction(1, 2 * 10**digits)


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("sigmoid(3)**20", "0.37842134627077972084984996626472383551952478834418"),
        ("tanh(2)", "0.96402758007581688394641372410092315025502997624093"),
        ("pi", "3.14159265358979323846264338327950288419716939937511"),
        ("exp(-1000)", "0.00000000000000000000000000000000000000000000000000"),
    ],
)
def test_well_known_values_have_their_digits(text: str, digits: str) -> None:
    """Fifty digits, as other tools print them."""
    assert value(text).decimal(50) == digits


def test_a_thousand_digits_agree_with_mpmath() -> None:
    """The calculator goes as far as it is asked to."""
    with mpmath.workdps(1050):
        expected = mpmath.nstr(mpmath.exp(1), 1001, strip_zeros=False)
    assert value("exp(1)").decimal(1000) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sqrt(2)**2 - 2", (0, "algebra")),
        ("sigmoid(1) + sigmoid(-1) - 1", (0, "algebra")),
        ("sqrt(2) + sqrt(3) - sqrt(5 + 2 * sqrt(6))", (0, "algebra")),
        ("log(2) + log(3) - log(6)", (0, "algebra")),
        ("tanh(1) - (1 - exp(-2)) / (1 + exp(-2))", (0, "algebra")),
        ("1/3 + 1/6 - 1/2", (0, "exact")),
        ("sigmoid(0) - 1/2", (0, "exact")),
        ("sqrt(16/9) - 4/3", (0, "exact")),
        ("sigmoid(-300)", (1, "enclosure")),
        ("sqrt(2) - 1.41421356237309504880168872420969807856967187537695", (-1, "enclosure")),
    ],
)
def test_equality_is_settled_by_algebra_and_order_by_enclosure(text: str, expected: tuple[int, str]) -> None:
    """No enclosure can prove that two irrational numbers are equal."""
    assert sign(value(text)) == expected


def test_what_can_be_neither_proved_nor_told_apart_is_undecided() -> None:
    """A difference far below the limit of precision is not guessed to be zero."""
    with pytest.raises(Undecided, match="16384 bits, the limit"):
        sign(value("exp(-20000)") - value("exp(-20000)") * Real.number(1) + value("exp(-10)**10000"))


def test_a_symbol_is_equal_to_itself_and_otherwise_undecided() -> None:
    """sigmoid(a) + sigmoid(-a) is 1 for every a; a - 1 may be anything."""
    a = Real.symbol("a")
    assert compare(apply("sigmoid", a) + apply("sigmoid", -a), 1) == (0, "algebra")
    with pytest.raises(Undecided, match="it depends on a"):
        sign(a - 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0", "value: division by zero"),
        ("log(0)", "value: log of 0 is not a real number"),
        ("sqrt(-2)", "value: sqrt of -2 is not a real number"),
        ("(-8)**(1/3)", "value: a negative number to a power that is not an integer"),
        ("9**9**9**9", "limit: the power 9**387420489 has more than 3,000,000 digits"),
        ("0**-1", "value: division by zero: 0 to a negative power"),
    ],
)
def test_what_is_not_a_number_is_refused(text: str, message: str) -> None:
    """One line that says which part."""
    with pytest.raises(GatecalcError) as caught:
        value(text)
    assert caught.value.message == message


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9))
def test_the_magnitude_is_the_exponent_of_the_leading_digit(a: Fraction) -> None:
    """10**m <= a < 10**(m + 1)."""
    exponent = magnitude(Real.number(a))
    assert exponent is not None
    assert Fraction(10) ** exponent <= a < Fraction(10) ** (exponent + 1)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("180", "180"),
        ("1/8", "0.125"),
        ("1/3", "0.333333"),
        ("0.5**20", "9.53674e-7"),
        ("exp(1000)", "1.97007e434"),
        ("-sigmoid(-4)", "-0.017986"),
        ("0", "0"),
        ("9.999999999", "10.000000"),
        ("exp(2) * exp(-2) * 1000", "1000.000000"),
        ("sqrt(2)**2 / 2000", "0.001000"),
        ("10**5000", "1.00000e5000"),
        ("sqrt(10)**2", "10.000000"),
        ("10**(1/3) * 10**(2/3) / 10**9", "1.00000e-8"),
    ],
)
def test_a_value_is_shown_as_a_person_would_write_it(text: str, shown: str) -> None:
    """Exact when short, six digits otherwise, with an exponent for the very small and the very large."""
    assert value(text).display() == shown


def test_a_float_keeps_where_it_came_from() -> None:
    """What is computed from a float64 run says so."""
    real = Real.floating("float64", 0.1)
    assert (real + 1).how == "float64"
    assert (real * Real.floating("float32", 0.5)).how == "float32"
    assert real.fraction == Fraction(0.1)
    with pytest.raises(Undecided, match="the float64 run gave nan"):
        Real.floating("float64", float("nan"))


@given(st.floats(-30, 30))
def test_an_enclosure_contains_the_float(a: float) -> None:
    """The float of the C library lies within a few units of the enclosure."""
    import math

    exact = apply("sigmoid", Real.number(Fraction(a)))
    assert abs(float(exact.decimal(30)) - 1 / (1 + math.exp(-a))) < 1e-15
