"""The verdict on one printed figure: exact, rounded, chained, truncated, wrong or undecided.

Every comparison goes through :func:`gatecalc.numbers.precise.sign`, so a verdict is a proof or is not given.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from gatecalc.errors import GatecalcError, Undecided
from gatecalc.numbers.numeral import Numeral, bounds, write_like
from gatecalc.numbers.precise import EXACT, Real, compare, magnitude, round_to_integer, sign, substitute, weakest
from gatecalc.numbers.verdictnames import VERDICTS

FAR = 10**30  # times as large as the figure: such a value is not written out to the figure's last digit
POINT_BITS = 256  # at which two formulas are held against each other
_HOLDS = {"<": (-1,), ">": (1,), "<=": (-1, 0), ">=": (1, 0)}


class Judgement(NamedTuple):
    """A verdict, how it is known, and what a human needs to act on it.

    Attributes:
        verdict: One of ``VERDICTS``.
        how: ``exact``, ``enclosure``, ``algebra``, ``float64`` or ``float32``.
        should: What should stand there, to the same digits; None where the figure is right.
        reason: Why it is undecided, or which reading of a unit held; else empty.
    """

    verdict: str
    how: str
    should: str | None = None
    reason: str = ""


class Never:
    """What stands for a number that a run did not give before it was given up."""

    def __init__(self, how: str) -> None:
        self.how = how

    def __str__(self) -> str:
        return "never"


def judge(numeral: Numeral, value: Real, printed: Real | None = None) -> Judgement:
    """Return the verdict on a figure that is printed for a value.

    Args:
        numeral: The figure as printed.
        value: What it claims to be.
        printed: What the document's own printed operands give, evaluated exactly as written.

    >>> from gatecalc.numbers.numeral import read
    >>> from gatecalc.numbers.precise import Real, evaluate, parse
    >>> judge(read("2.302"), evaluate(parse("log(10)")))
    Judgement(verdict='truncated', how='enclosure', should='2.303', reason='')
    """
    try:
        return _judge(numeral, value, printed)
    except Undecided as undecided:
        return Judgement("undecided", weakest(value.how), None, undecided.message)


def _judge(numeral: Numeral, value: Real, printed: Real | None) -> Judgement:
    hows = [value.how]
    several = len(numeral.readings) > 1
    fits = []
    for reading, factor in numeral.readings:
        verdict = _fits(numeral, _in_units(value, factor), hows)
        if verdict:
            how = weakest(value.how, hows[-1]) if verdict == EXACT else weakest(*hows)
            fits.append(Judgement(verdict, how, None, reading if several else ""))
    if fits:
        return min(fits, key=lambda judgement: VERDICTS.index(judgement.verdict))
    scaled = [_in_units(value, factor) for _, factor in numeral.readings]
    right = min(scaled, key=lambda each: _distance(numeral, each))
    if printed is not None and not numeral.relation:
        for _, factor in numeral.readings:
            if _fits(numeral, _in_units(printed, factor), hows):
                return Judgement("chained", weakest(*hows), _should(numeral, right))
    for each in scaled:
        if _is_cut(numeral, each, hows):
            return Judgement("truncated", weakest(*hows), _should(numeral, each))
    return Judgement("wrong", weakest(*hows), _should(numeral, right))


def _distance(numeral: Numeral, value: Real) -> int:
    """Tell how many powers of ten lie between a figure and a reading of its value."""
    if len(numeral.readings) == 1 or not numeral.value:
        return 0
    size = magnitude(value)
    return 10**9 if size is None else abs(size - (magnitude(Real.number(numeral.value)) or 0))


def _in_units(value: Real, factor: Fraction) -> Real:
    return value / Real.number(factor) if factor != 1 else value


def _fits(numeral: Numeral, value: Real, hows: list[str]) -> str | None:
    """Return exact or rounded when the figure stands for the value, else None; note how each step was settled."""

    def side(bound: Fraction) -> int:
        result, how = compare(value, bound)
        hows.append(how)
        return result

    low, high = bounds(numeral)
    if numeral.relation:
        limit = numeral.value
        if numeral.hedged:  # "under roughly ten" gives way as far as "roughly ten" does
            limit = high if "<" in numeral.relation else low
        return EXACT if side(limit) in _HOLDS[numeral.relation] else None
    if side(low) < 0 or side(high) > 0:
        return None
    if low == high:
        return EXACT
    try:
        return EXACT if side(numeral.value) == 0 else "rounded"
    except Undecided:  # all but equal: it is the rounding in either case
        return "rounded"


def _is_cut(numeral: Numeral, value: Real, hows: list[str]) -> bool:
    """Tell whether the printed digits are those of the value, cut where they should have been rounded."""
    if numeral.relation or numeral.hedged or not numeral.step:
        return False
    size = abs(numeral.value)
    negative, how = compare(value, 0)
    if negative < 0 if numeral.plus or numeral.value > 0 else negative > 0 and numeral.minus:
        return False  # of the other sign
    magnitude = -value if negative < 0 else value
    at_least, _ = compare(magnitude, size)
    below, _ = compare(magnitude, size + numeral.step)
    hows.append(how)
    return at_least >= 0 and below < 0


def _should(numeral: Numeral, value: Real) -> str | None:
    """Return what should stand in the figure's place, to the same digits; None when its digits cannot be settled."""
    try:
        return _corrected(numeral, value)
    except GatecalcError:
        return None


def _corrected(numeral: Numeral, value: Real) -> str:
    fraction = value.fraction
    if numeral.relation or not numeral.step:
        short = fraction is not None and not numeral.relation and fraction.denominator < 1000 > abs(fraction)
        return (str(fraction) if short else value.display()) + numeral.unit
    largest = FAR * max(abs(numeral.value), numeral.step)
    exponent = magnitude(value) if numeral.hedged and numeral.value else None
    if exponent is not None:  # to as many digits as the hedged figure commits to, wherever they are
        exponent -= len(str(abs(int(numeral.value / numeral.step)))) - 1
        step = Fraction(10) ** exponent
        numeral = numeral._replace(step=step, decimals=max(0, -exponent), exponent=None)
    steps = round_to_integer(value / Real.number(numeral.step))
    right = steps * numeral.step
    near = numeral.hedged and right == numeral.value  # too far for the hedge, not for the digits
    if near or abs(right) > largest or numeral.decimals > len(numeral.text) + 30:
        return value.display() + numeral.unit
    return write_like(numeral, steps)


def worst(judgements: Sequence[Judgement]) -> Judgement:
    """Return the judgement on several figures together: that of the worst of them."""
    verdict = max(judgements, key=lambda judgement: VERDICTS.index(judgement.verdict))
    return verdict._replace(how=weakest(*(judgement.how for judgement in judgements)))


def difference(left: Real, right: Real) -> str | None:
    """Return None when two formulas are equal for every value of their symbols, or a point at which they differ.

    Raises:
        Undecided: When algebra cannot tell and no difference was found.

    >>> from gatecalc.numbers.precise import Real
    >>> H = Real.symbol("H")
    >>> difference(3 * H * (H + 4), 3 * H * H + 12 * H)
    >>> difference(H * H, 2 * H)
    'at H = 0.75 they are 0.5625 and 1.5'
    """
    gap = left - right
    if not gap.symbols:
        return None if sign(gap)[0] == 0 else f"{left.display()} against {right.display()}"
    for point in _points(sorted(gap.symbols)):
        try:
            differ = not substitute(gap, point).enclose(POINT_BITS).contains(0)
        except GatecalcError:
            continue  # outside the domain of a logarithm or a root
        if differ:
            where = ", ".join(f"{name} = {value.display()}" for name, value in point.items())
            one, other = (substitute(formula, point).display() for formula in (left, right))
            return f"at {where} they are {one} and {other}"
    if sign(gap)[0] == 0:
        return None
    raise Undecided("algebra cannot tell whether the formulas are equal")


def _points(symbols: list[str]) -> list[dict[str, Real]]:
    """Return points at which to compare formulas: small rationals without a pattern, positive and negative."""
    points = []
    for turn in range(8):
        sign = 1 if turn % 2 == 0 else -1
        values = (Fraction(7 * turn + 13 * place + 3, 2 * place + turn + 4) for place in range(len(symbols)))
        points.append({name: Real.number(sign * value) for name, value in zip(symbols, values, strict=True)})
    return points
