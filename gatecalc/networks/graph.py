"""A cell as a graph: what is computed from what, and the derivative on each edge.

Sums such as ``W_f @ x + U_f @ h_prev + b_f`` are made whole, since one product computes them. The derivatives are those
of :func:`gatecalc.calculus.derivatives.partials` and no others. A vector that is read in one place only is eliminated,
by multiplying the factors before and after it: for the LSTM, ``c_prev * f * (1 - f)`` leads from c to the sum inside f.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import NamedTuple

from gatecalc.calculus.derivatives import partials
from gatecalc.cell import Cell, Elementwise, Product, is_bias
from gatecalc.language import Tree, add, multiply, name, rewrite
from gatecalc.networks.arrays import constant

ONES = "1"  # the row of ones that biases multiply


class Sum(NamedTuple):
    """``W_f @ x + U_f @ h_prev + b_f``: {operand: matrix}, with the bias under the row of ones."""

    name: str
    parts: dict[str, str]


class Graph:
    """The cell with its sums made whole.

    Attributes:
        sums: {name: sum}.
        formulas: {vector: elementwise formula over vectors, sums and elementwise parameters}.
        edges: {(vector, what it reads): derivative}.
        order: Sums and vectors as they are computed.
        leaves: Parameters that act elementwise.
        widths: {name: width letter}.
    """

    def __init__(self, cell: Cell, apart: set[str]) -> None:
        self.cell = cell
        self.sums: dict[str, Sum] = {}
        self.formulas: dict[str, Tree] = {}
        self.widths = dict(cell.widths)
        self._products = {each.name: each for each in cell.equations if isinstance(each, Product)}
        self._uses = Counter(
            node.value
            for each in cell.equations
            if isinstance(each, Elementwise)
            for node in each.formula.walk()
            if node.op == "name"
        )
        self._apart = apart
        self._inside: dict[str, str] = {}  # {product or bias: the sum that it is in}
        for each in cell.equations:
            if isinstance(each, Elementwise):
                self.formulas[each.name] = rewrite(each.formula, partial(self._whole, target=each.name))
        for product in self._products.values():
            if product.name not in self._inside:
                self.sums[product.name] = Sum(product.name, {product.vector: product.matrix})
        self.edges: dict[tuple[str, str], Tree] = {}
        self.conflicts: set[str] = set()
        self._differentiate()
        inside = {parameter for each in self.sums.values() for parameter in each.parts.values()}
        self.leaves = [parameter for parameter in cell.parameters if parameter not in inside]

    def _whole(self, node: Tree, target: str) -> Tree | None:
        """Turn the products and the bias of a sum into one name."""
        if node.op != "+":
            return None
        parts: dict[str, str] = {}
        names: list[str] = [term.value if self._is_inside(term) else "" for term in node.args]
        inside = []
        for each in names:
            product = self._products.get(each)
            if product is not None and product.vector not in parts:
                parts[product.vector] = product.matrix
                inside.append(each)
        bias = next((each for each in names if is_bias(each)), None)
        if not inside or (len(inside) == 1 and bias is None):
            return None
        if bias is not None:
            parts[ONES] = bias
            inside.append(bias)
        whole = " + ".join(inside)
        self.sums[whole] = Sum(whole, parts)
        self.widths[whole] = self.widths[target]
        self._inside.update(dict.fromkeys(inside, whole))
        rest = [
            rewrite(term, partial(self._whole, target=target))
            for term, each in zip(node.args, names)
            if each not in inside
        ]
        return add(name(whole), *rest)

    def _is_inside(self, term: Tree) -> bool:
        """Tell whether a term may be part of a sum: read once, and no vector of the cell's own."""
        own = term.value in self.cell.written or term.value in self._apart
        return term.op == "name" and self._uses[term.value] == 1 and not own

    def _differentiate(self) -> None:
        """Take the partial derivatives over, in terms of the sums."""
        members: dict[str, set[str]] = {}
        for part, whole in self._inside.items():
            members.setdefault(whole, set()).add(part)

        def change(node: Tree) -> Tree | None:
            if node.op != "+":
                return None
            names = {term.value for term in node.args if term.op == "name"}
            for whole, parts in members.items():
                if parts <= names:
                    rest = [
                        rewrite(term, change) for term in node.args if not (term.op == "name" and term.value in parts)
                    ]
                    return change(add(name(whole), *rest)) or add(name(whole), *rest)
            return None

        for (target, read), derivative in partials(self.cell).items():
            factor = rewrite(derivative, change)
            whole = self._inside.get(read, read)
            edge = (target, whole)
            self.conflicts |= {part for part in factor.names() if part in self._inside}
            if constant(factor) == 0 and factor.op == "number":
                continue
            if whole != read and self.edges.setdefault(edge, factor) != factor:
                self.conflicts.add(read)
            self.edges[edge] = factor

    @property
    def order(self) -> list[str]:
        """Sums and vectors in the order in which they can be computed."""
        found: list[str] = []
        reads = {target: formula.names() for target, formula in self.formulas.items()}
        for each in self.sums.values():
            reads[each.name] = [operand for operand in each.parts if operand != ONES]

        def visit(vector: str) -> None:
            if vector in found or vector not in reads:
                return
            for read in reads[vector]:
                visit(read)
            found.append(vector)

        for vector in [*self.cell.widths, *reads]:
            visit(vector)
        return found

    def name_calls(self) -> None:
        """Name a function's value that a derivative reads too, as tanh(c), so that it is computed once."""
        inner = {node for formula in self.formulas.values() for node in formula.walk() if node.op == "call"}
        named = {formula: target for target, formula in self.formulas.items() if formula.op == "call"}
        for factor in self.edges.values():
            for node in factor.walk():
                if node in inner and node not in named:
                    named[node] = str(node)

        def change(node: Tree) -> Tree | None:
            return name(named[node]) if node in named else None

        formulas: dict[str, Tree] = {}
        for target, formula in self.formulas.items():
            for node in formula.walk():
                if node in named and named[node] not in self.formulas and named[node] not in formulas:
                    formulas[named[node]] = node
                    self.widths[named[node]] = self.widths[target]
            formulas[target] = formula if named.get(formula) == target else rewrite(formula, change)
        self.formulas = formulas
        self.edges = {edge: rewrite(factor, change) for edge, factor in self.edges.items()}

    def eliminate(self, output: str) -> None:
        """Leave out each vector that one other reads and no product, joining the factors before and after it."""
        edges = dict(self.edges)
        kept = {*self.cell.states, output, *(operand for each in self.sums.values() for operand in each.parts)}
        for vector in reversed(list(self.formulas)):
            consumers = [consumer for consumer, read in edges if read == vector]
            if vector in kept or vector in self.sums or len(consumers) > 1:
                continue
            own = {read: edges.pop((vector, read)) for _, read in [edge for edge in edges if edge[0] == vector]}
            if consumers:
                before = edges.pop((consumers[0], vector))
                for read, factor in own.items():
                    joined = _times(factor, before)  # f * (1 - f) first: gates that stand together are then one call
                    edge = (consumers[0], read)
                    edges[edge] = add(edges[edge], joined) if edge in edges else joined
        self.edges = edges


def _times(one: Tree, other: Tree) -> Tree:
    if constant(one) == 1:
        return other
    return one if constant(other) == 1 else multiply(one, other)


def graph_of(cell: Cell, output: str) -> Graph:
    """Return the graph; a sum whose parts turn out to have different derivatives is taken apart again."""
    apart: set[str] = set()
    while True:
        graph = Graph(cell, apart)
        if not graph.conflicts - apart:
            graph.name_calls()
            graph.eliminate(output)
            return graph
        apart |= graph.conflicts
