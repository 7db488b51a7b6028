"""Counts as formulas: polynomials with whole coefficients, and the way a textbook factors them.

A :class:`Polynomial` is the expanded form, which decides equality and is solved. A :class:`Formula` is a sum of
products of polynomials, which is printed: ``4*H*(D + H + 1)``. Both can be evaluated with anything that adds and
multiplies: whole numbers of any size, exact rationals, symbols.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from math import gcd
from typing import Any

Monomial = tuple[tuple[str, int], ...]  # ((name, power), ...), sorted by name; () is 1


class Polynomial:
    """A polynomial in named widths with whole coefficients, immutable.

    >>> D, H = symbol("D"), symbol("H")
    >>> 4 * H * (D + H + 1) == 4 * H * D + 4 * H * H + 4 * H
    True
    >>> (4 * H * (D + H + 1))(D=3, H=5)
    180
    """

    __slots__ = ("terms",)

    terms: dict[Monomial, int]

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms = {monomial: coefficient for monomial, coefficient in terms.items() if coefficient}

    def __add__(self, other: Polynomial | int) -> Polynomial:
        return total((self, _polynomial(other)))

    def __mul__(self, other: Polynomial | int) -> Polynomial:
        found: dict[Monomial, int] = {}
        for one, a in self.terms.items():
            for two, b in _polynomial(other).terms.items():
                monomial = _times(one, two)
                found[monomial] = found.get(monomial, 0) + a * b
        return Polynomial(found)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Polynomial:
        return self * -1

    def __sub__(self, other: Polynomial | int) -> Polynomial:
        return self + _polynomial(other) * -1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial | int) and self.terms == _polynomial(other).terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    @property
    def names(self) -> list[str]:
        """The names in it, sorted."""
        return sorted({name for monomial in self.terms for name, _ in monomial})

    def at(self, **values: int | Polynomial) -> Polynomial:
        """Fill in some of its names."""
        filled: Polynomial = self(**{name: values.get(name, symbol(name)) for name in self.names})
        return _polynomial(filled)

    def __call__(self, **values: Any) -> Any:
        """Evaluate it, every name being given; the values are of any kind that has ``+`` and ``*``."""
        result: Any = 0
        for monomial, coefficient in self.terms.items():
            term: Any = coefficient
            for name, power in monomial:
                for _ in range(power):
                    term = term * values[name]
            result = result + term
        return result

    def coefficients(self, name: str) -> list[Polynomial]:
        """Return the coefficients of the powers of one name, from the power 0 up."""
        found: dict[int, dict[Monomial, int]] = {0: {}}
        for monomial, coefficient in self.terms.items():
            power = dict(monomial).get(name, 0)
            rest = tuple(factor for factor in monomial if factor[0] != name)
            found.setdefault(power, {})[rest] = coefficient
        return [Polynomial(found.get(power, {})) for power in range(max(found) + 1)]

    def __str__(self) -> str:
        """Print the terms by their degree, the highest first: ``3*H**2 + 12*H``."""
        return _sum(sorted(self.terms.items(), key=lambda term: (-sum(power for _, power in term[0]), term[0])))

    def __repr__(self) -> str:
        return f"Polynomial({self})"


@functools.cache
def symbol(name: str) -> Polynomial:
    """Return the polynomial that is one name."""
    return Polynomial({((name, 1),): 1})


@functools.cache
def product(*names: str) -> Polynomial:
    """Return the polynomial that is a product of names; that of none is 1."""
    return Polynomial({tuple((name, names.count(name)) for name in sorted(set(names))): 1})


def total(terms: Iterable[Polynomial]) -> Polynomial:
    """Return a sum."""
    found: dict[Monomial, int] = {}
    for term in terms:
        for monomial, coefficient in term.terms.items():
            found[monomial] = found.get(monomial, 0) + coefficient
    return Polynomial(found)


ZERO = Polynomial({})
ONE = Polynomial({(): 1})


class Formula:
    """A sum of products of polynomials, printed as a textbook does; immutable.

    >>> D, H = symbol("D"), symbol("H")
    >>> gru = factor(3 * D * H + 3 * H * H + 4 * H)
    >>> print(gru)
    3*H*(D + H + 1) + H
    >>> print(gru.at(D=3))
    3*H*(H + 4) + H
    >>> gru(D=3, H=5)
    140
    >>> print(factor(D + 7 * H) + factor(8 * H) + factor(2 * D * H).at(D=3))
    D + 21*H
    """

    __slots__ = ("terms",)

    terms: tuple[tuple[Polynomial, ...], ...]

    def __init__(self, terms: Iterable[Iterable[Polynomial]] = ()) -> None:
        """Take the terms, each a product; numbers are multiplied out, equal products are merged."""
        merged: dict[tuple[Monomial, tuple[Polynomial, ...]], int] = {}
        for factors in terms:
            plain, sums = ONE, []
            for each in factors:
                if len(each.terms) > 1:
                    sums.append(each)
                else:
                    plain = each if plain is ONE else plain * each
            for monomial, coefficient in plain.terms.items():
                key = (monomial, tuple(sums))
                merged[key] = merged.get(key, 0) + coefficient
        self.terms = tuple(
            (Polynomial({monomial: number}), *sums) for (monomial, sums), number in merged.items() if number
        )

    @property
    def polynomial(self) -> Polynomial:
        """The expanded form."""
        return total(functools.reduce(Polynomial.__mul__, factors) for factors in self.terms)

    @property
    def names(self) -> list[str]:
        """The names in it, sorted."""
        return sorted({name for factors in self.terms for each in factors for name in each.names})

    def at(self, **values: int | Polynomial) -> Formula:
        """Fill in some of its names; the way it is factored stays."""
        return Formula([[each.at(**values) for each in factors] for factors in self.terms])

    def __call__(self, **values: Any) -> Any:
        """Evaluate it, every name being given; the values are of any kind that has ``+`` and ``*``."""
        result: Any = 0
        for factors in self.terms:
            term: Any = 1
            for each in factors:
                term = term * each(**values)
            result = result + term
        return result

    def __add__(self, other: Formula) -> Formula:
        return Formula([*self.terms, *other.terms])

    def __mul__(self, other: Polynomial | int) -> Formula:
        return self if other == 1 else Formula([(_polynomial(other), *factors) for factors in self.terms])

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        """Two formulas are equal when they are once expanded, however they are factored."""
        return isinstance(other, Formula) and self.polynomial == other.polynomial

    def __hash__(self) -> int:
        return hash(self.polynomial)

    def __str__(self) -> str:
        """Print the terms in their order, a number last; what stands in no parentheses is added up."""
        loose = [factors for factors in self.terms if len(factors) == 1 or (len(factors) == 2 and factors[0] == ONE)]
        terms = self.terms
        if any(len(factors) == 2 for factors in loose) and len(loose) > 1:
            merged = total(factors[-1] for factors in loose)
            parts = [
                (Polynomial({monomial: number}),) for monomial, number in sorted(merged.terms.items(), key=_within)
            ]
            terms = (*(factors for factors in terms if factors not in loose), *parts)
        ordered = sorted(terms, key=lambda factors: not factors[0].names and len(factors) == 1)
        return " + ".join(_product(factors) for factors in ordered) or "0"

    def __repr__(self) -> str:
        return f"Formula({self})"


def factor(polynomial: Polynomial) -> Formula:
    """Factor a count as a textbook does: what all of its blocks share, times one block, and then the rest.

    ``3*D*H + 3*H*H + 4*H`` is three blocks of ``H*(D + H + 1)`` and one ``H`` more: the smallest coefficient inside, a
    number that stands alone aside, tells how many blocks there are.
    """
    return Formula(_blocks(polynomial))


def _blocks(polynomial: Polynomial) -> Iterator[list[Polynomial]]:
    if not polynomial.terms:
        return
    shared = _shared(polynomial)
    inner = {_over(monomial, shared): coefficient for monomial, coefficient in polynomial.terms.items()}
    whole = all(coefficient > 0 for coefficient in inner.values())
    sizes = [coefficient for monomial, coefficient in inner.items() if monomial] or [*inner.values()]
    count = min(sizes) if whole else gcd(*sizes)
    block = Polynomial({monomial: coefficient // count for monomial, coefficient in inner.items()})
    rest = Polynomial({monomial: coefficient % count for monomial, coefficient in inner.items()})
    outside = Polynomial({shared: 1})
    yield [outside * count, block]
    yield from _blocks(rest * outside)


def _shared(polynomial: Polynomial) -> Monomial:
    """Return the greatest monomial that divides every term."""
    terms = [dict(monomial) for monomial in polynomial.terms]
    powers = {name: min(term.get(name, 0) for term in terms) for name in terms[0]}
    return tuple(sorted((name, power) for name, power in powers.items() if power))


def _times(one: Monomial, two: Monomial) -> Monomial:
    powers = dict(one)
    for name, power in two:
        powers[name] = powers.get(name, 0) + power
    return tuple(sorted(powers.items()))


def _over(monomial: Monomial, divisor: Monomial) -> Monomial:
    powers = dict(monomial)
    for name, power in divisor:
        powers[name] -= power
    return tuple((name, power) for name, power in powers.items() if power)


def _polynomial(value: Polynomial | int) -> Polynomial:
    return value if isinstance(value, Polynomial) else Polynomial({(): value})


def _product(factors: tuple[Polynomial, ...]) -> str:
    """Print one term of a formula: what is no sum first, then the sums in parentheses."""
    plain, *sums = factors
    parts = [f"({_sum(sorted(each.terms.items(), key=_within))})" for each in sums]
    if plain == ONE and parts:
        return "*".join(parts) if len(parts) > 1 else parts[0][1:-1]
    return "*".join([_sum(plain.terms.items()), *parts])


def _within(term: tuple[Monomial, int]) -> tuple[bool, Monomial]:
    """Within a block the order is that of the names, numbers last: ``(D + H + 1)``."""
    return (not term[0], term[0])


def _sum(terms: Iterable[tuple[Monomial, int]]) -> str:
    text = ""
    for monomial, coefficient in terms:
        size = [] if abs(coefficient) == 1 and monomial else [str(abs(coefficient))]
        powers = [name if power == 1 else f"{name}**{power}" for name, power in monomial]
        sign = ("-" if coefficient < 0 else "") if not text else (" - " if coefficient < 0 else " + ")
        text += sign + "*".join([*size, *powers])
    return text or "0"
