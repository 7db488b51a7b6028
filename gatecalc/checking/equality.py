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

from gatecalc.checking.printed import (
    BYTES,
    UNITS,
    Expression,
    Irrational,
    Node,
    functions,
    leaves,
    number,
    rational,
    real,
)
from gatecalc.checking.statements import CUES, SENTENCE_CUES, Statement
from gatecalc.errors import GatecalcError, Undecided
from gatecalc.numbers.verdictnames import PASSING

if TYPE_CHECKING:
    from gatecalc.numbers.numeral import Numeral
    from gatecalc.numbers.precise import Real

NARROW = Fraction(2, 100)  # of a value: as far as its operands' rounding may spread it
FEW_UNITS = 5  # of the figure's last digit, that the operands' rounding may account for
WIDE = Fraction(1, 10)  # beyond this, operands are too coarse for that
ROUND_NUMBER = Fraction(1, 100)  # how far a figure such as 400K may be from what it stands for
NEAR = 160  # characters to each side of a statement in which its author may say that it does not hold
FLOAT_DIGITS = 15  # from which a figure is a float's own digits

Verdict = str
_ORDER = "kmgtp"
_UNIT_WORDS = re.compile(
    r"(?:[mck]?m|in|inch(?:es)?|ft|feet|yards?|miles?|[mk]?g|(?:kilo)?grams?|tonn?es?|tons?|lbs?|pounds?|oz|ounces?|m?l"
    r"|lit(?:er|re)s?|m?s|sec(?:ond)?s?|min(?:ute)?s?|h|hrs?|hours?|days?|weeks?|months?|years?|yrs?|[kmg]?hz|bits?|bytes?"
    r"|cents?|dollars?|euros?|[km]?[wjv]|m?a|nm|percent|degrees|radians|gallons?|quarts?|pints?|cups?|dozen|[kmg]?bps"
    r"|words|pages|lines|thousands?|millions?|billions?)",
    re.IGNORECASE,
)
# By which a unit differs from another of its kind: metric steps, time, angles, length, weight, bits.
_CONVERSIONS = (
    10,
    100,
    1000,
    10**4,
    10**6,
    10**9,
    60,
    3600,
    86400,
    24,
    7,
    12,
    365,
    1024,
    1024**2,
    1024**3,
    8,
    16,
    3,
    36,
    52,
    30,
    1440,
    128,
)


class Judged(NamedTuple):
    """The verdict on one statement, the value of its formula, what should stand there, and why."""

    verdict: Verdict
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
        value = rational(formula, _decimal)
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


def _decimal(unit: str) -> Any:
    if unit in ("%", "percent"):
        return Fraction(1, 100)
    if unit == "‰":
        return Fraction(1, 1000)
    if match := BYTES.match(unit):
        order = _ORDER.index((match[1] or match[3])[0].lower()) + 1
        return 1024**order if match[2] else 1000**order
    return UNITS.get(unit) or UNITS[unit.lower()]


def _binary(unit: str) -> Any:
    match = BYTES.match(unit)
    return 1024 ** (_ORDER.index((match[1] or match[3])[0].lower()) + 1) if match else _decimal(unit)


def _points(unit: str) -> Any:
    return 1 if unit in ("%", "percent") else _decimal(unit)


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
        value = rational(left.node, _decimal)
        if value == rational(right.node, _decimal):
            return Judged("exact", _show(value))
        fits = [judge_numeral(each, right, statement) for each in (left, first)]
    except (Irrational, GatecalcError):
        return None
    return next((fit for fit in fits if fit is not None), None) if statement.sign == "≈" or first is not left else None


def judge_numeral(formula: Expression, figure: Expression, statement: Statement) -> Judged | None:
    """Return the verdict of a figure on the exact value of a formula when it passes, else None."""
    from gatecalc.numbers import verdicts

    hedge = statement.sign == "≈" or statement.right.hedge
    value = real(formula.node, _decimal)
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
    mantissa, exponent = re.fullmatch(r"(.*?)([eE].*)?", node.text).groups()  # type: ignore[union-attr]
    if (
        "," in mantissa
        and (comma or not re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", mantissa))
        and "{" not in mantissa
    ):
        mantissa = mantissa.replace(",", ".")
    plain = re.sub(r"&thinsp;|[^\d.]", "", mantissa)
    if "," in mantissa:
        whole, point, part = plain.partition(".")
        plain = f"{int(whole):,}{point}{part}"
    return read(f"{'about ' if hedge else ''}{minus}{plain}{exponent or ''}{unit}")


class _Reading(NamedTuple):
    name: str  # what had to be read in another way; empty for the plain reading
    value: Real


def _thorough(statement: Statement, figure: Expression, formula: Expression, hedge: bool, text: str) -> Judged:
    from gatecalc.numbers import verdicts

    power = _power_of_ten(figure.node)
    if not figure.numeral and power is None:
        return _formulas(statement, text)
    value = real(formula.node, _decimal)
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
    doubt = moved or _doubt(statement, figure, formula, numeral, value, text)
    ops = functions(formula.node)
    if found.verdict == "undecided" or doubt:
        return Judged("undecided", shown, None, doubt or found.reason)
    telling = found.should and re.search("[1-9]", found.should) and (len(numeral.readings) == 1 or "unit" in ops)
    return Judged("wrong", shown, found.should if telling or value.fraction == 0 else None)


def _readings(statement: Statement, figure: Node, formula: Expression, value: Real) -> Iterator[tuple[str, Real]]:
    """Yield what else the formula may well mean: another logarithm, bytes, percent points, the chain's beginning."""
    from gatecalc.numbers.precise import Real

    ops = functions(formula.node)
    if "log" in ops:
        for base in ("log10", "log2"):
            yield base, real(formula.node, _decimal, base=base)
    if ops & {"sin", "cos", "tan"}:
        yield "degrees", real(formula.node, _decimal, degrees=True)
    if "unit" in ops:
        yield "binary", real(formula.node, _binary)
    unit = _unit(figure)
    if unit in ("%", "percent") and not (ops & {"unit"}):
        yield "percent points", value / Real.number(100)
    match = BYTES.match(unit)
    if match and "unit" not in ops:
        order = _ORDER.index((match[1] or match[3])[0].lower()) + 1
        for each in range(1, order + 1):
            yield f"in units of {1000**each}", value * Real.number(1000**each)
            yield f"in units of {1024**each}", value * Real.number(1024**each)
    first = statement.first.expression
    if statement.first is not statement.left and formula is statement.left.expression:
        yield "from the beginning of the chain", real(first.node, _decimal)
    if any("," in leaf.text for leaf in (*leaves(formula.node), *leaves(figure))):
        yield "a decimal comma", real(formula.node, _decimal, comma=True)


def _unit(node: Node) -> str:
    node = node.args[0] if node.op == "neg" else node
    return node.text if node.op == "unit" else ""


def _power_of_ten(node: Node) -> int | None:
    """Return k of a figure that is 10^k and nothing else."""
    if node.op != "^" or node.args[0] != Node("number", (), "10"):
        return None
    try:
        power = rational(node.args[1], _decimal)
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
    doubt = _place_doubt(statement, text)
    return Judged("undecided" if doubt else "wrong", shown, None, doubt)


def _is_round(figure: Node, numeral: Numeral, value: Real) -> bool:
    """Tell whether a figure with a scale ends in zeros that it does not commit to, and is right without them: 400K."""
    unit = _unit(figure)
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
        ball = real(_moving(formula), _decimal, moves=True).enclose(128)
    except GatecalcError:
        return ""
    factor = numeral.readings[0][1]
    low, high = (_arb(bound * factor) for bound in bounds(numeral))
    if not ball.is_finite() or not (ball.upper() >= low and ball.lower() <= high):
        return ""
    exact = value.enclose(128)
    spread = ball.rad()
    off = abs(exact - _arb(numeral.value * factor))
    digits = min(len(re.sub(r"[eE].*|\D", "", leaf.text).lstrip("0")) for leaf in decimals)
    fraction = value.fraction
    step = numeral.step * factor
    whole = fraction is not None and step != 0 and (fraction / step).denominator == 1  # it needed no rounding itself
    if whole and digits < 3:
        return ""
    width = spread * 2
    few = off <= _arb(FEW_UNITS * step) and width <= abs(exact) * _arb(WIDE)
    if few or width <= abs(exact) * _arb(NARROW):
        return "chained"
    return "the operands are too coarse to tell" if digits <= 1 and off >= _arb(step) else ""


def _arb(value: Any) -> Any:
    import flint

    value = Fraction(value)
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


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
    one, other = real(left, _decimal), real(right, _decimal)
    shown = one.display(10)
    from gatecalc.numbers.precise import sign

    gap = one - other
    if sign(gap)[0] == 0:
        return Judged("exact", shown)
    if statement.first is not statement.left and sign(real(statement.first.expression.node, _decimal) - other)[0] == 0:
        return Judged("exact", shown)
    off, size = abs(gap.enclose(128)), abs(one.enclose(128))
    if statement.sign == "≈" and off <= size * _arb(WIDE):
        return Judged("rounded", shown)
    if any("." in leaf.text for leaf in (*leaves(left), *leaves(right))):
        balls = [real(_moving(each), _decimal, moves=True).enclose(128) for each in (left, right)]
        near = off <= size * _arb(ROUND_NUMBER) or balls[0].rad() + balls[1].rad() <= size * _arb(NARROW)
        if near and balls[0].overlaps(balls[1]):
            return Judged("chained", shown)
    doubt = _reading_doubt(statement) or _place_doubt(statement, text)
    if not doubt and off < size * _arb(Fraction(1, 10**6)):
        doubt = "the sides are equal to six digits"
    return Judged("undecided" if doubt else "wrong", shown, None if doubt else shown, doubt)


def _doubt(
    statement: Statement, figure: Expression, formula: Expression, numeral: Numeral, value: Real, text: str
) -> str:
    """Return a reason not to call a statement wrong that does not hold, or nothing."""
    fraction = value.fraction
    factor = numeral.readings[0][1]
    printed = numeral.value * factor
    whole = all("." not in leaf.text for leaf in leaves(formula.node))
    ops = functions(formula.node)
    if doubt := _reading_doubt(statement, other=True):
        return doubt
    if "unit" in ops and fraction is not None:
        if any(real(formula.node, each).fraction in (printed, numeral.value) for each in (_points, _binary)):
            return "percent may be meant as points"
        if any(node.op == "unit" and "%" in node.text for node in _nodes(formula.node)) and ops & {"+", "-"}:
            return "a percentage is added"
    if "unit" in ops and any(node.op == "unit" and _one_digit(node) for node in _nodes(formula.node)):
        return "an operand of one digit is too coarse to tell"
    if "unit" in ops and fraction and printed and _converted(abs(fraction / printed)):
        return "it may be in another unit"
    long = len(re.sub(r"\D", "", numeral.text)) >= FLOAT_DIGITS
    if fraction is not None and long and abs(fraction - printed) <= abs(printed) / 10**15:
        return "a float's own digits"
    if fraction is not None and whole and numeral.value.denominator == 1:
        if fraction.denominator != 1 and fraction.__floor__() == printed:
            return "it may be a whole-number division"
        step = numeral.step
        while printed and printed % (step * 10) == 0:
            step *= 10
        if step > numeral.step and abs(fraction - printed) * 200 <= abs(printed):
            return "it may be rounded to fewer digits than it shows"
    if _UNIT_WORDS.fullmatch(statement.word) and fraction and printed and _converted(abs(fraction / printed)):
        return f"it may be in another unit: '{statement.word}'"
    scaled = numeral.exponent is not None or _unit(figure.node) != ""
    if scaled and printed and _far(value, printed) and _far(value, numeral.value):
        return "the sides are so far apart that a unit or a part of the statement may stand elsewhere"
    return _place_doubt(statement, text)


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for argument in node.args:
        yield from _nodes(argument)


def _one_digit(node: Node) -> bool:
    """Tell whether a number with a scale has one digit: 8k may be anything about it."""
    return node.text in UNITS and len(node.args[0].text) == 1


def _converted(ratio: Fraction) -> bool:
    ratio = ratio if ratio >= 1 else 1 / ratio
    return bool(ratio >= 10**4) or any(abs(ratio / each - 1) <= Fraction(1, 20) for each in _CONVERSIONS)


def _far(value: Real, printed: Fraction) -> bool:
    """Tell whether two numbers differ by more than a hundred times, and not by a power of ten."""
    ball = abs(value.enclose(64))
    ratio = ball / _arb(abs(printed))
    if not ball > 0 or not (ratio > 100 or ratio < _arb(Fraction(1, 100))):
        return False
    tens: float = float(ratio.log() / _arb(10).log()) % 1
    return 0.04 < tens < 0.96


_ALTERNATIVES = ("^ may be", "-a^b", "a/b")


def _reading_doubt(statement: Statement, other: bool = False) -> str:
    """Return what about the reading of the two sides is in doubt and would matter."""
    sides = (statement.left.expression, statement.right.expression)
    doubts = {doubt for side in sides for doubt in side.doubts}
    for doubt in sorted(doubts):
        if not doubt.startswith(_ALTERNATIVES):
            return doubt
        if doubt.startswith("^ may be"):
            if _bitwise(statement):
                return doubt
        elif _grouped(statement, doubt):
            return doubt
    if place := statement.doubts():
        return min(place)
    if _values(statement, "left to right"):
        return "it may be meant from left to right"
    numbers = [leaf.text for side in sides for leaf in leaves(side.node)]
    if all(set(text) <= {"0", "1"} for text in numbers) and (
        max(map(len, numbers)) == 1 or _values(statement, "binary")
    ):
        return "the numbers may be binary, or truth values"
    if _lost_exponents(statement):
        return "it may have lost its exponents"
    digits = ["".join(re.sub(r"\D", "", leaf.text) for leaf in leaves(side.node)) for side in sides]
    if digits[0] == digits[1]:
        return "the same digits stand on both sides, as in a text that has lost its exponents"
    return ""


def _values(statement: Statement, change: str) -> bool:
    """Tell whether the two sides are equal, or round to one another, once each is changed."""
    try:
        one, other = (
            rational(_changed(side.expression.node, change), _decimal) for side in (statement.left, statement.right)
        )
    except (Irrational, GatecalcError):
        return False
    figure = statement.right.expression.node
    step = Fraction(1)
    if statement.right.expression.numeral:
        digits = leaves(figure)[0]
        step = Fraction(10) ** number(digits.text)[1]
        return bool(other != 0 and abs(one - other) * 2 <= step)
    return bool(one == other and one != 0)


def _grouped(statement: Statement, doubt: str) -> bool:
    return _values(statement, "power" if doubt.startswith("-a") else "group")


def _bitwise(statement: Statement) -> bool:
    return _values(statement, "xor")


def _changed(node: Node, change: str) -> Node:
    """Return an expression in another reading: -a^b as (-a)^b, a/b*c as a/(b*c), ^ as exclusive or."""
    if change == "left to right":
        return _left_to_right(node)
    args = tuple(_changed(argument, change) for argument in node.args)
    node = node._replace(args=args)
    if change == "power" and node.op == "neg" and args[0].op == "^":
        base, exponent = args[0].args
        return Node("^", (Node("neg", (base,)), exponent))
    if change == "group" and node.op == "*" and args[0].op == "/":
        top, bottom = args[0].args
        return Node("/", (top, Node("*", (bottom, args[1]))))
    if change == "binary" and node.op == "number":
        return node._replace(text=str(int(node.text, 2)))
    if change == "xor" and node.op == "^":
        try:
            one, other = (rational(argument, _decimal) for argument in args)
        except (Irrational, GatecalcError):
            return node
        if one.denominator == other.denominator == 1 and one >= 0 and other >= 0:
            return Node("number", (), str(int(one) ^ int(other)))
    return node


def _lost_exponents(statement: Statement) -> bool:
    """Tell whether the sides are equal when digits are read as powers: 1/22 as 1/2^2, 2-2 as 2^-2."""
    sides = (statement.left.expression.node, statement.right.expression.node)
    places = [leaf for side in sides for leaf in leaves(side) if re.fullmatch(r"(?:[2-9]\d?|1\d)[2-9]", leaf.text)]
    if not places and not any(node.op == "-" for side in sides for node in _nodes(side)):
        return False
    readings = [{leaf.text} for leaf in places[:8]] + [{leaf.text for leaf in places}, set()]
    for texts in readings:
        for powers in (True, False):
            try:
                one, other = (rational(_raised(side, texts, powers), _decimal) for side in sides)
            except (Irrational, GatecalcError):
                continue
            if one == other and (texts or powers):
                return True
    return False


def _raised(node: Node, texts: set[str], powers: bool) -> Node:
    """Return an expression with some numbers' last digits as exponents, and, with ``powers``, a-b as a^-b."""
    if node.op == "number":
        if node.text not in texts:
            return node
        return Node("^", (node._replace(text=node.text[:-1]), node._replace(text=node.text[-1])))
    args = tuple(_raised(argument, texts, powers) for argument in node.args)
    if powers and node.op == "-" and args[0].op == args[1].op == "number":
        return Node("^", (args[0], Node("neg", (args[1],))))
    return node._replace(args=args)


def _left_to_right(node: Node) -> Node:
    """Return an expression with its operators in their order, as a pocket calculator takes them."""
    if node.op not in ("+", "-", "*", "/"):
        return node
    steps: list[tuple[str, Node]] = []

    def flatten(part: Node, op: str) -> None:
        if part.op in ("+", "-", "*", "/"):
            flatten(part.args[0], op)
            flatten(part.args[1], part.op)
        else:
            steps.append((op, part))

    flatten(node, "")
    result = steps[0][1]
    for op, operand in steps[1:]:
        result = Node(op, (result, operand))
    return result


def _place_doubt(statement: Statement, text: str) -> str:
    """Return what about the words around a statement makes it no claim of its author."""
    if place := statement.doubts():
        return min(place)
    first, last = statement.left.start, statement.right.end
    before = text[max(0, first - NEAR) : first].rpartition("\n\n")[2]
    after = text[last : last + NEAR].partition("\n\n")[0]
    cue = CUES.search(before) or CUES.search(after)
    if cue is None:
        sentence = re.split(r"[.!?]\s", before)[-1], re.split(r"[.!?]\s", after)[0]
        cue = SENTENCE_CUES.search(sentence[0]) or SENTENCE_CUES.search(sentence[1])
    return f"'{cue[0]}' stands near it" if cue else ""
