"""Whether a statement that a document makes holds: its verdict, under every reading that its text allows.

A statement that holds under the plain reading is exact or rounded, proved. One that does not is held against what else
it may mean, from the operands' own rounding to a bitwise ``^``; only when nothing is left is it wrong. Any doubt makes
it undecided, with the doubt as the reason: a right number is never called wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from gatecalc.checking.doubts import doubt_of, place_doubt, reading_doubt
from gatecalc.checking.printed import BYTES, UNITS, Expression, Node, leaves, operations, plain_number, unit_of
from gatecalc.checking.printedvalues import ORDERS, Irrational, binary, decimal, enclosed, number, rational, real
from gatecalc.checking.statements import Statement
from gatecalc.errors import GatecalcError, Undecided
from gatecalc.numbers.verdictnames import PASSING

if TYPE_CHECKING:
    from gatecalc.numbers.numeral import Numeral
    from gatecalc.numbers.precise import Real

NARROW = Fraction(2, 100)  # of a value: as far as its operands' rounding may spread it
FEW_UNITS = 5  # of the figure's last digit, that the operands' rounding may account for
WIDE = Fraction(1, 10)  # beyond this, operands are too coarse for that
ROUND_NUMBER = Fraction(1, 100)  # how far a figure such as 400K may be from what it stands for


class Judged(NamedTuple):
    """The verdict on one statement, the value of its formula, what should stand there, and why."""

    verdict: str
    value: str | None
    should: str | None = None
    reason: str = ""


def judge(statement: Statement, text: str) -> Judged | None:
    """Return the verdict on a statement of a text; None when it states nothing."""
    left, right = statement.left.expression, statement.right.expression
    if left.numeral and right.numeral:
        return _restated(statement, text)
    figure, formula, hedge = right, left, statement.right.hedge or statement.sign == "≈"
    if left.numeral:
        figure, formula = left, right
    if figure.numeral and not hedge:
        quick = _quick(figure.node, formula.node)
        if quick:
            return quick
    try:
        return _thorough(statement, figure, formula, hedge, text)
    except Undecided as undecided:
        return Judged("undecided", None, None, undecided.message)
    except (GatecalcError, OverflowError, ArithmeticError) as error:
        return Judged("undecided", None, None, str(getattr(error, "message", error)))


def _quick(figure: Node, formula: Node) -> Judged | None:
    """Judge a statement of plain rational arithmetic, when it holds as it stands."""
    minus = figure.op == "neg"
    digits = figure.args[0] if minus else figure
    if digits.op != "number":
        return None
    try:
        value = rational(formula, decimal)
        printed, power, _ = number(digits.text)
    except (Irrational, GatecalcError):
        return None
    printed = -printed if minus else printed
    if value == printed:
        return Judged("exact", _show(value))
    gap = abs(value - printed) * 2
    if power > 0:
        return Judged("rounded", _show(value)) if gap <= int(10**power) else None
    if gap * int(10**-power) <= 1 and not (printed == 0 and value * (-1 if minus else 1) < 0 and minus):
        return Judged("rounded", _show(value))
    return None


def _show(value: Any) -> str:
    """Write a rational number: all its digits if they are few, else twelve of them."""
    if value.denominator == 1:
        number = int(value)
        return str(number) if abs(number) < 10**30 else f"{_scientific(Fraction(value))}"
    if abs(value) < Fraction(1, 10**4) or abs(value) >= 10**12:
        return _scientific(Fraction(value))
    scaled = round(abs(Fraction(value)) * 10**12)
    whole, part = divmod(scaled, 10**12)
    return f"{'-' if value < 0 else ''}{whole}.{part:012d}".rstrip("0").rstrip(".")


def _scientific(value: Fraction) -> str:
    from gatecalc.numbers.precise import Real

    return Real.number(value).scientific(12)


def _restated(statement: Statement, text: str) -> Judged | None:
    """Judge a number that is given again as another: 0.333 = 33.3%, or 125 = 125."""
    left, right = statement.left.expression, statement.right.expression
    first = statement.first.expression
    if left.doubts or right.doubts:
        return None
    try:
        value = rational(left.node, decimal)
        if value == rational(right.node, decimal):
            return Judged("exact", _show(value))
        fits = [_passing(each, right, statement) for each in (left, first)]
    except (Irrational, GatecalcError):
        return None
    return next((fit for fit in fits if fit is not None), None) if statement.sign == "≈" or first is not left else None


def _passing(formula: Expression, figure: Expression, statement: Statement) -> Judged | None:
    """Return the verdict of a figure on the exact value of a formula when it passes, else None."""
    from gatecalc.numbers import verdicts

    hedge = statement.sign == "≈" or statement.right.hedge
    value = real(formula.node, decimal)
    found = verdicts.judge(_numeral(figure.node, hedge), value)
    return Judged(found.verdict, value.display(10)) if found.verdict in PASSING else None


def _numeral(node: Node, hedge: bool, comma: bool = False) -> Numeral:
    """Return a printed number as the numbers' own reader gives it."""
    from gatecalc.numbers.numeral import read

    minus = "-" if node.op == "neg" else ""
    node = node.args[0] if minus else node
    unit = ""
    if node.op == "unit":
        unit = node.text if node.text in ("K", "k", "M", "B", "G", "T") or "%" in node.text else f" {node.text}"
        node = node.args[0]
    plain, grouped, exponent = plain_number(node.text, comma)
    if grouped:
        whole, point, part = plain.partition(".")
        plain = f"{int(whole):,}{point}{part}"
    exponent = f"e{exponent}" if exponent else ""
    return read(f"{'about ' if hedge else ''}{minus}{plain}{exponent}{unit}")


def _thorough(statement: Statement, figure: Expression, formula: Expression, hedge: bool, text: str) -> Judged:
    from gatecalc.numbers import verdicts

    power = _power_of_ten(figure.node)
    if not figure.numeral and power is None:
        return _formulas(statement, text)
    value = real(formula.node, decimal)
    shown = value.display(10)
    if power is not None:
        return _order_of_magnitude(statement, value, power, hedge, shown, text)
    numeral = _numeral(figure.node, hedge)
    found = verdicts.judge(numeral, value)
    if found.verdict in PASSING:
        return Judged(found.verdict, shown, None, found.reason)
    if hedge:  # "= ~3.71" may also be meant to the digit
        strict = verdicts.judge(_numeral(figure.node, False), value)
        if strict.verdict in PASSING:
            return Judged(strict.verdict, shown)
    for reading, other in _readings(statement, figure.node, formula, value):
        again = verdicts.judge(numeral, other)
        if again.verdict in PASSING:
            return Judged("rounded", other.display(10), None, reading)
    if _is_round(figure.node, numeral, value):
        return Judged("rounded", shown, None, "a round number")
    moved = _moved(formula.node, numeral, value)
    if moved == "chained":
        return Judged("chained", shown, found.should)
    if found.verdict == "truncated" and not hedge:
        return Judged("truncated", shown, found.should)
    doubt = moved or doubt_of(statement, figure, formula, numeral, value, text)
    ops = operations(formula.node)
    if found.verdict == "undecided" or doubt:
        return Judged("undecided", shown, None, doubt or found.reason)
    telling = found.should and re.search("[1-9]", found.should) and (len(numeral.readings) == 1 or "unit" in ops)
    return Judged("wrong", shown, found.should if telling or value.fraction == 0 else None)


def _readings(statement: Statement, figure: Node, formula: Expression, value: Real) -> Iterator[tuple[str, Real]]:
    """Yield what else the formula may well mean: another logarithm, bytes, percent points, the chain's beginning."""
    from gatecalc.numbers.precise import Real

    ops = operations(formula.node)
    if "log" in ops:
        for base in ("log10", "log2"):
            yield base, real(formula.node, decimal, base=base)
    if ops & {"sin", "cos", "tan"}:
        yield "degrees", real(formula.node, decimal, degrees=True)
    if "unit" in ops:
        yield "binary", real(formula.node, binary)
    unit = unit_of(figure)
    if unit in ("%", "percent") and not (ops & {"unit"}):
        yield "percent points", value / Real.number(100)
    match = BYTES.match(unit)
    if match and "unit" not in ops:
        order = ORDERS.index((match[1] or match[3])[0].lower()) + 1
        for each in range(1, order + 1):
            yield f"in units of {1000**each}", value * Real.number(1000**each)
            yield f"in units of {1024**each}", value * Real.number(1024**each)
    first = statement.first.expression
    if statement.first is not statement.left and formula is statement.left.expression:
        yield "from the beginning of the chain", real(first.node, decimal)
    if any("," in leaf.text for leaf in (*leaves(formula.node), *leaves(figure))):
        yield "a decimal comma", real(formula.node, decimal, comma=True)


def _power_of_ten(node: Node) -> int | None:
    """Return k of a figure that is 10^k and nothing else."""
    if node.op != "^" or node.args[0] != Node("number", (), "10"):
        return None
    try:
        power = rational(node.args[1], decimal)
    except (Irrational, GatecalcError):
        return None
    return int(power) if power.denominator == 1 and abs(power) < 5_000 else None


def _order_of_magnitude(statement: Statement, value: Real, power: int, hedge: bool, shown: str, text: str) -> Judged:
    """Judge 10^k: a power of ten, or, after ≈, an order of magnitude."""
    from gatecalc.numbers.precise import magnitude

    fraction = value.fraction
    printed = Fraction(10) ** power
    if fraction == printed:
        return Judged("exact", shown)
    size = magnitude(value)
    if size is not None and size in (power, power - 1) and (fraction is None or fraction > 0):
        return Judged("rounded" if hedge else "truncated", shown, None, "an order of magnitude")
    doubt = place_doubt(statement, text)
    return Judged("undecided" if doubt else "wrong", shown, None, doubt)


def _is_round(figure: Node, numeral: Numeral, value: Real) -> bool:
    """Tell whether a figure with a scale ends in zeros that it does not commit to, and is right without them: 400K."""
    unit = unit_of(figure)
    if numeral.relation or unit.lower() not in {each.lower() for each in UNITS} or numeral.decimals:
        return False
    fraction = value.fraction
    if fraction is None or not numeral.value or str(abs(numeral.value) / numeral.step)[-1] != "0":
        return False
    return abs(fraction - numeral.value) <= abs(numeral.value) * ROUND_NUMBER


def _moved(formula: Node, numeral: Numeral, value: Real) -> str:
    """Return ``chained`` when operands within their own rounding give the figure, a doubt when they are too coarse."""
    from gatecalc.numbers.numeral import bounds

    decimals = [leaf for leaf in leaves(formula) if "." in leaf.text]
    if not decimals or len(numeral.readings) > 1:
        return ""
    try:
        ball = real(_moving(formula), decimal, moves=True).enclose(128)
    except GatecalcError:
        return ""
    factor = numeral.readings[0][1]
    low, high = (enclosed(bound * factor) for bound in bounds(numeral))
    if not ball.is_finite() or not (ball.upper() >= low and ball.lower() <= high):
        return ""
    exact = value.enclose(128)
    spread = ball.rad()
    off = abs(exact - enclosed(numeral.value * factor))
    digits = min(len(re.sub(r"[eE].*|\D", "", leaf.text).lstrip("0")) for leaf in decimals)
    fraction = value.fraction
    step = numeral.step * factor
    whole = fraction is not None and step != 0 and (fraction / step).denominator == 1  # it needed no rounding itself
    if whole and digits < 3:
        return ""
    width = spread * 2
    few = off <= enclosed(FEW_UNITS * step) and width <= abs(exact) * enclosed(WIDE)
    if few or width <= abs(exact) * enclosed(NARROW):
        return "chained"
    return "the operands are too coarse to tell" if digits <= 1 and off >= enclosed(step) else ""


def _moving(node: Node) -> Node:
    """Return an expression with the numbers marked that may move: those with a decimal point, exponents aside."""
    if node.op == "number":
        return node._replace(op="moving") if "." in node.text else node
    if node.op == "^":
        return node._replace(args=(_moving(node.args[0]), node.args[1]))
    return node._replace(args=tuple(map(_moving, node.args)))


def _formulas(statement: Statement, text: str) -> Judged:
    """Judge two formulas that are said to be equal."""
    left, right = statement.left.expression.node, statement.right.expression.node
    one, other = real(left, decimal), real(right, decimal)
    shown = one.display(10)
    from gatecalc.numbers.precise import sign

    gap = one - other
    if sign(gap)[0] == 0:
        return Judged("exact", shown)
    if statement.first is not statement.left and sign(real(statement.first.expression.node, decimal) - other)[0] == 0:
        return Judged("exact", shown)
    off, size = abs(gap.enclose(128)), abs(one.enclose(128))
    if statement.sign == "≈" and off <= size * enclosed(WIDE):
        return Judged("rounded", shown)
    if any("." in leaf.text for leaf in (*leaves(left), *leaves(right))):
        balls = [real(_moving(each), decimal, moves=True).enclose(128) for each in (left, right)]
        near = off <= size * enclosed(ROUND_NUMBER) or balls[0].rad() + balls[1].rad() <= size * enclosed(NARROW)
        if near and balls[0].overlaps(balls[1]):
            return Judged("chained", shown)
    doubt = reading_doubt(statement) or place_doubt(statement, text)
    if not doubt and off < size * enclosed(Fraction(1, 10**6)):
        doubt = "the sides are equal to six digits"
    return Judged("undecided" if doubt else "wrong", shown, None if doubt else shown, doubt)
