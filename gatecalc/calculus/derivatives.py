"""The derivative of one elementwise formula, in the author's own names and order.

    partials(cell) -> {(output, read): Tree}

gives, for every elementwise equation ``output = e(v1, ..., vk)`` of a cell and every vector ``v`` that it reads
(previous states, gates, biases, peepholes, and parts such as ``U_f @ h_prev``), the formula of ``de/dv``. A function's
derivative comes from its row in :mod:`gatecalc.elementwise`, and where the whole equation is ``f = sigmoid(...)`` the
function's own value there is the name ``f``: so ``f * (1 - f)``, never the exponentials. A value that has no name
stays as it is written, as in ``tanh(c)``. Equations ``y = M v`` have no entry: their derivative is the matrix itself.

Nothing is reordered but for readability, and nothing is expanded: formulas are differentiated as they stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache, lru_cache

from gatecalc.cell import Cell, Elementwise
from gatecalc.elementwise import ELEMENTWISE
from gatecalc.errors import GatecalcError
from gatecalc.language import Tree, name, number, parse, substitute

ZERO, ONE = number(0), number(1)


@lru_cache(maxsize=64)
def partials(cell: Cell) -> Mapping[tuple[str, str], Tree]:
    """Return ``de/dv`` for each elementwise equation and each vector that it reads.

    Raises:
        GatecalcError: For a construct that has no derivative, by its name.

    >>> from gatecalc.cell import cell
    >>> found = partials(cell("gru"))
    >>> found["h", "z"], found["z", "U_z @ h_prev"], found["n", "b_n"]
    (Tree('n - h_prev'), Tree('z * (1 - z)'), Tree('1 - n**2'))
    """
    return {
        (equation.name, read): tidy(derivative(equation.formula, read, equation.name))
        for equation in cell.equations
        if isinstance(equation, Elementwise)
        for read in equation.reads
    }


def derivative(formula: Tree, vector: str, own: str | None = None) -> Tree:
    """Return the derivative of a scalar formula with respect to one of its names.

    Args:
        formula: Sums, products, quotients, constant powers and elementwise functions of names.
        vector: The name.
        own: The name of the formula's own value, where it has one.

    >>> derivative(parse("o * tanh(c)"), "c")
    Tree('o * (1 - tanh(c)**2)')
    >>> derivative(parse("sigmoid(a + b)"), "a", own="f")
    Tree('f * (1 - f)')
    """
    op, args = formula.op, formula.args
    if op == "number":
        return ZERO
    if op == "name":
        return ONE if formula.value == vector else ZERO
    inner = [derivative(argument, vector) for argument in args]
    if op == "+":
        return plus(*inner)
    if op == "neg":
        return negative(inner[0])
    if op == "*":
        return plus(*(times(*args[:k], inner[k], *args[k + 1 :]) for k in range(len(args))))
    if op == "/":
        top = over(inner[0], args[1])
        return plus(top, negative(over(times(args[0], inner[1]), power(args[1], number(2)))))
    if op == "**" and inner[1] == ZERO:
        return times(args[1], power(args[0], plus(args[1], number(-1))), inner[0])
    if op == "call" and formula.value in ELEMENTWISE and len(args) == 1:
        return (
            ZERO if inner[0] == ZERO else times(rule(formula.value, args[0], name(own) if own else formula), inner[0])
        )
    raise GatecalcError(
        f"derivative: '{formula}' has none that is known", help="write it with + - * / ** and elementwise functions"
    )


def rule(function: str, argument: Tree, value: Tree) -> Tree:
    """Return the derivative of an elementwise function, in terms of its argument and its own value.

    >>> rule("tanh", parse("W @ x"), name("n"))
    Tree('1 - n**2')
    """
    return substitute(_row(function), {"a": argument, "y": value})


@cache
def _row(function: str) -> Tree:
    return parse(ELEMENTWISE[function].derivative)


# Sums and products without the zeros, ones and double signs that rules leave behind.


def plus(*terms: Tree) -> Tree:
    """Return the sum: numbers and equal terms collected, a positive term first where there is one.

    >>> plus(parse("-h_prev"), parse("n"), ZERO)
    Tree('n - h_prev')
    """
    collected: dict[Tree, Fraction] = {}
    for term in terms:
        for part in term.args if term.op == "+" else (term,):
            coefficient, core = split(part)
            collected[core] = collected.get(core, Fraction(0)) + coefficient
    kept = [(coefficient, core) for core, coefficient in collected.items() if coefficient]
    first = next((k for k, (coefficient, _) in enumerate(kept) if coefficient > 0), 0)
    if kept:
        kept.insert(0, kept.pop(first))
    parts = [join(coefficient, core) for coefficient, core in kept]
    return Tree("+", tuple(parts)) if len(parts) > 1 else parts[0] if parts else ZERO


def times(*factors: Tree) -> Tree:
    """Return the product: numbers and signs in front, equal factors as powers, one quotient at most.

    >>> tidy(times(parse("-c"), parse("2 * f"), parse("1 - f"), parse("f / (2 * g)")))
    Tree('-c * f**2 * (1 - f) / g')
    """
    coefficient = Fraction(1)
    above: dict[Tree, Fraction] = {}
    below: dict[Tree, Fraction] = {}
    for factor in factors:
        number_, core = split(factor)
        coefficient *= number_
        for each in core.args if core.op == "*" else (core,):
            top, bottom = each.args if each.op == "/" else (each, ONE)
            for side, product in ((above, top), (below, bottom)):
                for part in product.args if product.op == "*" else (product,):
                    base, exponent = _power_of(part)
                    side[base] = side.get(base, Fraction(0)) + exponent
    core = _product_of(above)
    return join(coefficient, core if _product_of(below) == ONE else Tree("/", (core, _product_of(below))))


def _product_of(powers: Mapping[Tree, Fraction]) -> Tree:
    parts = [power(base, number(exponent)) for base, exponent in powers.items() if exponent and base != ONE]
    return Tree("*", tuple(parts)) if len(parts) > 1 else parts[0] if parts else ONE


def negative(tree: Tree) -> Tree:
    """Return the formula with the other sign."""
    return times(number(-1), tree)


def over(top: Tree, bottom: Tree) -> Tree:
    """Return the quotient; a number below goes in front."""
    return times(top, Tree("/", (ONE, bottom)))


def power(base: Tree, exponent: Tree) -> Tree:
    """Return the power; the first one is the base itself."""
    return ONE if exponent == ZERO else base if exponent == ONE else Tree("**", (base, exponent))


def split(tree: Tree) -> tuple[Fraction, Tree]:
    """Take a formula apart into its number and the rest, which is 1 for a number."""
    if tree.op == "number":
        return Fraction(tree.value), ONE
    if tree.op == "neg":
        coefficient, core = split(tree.args[0])
        return -coefficient, core
    if tree.op == "*":
        parts = [split(factor) for factor in tree.args]
        coefficient = Fraction(1)
        for number_, _ in parts:
            coefficient *= number_
        kept = [core for _, core in parts if core != ONE]
        return coefficient, Tree("*", tuple(kept)) if len(kept) > 1 else kept[0] if kept else ONE
    if tree.op == "/":
        (above, top), (below, bottom) = split(tree.args[0]), split(tree.args[1])
        if below:
            return above / below, top if bottom == ONE else Tree("/", (top, bottom))
    return Fraction(1), tree


def join(coefficient: Fraction, core: Tree) -> Tree:
    """Put a number back in front."""
    if coefficient == 0:
        return ZERO
    size = number(int(abs(coefficient)) if coefficient.denominator == 1 else abs(coefficient))
    tree = core
    if size != ONE:
        top, *bottom = core.args if core.op == "/" else (core,)
        parts = (size,) if top == ONE else (size, *(top.args if top.op == "*" else (top,)))
        tree = Tree("*", parts) if len(parts) > 1 else parts[0]
        tree = Tree("/", (tree, *bottom)) if bottom else tree
    return Tree("neg", (tree,)) if coefficient < 0 else tree


def tidy(tree: Tree, after: bool = False) -> Tree:
    """Give a minus to the first factor, ``-2 * c`` and not ``-(2 * c)``, but for a term ``after`` others in a sum."""
    if tree.op == "neg" and not after:
        core = tree.args[0]
        if core.op in ("*", "/", "@"):
            return tidy(Tree(core.op, (Tree("neg", core.args[:1]), *core.args[1:])))
    args = tuple(tidy(argument, k > 0 and tree.op == "+") for k, argument in enumerate(tree.args))
    return tree if args == tree.args else Tree(tree.op, args, tree.value, tree.at)


def _power_of(tree: Tree) -> tuple[Tree, Fraction]:
    """Read a factor as a base and a whole exponent; other powers are bases themselves."""
    if tree.op == "**" and tree.args[1].op == "number" and tree.args[1].value == int(tree.args[1].value):
        return tree.args[0], Fraction(tree.args[1].value)
    return tree, Fraction(1)
