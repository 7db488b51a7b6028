"""Printed figures: what they say and which numbers they stand for."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatecalc.errors import GatecalcError
from gatecalc.numbers.numeral import bounds, read, read_all


@pytest.mark.parametrize(
    ("text", "value", "low", "high"),
    [
        ("0.3784", "0.3784", "0.37835", "0.37845"),
        ("0.50", "0.5", "0.495", "0.505"),
        ("180", "180", "179.5", "180.5"),
        ("86,272", "86272", "86271.5", "86272.5"),
        ("20{,}480", "20480", "20479.5", "20480.5"),
        ("12 345 678", "12345678", "12345677.5", "12345678.5"),
        ("-0.029", "-0.029", "-0.0295", "-0.0285"),
        ("\u22120.029", "-0.029", "-0.0295", "-0.0285"),
        ("-0.000", "0", "-0.0005", "0"),
        ("+0.000", "0", "0", "0.0005"),
        ("0.000", "0", "-0.0005", "0.0005"),
        (".25", "0.25", "0.245", "0.255"),
        ("9.5e-7", "0.00000095", "0.000000945", "0.000000955"),
        ("9.5 \u00d7 10^-7", "0.00000095", "0.000000945", "0.000000955"),
        ("9.5 \u00d7 10\u207b\u2077", "0.00000095", "0.000000945", "0.000000955"),
        (r"9.5 \times 10^{-7}", "0.00000095", "0.000000945", "0.000000955"),
        ("about 400,000", "400000", "360000", "440000"),
        ("roughly 140 million", "140000000", "135000000", "145000000"),
        ("~0.50", "0.5", "0.495", "0.505"),
        ("about 12", "12", "11.5", "12.5"),
        ("nearly eight times", "8", "7.5", "8.5"),
        ("about 4", "4", "3.6", "4.4"),
        ("a hundred and forty million", "140000000", "139500000", "140500000"),
        ("a billion times", "1000000000", "500000000", "1500000000"),
        ("twenty five", "25", "24.5", "25.5"),
        ("seventeen years", "17", "16.5", "17.5"),
        ("twice", "2", "1.5", "2.5"),
        ("exactly twice", "2", "2", "2"),
        ("a third", "1/3", "1/3", "1/3"),
        ("three quarters", "3/4", "3/4", "3/4"),
        ("about a third", "1/3", "3/10", "11/30"),
        ("one in twenty", "1/20", "1/20", "1/20"),
        ("two millionths", "1/500000", "1/500000", "1/500000"),
        ("19x", "19", "18.5", "19.5"),
        ("400K", "400000", "399500", "400500"),
        ("2.5 million", "2500000", "2450000", "2550000"),
        ("minus three", "-3", "-3.5", "-2.5"),
        ("-five", "-5", "-5.5", "-4.5"),
        ("negative a third", "-1/3", "-1/3", "-1/3"),
        ("\u20115", "-5", "-5.5", "-4.5"),
        ("about -4", "-4", "-4.4", "-3.6"),
        ("about 0", "0", "-0.5", "0.5"),
        ("practically 0.00", "0", "-0.005", "0.005"),
        ("half a million", "500000", "500000", "500000"),
        ("a quarter of a million", "250000", "250000", "250000"),
        ("one and a half", "3/2", "3/2", "3/2"),
        ("two and a half million", "2500000", "2500000", "2500000"),
        ("3 and a half", "7/2", "7/2", "7/2"),
        ("2 thirds", "2/3", "2/3", "2/3"),
        ("three point one four", "3.14", "3.135", "3.145"),
        ("one point five million", "1500000", "1450000", "1550000"),
        ("less than a millionth", "1/1000000", "1/1000000", "1/1000000"),
        ("five hundredths", "1/20", "1/20", "1/20"),
        ("a hundred-thousandth", "1/100000", "1/100000", "1/100000"),
        ("roughly one in a million", "1/1000000", "9/10000000", "11/10000000"),
        ("1 in 8 steps", "1/8", "1/8", "1/8"),
        ("two dozen", "24", "23.5", "24.5"),
        ("tenfold", "10", "9.5", "10.5"),
        ("1/3", "1/3", "1/3", "1/3"),
        ("\u2212\u00be", "-3/4", "-3/4", "-3/4"),
        ("1\u00bd", "3/2", "3/2", "3/2"),
        (r"\frac{1}{3}", "1/3", "1/3", "1/3"),
        ("10\u207b\u2077", "1/10000000", "5/100000000", "15/100000000"),
        ("10^6", "1000000", "500000", "1500000"),
        ("2^10", "1024", "1024", "1024"),
        ("3\u00b2", "9", "9", "9"),
        ("3.141...", "3.141", "3.1405", "3.142"),
        (r"-0.33\ldots", "-0.33", "-0.34", "-0.325"),
        (r"5\,000", "5000", "4999.5", "5000.5"),
        (r"about~$5.0$", "5", "4.95", "5.05"),
        ("a factor of about 40", "40", "36", "44"),
        ("20 or so", "20", "18", "22"),
        ("5 hundred thousand", "500000", "450000", "550000"),
    ],
)
def test_a_figure_stands_for_the_numbers_that_round_to_it(text: str, value: str, low: str, high: str) -> None:
    """Its digits are its tolerance, and a hedge widens it by the last digit that it commits to."""
    numeral = read(text)
    assert numeral.value == Fraction(value)
    assert bounds(numeral) == (Fraction(low), Fraction(high))


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("38 percent", [Fraction(1, 100)]),
        ("38%", [Fraction(1, 100)]),
        (r"5.8\%", [Fraction(1, 100)]),
        ("seventy five percent", [Fraction(1, 100)]),
        ("8.4 MB", [Fraction(10**6), Fraction(2**20)]),
        ("24 kilobytes", [Fraction(1000), Fraction(1024)]),
        ("512 KiB", [Fraction(1024)]),
        ("480 bytes", [Fraction(1)]),
        ("512 B", [Fraction(1), Fraction(10**9)]),
        ("7B", [Fraction(1), Fraction(10**9)]),
        ("1.5 M", [Fraction(10**6), Fraction(1)]),
        ("8.4~MB", [Fraction(10**6), Fraction(2**20)]),
        (r"8.4\,\text{mb}", [Fraction(10**6), Fraction(2**20)]),
        ("8.4&nbsp;megabytes", [Fraction(10**6), Fraction(2**20)]),
        ("3 mebibytes", [Fraction(2**20)]),
        ("5 GFLOPs", [Fraction(10**9)]),
        ("5 per  cent", [Fraction(1, 100)]),
        ("5 percentage points", [Fraction(1, 100)]),
        ("half a percent", [Fraction(1, 100)]),
        ("1,664 parameters", [Fraction(1)]),
    ],
)
def test_a_unit_is_read_in_every_way_that_people_mean_it(text: str, readings: list[Fraction]) -> None:
    """A percent is a hundredth; a kilobyte is 1000 or 1024 bytes."""
    assert [factor for _, factor in read(text).readings] == readings


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("under 5 percent", "<"),
        ("less than 3", "<"),
        ("fewer than ten", "<"),
        ("more than ten thousand", ">"),
        ("over 1.2", ">"),
        ("at most 3", "<="),
        ("up to 4", "<="),
        ("at least 3", ">="),
        ("\u2265 3", ">="),
        (r"\leq 3", "<="),
        ("well over 3", ">"),
        ("not more than 3", "<="),
        ("5 or more", ">="),
        ("5% or less", "<="),
        ("10+ layers", ">="),
        ("more than half", ">"),
    ],
)
def test_words_of_order_are_inequalities(text: str, relation: str) -> None:
    """Under, over, at most, at least."""
    assert read(text).relation == relation


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("[1.0, 0.4]", [1, "0.4"]),
        ("20 \u00d7 3", [20, 3]),
        (r"20\times3", [20, 3]),
        ("torch.Size([64, 8])", [64, 8]),
        ("(1, 4, 16)", [1, 4, 16]),
        ("(0.9,0.1)", ["0.9", "0.1"]),
        ("(1,024, 80)", [1024, 80]),
        ("9.5 \u00d7 10^-7", ["0.00000095"]),
        ("torch.Size([64])", [64]),
        ("(64,)", [64]),
        ("(1,024)", [1024]),
        ("[0.457 -0.304]", ["0.457", "-0.304"]),
        ("20 x 3", [20, 3]),
        ("20 by 3", [20, 3]),
    ],
)
def test_several_figures_are_read_together(text: str, values: list[int | str]) -> None:
    """Vectors, shapes and sizes."""
    assert [numeral.value for numeral in read_all(text)] == [Fraction(value) for value in values]


def test_a_comma_in_brackets_may_separate_or_group() -> None:
    """(64,128) is two figures where two are wanted."""
    assert [numeral.value for numeral in read_all("(64,128)")] == [64128]
    assert [numeral.value for numeral in read_all("(64,128)", separate=True)] == [64, 128]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "1.2.3",
            "3,5",
            "1,23",
            "12,34,567",
            "1.000.000",
            "+-3",
            "--5",
            "\u221e",
            "\u00b15",
            "5 \u00b1 1",
            "5-6",
            "5 to 6",
        ),
        *("twenty twenty", "five six", "one hundred two hundred", "seventeen seventy six", "zero five", "five of six"),
        *("a couple", "a few percent", "hundred", "the third", "0x10", "1/0", "1 3/2", "9.5 10^-7", "2:1", "2^99999"),
        "1.5" + " million" * 1000,
    ],
)
def test_what_is_not_one_number_to_its_end_is_refused(text: str) -> None:
    """A figure that is read as another number would accuse a right one."""
    with pytest.raises(GatecalcError):
        read_all(text)


@pytest.mark.parametrize("text", ["", "many", "a", "about", "3 of 4", "9" * 2000, "1e99999", "H = 6"])
def test_what_is_no_figure_is_refused(text: str) -> None:
    """Never read as something else."""
    with pytest.raises(GatecalcError):
        read(text)


@given(st.integers(-(10**12), 10**12), st.integers(0, 9), st.booleans())
def test_a_printed_decimal_is_read_back(digits: int, places: int, grouped: bool) -> None:
    """With and without thousands separators."""
    sign = "-" if digits < 0 else ""
    text = str(abs(digits)).rjust(places + 1, "0")
    whole, part = (text[:-places], text[-places:]) if places else (text, "")
    whole = f"{int(whole):,}" if grouped else whole
    numeral = read(f"{sign}{whole}{'.' if part else ''}{part}")
    assert numeral.value == Fraction(digits, 10**places)
    assert numeral.step == Fraction(1, 10**places)
