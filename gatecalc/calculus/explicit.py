"""A Jacobian written out entry by entry by SymPy: an exact second opinion, at widths up to 3.

SymPy is given the cell's equations with one symbol for each entry, and derives each entry of the output by each entry
of the input. It knows nothing of words. The derived formula, written out in the same symbols, has to be the same
polynomial.
"""

from __future__ import annotations

from typing import Any

import sympy

from gatecalc.calculus.derivatives import ZERO
from gatecalc.calculus.jacobian import Jacobian
from gatecalc.calculus.words import IDENTITY, is_diag
from gatecalc.errors import GatecalcError
from gatecalc.language import Tree, name, rewrite
from gatecalc.numbers.algebra import symbol, to_sympy

MAX_WIDTH = 3
MAX_STEPS = 2  # SymPy multiplies everything out

Entries = dict[str, list[Any]]  # {label: one expression for each entry, or rows of them}


def explicit_jacobian(jacobian: Jacobian, width: int) -> list[list[str]]:
    """Return the entries of a Jacobian as SymPy derives them, all vectors being ``width`` wide.

    Raises:
        GatecalcError: For a width above 3, for a weight, and if the formula and SymPy disagree.

    >>> from gatecalc.calculus.jacobian import jacobian
    >>> explicit_jacobian(jacobian("lstm", "c", "c_prev"), 2)
    [['f_0', '0'], ['0', 'f_1']]
    """
    if not 1 <= width <= MAX_WIDTH:
        raise GatecalcError(f"limit: entries are written out for widths 1 to {MAX_WIDTH}, not {width}", help="take 2")
    if jacobian.steps > MAX_STEPS:
        raise GatecalcError(
            f"limit: entries are written out for 1 to {MAX_STEPS} steps, not {jacobian.steps}", help="take fewer steps"
        )
    if jacobian.by_weight:
        raise GatecalcError(
            f"format: the derivative by the weight '{jacobian.input}' has three indices",
            help="derive by a vector, or read the words as the change of the output",
        )
    matrix, names = derived_by_sympy(jacobian, width)
    ours = sympy.Matrix(written_out(jacobian, width))
    if any(sympy.expand(entry) != 0 for entry in matrix - ours):
        raise GatecalcError("check: SymPy derives another matrix", help="this is a fault of gatecalc: please report it")
    return [[str(entry.xreplace(names)) for entry in matrix.row(i)] for i in range(width)]


def derived_by_sympy(jacobian: Jacobian, width: int) -> tuple[Any, dict[Any, Any]]:
    """Return SymPy's own Jacobian, in terms of what is given, and {value of a function: the symbol of its vector}."""
    entries = _entries(jacobian, width)
    by = entries[jacobian.input]
    rows = [[sympy.diff(output, each) for each in by] for output in entries[jacobian.output]]
    names = {
        value: symbol(f"{label}_{k}")
        for label, node in jacobian.unrolled.nodes.items()
        if node.function and label != jacobian.input and label.isidentifier()
        for k, value in enumerate(entries[label])
    }
    base = _held(jacobian, entries)
    names = {value.xreplace(base): each for value, each in names.items()}
    return sympy.Matrix(rows).xreplace(base), names


def written_out(jacobian: Jacobian, width: int) -> list[list[Any]]:
    """Return the derived words as a matrix of expressions, in terms of what is given."""
    entries = _entries(jacobian, width)
    identity = [[sympy.Integer(int(i == j)) for j in range(width)] for i in range(width)]
    named: dict[str, Any] = {}

    def write(word: Tree) -> Any:
        if word.op == "+":
            return sum((write(term) for term in word.args[1:]), write(word.args[0]))
        if word.op == "neg":
            return -write(word.args[0])
        if word.op == "@":
            return write(word.args[0]) * write(word.args[1])
        if word == ZERO:
            return sympy.zeros(width, width)
        if is_diag(word):
            return sympy.diag(*_vector(word.args[0], entries, width))
        if word == IDENTITY:
            return sympy.Matrix(identity)
        return named[word.value] if word.value in named else sympy.Matrix(entries[word.value])

    for reference, formula in jacobian.named.items():
        named[reference] = write(formula)
    matrix: list[list[Any]] = write(jacobian.formula).tolist()
    base = _held(jacobian, entries)
    return [[entry.xreplace(base) for entry in row] for row in matrix]


def _held(jacobian: Jacobian, entries: Entries) -> dict[Any, Any]:
    """Return {symbol of what was held fixed while deriving: its value}."""
    held = {each for node in jacobian.unrolled.nodes.values() for each in node.held}
    found: dict[Any, Any] = {}
    for label in jacobian.unrolled.nodes:
        if label in held:
            found |= {symbol(f"{label}_{k}"): value.xreplace(found) for k, value in enumerate(entries[label])}
    return found


def _entries(jacobian: Jacobian, width: int) -> Entries:
    """Return every vector and matrix as expressions in the symbols of what is given and of the input."""
    entries: Entries = {}
    for label in jacobian.unrolled.widths:
        if label.isidentifier():
            entries[label] = [symbol(f"{label}_{k}") for k in range(width)]
    for label, shape in jacobian.cell.parameters.items():
        if len(shape) == 2:
            entries[label] = [[symbol(f"{label}_{i}{j}") for j in range(width)] for i in range(width)]
    for label, node in jacobian.unrolled.nodes.items():
        if label != jacobian.input:
            held = {each: [symbol(f"{each}_{k}") for k in range(width)] for each in node.held}
            entries[label] = _vector(node.formula, entries | held, width)
    return entries


def _vector(formula: Tree, entries: Entries, width: int) -> list[Any]:
    """Return the entries of an elementwise formula, its products with matrices written out."""
    products: Entries = {}

    def replace(node: Tree) -> Tree | None:
        if node.op != "@":
            return None
        text = str(node)
        if text not in entries:
            operand = str(node.args[1])  # known where it is a vector of the cell, with what is held fixed in it
            vector = entries[operand] if operand in entries else _vector(node.args[1], entries, width)
            rows = entries[node.args[0].value]
            products[text] = [sum(a * b for a, b in zip(row, vector, strict=True)) for row in rows]
        return name(text)

    scalar = rewrite(formula, replace)
    read = {text: (entries | products)[text] for text in scalar.names() if text != "pi"}
    return [to_sympy(scalar, {text: value[k] for text, value in read.items()}, whole=True) for k in range(width)]
