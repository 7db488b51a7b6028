"""Fair widths against brute force, and the bounds of what is asked."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatecalc import GatecalcError, count, fair_width
from gatecalc.cell import built_in, cell
from gatecalc.counts.fair import At, Problem, comparison, exact_matches, fair, solve

CELLS = [name for name in built_in() if "P" not in cell(name).dimensions]


def test_the_gru_of_width_six_is_fair_to_the_lstm_of_width_five() -> None:
    """One bias for each gate: 180 parameters both."""
    found = fair_width("gru", "lstm:5", input=3)
    assert (found.target, found.equation, found.exact, found.width, found.root) == (
        180,
        "3*H*(H + 4) = 180",
        True,
        6,
        6,
    )
    assert (found.below, found.above) == (None, None)
    assert (found.quadratic, found.discriminant) == ("H**2 + 4*H - 60 = 0", 256)


def test_the_plain_network_has_no_such_width() -> None:
    """Widths 11 and 12 stand around it, with 165 and 192."""
    found = fair("lstm", 5, "rnn", 3)
    assert (found.exact, found.width, found.below, found.above) == (False, None, At(11, 165), At(12, 192))
    assert (found.root, found.root_formula) == ("11.564660", "(-4 + sqrt(736)) / 2")


@pytest.mark.parametrize("gru", ["gru", "gru_cho", "gru_reset_after"])
def test_two_biases_put_the_gru_between_six_and_seven(gru: str) -> None:
    """198 and 252, around 200."""
    found = fair_width(gru, "lstm:5", input=3, bias="double")
    assert (found.exact, found.below, found.above) == (False, At(6, 198), At(7, 252))


@settings(deadline=None, max_examples=60)
@given(
    of=st.sampled_from(CELLS),
    bias=st.sampled_from(["single", "double", "none"]),
    match=st.sampled_from(["parameters", "macs", "stored"]),
    d=st.integers(1, 20),
    layers=st.integers(1, 3),
    both=st.booleans(),
    readout=st.none() | st.integers(1, 9),
    budget=st.integers(1, 4_000),
)
def test_a_fair_width_is_what_brute_force_finds(
    of: str, bias: str, match: str, d: int, layers: int, both: bool, readout: int | None, budget: int
) -> None:
    """Trying every width from 1 on gives the same one, the same two around it, or none."""

    def cost(h: int) -> int:
        found = count(of, d, h, bias, layers, both, readout=readout)
        return found.stored["written"] if match == "stored" else getattr(found, match)

    options = {"bias": bias, "match": match, "layers": layers, "bidirectional": both, "readout": readout}
    if cost(1) > budget:
        with pytest.raises(GatecalcError, match="below the smallest"):
            fair_width(of, budget, d, **options)
        return
    h = 1
    while cost(h + 1) <= budget:
        h += 1
    found = fair_width(of, budget, d, **options)
    if cost(h) == budget:
        assert (found.exact, found.width, found.below, found.above) == (True, h, None, None)
    else:
        assert (found.exact, found.width) == (False, None)
        assert (found.below, found.above) == (At(h, cost(h)), At(h + 1, cost(h + 1)))


@pytest.mark.parametrize("width", [10**15 + 3, 10**30 + 1, 10**200 + 9])
def test_widths_of_any_size_are_solved_at_once(width: int) -> None:
    """Whole numbers of 30 and of 200 digits, and one more or less, in milliseconds."""
    start = time.perf_counter()
    budget = 3 * width * (width + 4)
    assert fair_width("gru", budget, 3).width == width
    assert fair_width("gru", budget + 1, 3).below == At(width, budget)
    assert fair_width("gru", budget - 1, 3).above == At(width, budget)
    assert time.perf_counter() - start < 0.5


@pytest.mark.parametrize(("solved", "options", "expected"), [
    ("input", {"hidden": 5}, 3),
    ("layers", {"hidden": 5, "input": 3}, 1),
])  # fmt: skip
def test_another_width_can_be_looked_for(solved: str, options: dict[str, int], expected: int) -> None:
    """D or L of an LSTM of 180 parameters at H = 5."""
    assert fair_width("lstm", 180, solve=solved, **options).width == expected


def test_a_projection_can_be_looked_for() -> None:
    """LSTMP at D = 3, H = 5 and P = 2 has 4*5*(3 + 2 + 1) + 5*2 = 130 parameters."""
    assert fair_width("lstm_projected", 130, 3, solve="projection", hidden=5).width == 2
    with pytest.raises(GatecalcError, match="not narrower than the hidden width 5"):
        fair_width("lstm_projected", 400, 3, solve="projection", hidden=5)


def test_a_sweep_lists_all_exact_matches() -> None:
    """Each of them is exact when solved alone, and no other width up to there is."""
    found = exact_matches(Problem(3), cell("lstm"), cell("gru"), 1, 512)
    assert [match[:2] for match in found] == [(5, 6), (24, 28), (95, 110), (360, 416)]
    alone = [width for width in range(1, 120) if fair("lstm", width, "gru", 3).exact]
    assert alone == [5, 24, 95]


def test_a_sweep_over_a_million_widths_takes_seconds() -> None:
    """Whole-number arithmetic on three coefficients."""
    start = time.perf_counter()
    assert len(exact_matches(Problem(3), cell("lstm"), cell("gru"), 1, 1_000_000)) == 10
    assert time.perf_counter() - start < 10


def test_every_cell_is_compared_at_its_own_fair_width() -> None:
    """The nearer of the two around it, with what else then differs."""
    rows = {row.cell: row for row in comparison(Problem(3), (cell("lstm"), 5))}
    assert set(rows) == set(CELLS)
    assert (rows["gru"].width, rows["gru"].exact, rows["gru"].macs) == (6, True, 162)
    assert (rows["rnn"].width, rows["rnn"].value) == (12, 192)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("gru", 3, 3), {}, "budget: 3 is below the smallest such gru: 15 parameters at H = 1"),
        (("gru", 0, 3), {}, "budget: 0 is not a positive whole number"),
        (("gru", "lstm", 3), {}, "reference: 'lstm' has no width"),
        (("gru", "lstm:five", 3), {}, "reference: the width 'five' is not a positive whole number"),
        (("gru", "lstm:0", 3), {}, "the reference's width: 0 is not a positive whole number"),
        (("gru", 180), {}, "width: gru has a width D, which is not given"),
        (("gru", 180, 3), {"match": "params"}, "match: unknown 'params'; did you mean 'parameters'?"),
        (("lstm", 180, 3), {"solve": "projection", "hidden": 5}, "solve: the parameters of lstm do not depend on P"),
        (
            ("min_gru", 180),
            {"match": "stored", "solve": "input", "hidden": 5},
            "solve: the stored of min_gru do not depend on D",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_solved_is_one_clear_error(arguments: tuple, options: dict, message: str) -> None:
    """What is missing or impossible, by name."""
    with pytest.raises(GatecalcError) as caught:
        fair_width(*arguments, **options)
    assert caught.value.message == message
    assert caught.value.help


@settings(deadline=None)
@given(a=st.integers(0, 50), b=st.integers(1, 50), c=st.integers(0, 50), target=st.integers(51, 10**9))
def test_a_printed_root_is_the_root_rounded(a: int, b: int, c: int, target: int) -> None:
    """At half a unit of the last place to either side, the polynomial is on either side of the target."""
    from fractions import Fraction

    from gatecalc.counts.polynomial import factor, symbol

    h = symbol("H")
    root = solve(factor(a * h * h + b * h + c), "H", target)
    assert root
    half = Fraction(1, 2_000_000)
    low, high = Fraction(root.decimal) - half, Fraction(root.decimal) + half
    assert a * low**2 + b * low + c <= target <= a * high**2 + b * high + c
