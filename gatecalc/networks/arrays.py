"""How a formula runs on NumPy: a list of ufunc calls with their outputs given, nothing allocated.

A formula is read as a graph in which equal parts are one node, and becomes one :class:`Call` after another on slots,
which are rows of memory that :mod:`gatecalc.networks.layer` turns into views. No text is generated, and nothing is
executed but NumPy's own functions, looked up by name in one table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from gatecalc.elementwise import ELEMENTWISE
from gatecalc.language import Tree, parse, rewrite


class Slot(NamedTuple):
    """Rows of a place in memory: which array, and from where to where."""

    space: str
    start: int
    stop: int

    @property
    def rows(self) -> int:
        return self.stop - self.start

    def overlaps(self, other: object) -> bool:
        return (
            isinstance(other, Slot)
            and self.space == other.space
            and self.start < other.stop
            and other.start < self.stop
        )


Operand = Slot | float


class Call(NamedTuple):
    """``function(*args, out)``; an argument with fewer rows than ``out`` is repeated over blocks of them."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    out: Slot

    def reads(self, slot: Slot) -> bool:
        return any(slot.overlaps(argument) for argument in self.args)


def _step(a: Any, out: Any) -> Any:
    return np.heaviside(a, 0, out)


def _erf(a: Any, out: Any) -> Any:
    out[...] = np.reshape([math.erf(number) for number in np.ravel(a)], np.shape(a))
    return out


PRIMITIVES: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "atan": np.arctan,
    "erf": _erf,
    "abs": np.absolute,
    "step": _step,
}
_EXACT = {
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "tanh": math.tanh,
    "sin": math.sin,
    "cos": math.cos,
    "atan": math.atan,
    "erf": math.erf,
}
_FOLD: dict[str, Callable[..., float]] = {**_EXACT, "abs": abs, "step": lambda a: float(a > 0)}

_OPERATORS: dict[str, Callable[..., float]] = {"neg": lambda a: -a, "/": lambda a, b: a / b, "**": lambda a, b: a**b}


def expand(tree: Tree) -> Tree:
    """Return the formula in primitives, each function in its stable form."""

    def change(node: Tree) -> Tree | None:
        if node.op != "call" or node.value in PRIMITIVES:
            return None
        row = ELEMENTWISE[node.value]
        body, argument = parse(row.stable or row.definition or ""), expand(node.args[0])
        return expand(rewrite(body, lambda part: argument if part.op == "name" and part.value == "a" else None))

    return rewrite(tree, change)


def constant(tree: Tree) -> float | None:
    """Return the value of a formula without vectors, else None."""
    if tree.op == "number":
        return float(tree.value)
    if tree.op == "name":
        return math.pi if tree.value == "pi" else None
    if tree.op == "call" and tree.value not in PRIMITIVES:
        return constant(expand(tree))
    args = [constant(argument) for argument in tree.args]
    if None in args:
        return None
    values: list[Any] = args
    if tree.op == "+":
        return float(sum(values))
    if tree.op == "*":
        return float(math.prod(values))
    if tree.op == "call":
        return _FOLD[tree.value](*values)
    return float(_OPERATORS[tree.op](*values))


class Program:
    """Calls in the making: formulas are appended, temporary places are shared."""

    def __init__(self, temporary: str) -> None:
        self.calls: list[Call] = []
        self.temporary = temporary
        self.size = 0  # rows of temporary space in use at most
        self._free: list[Slot] = []
        self._sides: dict[int, Slot] = {}  # {rows of a term: the place of two of them, read at once}

    def temp(self, rows: int) -> Slot:
        """Return a free temporary place."""
        for slot in self._free:
            if slot.rows == rows:
                self._free.remove(slot)
                return slot
        self.size += rows
        return Slot(self.temporary, self.size - rows, self.size)

    def release(self, slot: Operand) -> None:
        if isinstance(slot, Slot) and slot.space == self.temporary and slot not in self._free:
            self._free.append(slot)

    def emit(self, function: Callable[..., Any], args: tuple[Any, ...], out: Slot) -> None:
        self.calls.append(Call(function, args, out))

    def assign(self, target: Slot, tree: Tree, places: Mapping[str, Slot]) -> None:
        """Append the calls that compute a formula into ``target``."""
        _Assignment(self, target, places).run(expand(tree))

    def pair_terms(self) -> None:
        """Compute the two terms of a sum in one call where they read neighbouring rows: ``[f; i] * [c_prev; g]``.

        Their values then lie side by side in temporary rows, from which they are added.
        """
        place = 0
        while place < len(self.calls):
            total = self.calls[place]
            if total.function in (np.add, np.subtract):
                one, other = (self._made_for(place, term) for term in total.args)
                if one is not None and other is not None:
                    place -= self._pair(place, one, other)
            place += 1

    def _made_for(self, place: int, term: Operand) -> int | None:
        """Return the call that makes a term, if nothing else reads the term and its operands stay until the sum."""
        if not isinstance(term, Slot):
            return None
        calls = self.calls
        writers = [index for index, call in enumerate(calls) if call.out.overlaps(term)]
        made = max((index for index in writers if index < place), default=None)
        if made is None or calls[made].out != term:
            return None
        between = calls[made + 1 : place]
        end = min((index for index in writers if index >= place), default=None)
        lost = term.space == self.temporary if end is None else calls[end].out == term
        others = between + calls[place + 1 : None if end is None else end + 1]
        if not lost or any(call.reads(term) for call in others) or any(calls[made].reads(call.out) for call in between):
            return None
        return made

    def _pair(self, place: int, one: int, other: int) -> int:
        """Join the calls of two terms, if they can be; return how many calls that saves."""
        calls, total = self.calls, self.calls[place]
        rows = total.out.rows
        if max(one, other) != place - 1 or one == other:
            return 0
        side = self._sides.setdefault(rows, Slot(self.temporary, self.size, self.size + 2 * rows))
        halves = side._replace(stop=side.start + rows), side._replace(start=side.start + rows)
        for left, right in (halves, halves[::-1]):
            first, second = calls[one]._replace(out=left), calls[other]._replace(out=right)
            joined = _joined(first, second) or _joined(second, first)
            if joined is not None:
                self.size = max(self.size, side.stop)
                calls[place] = total._replace(args=(left, right))
                calls[max(one, other)] = joined
                del calls[min(one, other)]
                return 1
        return 0


class _Assignment:
    """One formula: its distinct parts, how often each is still to be read, and where it lies."""

    def __init__(self, program: Program, target: Slot, places: Mapping[str, Slot]) -> None:
        self.program = program
        self.target = target
        self.places = places
        self.uses: dict[Tree, int] = {}
        self.values: dict[Tree, Operand] = {}
        self.in_target: Tree | None = None
        self.pending = 0  # reads still to come of what stands in the target's place before this formula is computed

    def run(self, tree: Tree) -> None:
        self._count(tree)
        self.uses[tree] += 1
        self.pending = sum(
            count
            for node, count in self.uses.items()
            if node.op == "name" and self.target.overlaps(self.places.get(node.value))
        )
        value = self._value(tree, root=True)
        if value != self.target:
            self.program.emit(np.positive, (value,), self.target)

    def _count(self, tree: Tree) -> None:
        """Count how often each part is read, exactly as it will be."""
        for part in _parts(tree):
            seen = part in self.uses
            self.uses[part] = self.uses.get(part, 0) + 1
            if not seen:
                self._count(part)
        self.uses.setdefault(tree, 0)

    def _value(self, tree: Tree, root: bool = False) -> Operand:
        known = constant(tree)
        if known is not None:
            return known
        if tree.op == "name":
            return self.places[tree.value]
        if tree not in self.values:
            self.values[tree] = self._compute(tree, root)
        return self.values[tree]

    def _compute(self, tree: Tree, root: bool) -> Operand:
        if tree.op == "+":
            return self._fold(tree, _positive_first(tree.args), np.add, np.subtract, root)
        if tree.op == "*":
            return self._fold(tree, [(factor, False) for factor in tree.args], np.multiply, np.multiply, root)
        if tree.op == "**":
            exponent = constant(tree.args[1])
            if exponent == 2:
                return self._call(tree, np.square, tree.args[:1], root)
            return self._call(
                tree,
                np.reciprocal if exponent == -1 else np.power,
                tree.args[:1] if exponent == -1 else tree.args,
                root,
            )
        function = PRIMITIVES[tree.value] if tree.op == "call" else {"neg": np.negative, "/": np.divide}[tree.op]
        return self._call(tree, function, tree.args, root)

    def _call(self, tree: Tree, function: Callable[..., Any], args: Iterable[Tree], root: bool) -> Slot:
        args = tuple(args)
        operands = tuple(self._value(argument) for argument in args)
        for argument in args:
            self._read(argument)
        return self._emit(tree, function, operands, root)

    def _fold(self, tree: Tree, terms: list[tuple[Tree, bool]], plus: Any, minus: Any, root: bool) -> Slot:
        """Join the terms of a flat sum or product one after another, the constants as one."""
        numbers = [(constant(term), negative) for term, negative in terms]
        factors = [-number if negative else number for number, negative in numbers if number is not None]
        rest = [(term, negative) for (term, negative), (number, _) in zip(terms, numbers) if number is None]
        joined = math.fsum(factors) if plus is np.add else math.prod(factors)
        first, negative = rest.pop(0)
        left = self._value(first)
        result: Slot | None = None
        if factors and joined != (0 if plus is np.add else 1):
            self._read(first)
            result = self._emit(tree, minus if negative else plus, (joined, left), root and not rest)
        elif negative:
            self._read(first)
            result = self._emit(tree, np.negative, (left,), root and not rest)
        for position, (term, negative) in enumerate(rest):
            right = self._value(term)
            self._read(term)
            if result is None:
                self._read(first)  # only now: until here its place must not be written
            else:
                self.program.release(result)
                if self.in_target is tree:
                    self.in_target = None
            result = self._emit(
                tree,
                minus if negative else plus,
                (left if result is None else result, right),
                root and position == len(rest) - 1,
            )
        if result is None:  # a sum whose constants cancel
            self._read(first)
            result = self._emit(tree, np.positive, (left,), root)
        return result

    def _read(self, tree: Tree) -> None:
        """Note that a part has been read once more; its place is free after the last time."""
        if constant(tree) is not None:
            return
        self.uses[tree] -= 1
        if tree.op == "name":
            self.pending -= self.target.overlaps(self.places[tree.value])
        elif not self.uses[tree]:
            self.program.release(self.values[tree])
            if self.in_target == tree:
                self.in_target = None

    def _emit(self, tree: Tree, function: Callable[..., Any], operands: tuple[Operand, ...], root: bool) -> Slot:
        if root or (self.in_target is None and not self.pending):
            out, self.in_target = self.target, tree
        else:
            out = self.program.temp(self.target.rows)
        self.program.emit(function, operands, out)
        return out


def _parts(tree: Tree) -> list[Tree]:
    """Return what a node reads: not numbers, and of a term that is subtracted, what is behind its sign."""
    parts = [term for term, _ in _positive_first(tree.args)] if tree.op == "+" else tree.args
    return [part for part in parts if constant(part) is None]


def _positive_first(terms: Iterable[Tree]) -> list[tuple[Tree, bool]]:
    """Return a sum's terms as (term, subtracted), one that is added first where there is one."""
    split = [(term.args[0], True) if term.op == "neg" else (term, False) for term in terms]
    return sorted(split, key=lambda part: part[1])


def fuse(calls: list[Call]) -> list[Call]:
    """Join calls of one function on neighbouring rows into one call, where the order allows it."""
    calls = list(calls)
    first = 0
    while first < len(calls):
        second = first + 1
        while second < len(calls):
            joined = _joined(calls[first], calls[second]) or _joined(calls[second], calls[first])
            if joined is not None and _can_move(calls, first, second):
                calls[first] = joined
                del calls[second]
                second = first + 1
            else:
                second += 1
        first += 1
    return calls


def _joined(one: Call, other: Call) -> Call | None:
    if one.function is not other.function or not isinstance(one.function, np.ufunc) or one.function is np.matmul:
        return None
    if not _adjacent(one.out, other.out):
        return None
    args = []
    for left, right in zip(one.args, other.args, strict=True):
        if _adjacent(left, right) and left.rows == one.out.rows and right.rows == other.out.rows:
            args.append(left._replace(stop=right.stop))
        elif left == right and (not isinstance(left, Slot) or min(one.out.rows, other.out.rows) % left.rows == 0):
            args.append(left)
        else:
            return None
    return Call(one.function, tuple(args), one.out._replace(stop=other.out.stop))


def _adjacent(one: Any, other: Any) -> bool:
    return isinstance(one, Slot) and isinstance(other, Slot) and one.space == other.space and one.stop == other.start


def _can_move(calls: list[Call], first: int, second: int) -> bool:
    """Tell whether the second call may run right after the first, before all between them."""
    moved = calls[second]
    for between in calls[first:second]:
        if between.reads(moved.out) or moved.reads(between.out) or between.out.overlaps(moved.out):
            return False
    return True


def power_of_two(value: float) -> bool:
    """Tell whether multiplying by the value is exact in binary floating point."""
    return (
        value > 0
        and Fraction(value).numerator & (Fraction(value).numerator - 1) == 0
        and Fraction(value).denominator & (Fraction(value).denominator - 1) == 0
    )
