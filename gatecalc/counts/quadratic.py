"""A count as a quadratic in one of its widths, solved in whole numbers: its equation, its root and the floor of it."""

from __future__ import annotations

from math import gcd, isqrt

from gatecalc.counts.polynomial import Formula, Polynomial
from gatecalc.record import Record

DIGITS = 6  # of a root that is not whole, after the point


class Root(Record):
    """The positive root of ``a*w**2 + b*w + c = 0``.

    Attributes:
        equation: The equation with its common factor divided out, ``H**2 + 4*H - 60 = 0``.
        discriminant: ``b**2 - 4*a*c`` of it; None where the equation is linear.
        exact: The root as a formula: ``6`` or ``(-4 + sqrt(736)) / 2``.
        decimal: Its decimal, correctly rounded to six places; whole if the root is.
        floor: The greatest whole number that is not above it.
    """

    equation: str
    discriminant: int | None
    exact: str
    decimal: str
    floor: int


def coefficients(formula: Formula, letter: str) -> list[int]:
    """Return the coefficients of the powers 0, 1 and 2 of a formula's only name."""
    powers: list[int] = [each() for each in formula.polynomial.coefficients(letter)]
    return [*powers, 0, 0][:3]


def solve(formula: Formula, letter: str, target: int) -> Root | None:
    """Solve ``formula = target`` for one name, all else being numbers; None where the name is not in it.

    >>> from gatecalc.counts.counting import parameters
    >>> solve(parameters("gru").at(D=3), "H", 180)
    Root(equation='H**2 + 4*H - 60 = 0', discriminant=256, exact='6', decimal='6', floor=6)
    """
    c, b, a = coefficients(formula, letter)
    c -= target
    if not a and not b:
        return None
    shared = gcd(a, b, c)
    a, b, c = a // shared, b // shared, c // shared
    equation = f"{Polynomial({((letter, 2),): a, ((letter, 1),): b, (): c})} = 0"
    if not a:
        decimal = _decimal(2 * 10**DIGITS * -c + b, 2 * b)
        return Root(equation, None, str(-c) if b == 1 else f"{-c} / {b}", decimal if -c % b else str(-c // b), -c // b)
    discriminant = b * b - 4 * a * c
    if discriminant < 0:  # the target is below even width 0
        return Root(equation, discriminant, "none", "none", 0)
    whole_root = isqrt(discriminant)
    floor = (whole_root - b) // (2 * a)
    if whole_root**2 == discriminant:
        top = whole_root - b
        exact = str(floor) if top % (2 * a) == 0 else f"{top // gcd(top, 2 * a)} / {2 * a // gcd(top, 2 * a)}"
    else:
        top_text = f"{-b} + sqrt({discriminant})" if b else f"sqrt({discriminant})"
        exact = f"({top_text}) / {2 * a}"
    scale = 10**DIGITS
    decimal = str(floor) if exact == str(floor) else _decimal(isqrt(discriminant * scale**2) - b * scale + a, 2 * a)
    return Root(equation, discriminant, exact, decimal, floor)


def _decimal(top: int, bottom: int) -> str:
    """Return the decimal of the greatest multiple of 10**-6 that is not above top / bottom / 10**6."""
    units = top // bottom
    sign, digits = "-" if units < 0 else "", str(abs(units)).rjust(DIGITS + 1, "0")
    return f"{sign}{digits[:-DIGITS]}.{digits[-DIGITS:]}"
