"""The calculator: the value of a formula of the language of claims, in a scope of named definitions.

A value is a number (:class:`~gatecalc.numbers.precise.Real`), True or False, a text, None, a list, or a result object
of gatecalc, of which a formula may read the public attributes and index the steps.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from gatecalc.checking.functions import CONSTANTS, FUNCTIONS, bounded, describe, elementwise, integer
from gatecalc.errors import GatecalcError, Undecided, closest, shorten
from gatecalc.language import Source, Tree, parse
from gatecalc.numbers.precise import ALGEBRA, EXACT, Real, arithmetic, compare, weakest
from gatecalc.numbers.verdicts import difference

MAX_CALLS = 100_000  # operations for one formula, its definitions included


class Scope:
    """Named formulas, evaluated when they are first needed, and only once.

    Args:
        formulas: {name: where its formula stands}.
        values: Names that have a value already.
        folder: Where relative paths of ``.cell`` files start.
        free: Whether an unknown name is a symbol, as in a formula that holds for every value.
    """

    def __init__(
        self,
        formulas: Mapping[str, Source] | None = None,
        values: Mapping[str, Any] | None = None,
        folder: str = "",
        free: bool = False,
    ) -> None:
        self.formulas = dict(formulas or {})
        self.values: dict[str, Any] = {**CONSTANTS, **(values or {})}
        self.folder = folder
        self.free = free
        self.hows: dict[str, set[str]] = {}  # how what a named formula looked at is known
        self._open: list[str] = []

    def lookup(self, name: str) -> Any:
        """Return the value of a name; refuse one that is unknown, or defined through itself."""
        if name in self.values:
            return self.values[name]
        if name not in self.formulas:
            if self.free:
                return Real.symbol(name)
            what = f"'{name}' is a function; call it" if name in FUNCTIONS else f"unknown name '{name}'"
            known = [*self.formulas, *self.values, *FUNCTIONS]
            raise GatecalcError(
                f"name: {what}{'' if name in FUNCTIONS else closest(name, known)}",
                help="define it under [given] or [define], or see 'gatecalc value --list'",
            )
        if name in self._open:
            circle = " -> ".join([*self._open[self._open.index(name) :], name])
            raise GatecalcError(f"name: '{name}' is defined through itself: {circle}", help="break the circle")
        if len(self._open) > 50:
            raise GatecalcError(
                f"limit: '{name}' is defined through more than 50 other names", help="define it directly"
            )
        self._open.append(name)
        calculation = Calculation(self.formulas[name], self)
        try:
            self.values[name] = calculation.value(parse(self.formulas[name]))
        finally:
            self._open.pop()
        self.hows[name] = calculation.hows
        return self.values[name]

    def with_values(self, **values: Any) -> Scope:
        """Return a scope that has some more values, for one row or column of a table."""
        inner = Scope(self.formulas, {**self.values, **values}, self.folder, self.free)
        inner.hows = self.hows
        inner._open = self._open
        return inner


def calculate(source: str | Source, scope: Scope | None = None) -> Any:
    """Return the value of a formula.

    Raises:
        GatecalcError: With the place of the part that cannot be used.
        Undecided: When a stated limit is reached on the way.

    >>> calculate("sigmoid(3)**20").decimal(4)
    '0.3784'
    """
    source = Source(source) if isinstance(source, str) else source
    return Calculation(source, scope or Scope()).value(parse(source))


def condition(source: Source, scope: Scope) -> tuple[bool, str]:
    """Return whether a condition holds, and how that is known: by the weakest of the numbers that it looks at."""
    calculation = Calculation(source, scope)
    holds = truth(calculation.value(parse(source)))
    return holds, weakest(*calculation.hows)


class Calculation:
    """One evaluation, from the leaves up, with its count of operations, and how the numbers it saw are known."""

    def __init__(self, source: Source, scope: Scope) -> None:
        self.source = source
        self.scope = scope
        self.operations = 0
        self.hows: set[str] = set()

    def value(self, tree: Tree) -> Any:
        """Return the value of a node; an error below it is given the place of the node that raised it."""
        self.count()
        try:
            value = getattr(self, _METHODS.get(tree.op, "operator"))(tree)
            for item in value if isinstance(value, list) else (value,):
                self.hows.add(getattr(item, "how", EXACT))
            return value
        except GatecalcError as error:
            raise error.at(self.source.place(tree.at)) from None
        except RecursionError:
            raise Undecided("it is nested more deeply than can be evaluated") from None

    def number(self, tree: Tree) -> Real:
        return Real.number(tree.value)

    def constant(self, tree: Tree) -> Any:
        return tree.value

    def name(self, tree: Tree) -> Any:
        value = self.scope.lookup(tree.value)
        self.hows |= self.scope.hows.get(tree.value, set())
        return value

    def list(self, tree: Tree) -> Any:
        return bounded([self.value(item) for item in tree.args])

    def operator(self, tree: Tree) -> Any:
        if tree.op == "@":
            raise GatecalcError("syntax: '@' belongs into the equations of a cell", help="multiply numbers with '*'")
        values = [self.value(argument) for argument in tree.args]
        return elementwise(lambda *numbers: self.step(tree.op, numbers), *values)

    def step(self, op: str, numbers: tuple[Real, ...]) -> Real:
        """Do one operation, and count it."""
        self.count()
        return arithmetic(op, numbers)

    def count(self) -> None:
        self.operations += 1
        if self.operations > MAX_CALLS:
            raise Undecided(f"it takes more than {MAX_CALLS} operations, the limit")

    def call(self, tree: Tree) -> Any:
        row = FUNCTIONS.get(tree.value)
        if row is None:
            raise GatecalcError(
                f"name: unknown function '{tree.value}'{closest(tree.value, FUNCTIONS)}",
                help="'gatecalc value --list' lists the functions that a claim may call",
            )
        arguments = [self.argument(argument) for argument in tree.args if argument.op != "keyword"]
        options = {node.value: self.argument(node.args[0]) for node in tree.args if node.op == "keyword"}
        _check_arguments(row.call, row.signature, arguments, options)
        return as_value(row.call(*arguments, **options))

    def argument(self, tree: Tree) -> Any:
        """Return an argument; the path of a cell starts at the scope's folder."""
        value = self.value(tree)
        return os.path.join(self.scope.folder, value) if isinstance(value, str) and value.endswith(".cell") else value

    def attribute(self, tree: Tree) -> Any:
        owner = self.value(tree.args[0])
        readable = attributes(owner)
        if tree.value not in readable:
            raise GatecalcError(
                f"name: {describe(owner)} has no '{tree.value}'{closest(tree.value, readable)}",
                help=f"it has {', '.join(sorted(readable)[:12])}" if readable else None,
            )
        return as_value(owner[tree.value] if isinstance(owner, Mapping) else getattr(owner, tree.value))

    def index(self, tree: Tree) -> Any:
        owner, key = (self.value(argument) for argument in tree.args)
        if isinstance(owner, Mapping):
            if key not in owner:
                raise GatecalcError(
                    f"name: no '{shorten(str(key))}' in it{closest(str(key), owner)}",
                    help="it has " + shorten(", ".join(map(str, owner)), 200),
                )
            return as_value(owner[key])
        if not hasattr(owner, "__getitem__") or isinstance(owner, str):
            raise GatecalcError(f"value: {describe(owner)} has no items", help="leave the brackets out")
        position = integer(key, "the index")
        if isinstance(owner, list) and not 0 <= position < len(owner):
            none = f"value: there is no item {position}; they count from 0 to {len(owner) - 1}"
            raise GatecalcError(none if owner else "value: there is no item in it", help="the first item is [0]")
        return as_value(owner[position])

    def compare(self, tree: Tree) -> bool:
        values = [self.value(argument) for argument in tree.args]
        return all(
            _holds(operator, left, right, self.hows)
            for operator, left, right in zip(tree.value, values, values[1:], strict=False)
        )

    def logic(self, tree: Tree) -> bool:
        values = (truth(self.value(argument)) for argument in tree.args)
        return all(values) if tree.op == "and" else any(values) if tree.op == "or" else not next(values)


_METHODS = {
    "number": "number",
    "text": "constant",
    "truth": "constant",
    "name": "name",
    "list": "list",
    "call": "call",
    "attribute": "attribute",
    "index": "index",
    "compare": "compare",
    "and": "logic",
    "or": "logic",
    "not": "logic",
}


def truth(value: Any) -> bool:
    """Return a value that must be True or False."""
    if isinstance(value, bool):
        return value
    raise GatecalcError(f"value: {describe(value)} is neither true nor false", help="compare it, as in 'a < b'")


def attributes(owner: Any) -> list[str]:
    """Return the attributes of a result object that a formula may read: its fields and those it names as readable."""
    if isinstance(owner, Mapping):
        return [str(key) for key in owner]
    names = getattr(owner, "_fields", None) or getattr(owner, "__dataclass_fields__", None) or ()
    return [name for name in (*names, *getattr(owner, "readable", ())) if not name.startswith("_")]


def as_value(result: Any) -> Any:
    """Return what a function gave as a value of the language: exact numbers become Reals, tuples lists."""
    if isinstance(result, bool | str | Real) or result is None:
        return result
    if isinstance(result, int | Fraction):
        return Real.number(result)
    if isinstance(result, list) or (isinstance(result, tuple) and not hasattr(result, "_fields")):
        return [as_value(item) for item in result]
    return result


def _check_arguments(call: Callable[..., Any], signature: str, arguments: list[Any], options: dict[str, Any]) -> None:
    import inspect

    parameters = inspect.signature(call)
    names = [name for name, parameter in parameters.parameters.items() if parameter.kind is not parameter.VAR_KEYWORD]
    takes_any = len(names) < len(parameters.parameters)
    for option in options:
        if option not in names and not takes_any:
            raise GatecalcError(
                f"name: {signature} has no argument '{option}'{closest(option, names)}",
                help="it has " + ", ".join(names),
            )
    try:
        parameters.bind(*arguments, **options)
    except TypeError as error:
        raise GatecalcError(f"value: {error}", help=f"it is called as {signature}") from None


_SIDES = {"==": (0,), "!=": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}


def _holds(operator: str, left: Any, right: Any, hows: set[str]) -> bool:
    if isinstance(left, list) and isinstance(right, list) and operator in ("==", "!="):
        same = len(left) == len(right) and all(
            _holds("==", one, other, hows) for one, other in zip(left, right, strict=True)
        )
        return same == (operator == "==")
    numbers = [not isinstance(value, bool) and isinstance(value, Real) for value in (left, right)]
    if all(numbers):
        if operator in ("==", "!=") and (left.symbols or right.symbols):
            hows.add(ALGEBRA)
            return (difference(left, right) is None) == (operator == "==")
        side, how = compare(left, right)
        hows.add(how)
        return side in _SIDES[operator]
    if operator in ("==", "!="):
        return bool((type(left) is type(right) and left == right) == (operator == "=="))
    wrong = right if numbers[0] else left
    raise GatecalcError(f"value: {describe(wrong)} cannot be compared with '{operator}'", help="compare two numbers")
