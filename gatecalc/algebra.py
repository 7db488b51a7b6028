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


def to_sympy(tree: Tree, values: Mapping[str, Any] | None = None) -> Any:
    """Return the SymPy expression of a scalar formula; names are real symbols unless ``values`` gives them.

    >>> to_sympy(parse("sigmoid(a) + sigmoid(-a)"))
    1/(exp(a) + 1) + 1/(1 + exp(-a))
    """
    values = values or {}
    args = [to_sympy(argument, values) for argument in tree.args]
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
    if tree.op == "call" and tree.value in ELEMENTWISE:
        if tree.value in PRIMITIVES:
            return PRIMITIVES[tree.value](args[0])
        return to_sympy(definition(tree.value), {"a": args[0]})
    raise ValueError(f"'{tree}' is not a scalar formula")
