"""The hand-run table: every gate, candidate and state of a cell at every step, each number proved.

A step is the cell's own equations over proved numbers, one element at a time; nothing here is floating point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from gatecalc.cell import CONSTANTS, PREVIOUS, Cell, Product
from gatecalc.cell import cell as find_cell
from gatecalc.errors import GatecalcError, Undecided, closest, shorten, text
from gatecalc.language import Tree, parse
from gatecalc.numbers.precise import Real, evaluate
from gatecalc.report import checked_digits

MAX_STEPS = 10_000
MAX_ELEMENTS = 200_000  # numbers computed: steps times the widths of all vectors

Vector = tuple[Real, ...]


class Steps(Sequence[Any]):
    """One quantity over the steps, which count from 1; a state also has its initial value, at step 0.

    At width 1 an item is a number, otherwise a tuple of numbers.
    """

    first = 1

    def __init__(self, name: str, values: list[Vector], initial: Vector | None) -> None:
        self.name = name
        self.values = values
        self.initial = initial

    def __getitem__(self, step: Any) -> Any:
        first = 1 if self.initial is None else 0
        if not isinstance(step, int) or not first <= step <= len(self.values):
            raise GatecalcError(
                f"name: '{self.name}' has no step {step!s}; its steps are {first} to {len(self.values)}",
                help=f"write '{self.name}[{len(self.values)}]' for the last",
            )
        vector = self.values[step - 1] if step or self.initial is None else self.initial
        return vector[0] if len(vector) == 1 else vector

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return (self[step] for step in range(1, len(self) + 1))


class Trace:
    """The table of a run; ``trace(...).c[2]`` is c at the second step.

    Attributes:
        cell: The cell's name.
        columns: ``step``, the input, and what the cell computes, in the order of its equations.
        rows: One list of decimal strings for each step, correctly rounded.
    """

    def __init__(self, cell: Cell, steps: Mapping[str, Steps], shown: Sequence[str], digits: int) -> None:
        self._steps = dict(steps)
        self._shown = tuple(shown)
        self.cell = cell.name
        self.digits = digits

    @property
    def readable(self) -> tuple[str, ...]:
        """What a claim may read of it: every vector, by its name."""
        return tuple(self._steps)

    @property
    def columns(self) -> list[str]:
        return ["step", *(label for name in self._shown for label in self._labels(name))]

    @property
    def rows(self) -> list[list[str]]:
        series = [self._steps[name].values for name in self._shown]
        return [
            [str(step + 1), *(number.decimal(self.digits) for values in series for number in values[step])]
            for step in range(len(series[0]))
        ]

    def _labels(self, name: str) -> list[str]:
        width = len(self._steps[name].values[0])
        return [name] if width == 1 else [f"{name}[{element}]" for element in range(width)]

    def __getattr__(self, name: str) -> Steps:
        if name.startswith("_") or name not in self._steps:
            raise AttributeError(f"the trace of '{self.cell}' has no '{name}'")
        return self._steps[name]

    def __getitem__(self, name: str) -> Steps:
        if name not in self._steps:
            raise GatecalcError(
                f"name: the trace of '{self.cell}' has no '{shorten(name)}'{closest(name, self._steps)}",
                help="it has " + ", ".join(self._steps),
            )
        return self._steps[name]

    def _asdict(self) -> dict[str, Any]:
        return {"cell": self.cell, "columns": self.columns, "rows": self.rows}


def trace(cell: Cell | str, x: Any, digits: int = 6, show: Sequence[str] = (), **values: Any) -> Trace:
    """Run a cell step by step with proved numbers.

    Args:
        cell: A cell, its name, or the path of a ``.cell`` file.
        x: The input of each step: numbers, or vectors of D numbers.
        digits: Decimals of the printed rows.
        show: Further columns, elementwise formulas over the cell's names, as in ``"r * h_prev"``.
        values: Weights, and initial states as ``h_prev`` or ``c_prev``: numbers or nested lists, (H, D), (H, H) or
            (H,). A number fills the weight. What is not given is 0, and widths that no value tells are 1.

    Returns:
        The table.

    Raises:
        GatecalcError: For an unknown weight, shapes that do not fit, and what is not a number.

    >>> trace("lstm", x=[1, 0], W_i=4, b_i=-2, W_g=2, b_f=3, digits=4).rows
    [['1', '1.0000', '0.9526', '0.8808', '0.9640', '0.5000', '0.8491', '0.3453'], \
['2', '0.0000', '0.9526', '0.1192', '0.0000', '0.5000', '0.8088', '0.3345']]
    """
    return run(cell, x, values, digits, show)


def run(cell: Cell | str, x: Any, values: Mapping[str, Any], digits: int = 6, show: Sequence[str] = ()) -> Trace:
    """Do what :func:`trace` does, the weights and initial states in a mapping of any names."""
    cell, digits = find_cell(cell), checked_digits(digits)
    inputs, weights, states = start(cell, x, values)
    formulas = _formulas(cell, [text(formula, "a column of 'show'") for formula in show])

    initial = {name.removesuffix(PREVIOUS): vector for name, vector in states.items()}
    series: dict[str, list[Vector]] = {name: [] for name in ("x", *cell.written, *formulas)}
    for vector in inputs:
        found = _step(cell, {**weights, **states, "x": vector})
        found.update({text: _elementwise(formula, found) for text, formula in formulas.items()})
        for name, values_ in series.items():
            values_.append(found[name])
        states = {state + PREVIOUS: found[state] for state in cell.states}
    steps = {name: Steps(name, vectors, initial.get(name)) for name, vectors in series.items()}
    return Trace(cell, steps, list(series), digits)


def start(cell: Cell, x: Any, values: Mapping[str, Any]) -> tuple[list[Vector], dict[str, Any], dict[str, Vector]]:
    """Return the inputs of all steps, every weight as a vector or as rows, and the initial states, as numbers.

    Raises:
        GatecalcError: For an unknown weight, shapes that do not fit, and what is not a number.
    """
    inputs = _inputs(x)
    given = _given(cell, values)
    widths = _widths(cell, inputs, given)
    if len(inputs) * sum(widths[letter] for letter in cell.widths.values()) > MAX_ELEMENTS:
        raise GatecalcError(
            f"limit: the trace has more than {MAX_ELEMENTS} numbers", help="trace fewer steps, or a smaller width"
        )
    weights = {
        name: _filled(name, given.get(name), [widths[letter] for letter in shape])
        for name, shape in cell.parameters.items()
    }
    states = {
        state + PREVIOUS: _filled(state + PREVIOUS, given.get(state + PREVIOUS), [widths[cell.widths[state]]])
        for state in cell.states
    }
    return inputs, weights, states


def _step(cell: Cell, known: dict[str, Any]) -> dict[str, Any]:
    """Compute the cell's equations in order."""
    for equation in cell.equations:
        if isinstance(equation, Product):
            vector = known[equation.vector]
            known[equation.name] = tuple(
                sum((m * v for m, v in zip(row, vector, strict=True)), _ZERO) for row in known[equation.matrix]
            )
        else:
            known[equation.name] = _elementwise(equation.formula, known)
    return known


def _elementwise(formula: Tree, known: Mapping[str, Any]) -> Vector:
    reads = [name for name in formula.names() if name not in CONSTANTS]
    width = max(len(known[name]) for name in reads) if reads else 1
    return tuple(evaluate(formula, {name: known[name][element] for name in reads}) for element in range(width))


def _formulas(cell: Cell, show: Sequence[str]) -> dict[str, Tree]:
    """Read the further columns, which may be elementwise formulas over the cell's vectors of one width."""
    formulas = {}
    for column in show:
        tree = parse(column)
        if not _is_elementwise(tree):
            raise GatecalcError(
                f"syntax: '{shorten(column)}' is not elementwise", help="a column is a formula such as 'r * h_prev'"
            )
        for name in tree.names():
            if name not in cell.widths and name not in cell.parameters and name not in CONSTANTS:
                raise GatecalcError(
                    f"name: '{cell.name}' has no '{name}'{closest(name, cell.widths)}",
                    help="a column is a formula over the cell's own vectors",
                )
        if len({cell.widths[name] for name in tree.names() if name in cell.widths}) > 1:
            raise GatecalcError(
                f"shape: '{shorten(column)}' joins vectors of different widths", help="a column is elementwise"
            )
        formulas[column] = tree
    return formulas


def _is_elementwise(tree: Tree) -> bool:
    return all(node.op in ("number", "name", "+", "*", "/", "**", "neg", "call") for node in tree.walk())


class Nested(NamedTuple):
    """A value as it was given: its numbers in order, and its shape (empty for one number)."""

    numbers: list[Real]
    shape: tuple[int, ...]


_ZERO = Real.number(0)
MAX_VALUES = 100_000


def real(value: Any, name: str) -> Real:
    """Return the exact value of a number that was given: an int, Fraction, Decimal, decimal string, float or Real."""
    if isinstance(value, Real):
        return value
    if isinstance(value, Tree):
        try:
            return evaluate(value)
        except Undecided:
            raise
        except GatecalcError as error:
            if error.place or not error.message.startswith(("name: ", "syntax: ")):
                raise
            raise GatecalcError(
                f"value: '{name}' is '{shorten(str(value))}', not a number",
                help="give a number, or a nested list of numbers",
            ) from None
    if isinstance(value, (int, Fraction, float, Decimal)) and not isinstance(value, bool):
        if value != value or value in (float("inf"), float("-inf")):
            raise GatecalcError(f"value: '{name}' is {value}, not a number", help="give a finite number")
        return Real.number(Fraction(value))
    if isinstance(value, str):
        return real(parse(value), name)
    raise GatecalcError(
        f"value: '{name}' is {shorten(repr(value))}, not a number", help="give a number, or a nested list of numbers"
    )


def as_nested(value: Any, name: str) -> Nested:
    """Flatten a number or a nested list, refusing what is not rectangular."""
    if isinstance(value, Nested):
        return value
    if hasattr(value, "tolist"):  # a NumPy array
        value = value.tolist()
    if isinstance(value, Tree) and value.op == "list":
        value = value.args
    if not isinstance(value, (list, tuple)):
        return Nested([real(value, name)], ())
    rows = [as_nested(item, name) for item in value]
    if not rows or len({row.shape for row in rows}) > 1:
        what = "an empty list" if not rows else "a list whose rows differ in length"
        raise GatecalcError(
            f"shape: '{name}' is {what}", help="write a vector as [1, 2] and a matrix as [[1, 2], [3, 4]]"
        )
    numbers = [number for row in rows for number in row.numbers]
    if len(numbers) > MAX_VALUES:
        raise GatecalcError(f"limit: '{name}' has more than {MAX_VALUES} numbers", help="take smaller widths")
    return Nested(numbers, (len(rows), *rows[0].shape))


def _inputs(x: Any) -> list[Vector]:
    nested = as_nested(x, "x")
    if len(nested.shape) not in (1, 2):
        raise GatecalcError(
            "shape: the input is not a list of steps",
            help="write x = [1, 0, 0] for numbers, [[1, 0], [0, 1]] for vectors",
        )
    steps = nested.shape[0]
    if steps > MAX_STEPS:
        raise GatecalcError(f"limit: the input has {steps} steps, {MAX_STEPS} at most", help="trace fewer steps")
    width = len(nested.numbers) // steps
    return [tuple(nested.numbers[step * width : (step + 1) * width]) for step in range(steps)]


def _given(cell: Cell, values: Mapping[str, Any]) -> dict[str, Nested]:
    known = [*cell.parameters, *(state + PREVIOUS for state in cell.states)]
    for name in values:
        if name not in known:
            raise GatecalcError(
                f"name: '{cell.name}' has no weight '{shorten(name)}'{closest(name, known)}",
                help="it has " + ", ".join(known),
            )
    return {name: as_nested(value, name) for name, value in values.items()}


def _widths(cell: Cell, inputs: list[Vector], given: Mapping[str, Nested]) -> dict[str, int]:
    """Tell each width from the values given; one that no value tells is 1."""
    widths: dict[str, tuple[int, str]] = {"D": (len(inputs[0]), "the input")} if cell.inputs else {}
    for name, nested in given.items():
        shape = cell.parameters.get(name) or (cell.widths[name],)
        if nested.shape and len(nested.shape) != len(shape):
            raise GatecalcError(
                f"shape: '{name}' is given as {_shape_text(nested.shape)}, and it is ({', '.join(shape)})",
                help="write a vector as [1, 2] and a matrix as [[1, 2], [3, 4]]",
            )
        for letter, size in zip(shape, nested.shape):
            known, where = widths.setdefault(letter, (size, f"'{name}'"))
            if known != size:
                raise GatecalcError(
                    f"shape: '{name}' says that {letter} = {size}, and {where} says {known}",
                    help=f"'{name}' is ({', '.join(shape)})",
                )
    return {letter: widths.get(letter, (1, ""))[0] for letter in cell.dimensions}


def _filled(name: str, nested: Nested | None, shape: Sequence[int]) -> Any:
    """Return a vector, or a matrix as its rows, zero where nothing is given."""
    size = shape[0] if len(shape) == 1 else shape[0] * shape[1]
    numbers = [_ZERO] * size if nested is None else nested.numbers if nested.shape else nested.numbers * size
    if len(shape) == 1:
        return tuple(numbers)
    return [tuple(numbers[row * shape[1] : (row + 1) * shape[1]]) for row in range(shape[0])]


def _shape_text(shape: Sequence[int]) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def _float(number: Real, name: str) -> float:
    try:
        found = float(number.fraction) if number.fraction is not None else float(number.scientific(25))
    except OverflowError:
        found = float("inf")
    if abs(found) == float("inf"):
        raise GatecalcError(f"value: '{name}' is too large for float64", help="give a smaller number")
    return found


def nested_floats(value: Any, name: str) -> Any:
    """Return a number or nested list as Python floats, each correctly rounded."""
    nested = as_nested(value, name)
    floats = [_float(number, name) for number in nested.numbers]

    def build(shape: tuple[int, ...]) -> Any:
        return [build(shape[1:]) for _ in range(shape[0])] if shape else floats.pop(0)

    return build(nested.shape)
