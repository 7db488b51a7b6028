"""A C program's run of a cell: its own order of summation, its own functions, its own random numbers.

The cell's equations are the program's. A sum is taken in the order written, ``b_z + W_z @ x + U_z @ h_prev``; a matrix
product in a sum adds one element after another, as the inner loop of the program does, and a factor before it goes
into the loop: ``r * (U_n @ h_prev)`` adds ``U_n[i][j] * (r[i] * h_prev[j])``. Weights are drawn by the program's loops,
written as ``W_z W_r W_n | U_z U_r U_n``: for each row, what stands before the bar once, then for each column what
stands after it.

Many runs with seeds of their own are made at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gatecalc.cell import PREVIOUS, Cell, parse_cell
from gatecalc.cell import cell as find_cell
from gatecalc.crand import library
from gatecalc.errors import GatecalcError, closest, shorten
from gatecalc.float32 import Array, evaluate
from gatecalc.language import Tree, parse
from gatecalc.precise import Real
from gatecalc.trace import Steps

MAX_WORK = 2 * 10**8  # multiplications of one simulation
_DTYPES: dict[str, Any] = {"float32": np.float32, "float64": np.float64}


class Simulation:
    """Runs of a program, one for each seed.

    Attributes:
        cell: The cell's name.
        how: ``float32`` or ``float64``.
        weights: {name: array}, (runs, rows, columns) or (runs, rows).
        series: {vector: its values at each step}, arrays (runs, width).
    """

    def __init__(self, cell: Cell, how: str, weights: dict[str, Array], series: dict[str, list[Array]]) -> None:
        self.cell = cell.name
        self.how = how
        self.weights = weights
        self.series = series

    @property
    def readable(self) -> tuple[str, ...]:
        """What a claim may read of it."""
        return (*self.series, "mean_norm")

    def __getattr__(self, name: str) -> Steps:
        """Return a vector of the first run over the steps, which count from 1."""
        if name.startswith("_") or name not in self.series:
            raise AttributeError(f"the simulation of '{self.cell}' has no '{name}'")
        vectors = [tuple(Real.floating(self.how, float(value)) for value in step[0]) for step in self.series[name]]
        return Steps(name, vectors, None)

    @property
    def mean_norm(self) -> Real:
        """The mean, over the runs, of the norm of the last hidden state, summed as a program would."""
        dtype = _DTYPES[self.how]
        last = self.series["h" if "h" in self.series else list(self.series)[-1]][-1]
        squares = dtype(0)
        for column in range(last.shape[1]):
            squares = squares + last[:, column] * last[:, column]
        mean = dtype(0)
        for norm in np.sqrt(squares.astype(np.float64)).astype(dtype):
            mean = mean + norm
        return Real.floating(self.how, float(mean / dtype(len(last))))


def simulate(
    cell: Cell | str,
    x: Sequence[float],
    hidden: int,
    draws: str,
    rand: str,
    seeds: Sequence[int] = (42,),
    scale: float = 1.0,
    shift: float = 0.0,
    functions: Mapping[str, str] | None = None,
    arithmetic: str = "float32",
    **weights: float,
) -> Simulation:
    """Run a cell as a C program does.

    Args:
        cell: The program's equations, each sum in the program's order: a cell, or its text, ``;`` between equations.
        x: The input of each step, one number.
        hidden: H.
        draws: The order of the random numbers; blocks that follow one another are separated by ``;``.
        rand: The C library whose ``rand()`` it calls.
        seeds: Of ``srand``, for each run.
        scale, shift: A weight is ``number * scale - shift`` of a random number from 0 to 1, each operation rounded.
        functions: {name: formula of ``a``} of functions that the program writes itself.
        arithmetic: ``float32``; ``float64`` for the same weights in double precision.
        weights: What is not drawn: a number for each row.

    Raises:
        GatecalcError: For unknown names, and for a program that would take too long.
    """
    if isinstance(cell, str):
        cell = parse_cell(cell, "program", "<program>") if "=" in cell else find_cell(cell)
    if arithmetic not in _DTYPES:
        raise GatecalcError(
            f"name: unknown arithmetic '{shorten(arithmetic)}'{closest(arithmetic, _DTYPES)}", help="float32 or float64"
        )
    if len(x) * len(seeds) * hidden**2 * len(cell.parameters) > MAX_WORK:
        raise GatecalcError("limit: the simulation is too long", help="simulate fewer steps, runs or a smaller width")
    values = _drawn(cell, hidden, draws, rand, seeds, scale, shift)
    values |= {
        name: np.zeros((len(seeds), hidden), np.float32)
        for name, shape in cell.parameters.items()
        if name not in values and len(shape) == 1
    }
    for name, number in weights.items():
        if name not in cell.parameters:
            raise GatecalcError(
                f"name: '{cell.name}' has no weight '{shorten(name)}'{closest(name, cell.parameters)}",
                help="it has " + ", ".join(cell.parameters),
            )
        shape = (
            (hidden,) if len(cell.parameters[name]) == 1 else (hidden, 1 if cell.parameters[name][1] == "D" else hidden)
        )
        values[name] = np.full((len(seeds), *shape), number, np.float32)
    missing = [name for name in cell.parameters if name not in values]
    if missing:
        raise GatecalcError(
            f"value: '{missing[0]}' is neither drawn nor given", help=f"add it to the draws, or give {missing[0]}=0"
        )
    dtype = _DTYPES[arithmetic]
    program = _Program(cell, {name: parse(text) for name, text in (functions or {}).items()}, dtype)
    with np.errstate(all="ignore"):
        series = program.run({name: value.astype(dtype) for name, value in values.items()}, x, len(seeds), hidden)
    return Simulation(cell, arithmetic, values, series)


class _Program:
    """The equations, one after another, each operation rounded."""

    def __init__(self, cell: Cell, functions: dict[str, Tree], dtype: Any) -> None:
        self.cell = cell
        self.functions = functions
        self.dtype = dtype

    def run(self, weights: dict[str, Array], x: Sequence[float], runs: int, hidden: int) -> dict[str, list[Array]]:
        series: dict[str, list[Array]] = {target: [] for target in self.cell.written}
        states: dict[str, Any] = {state + PREVIOUS: np.zeros((runs, hidden), self.dtype) for state in self.cell.states}
        for number in x:
            self.values = {**weights, **states, "x": np.full((runs, 1), number, self.dtype)}
            for target, formula in self.cell.written.items():
                self.values[target] = self.value(formula)
                series[target].append(self.values[target])
            states = {state + PREVIOUS: self.values[state] for state in self.cell.states}
        return series

    def value(self, tree: Tree) -> Any:
        """Return a vector of every run, (runs, width)."""
        if tree.op == "+":
            return self.sum(tree.args)
        if _is_product(tree):
            return self.sum((tree,))
        if not any(node.op == "@" for node in tree.walk()):
            return evaluate(tree, self.values, self.functions, self.dtype)
        parts = {f"part{number}": self.value(argument) for number, argument in enumerate(tree.args)}
        whole = Tree(tree.op, tuple(Tree("name", (), part) for part in parts), tree.value)
        return evaluate(whole, parts, self.functions, self.dtype)

    def sum(self, terms: Sequence[Tree]) -> Any:
        """Return a sum: term after term, and of a product element after element."""
        pieces: list[tuple[bool, Any]] = []
        for term in terms:
            negative, term = (True, term.args[0]) if term.op == "neg" else (False, term)
            pieces += [
                (negative, piece) for piece in (self.elements(term) if _is_product(term) else [self.value(term)])
            ]
        result = -pieces[0][1] if pieces[0][0] else pieces[0][1]
        for negative, piece in pieces[1:]:
            result = result - piece if negative else result + piece
        return result

    def elements(self, term: Tree) -> Iterator[Any]:
        """Yield what a product adds, column by column."""
        factors, product = (term.args[:-1], term.args[-1]) if term.op == "*" else ((), term)
        matrix, vector = self.values[product.args[0].value], self.value(product.args[1])
        for column in range(matrix.shape[2]):
            inner = vector[:, column, None]
            for factor in reversed(factors):
                inner = self.value(factor) * inner
            yield matrix[:, :, column] * inner


def _is_product(tree: Tree) -> bool:
    """Tell whether a term is ``M @ v`` or ``r * (M @ v)``."""
    return tree.op == "@" or (tree.op == "*" and tree.args[-1].op == "@")


def _drawn(
    cell: Cell, hidden: int, draws: str, rand: str, seeds: Sequence[int], scale: float, shift: float
) -> dict[str, Array]:
    """Draw the weights of every run in the program's order."""
    order: list[tuple[str, int, int]] = []  # (weight, row, column)
    columns: dict[str, int] = {}
    for block in draws.split(";"):
        outer, _, inner = block.partition("|")
        for name in (*outer.split(), *inner.split()):
            if name not in cell.parameters and name != "V":
                raise GatecalcError(
                    f"name: '{cell.name}' has no weight '{shorten(name)}'{closest(name, cell.parameters)}",
                    help="it has " + ", ".join(cell.parameters),
                )
            columns[name] = hidden if name in inner.split() else 1
        for row in range(hidden):
            order += [(name, row, 0) for name in outer.split()]
            order += [(name, row, column) for column in range(hidden) for name in inner.split()]
    found = library(rand)
    fractions = np.empty((len(seeds), len(order)), np.float32)
    for run, seed in enumerate(seeds):
        stream = found.stream(seed)
        fractions[run] = np.array([next(stream) for _ in order], np.int64).astype(np.float32) / np.float32(
            found.rand_max
        )
    weights = {name: np.zeros((len(seeds), hidden, width), np.float32) for name, width in columns.items()}
    numbers = fractions * np.float32(scale) - np.float32(shift)
    for position, (name, row, column) in enumerate(order):
        weights[name][:, row, column] = numbers[:, position]
    return {
        name: value[:, :, 0] if len(cell.parameters.get(name, ("", ""))) == 1 else value
        for name, value in weights.items()
    }
