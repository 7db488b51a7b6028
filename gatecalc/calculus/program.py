"""A Jacobian as a program: one NumPy function that depends on nothing else.

The program is written from the tree of the formula, with names that have been checked; no text of a user's is copied
into it. It computes the vectors that the formula names from the leaf arrays, by the cell's own equations, and returns
the matrix.
"""

from __future__ import annotations

import keyword

from gatecalc.calculus.jacobian import Jacobian
from gatecalc.calculus.words import IDENTITY, factors, is_diag
from gatecalc.cell import CONSTANTS
from gatecalc.elementwise import ELEMENTWISE
from gatecalc.errors import GatecalcError
from gatecalc.language import Tree, decimal_text, parse

PRIMITIVES = {
    "exp": "np.exp",
    "log": "np.log",
    "sqrt": "np.sqrt",
    "tanh": "np.tanh",
    "sin": "np.sin",
    "cos": "np.cos",
    "atan": "np.arctan",
    "abs": "np.abs",
    "erf": "np.vectorize(math.erf)",
    "step": "np.heaviside",
}


def numpy_program(jacobian: Jacobian) -> str:
    """Return the text of a function ``jacobian(a)`` of a dictionary of leaf arrays, which returns the matrix.

    Raises:
        GatecalcError: For a weight as input, whose derivative is not a matrix.

    >>> from gatecalc.calculus.jacobian import jacobian
    >>> print(numpy_program(jacobian("rnn", "h", "h_prev")).split("def ")[1].splitlines()[-1].strip())
    return np.diag(1 - h**2) @ U
    """
    if jacobian.by_weight:
        raise GatecalcError(
            f"format: the derivative by the weight '{jacobian.input}' has three indices and is not a matrix",
            help="use its gradient, which '--format text' prints",
        )
    return _Writer(jacobian).text()


class _Writer:
    def __init__(self, jacobian: Jacobian) -> None:
        self.jacobian = jacobian
        self.widths = jacobian.unrolled.widths
        self.leaves: dict[str, str] = {}  # {label: its width}, in order of first use
        self.computed: dict[str, Tree] = {}
        self.functions: dict[str, str] = {}
        for formula in (*jacobian.named.values(), jacobian.formula):
            self._need(formula)

    def _need(self, formula: Tree) -> None:
        """Note what a formula reads, what that is computed from first."""
        given = self.jacobian.given
        for text in formula.names():
            if text in self.leaves or text in self.computed or text in CONSTANTS or text in self.jacobian.named:
                continue
            if text == "I":
                continue
            if text not in given and text in self.jacobian.unrolled.nodes:
                equation = self.jacobian.unrolled.nodes[text].formula
                self._need(equation)
                self.computed[text] = equation
            else:
                self.leaves[text] = self.widths[text]
        for node in formula.walk():
            if node.op == "call" and not is_diag(node):
                self._function(node.value)

    def _function(self, function: str) -> None:
        row = ELEMENTWISE[function]
        if function in self.functions or (function in PRIMITIVES and function not in ("erf", "step")):
            return
        if function == "erf":
            self.functions[function] = "erf = np.vectorize(math.erf)"
        elif function == "step":
            self.functions[function] = "def step(v):\n    return np.where(v > 0, 1.0, 0.0)"
        else:
            body = parse(row.stable or row.definition or "a")
            for node in body.walk():
                if node.op == "call":
                    self._function(node.value)
            self.functions[function] = f"def {function}(v):\n    return {self.vector(body, {'a': 'v'})}"

    def text(self) -> str:
        """Return the program."""
        jacobian = self.jacobian
        matrix = self.matrix(jacobian.formula, self.widths[jacobian.output])
        named = [
            f"{reference} = {self.matrix(formula, self.widths[label])}"
            for label, (reference, formula) in zip(jacobian.where, jacobian.named.items(), strict=True)
        ]
        shapes = "".join(f"\n    {label} {self._shape(label)}" for label in self.leaves)
        body = [
            *(f'{_safe(label)} = np.asarray(a["{label}"], dtype=float)' for label in self.leaves),
            *(f"{_safe(label)} = {self.vector(formula)}" for label, formula in self.computed.items()),
            *named,
            f"return {matrix}",
        ]
        what = f"d {jacobian.output} / d {jacobian.input} of {jacobian.cell.name}"
        parts = [
            f'"""{what}, the {jacobian.path} path. Needs NumPy alone."""',
            "\n".join(["import math\n"] * ("erf" in self.functions) + ["import numpy as np"]),
            *self.functions.values(),
            "def jacobian(a):\n"
            f'    """Return J[i, j] = d {jacobian.output}[i] / d {jacobian.input}[j], from a dictionary of arrays:\n'
            f'{shapes}\n    """\n' + "\n".join(f"    {line}" for line in body),
        ]
        return "\n\n".join(parts[:2]) + "\n\n\n" + "\n\n\n".join(parts[2:]) + "\n"

    def _shape(self, label: str) -> str:
        shape = self.jacobian.cell.parameters.get(label) or (self.widths[label],)
        return f"({', '.join(shape)}{',' * (len(shape) == 1)})"

    def _length(self, width: str) -> str:
        """Write the length of some vector of that width."""
        known = [label for label in (*self.leaves, *self.computed) if label not in self._matrices]
        more = [label for label in self.jacobian.given if label.isidentifier() and label not in self._matrices]
        label = next(label for label in (*known, self.jacobian.input, *sorted(more)) if self.widths[label] == width)
        if label not in self.computed:
            self.leaves[label] = width
        return f"len({_safe(label)})"

    def _eye(self, width: str) -> str:
        return f"np.eye({self._length(width)})"

    @property
    def _matrices(self) -> list[str]:
        return [label for label, shape in self.jacobian.cell.parameters.items() if len(shape) == 2]

    def matrix(self, tree: Tree, rows: str) -> str:
        """Write a sum of words that has so many rows."""
        if tree.op == "+":
            parts = [self.matrix(tree.args[0], rows)]
            for term in tree.args[1:]:
                negative, inner = (True, term.args[0]) if term.op == "neg" else (False, term)
                text = self._factor(inner, rows) if inner.op == "+" else self.matrix(inner, rows)
                parts.append((" - " if negative else " + ") + text)
            return "".join(parts)
        if tree.op == "neg":
            return f"-{self._factor(tree.args[0], rows)}"
        if tree.op == "number":
            return f"np.zeros(({self._length(rows)}, {self._length(self.widths[self.jacobian.input])}))"
        word = []
        for factor in factors(tree) or [IDENTITY]:
            word.append(self._factor(factor, rows))
            rows = self._columns(factor, rows)
        return " @ ".join(word)

    def _columns(self, factor: Tree, rows: str) -> str:
        if factor.op == "name" and factor.value in self._matrices:
            return self.jacobian.cell.parameters[factor.value][1]
        if factor.op == "name" and factor.value in self.jacobian.named:
            return self.widths[self.jacobian.input]
        if factor.op in ("+", "@"):
            first = factor.args[0] if factor.op == "+" else factor
            for inner in factors(first.args[0] if first.op == "neg" else first):
                rows = self._columns(inner, rows)
        return self._columns(factor.args[0], rows) if factor.op == "neg" else rows

    def _factor(self, factor: Tree, rows: str) -> str:
        if factor == IDENTITY:
            return self._eye(rows)
        if is_diag(factor):
            entries = self.vector(factor.args[0])
            has_vector = any(text not in CONSTANTS for text in factor.args[0].names())
            return f"np.diag({entries})" if has_vector else f"(({entries}) * {self._eye(rows)})"
        if factor.op == "name":
            return _safe(factor.value)
        if factor.op == "neg" and is_diag(factor.args[0]):
            return f"-{self._factor(factor.args[0], rows)}"
        return f"({self.matrix(factor, rows)})"

    def vector(self, tree: Tree, names: dict[str, str] | None = None) -> str:
        """Write an elementwise formula."""
        return _python(tree, names or {})[0]


def _python(tree: Tree, names: dict[str, str]) -> tuple[str, int]:
    """Return an elementwise formula and its precedence: 1 a sum, 2 a product, 3 a sign, 4 a power, 5 an atom."""
    op, args = tree.op, tree.args
    if op == "number":
        return decimal_text(tree.value), 5
    if op == "name":
        return names.get(tree.value) or ("np.pi" if tree.value == "pi" else _safe(tree.value)), 5
    if op == "call":
        function = (
            PRIMITIVES[tree.value] if tree.value in PRIMITIVES and tree.value not in ("erf", "step") else tree.value
        )
        return f"{function}({_python(args[0], names)[0]})", 5
    if op == "+":
        text = _inside(args[0], 2, names)
        for term in args[1:]:
            negative = term.op == "neg"
            text += (" - " if negative else " + ") + _inside(term.args[0] if negative else term, 2, names)
        return text, 1
    if op == "neg":
        return f"-{_inside(args[0], 3, names)}", 3
    if op == "**":
        return f"{_inside(args[0], 5, names)}**{_inside(args[1], 3, names)}", 4
    first, *rest = args
    sign = {"*": " * ", "/": " / ", "@": " @ "}[op]
    return sign.join([_inside(first, 3 if op == "@" else 2, names), *(_inside(each, 3, names) for each in rest)]), 2


def _inside(tree: Tree, precedence: int, names: dict[str, str]) -> str:
    text, own = _python(tree, names)
    return text if own >= precedence else f"({text})"


def _safe(label: str) -> str:
    """Return a name that Python, NumPy and the program itself do not use."""
    taken = keyword.iskeyword(label) or label in ("a", "np", "math", "jacobian", "len", "float") or label in ELEMENTWISE
    return label + "_" if taken else label
