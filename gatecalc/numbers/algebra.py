"""SymPy's side: formulas to SymPy expressions, where something is derived or decided by algebra.

SymPy only ever sees trees that :mod:`gatecalc.language` has read, never text.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import sympy

from gatecalc.elementwise import ELEMENTWISE
from gatecalc.language import Tree, parse

PRIMITIVES: dict[str, Any] = {
    "exp": sympy.exp,
    "log": sympy.log,
    "sqrt": sympy.sqrt,
    "tanh": sympy.tanh,
    "sin": sympy.sin,
    "cos": sympy.cos,
    "atan": sympy.atan,
    "erf": sympy.erf,
    "abs": sympy.Abs,
    "step": lambda a: sympy.Heaviside(a, 0),
    "floor": sympy.floor,
}


@cache
def symbol(name: str) -> Any:
    """Return the real symbol of a name."""
    return sympy.Symbol(name, real=True)


@cache
def definition(function: str) -> Tree:
    """Return the definition of an elementwise function that is not a primitive, in terms of ``a``."""
    text = ELEMENTWISE[function].definition
    assert text is not None
    return parse(text)


@cache
def function(name: str) -> Any:
    """Return an elementwise function as one SymPy function, which knows its derivative and not what it is made of.

    >>> function("sigmoid")(symbol("a")).diff(symbol("a"))
    (1 - sigmoid(a))*sigmoid(a)
    """
    rule = parse(ELEMENTWISE[name].derivative)

    def fdiff(self: Any, argindex: int = 1) -> Any:
        return to_sympy(rule, {"a": self.args[0], "y": self}, whole=True)

    return type(name, (sympy.Function,), {"fdiff": fdiff, "nargs": 1, "_eval_is_extended_real": lambda self: True})


_OWN_DERIVATIVE = ("exp", "log", "sqrt", "tanh", "sin", "cos", "atan", "erf")  # SymPy's is the same as ours


def to_sympy(tree: Tree, values: Mapping[str, Any] | None = None, whole: bool = False) -> Any:
    """Return the SymPy expression of a scalar formula; names are real symbols unless ``values`` gives them.

    With ``whole``, functions stay whole: deriving them is then 5 to 40 times faster, and the result readable.

    >>> to_sympy(parse("sigmoid(a) + sigmoid(-a)"))
    1/(exp(a) + 1) + 1/(1 + exp(-a))
    """
    values = values or {}
    args = [to_sympy(argument, values, whole) for argument in tree.args]
    if tree.op == "number":
        return sympy.Rational(tree.value.numerator, tree.value.denominator)
    if tree.op == "name":
        return values[tree.value] if tree.value in values else sympy.pi if tree.value == "pi" else symbol(tree.value)
    if tree.op == "+":
        return sympy.Add(*args)
    if tree.op == "*":
        return sympy.Mul(*args)
    if tree.op == "neg":
        return -args[0]
    if tree.op == "/":
        return args[0] / args[1]
    if tree.op == "**":
        return args[0] ** args[1]
    if tree.op == "call" and (tree.value in ELEMENTWISE or tree.value in PRIMITIVES):
        if tree.value in PRIMITIVES and not (whole and tree.value not in _OWN_DERIVATIVE):
            return PRIMITIVES[tree.value](args[0])
        return function(tree.value)(args[0]) if whole else to_sympy(definition(tree.value), {"a": args[0]})
    raise ValueError(f"'{tree}' is not a scalar formula")


MAX_TERMS = 5_000  # of an expansion


def is_zero(tree: Tree) -> bool:
    """Tell whether algebra proves that a formula is zero; False also where it cannot tell.

    >>> is_zero(parse("sigmoid(a) + sigmoid(-a) - 1")), is_zero(parse("a - 1"))
    (True, False)
    """
    expression = to_sympy(tree)
    if expression == 0:
        return True
    if _expanded_terms(tree) > MAX_TERMS:
        return False
    if sympy.expand(expression) == 0:
        return True
    if expression.is_polynomial(*expression.free_symbols) and not expression.is_number:
        return False  # expanded and not zero
    for attempt in (_as_exponentials, sympy.radsimp, sympy.simplify, _minimal):
        try:
            if attempt(expression) == 0:
                return True
        except Exception:
            continue  # SymPy gives up in many ways; each of them only means that this attempt cannot tell
    return False


def _as_exponentials(expression: Any) -> Any:
    """Write tanh and its kin as exponentials over one denominator."""
    return sympy.expand(sympy.numer(sympy.together(expression.rewrite(sympy.exp))))


def _minimal(expression: Any) -> Any:
    """Return 0 for an algebraic number whose minimal polynomial is that of zero."""
    unknown = sympy.Symbol("unknown")
    if not expression.is_number or sympy.count_ops(expression) > 40:
        return expression
    return 0 if sympy.minimal_polynomial(expression, unknown) == unknown else expression


def _expanded_terms(tree: Tree) -> int:
    """Bound how many terms an expansion would have, before it is tried."""
    sizes = [_expanded_terms(argument) for argument in tree.args]
    if tree.op == "+":
        return min(sum(sizes), MAX_TERMS + 1)
    if tree.op == "**":
        exponent = tree.args[1]
        power = abs(
            exponent.args[0].value if exponent.op == "neg" and exponent.args[0].op == "number" else exponent.value or 1
        )
        return (
            min(int(min(sizes[0], 100) ** min(power, 100)), MAX_TERMS + 1)
            if sizes[0] > 1
            else 1
            if power < 10**4
            else MAX_TERMS + 1
        )
    product = 1
    for size in sizes:
        product = min(product * size, MAX_TERMS + 1)
    return product
