"""A cell written out over its steps: one node for each vector of each step, and what the derivative of each is.

A node of one step is named as in the cell, ``c``, what it reads from the step before as ``c_prev``, and over several
steps as ``c_1``, ``c_2``, ...; ``c_0`` is what the first step is given. Parts without a name of their own are known by
their text, ``U_n @ (r_2 * h_1)``. A node has an edge from each vector that a change can come through:

- ``y = e(v1, ..., vk)``: an edge from each ``v`` with ``diag(de/dv)``, of which the derivative of a function around the
  whole of ``e`` is common to all (``outer``);
- ``y = M v``: one edge, with ``M``.

Which previous states carry a change to the next step is what tells the local path from the total one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import NamedTuple

from gatecalc.calculus.derivatives import ONE, ZERO, derivative, rule, tidy
from gatecalc.calculus.words import diag
from gatecalc.cell import PREVIOUS, Cell, Elementwise, Product
from gatecalc.language import Tree, name, parse, substitute

MAX_STEPS = 1_000


class Edge(NamedTuple):
    """A vector that is read, and the matrix by which a change of it comes through."""

    source: str
    factor: Tree


class Node(NamedTuple):
    """One vector at one step.

    Attributes:
        label: Its name.
        formula: What it is, with parts written out.
        outer: The derivative of the function around the whole formula; 1 where there is none.
        edges: From the vectors that it reads, in the order in which their terms are printed.
        function: The function around the whole formula, or None.
        matrix: The matrix of ``y = M v``, or None.
        held: Previous states that it reads and that are held fixed.
        reads: All else that it reads.
    """

    label: str
    formula: Tree
    outer: Tree
    edges: tuple[Edge, ...]
    function: str | None
    matrix: str | None
    held: tuple[str, ...]
    reads: tuple[str, ...]


class Unrolled:
    """A cell over steps ``first`` to ``steps``.

    Attributes:
        nodes: {label: node}, in an order in which they can be computed.
        widths: {label: width}, of every node and of everything that is given.
    """

    def __init__(self, cell: Cell, steps: int, first: int, carried: Collection[str]) -> None:
        self.cell = cell
        self.steps = steps
        self.nodes: dict[str, Node] = {}
        self.widths: dict[str, str] = {parameter: shape[0] for parameter, shape in cell.parameters.items()}
        for step in range(first, steps + 1):
            self._add_step(step, carried)

    def label(self, vector: str, step: int) -> str:
        """Return the name of a vector of the cell (``c``, ``c_prev``, ``x``) at a step.

        >>> from gatecalc.cell import cell
        >>> Unrolled(cell("rnn"), 1, 1, ["h"]).label("h_prev", 1), Unrolled(cell("rnn"), 2, 1, ["h"]).label("h_prev", 2)
        ('h_prev', 'h_1')
        """
        if vector in self.cell.parameters:
            return vector
        if vector.endswith(PREVIOUS):
            vector, step = vector.removesuffix(PREVIOUS), step - 1
        if self.steps == 1:
            return vector + PREVIOUS * (1 - step)
        return f"{vector}_{step}" if step >= 0 else f"{vector}_0{PREVIOUS * -step}"

    def _add_step(self, step: int, carried: Collection[str]) -> None:
        cell = self.cell
        plain = {vector: name(self.label(vector, step)) for vector in _vectors(cell)}
        written_out = plain | {part: substitute(tree, plain) for part, tree in _parts(cell).items()}
        labels = {vector: str(tree) for vector, tree in written_out.items()}
        for vector, width in cell.widths.items():
            self.widths[labels[vector]] = width
        held_back = {s + PREVIOUS for s in cell.states if s not in carried}
        for template in _templates(cell):
            edges = tuple(
                Edge(labels.get(edge.source, edge.source), _moved(edge.factor, written_out))
                for edge in template.edges
                if edge.source not in held_back
            )
            label = labels[template.label]
            self.nodes[label] = Node(
                label,
                _moved(template.formula, written_out),
                _moved(template.outer, written_out),
                edges,
                template.function,
                template.matrix,
                tuple(labels[each] for each in template.reads if each in held_back),
                tuple(labels.get(each, each) for each in template.reads if each not in held_back),
            )

    def changed_by(self, source: str) -> dict[str, Node]:
        """Return the nodes that a change of a vector or of a weight comes to, in order; the vector itself is held."""
        reached = {source}
        found = {}
        for label, node in self.nodes.items():
            if label != source and (node.matrix == source or any(edge.source in reached for edge in node.edges)):
                reached.add(label)
                found[label] = node
        return found

    def reads(self, source: str) -> set[str]:
        """Return the labels of all nodes that are computed from the source, whatever the derivative is."""
        reached = {source}
        for label, node in self.nodes.items():
            if node.matrix == source or any(read in reached for read in node.reads):
                reached.add(label)
        return reached


def _moved(tree: Tree, names: Mapping[str, Tree]) -> Tree:
    return substitute(tree, names)


def _vectors(cell: Cell) -> list[str]:
    """Return the vectors of a step that have a name of their own."""
    return [vector for vector in cell.widths if vector.isidentifier()]


@lru_cache(maxsize=64)
def _parts(cell: Cell) -> dict[str, Tree]:
    """Return the parts without a name of their own, by their text."""
    return {vector: parse(vector) for vector in cell.widths if not vector.isidentifier()}


@lru_cache(maxsize=64)
def _templates(cell: Cell) -> tuple[Node, ...]:
    """Return the nodes of one step, in the cell's own names: each is differentiated once."""
    return tuple(_template(equation) for equation in cell.equations)


def _template(equation: Elementwise | Product) -> Node:
    if isinstance(equation, Product):
        edge = Edge(equation.vector, name(equation.matrix))
        formula = Tree("@", (name(equation.matrix), name(equation.vector)))
        return Node(equation.name, formula, ONE, (edge,), None, equation.matrix, (), (equation.vector,))
    formula, outer, function, inner = equation.formula, ONE, None, equation.formula
    if formula.op == "call":
        function, inner = formula.value, formula.args[0]
        outer = tidy(rule(function, inner, name(equation.name)))
    partials = [(read, derivative(inner, read, None if function else equation.name)) for read in _in_order(inner)]
    reads = set(equation.reads)
    edges = [Edge(read, diag(partial)) for read, partial in partials if partial != ZERO and read in reads]
    return Node(
        equation.name, formula, outer, () if outer == ZERO else tuple(edges), function, None, (), tuple(equation.reads)
    )


def _in_order(formula: Tree) -> list[str]:
    """Order the vectors as the author's terms: what stands in several of them, a gate that blends, comes last."""
    written = formula.args if formula.op == "+" else (formula,)
    found = [set(term.names()) for term in written]
    return sorted(formula.names(), key=lambda vector: sum(vector in names for names in found))
