"""A Jacobian against the numbers: central differences and complex steps at 50 digits, at random widths and values.

A direction ``u`` is drawn, and ``J u`` is compared with how the output changes along it::

    (y(v + eps u) - y(v - eps u)) / (2 eps)     eps = 1e-20, off by eps**2 and by what cancels: below 1e-25
    im y(v + i eps u) / eps                     eps = 1e-30, off by eps**2, nothing cancels: below 1e-45

The output is computed from the cell's own equations, which share nothing with the derivation but the reader; widths are
all different, so that a matrix in a wrong place does not even fit.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import mpmath

from gatecalc.calculus.jacobian import Jacobian
from gatecalc.calculus.words import IDENTITY, factors, is_diag
from gatecalc.elementwise import ELEMENTWISE
from gatecalc.errors import GatecalcError
from gatecalc.language import Tree, parse

DIGITS = 50
MAX_DIFFERENCE, MAX_COMPLEX = 1e-25, 1e-45
DIRECTIONS = 2

Values = dict[str, Any]  # {label: a list of numbers, or of rows}


class Check(NamedTuple):
    """How a Jacobian was checked, and how far it was off.

    Attributes:
        method: In words, with the widths.
        max_error: The larger of the two errors.
        central_differences: The error against central differences.
        complex_steps: The error against complex steps.
    """

    method: str
    max_error: float
    central_differences: float
    complex_steps: float


def check(jacobian: Jacobian, seed: int = 1) -> Check:
    """Compare a Jacobian with differences of the output.

    Raises:
        GatecalcError: When they disagree, which would be a fault of gatecalc.

    >>> from gatecalc.calculus.jacobian import jacobian
    >>> check(jacobian("lstm", "c", "c_prev")).central_differences < 1e-25
    True
    """
    arithmetic = Arithmetic()
    draw = random.Random(seed)
    letters = sorted({*jacobian.unrolled.widths.values(), *(w for s in jacobian.cell.parameters.values() for w in s)})
    sizes = draw.sample(range(2, len(letters) + 3), len(letters))
    widths = dict(zip(letters, sizes, strict=True))
    errors = [_errors(arithmetic, jacobian, widths, draw) for _ in range(DIRECTIONS if jacobian.steps <= 10 else 1)]
    differences, complex_steps = (max(each) for each in zip(*errors, strict=True))
    if not (differences <= MAX_DIFFERENCE and complex_steps <= MAX_COMPLEX):
        off = f"{max(differences, complex_steps):.1g}"
        raise GatecalcError(
            f"check: the formula for d {jacobian.output} / d {jacobian.input} is off by {off}",
            help="this is a fault of gatecalc: please report it with the cell",
        )
    shown = ", ".join(f"{letter} = {width}" for letter, width in widths.items())
    method = f"central differences and complex steps, {DIGITS} digits, {shown}"
    return Check(method, max(differences, complex_steps), differences, complex_steps)


def _errors(
    arithmetic: Arithmetic, jacobian: Jacobian, widths: dict[str, int], draw: random.Random
) -> tuple[float, float]:
    """Draw a point and a direction; return both errors, in units of the change or of 1."""
    for low in (-1, 0.1):  # where a logarithm or a root needs it, positive numbers
        given = _drawn(arithmetic, jacobian, widths, draw, low)
        values = _computed(arithmetic, jacobian, given)
        if all(arithmetic.is_real(value) for value in values.values()):
            break
    size = _size(jacobian, widths)
    direction = _random(arithmetic, size, draw, -1)
    change = apply(arithmetic, jacobian, values, direction)

    def moved(step: Any) -> Any:
        start = {**given, jacobian.input: _plus(given[jacobian.input], step, direction)}
        return _computed(arithmetic, jacobian, start, values)[jacobian.output]

    context = arithmetic.context
    small, tiny = context.mpf(10) ** -20, context.mpf(10) ** -30
    central = [(a - b) / (2 * small) for a, b in zip(moved(small), moved(-small), strict=True)]
    imaginary = [context.im(a) / tiny for a in moved(context.mpc(0, tiny))]
    scale = max(1, *(abs(each) for each in change))
    off = [max(abs(a - b) for a, b in zip(change, other, strict=True)) / scale for other in (central, imaginary)]
    return float(off[0]), float(off[1])


def _size(jacobian: Jacobian, widths: dict[str, int]) -> tuple[int, ...]:
    if jacobian.by_weight:
        return tuple(widths[letter] for letter in jacobian.cell.parameters[jacobian.input])
    return (widths[jacobian.unrolled.widths[jacobian.input]],)


def _drawn(
    arithmetic: Arithmetic, jacobian: Jacobian, widths: dict[str, int], draw: random.Random, low: float
) -> Values:
    """Draw all that the output is computed from: inputs, previous states, weights."""
    given = {
        label: _random(arithmetic, [widths[letter]], draw, low)
        for label, letter in jacobian.unrolled.widths.items()
        if label.isidentifier()
    }
    for parameter, shape in jacobian.cell.parameters.items():
        given[parameter] = _random(arithmetic, [widths[letter] for letter in shape], draw, low)
    return given


def _random(arithmetic: Arithmetic, shape: Sequence[int], draw: random.Random, low: float) -> Any:
    if len(shape) == 1:
        return [arithmetic.context.mpf(draw.uniform(low, 1)) for _ in range(shape[0])]
    return [_random(arithmetic, shape[1:], draw, low) for _ in range(shape[0])]


def _plus(start: Any, step: Any, direction: Any) -> Any:
    if isinstance(start, list):
        return [_plus(a, step, b) for a, b in zip(start, direction, strict=True)]
    return start + step * direction


def _computed(arithmetic: Arithmetic, jacobian: Jacobian, given: Values, base: Values | None = None) -> Values:
    """Compute the vectors of all steps; the input keeps what it was given, and what is held fixed its base value."""
    values = dict(given)
    for label, node in jacobian.unrolled.nodes.items():
        if label != jacobian.input:
            reads = values | {each: base[each] for each in node.held} if base else values
            if node.matrix:  # the vector as it was computed, with what was held fixed in it
                values[label] = arithmetic.product(values[node.matrix], reads[(*node.reads, *node.held)[0]])
            else:
                values[label] = arithmetic.vector(node.formula, reads)
    return values


def apply(arithmetic: Arithmetic, jacobian: Jacobian, values: Values, direction: Any) -> Any:
    """Return ``J u`` for a direction ``u``; for a weight, the change of the output when the weight changes by ``u``."""
    if jacobian.by_weight:
        values = values | {str(jacobian.differential): direction}
    found: Values = {}

    def act(word: Tree, vector: Any) -> Any:
        op, args = word.op, word.args
        if op == "+":
            changes = [act(term, vector) for term in args]
            return [sum(entries[1:], entries[0]) for entries in zip(*changes, strict=True)]
        if op == "neg":
            return [-entry for entry in act(args[0], vector)]
        if op == "@":
            last = factors(args[0])[-1]
            is_change = last.op == "name" and last.value == jacobian.differential
            return act(args[0], arithmetic.vector(args[1], values) if is_change else act(args[1], vector))
        if is_diag(word):
            diagonal = arithmetic.vector(args[0], values)
            if not isinstance(diagonal, list):
                return [diagonal * b for b in vector]
            return [a * b for a, b in zip(diagonal, vector, strict=True)]
        if word == IDENTITY:
            return vector
        if word.op == "number":
            return [arithmetic.context.mpf(0)] * len(values[jacobian.output])
        return found[word.value] if word.value in found else arithmetic.product(values[word.value], vector)

    for reference, formula in jacobian.named.items():
        found[reference] = act(formula, direction)
    return act(jacobian.formula, direction)


class Arithmetic:
    """The language's elementwise formulas over lists of mpmath's numbers, at a precision of its own."""

    def __init__(self, digits: int = DIGITS) -> None:
        self.context = mpmath.mp.clone()
        self.context.dps = 2 * digits  # of a complex step's 30 lost digits, some functions lose all
        context = self.context
        self.functions: dict[str, Callable[[Any], Any]] = {
            **{name: getattr(context, name) for name in ("exp", "log", "sqrt", "tanh", "sin", "cos", "atan", "erf")},
            # A complex step moves a real number: what is decided by its sign is decided by its real part.
            "abs": lambda a: a if context.re(a) >= 0 else -a,
            "step": lambda a: context.mpf(context.re(a) > 0),
        }

    def vector(self, tree: Tree, values: Values) -> Any:
        """Return the value of an elementwise formula: a list, or one number where it has no vector in it."""
        op = tree.op
        if op == "number":
            return self.context.mpf(tree.value.numerator) / tree.value.denominator
        if op == "name":
            return self.context.pi if tree.value == "pi" else values[tree.value]
        if op == "@":
            known = values.get(str(tree))
            return (
                known
                if known is not None
                else self.product(values[tree.args[0].value], self.vector(tree.args[1], values))
            )
        args = [self.vector(argument, values) for argument in tree.args]
        width = next((len(argument) for argument in args if isinstance(argument, list)), None)
        if width is None:
            return self._number(tree, args)
        rows = zip(*(argument if isinstance(argument, list) else [argument] * width for argument in args), strict=True)
        return [self._number(tree, row) for row in rows]

    def _number(self, tree: Tree, args: Sequence[Any]) -> Any:
        op = tree.op
        if op == "+":
            return sum(args[1:], args[0])
        if op == "*":
            product = args[0]
            for factor in args[1:]:
                product = product * factor
            return product
        if op == "neg":
            return -args[0]
        if op == "/":
            return args[0] / args[1]
        if op == "**":
            return args[0] ** args[1]
        function = self.functions.get(tree.value)
        return function(args[0]) if function else self.vector(_definition(tree.value), {"a": args[0]})

    def product(self, matrix: Any, vector: Any) -> Any:
        """Return a matrix times a vector."""
        return [sum((a * b for a, b in zip(row, vector, strict=True)), self.context.mpf(0)) for row in matrix]

    def is_real(self, value: Any) -> bool:
        return all(map(self.is_real, value)) if isinstance(value, list) else self.context.im(value) == 0


@cache
def _definition(function: str) -> Tree:
    text = ELEMENTWISE[function].definition
    assert text is not None
    return parse(text)
