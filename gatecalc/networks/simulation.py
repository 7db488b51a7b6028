"""A cell run as a C program runs it: the weights that ``rand()`` draws, float32 in the order of its loops.

The equations are the cell's own. What a program adds to them is data: the order in which it draws weights, their
range, its own formula of a function, its C library. The same run goes two ways over the same weights: in float32, one
rounding after each operation, or as mathematics, enclosed to any precision. Where they part, the figure that the
program prints is its arithmetic's, not the cell's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import flint
import numpy as np

from gatecalc.cell import CONSTANTS, PREVIOUS, Cell, Product, parse_cell
from gatecalc.cell import cell as find_cell
from gatecalc.elementwise import ELEMENTWISE
from gatecalc.errors import GatecalcError, Undecided, closest, shorten
from gatecalc.language import Tree, parse
from gatecalc.networks.crand import fractions
from gatecalc.numbers.precise import ENCLOSURE, FLOAT32, PRIMITIVES, Real

MAX_NUMBERS = 2_000_000  # computed in one run: trials times steps times the widths of all vectors
PRECISIONS = (128, 256, 512, 1024)  # in bits, at which a run is enclosed
ARITHMETICS = ("float32", "float64", "exact")

Array = Any  # of NumPy


class Draws(NamedTuple):
    """The order in which a program draws its weights, read from ``"W_z W_r _ | U_z U_r; W_n | U_n"``.

    Each group, between semicolons, is a loop over the rows; a row takes one number for each name before the bar, then,
    column by column, one for each name after it. A number for ``_`` goes to something that the run does not need.
    """

    groups: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]

    @classmethod
    def read(cls, text: str, cell: Cell) -> Draws:
        groups = []
        for group in text.split(";"):
            before, _, after = group.partition("|")
            groups.append((tuple(before.split()), tuple(after.split())))
        names = [name for group in groups for part in group for name in part if name != "_"]
        for name in names:
            if name not in cell.parameters:
                raise GatecalcError(
                    f"name: '{cell.name}' has no weight '{shorten(name)}'{closest(name, cell.parameters)}",
                    help=f"it has {', '.join(cell.parameters)}; '_' stands for a number that is drawn and not used",
                )
        if len(set(names)) < len(names) or not names:
            raise GatecalcError("value: the draws name a weight twice, or none", help='write "W | U", or "W_z | U_z"')
        return cls(tuple(groups))

    def places(self, rows: int, columns: int) -> Iterable[tuple[str, int, int]]:
        """Yield the name, row and column of each number, in the order drawn."""
        for before, after in self.groups:
            for row in range(rows):
                yield from ((name, row, 0) for name in before)
                yield from ((name, row, column) for column in range(columns) for name in after)


def simulate(
    cell: Cell | str,
    x: Sequence[Any],
    H: int,  # noqa: N803
    draws: str,
    rand: str = "microsoft",
    seed: int = 42,
    trials: int = 1,
    spread: Sequence[Any] = (Fraction(1, 5), Fraction(1, 10)),
    arithmetic: str = "float32",
    functions: Mapping[str, str] | None = None,
    **weights: Any,
) -> Run:
    """Run a cell as a C program does.

    Args:
        cell: A cell of one input, its name, the path of a ``.cell`` file, or equations with ``;`` between them, whose
            sums are then taken in the order in which they are written.
        x: The input at each step, the same in every trial.
        H: The width of every vector.
        draws: The order in which weights are drawn; see :class:`Draws`.
        rand: The C library whose ``rand()`` draws them; see :mod:`gatecalc.networks.crand`.
        seed: Of the first trial; each further trial has the next one.
        trials: How many.
        spread: Factor and offset: a weight is ``(float)rand() / RAND_MAX * factor - offset`` in float32.
        arithmetic: ``float32``, in the order of the program's loops; ``float64``, the same in double precision over
            the same weights; or ``exact``, the mathematics of those weights.
        functions: The program's own formulas for functions of float32, in ``a``: {"tanh": "..."}; the others are
            correctly rounded.
        weights: Numbers that weights are set to; those neither drawn nor set are 0.

    Raises:
        GatecalcError: For an unknown weight, library or arithmetic, and a cell that has more than one width.
    """
    written = isinstance(cell, str) and "=" in cell
    if isinstance(cell, str):
        cell = parse_cell(cell, "program", "<program>") if written else find_cell(cell)
    if arithmetic not in ARITHMETICS:
        raise GatecalcError(
            f"value: unknown arithmetic '{shorten(str(arithmetic))}'{closest(str(arithmetic), ARITHMETICS)}",
            help="one of " + ", ".join(ARITHMETICS),
        )
    if set(cell.dimensions) - {"D", "H"}:
        raise GatecalcError(f"shape: '{cell.name}' has widths {', '.join(cell.dimensions)}", help="D = 1 and H are run")
    if len(x) * trials * H * len(cell.widths) > MAX_NUMBERS or min(len(x), trials, H) < 1:
        raise GatecalcError(
            f"limit: {len(x)} steps of {trials} trials at width {H} are nothing, or more than {MAX_NUMBERS:,} numbers",
            help="take at least 1 of each, and fewer in all",
        )
    drawn = _draw(cell, Draws.read(draws, cell), H, rand, seed, trials, spread)
    for name, value in weights.items():
        if name not in cell.parameters:
            raise GatecalcError(
                f"name: '{cell.name}' has no weight '{shorten(name)}'{closest(name, cell.parameters)}",
                help="it has " + ", ".join(cell.parameters),
            )
        drawn[name] = np.full((trials, H, H if _is_square(cell, name) else 1), _float32(value), np.float32)
    inputs = [Fraction(_fraction(value)) for value in x]
    return Run(cell, inputs, drawn, H, trials, arithmetic, dict(functions or {}), written)


def float32(formula: str, functions: Mapping[str, str] | None = None, **values: Any) -> Real | list[Real]:
    """Compute a formula as a C program does: each number and each operation rounded to float32, from left to right.

    Args:
        formula: Arithmetic and elementwise functions over the names of ``values``.
        functions: The program's own formulas for functions, in ``a``.
        values: Numbers, or lists of equal length, which are combined item by item.

    >>> float32("a + b - a", a=2**24, b=1).fraction
    Fraction(0, 1)
    """
    arithmetic = _Floating(dict(functions or {}), {})
    known = {
        name: np.array([_float32(item) for item in value]) if isinstance(value, Sequence) else _float32(value)
        for name, value in values.items()
    }
    found = _formula(arithmetic, formula, "float32", tuple(known))(known)
    if np.ndim(found):
        return [Real.floating(FLOAT32, float(number)) for number in found]
    return Real.floating(FLOAT32, float(found))


def _draw(
    cell: Cell, draws: Draws, width: int, name: str, seed: int, trials: int, spread: Sequence[Any]
) -> dict[str, Array]:
    """Return the weights of every trial, (trials, H, H) for matrices of states and (trials, H, 1) for the others."""
    places = list(draws.places(width, width))
    numbers = np.array([fractions(name, seed + trial, len(places)) for trial in range(trials)])
    factor, offset = (_float32(value) for value in spread)
    numbers = numbers * factor - offset
    found = {
        weight: np.zeros((trials, width, width if _is_square(cell, weight) else 1), np.float32)
        for weight in cell.parameters
    }
    for position, (weight, row, column) in enumerate(places):
        if weight != "_":
            if column >= found[weight].shape[2]:
                raise GatecalcError(
                    f"shape: '{weight}' has one column, and is drawn column by column",
                    help="name it before the bar, as in 'W_z | U_z'",
                )
            found[weight][:, row, column] = numbers[:, position]
    return found


def _is_square(cell: Cell, weight: str) -> bool:
    return cell.parameters[weight] == ("H", "H")


def _fraction(value: Any) -> Any:
    fraction = value.fraction if isinstance(value, Real) else Fraction(value)
    if fraction is None:
        raise GatecalcError(
            "value: a weight or an input of a program is not a rational number",
            help="write it in decimal digits, or as a quotient",
        )
    return fraction


def _float32(value: Any) -> Any:
    return np.float32(float(_fraction(value)))


class Run:
    """What the program computes: ``.h[1]`` is h after the first step, a list of H numbers (of trials, if many).

    ``.norm[t]`` is the mean over the trials of the norm of h, the last state written, after step t.
    """

    def __init__(
        self,
        cell: Cell,
        inputs: list[Fraction],
        weights: Mapping[str, Array],
        width: int,
        trials: int,
        arithmetic: str,
        functions: dict[str, str],
        written: bool = False,
    ) -> None:
        self.cell = cell
        self.trials = trials
        self.width = width
        self.arithmetic = arithmetic
        self._inputs = inputs
        self._weights = weights
        self._functions = functions
        self._written = written
        self._enclosed: dict[int, _History] = {}

    @property
    def readable(self) -> tuple[str, ...]:
        """What a claim may read of it."""
        return (*self.cell.written, "norm", "weights")

    def __getattr__(self, name: str) -> Series:
        if name.startswith("_") or name not in self.cell.written:
            raise AttributeError(f"the run of '{self.cell.name}' has no '{name}'")
        return Series(self, name)

    @property
    def norm(self) -> Series:
        return Series(self, "norm")

    @property
    def weights(self) -> dict[str, Any]:
        """The weights, by name: exact values of the float32 numbers, as nested lists."""
        plain = {}
        for name, values in self._weights.items():
            rows = values if len(self.cell.parameters[name]) == 2 else values[:, :, 0]
            plain[name] = _exact((rows if self.trials > 1 else rows[0]).tolist())
        return plain

    def __len__(self) -> int:
        return len(self._inputs)

    def run(self, arithmetic: Any) -> _History:
        """Return every written vector, and the mean norm, after each step."""
        return _run(_Step(self.cell, arithmetic, self._written), self._inputs, self.width, self.trials)

    @cached_property
    def _rounded(self) -> _History:
        dtype = np.float32 if self.arithmetic == FLOAT32 else np.float64
        return self.run(_Floating(self._functions, self._weights, dtype))

    def _balls(self, bits: int) -> _History:
        """Return the run enclosed with at least that many bits; few precisions, since each is a run of its own."""
        bits = next((enough for enough in PRECISIONS if enough >= bits), 0)
        if not bits:
            raise Undecided(f"the run is not enclosed at {PRECISIONS[-1]} bits, the limit")
        if bits not in self._enclosed:
            with flint.ctx.workprec(bits):
                self._enclosed[bits] = self.run(_Balls(self._weights))
        return self._enclosed[bits]


class Series(Sequence[Any]):
    """One quantity of a run over the steps, which count from 1."""

    first = 1

    def __init__(self, run: Run, name: str) -> None:
        self.run = run
        self.name = name

    @property
    def how(self) -> str:
        """How its numbers are known."""
        return ENCLOSURE if self.run.arithmetic == "exact" else self.run.arithmetic

    def __len__(self) -> int:
        return len(self.run)

    def __getitem__(self, step: Any) -> Any:
        if not isinstance(step, int) or not 1 <= step <= len(self):
            raise GatecalcError(
                f"name: '{self.name}' has no step {step!s}; its steps are 1 to {len(self)}", help="the first step is 1"
            )
        if self.name == "norm":
            return self._number(step, 0)
        width = self.run.width
        rows = [[self._number(step, trial * width + i) for i in range(width)] for trial in range(self.run.trials)]
        return rows if self.run.trials > 1 else rows[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[step] for step in range(1, len(self) + 1))

    def _number(self, step: int, position: int) -> Real:
        run, name = self.run, self.name
        if run.arithmetic != "exact":
            return Real.floating(run.arithmetic, float(run._rounded[name][step - 1].flat[position]))
        return Real.enclosed(lambda bits: run._balls(bits)[name][step - 1][position])


_History = dict[str, list[Any]]


def _run(step: _Step, inputs: list[Fraction], width: int, trials: int) -> _History:
    """Return every written vector, and the mean norm of the last state (h), after each step."""
    cell, arithmetic = step.cell, step.arithmetic
    history: _History = {name: [] for name in (*cell.written, "norm")}
    output = (cell.states or tuple(cell.written))[-1]
    states = {state + PREVIOUS: arithmetic.zeros(trials * width) for state in cell.states}
    for value in inputs:
        found = step({**states, "x": arithmetic.filled(value, trials)})
        for name in cell.written:
            history[name].append(found[name])
        history["norm"].append(arithmetic.mean_norm(found[output], trials))
        states = {state + PREVIOUS: found[state] for state in cell.states}
    return history


class _Step:
    """One step of a cell, its formulas turned into calls once.

    A sum that has matrix products is one accumulator, as in the loops of a program: biases first, then the products of
    the input, then those of the states (or in the order ``written``), each added element by element. A factor of a
    product, as r in ``r * (U_n @ h_prev)``, multiplies the vector's element inside the loop.
    """

    def __init__(self, cell: Cell, arithmetic: Any, written: bool = False) -> None:
        self.cell = cell
        self.arithmetic = arithmetic
        self.written = written
        self.products = {equation.name: equation for equation in cell.equations if isinstance(equation, Product)}
        self.calls: list[tuple[str, Callable[[dict[str, Any]], Any]]] = []
        for equation in cell.equations:
            if isinstance(equation, Product):
                if equation.name in cell.written:
                    self.calls.append((equation.name, self.accumulate([([], Tree("name", (), equation.name))])))
            else:
                self.calls.append((equation.name, self.compile(equation.formula)))

    def __call__(self, known: dict[str, Any]) -> dict[str, Any]:
        for name, call in self.calls:
            known[name] = call(known)
        return known

    def compile(self, formula: Tree) -> Callable[[dict[str, Any]], Any]:
        """Return the function of the known vectors that computes a formula, in the order in which it is written."""
        arithmetic = self.arithmetic
        if formula.op == "number":
            number = arithmetic.constant(Fraction(formula.value))
            return lambda known: number
        if formula.op == "name":
            return self.read(formula.value)
        if self.has_products(formula) and formula.op in ("+", "*"):
            return self.accumulate(self.terms(formula, []))
        args = [self.compile(argument) for argument in formula.args]
        if formula.op == "call":
            (argument,) = args
            function = arithmetic.function(formula.value)
            return lambda known: function(argument(known))
        operator = getattr(arithmetic, _OPERATORS[formula.op])
        return lambda known: operator(*(argument(known) for argument in args))

    def read(self, name: str) -> Callable[[dict[str, Any]], Any]:
        if name in self.products and name not in self.cell.written:
            return self.accumulate([([], Tree("name", (), name))])
        if name in self.cell.parameters:
            vector = self.arithmetic.vector(name)
            return lambda known: vector
        if name in CONSTANTS:
            raise GatecalcError(
                f"value: '{self.cell.name}' uses {name}, which no program's float32 run has", help="write its number"
            )
        return lambda known: known[name]

    def has_products(self, formula: Tree) -> bool:
        return any(node.op == "name" and node.value in self.products for node in formula.walk())

    def terms(self, formula: Tree, factors: list[Tree]) -> list[tuple[list[Tree], Tree]]:
        """Return the terms of a sum, with the factors that stand before them."""
        if formula.op == "+":
            return [term for argument in formula.args for term in self.terms(argument, factors)]
        if formula.op == "*":
            inner = [argument for argument in formula.args if self.has_products(argument)]
            if len(inner) == 1:
                rest = [argument for argument in formula.args if argument is not inner[0]]
                return self.terms(inner[0], [*factors, *rest])
        return [(factors, formula)]

    def accumulate(self, terms: list[tuple[list[Tree], Tree]]) -> Callable[[dict[str, Any]], Any]:
        arithmetic = self.arithmetic
        calls: list[tuple[Any, Any, str | None]] = []
        for factors, term in terms if self.written else sorted(terms, key=self.order):
            factor = self.compile(factors[0] if len(factors) == 1 else Tree("*", tuple(factors))) if factors else None
            if term.op == "name" and term.value in self.products:
                product = self.products[term.value]
                calls.append((self.read(product.vector), factor, product.matrix))
            else:
                calls.append((self.compile(term), factor, None))

        def call(known: dict[str, Any]) -> Any:
            total = None
            for operand, factor, matrix in calls:
                vector, scale = operand(known), factor(known) if factor else None
                if matrix:
                    total = arithmetic.add_product(total, matrix, vector, scale)
                else:
                    term = vector if scale is None else arithmetic.multiply(scale, vector)
                    total = term if total is None else arithmetic.add(total, term)
            return total

        return call

    def order(self, term: tuple[list[Tree], Tree]) -> int:
        name = term[1].value if term[1].op == "name" else ""
        if name in self.products:
            return 1 if self.products[name].vector in self.cell.inputs else 2
        return 0


_OPERATORS = {"+": "add", "*": "multiply", "/": "divide", "neg": "negative", "**": "power"}


class _Floating:
    """Arithmetic of float32 or float64, each operation rounded: what a C compiler makes of it, nothing fused."""

    def __init__(self, functions: Mapping[str, str], weights: Mapping[str, Array], dtype: Any = np.float32) -> None:
        self.functions = functions
        self.weights = {name: values.astype(dtype) for name, values in weights.items()}
        self.dtype = dtype
        for name in functions:
            if name not in ELEMENTWISE:
                raise GatecalcError(
                    f"name: unknown function '{shorten(name)}'{closest(name, ELEMENTWISE)}",
                    help="known are " + ", ".join(ELEMENTWISE),
                )

    def zeros(self, size: int) -> Array:
        trials = next(iter(self.weights.values())).shape[0]
        return np.zeros((trials, size // trials), self.dtype)

    def filled(self, value: Fraction, trials: int) -> Array:
        return np.full((trials, 1), self.dtype(float(value)))

    def constant(self, value: Fraction) -> Any:
        return self.dtype(float(value))

    def vector(self, name: str) -> Array:
        return self.weights[name][:, :, 0]

    def add(self, *terms: Array) -> Array:
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    def multiply(self, *factors: Array) -> Array:
        total = factors[0]
        for factor in factors[1:]:
            total = total * factor
        return total

    def divide(self, top: Array, bottom: Array) -> Array:
        return top / bottom

    def negative(self, value: Array) -> Array:
        return -value

    def power(self, base: Array, exponent: Array) -> Array:
        return np.power(base.astype(np.float64), exponent).astype(self.dtype)

    def function(self, name: str) -> Callable[[Array], Array]:
        definition = self.functions.get(name, ELEMENTWISE[name].definition)
        if definition is None:
            call = _ROUNDED[name]
            return lambda a: call(a.astype(np.float64)).astype(self.dtype)
        return _formula(self, definition, name)

    def add_product(self, total: Array, matrix: str, vector: Array, scale: Array) -> Array:
        weights = self.weights[matrix]
        for column in range(weights.shape[2]):
            element = vector[:, column : column + 1]
            term = weights[:, :, column] * (element if scale is None else scale * element)
            total = term if total is None else total + term
        return total

    def mean_norm(self, state: Array, trials: int) -> Array:
        squares = np.zeros(trials, self.dtype)
        for column in range(state.shape[1]):
            squares = squares + state[:, column] * state[:, column]
        total = np.zeros(1, self.dtype)
        for norm in np.sqrt(squares):
            total = total + norm
        return total / self.dtype(trials)


_ROUNDED: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "atan": np.arctan,
    "abs": np.abs,
    "step": lambda a: np.heaviside(a, 0.0),
}


class _Balls:
    """Arithmetic of enclosures: a vector is a list of balls, trial after trial."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        self.weights = weights
        self.trials = next(iter(weights.values())).shape[0]
        self.matrices: dict[str, list[Any]] = {}

    def zeros(self, size: int) -> list[Any]:
        return [flint.arb(0)] * size

    def filled(self, value: Fraction, trials: int) -> list[Any]:
        return [self.constant(value)] * trials

    def constant(self, value: Fraction) -> Any:
        return flint.arb(flint.fmpq(value.numerator, value.denominator))

    def vector(self, name: str) -> list[Any]:
        return [flint.arb(float(number)) for number in self.weights[name][:, :, 0].flat]

    def add(self, *terms: Any) -> Any:
        return _elementwise(lambda a, b: a + b, terms)

    def multiply(self, *factors: Any) -> Any:
        return _elementwise(lambda a, b: a * b, factors)

    def divide(self, top: Any, bottom: Any) -> Any:
        return _elementwise(lambda a, b: a / b, (top, bottom))

    def negative(self, value: Any) -> Any:
        return [-number for number in value] if isinstance(value, list) else -value

    def power(self, base: Any, exponent: Any) -> Any:
        return _elementwise(lambda a, b: a**b, (base, exponent))

    def function(self, name: str) -> Callable[[Any], Any]:
        definition = ELEMENTWISE[name].definition
        if definition is None:
            call = PRIMITIVES[name]
            return lambda a: [call(number) for number in a] if isinstance(a, list) else call(a)
        return _formula(self, definition, name)

    def add_product(self, total: Any, matrix: str, vector: list[Any], scale: Any) -> Any:
        if matrix not in self.matrices:
            self.matrices[matrix] = [
                flint.arb_mat([[float(number) for number in row] for row in rows]) for rows in self.weights[matrix]
            ]
        width = len(vector) // self.trials
        product: list[Any] = []
        for trial, rows in enumerate(self.matrices[matrix]):
            part = rows * flint.arb_mat(width, 1, vector[trial * width : (trial + 1) * width])
            product += part.entries()
        if scale is not None:
            product = self.multiply(scale, product)
        return product if total is None else self.add(total, product)

    def mean_norm(self, state: list[Any], trials: int) -> list[Any]:
        width = len(state) // trials
        norms = [
            sum((number * number for number in state[trial * width : (trial + 1) * width]), flint.arb(0)).sqrt()
            for trial in range(trials)
        ]
        return [sum(norms, flint.arb(0)) / trials]


def _elementwise(call: Callable[[Any, Any], Any], operands: Sequence[Any]) -> Any:
    total = operands[0]
    for operand in operands[1:]:
        if isinstance(total, list):
            total = (
                [call(a, b) for a, b in zip(total, operand, strict=True)]
                if isinstance(operand, list)
                else [call(a, operand) for a in total]
            )
        else:
            total = [call(total, b) for b in operand] if isinstance(operand, list) else call(total, operand)
    return total


def _formula(arithmetic: Any, text: str, name: str, names: Sequence[str] = ()) -> Callable[[Any], Any]:
    """Return the function of one argument that a formula in ``a`` is, or, of several ``names``, of their values."""
    tree = parse(text)

    def compile(tree: Tree) -> Callable[[Any], Any]:
        if tree.op == "number":
            number = arithmetic.constant(Fraction(tree.value))
            return lambda a: number
        if tree.op == "name" and tree.value in names:
            return lambda known: known[tree.value]
        if tree.op == "name" and tree.value == "a" and not names:
            return lambda a: a
        if tree.op not in _OPERATORS and (tree.op != "call" or tree.value not in ELEMENTWISE or len(tree.args) != 1):
            what = f"over {', '.join(names)}" if names else f"of '{name}' in 'a', as in '1 / (1 + exp(-a))'"
            raise GatecalcError(f"syntax: '{shorten(text)}' is not a formula {what}", help="write arithmetic")
        args = [compile(argument) for argument in tree.args]
        if tree.op == "call":
            if tree.value == name:
                raise GatecalcError(f"name: '{name}' is defined through itself", help="break the circle")
            call = arithmetic.function(tree.value)
            return lambda a: call(args[0](a))
        operator = getattr(arithmetic, _OPERATORS[tree.op])
        return lambda a: operator(*(argument(a) for argument in args))

    return compile(tree)


def _exact(numbers: Any) -> Any:
    """Return the exact values of floats, in lists as they are."""
    return [_exact(item) for item in numbers] if isinstance(numbers, list) else Real.number(Fraction(numbers))
