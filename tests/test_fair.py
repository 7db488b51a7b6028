"""Fair widths against brute force, and the bounds of what is asked."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatecalc import GatecalcError, count, fair_width
from gatecalc.cell import built_in, cell, parse_cell
from gatecalc.counts.counting import BYTES
from gatecalc.counts.fair import At, Problem, comparison, exact_matches, fair, solved
from gatecalc.counts.quadratic import solve

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


def test_a_width_that_a_projection_rules_out_is_no_answer() -> None:
    """H must be above P: on both sides of a sweep, and in what is the smallest."""
    with pytest.raises(GatecalcError, match=r"below the smallest such lstm_projected: 504 parameters at H = 9"):
        fair_width("lstm_projected", 500, 3, projection=8)
    assert fair_width("lstm_projected", 504, 3, projection=8).width == 9
    wide = exact_matches(Problem(input=3, projection=8), cell("lstm_projected"), cell("rnn"), 1, 200)
    assert wide
    assert min(width for width, _, _ in wide) > 8
    wide = exact_matches(Problem(input=3, projection=8), cell("rnn"), cell("lstm_projected"), 1, 200)
    assert wide
    assert min(width for _, width, _ in wide) > 8
    sought = Problem(input=3, solve="projection", hidden=12)
    wide = exact_matches(sought, cell("rnn"), cell("lstm_projected"), 1, 200)
    assert wide
    assert max(width for _, width, _ in wide) < 12


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
        (
            ("gru", 10, 3),
            {"dtype": "float32"},
            "budget: 10 is below the smallest such gru: 60 bytes of parameters at H = 1",
        ),
        (("gru", 180, 3), {"dtype": "float8"}, "dtype: unknown 'float8'; did you mean 'float64'?"),
        (("gru", 180, 3), {"dtype": "int8", "match": "macs"}, "budget: MACs are no bytes"),
        (("gru", 180, 3), {"steps": 2}, "steps: parameters are the same for any"),
        (("gru", 180, 3), {"steps": 0, "match": "macs"}, "steps: 0 is not a positive whole number"),
        (("gru", "lstm:5", 3), {"reference_bias": "both"}, "bias: unknown rule 'both'"),
        (("gru", 180), {}, "width: gru has a width D, which is not given"),
        (("gru", 180, 3), {"match": "params"}, "match: unknown 'params'; did you mean 'parameters'?"),
        (("lstm", 180, 3), {"projection": 2}, "projection: there is none in lstm, and P = 2 is given"),
        (("lstm", 180, 3), {"solve": "projection", "hidden": 5}, "solve: the parameters of lstm do not depend on P"),
        (
            ("min_gru", 180),
            {"match": "stored", "solve": "input", "hidden": 5},
            "solve: the stored numbers of min_gru do not depend on D",
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


@pytest.mark.parametrize("rules", [("double", "single"), ("single", "double"), ("none", "double")])
def test_a_reference_may_have_a_bias_rule_of_its_own(rules: tuple[str, str]) -> None:
    """The width, its neighbours and a sweep are those of the two counts, each by its own rule."""
    theirs, own = rules
    target = count("lstm", 3, 9, theirs).parameters
    found = fair_width("gru_reset_after", "lstm:9", 3, own, reference_bias=theirs)
    assert (found.target, found.bias, found.reference_bias) == (target, own, theirs)
    costs = {width: count("gru_reset_after", 3, width, own).parameters for width in range(1, 30)}
    around = [found.width, found.width] if found.exact else [found.below.width, found.above.width]
    assert costs[around[0]] <= target <= costs[around[1]]
    assert around[1] - around[0] == (not found.exact)
    matches = exact_matches(
        Problem(input=3, bias=own, reference_bias=theirs), cell("lstm"), cell("gru_reset_after"), 1, 25
    )
    assert [(one, other) for one, other, _ in matches] == [
        (one, other)
        for one in range(1, 26)
        for other in range(1, 60)
        if count("lstm", 3, one, theirs).parameters == count("gru_reset_after", 3, other, own).parameters
    ]


@pytest.mark.parametrize("dtype", sorted(BYTES))
def test_a_budget_in_bytes_is_met_by_the_bytes_that_count_tells(dtype: str) -> None:
    """Of parameters, and of what T steps of N sequences store: one width further is above."""
    found = fair_width("lstm", 10**6, 80, dtype=dtype)
    at = [count("lstm", 80, width, dtype=dtype).bytes["parameters"] for width in (found.below.width, found.above.width)]
    assert at == [found.below.value, found.above.value]
    assert at[0] < 10**6 < at[1]
    found = fair_width("lstm", 10**6 + 1, 80, match="stored", dtype=dtype, steps=7, batch=3)
    for side in (found.below, found.above):
        totals = count("lstm", 80, side.width, steps=7, batch=3, dtype=dtype).totals
        assert side.value == totals["stored_bytes"]["written"]
    assert found.below.value <= 10**6 < found.above.value


def test_macs_of_many_steps_are_those_that_count_tells() -> None:
    """Both sides of a comparison are of the same steps."""
    found = fair_width("gru", "lstm:5", 3, match="macs", steps=6, batch=4)
    assert found.target == count("lstm", 3, 5, steps=6, batch=4).totals["macs"]
    assert found.above.width == fair_width("gru", "lstm:5", 3, match="macs").above.width


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


TWO_WIDTHS = """
f = sigmoid(W_f @ x + U_f @ h_prev + b_f)
c = f * c_prev + (1 - f) * tanh(W_g @ x + U_g @ h_prev + b_g)
h = W_p @ tanh(c) + W_k @ x
"""


def test_a_cell_s_further_widths_are_given_by_name() -> None:
    """On either side; the other cell, which has no such width, is counted without it."""
    own = parse_cell(TWO_WIDTHS)
    assert "H2" in own.dimensions
    of_own = solved(Problem(3, widths={"H2": 2}), own, (cell("lstm"), 5))
    assert of_own.below is not None
    assert of_own.below.value == count(own, 3, of_own.below.width, widths={"H2": 2}).parameters
    of_lstm = solved(Problem(3, widths={"H2": 2}), cell("lstm"), (own, 5))
    assert of_lstm.target == count(own, 3, 5, widths={"H2": 2}).parameters
    with pytest.raises(GatecalcError, match="'H3' is no further width of cell or lstm"):
        solved(Problem(3, widths={"H3": 2}), own, (cell("lstm"), 5))
    with pytest.raises(GatecalcError, match="'H2' is no further width of any of these cells"):
        comparison(Problem(3, widths={"H2": 2}), (cell("lstm"), 5))
    with pytest.raises(GatecalcError, match="'D' is no further width") as error:
        solved(Problem(3, widths={"D": 2}), own, (cell("lstm"), 5))
    assert error.value.help == "leave it out, or give --input"
    with pytest.raises(GatecalcError, match="has a width H2, which is not given"):
        solved(Problem(3), own, (cell("lstm"), 5))
