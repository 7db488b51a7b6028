"""Why a statement that does not hold need not be meant as it was read: the doubts that keep it from being called wrong.

They come from how its sides may be read, from what its figure may stand for, and from the words around it.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from gatecalc.checking.printed import UNITS, Expression, Node, leaves, nodes, operations, unit_of
from gatecalc.checking.printedvalues import Irrational, binary, decimal, enclosed, number, points, rational, real
from gatecalc.checking.statements import Statement
from gatecalc.errors import GatecalcError

if TYPE_CHECKING:
    from gatecalc.numbers.numeral import Numeral
    from gatecalc.numbers.precise import Real

_UNIT_WORDS = re.compile(
    r"(?:[mck]?m|in|inch(?:es)?|ft|feet|yards?|miles?|[mk]?g|(?:kilo)?grams?|tonn?es?|tons?|lbs?|pounds?|oz|ounces?|m?l"
    r"|lit(?:er|re)s?|m?s|sec(?:ond)?s?|min(?:ute)?s?|h|hrs?|hours?|days?|weeks?|months?|years?|yrs?|[kmg]?hz|bits?|bytes?"
    r"|cents?|dollars?|euros?|[km]?[wjv]|m?a|nm|percent|degrees|radians|gallons?|quarts?|pints?|cups?|dozen|[kmg]?bps"
    r"|words|pages|lines|thousands?|millions?|billions?)",
    re.IGNORECASE,
)
# By which a unit differs from another of its kind: metric steps, time, angles, length, weight, bits.
_CONVERSIONS = (
    10, 100, 1000, 10**4, 10**6, 10**9, 60, 3600, 86400, 24, 7, 12, 365, 1024, 1024**2, 1024**3, 8, 16, 3, 36, 52, 30,
    1440, 128,
)  # fmt: skip
NEAR = 160  # characters to each side of a statement in which its author may say that it does not hold
FLOAT_DIGITS = 15  # from which a figure is a float's own digits

# Words by which an author may say that a statement does not hold, or not in plain arithmetic.
CUES = re.compile(
    r"\b(?:what if|suppos\w+|imagine|pretend|false(?:ly)?|wrong(?:ly)?|incorrect\w*|errors?|erroneous\w*|mistak\w*|typo"
    r"|counterexample|presumably|should (?:be|have)|erratum|bug|contradict\w*|absurd|paradox|fallac\w*|myth|joke|pun"
    r"|modulo|modular|bitwise|boolean|xor|integer division|left[- ]to[- ]right|near[- ]miss\w*|overflow\w*)\b"
    r"|\\neq?\b|≠|=\?|\\[pb]?mod\b",
    re.IGNORECASE,
)
SENTENCE_CUES = re.compile(
    r"\b(?:(?:no|a) solution"
    r"|assum\w+|not|cannot|never|instead|puzzle|mod|binary|hex\w*|octal|base|clock|floor\w*|ceil\w*|round(?:s|ed|ing)?"
    r"|truncat\w*|guess\w*|claim\w*|evaluates?|floating|remainder)\b|n['’]t\b",
    re.IGNORECASE,
)


def doubt_of(
    statement: Statement, figure: Expression, formula: Expression, numeral: Numeral, value: Real, text: str
) -> str:
    """Return a reason not to call a statement wrong that does not hold, or nothing."""
    fraction = value.fraction
    factor = numeral.readings[0][1]
    printed = numeral.value * factor
    whole = all("." not in leaf.text for leaf in leaves(formula.node))
    ops = operations(formula.node)
    if doubt := reading_doubt(statement, other=True):
        return doubt
    if "unit" in ops and fraction is not None:
        if any(real(formula.node, each).fraction in (printed, numeral.value) for each in (points, binary)):
            return "percent may be meant as points"
        if any(node.op == "unit" and "%" in node.text for node in nodes(formula.node)) and ops & {"+", "-"}:
            return "a percentage is added"
    if "unit" in ops and any(node.op == "unit" and _one_digit(node) for node in nodes(formula.node)):
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
    scaled = numeral.exponent is not None or unit_of(figure.node) != ""
    if scaled and printed and _far(value, printed) and _far(value, numeral.value):
        return "the sides are so far apart that a unit or a part of the statement may stand elsewhere"
    return place_doubt(statement, text)


def _one_digit(node: Node) -> bool:
    """Tell whether a number with a scale has one digit: 8k may be anything about it."""
    return node.text in UNITS and len(node.args[0].text) == 1


def _converted(ratio: Fraction) -> bool:
    ratio = ratio if ratio >= 1 else 1 / ratio
    return bool(ratio >= 10**4) or any(abs(ratio / each - 1) <= Fraction(1, 20) for each in _CONVERSIONS)


def _far(value: Real, printed: Fraction) -> bool:
    """Tell whether two numbers differ by more than a hundred times, and not by a power of ten."""
    ball = abs(value.enclose(64))
    ratio = ball / enclosed(abs(printed))
    if not ball > 0 or not (ratio > 100 or ratio < enclosed(Fraction(1, 100))):
        return False
    tens: float = float(ratio.log() / enclosed(10).log()) % 1
    return 0.04 < tens < 0.96


# Doubts that matter only where the sides are equal in the other reading: how each begins, and that reading.
_ALTERNATIVES = {"^ may be": "xor", "-a^b": "power", "a/b": "group"}


def reading_doubt(statement: Statement, other: bool = False) -> str:
    """Return what about the reading of the two sides is in doubt and would matter."""
    sides = (statement.left.expression, statement.right.expression)
    doubts = {doubt for side in sides for doubt in side.doubts}
    for doubt in sorted(doubts):
        change = next((each for start, each in _ALTERNATIVES.items() if doubt.startswith(start)), None)
        if change is None or _values(statement, change):
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
            rational(_changed(side.expression.node, change), decimal) for side in (statement.left, statement.right)
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
            one, other = (rational(argument, decimal) for argument in args)
        except (Irrational, GatecalcError):
            return node
        if one.denominator == other.denominator == 1 and one >= 0 and other >= 0:
            return Node("number", (), str(int(one) ^ int(other)))
    return node


def _lost_exponents(statement: Statement) -> bool:
    """Tell whether the sides are equal when digits are read as powers: 1/22 as 1/2^2, 2-2 as 2^-2."""
    sides = (statement.left.expression.node, statement.right.expression.node)
    places = [leaf for side in sides for leaf in leaves(side) if re.fullmatch(r"(?:[2-9]\d?|1\d)[2-9]", leaf.text)]
    if not places and not any(node.op == "-" for side in sides for node in nodes(side)):
        return False
    readings = [{leaf.text} for leaf in places[:8]] + [{leaf.text for leaf in places}, set()]
    for texts in readings:
        for powers in (True, False):
            try:
                one, other = (rational(_raised(side, texts, powers), decimal) for side in sides)
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


def place_doubt(statement: Statement, text: str) -> str:
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
