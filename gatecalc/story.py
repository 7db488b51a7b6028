"""What becomes of a gradient: the factors of each step, their product along the belt, and the whole, for given numbers.

At each step, for an output and a previous state of a cell:

- the *factor*: the Jacobian of the step alone, the other previous states held fixed;
- the *belt*: the product of the factors back to the first step, the local path;
- the *whole*: all paths together, through every state;
- the *paths*: what each word of the factor contributes, and how much of the start it alone would keep.

A Jacobian of one unit is a number; a larger one is shown by its Frobenius norm, the root of the sum of squares. All of
it is computed with :class:`~gatecalc.precise.Real`, so that what is printed is proved to its last digit. The derivatives
are the edges that the printed Jacobian was derived from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gatecalc.cell import PREVIOUS, Cell
from gatecalc.errors import GatecalcError, closest
from gatecalc.jacobian import Jacobian
from gatecalc.language import Tree, name, parse, rewrite, substitute
from gatecalc.precise import Real, evaluate, primitive
from gatecalc.unrolled import Unrolled
from gatecalc.words import IDENTITY, factors

MAX_ENTRIES = 16  # rows or columns of a matrix in a story

Matrix = list[list[Real]]
Vectors = dict[str, list[Real]]


@dataclass(frozen=True)
class Row:
    """One step: decimal strings, correctly rounded."""

    step: int
    factor: str
    belt: str
    whole: str


@dataclass(frozen=True)
class Contribution:
    """One path of the chain rule: its share of each step's factor, and the product of its shares."""

    path: str
    factors: list[str]
    product: str | None


@dataclass(frozen=True)
class Story:
    """The factors per step and what they multiply to.

    Attributes:
        measure: ``value``, or ``Frobenius norm`` where a Jacobian is a matrix.
        rows: One for each step.
        paths: One for each word of the factor.
    """

    measure: str
    rows: list[Row]
    paths: list[Contribution]


def read_values(texts: Sequence[str]) -> dict[str, Any]:
    """Read ``b_f=3`` or ``W_i=[[4, 1]], x=[1, 0, 0, 0]``: names, and numbers or nested lists, as exact numbers.

    Raises:
        GatecalcError: For what is not ``NAME=VALUE``.
    """
    found: dict[str, Any] = {}
    for text in texts:
        tree = parse(f"at({text})")
        for argument in tree.args:
            if argument.op != "keyword":
                raise GatecalcError(
                    f"syntax: '{argument}' is not NAME=VALUE", help="write it as in --at 'b_f=3, W_i=4'"
                )
            found[argument.value] = _value(argument.args[0])
    return found


def _value(tree: Tree) -> Any:
    return [_value(item) for item in tree.args] if tree.op == "list" else evaluate(tree)


def story(derived: Jacobian, values: Mapping[str, Any], digits: int = 6) -> Story:
    """Return the story of a gradient at given weights and inputs; what is not given is 0.

    Args:
        derived: The Jacobian of a vector by a previous state.
        values: {name: number or nested list}; ``x`` is a list of steps, each a number or a list.
        digits: Digits after the point.

    Raises:
        GatecalcError: For an unknown name, shapes that do not fit, and an input that is not a previous state.

    >>> from gatecalc.jacobian import jacobian
    >>> story(jacobian("lstm", "c", "c_prev", steps=20), read_values(["b_f=3"])).rows[-1].belt
    '0.378421'
    """
    cell, steps = derived.cell, derived.steps
    state = next((each for each in cell.states if derived.input in (each + PREVIOUS, f"{each}_0")), None)
    if state is None or derived.output not in derived.unrolled.nodes:
        raise GatecalcError(
            f"name: --at follows a gradient to a previous state, and not to '{derived.input}'",
            help=f"take one of {', '.join(each + PREVIOUS for each in cell.states)} as INPUT",
        )
    output = next(each for each in cell.widths if derived.unrolled.label(each, steps) == derived.output)
    given = _given(cell, values, steps)
    base = Unrolled(cell, steps, 1, cell.states)
    vectors = _forward(base, given)
    one_step = Jacobian(cell, output, state + PREVIOUS)
    words = one_step.paths()
    names = [_at_step(base, step) for step in range(1, steps + 1)]
    shares = [[_word(substitute(word, now), vectors, given, state) for now in names] for word in words]
    size = len(vectors[base.label(state + PREVIOUS, 1)])
    zero = [[Real.number(0)] * size for _ in vectors[base.label(output, 1)]]
    steps_alone = [_total([zero, *(share[k] for share in shares)]) for k in range(steps)]
    belt = _along(Unrolled(cell, steps, 1, [state]), state, output, vectors, given, zero)
    first = Unrolled(cell, steps, 0, cell.states)
    whole = _along(first, state, output, {**vectors, **_before(first, given)}, given, zero)
    rows = [
        Row(k + 1, *(_measure(each).display(digits) for each in (steps_alone[k], belt[k], whole[k])))
        for k in range(steps)
    ]
    paths = [
        Contribution(
            str(word),
            [_measure(each).display(digits) for each in share],
            _measure(_chain(share)).display(digits) if output == state else None,
        )
        for word, share in zip(words, shares, strict=True)
    ]
    is_number = size == 1 and len(zero) == 1
    return Story("value" if is_number else "Frobenius norm", rows, paths)


# Numbers in.


def _given(cell: Cell, values: Mapping[str, Any], steps: int) -> Vectors:
    """Return every parameter, input and first state as a list, or a list of rows; what is not given is 0."""
    values = {_plain(text, cell): value for text, value in values.items()}
    widths: dict[str, int] = {}
    for text, value in values.items():
        shape = cell.parameters.get(text) or (cell.widths[text.removesuffix(PREVIOUS)],)
        seen = value[0] if text in cell.inputs and steps > 1 and isinstance(value, list) and value else value
        for letter, length in zip(shape, _lengths(seen) or [1] * len(shape), strict=False):
            if widths.setdefault(letter, length) != length or length > MAX_ENTRIES:
                raise GatecalcError(
                    f"shape: '{text}' makes {letter} {length}, and it was {widths[letter]}; {MAX_ENTRIES} at most",
                    help=f"its shape is {' by '.join(shape)}",
                )
    size = {letter: widths.get(letter, 1) for letter in {*cell.dimensions, *cell.widths.values()}}
    given: Vectors = {}
    for parameter, letters in cell.parameters.items():
        given[parameter] = _filled(parameter, values.get(parameter, Real.number(0)), [size[each] for each in letters])
    for text in [*(state + PREVIOUS for state in cell.states), *(each + PREVIOUS for each in cell.written)]:
        width = size[cell.widths[text.removesuffix(PREVIOUS)]]
        given[text] = _filled(text, values.get(text, Real.number(0)), [width])
    for text in cell.inputs:
        value = values.get(text, Real.number(0))
        series = value if isinstance(value, list) and steps > 1 else [value]
        if len(series) > steps:
            raise GatecalcError(f"shape: '{text}' has {len(series)} steps, and {steps} are taken", help="add --steps")
        for step in range(1, steps + 1):
            now = series[step - 1] if step <= len(series) else Real.number(0)
            given[f"{text} {step}"] = _filled(text, now, [size[cell.widths[text]]])
    return given


def _plain(text: str, cell: Cell) -> str:
    """Return a name as it is in the cell: ``c_0``, the state before the first step, is ``c_prev``."""
    if text.endswith("_0") and text.removesuffix("_0") in cell.written:
        text = text.removesuffix("_0") + PREVIOUS
    is_before = text.endswith(PREVIOUS) and text.removesuffix(PREVIOUS) in cell.written
    if text in cell.parameters or text in cell.inputs or is_before:
        return text
    known = [*cell.parameters, *cell.inputs, *(state + PREVIOUS for state in cell.states)]
    raise GatecalcError(f"name: '{text}' is not given to {cell.name}{closest(text, known)}", help=", ".join(known))


def _lengths(value: Any) -> list[int]:
    return [len(value), *_lengths(value[0])] if isinstance(value, list) and value else []


def _filled(text: str, value: Any, shape: Sequence[int]) -> Any:
    """Fit a value to a shape; 0 fits every one, and a number is a list of one."""
    if not shape:
        return value
    if not isinstance(value, list):
        if value.exact == 0 or all(length == 1 for length in shape):
            return [_filled(text, value, shape[1:]) for _ in range(shape[0])]
    elif len(value) == shape[0] and all(isinstance(item, list) == (len(shape) > 1) for item in value):
        return [_filled(text, item, shape[1:]) for item in value]
    raise GatecalcError(
        f"shape: '{text}' is not {' by '.join(map(str, shape))}", help="write lists, as in '[[1, 0], [0, 1]]'"
    )


# Numbers along.


def _forward(unrolled: Unrolled, given: Vectors) -> Vectors:
    """Compute every vector of every step."""
    cell = unrolled.cell
    vectors = {unrolled.label(state + PREVIOUS, 1): given[state + PREVIOUS] for state in cell.states}
    for step in range(1, unrolled.steps + 1):
        vectors |= {unrolled.label(text, step): given[f"{text} {step}"] for text in cell.inputs}
    vectors |= {text: value for text, value in given.items() if text in cell.parameters}
    for label, node in unrolled.nodes.items():
        vectors[label] = _elementwise(node.formula, vectors)
    return vectors


def _before(unrolled: Unrolled, given: Vectors) -> Vectors:
    """Return the vectors of the step before the first, as far as they are given."""
    return {unrolled.label(each, 0): given[each + PREVIOUS] for each in unrolled.cell.written}


def _elementwise(formula: Tree, vectors: Vectors) -> list[Real]:
    """Return the value of an elementwise formula; a product ``M @ v`` in it is looked up, or computed."""
    products: Vectors = {}

    def replace(node: Tree) -> Tree | None:
        if node.op != "@":
            return None
        text = str(node)
        if text not in vectors:
            vectors[text] = _times(vectors[node.args[0].value], _elementwise(node.args[1], vectors))
        products[text] = vectors[text]
        return name(text)

    scalar = rewrite(formula, replace)
    read = {text: vectors[text] for text in scalar.names() if text in vectors}
    width = max((len(value) for value in read.values()), default=1)
    return [evaluate(scalar, {text: value[k] for text, value in read.items()}) for k in range(width)]


def _at_step(unrolled: Unrolled, step: int) -> dict[str, Tree]:
    """Return what the names of one step are called over all steps."""
    return {each: name(unrolled.label(each, step)) for each in unrolled.cell.widths if each.isidentifier()}


def _word(word: Tree, vectors: Vectors, given: Vectors, state: str) -> Matrix:
    """Return a word as a matrix."""
    matrix = _identity(len(given[state + PREVIOUS]))
    sign, word = (-1, word.args[0]) if word.op == "neg" else (1, word)
    for factor in reversed(factors(word)):
        if factor.op == "neg":
            sign, factor = -sign, factor.args[0]
        matrix = _applied(factor, matrix, vectors, given)
    return _scaled([Real.number(sign)], matrix)


def _identity(size: int) -> Matrix:
    return [[Real.number(int(i == j)) for j in range(size)] for i in range(size)]


def _along(unrolled: Unrolled, state: str, output: str, vectors: Vectors, given: Vectors, zero: Matrix) -> list[Matrix]:
    """Carry the change of a first state along the edges; return the output's Jacobian at every step."""
    start = unrolled.label(state + PREVIOUS, 1)
    found: dict[str, Matrix] = {start: _identity(len(given[state + PREVIOUS]))}
    for label, node in unrolled.nodes.items():
        parts = []
        for edge in node.edges:
            if label != start and edge.source in found:
                parts.append(_applied(edge.factor, found[edge.source], vectors, given))
        if parts:
            found[label] = _scaled(_elementwise(node.outer, vectors), _total(parts))
    return [found.get(unrolled.label(output, step), zero) for step in range(1, unrolled.steps + 1)]


def _applied(factor: Tree, matrix: Matrix, vectors: Vectors, given: Vectors) -> Matrix:
    if factor == IDENTITY:
        return matrix
    if factor.op == "name":
        return _product(given[factor.value], matrix)
    return _scaled(_elementwise(factor.args[0], vectors), matrix)


def _scaled(entries: list[Real], matrix: Matrix) -> Matrix:
    entries = entries * len(matrix) if len(entries) == 1 else entries
    return [[entry * item for item in row] for entry, row in zip(entries, matrix, strict=True)]


def _times(matrix: Any, vector: list[Real]) -> list[Real]:
    return [sum((a * b for a, b in zip(row, vector, strict=True)), Real.number(0)) for row in matrix]


def _product(one: Any, other: Matrix) -> Matrix:
    columns = list(zip(*other, strict=True))
    return [
        [sum((a * b for a, b in zip(row, column, strict=True)), Real.number(0)) for column in columns] for row in one
    ]


def _total(matrices: Sequence[Matrix]) -> Matrix:
    return [[sum(items[1:], items[0]) for items in zip(*rows, strict=True)] for rows in zip(*matrices, strict=True)]


def _chain(matrices: Sequence[Matrix]) -> Matrix:
    product = matrices[0]
    for matrix in matrices[1:]:
        product = _product(matrix, product)
    return product


def _measure(matrix: Matrix) -> Real:
    """Return the number itself, or the Frobenius norm."""
    if len(matrix) == 1 and len(matrix[0]) == 1:
        return matrix[0][0]
    squares = [item * item for row in matrix for item in row]
    return primitive("sqrt", sum(squares[1:], squares[0]))
