"""Sums of words: how a Jacobian is built, taken apart, and compared with another one for every width at once.

A Jacobian is a formula of the language: a sum of *words*, each a product by ``@`` of ``diag(e)``, of matrices by their
names, of ``I``, and of sums in parentheses::

    diag(1 - z) + diag(z * (1 - n**2)) @ U_n @ (diag(r) + diag(h_prev * r * (1 - r)) @ U_r)

Two forms of one formula: the printed one is nested and in the author's order (:func:`chain`, :func:`total`); the
normal form (:class:`Algebra`) is a dictionary ``{(monomial, M, monomial, ..., monomial): coefficient}``, in which two
formulas are equal exactly when they are the same dictionary. Its monomials are products of powers of atoms: names of
vectors, functions of polynomials, products ``M v``. Vectors that are sums and products of others are replaced by what
they are; those that are a function of something keep their names. The width H never occurs, so that equality holds for
all widths.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from gatecalc.calculus.derivatives import ONE, ZERO, negative, plus, times
from gatecalc.cell import is_matrix
from gatecalc.errors import GatecalcError
from gatecalc.language import Tree, name

MAX_WORDS = 5_000  # of one expansion
MAX_POWER, MAX_SUM_POWER = 1_000, 50  # of one factor, and of a sum

IDENTITY = name("I")

Monomial = frozenset[tuple[Hashable, Fraction]]  # of (atom, exponent)
UNIT: Monomial = frozenset()
Polynomial = dict[Monomial, Fraction]
Word = tuple[Any, ...]  # monomial, matrix, monomial, ..., monomial
Words = dict[Word, Fraction]


# The printed form.


def diag(vector: Tree) -> Tree:
    """Return the diagonal matrix of a vector; of ones, the identity.

    >>> diag(name("f")), diag(ONE)
    (Tree('diag(f)'), Tree('I'))
    """
    return IDENTITY if vector == ONE else Tree("call", (vector,), "diag")


def is_diag(tree: Tree) -> bool:
    return tree.op == "call" and tree.value == "diag"


def factors(tree: Tree) -> list[Tree]:
    """Return the factors of a word, from left to right; those of ``I`` are none."""
    found: list[Tree] = []
    while tree.op == "@":
        found.append(tree.args[1])
        tree = tree.args[0]
    return ([] if tree == IDENTITY else [tree]) + found[::-1]


def terms(tree: Tree) -> list[Tree]:
    """Return the terms of a sum of words; those of 0 are none."""
    return list(tree.args) if tree.op == "+" else [] if tree == ZERO else [tree]


def chain(*parts: Tree) -> Tree:
    """Return the product of words and sums: diagonal factors merged, signs in front.

    >>> from gatecalc.language import parse
    >>> chain(parse("diag(z)"), parse("diag(1 - n**2) @ U_n"), parse("diag(r) + U_r"))
    Tree('diag(z * (1 - n**2)) @ U_n @ (diag(r) + U_r)')
    """
    sign = 1
    word: list[Tree] = []
    for part in parts:
        if part.op == "neg":
            sign, part = -sign, part.args[0]
        for factor in factors(part):
            if factor == ZERO:
                return ZERO
            if word and is_diag(factor) and is_diag(word[-1]):
                factor = diag(in_order(times(word.pop().args[0], factor.args[0])))
            if is_diag(factor) and factor.args[0].op == "neg":
                sign, factor = -sign, diag(factor.args[0].args[0])
            if factor != IDENTITY:
                word.append(factor)
    if sign < 0 and len(word) == 1 and word[0].op == "+":
        return Tree("+", tuple(_negated(term) for term in word[0].args))
    return _joined(word, sign)


def _joined(word: Iterable[Tree], sign: int = 1) -> Tree:
    tree = IDENTITY
    for factor in word:
        tree = factor if tree is IDENTITY else Tree("@", (tree, factor))
    return Tree("neg", (tree,)) if sign < 0 else tree


def total(*summands: Tree) -> Tree:
    """Return the sum of words: those that differ in their first diagonal factor alone become one.

    >>> from gatecalc.language import parse
    >>> total(parse("diag(f)"), parse("diag(a) @ U"), parse("diag(p)"), parse("diag(b) @ U"))
    Tree('diag(f + p) + diag(a + b) @ U')
    """
    tails: dict[tuple[Tree, ...], list[Tree]] = {}
    for summand in summands:
        for term in terms(summand):
            sign, word = (-1, factors(term.args[0])) if term.op == "neg" else (1, factors(term))
            first = word.pop(0).args[0] if word and is_diag(word[0]) else ONE
            tails.setdefault(tuple(word), []).append(negative(first) if sign < 0 else first)
    words = [chain(diag(plus(*firsts)), *tail) for tail, firsts in tails.items() if plus(*firsts) != ZERO]
    if len(words) > 1 and words[0].op == "neg":  # begin with a positive word where there is one
        words.insert(0, words.pop(next((k for k, word in enumerate(words) if word.op != "neg"), 0)))
    return Tree("+", tuple(words)) if len(words) > 1 else words[0] if words else ZERO


def in_order(product: Tree) -> Tree:
    """Put the sums that a product begins with behind its other factors.

    >>> from gatecalc.language import parse
    >>> in_order(parse("(n - h_prev) * z * (1 - z)"))
    Tree('z * (1 - z) * (n - h_prev)')
    """
    if product.op != "*":
        return product
    first = next((k for k, factor in enumerate(product.args) if factor.op != "+"), 0)
    return Tree("*", product.args[first:] + product.args[:first])


def paths(tree: Tree, limit: int = MAX_WORDS) -> list[Tree]:
    """Multiply a nested sum out into words, one for each path of the chain rule; what stands in a ``diag`` stays.

    >>> from gatecalc.language import parse
    >>> paths(parse("diag(z) @ U_n @ (diag(r) + diag(h) @ U_r)"))
    [Tree('diag(z) @ U_n @ diag(r)'), Tree('diag(z) @ U_n @ diag(h) @ U_r')]
    """
    if tree.op == "+":
        found = [word for term in tree.args for word in paths(term, limit)]
    elif tree.op == "neg":
        found = [_negated(word) for word in paths(tree.args[0], limit)]
    elif tree.op == "@":
        left, right = paths(tree.args[0], limit), paths(tree.args[1], limit)
        if len(left) * len(right) > limit:
            raise too_many(limit)
        found = [chain(one, other) for one in left for other in right]
    else:
        found = [tree] if tree != ZERO else []
    if len(found) > limit:
        raise too_many(limit)
    return found


def _negated(word: Tree) -> Tree:
    return word.args[0] if word.op == "neg" else Tree("neg", (word,))


def too_many(limit: int) -> GatecalcError:
    return GatecalcError(f"limit: the formula has more than {limit} words when multiplied out", help="take fewer steps")


# The normal form.


class Algebra:
    """The normal form of formulas over the names of a cell, unrolled or not.

    Args:
        definitions: What a name stands for, {name: formula}; a name without a definition is independent of all others.
        named: Jacobians that have a name of their own, {name: its formula}.
        differential: The name that stands for the change of a matrix, ``dU_f``, where there is one.
        inline: Whether vectors that are sums and products are replaced by what they are. Equal is equal without it,
            and then quickly so; to be sure of a difference it is needed.
    """

    def __init__(
        self,
        definitions: Mapping[str, Tree],
        named: Mapping[str, Tree] | None = None,
        differential: str | None = None,
        inline: bool = True,
    ) -> None:
        self.definitions = definitions
        self.named = named or {}
        self.differential = differential
        self.inline = inline
        self._names: dict[str, Polynomial] = {}
        self._words: dict[str, Words] = {}
        self._heads: dict[Hashable, str] | None = None

    def expand(self, tree: Tree) -> Words:
        """Return the normal form of a sum of words.

        >>> from gatecalc.language import parse
        >>> expand = Algebra({}).expand
        >>> expand(parse("diag(a * (1 - a)) @ U")) == expand(parse("diag(a) @ U - diag(a) @ diag(a) @ U"))
        True
        """
        op, args = tree.op, tree.args
        if op == "+":
            return self._checked(_sum(self.expand(argument) for argument in args))
        if op == "neg":
            return {word: -coefficient for word, coefficient in self.expand(args[0]).items()}
        if op in "@*":
            product = self.expand(args[0])
            for argument in args[1:]:
                product = self._checked(_multiply(product, self.expand(argument), _concatenate))
            return product
        if op == "/":
            return _multiply(
                self.expand(args[0]), self.expand(Tree("call", (over_one(args[1]),), "diag")), _concatenate
            )
        if op == "call" and tree.value == "diag":
            return {(monomial,): coefficient for monomial, coefficient in self.polynomial(args[0]).items()}
        if op in ("number", "**"):
            return {(monomial,): coefficient for monomial, coefficient in self.polynomial(tree).items()}
        if tree == IDENTITY:
            return {(UNIT,): Fraction(1)}
        if tree.value in self.named:
            if tree.value not in self._words:
                self._words[tree.value] = self.expand(self.named[tree.value])
            return self._words[tree.value]
        if is_matrix(tree.value) or tree.value == self.differential:
            return {(UNIT, tree.value, UNIT): Fraction(1)}
        return {(monomial,): coefficient for monomial, coefficient in self.polynomial(tree).items()}

    def _checked(self, words: Words) -> Words:
        if len(words) > 4 * MAX_WORDS:
            raise too_many(4 * MAX_WORDS)
        return words

    def polynomial(self, tree: Tree) -> Polynomial:
        """Return the normal form of an elementwise formula.

        Raises:
            GatecalcError: For one that is too large when multiplied out.
        """
        op, args = tree.op, tree.args
        if op == "number":
            return {UNIT: Fraction(tree.value)} if tree.value else {}
        if op == "name":
            return self._name(tree.value)
        if op == "+":
            return _sum(self.polynomial(argument) for argument in args)
        if op == "neg":
            return {monomial: -coefficient for monomial, coefficient in self.polynomial(args[0]).items()}
        if op == "*":
            product: Polynomial = {UNIT: Fraction(1)}
            for argument in args:
                product = self._checked_polynomial(_multiply(product, self.polynomial(argument), _times))
            return product
        if op == "/":
            return _multiply(self.polynomial(args[0]), self._reciprocal(args[1]), _times)
        if op == "**":
            exponent = self.polynomial(args[1])
            if set(exponent) <= {UNIT}:
                return self._checked_polynomial(_power(self.polynomial(args[0]), exponent.get(UNIT, Fraction(0))))
        if op == "@":  # linear: a product with each monomial is an atom
            vector = self.polynomial(args[1])
            return {frozenset({(("@", args[0].value, monomial), Fraction(1))}): c for monomial, c in vector.items()}
        if op == "call" and len(args) == 1:
            return self._call((tree.value, key(self.polynomial(args[0]))))
        raise GatecalcError(f"syntax: '{tree}' is not an elementwise formula", help="see 'gatecalc grade --help'")

    def _reciprocal(self, bottom: Tree) -> Polynomial:
        """One over a formula; factors and powers keep apart, so that they can cancel."""
        if bottom.op == "*":
            result: Polynomial = {UNIT: Fraction(1)}
            for factor in bottom.args:
                result = _multiply(result, self._reciprocal(factor), _times)
            return result
        if bottom.op == "**":
            return self.polynomial(Tree("**", (bottom.args[0], Tree("neg", (bottom.args[1],)))))
        return _power(self.polynomial(bottom), Fraction(-1))

    def _name(self, text: str) -> Polynomial:
        """A name that is a function of something stays; one that is a sum or product becomes what it is."""
        if text not in self._names:
            formula = self.definitions.get(text)
            is_atom = formula is None or formula.op == "call" or not self.inline
            self._names[text] = _atom(text) if formula is None or is_atom else self.polynomial(formula)
        return self._names[text]

    def _call(self, call: Hashable) -> Polynomial:
        """A function's value is known by the name of the vector that is defined as it, where there is one."""
        if self._heads is None:
            self._heads = {}
            for text, formula in self.definitions.items():
                if formula.op == "call":
                    head = (formula.value, key(self.polynomial(formula.args[0])))
                    self._heads.setdefault(head, text)
        return _atom(self._heads.get(call, call))

    def _checked_polynomial(self, polynomial: Polynomial) -> Polynomial:
        if len(polynomial) > 4 * MAX_WORDS:
            raise too_many(4 * MAX_WORDS)
        return polynomial


def over_one(bottom: Tree) -> Tree:
    return Tree("/", (ONE, bottom))


def key(polynomial: Polynomial) -> Hashable:
    """Return a polynomial as something that can be looked up."""
    return frozenset(polynomial.items())


def _atom(atom: Hashable) -> Polynomial:
    return {frozenset({(atom, Fraction(1))}): Fraction(1)}


Sum = dict[Any, Fraction]  # words or monomials, with their coefficients


def _sum(polynomials: Iterable[Sum]) -> Sum:
    result: Sum = {}
    for polynomial in polynomials:
        for monomial, coefficient in polynomial.items():
            result[monomial] = result.get(monomial, Fraction(0)) + coefficient
    return {monomial: coefficient for monomial, coefficient in result.items() if coefficient}


def _multiply(one: Sum, other: Sum, join: Callable[[Any, Any], Any]) -> Sum:
    if len(one) * len(other) > 20 * MAX_WORDS:
        raise too_many(4 * MAX_WORDS)
    result: Sum = {}
    for a, ca in one.items():
        for b, cb in other.items():
            product = join(a, b)
            result[product] = result[product] + ca * cb if product in result else ca * cb
    return {product: coefficient for product, coefficient in result.items() if coefficient}


def _times(one: Monomial, other: Monomial) -> Monomial:
    powers = dict(one)
    for atom, exponent in other:
        powers[atom] = powers.get(atom, Fraction(0)) + exponent
    return frozenset((atom, e) for atom, e in powers.items() if e)


def _concatenate(one: Word, other: Word) -> Word:
    return (*one[:-1], _times(one[-1], other[0]), *other[1:])


def _power(base: Polynomial, exponent: Fraction) -> Polynomial:
    """Whole powers are multiplied out; others of a sum are atoms, as are those of a number."""
    if abs(exponent) > (MAX_POWER if len(base) < 2 or exponent < 0 else MAX_SUM_POWER):
        raise GatecalcError("limit: the power is too large to be multiplied out", help="write a smaller power")
    if exponent == int(exponent) and exponent >= 0:
        result: Polynomial = {UNIT: Fraction(1)}
        for _ in range(int(exponent)):
            result = _multiply(result, base, _times)
        return result
    if not base:
        raise GatecalcError("value: a division by zero", help="write a quotient whose denominator is not 0")
    if len(base) == 1:
        ((monomial, coefficient),) = base.items()
        if exponent == int(exponent):
            return {frozenset((atom, e * exponent) for atom, e in monomial): coefficient ** int(exponent)}
        if coefficient == 1 and len(monomial) == 1 and set(dict(monomial).values()) == {1}:
            return {frozenset((atom, exponent) for atom, _ in monomial): Fraction(1)}
    return {frozenset({(("power", key(base)), exponent)}): Fraction(1)}
