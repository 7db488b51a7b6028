"""A cell's own equation, to hold the equation that a document displays against it.

Both are computed at widths 2 and 3 with a symbol for every element of every vector and matrix, and compared by algebra,
so that ``U_n @ (r * h_prev)`` and ``r * (U_n @ h_prev)`` are told apart, and the order of a sum does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping

from gatecalc.cell import Cell, is_matrix
from gatecalc.cell import cell as find_cell
from gatecalc.elementwise import ELEMENTWISE
from gatecalc.errors import GatecalcError, closest
from gatecalc.language import Source, Tree, parse
from gatecalc.numbers.precise import ALGEBRA, EXACT, Real, apply, arithmetic
from gatecalc.numbers.verdicts import Judgement, difference

SIZES = {"D": 3, "H": 2, "P": 3}

Vector = tuple[Real, ...]  # of one element: a number, which goes with every element of another
Matrix = list[Vector]


class Equation:
    """One equation of a cell, as it is written in the cell's text.

    Attributes:
        name: What it computes.
        text: The right side.
    """

    readable = ("name", "text")

    def __init__(self, cell: Cell, name: str) -> None:
        if name not in cell.written:
            raise GatecalcError(
                f"name: '{cell.name}' has no equation for '{name}'{closest(name, cell.written)}",
                help=f"it has {', '.join(cell.written)}",
            )
        self.cell = cell
        self.name = name
        self.text = str(cell.written[name])

    def __str__(self) -> str:
        return self.text

    def compare_formula(self, stated: Source) -> Judgement:
        """Return ``exact`` when a stated equation is this one for every weight and input, else where they differ."""
        tree = parse(stated)
        if tree == self.cell.written[self.name]:
            return Judgement(EXACT, EXACT)
        found = _Symbolic(self.cell, stated).vector(tree)
        own = _Symbolic(self.cell, Source(self.text)).vector(self.cell.written[self.name])
        if len(found) != len(own):
            return Judgement("wrong", ALGEBRA, self.text, f"it has not the width of {self.name}")
        for one, other in zip(found, own, strict=True):
            gap = difference(one, other)
            if gap is not None:
                return Judgement("wrong", ALGEBRA, self.text, gap)
        return Judgement(EXACT, ALGEBRA)


def equation(cell: str | Cell, name: str) -> Equation:
    """Return a cell's equation for one of its vectors.

    Raises:
        GatecalcError: For an unknown cell or vector.

    >>> equation("gru", "h").compare_formula(Source("h_prev + z * (n - h_prev)")).verdict
    'exact'
    >>> equation("gru", "n").compare_formula(Source("tanh(W_n @ x + r * (U_n @ h_prev) + b_n)")).verdict
    'wrong'
    """
    return Equation(find_cell(cell), name)


class _Symbolic:
    """A formula of a cell computed with symbols."""

    def __init__(self, cell: Cell, source: Source) -> None:
        self.shapes: Mapping[str, tuple[str, ...]] = {
            **{name: (width,) for name, width in cell.widths.items()},
            **cell.parameters,
        }
        self.source = source

    def vector(self, tree: Tree) -> Vector:
        try:
            return self._vector(tree)
        except GatecalcError as error:
            raise error.at(self.source.place(tree.at)) from None

    def _vector(self, tree: Tree) -> Vector:
        if tree.op == "number":
            return (Real.number(tree.value),)
        if tree.op == "name":
            if is_matrix(tree.value):
                raise GatecalcError(f"shape: '{tree.value}' is a matrix", help=f"multiply it, '{tree.value} @ x'")
            return tuple(Real.symbol(f"{tree.value}_{row}") for row in range(self.sizes(tree.value)[0]))
        if tree.op == "@":
            vector = self.vector(tree.args[1])
            matrix = self.matrix(tree.args[0])
            if len(matrix[0]) != len(vector):
                raise GatecalcError(
                    f"shape: '{tree}' multiplies a matrix by a vector that does not fit it",
                    help="see its shapes: gatecalc show",
                )
            return tuple(arithmetic("+", tuple(m * v for m, v in zip(row, vector, strict=True))) for row in matrix)
        args = [self.vector(argument) for argument in tree.args]
        widths = {len(argument) for argument in args} - {1}
        if len(widths) > 1:
            raise GatecalcError(
                f"shape: '{tree}' joins vectors of different widths", help="see its shapes: gatecalc show"
            )
        width = max(widths, default=1)
        columns = [argument * width if len(argument) == 1 else argument for argument in args]
        if tree.op == "call":
            if tree.value not in ELEMENTWISE or len(args) != 1:
                raise GatecalcError(
                    f"name: unknown function '{tree.value}'{closest(tree.value, ELEMENTWISE)}",
                    help="known are " + ", ".join(ELEMENTWISE),
                )
            return tuple(apply(tree.value, element) for element in columns[0])
        return tuple(arithmetic(tree.op, elements) for elements in zip(*columns, strict=True))

    def matrix(self, tree: Tree) -> Matrix:
        if tree.op != "name" or len(self.shapes.get(tree.value, ())) != 2:
            raise GatecalcError(f"shape: '{tree}' is not a matrix of the cell", help="write 'W_f @ x'")
        rows, columns = self.sizes(tree.value)
        return [tuple(Real.symbol(f"{tree.value}_{row}_{column}") for column in range(columns)) for row in range(rows)]

    def sizes(self, name: str) -> list[int]:
        if name not in self.shapes:
            raise GatecalcError(
                f"name: the cell has no '{name}'{closest(name, self.shapes)}", help="it has " + ", ".join(self.shapes)
            )
        return [SIZES[letter] for letter in self.shapes[name]]
