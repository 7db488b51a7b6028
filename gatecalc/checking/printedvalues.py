"""The value of arithmetic as people print it: exact where its operations are rational, else as a proved number.

Nothing is evaluated but numbers that were read as numbers, and the cost of a value is bounded before it is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gatecalc.checking.printed import BYTES, UNITS, Node, operations, plain_number
from gatecalc.errors import GatecalcError

if TYPE_CHECKING:
    from gatecalc.numbers.precise import Real

MAX_DIGITS = 400  # of one number
MAX_POWER = 20_000  # bits of a power
MAX_FACTORIAL = 1_000

ORDERS = "kmgtp"
_TRANSCENDENTAL = {"sqrt", "exp", "log", "log2", "log10", "sin", "cos", "tan", "tanh", "sigmoid", "abs"}


def decimal(unit: str) -> Any:
    """Return what a unit multiplies by; of bytes, in powers of 1,000."""
    if unit in ("%", "percent"):
        return Fraction(1, 100)
    if unit == "‰":
        return Fraction(1, 1000)
    if match := BYTES.match(unit):
        order = ORDERS.index((match[1] or match[3])[0].lower()) + 1
        return 1024**order if match[2] else 1000**order
    return UNITS.get(unit) or UNITS[unit.lower()]


def binary(unit: str) -> Any:
    """Return what a unit multiplies by; of bytes, in powers of 1,024."""
    match = BYTES.match(unit)
    return 1024 ** (ORDERS.index((match[1] or match[3])[0].lower()) + 1) if match else decimal(unit)


def points(unit: str) -> Any:
    """Return what a unit multiplies by, percent being points."""
    return 1 if unit in ("%", "percent") else decimal(unit)


def number(text: str, comma: bool = False) -> tuple[Any, int, bool]:
    """Return the value of a printed number, the decimals that it shows, and whether it has a point.

    With ``comma``, every comma is a decimal comma.
    """
    if text.isdigit() and len(text) <= MAX_DIGITS:
        return int(text), 0, False
    plain, _, exponent = plain_number(text, comma)
    if len(plain) > MAX_DIGITS or len(exponent) > 5:
        raise GatecalcError(f"limit: a number of more than {MAX_DIGITS} digits", help="print it shorter")
    whole, point, part = plain.partition(".")
    power = int(exponent or 0) - len(part)
    if abs(power) > MAX_POWER // 4:
        raise GatecalcError("limit: an exponent beyond the limit", help="print it smaller")
    digits = int(whole + part or "0")
    if power == 0:
        return digits, 0, bool(point)
    return (digits * 10**power, power, bool(point)) if power > 0 else (Fraction(digits, 10**-power), power, bool(point))


class Irrational(Exception):
    """The value is not made of rational operations alone."""


def rational(node: Node, factor: Callable[[str], Any], comma: bool = False) -> Any:
    """Return the exact value of an expression of rational operations: an int where that is enough, else a Fraction.

    Raises:
        Irrational: Where a function or a root is in it.
        GatecalcError: For division by zero and what is beyond the limits.
    """
    op, args, text = node
    if op == "number":
        return number(text, comma)[0]
    left = rational(args[0], factor, comma)
    if op == "group":
        return left
    if op == "neg":
        return -left
    if op == "unit":
        return left * factor(text)
    if op == "!":
        return _factorial(left)
    if op in _TRANSCENDENTAL:
        raise Irrational
    right = rational(args[1], factor, comma)
    if op == "+":
        return left + right
    if op == "-":
        return left - right
    if op == "*":
        return left * right
    if op == "/":
        if right == 0:
            raise GatecalcError("value: division by zero", help="check the denominator")
        return Fraction(left) / right if left % right else int(left // right)
    if right.denominator != 1:
        raise Irrational
    bound_power(left, int(right))
    return Fraction(left) ** int(right)


def bound_power(base: Fraction | int, exponent: int) -> None:
    """Refuse a power that is too large to be worth computing, or 0 to a negative power."""
    if base == 0 and exponent < 0:
        raise GatecalcError("value: division by zero", help="check the denominator")
    bits = max(abs(base.numerator).bit_length(), base.denominator.bit_length())
    if abs(base) != 1 and bits * abs(exponent) > MAX_POWER:
        raise GatecalcError("limit: a power beyond the limit", help="print its logarithm")


def _factorial(value: Fraction | int) -> int:
    if value.denominator != 1 or not 0 <= value <= MAX_FACTORIAL:
        raise GatecalcError(f"limit: a factorial beyond {MAX_FACTORIAL}!", help="print its logarithm")
    return math.factorial(int(value))


def real(
    node: Node,
    factor: Callable[[str], Any],
    comma: bool = False,
    base: str = "log",
    degrees: bool = False,
    moves: bool = False,
) -> Real:
    """Return the value of an expression as a proved number; ``base`` is what ``log`` means.

    With ``moves``, a number whose node is ``moving`` is the ball of all numbers that round to it.
    """
    from gatecalc.numbers import precise

    op, args, _ = node
    if op == "moving":
        return _rounding(node.text)
    if not moves and not any(part in _TRANSCENDENTAL or part == "^" for part in operations(node)):
        return precise.Real.number(Fraction(rational(node, factor, comma)))
    if op == "number":
        return precise.Real.number(Fraction(number(node.text, comma)[0]))
    if op in ("group", "neg", "unit", "!"):
        inner = real(args[0], factor, comma, base, degrees, moves)
        if op == "unit":
            return inner * precise.Real.number(Fraction(factor(node.text)))
        if op == "!":
            return precise.Real.number(_factorial(inner.fraction if inner.fraction is not None else Fraction(1, 2)))
        return -inner if op == "neg" else inner
    left = real(args[0], factor, comma, base, degrees, moves)
    if op in _TRANSCENDENTAL:
        if degrees and op in ("sin", "cos", "tan"):
            left = left * precise.PI / precise.Real.number(180)
        if op == "tan":
            return precise.primitive("sin", left) / precise.primitive("cos", left)
        name = base if op == "log" else op
        if name in ("log2", "log10"):
            return precise.primitive("log", left) / precise.primitive("log", precise.Real.number(int(name[3:])))
        return precise.apply(name, left)
    right = real(args[1], factor, comma, base, degrees, moves)
    if op == "^":
        if left.fraction is not None and right.integer is not None:
            bound_power(left.fraction, right.integer)
        return left**right
    return {"+": left.__add__, "-": left.__sub__, "*": left.__mul__, "/": left.__truediv__}[op](right)


def enclosed(value: Any) -> Any:
    """Return a ball (``flint.arb``) around a rational number, to hold other balls against."""
    from gatecalc.numbers.precise import Real

    return Real.number(Fraction(value)).enclose(128)


def _rounding(text: str) -> Real:
    """Return the ball of all numbers that round to a printed one."""
    import flint

    from gatecalc.numbers.precise import Real

    value, power, _ = number(text)
    middle, half = Fraction(value), Fraction(10) ** power / 2
    ball = enclosed(middle) + flint.arb(0, 1) * enclosed(half)
    return Real.enclosed(lambda bits: ball)
