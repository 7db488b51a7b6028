"""What becomes of a gradient: the factors of each step, their product along the belt, and the whole, for given numbers.

At each step, for an output and a previous state of a cell:

- the *factor*: the Jacobian of the step alone, the other previous states held fixed;
- the *belt*: the product of the factors back to the first step, the local path;
- the *whole*: all paths together, through every state;
- the *paths*: what each word of the factor contributes, and how much of the start it alone would keep.

A Jacobian of one unit is a number; a larger one is shown by its Frobenius norm, the root of the sum of squares. All of
it is computed with :class:`~gatecalc.numbers.precise.Real`, so that what is printed is proved to its last digit. The
derivatives are the edges that the printed Jacobian was derived from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gatecalc.calculus.jacobian import Jacobian
from gatecalc.calculus.unrolled import Unrolled
from gatecalc.calculus.words import IDENTITY, factors
from gatecalc.cell import PREVIOUS, Cell
from gatecalc.errors import GatecalcError
from gatecalc.language import Source, Tree, name, number, parse, rewrite, substitute
from gatecalc.numbers.precise import Real, evaluate, primitive
from gatecalc.numbers.trace import real, run, start

MAX_WIDTH = 16  # of a vector in a story

Matrix = list[list[Real]]
Values = dict[str, Any]  # {label: a vector, or a matrix as its rows}


class Row(NamedTuple):
    """One step: decimal strings, correctly rounded."""

    step: int
    factor: str
    belt: str
    whole: str


class Contribution(NamedTuple):
    """One path of the chain rule: its share of each step's factor, and the product of its shares."""

    path: str
    factors: list[str]
    product: str | None


class Story(NamedTuple):
    """The factors per step and what they multiply to.

    Attributes:
        measure: ``value``, or ``Frobenius norm`` where a Jacobian is a matrix.
        rows: One for each step.
        paths: One for each word of the factor.
    """

    measure: str
    rows: list[Row]
    paths: list[Contribution]


def read_values(texts: Sequence[str]) -> dict[str, Tree]:
    """Read ``b_f=3`` or ``W_i=[[4, 1]], x=[1, 0, 0, 0]``: names, and numbers or nested lists.

    Raises:
        GatecalcError: For what is not ``NAME=VALUE``.

    >>> read_values(["b_f=3, x=[1, 0]", "b_f=2"])
    {'b_f': Tree('2'), 'x': Tree('[1, 0]')}
    """
    found: dict[str, Tree] = {}
    for text in texts:
        tree = parse(Source(f"at({text})", "--at"))
        for argument in tree.args:
            if argument.op != "keyword":
                raise GatecalcError(f"--at: '{argument}' is not NAME=VALUE", help="write it as in --at 'b_f=3, W_i=4'")
            found[argument.value] = argument.args[0]
    return found


def story(derived: Jacobian, values: Mapping[str, Any], digits: int = 6) -> Story:
    """Return the story of a gradient at given weights and inputs; what is not given is 0.

    Args:
        derived: The Jacobian of a vector by a previous state.
        values: {name: number or nested list}; ``x`` is a list of steps, each a number or a list. With the total path
            also the gates of the step before, ``o_prev``.
        digits: Digits after the point.

    Raises:
        GatecalcError: For an unknown name, shapes that do not fit, and an input that is not a previous state.

    >>> from gatecalc.calculus.jacobian import jacobian
    >>> story(jacobian("lstm", "c", "c_prev", steps=20), read_values(["b_f=3"])).rows[-1].belt
    '0.378421'
    """
    cell, steps = derived.cell, derived.steps
    state = next((each for each in cell.states if derived.input in (each + PREVIOUS, f"{each}_0")), None)
    if state is None or derived.output not in derived.unrolled.nodes:
        raise GatecalcError(
            f"--at: follows a gradient to a previous state, and not to '{derived.input}'",
            help=f"take one of {', '.join(each + PREVIOUS for each in cell.states)} as INPUT",
        )
    output = next(each for each in cell.widths if derived.unrolled.label(each, steps) == derived.output)
    unrolled = Unrolled(cell, steps, 0 if derived.path == "total" else 1, cell.states)
    found = _values(unrolled, values)
    one_step = Jacobian(cell, output, state + PREVIOUS)
    words = one_step.paths()
    names = [{each: name(unrolled.label(each, step)) for each in cell.widths} for step in range(1, steps + 1)]
    shares = [[_word(substitute(word, now), found, now[state + PREVIOUS].value) for now in names] for word in words]
    kept = list(zip(words, shares, strict=True))
    rows, columns = (len(found[unrolled.label(each, 1)]) for each in (output, state + PREVIOUS))
    zero = [[Real.number(0)] * columns for _ in range(rows)]
    factor = [_total([zero, *(share[k] for share in shares)]) for k in range(steps)]
    belt = _along(Unrolled(cell, steps, 1, [state]), state, output, found, zero)
    whole = _along(unrolled, state, output, found, zero)

    if steps == 1 and derived.path == "total":
        kept = [(word, [_word(word, found, derived.input)]) for word in derived.paths()]

    def shown(matrix: Matrix) -> str:
        return _measure(matrix).display(digits)

    return Story(
        "value" if rows == columns == 1 else "Frobenius norm",
        [Row(k + 1, shown(factor[k]), shown(belt[k]), shown(whole[k])) for k in range(steps)],
        [
            Contribution(str(word), list(map(shown, share)), shown(_chain(share)) if output == state else None)
            for word, share in kept
        ],
    )


def _values(unrolled: Unrolled, values: Mapping[str, Any]) -> Values:
    """Run the cell; return every vector at every step, and every weight, by its label."""
    cell, steps = unrolled.cell, unrolled.steps
    known = {text.removesuffix("_0") + PREVIOUS if text[:-2] in cell.written else text: v for text, v in values.items()}
    x = _padded(known.pop("x", Tree("list")), steps)
    before = {text: known.pop(text) for text in list(known) if text.removesuffix(PREVIOUS) in _gates(cell)}
    table = run(cell, x, known)
    _, weights, states = start(cell, x, known)
    found: Values = {**weights, **{unrolled.label(each, 1): list(vector) for each, vector in states.items()}}
    for each in (*cell.inputs, *cell.written):
        for step, vector in enumerate(table[each].values, 1):
            found[unrolled.label(each, step)] = list(vector)
    for each in _gates(cell):
        width = len(found[unrolled.label(each, 1)])
        found[unrolled.label(each, 0)] = _vector(each + PREVIOUS, before.get(each + PREVIOUS, number(0)), width)
    if max(len(vector) for vector in found.values()) > MAX_WIDTH:
        raise GatecalcError(f"limit: a gradient is followed at widths up to {MAX_WIDTH}", help="take a smaller width")
    return found


def _gates(cell: Cell) -> list[str]:
    """Return the vectors that are not handed to the next step."""
    return [each for each in cell.written if each not in cell.states]


def _padded(x: Any, steps: int) -> list[Any]:
    """Return the input of every step: 0 after those that are given."""
    series = list(x.args) if isinstance(x, Tree) and x.op == "list" else list(x) if isinstance(x, list | tuple) else [x]
    if len(series) > steps:
        raise GatecalcError(
            f"--at: x has {len(series)} steps, and --steps is {steps}", help=f"add --steps {len(series)}"
        )
    first = series[0] if series else number(0)
    width = len(first.args) if isinstance(first, Tree) and first.op == "list" else 0
    nothing = Tree("list", (number(0),) * width) if width else number(0)
    return series + [nothing] * (steps - len(series))


def _vector(text: str, value: Any, width: int) -> list[Real]:
    items = value.args if isinstance(value, Tree) and value.op == "list" else [value] * width
    if len(items) != width:
        raise GatecalcError(
            f"shape: '{text}' has {len(items)} numbers, and is {width} wide",
            help=f"give one number, or a list of {width}",
        )
    return [real(item, text) for item in items]


def _elementwise(formula: Tree, found: Values) -> list[Real]:
    """Return the value of an elementwise formula; a product ``M @ v`` in it is computed once."""

    def replace(node: Tree) -> Tree | None:
        if node.op != "@":
            return None
        text = str(node)
        if text not in found:
            column = [[each] for each in _elementwise(node.args[1], found)]
            found[text] = [row[0] for row in _product(found[node.args[0].value], column)]
        return name(text)

    scalar = rewrite(formula, replace)
    read = {text: found[text] for text in scalar.names() if text in found}
    width = max((len(value) for value in read.values()), default=1)
    return [evaluate(scalar, {text: value[k] for text, value in read.items()}) for k in range(width)]


def _word(word: Tree, found: Values, start: str) -> Matrix:
    """Return a word as a matrix."""
    matrix = _identity(len(found[start]))
    sign, word = (-1, word.args[0]) if word.op == "neg" else (1, word)
    for factor in reversed(factors(word)):
        if factor.op == "neg":
            sign, factor = -sign, factor.args[0]
        matrix = _applied(factor, matrix, found)
    return _scaled([Real.number(sign)], matrix)


def _along(unrolled: Unrolled, state: str, output: str, found: Values, zero: Matrix) -> list[Matrix]:
    """Carry the change of a first state along the edges; return the output's Jacobian at every step."""
    start = unrolled.label(state + PREVIOUS, 1)
    changes: dict[str, Matrix] = {start: _identity(len(found[start]))}
    for label, node in unrolled.nodes.items():
        parts = [_applied(e.factor, changes[e.source], found) for e in node.edges if e.source in changes]
        if parts and label != start:
            changes[label] = _scaled(_elementwise(node.outer, found), _total(parts))
    return [changes.get(unrolled.label(output, step), zero) for step in range(1, unrolled.steps + 1)]


def _applied(factor: Tree, matrix: Matrix, found: Values) -> Matrix:
    if factor == IDENTITY:
        return matrix
    if factor.op == "name":
        return _product(found[factor.value], matrix)
    return _scaled(_elementwise(factor.args[0], found), matrix)


def _identity(size: int) -> Matrix:
    return [[Real.number(int(i == j)) for j in range(size)] for i in range(size)]


def _scaled(entries: list[Real], matrix: Matrix) -> Matrix:
    entries = entries * len(matrix) if len(entries) == 1 else entries
    return [[entry * item for item in row] for entry, row in zip(entries, matrix, strict=True)]


def _product(one: Sequence[Sequence[Real]], other: Matrix) -> Matrix:
    columns = list(zip(*other, strict=True))
    zero = Real.number(0)
    return [[sum((a * b for a, b in zip(row, column, strict=True)), zero) for column in columns] for row in one]


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
