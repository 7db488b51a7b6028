"""A formula for a Jacobian, held against the one that is derived: right, or which terms are missing and extra.

    grade(cell, output, input, formula, path="local", steps=1) -> Grade

``formula`` is text or a :class:`~gatecalc.language.Tree`: a sum of products by ``@`` of ``diag(e)``, matrices, ``I``
and sums in parentheses, with numbers in front. Both formulas are multiplied out into their normal form
(:class:`~gatecalc.calculus.words.Algebra`); when these are the same, they are equal for every width, weight and input.
When they are not, words could still be equal by an identity of their functions, as 2*sigmoid(2*a) - 1 and tanh(a) are:
then enclosures of the difference at random points tell, each factor of a word at a unit of its own, or else SymPy is
asked.

For a weight, words are the change of the output, ``A @ dU_f @ v``, or the gradient, ``A.T @ delta @ v.T``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from gatecalc.calculus.derivatives import tidy
from gatecalc.calculus.jacobian import Jacobian, jacobian
from gatecalc.calculus.shapes import Reader
from gatecalc.calculus.words import (
    IDENTITY,
    MAX_WORDS,
    Algebra,
    Monomial,
    Polynomial,
    Words,
    chain,
    diag,
    factors,
    is_diag,
    paths,
)
from gatecalc.cell import CONSTANTS, Cell, is_matrix
from gatecalc.errors import GatecalcError, text
from gatecalc.language import Source, Tree, add, multiply, name, number, parse, substitute
from gatecalc.numbers.precise import ALGEBRA, ENCLOSURE, EXACT, PI, Real, apply

POINTS = 3  # random points at which a difference is enclosed, the last of them with positive numbers alone
BITS = 256


class Grade(NamedTuple):
    """What a formula is worth.

    Attributes:
        correct: Whether it is the Jacobian, for every width.
        missing: The words that it lacks.
        extra: The words that it should not have.
        how: How that is known: ``exact`` by the normal form, ``algebra`` by SymPy, ``enclosure`` at random points.
        note: Where they differ, in numbers; or what the agreement rests on; None where there is nothing to say.
    """

    correct: bool
    missing: Sequence[str] = ()
    extra: Sequence[str] = ()
    how: str = EXACT
    note: str | None = None


def grade(cell: Cell | str, output: str, input: str, formula: str | Tree, path: str = "local", steps: int = 1) -> Grade:
    """Grade a formula for the Jacobian of a cell's output by an input, ``J[i, j] = d output[i] / d input[j]``.

    Args:
        cell, output, input, path, steps: As in :func:`gatecalc.calculus.derivation.derive`.
        formula: A sum of words, ``diag(f) + diag(z) @ U_n``, over the cell's names.

    Returns:
        Whether it is right for every width, and which words are missing and extra.

    Raises:
        GatecalcError: For a name that is not the cell's, shapes that do not fit, and what is not a sum of words.

    >>> grade("gru", "h", "h_prev", "diag(1 - z) + diag(z * (1 - n**2)) @ U_n @ diag(r)").missing[0]
    'diag(z * (1 - n**2)) @ U_n @ diag(h_prev * r * (1 - r)) @ U_r'
    """
    if isinstance(formula, Tree):
        source, tree = Source(str(formula)), formula
    else:
        source = Source(text(formula, "the formula"))
        tree = parse(source)
    return compare(jacobian(cell, output, input, path, steps), tree, source)


def compare(derived: Jacobian, formula: Tree, source: Source | None = None) -> Grade:
    """Compare a formula with a Jacobian that has been derived."""
    misfits = Reader(derived, source or Source(str(formula))).check(formula)
    if any(node.op == "name" and node.value == "delta" for node in formula.walk()):
        formula = _from_gradient(formula, derived)
    right, given = derived.paths(MAX_WORDS), paths(substitute(formula, derived.named_paths(MAX_WORDS)), MAX_WORDS)
    quick = derived.algebra(inline=False)
    ours, theirs = _cancelled(right, given, lambda word: _spelled_out(word, quick))
    algebra = derived.algebra()
    difference = _by_matrices(_difference(map(algebra.expand, ours), map(algebra.expand, theirs)))
    if not difference:
        return Grade(True)
    points = _Points(algebra)
    wrong, hows, note = set(), [], ""
    for matrices, words in difference.items():
        found = points.where_not_zero(words)
        if found is None:
            hows.append(ALGEBRA if points.is_zero_by_algebra(words) else ENCLOSURE)
            continue
        wrong.add(matrices)
        if not note:
            both = (_difference(map(algebra.expand, side), ()) for side in (right, given))
            note = found.describe(*(_by_matrices(side).get(matrices, {}) for side in both))
    if not wrong:
        how = ENCLOSURE if ENCLOSURE in hows else ALGEBRA
        rests = f"the difference encloses 0 at {POINTS} random points to {BITS} bits; algebra does not settle it"
        return Grade(True, how=how, note=rests if how == ENCLOSURE else None)
    ours, theirs = (
        [word for word in side if wrong & set(_by_matrices(algebra.expand(word)))] for side in (ours, theirs)
    )
    missing, extra = _leftover(ours, theirs, algebra)
    if misfits:
        note = misfits[0]
    return Grade(False, [str(tidy(word)) for word in missing], [str(tidy(word)) for word in extra], ENCLOSURE, note)


def _spelled_out(word: Tree, algebra: Algebra) -> Hashable:
    """Return a word with each of its factors in normal form, but not multiplied out."""
    sign, parts = (-1, factors(word.args[0])) if word.op == "neg" else (1, factors(word))
    key: list[Hashable] = [sign]
    for part in parts:
        is_scalar = is_diag(part) or (part.op == "name" and not is_matrix(part.value))
        key.append(
            frozenset(algebra.polynomial(part.args[0] if is_diag(part) else part).items()) if is_scalar else part
        )
    return tuple(key)


def _difference(ours: Iterable[Words], theirs: Iterable[Words]) -> Words:
    result: Words = {}
    for sign, side in ((1, ours), (-1, theirs)):
        for words in side:
            for word, coefficient in words.items():
                result[word] = result.get(word, Fraction(0)) + sign * coefficient
    return {word: coefficient for word, coefficient in result.items() if coefficient}


def _by_matrices(words: Words) -> dict[tuple[str, ...], Words]:
    """Sort words by the matrices in them: words with different ones can never be equal."""
    found: dict[tuple[str, ...], Words] = {}
    for word, coefficient in words.items():
        found.setdefault(word[1::2], {})[word] = coefficient
    return found


def _leftover(right: list[Tree], given: list[Tree], algebra: Algebra) -> tuple[list[Tree], list[Tree]]:
    """Cancel the words that both sides have; then, where a word is a sum in one diagonal, its terms."""

    def expanded(word: Tree) -> Hashable:
        return frozenset(algebra.expand(word).items())

    right, given = _cancelled(right, given, expanded)
    parts, others = ([part for word in side for part in _terms(word)] for side in (right, given))
    fewer = _cancelled(parts, others, expanded)
    return fewer if len(fewer[0]) < len(parts) else (right, given)


def _cancelled(right: list[Tree], given: list[Tree], key: Callable[[Tree], Hashable]) -> tuple[list[Tree], list[Tree]]:
    """Leave out of both lists what is in both, as often as it is."""
    waiting: dict[Hashable, list[Tree]] = {}
    for word in given:
        waiting.setdefault(key(word), []).append(word)
    missing = []
    for word in right:
        same = waiting.get(key(word))
        if same:
            same.pop(0)
        else:
            missing.append(word)
    return missing, [word for words in waiting.values() for word in words]


def _terms(word: Tree) -> list[Tree]:
    """Split a word whose first sum in a diagonal has several terms."""
    sign, parts = (Tree("neg", (IDENTITY,)), factors(word.args[0])) if word.op == "neg" else (IDENTITY, factors(word))
    for k, factor in enumerate(parts):
        if is_diag(factor) and factor.args[0].op == "+":
            return [chain(sign, *parts[:k], diag(term), *parts[k + 1 :]) for term in factor.args[0].args]
    return [word]


def _from_gradient(formula: Tree, derived: Jacobian) -> Tree:
    """Turn ``A.T @ delta @ v.T`` into ``A @ dU @ v``, for each word."""
    change = name(str(derived.differential))
    words = []
    for word in paths(formula):
        sign, parts = (
            (Tree("neg", (IDENTITY,)), factors(word.args[0])) if word.op == "neg" else (IDENTITY, factors(word))
        )
        k = parts.index(name("delta"))
        back = [part.args[0] if part.op == "attribute" else part for part in reversed(parts[:k])]
        words.append(chain(sign, *back, change, *(part.args[0] for part in parts[k + 1 :])))
    return Tree("+", tuple(words)) if len(words) > 1 else words[0]


class _Point:
    """Values of all that is independent: a random rational for each name, at each unit."""

    def __init__(self, algebra: Algebra, seed: int, low: int) -> None:
        self.algebra = algebra
        self.seed = seed
        self.low = low
        self.known: dict[tuple[Hashable, int], Real] = {}

    def drawn(self, text: str, unit: int) -> Real:
        """Draw a number that depends on the name alone, and not on the order in which names are met."""
        draw = random.Random(f"{self.seed} {text} {unit}")
        return Real.number(Fraction(draw.randint(self.low, 1000), 1000))

    def words(self, words: Words) -> Real:
        """Return the sum of the words, the factor between two matrices taken at a unit of its own."""
        total = Real.number(0)
        for word, coefficient in words.items():
            product = Real.number(coefficient)
            for unit, monomial in enumerate(word[::2]):
                product = product * self.monomial(monomial, unit)
            total = total + product
        return total

    def monomial(self, monomial: Monomial, unit: int) -> Real:
        product = Real.number(1)
        for atom, exponent in monomial:
            product = product * self.atom(atom, unit) ** Real.number(exponent)
        return product

    def polynomial(self, polynomial: Iterable[tuple[Monomial, Fraction]], unit: int) -> Real:
        total = Real.number(0)
        for monomial, coefficient in polynomial:
            total = total + self.monomial(monomial, unit) * Real.number(coefficient)
        return total

    def atom(self, atom: Any, unit: int) -> Real:
        if (atom, unit) not in self.known:
            self.known[atom, unit] = self._atom(atom, unit)
        return self.known[atom, unit]

    def _atom(self, atom: Any, unit: int) -> Real:
        if atom in CONSTANTS:
            return PI
        if isinstance(atom, str):
            formula = self.algebra.definitions.get(atom)
            if formula is None:
                return self.drawn(atom, unit)
            inner: Polynomial = self.algebra.polynomial(formula.args[0])
            return apply(formula.value, self.polynomial(inner.items(), unit))
        if atom[0] == "@":
            return self.drawn(_spelled(atom), unit)
        if atom[0] == "power":
            return self.polynomial(atom[1], unit)
        return apply(atom[0], self.polynomial(atom[1], unit))

    def describe(self, right: Words, given: Words) -> str:
        """Say what both sides are here, and at which values of the names in them."""
        names: dict[str, Real] = {}  # in an order that is the same on every run
        units = max(len(word) for words in (right, given) for word in words) // 2
        for words in (right, given):
            for word in sorted(words, key=_spelled):
                for unit, monomial in enumerate(word[::2]):
                    for atom, _ in sorted(monomial, key=_spelled):
                        if isinstance(atom, str) and atom not in CONSTANTS:
                            names.setdefault(atom if not units else f"{atom}[{unit}]", self.atom(atom, unit))
        matrices = next(iter(right or given))[1::2]
        where = ", ".join(f"{text} = {value.decimal(4)}" for text, value in names.items())
        entry = f"what stands before {' '.join(matrices)}" if matrices else "the diagonal"
        values = self.words(right).decimal(6), self.words(given).decimal(6)
        return f"at {where}: {entry} is {values[0]}, and the formula gives {values[1]}"


def _spelled(atom: Any) -> str:
    """Return a text for an atom that is the same on every run: sets are not."""
    if isinstance(atom, frozenset):
        return f"{{{', '.join(sorted(map(_spelled, atom)))}}}"
    return f"({', '.join(map(_spelled, atom))})" if isinstance(atom, tuple) else str(atom)


class _Points:
    """Some random points, the same on every run."""

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        self.points = [_Point(algebra, seed, low) for seed, low in enumerate((-1000, -1000, 1))]

    def where_not_zero(self, words: Words) -> _Point | None:
        """Return a point where a sum of words is proved not to be zero."""
        for point in self.points:
            try:
                ball = point.words(words).enclose(BITS)
            except GatecalcError:  # a logarithm or a root has no value here
                continue
            if ball.is_finite() and (ball > 0 or ball < 0):
                return point
        return None

    def is_zero_by_algebra(self, words: Words) -> bool:
        """Ask SymPy whether a sum of words is zero."""
        from gatecalc.numbers.algebra import is_zero

        return is_zero(add(*(self._word(word, coefficient) for word, coefficient in words.items())))

    def _word(self, word: Sequence[Any], coefficient: Fraction) -> Tree:
        monomials = (self._monomial(monomial, unit) for unit, monomial in enumerate(word[::2]))
        return multiply(number(coefficient), *monomials)

    def _monomial(self, monomial: Monomial, unit: int) -> Tree:
        return multiply(*(Tree("**", (self._atom(atom, unit), number(exponent))) for atom, exponent in monomial))

    def _polynomial(self, polynomial: Iterable[tuple[Monomial, Fraction]], unit: int) -> Tree:
        return add(*(multiply(number(c), self._monomial(monomial, unit)) for monomial, c in polynomial))

    def _atom(self, atom: Any, unit: int) -> Tree:
        if atom in CONSTANTS:
            return name(atom)
        if isinstance(atom, str):
            formula = self.algebra.definitions.get(atom)
            if formula is None:
                return name(f"{atom} {unit}")
            inner = self._polynomial(self.algebra.polynomial(formula.args[0]).items(), unit)
            return Tree("call", (inner,), formula.value)
        if atom[0] == "@":
            return name(f"{_spelled(atom)} {unit}")
        if atom[0] == "power":
            return self._polynomial(atom[1], unit)
        return Tree("call", (self._polynomial(atom[1], unit),), atom[0])
