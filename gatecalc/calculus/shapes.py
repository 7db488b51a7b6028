"""Whether a formula is a sum of words over the names of a cell, and whether its shapes fit.

What is refused is refused with its place: an unknown name, a vector where a matrix is needed, ``r * U @ h`` without its
parentheses, two matrices that cannot be multiplied. A term that fits together but not the Jacobian is not an error: it
is a wrong term.
"""

from __future__ import annotations

from collections.abc import Iterable

from gatecalc.calculus.jacobian import Jacobian
from gatecalc.calculus.words import factors, terms
from gatecalc.cell import CONSTANTS, is_matrix
from gatecalc.elementwise import ELEMENTWISE
from gatecalc.errors import GatecalcError, closest
from gatecalc.language import Source, Tree

Shape = tuple[str | None, str | None]  # rows and columns; None fits any width


class Reader:
    """Checks that a formula is a sum of words over the names of a cell, and that its shapes fit."""

    def __init__(self, derived: Jacobian, source: Source) -> None:
        self.derived = derived
        self.source = source
        self.widths = derived.unrolled.widths
        self.parameters = derived.cell.parameters
        self.matrices = {each: (shape[0], shape[1]) for each, shape in self.parameters.items() if len(shape) == 2}
        self.vectors = {label for label in self.widths if label.isidentifier()}

    def refuse(self, node: Tree, message: str, help: str | None = None) -> GatecalcError:
        return GatecalcError(message, self.source.place(node.at), help)

    def check(self, formula: Tree) -> list[str]:
        """Refuse what is not a sum of words; return which of its terms do not fit the Jacobian."""
        derived = self.derived
        expected: Shape = derived.shape
        if any(node.op == "name" and node.value == "delta" for node in formula.walk()):
            if not derived.by_weight:
                raise self.refuse(formula, "name: 'delta' belongs to the gradient by a matrix", "derive by one, as U_f")
            expected = self.matrices[derived.input]
        misfits = []
        for term in terms(formula):
            shape = self.shape(term)
            if not _fit(shape, expected):
                what = f"d {derived.output} / d {derived.input}"
                misfits.append(f"{term} is {_by(shape)}, and {what} is {_by(expected)}")
        return misfits

    def shape(self, node: Tree) -> Shape:
        """Return the rows and columns of a sum of words."""
        op, args = node.op, node.args
        if op == "+":
            shapes = [self.shape(term) for term in args]
            for term, shape in zip(args[1:], shapes[1:], strict=True):
                if not _fit(shapes[0], shape):
                    raise self.refuse(
                        term,
                        f"shape: cannot add {_by(shape)} to {_by(shapes[0])}",
                        "each term has the rows of the output, and the columns of the input",
                    )
            return max(shapes, key=lambda shape: sum(each is not None for each in shape))
        if op == "neg":
            return self.shape(args[0])
        if op == "@":
            return self._product(node)
        if op == "*":
            rest = [factor for factor in args if not _is_number(factor)]
            if len(rest) != 1:
                first, second = (str(each) for each in (rest or args)[:2])
                raise self.refuse(
                    node,
                    f"syntax: '*' is elementwise, and '{first}' and '{second}' are not both vectors in a 'diag'",
                    f"write '{_as_matrix(first)} @ {_as_matrix(second)}'",
                )
            return self.shape(rest[0])
        if op == "/" and _is_number(args[1]):
            return self.shape(args[0])
        if op == "number":
            if node.value:
                raise self.refuse(
                    node, f"shape: the number {node} stands where a matrix is needed", f"write '{node} * I'"
                )
            return None, None
        if op == "call" and node.value == "diag" and len(args) == 1:
            width = self.width(args[0])
            return width, width
        if op == "call" and node.value in ELEMENTWISE:
            raise self.refuse(
                node, f"shape: the vector '{node}' stands where a matrix is needed", f"write 'diag({node})'"
            )
        if op == "attribute" and node.value == "T":
            try:
                return "1", self.width(args[0])
            except GatecalcError:  # no vector, so a matrix
                rows, columns = self.shape(args[0])
                return columns, rows
        if op == "name":
            return self._name(node)
        raise self.refuse(
            node, f"syntax: '{node}' is not part of a sum of words", "write it with diag(...), matrices, @ + -"
        )

    def _product(self, node: Tree) -> Shape:
        left, right = node.args
        if left.op == "*" and is_matrix(str(left.args[-1])) and not all(map(_is_number, left.args[:-1])):
            first = " * ".join(str(factor) for factor in left.args[:-1])
            raise self.refuse(
                node,
                f"syntax: '{node}' reads as '({left}) @ {right}'",
                f"write 'diag({first}) @ {left.args[-1]} @ {right}'",
            )
        last = factors(left)[-1:]
        if last and last[0].op == "name" and last[0].value == self.derived.differential:
            rows, columns = self.shape(left)
            width = self.width(right)
            if width not in (None, columns):
                raise self._misfit(node, left, columns, right, width)
            return rows, "1"
        (rows, inner), (outer, columns) = self.shape(left), self.shape(right)
        if inner is not None and outer is not None and inner != outer:
            raise self._misfit(node, left, inner, right, outer)
        return rows or (outer if inner is None else None), columns or (inner if outer is None else None)

    def _misfit(self, node: Tree, left: Tree, inner: str | None, right: Tree, outer: str | None) -> GatecalcError:
        one, other = factors(left)[-1], factors(right)[0] if right.op == "@" else right
        return self.refuse(
            other,
            f"shape: cannot multiply {one} ({inner} columns) by {other} ({outer} rows)",
            "the columns of a matrix are as many as the rows of the next",
        )

    def _name(self, node: Tree) -> Shape:
        text = node.value
        if text == "I":
            return None, None
        if text in self.matrices:
            return self.matrices[text]
        if text == self.derived.differential:
            return self.matrices[self.derived.input]
        if text == "delta":
            return self.derived.unrolled.widths[self.derived.output], "1"
        for label in self.derived.where:
            if text == self.derived.reference(label):
                return self.widths[label], self.derived.shape[1]
        if text in self.vectors:
            raise self.refuse(
                node, f"shape: the vector '{text}' stands where a matrix is needed", f"write 'diag({text})'"
            )
        raise self._unknown(node, [*self.matrices, "I", *self.derived.named, *self.vectors])

    def _unknown(self, node: Tree, known: Iterable[str]) -> GatecalcError:
        over = f" over {self.derived.steps} steps" if self.derived.steps > 1 else ""
        names = ", ".join(sorted(self.vectors - set(self.parameters)))
        return self.refuse(
            node,
            f"name: '{node.value}' is not part of {self.derived.cell.name}{over}{closest(node.value, known)}",
            f"its vectors are {names}"[:200],
        )

    def width(self, node: Tree) -> str | None:
        """Return the width of an elementwise formula; None for a number."""
        op, args = node.op, node.args
        if op == "number" or (op == "name" and node.value in CONSTANTS):
            return None
        if op == "name":
            if node.value in self.matrices:
                raise self.refuse(
                    node,
                    f"shape: the matrix '{node.value}' stands where a vector is needed",
                    f"multiply it by one, as in '{node.value} @ x'",
                )
            if node.value not in self.vectors:
                raise self._unknown(node, self.vectors)
            return self.widths[node.value]
        if op == "@":
            return self._vector_product(node)
        if op == "call" and node.value not in ELEMENTWISE:
            raise self.refuse(
                node,
                f"name: unknown function '{node.value}'{closest(node.value, ELEMENTWISE)}",
                "known are " + ", ".join(ELEMENTWISE),
            )
        if op not in ("+", "*", "/", "**", "neg", "call"):
            raise self.refuse(node, f"syntax: '{node}' is not an elementwise formula", "write it with + - * / **")
        width, first = None, args[0]
        for argument in args:
            other = self.width(argument)
            if width is not None and other is not None and other != width:
                raise self.refuse(
                    argument,
                    f"shape: {first} is {width} wide, and {argument} is {other} wide",
                    "multiply one of them by a matrix first",
                )
            width, first = (width, first) if width is not None else (other, argument)
        return width

    def _vector_product(self, node: Tree) -> str:
        left, right = node.args
        if left.op == "*" and is_matrix(str(left.args[-1])):
            first = " * ".join(str(factor) for factor in left.args[:-1])
            raise self.refuse(
                node,
                f"syntax: '{node}' reads as '({left}) @ {right}'",
                f"write '{first} * ({left.args[-1]} @ {right})'",
            )
        if left.op != "name" or left.value not in self.matrices:
            raise self.refuse(left, f"syntax: '{left}' is not a matrix", f"it has {', '.join(self.matrices)}")
        (rows, columns), width = self.matrices[left.value], self.width(right)
        if width not in (None, columns):
            raise self._misfit(node, left, columns, right, width)
        return rows


def _is_number(tree: Tree) -> bool:
    return not tree.names() and all(node.op in ("number", "neg", "*", "/", "**", "+") for node in tree.walk())


def _as_matrix(text: str) -> str:
    return text if is_matrix(text) or text.startswith("diag(") else f"diag({text})"


def _fit(one: Shape, other: Shape) -> bool:
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


def _by(shape: Shape) -> str:
    return " by ".join(each or "any" for each in shape)
