"""A cell compiled: what is multiplied with what, what lies where, and the calls of one step, forward and backward.

Forward, sums of the same operands are one matrix product: their operands (x, h_prev, and a row of ones for the biases)
lie below one another in one *panel*. What remains is elementwise, on rows of a *slab*.

Backward, what reaches a vector is the sum, over all that read it, of a derivative times what reached them. These
derivatives, the *factors*, hold forward values alone, so they are computed for many steps at once.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from gatecalc.cell import PREVIOUS, Cell
from gatecalc.language import Tree, name, rewrite
from gatecalc.networks.arrays import Call, Operand, Program, Slot, constant, expand, fuse, power_of_two
from gatecalc.networks.graph import ONES, Graph, Sum, graph_of

LAYOUTS = 32  # that are tried
_LATER = Slot("next", 0, 0)  # stands for rows that a state will have
_HANDED_ON = {"next": "now", "panel_next": "panel"}  # where the next step reads what is written there


class Layout(NamedTuple):
    """An order of rows: the sums of each group, and the states that lie before all of them in the slab."""

    sums: tuple[tuple[Sum, ...], ...]
    first: tuple[str, ...]


class Matrix(NamedTuple):
    """Columns of a group's matrix, as they stand in a call: forward, or transposed for the way back."""

    group: int
    start: int
    stop: int
    back: bool


class Group:
    """Sums of the same operands, computed by one product."""

    def __init__(self, sums: list[Sum], operands: tuple[str, ...]) -> None:
        self.sums = sums
        self.operands = operands
        self.rows = Slot("", 0, 0)  # of the delta panel, the same order as in the slab
        self.columns = Slot("panel", 0, 0)
        self.place: Slot | None = None  # where the product is written
        self.scales: list[float] = []


class Plan:
    """The calls of a cell at given widths, in one layout; :func:`shortest_plan` chooses it.

    Args:
        graph: The cell.
        widths: {width letter: number}.
        layout: What the order of rows is, where it may be chosen.

    Attributes:
        groups: The matrix products of a step, in the order in which they are made.
        parameters: {parameter: (group, rows, columns)} inside a group's matrix, or (None, rows, None) for one that acts
            elementwise, as a peephole.
        before_loop: Groups that read the inputs alone, made for all steps at once.
        step: The calls of one forward step.
        factors: The calls that compute the factors, over many steps at once.
        back: The calls of one backward step.
        sizes: Rows of each space.
    """

    def __init__(self, graph: Graph, widths: Mapping[str, int], layout: Layout) -> None:
        cell = self.cell = graph.cell
        self.widths = dict(widths)
        self.output = output_of(cell)
        self.sizes: Counter[str] = Counter()
        self._graph = graph
        self._layout = layout
        self._order = self._graph.order
        self._edges = self._graph.edges
        self._needed = {read for factor in self._edges.values() for read in factor.names()}
        self._forward_reads = Counter(read for formula in self._graph.formulas.values() for read in formula.names())
        self._form_groups()
        self._lay_panel()
        self._lay_slab()
        self._find_states()
        self._forward()
        self._backward()

    def width(self, vector: str) -> int:
        """Return how many rows a vector has."""
        return self.widths[self._graph.widths[vector]]

    def _slot(self, space: str, rows: int) -> Slot:
        self.sizes[space] += rows
        return Slot(space, self.sizes[space] - rows, self.sizes[space])

    # What is multiplied.

    def _form_groups(self) -> None:
        self.groups = [Group(list(sums), tuple(sorted(sums[0].parts))) for sums in self._layout.sums]
        for group in self.groups:
            rows = sum(self.width(each.name) for each in group.sums)
            group.rows = self._slot("delta", rows)

    def _lay_panel(self) -> None:
        """Put the operands below one another so that each group reads neighbouring rows."""
        operands = list(dict.fromkeys(operand for group in self.groups for operand in group.operands))
        orders = itertools.permutations(operands) if len(operands) <= 7 else iter(())
        fitting = next(
            (order for order in orders if all(_together(group.operands, order) for group in self.groups)), None
        )
        layout = list(fitting) if fitting is not None else []
        self.panel: dict[str, list[Slot]] = {}

        def lay(order: Iterable[str]) -> None:
            for operand in order:
                self.panel.setdefault(operand, []).append(
                    self._slot("panel", 1 if operand == ONES else self.width(operand))
                )

        lay(layout)
        for group in self.groups:
            if fitting is None:  # rows of its own for each group: an operand is then written more than once
                start = self.sizes["panel"]
                lay(group.operands)
                group.columns = Slot("panel", start, self.sizes["panel"])
            else:
                slots = [self.panel[operand][0] for operand in group.operands]
                group.columns = Slot("panel", min(slot.start for slot in slots), max(slot.stop for slot in slots))
        for vector in (*self.cell.inputs, self.output + PREVIOUS if self.output in self.cell.states else self.output):
            if vector not in self.panel:
                lay([vector])

    def operand_columns(self, group: Group, operand: str) -> Slot:
        """Return where an operand's columns stand in a group's matrix."""
        slot = next(slot for slot in self.panel[operand] if slot.overlaps(group.columns))
        return Slot("", slot.start - group.columns.start, slot.stop - group.columns.start)

    # Where it lies.

    def _lay_slab(self) -> None:
        """Give every vector its places: rows of the slab, rows of the panel, or both."""
        graph, cell = self._graph, self.cell
        forward_reads = self._forward_reads
        self.places: dict[str, Slot] = {}  # where it is read elementwise
        self._homes: dict[str, list[Slot]] = {}  # where it is written
        for vector in self._order:
            panels = list(self.panel.get(vector, ()))
            if vector in cell.states:
                panels += [slot._replace(space="panel_next") for slot in self.panel.get(vector + PREVIOUS, ())]
            previous = vector + PREVIOUS
            is_read = vector in self._needed or forward_reads[vector] > 0
            is_read_later = vector in cell.states and (previous in self._needed or forward_reads[previous] > 0)
            in_slab = not panels or is_read or is_read_later
            own = _LATER if vector in cell.states else Slot("now", 0, 0)
            self._homes[vector] = [own, *panels] if in_slab else panels
        for vector in (*self._layout.first, *(group.sums[0].name for group in self.groups if len(group.sums) == 1)):
            self._hand_on(vector)
        taken: set[str] = set()
        for group in self.groups:
            start = self.sizes["now"]
            homes = self._homes[group.sums[0].name]
            direct = len(group.sums) == 1 and homes[0].space != "now"
            for each in group.sums:
                if not direct:
                    self._settle(each.name, self._rows_of("now", each.name))
                taken.add(each.name)
            group.place = homes[0] if direct else Slot("now", start, self.sizes["now"])
        for vector in self._order:
            self._hand_on(vector)
            if vector in taken:
                continue
            if self._homes[vector][0].space == "now":
                free = next(
                    (
                        read
                        for read in graph.formulas[vector].names()
                        if read in graph.sums and read in taken and self._is_last_read(read)
                    ),
                    None,
                )
                if free is not None:
                    taken.discard(free)
                    self._settle(vector, self.places[free])
                else:
                    self._settle(vector, self._rows_of("now", vector))
        for vector in self._order:
            self.places.setdefault(vector, self._homes[vector][0])
        for state in cell.states:
            home = next(home for home in self._homes[state] if home.space in _HANDED_ON)
            self.places[state + PREVIOUS] = home._replace(space=_HANDED_ON[home.space])
        for vector in cell.inputs:
            self.places[vector] = self.panel[vector][0]
        for parameter in graph.leaves:
            self.places[parameter] = self._slot("leaf", self.widths[cell.parameters[parameter][0]])

    def _hand_on(self, vector: str) -> None:
        """Give a state the rows of the slab in which the next step reads it, if it is to have some."""
        homes = self._homes[vector]
        self._homes[vector] = [self._rows_of("next", vector) if home == _LATER else home for home in homes]

    def _rows_of(self, space: str, vector: str) -> Slot:
        """Return new rows of the slab."""
        return self._slot("now", self.width(vector))._replace(space=space)

    def _settle(self, vector: str, slot: Slot) -> None:
        self.places[vector] = slot
        if self._homes[vector][0].space == "now":
            self._homes[vector][0] = slot
        else:
            self._homes[vector].insert(0, slot)

    def _is_last_read(self, each: str) -> bool:
        """Tell whether a sum's place may be written over by the one formula that reads it."""
        return each not in self._needed and self._forward_reads[each] == 1 and each not in self.cell.written

    def _find_states(self) -> None:
        """Note where each state is read at a step from the one before: in the slab, the panel or both."""
        self.state_places = {
            state: [
                home._replace(space=_HANDED_ON[home.space]) for home in self._homes[state] if home.space in _HANDED_ON
            ]
            for state in self.cell.states
        }

    # The calls.

    def _forward(self) -> None:
        graph = self._graph
        program = Program("scratch")
        self._scales: dict[str, float] = {}
        formulas = {target: self._scaled(expand(formula)) for target, formula in graph.formulas.items()}
        group_of = {each.name: group for group in self.groups for each in group.sums}
        for group in self.groups:
            group.scales = [self._scales.get(each.name, 1.0) for each in group.sums]
        self.before_loop = [group for group in self.groups if self._is_before_loop(group)]
        done = list(self.before_loop)
        for vector in self._order:
            if vector in graph.sums:
                group = group_of[vector]
                if group in done:
                    continue
                done.append(group)
                assert group.place is not None
                index = self.groups.index(group)
                program.emit(np.matmul, (Matrix(index, 0, group.columns.rows, False), group.columns), group.place)
                written = [each.name for each in group.sums]
            else:
                program.assign(self._homes[vector][0], formulas[vector], self.places)
                written = [vector]
            for each_name in written:
                first, *copies = self._homes[each_name]
                for home in copies:
                    program.emit(np.positive, (first,), home)
        program.pair_terms()
        self.step = fuse(program.calls)
        self.sizes["scratch"] = program.size
        self.parameters: dict[str, tuple[int | None, Slot, Slot | None]] = {}
        for index, group in enumerate(self.groups):
            row = 0
            for each in group.sums:
                rows = Slot("", row, row + self.width(each.name))
                row = rows.stop
                for operand, matrix in each.parts.items():
                    self.parameters[matrix] = index, rows, self.operand_columns(group, operand)
        for parameter in graph.leaves:
            self.parameters[parameter] = None, self.places[parameter], None

    def _is_before_loop(self, group: Group) -> bool:
        given = set(group.operands) <= {ONES, *self.cell.inputs}
        return given and all(
            len(self._homes[each.name]) == 1 and self._homes[each.name][0].space == "now" for each in group.sums
        )

    def _scaled(self, formula: Tree) -> Tree:
        """Let a product's matrix do a multiplication by a power of two, as the half inside sigmoid: that is exact."""
        for each in self._graph.sums:
            if not self._is_last_read(each) or each in self.panel or each not in formula.names():
                continue
            parents = [
                node
                for node in formula.walk()
                if any(argument.op == "name" and argument.value == each for argument in node.args)
            ]
            factors = {_scale_of(node, each) for node in parents}
            if len(factors) == 1 and None not in factors:
                scale = factors.pop()
                assert scale is not None
                self._scales[each] = scale
                formula = rewrite(formula, partial(_replaced, parents=parents, by=name(each)))
        return formula

    def _backward(self) -> None:
        graph, cell = self._graph, self.cell
        sums = [each.name for group in self.groups for each in group.sums]
        factor_slots: dict[Tree, Slot] = {}
        program = Program("factor_scratch")
        for read in [
            *sums,
            *(vector for vector in dict.fromkeys(read for _, read in self._edges) if vector not in sums),
        ]:
            for (consumer, target), factor in self._edges.items():
                if target == read and constant(factor) is None and factor.op != "name" and factor not in factor_slots:
                    factor_slots[factor] = self._slot("factor", self.width(consumer))
                    program.assign(factor_slots[factor], expand(factor), self.places)
        self.factors = fuse(program.calls)
        self.sizes["factor_scratch"] = program.size

        adjoints: dict[str, Slot] = {}
        for group in self.groups:
            row = group.rows.start
            for each in group.sums:
                adjoints[each.name] = Slot("delta", row, row + self.width(each.name))
                row += self.width(each.name)
        consumed = {consumer for consumer, _ in self._edges}
        for vector in (*cell.states, *self._order):
            if vector not in adjoints and (vector in consumed or vector in cell.states or vector == self.output):
                adjoints[vector] = self._slot("adjoint", self.width(vector))
        self.state_adjoints = {
            state: adjoints[state] if state not in graph.sums else self._slot("adjoint", self.width(state))
            for state in cell.states
        }

        self.back = {external: self._calls_back(adjoints, factor_slots, external) for external in (True, False)}

    def _calls_back(self, adjoints: Mapping[str, Slot], factors: Mapping[Tree, Slot], external: bool) -> list[Call]:
        """Return the calls of a backward step, with or without a gradient that is given for its output."""
        back = _Backward(self, adjoints, factors)
        for vector in reversed(self._order):
            if vector in adjoints:
                back.collect(
                    vector, adjoints[vector], self.state_adjoints.get(vector), external and vector == self.output
                )
        for parameter in self._graph.leaves:
            back.collect(parameter, self.places[parameter]._replace(space="leaf_delta"))
        if self.input_is_elementwise:
            back.collect("x", Slot("input_delta", 0, self.width("x")))
        back.carry(self.state_adjoints)
        self.sizes["back_scratch"] = max(self.sizes["back_scratch"], back.program.size)
        return fuse(back.program.calls)

    def input_reads(self) -> Iterator[tuple[int, Slot]]:
        """Yield the groups that read the input, with its columns."""
        for index, group in enumerate(self.groups):
            if "x" in group.operands:
                yield index, self.operand_columns(group, "x")

    @property
    def input_is_elementwise(self) -> bool:
        return any(read == "x" for _, read in self._edges)


class _Backward:
    """Collects, for one vector after another, what reaches it from its readers."""

    def __init__(self, plan: Plan, adjoints: Mapping[str, Slot], factors: Mapping[Tree, Slot]) -> None:
        self.plan = plan
        self.program = Program("back_scratch")
        self.adjoints = adjoints
        self.factors = factors

    def collect(self, vector: str, target: Slot, held: Slot | None = None, external: bool = False) -> None:
        """Append the calls that sum all that reaches ``vector`` into ``target``, with what the next step ``held``."""
        operands: list[Operand] = [held] if held is not None else []
        if external:
            operands.append(Slot("given", 0, self.plan.width(vector)))
        self._sum(operands, list(self._sources(vector)), target)

    def carry(self, states: Mapping[str, Slot]) -> None:
        """Append what each state hands to the step before, in an order in which nothing is overwritten too early."""
        sources = {state: list(self._sources(state + PREVIOUS)) for state in states}
        copies = []
        waiting = list(states)
        while waiting:
            state = next(
                (
                    one
                    for one in waiting
                    if not any(
                        _reads(source, states[one]) for other in waiting if other != one for source in sources[other]
                    )
                ),
                waiting[0],
            )
            waiting.remove(state)
            target = states[state]
            own = sorted(sources[state], key=lambda source: not _reads(source, target))
            blocked = (
                any(_reads(source, target) for other in waiting for source in sources[other])
                or sum(_reads(source, target) for source in own) > 1
            )
            if blocked:
                place = self.program.temp(target.rows)
                copies.append((place, target))
                target = place
            self._sum([], own, target)
        for place, target in copies:
            self.program.emit(np.positive, (place,), target)

    def _sources(self, vector: str) -> Iterator[tuple[Any, Operand]]:
        """Yield (factor or matrix, adjoint) for each edge and each product that reads the vector."""
        for (consumer, read), factor in self.plan._edges.items():
            if read == vector and consumer in self.adjoints:
                number = constant(factor)
                place = (
                    number
                    if number is not None
                    else self.plan.places[factor.value]
                    if factor.op == "name"
                    else self.factors[factor]
                )
                yield place, self.adjoints[consumer]
        for index, group in enumerate(self.plan.groups):
            if vector in group.operands and vector not in self.plan.cell.inputs:
                columns = self.plan.operand_columns(group, vector)
                yield Matrix(index, columns.start, columns.stop, True), group.rows

    def _sum(self, operands: list[Operand], sources: list[tuple[Any, Operand]], target: Slot) -> None:
        """Append the calls for a sum of operands and of products (factor, adjoint)."""
        program = self.program
        if not operands and not sources:
            program.emit(_zero, (), target)
            return
        total: Operand | None = operands[0] if operands else None
        for operand in operands[1:]:
            program.emit(np.add, (total, operand), target)
            total = target
        for factor, adjoint in sources:
            if total is None:
                if factor == 1:
                    program.emit(np.positive, (adjoint,), target)
                else:
                    self._product(factor, adjoint, target)
                total = target
            elif factor in (1, -1):
                program.emit(np.add if factor == 1 else np.subtract, (total, adjoint), target)
                total = target
            else:
                part = program.temp(target.rows)
                self._product(factor, adjoint, part)
                program.emit(np.add, (total, part), target)
                program.release(part)
                total = target
        if total != target:
            program.emit(np.positive, (total,), target)

    def _product(self, factor: Any, adjoint: Operand, out: Slot) -> None:
        if isinstance(factor, Matrix):
            self.program.emit(np.matmul, (factor, adjoint), out)
        elif factor == -1:
            self.program.emit(np.negative, (adjoint,), out)
        else:
            self.program.emit(np.multiply, (adjoint, factor), out)


def output_of(cell: Cell) -> str:
    """Return the vector that a layer hands to what is above it: h where there is one."""
    return "h" if "h" in cell.written else list(cell.written)[-1]


def shortest_plan(cell: Cell, widths: Mapping[str, int]) -> Plan:
    """Return the plan of the layout in which a step, forward and backward, takes the fewest calls."""
    return _shortest(cell, tuple(widths.items()))


@lru_cache(maxsize=64)
def _shortest(cell: Cell, widths: tuple[tuple[str, int], ...]) -> Plan:
    graph = graph_of(cell, output_of(cell))
    plans = (Plan(graph, dict(widths), layout) for layout in itertools.islice(layouts(graph), LAYOUTS))
    return min(plans, key=lambda plan: (len(plan.step) + len(plan.back[False]), len(plan.factors)))


def layouts(graph: Graph) -> Iterator[Layout]:
    """Yield the layouts worth a try: sums that are treated alike stand together, states before them or after."""
    groups: dict[tuple[str, ...], list[Sum]] = {}
    for each in graph.sums.values():
        groups.setdefault(tuple(sorted(each.parts)), []).append(each)
    for orders in itertools.product(*(_orders(graph, sums) for sums in groups.values())):
        for first in itertools.product((False, True), repeat=len(graph.cell.states)):
            yield Layout(orders, tuple(itertools.compress(graph.cell.states, first)))


def _orders(graph: Graph, sums: list[Sum]) -> list[tuple[Sum, ...]]:
    """Return the orders in which the fewest neighbours are treated differently, forward or backward."""
    if len(sums) > 6:
        return [tuple(sums)]
    alike = {}
    for each in sums:
        reader = next((formula for formula in graph.formulas.values() if each.name in formula.names()), None)
        treatment = str(reader).replace(each.name, "") if reader is not None else ""
        alike[each.name] = treatment, frozenset(consumer for consumer, read in graph.edges if read == each.name)

    def breaks(order: Iterable[Sum]) -> int:
        return sum(
            a != b for one, other in itertools.pairwise(order) for a, b in zip(alike[one.name], alike[other.name])
        )

    counted = [(breaks(order), order) for order in itertools.permutations(sums)]
    least = min(count for count, _ in counted)
    return [order for count, order in counted if count == least]


def _zero(out: Any) -> None:
    out[...] = 0


def _reads(source: tuple[Any, Operand], slot: Slot) -> bool:
    return slot.overlaps(source[1])


def _replaced(node: Tree, parents: list[Tree], by: Tree) -> Tree | None:
    return by if node in parents else None


def _together(operands: Iterable[str], order: tuple[str, ...]) -> bool:
    positions = [order.index(operand) for operand in operands]
    return max(positions) - min(positions) == len(positions) - 1


def _scale_of(node: Tree, each: str) -> float | None:
    """Return c where the node is ``c * each`` and c is a power of two."""
    if node.op != "*" or len(node.args) != 2:
        return None
    numbers = [constant(argument) for argument in node.args if not (argument.op == "name" and argument.value == each)]
    return numbers[0] if len(numbers) == 1 and numbers[0] is not None and power_of_two(numbers[0]) else None
