"""Verdicts: against exact rational arithmetic, at ties, and for every kind of figure."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatecalc.language import parse
from gatecalc.numbers.numeral import read
from gatecalc.numbers.precise import Real, evaluate
from gatecalc.numbers.verdicts import Judgement, difference, judge


def verdict(figure: str, value: str, printed: str | None = None) -> Judgement:
    return judge(read(figure), evaluate(parse(value)), evaluate(parse(printed)) if printed else None)


@pytest.mark.parametrize(
    ("figure", "value", "expected"),
    [
        ("180", "4 * 5 * 9", "exact"),
        ("0.5", "sigmoid(1) + sigmoid(-1) - 0.5", "exact"),
        ("0.3784", "sigmoid(3)**20", "rounded"),
        ("0.3785", "sigmoid(3)**20", "wrong"),
        ("2.302", "log(10)", "truncated"),
        ("2.303", "log(10)", "rounded"),
        ("1", "1.5001", "truncated"),
        ("9.99", "9.996", "truncated"),
        ("-0.52", "-0.526", "truncated"),
        ("-0.54", "-0.526", "wrong"),
        ("2", "3/2 + sigmoid(-300)", "rounded"),
        ("1", "3/2 + sigmoid(-300)", "truncated"),
        ("0.12", "1/8", "rounded"),
        ("0.13", "1/8", "rounded"),
        ("1.000", "1 + 5e-4 - 1e-60", "rounded"),
        ("1.001", "1 + 5e-4 - 1e-60", "wrong"),
        ("1.001", "1 + 5e-4 + 1e-60", "rounded"),
        ("1.000", "1 + 5e-4 + 1e-60", "truncated"),
        ("-0.000", "-0.0001", "rounded"),
        ("-0.000", "0.0001", "wrong"),
        ("0.000", "0.0001", "rounded"),
        ("about 400,000", "sigmoid(3)**20 / 0.5**20", "rounded"),
        ("about 400,000", "441000", "wrong"),
        ("about 400,000", "400000", "exact"),
        ("under 5 percent", "1 - sigmoid(3)", "exact"),
        ("under 4 percent", "1 - sigmoid(3)", "wrong"),
        ("more than ten thousand", "10000", "wrong"),
        ("at least ten thousand", "10000", "exact"),
        ("38 percent", "sigmoid(3)**20", "rounded"),
        ("a hundred and thirty million", "4.371e-8 / 3.147e-16", "wrong"),
        ("roughly a hundred and forty million", "4.371e-8 / 3.147e-16", "rounded"),
        ("exactly twice", "4", "wrong"),
        ("8.4 MB", "8192 * 1024", "rounded"),
        ("8.0 MB", "8192 * 1024", "exact"),
        ("8.2 MB", "8192 * 1024", "wrong"),
        ("9.5e-7", "0.5**20", "rounded"),
        ("1.0 MB", "1024 * 1024", "exact"),
        ("1.9 MB", "2 * 1024 * 1024 - 1", "truncated"),
        ("about 0", "0.001", "rounded"),
        ("3.141...", "pi", "rounded"),
        ("3.142...", "pi", "rounded"),
        ("3.143...", "pi", "wrong"),
        ("3.141", "pi", "truncated"),
        ("roughly one in a million", "0.5**20", "rounded"),
        ("less than a millionth", "0.5**20", "exact"),
        ("under roughly ten", "10.4", "exact"),
        ("under roughly ten", "11.1", "wrong"),
        ("more than about 5", "4.9", "exact"),
        ("-1", "-1.6", "truncated"),
        ("-2", "-1.6", "rounded"),
        ("0.00", "-0.008", "truncated"),
        ("10", "sqrt(10)**2", "exact"),
        ("9", "sqrt(10)**2", "wrong"),
    ],
)
def test_each_figure_gets_its_verdict(figure: str, value: str, expected: str) -> None:
    """One row for each kind of figure and each verdict."""
    assert verdict(figure, value).verdict == expected


def test_a_figure_that_follows_only_from_rounded_operands_is_chained() -> None:
    """0.0174 is what 0.0180 * 0.9640 gives; the product itself is 0.01734."""
    assert verdict("0.0174", "sigmoid(-4) * tanh(2)").verdict == "wrong"
    found = verdict("0.0174", "sigmoid(-4) * tanh(2)", "0.0180 * 0.9640")
    assert (found.verdict, found.should) == ("chained", "0.0173")


def test_right_operands_do_not_excuse_a_wrong_figure() -> None:
    """The printed operands give 0.0174, not 0.0175."""
    assert verdict("0.0175", "sigmoid(-4) * tanh(2)", "0.0180 * 0.9640").verdict == "wrong"


@pytest.mark.parametrize(
    ("figure", "value", "should"),
    [
        ("1,665", "1664", "1,664"),
        ("0.3785", "sigmoid(3)**20", "0.3784"),
        ("25 percent", "3/4", "75 percent"),
        ("130 million", "138894184.94", "139,000,000"),
        ("1.5e3", "1449", "1.4e3"),
        ("+0.25", "-0.5", "-0.50"),
        ("a third", "1/4", "1/4"),
        ("under 5", "7", "7"),
        ("about 40", "4.8", "5"),
        ("about 400,000", "41234567", "40,000,000"),
        ("about 0.50", "0.3333", "0.33"),
        ("roughly 140 million", "1.2e9", "1,200,000,000"),
        ("2.5 million", "1400000", "1,400,000"),
        ("seventy five percent", "4/5", "80 percent"),
        ("7B", "8100000000", "8B"),
        ("24 MB", "23400000", "23 MB"),
        ("about 4", "4.45", "4.45"),
        ("5", "10**5000", "1.00000e5000"),
        ("about 5", "10**5000", "1.00000e5000"),
        ("about 0.5", "10**-5000", "1.00000e-5000"),
        ("exactly 5", "10**5000", "1.00000e5000"),
        ("1e-5000", "1", "1"),
        ("5", "exp(exp(20))", None),
    ],
)
def test_a_wrong_figure_is_corrected_to_the_same_digits(figure: str, value: str, should: str | None) -> None:
    """As it was printed: digits, separators, exponent, unit; nothing where no digits can be written out."""
    assert verdict(figure, value).should == should


def test_the_reading_of_a_unit_that_held_is_named() -> None:
    """24 kilobytes are 24 * 1024 bytes here."""
    assert verdict("24 kilobytes", "6208 * 4").reason == "binary"


def test_how_a_verdict_is_known_is_said() -> None:
    """Exact arithmetic, an enclosure, algebra, or a floating-point run."""
    assert verdict("0.25", "1/4").how == "exact"
    assert verdict("0.3784", "sigmoid(3)**20").how == "enclosure"
    assert verdict("2", "sqrt(2)**2").how == "algebra"
    assert judge(read("0.1"), Real.floating("float32", 0.1)).how == "float32"


def test_what_has_no_finite_enclosure_is_undecided_with_the_reason() -> None:
    """Never silent."""
    found = verdict("2.35", "exp(exp(exp(100)))")
    assert found.verdict == "undecided"
    assert "not finite" in found.reason


@given(st.fractions(-100, 100, max_denominator=10**6), st.integers(0, 5), st.integers(-12, 12))
def test_rounded_means_within_half_a_unit(value: Fraction, places: int, steps: int) -> None:
    """Against exact rational arithmetic, for every figure near the value."""
    nearest = round(value * 10**places) + steps
    figure = Fraction(nearest, 10**places)
    text = f"{'-' if nearest < 0 else ''}{_decimal(abs(nearest), places)}"
    found = judge(read(text), Real.number(value)).verdict
    gap = abs(figure - value)
    half = Fraction(1, 2 * 10**places)
    if gap == 0:
        assert found == "exact"
    elif gap <= half:
        assert found == "rounded"
    elif gap < 2 * half and abs(figure) < abs(value) and figure * value >= 0:
        assert found == "truncated"
    else:
        assert found == "wrong"


def _decimal(digits: int, places: int) -> str:
    text = str(digits).rjust(places + 1, "0")
    return f"{text[:-places]}.{text[-places:]}" if places else text


def test_two_formulas_are_equal_for_every_value_or_differ_at_a_point() -> None:
    """Algebra proves, a point disproves."""
    h = Real.symbol("H")
    assert difference(3 * h * (h + 4), 3 * h * h + 12 * h) is None
    assert difference(h * h, 2 * h) == "at H = 0.75 they are 0.5625 and 1.5"
