"""The functions that a claim may call: one row each, with a signature, an example and the example's value.

A row is made by the decorator :func:`function`; ``gatecalc value --list`` prints the table, and a test evaluates every
example. Rows call the rest of gatecalc and load it only when they are called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from gatecalc.elementwise import ELEMENTWISE
from gatecalc.errors import GatecalcError, Undecided, shorten
from gatecalc.numbers.precise import PI, Real, apply, arithmetic, compare, primitive

Call = TypeVar("Call", bound=Callable[..., Any])

MAX_ITEMS = 100_000  # of a list


class Function(NamedTuple):
    """One function of the language of claims.

    Attributes:
        name: As it is called.
        call: What computes it.
        signature: Its arguments, as they are written.
        title: What it is, one line.
        example: A call.
        value: What that call gives, as a printed figure or a formula.
    """

    name: str
    call: Callable[..., Any]
    signature: str
    title: str
    example: str
    value: str


FUNCTIONS: dict[str, Function] = {}


def function(example: str, value: str, name: str | None = None) -> Callable[[Call], Call]:
    """Return the decorator that puts a function into the table under its own name."""

    def register(call: Call) -> Call:
        key = name or call.__name__.rstrip("_")
        if key in FUNCTIONS:
            raise ValueError(f"function '{key}' is defined twice")
        parameters = inspect.signature(call).parameters.values()
        signature = ", ".join(
            f"*{p.name}"
            if p.kind is p.VAR_POSITIONAL
            else f"{p.name}=..."
            if p.kind is p.VAR_KEYWORD
            else p.name
            if p.default is p.empty
            else f"{p.name}={p.default!r}"
            for p in parameters
        )
        title = " ".join((call.__doc__ or "").split("\n\n")[0].split())
        FUNCTIONS[key] = Function(key, call, f"{key}({signature})", title, example, value)
        return call

    return register


def real(value: Any, what: str = "this") -> Real:
    """Return a value that must be a number."""
    if isinstance(value, Real):
        return value
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise GatecalcError(f"value: {what} is {describe(value)}, where a number is needed", help="give a number")
    return Real.number(value)


def integer(value: Any, what: str, least: int | None = None) -> int:
    """Return a value that must be an integer, and not below ``least``."""
    number = real(value, what).integer
    if number is None:
        raise GatecalcError(
            f"value: {what} is {describe(value)}, where an integer is needed", help="give a whole number"
        )
    if least is not None and number < least:
        raise GatecalcError(
            f"value: {what} is {number}, and must be at least {least}", help=f"give a whole number from {least}"
        )
    return number


def bounded(value: list[Any]) -> list[Any]:
    """Return a list that does not have too many numbers in it, those of its lists included."""
    count, stack = 0, [value]
    while stack:
        for item in stack.pop():
            count += 1
            if isinstance(item, list):
                stack.append(item)
            if count > MAX_ITEMS:
                raise Undecided(f"a list of more than {MAX_ITEMS} items is beyond the limit")
    return value


def items(value: Any, what: str = "this") -> list[Any]:
    """Return a value that must be a list, or the steps of a trace."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(value)
    raise GatecalcError(f"value: {what} is {describe(value)}, where a list is needed", help="write it as [1, 0, 0]")


def describe(value: Any) -> str:
    """Name a value for an error message."""
    if isinstance(value, Real):
        return shorten(value.text(), 30) if value.exact is not None or value.symbols else "a number"
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, str):
        return f"the text '{shorten(value, 30)}'"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return f"a {type(value).__name__}"


def elementwise(call: Callable[..., Any], *args: Any) -> Any:
    """Apply a function of numbers to lists of equal length, item by item; a number goes with every item."""
    args = tuple(list(a) if isinstance(a, Sequence) and not isinstance(a, str) else a for a in args)
    lengths = {len(argument) for argument in args if isinstance(argument, list)}
    if not lengths:
        return call(*(real(argument) for argument in args))
    if len(lengths) > 1:
        raise GatecalcError(
            f"shape: lists of {' and '.join(map(str, sorted(lengths)))} items do not fit together",
            help="give lists of one length, or numbers",
        )
    return [
        elementwise(call, *(argument[position] if isinstance(argument, list) else argument for argument in args))
        for position in range(lengths.pop())
    ]


def _elementwise_row(name: str, title: str, example: str, value: str) -> None:
    def call(a: Any) -> Any:
        return elementwise(lambda number: apply(name, number), a)

    FUNCTIONS[name] = Function(name, call, f"{name}(a)", title, example, value)


for _row in ELEMENTWISE.values():
    _title = f"Elementwise: {_row.definition or 'a primitive'}."
    _elementwise_row(_row.name, _title, f"{_row.name}(0.5)", _row.at_half)


@function("symbol('H')", "H")
def symbol(name: str) -> Real:
    """A symbol, for formulas that hold for every value of it."""
    if not isinstance(name, str) or not name.isidentifier():
        raise GatecalcError(f"value: {describe(name)} is not the name of a symbol", help="write symbol('H')")
    return Real.symbol(name)


@function("floor(2.7)", "2")
def floor(a: Any) -> Any:
    """The greatest integer that is not above."""
    return elementwise(lambda number: primitive("floor", number), a)


@function("ceil(2.1)", "3")
def ceil(a: Any) -> Any:
    """The least integer that is not below."""
    return elementwise(lambda number: -primitive("floor", -number), a)


@function("log2(1024)", "10")
def log2(a: Any) -> Any:
    """The logarithm to base 2."""
    return elementwise(lambda number: _logarithm(number, 2), a)


@function("log10(0.001)", "-3")
def log10(a: Any) -> Any:
    """The logarithm to base 10."""
    return elementwise(lambda number: _logarithm(number, 10), a)


def _logarithm(number: Real, base: int) -> Real:
    value = number.fraction
    if value is not None and value > 0:  # a power of the base is exact
        power, rest = 0, value if value >= 1 else 1 / value
        while rest % base == 0:
            rest, power = rest / base, power + 1
        if rest == 1:
            return Real.number(power if value >= 1 else -power)
    return primitive("log", number) / primitive("log", Real.number(base))


def _numbers(args: tuple[Any, ...], what: str) -> list[Real]:
    flat: list[Real] = []
    stack = list(reversed(args))
    while stack:
        value = stack.pop()
        if isinstance(value, Sequence) and not isinstance(value, str):
            stack.extend(reversed(list(value)))
        else:
            flat.append(real(value, what))
    return flat


@function("sum([1, 2, 3])", "6")
def sum_(*numbers: Any) -> Real:
    """The sum of a list, or of the arguments."""
    return arithmetic("+", (Real.number(0), *_numbers(numbers, "a term of sum")))


@function("product([2, 3, 4])", "24")
def product(*numbers: Any) -> Real:
    """The product of a list, or of the arguments."""
    return arithmetic("*", (Real.number(1), *_numbers(numbers, "a factor of product")))


@function("mean([1, 2, 4])", "2.333")
def mean(*numbers: Any) -> Real:
    """The mean of a list, or of the arguments."""
    values = _numbers(numbers, "an item of mean")
    if not values:
        raise GatecalcError("value: the mean of nothing is not defined", help="give at least one number")
    return sum_(values) / len(values)


@function("norm([3, 4])", "5")
def norm(*numbers: Any) -> Real:
    """The Euclidean norm of a list."""
    return primitive("sqrt", sum_([number * number for number in _numbers(numbers, "an item of norm")]))


def _extreme(numbers: list[Real], side: int) -> Real:
    if not numbers:
        raise GatecalcError("value: there is nothing to compare", help="give at least one number")
    best = numbers[0]
    for number in numbers[1:]:
        if compare(number, best)[0] == side:
            best = number
    return best


@function("max([1, 3, 2])", "3")
def max_(*numbers: Any) -> Real:
    """The largest of a list, or of the arguments."""
    return _extreme(_numbers(numbers, "an item of max"), 1)


@function("min(1/3, 0.3333)", "0.3333")
def min_(*numbers: Any) -> Real:
    """The smallest of a list, or of the arguments."""
    return _extreme(_numbers(numbers, "an item of min"), -1)


@function("len([1, 0, 0, 0])", "4")
def len_(values: list[Any]) -> Real:
    """How many items a list has."""
    return Real.number(len(items(values, "the argument of len")))


@function("repeat(0, 3)", "[0, 0, 0]")
def repeat(value: Any, times: Any) -> list[Any]:
    """A list of the same value, so many times."""
    count = integer(times, "the number of times", 0)
    if count > MAX_ITEMS:
        raise Undecided(f"a list of {count} items is beyond the limit of {MAX_ITEMS}")
    return bounded([value] * count)


@function("concatenate([1], repeat(0, 3))", "[1, 0, 0, 0]")
def concatenate(*lists: Any) -> list[Any]:
    """One list of all the items."""
    return bounded([item for value in lists for item in items(value, "an argument of concatenate")])


@function("rounded(sigmoid(3), 4)", "0.9526")
def rounded(a: Any, digits: Any) -> Any:
    """The number rounded to so many digits after the point, as a document would have printed it."""
    places = integer(digits, "the number of digits", 0)
    if places > 1000:
        raise Undecided(f"{places} digits are beyond the limit of 1000")
    return elementwise(lambda number: Real.number(Fraction(number.decimal(places))), a)


@function("trace('lstm', x=[1, 0], W_i=4, b_i=-2, W_g=2, b_f=3).c[2]", "0.8088")
def trace(cell: str, x: Any, **weights: Any) -> Any:
    """A cell run by hand: trace(...).c[2] is c at step 2. Weights and initial states (c_prev) not given are 0."""
    from gatecalc.numbers.trace import trace as run

    return run(cell, x=x, **weights)


@function("rand('microsoft', 42, 3)", "[175, 400, 17869]")
def rand(library: str, seed: Any, count: Any) -> list[Any]:
    """What a C library's rand() returns after srand(seed): glibc, microsoft, macos, musl, ..."""
    from gatecalc.networks.crand import library as look_up

    numbers = look_up(library).stream(integer(seed, "the seed", 0))
    wanted = integer(count, "the count", 0)
    if wanted > MAX_ITEMS:
        raise Undecided(f"a list of {wanted} items is beyond the limit of {MAX_ITEMS}")
    return [Real.number(next(numbers)) for _ in range(wanted)]


@function("simulate('rnn', x=[1, 0], H=2, draws='W | U', seed=42).h[1]", "[-0.098610, 0.083260]")
def simulate(
    cell: str,
    x: Any,
    H: Any,  # noqa: N803
    draws: str,
    rand: str = "microsoft",
    seed: Any = 42,
    trials: Any = 1,
    spread: Any = (Fraction(1, 5), Fraction(1, 10)),
    arithmetic: str = "float32",
    **settings: Any,
) -> Any:
    """A cell run as a C program does, in float32, or exact over the same weights: .h[1], .norm[1] (the trials' mean).

    Settings are weights (b_f=1), and formulas of the program's own functions in a (tanh='...').
    """
    from gatecalc.networks.simulation import simulate as run

    return run(
        cell,
        x=items(x, "x"),
        H=integer(H, "H", 1),
        draws=draws,
        rand=rand,
        seed=integer(seed, "the seed", 0),
        trials=integer(trials, "trials", 1),
        spread=items(spread, "spread"),
        arithmetic=arithmetic,
        functions={name: text for name, text in settings.items() if name in ELEMENTWISE},
        **{name: value for name, value in settings.items() if name not in ELEMENTWISE},
    )


@function("float32('a + b - a', a=2**24, b=1)", "0")
def float32(formula: str, **values: Any) -> Any:
    """A formula computed as a C program does, each operation rounded to float32; tanh='...' is its own tanh, in a."""
    from gatecalc.networks.simulation import float32 as compute

    functions = {name: text for name, text in values.items() if name in ELEMENTWISE}
    return compute(formula, functions, **{name: value for name, value in values.items() if name not in ELEMENTWISE})


@function("element([[1, 2], [3, 4]], 0)", "[1, 3]")
def element(values: Any, place: Any) -> list[Any]:
    """The item at a place, from 0, of each list of a list, as one element of a vector over the steps of a run."""
    position = integer(place, "the place", 0)
    found = []
    for value in items(values, "the argument of element"):
        row = items(value, "an item of element")
        if position >= len(row):
            raise GatecalcError(
                f"value: there is no item {position}; they count from 0 to {len(row) - 1}", help="the first item is 0"
            )
        found.append(row[position])
    return found


@function("ratios([1, 2, 3])", "[2, 1.5]")
def ratios(values: Any) -> list[Any]:
    """Each item of a list over the one before it."""
    numbers = _numbers((items(values, "the argument of ratios"),), "an item of ratios")
    return [after / before for before, after in pairwise(numbers)]


@function("increasing([1, 2, 4])", "true")
def increasing(values: Any) -> bool:
    """Whether each item of a list is above the one before it."""
    numbers = _numbers((items(values, "the argument of increasing"),), "an item of increasing")
    return all(compare(after, before)[0] > 0 for before, after in pairwise(numbers))


@function("jacobian('lstm', 'c', 'c_prev')", "diag(f)")
def jacobian(cell: str, output: str, input: str, path: str = "local", steps: Any = 1) -> Any:
    """A derivative, for a formula of diag(...), matrices and @ to be compared with; path is local or total."""
    from gatecalc.calculus.derivation import derive

    return derive(cell, output, input, path, integer(steps, "the number of steps", 1), check=False)


@function("train('remember-first', 'rnn', 5, W=0.5, U=0.5, V=0.5, rate=0.5).learned", "8")
def train(task: str, cell: str, length: Any, **values: Any) -> Any:
    """A training run: .learned, .passes, .loss, .weights, .first_gradient; values are weights and options."""
    from gatecalc.checking.runs import train as run

    return run(task, cell, integer(length, "the length", 1), values)


@function("sweep('remember-first', 'rnn', [5, 10], W=0.5, U=[0.5, 1], V=0.5, rate=0.5).learned", "[[8, 25], [5, 5]]")
def sweep(task: str, cell: str, lengths: Any, **values: Any) -> Any:
    """Training runs at each length, and for each value of what is a list: .learned, .loss, .runs, as rows."""
    from gatecalc.checking.runs import sweep as run

    return run(task, cell, [integer(length, "a length", 1) for length in items(lengths, "the lengths")], values)


def _filled(formula: Any, cell: str, **widths: Any) -> Any:
    """Fill widths into a count: integers, or symbols for a formula that holds for every width."""
    needed = formula.names
    given = {key: _width(value, key) for key, value in widths.items() if value is not None}
    missing = [key for key in needed if key not in given]
    if missing:
        raise GatecalcError(f"value: {cell} has a width {missing[0]}, which is not given", help=f"add {missing[0]}=...")
    return formula(**{key: given[key] for key in needed})


def _width(value: Any, what: str) -> Any:
    number = real(value, what)
    return number if number.symbols else integer(number, f"the width {what}", 0)


@function("parameters('lstm', 3, 5, bias='single')", "180")
def parameters(cell: str, D: Any, H: Any, bias: str = "single", P: Any = None) -> Any:  # noqa: N803
    """How many trained numbers a cell has: bias is single, double (PyTorch) or none; widths may be symbols."""
    from gatecalc.counts.counting import parameters as count

    return _filled(count(cell, bias), cell, D=D, H=H, P=P)


@function("macs('lstm', 3, 5)", "160")
def macs(cell: str, D: Any, H: Any, P: Any = None) -> Any:  # noqa: N803
    """How many multiply-accumulates a step of one sequence takes in its matrix products."""
    from gatecalc.counts.counting import macs as count

    return _filled(count(cell), cell, D=D, H=H, P=P)


@function("stored('lstm', 3, 5, scheme='written')", "30")
def stored(cell: str, D: Any, H: Any, scheme: str = "written", P: Any = None) -> Any:  # noqa: N803
    """How many numbers a step of one sequence stores for the backward pass, under a named scheme."""
    from gatecalc.counts.counting import stored as count

    return _filled(count(cell, scheme), cell, D=D, H=H, P=P)


@function("fair_width('gru', 180, 3).width", "6")
def fair_width(cell: str, target: Any, D: Any, bias: str = "single", match: str = "parameters") -> Any:  # noqa: N803
    """The width at which a cell has so many parameters (or macs): .exact, .width, .below, .above, .root, .equation."""
    from gatecalc.counts.fair import fair_width as solve

    return solve(cell, integer(target, "the target", 1), input=integer(D, "D", 0), bias=bias, match=match)


@function("layout('lstm', 'pytorch', 3, 5).tensors['weight_ih_l0']", "[20, 3]")
def layout(cell: str, framework: str, D: Any, H: Any, P: Any = None) -> Any:  # noqa: N803
    """How a framework lays out a cell's weights: .tensors, .gates, .parameters, and .rows of each gate."""
    from gatecalc.counts.layouts import layout as look_up

    projection = None if P is None else integer(P, "P", 1)
    return look_up(cell, framework, integer(D, "D", 0), integer(H, "H", 1), projection)


@function("equation('gru', 'h').text", "(1 - z) * h_prev + z * n")
def equation(cell: str, name: str) -> Any:
    """A cell's own equation for one of its vectors, to compare a displayed equation with, in the syntax of cells."""
    from gatecalc.checking.equations import equation as look_up

    return look_up(cell, name)


@function("count('lstm', 3, 5, layers=2).parameters", "400")
def count(cell: str, D: Any, H: Any, bias: str = "single", **more: Any) -> Any:  # noqa: N803
    """A whole network, with layers, bidirectional, projection, embedding, readout, readout_bias, initial, steps, batch:
    .parameters, .macs, .macs_backward, .flops, .elementwise, .stored and .totals."""
    from gatecalc.counts.architecture import count as whole

    for name in more:
        if name not in _AROUND:
            raise GatecalcError(
                f"value: count has no setting '{shorten(name, 30)}'", help=f"it has {', '.join(_AROUND)}"
            )
    settings: dict[str, Any] = {
        name: value if isinstance(value, bool) else integer(value, name, 1) for name, value in more.items()
    }
    return whole(cell, integer(D, "D", 1), integer(H, "H", 1), bias, **settings)


_AROUND = (
    *("layers", "bidirectional", "projection", "embedding", "readout", "readout_bias"),
    *("initial", "steps", "batch"),
)


CONSTANTS: dict[str, Any] = {"pi": PI}
