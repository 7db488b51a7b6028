"""Jacobians of a cell: any of its vectors by any other, or by a weight, over one step or several.

Two rules do everything, on a cell written out over its steps (:mod:`gatecalc.calculus.unrolled`)::

    y = e(v1, ..., vk)      dy = sum diag(de/dv) dv
    y = M v                 dy = M dv      (and dM v, where M itself is what changes)

They are applied once to each vector, in the order in which the vectors are computed. A vector that several others
read keeps a name of its own, ``J_h_1``, until it is clear that it is needed in one place only: so the work and the
result are linear in the steps. What was applied where is the explanation; there is no second algorithm.

    jacobian(cell, output, input, path="local", steps=1) -> Jacobian      # derived
    derive(...) -> Derivation                                             # and checked by number, and printed

The layout is ``J[i, j] = d output_i / d input_j``, so that ``d output = J d input``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from gatecalc.calculus.derivatives import ONE, ZERO, tidy
from gatecalc.calculus.unrolled import MAX_STEPS, Node, Unrolled
from gatecalc.calculus.words import IDENTITY, Algebra, chain, diag, factors, is_diag, paths, total
from gatecalc.cell import PREVIOUS, Cell, is_matrix
from gatecalc.cell import cell as load
from gatecalc.elementwise import ELEMENTWISE
from gatecalc.errors import GatecalcError, closest, integer, text
from gatecalc.language import Tree, name, parse, substitute

MAX_DEPTH = 40  # of a formula that is printed as one; beyond, its parts keep their names
MAX_PATHS = 256  # words that are listed

PATHS = ("local", "total")


class Entry(NamedTuple):
    """One step of a derivation: the rule that was applied to one equation, and what came out.

    Attributes:
        vector: The vector.
        equation: What it is.
        rule: The rule, by its name.
        differential: The rule applied: the change of the vector in terms of the changes of what it reads.
        result: Its Jacobian with respect to the input, in terms of those found before.
    """

    vector: str
    equation: Tree
    rule: str
    differential: Tree
    result: Tree


class Jacobian:
    """The derivative of one vector of a cell by another.

    Attributes:
        cell: The cell.
        output: The vector, as its label: ``c``, or ``c_2`` over two steps.
        input: What it is derived by, as its label: ``c_prev``, ``c_0``, or ``U_f``.
        path: ``local`` or ``total``.
        steps: How many steps it goes through.
        formula: The Jacobian; 0 where there is none. For a weight, the change of the output: words ``A @ dU @ v``.
        where: Parts that are needed more than once, {label: formula}, each in terms of those before.
        log: How it was found.
        why_zero: Why the formula is 0, else "".
    """

    def __init__(self, cell: Cell, output: str, input: str, path: str = "local", steps: int = 1) -> None:
        if path not in PATHS:
            raise GatecalcError(f"name: unknown path '{path}'{closest(path, PATHS)}", help="it is local or total")
        if not 1 <= steps <= MAX_STEPS:
            raise GatecalcError(
                f"limit: {steps} steps; from 1 to {MAX_STEPS} can be derived",
                help="take fewer steps" if steps > 1 else "take 1 or more",
            )
        self.cell = cell
        self.path = path
        self.steps = steps
        vector, step = _at_step(input, cell, steps)
        carried = [vector] if step is not None and vector in cell.states and path == "local" else cell.states
        self.unrolled = Unrolled(cell, steps, 0 if step == 0 and path == "total" else 1, carried)
        self.output = self._resolve(output, steps, "OUTPUT")
        self.input = self._resolve(input, 1, "INPUT")
        self.by_weight = is_matrix(self.input)
        self._nodes: dict[str, Node] = {}  # those on the way from the input to the output
        self._linear = {self.input}  # what a change comes to through no function; its terms are printed first
        self.log: list[Entry] = []
        self.where: dict[str, Tree] = {}
        self.references: dict[str, str] = {}
        self._reference = "J_" if not any(each.startswith("J_") for each in cell.parameters) else "JJ_"
        self.formula = self._derive()
        self.why_zero = self._why_zero() if self.formula == ZERO else ""

    def _resolve(self, vector: str, step: int, what: str) -> str:
        """Return the label of a vector that is given by its name in the cell, or by its label."""
        cell, widths = self.cell, self.unrolled.widths
        if vector in cell.parameters:
            if what == "OUTPUT":
                raise GatecalcError(
                    f"name: '{vector}' is a weight, which nothing changes", help="derive a vector by it"
                )
            return vector
        earlier = vector.removesuffix(PREVIOUS)
        if vector in cell.widths or (self.path == "total" and earlier in cell.widths):
            return self.unrolled.label(vector, step)
        if self.steps > 1 and vector in widths:
            return vector
        known = [*cell.widths, *(cell.parameters if what == "INPUT" else [])]
        names = ", ".join(each for each in known if each.isidentifier())
        help = f"its {'names' if what == 'INPUT' else 'vectors'} are {names}"
        raise GatecalcError(f"name: '{vector}' is not part of {cell.name}{closest(vector, known)}", help=help)

    @property
    def shape(self) -> tuple[str, str]:
        """Rows and columns, as ``("H", "D")``; for a weight, those of the change of the output: one column."""
        rows = self.unrolled.widths[self.output]
        return rows, "1" if self.by_weight else self.unrolled.widths[self.input]

    @property
    def differential(self) -> str | None:
        """The name of the change of the weight, ``dU_f``, if it is derived by one."""
        return "d" + self.input if self.by_weight else None

    def reference(self, label: str) -> str:
        """Return the name of a vector's own Jacobian: ``J_h_1``."""
        if label not in self.references:
            parts = sum(not each.isidentifier() for each in self.references)
            self.references[label] = self._reference + (label if label.isidentifier() else f"part_{parts + 1}")
        return self.references[label]

    # The derivation.

    def _derive(self) -> Tree:
        unrolled, input = self.unrolled, self.input
        if self.output == input:
            return IDENTITY
        nodes = self._needed(unrolled.changed_by(input))
        if self.output not in nodes:
            return ZERO
        self._nodes = nodes
        readers: dict[str, int] = {}
        for node in nodes.values():
            for edge in node.edges:
                readers[edge.source] = readers.get(edge.source, 0) + 1
        named = {label for label in nodes if readers.get(label, 0) > 1}
        found: dict[str, dict[Tree, Tree]] = {}
        for label, node in nodes.items():
            found[label] = self._apply(node, found, named)
            self._record(node, nodes, found[label])
            if any(_depth(word) > MAX_DEPTH for word in found[label].values()):
                named.add(label)  # a long chain is printed in parts
        return self._assembled({label: found[label] for label in nodes if label in named or label == self.output})

    def _needed(self, nodes: dict[str, Node]) -> dict[str, Node]:
        """Return those of the nodes that the output is computed from."""
        needed = {self.output}
        for label in reversed(nodes):
            if label in needed:
                needed.update(edge.source for edge in nodes[label].edges)
        return {label: node for label, node in nodes.items() if label in needed}

    def _apply(self, node: Node, found: Mapping[str, Mapping[Tree, Tree]], named: set[str]) -> dict[Tree, Tree]:
        """Apply a rule: return {what the change comes from: the matrix by which it comes}.

        It comes from the input, from the change of a weight, or from a vector whose Jacobian has a name.
        """
        parts: dict[Tree, list[Tree]] = {}
        for edge in sorted(node.edges, key=lambda edge: edge.source not in self._linear):
            if edge.source == self.input or edge.source in named:
                parts.setdefault(self._symbol(edge.source), []).append(edge.factor)
            elif edge.source in found:
                for symbol, word in found[edge.source].items():
                    parts.setdefault(symbol, []).append(chain(edge.factor, word))
        if node.matrix == self.input:
            parts.setdefault(self._weight_changes(node), []).append(IDENTITY)
        if node.function is None and all(
            edge.source in self._linear or edge.source not in found for edge in node.edges
        ):
            self._linear.add(node.label)
        sums = {symbol: chain(diag(node.outer), total(*_direct_first(words))) for symbol, words in parts.items()}
        return {symbol: word for symbol, word in sums.items() if word != ZERO}

    def _symbol(self, label: str) -> Tree:
        return IDENTITY if label == self.input else name(self.reference(label))

    def _weight_changes(self, node: Node) -> Tree:
        """Return ``dU @ v`` for the node ``U @ v``."""
        return Tree("@", (name(f"d{self.input}"), node.formula.args[1]))

    def _record(self, node: Node, nodes: Mapping[str, Node], result: Mapping[Tree, Tree]) -> None:
        changes = [
            Tree("@", (edge.factor, _change(edge.source))) if edge.factor != IDENTITY else _change(edge.source)
            for edge in node.edges
            if edge.source in nodes or edge.source == self.input
        ]
        if node.matrix == self.input:
            changes.append(self._weight_changes(node))
        inner = Tree("+", tuple(changes)) if len(changes) > 1 else changes[0]
        differential = Tree("@", (diag(node.outer), inner)) if node.outer != ONE else inner
        whole = total(*_direct_first([chain(word, symbol) for symbol, word in result.items()]))
        self.log.append(Entry(node.label, node.formula, _rule_name(node), tidy(differential), tidy(whole)))

    def _assembled(self, found: dict[str, dict[Tree, Tree]]) -> Tree:
        """Put the Jacobians that are needed once, or are short, in the places of their names."""
        uses: dict[Tree, int] = {}
        for parts in found.values():
            for symbol in parts:
                uses[symbol] = uses.get(symbol, 0) + 1
        values: dict[Tree, Tree] = {}
        for label, parts in found.items():
            first = _direct_first(list(parts.values()))
            symbols = sorted(parts, key=lambda symbol: first.index(parts[symbol]))
            whole = total(*(chain(parts[symbol], values.get(symbol, symbol)) for symbol in symbols))
            if label == self.output:
                return tidy(whole)
            symbol = self._symbol(label)
            is_short = whole.op != "+" and len(factors(whole)) <= 1
            if is_short or (uses.get(symbol) == 1 and _depth(whole) <= MAX_DEPTH):
                values[symbol] = whole
            else:
                self.where[label] = tidy(whole)
        raise AssertionError(self.output)

    # What can be said about it.

    def _why_zero(self) -> str:
        output, input = self.output, self.input
        if output not in self.unrolled.nodes:
            return f"{output} is given, not computed: it is held fixed"
        if output in self.unrolled.reads(input):
            calls = (node for each in self.unrolled.nodes.values() for node in each.formula.walk() if node.op == "call")
            flat = next((call.value for call in calls if ELEMENTWISE[call.value].derivative == "0"), None)
            return f"the derivative of {flat} is 0 wherever it has one" if flat else "its terms cancel"
        held = sorted({each for node in self.unrolled.nodes.values() for each in node.held})
        if held and output in Unrolled(self.cell, self.steps, 0, self.cell.states).reads(input):
            are = "are" if len(held) > 1 else "is"
            return f"{' and '.join(held)} {are} held fixed; --path total has the path through what was held"
        return f"no equation of {self.cell.name} leads from {input} to {output}"

    @property
    def kinks(self) -> list[str]:
        """What is taken for the derivative where it jumps, for each function on the way that has kinks."""
        functions = {
            call.value
            for node in self._nodes.values()
            for call in node.formula.walk()
            if call.op == "call" and ELEMENTWISE[call.value].kinks
        }
        return [f"the derivative of {each} is taken as {ELEMENTWISE[each].kinks}" for each in sorted(functions)]

    @property
    def definitions(self) -> dict[str, Tree]:
        """What the names in the formula stand for: those of the nodes; the input is free."""
        nodes = self.unrolled.nodes.items()
        return {label: node.formula for label, node in nodes if label != self.input and label.isidentifier()}

    @cached_property
    def given(self) -> set[str]:
        """The labels of what the first step is given: the nodes of the step before, and what no equation computes."""
        nodes = self.unrolled.nodes
        before = set(list(nodes)[: len(self.cell.equations)]) if self.path == "total" else set()
        return before | (set(self.unrolled.widths) - set(nodes))

    @cached_property
    def named(self) -> dict[str, Tree]:
        """The Jacobians that have a name, {"J_h_1": formula}."""
        return {self.reference(label): formula for label, formula in self.where.items()}

    def algebra(self, inline: bool = True) -> Algebra:
        """Return the normal form in which formulas for this Jacobian are compared."""
        return Algebra(self.definitions, self.named, self.differential, inline)

    def paths(self, limit: int = MAX_PATHS) -> list[Tree]:
        """Return the words of the formula, one for each path of the chain rule, every named part in its place.

        Raises:
            GatecalcError: When there are more than ``limit``.
        """
        return [tidy(word) for word in paths(substitute(self.formula, self.named_paths(limit)), limit)]

    def named_paths(self, limit: int = MAX_PATHS) -> dict[str, Tree]:
        """Return the named Jacobians multiplied out, none in terms of another."""
        inlined: dict[str, Tree] = {}
        for reference, formula in self.named.items():
            words = paths(substitute(formula, inlined), limit)
            inlined[reference] = Tree("+", tuple(words)) if len(words) > 1 else words[0]
        return inlined

    def __repr__(self) -> str:
        return f"Jacobian({self.formula})"


def _at_step(label: str, cell: Cell, steps: int) -> tuple[str, int | None]:
    """Take ``c_prev``, or ``c_0`` over several steps, apart into the vector and the step that it belongs to."""
    if label.endswith(PREVIOUS):
        return label.removesuffix(PREVIOUS), 0
    vector, _, number = label.rpartition("_")
    return (vector, int(number)) if steps > 1 and vector in cell.widths and number.isdigit() else (label, None)


def _direct_first(words: list[Tree]) -> list[Tree]:
    """Put the paths that lead through no matrix first; the author's order is kept otherwise."""
    return sorted(words, key=lambda word: not all(is_diag(factor) for factor in factors(_unsigned(word))))


def _unsigned(word: Tree) -> Tree:
    return word.args[0] if word.op == "neg" else word


def _depth(tree: Tree) -> int:
    return 1 + max(map(_depth, tree.args), default=0)


def _change(label: str) -> Tree:
    """Return the change of a vector: ``d(h_prev)``."""
    return Tree("call", (name(label) if label.isidentifier() else parse(label),), "d")


def _rule_name(node: Node) -> str:
    """Name the rule that a node's derivative comes from."""
    if node.matrix:
        return "product with a constant matrix"
    if node.function:
        return (
            f"chain rule; {node.function} has the derivative {ELEMENTWISE[node.function].derivative}, y being its value"
        )
    kinds = {"+": "sum rule", "*": "product rule", "/": "quotient rule", "**": "power rule", "neg": "sum rule"}
    inner = {child.op for child in node.formula.walk()} & {"*", "/", "**"}
    rule = kinds.get(node.formula.op, "identity")
    return "sum and product rules" if rule == "sum rule" and inner else rule


def jacobian(cell: Cell | str, output: str, input: str, path: str = "local", steps: int = 1) -> Jacobian:
    """Derive a vector of a cell by another one, or by a weight.

    Args:
        cell: A cell, its name, or the path of its file.
        output: The vector that changes: ``c``, ``h``, ``z``; over several steps, that of the last one.
        input: What it is derived by: a previous state (``c_prev``, before the first step), ``x``, a gate (of the first
            step), a bias or a weight (of every step).
        path: ``local`` holds the other previous states fixed; with ``total`` the input acts through them too.
        steps: How many steps.

    Raises:
        GatecalcError: For a name that is not part of the cell, and for what has no derivative.

    >>> jacobian("lstm", "c", "c_prev").formula
    Tree('diag(f)')
    >>> jacobian("gru", "h", "h_prev").formula.args[1]
    Tree('diag(z * (1 - n**2)) @ U_n @ (diag(r) + diag(h_prev * r * (1 - r)) @ U_r)')
    """
    for value, what in ((output, "the output"), (input, "the input"), (path, "the path")):
        text(value, what)
    return Jacobian(load(cell), output, input, path, integer(steps, "steps"))
