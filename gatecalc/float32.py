"""Single precision as a C program computes it: every operation rounded, in the order in which it is written.

Arrays of float32 round each operation of NumPy's as C rounds it on a machine without extended precision. What C takes
from its mathematical library (``expf``, ``tanhf``, ``sqrtf``) is the double precision result, rounded once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gatecalc.arrays import PRIMITIVES
from gatecalc.elementwise import ELEMENTWISE
from gatecalc.errors import GatecalcError, closest
from gatecalc.language import Tree, parse, substitute

Array = npt.NDArray[Any]
Functions = Mapping[str, Tree]  # {function: a program's own formula for it, of ``a``}


def evaluate(tree: Tree, values: Mapping[str, Any], functions: Functions, dtype: Any = np.float32) -> Any:
    """Return the value of an elementwise formula, each operation rounded to ``dtype``, from left to right.

    Args:
        tree: Its sums and products are taken in the order written.
        values: {name: array}.
        functions: The program's own formulas, where it has some.

    >>> float(evaluate(parse("(1 - e) / (1 + e)"), {"e": np.float32(0.1)}, {}))
    0.8181818127632141
    """
    if tree.op == "number":
        return dtype(tree.value.numerator) if tree.value.denominator == 1 else dtype(float(tree.value))
    if tree.op == "name":
        if tree.value in values:
            return values[tree.value]
        if tree.value == "pi":
            return dtype(np.pi)
        raise GatecalcError(f"name: '{tree.value}' has no value{closest(tree.value, values)}")
    if tree.op == "call":
        return call(tree.value, evaluate(tree.args[0], values, functions, dtype), functions, dtype)
    if tree.op == "+":
        return total(tree.args, lambda term: evaluate(term, values, functions, dtype))
    args = [evaluate(argument, values, functions, dtype) for argument in tree.args]
    if tree.op == "*":
        product = args[0]
        for factor in args[1:]:
            product = product * factor
        return product
    if tree.op == "neg":
        return -args[0]
    if tree.op == "/":
        return args[0] / args[1]
    if tree.op == "**":
        return np.asarray(np.float64(args[0]) ** np.float64(args[1]), dtype)[()]
    raise GatecalcError(f"syntax: '{tree.op}' is not arithmetic")


def total(terms: tuple[Tree, ...], value: Any) -> Any:
    """Return a sum, one term after another; a negated term is subtracted."""
    result = value(terms[0])
    for term in terms[1:]:
        result = result - value(term.args[0]) if term.op == "neg" else result + value(term)
    return result


def call(function: str, argument: Any, functions: Functions, dtype: Any = np.float32) -> Any:
    """Return a function's value: by the program's formula, or rounded from double precision."""
    if function in functions:
        return evaluate(functions[function], {"a": argument}, functions, dtype)
    if function in PRIMITIVES:
        wide = np.asarray(argument, np.float64)
        return PRIMITIVES[function](wide, np.empty_like(wide)).astype(dtype)[()]
    if function not in ELEMENTWISE:
        raise GatecalcError(f"name: unknown function '{function}'{closest(function, ELEMENTWISE)}")
    body = parse(ELEMENTWISE[function].definition or "")
    return evaluate(substitute(body, {}), {"a": argument}, functions, dtype)
