"""What a cell is: named vectors, two kinds of equation, shapes and parameters.

A cell is read from text (``cells/*.cell`` or a user's file) and becomes a list of equations of two kinds only:

- :class:`Elementwise`, ``y = e(v1, ..., vk)``: ``e`` is a formula with one scalar symbol for each vector;
- :class:`Product`, ``y = M v``: a matrix's name times a named vector.

``tanh(W @ x + U @ (r * h_prev))`` has three vectors beside its own: ``W @ x``, ``r * h_prev`` and ``U @ (r * h_prev)``.
Such parts are named by their own text, so that one that is written twice is computed once. Everything else in gatecalc
(counts, Jacobians, proofs, training) follows from this list.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gatecalc.elementwise import ELEMENTWISE
from gatecalc.errors import GatecalcError, Place, closest, printable, shorten, text
from gatecalc.files import unreadable
from gatecalc.language import At, Source, Tree, name, parse_equations, rewrite
from gatecalc.record import Record

if TYPE_CHECKING:
    from gatecalc.calculus.derivation import Derivation

CELLS = os.path.join(os.path.dirname(__file__), "cells")
PREVIOUS = "_prev"
CONSTANTS = ("pi",)  # names that stand for a number


class Elementwise(Record):
    """``name = formula``, one scalar formula over the vectors that it reads."""

    name: str
    formula: Tree

    @property
    def reads(self) -> list[str]:
        return [vector for vector in self.formula.names() if vector not in CONSTANTS]


class Product(Record):
    """``name = matrix @ vector``."""

    name: str
    matrix: str
    vector: str

    @property
    def reads(self) -> list[str]:
        return [self.vector]


Equation = Elementwise | Product


class Cell:
    """A recurrent cell.

    Attributes:
        name: How it is called.
        title: What it is, one line.
        source: Where it was published.
        written: The equations as their author wrote them, {name: formula}, in order.
        equations: The same as the two kinds of equation, in an order in which they can be computed.
        inputs: The vectors that it is given at each step, ``("x",)``.
        states: The vectors that it hands to its next step: ``h`` when ``h_prev`` is read.
        parameters: {name: shape}, a shape being ``("H", "D")`` or ``("H",)``, in order of first appearance.
        widths: {vector: its width}, as ``"D"``, ``"H"`` or ``"P"``, for every vector.
    """

    def __init__(self, name: str, title: str, source: str, written: dict[str, Tree], origin: Source) -> None:
        self.name = name
        self.title = title
        self.source = source
        self.written = written
        self.origin = origin
        self.equations, self.inputs, self.states = _flatten(written, origin)
        self.widths, self.parameters = _shapes(self)

    @property
    def gates(self) -> list[str]:
        """The vectors that have weights of their own, in the order written: f i g o."""
        return [
            gate
            for gate, formula in self.written.items()
            if any(node.op == "@" for node in formula.walk()) and gate not in self._projections
        ]

    @property
    def _projections(self) -> set[str]:
        return {
            equation.name
            for equation in self.equations
            if isinstance(equation, Product) and equation.name in self.written
        }

    @property
    def dimensions(self) -> list[str]:
        """The widths that are free: D, H, and P where there is a projection."""
        return sorted(dict.fromkeys(self.widths.values()))

    def jacobian(self, output: str, input: str, path: str = "local", steps: int = 1, check: bool = True) -> Derivation:
        """Derive d output / d input; see :func:`gatecalc.calculus.derivation.derive`.

        >>> print(cell("lstm").jacobian("c", "c_prev"))
        diag(f)
        """
        from gatecalc.calculus.derivation import derive

        return derive(self, output, input, path, steps, check)

    @property
    def latex(self) -> str:
        """The equations in LaTeX, as an ``aligned`` block."""
        from gatecalc.calculus.notation import cell_latex

        return cell_latex(self)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex}$"

    def __repr__(self) -> str:
        return f"cell({self.name!r})"

    def __str__(self) -> str:
        return "\n".join(f"{target} = {formula}" for target, formula in self.written.items())


def built_in() -> list[str]:
    """Return the names of the built-in cells."""
    return sorted(entry[: -len(".cell")] for entry in os.listdir(CELLS) if entry.endswith(".cell"))


def cell(name_or_path: str | Cell) -> Cell:
    """Return a built-in cell by its name, or the cell of a ``.cell`` file by its path (``-`` is standard input).

    Args:
        name_or_path: One of :func:`built_in`, or a path that ends in ``.cell``; a cell is returned as it is.

    Raises:
        GatecalcError: For an unknown name, a file that cannot be read, and text that is not a cell.

    >>> cell("gru").states
    ('h',)
    """
    if isinstance(name_or_path, Cell):
        return name_or_path
    if text(name_or_path, "the cell") in built_in():
        return _built_in(name_or_path)
    if name_or_path != "-" and not name_or_path.endswith(".cell"):
        raise GatecalcError(
            f"name: unknown cell '{shorten(name_or_path)}'{closest(name_or_path, built_in())}",
            help="see 'gatecalc cells', or give the path of a .cell file",
        )
    return read_cell(name_or_path)


@functools.cache
def _built_in(cell_name: str) -> Cell:
    return read_cell(os.path.join(CELLS, cell_name + ".cell"))


def read_cell(path: str) -> Cell:
    """Read a ``.cell`` file; raise :class:`GatecalcError` with its place for what is not a cell."""
    try:
        if path == "-":
            text = sys.stdin.read(1_000_000).removeprefix("\ufeff")
        else:
            with open(path, encoding="utf-8-sig") as file:
                text = file.read(1_000_000)
    except OSError as error:
        raise unreadable(path, error, "give the path of a .cell file") from None
    except UnicodeDecodeError:
        raise GatecalcError("file: it is not text in UTF-8", Place(path), "save the cell as UTF-8") from None
    return parse_cell(text, "cell" if path == "-" else os.path.basename(path).removesuffix(".cell"), path)


def parse_cell(text: str, cell_name: str = "cell", path: str = "<cell>") -> Cell:
    """Read a cell from its text.

    >>> parse_cell("h = tanh(W @ x + U @ h_prev + b)").parameters
    {'W': ('H', 'D'), 'U': ('H', 'H'), 'b': ('H',)}
    """
    origin = Source(text, path, 1)
    documentation, equations = parse_equations(origin)
    if not equations:
        raise GatecalcError(
            "syntax: the file has no equation",
            Place(path),
            "write one a line, as in 'h = tanh(W @ x + U @ h_prev + b)'",
        )
    title, _, source = documentation.partition("Source:")
    written: dict[str, Tree] = {}
    for target, formula, at in equations:
        _check_target(target, at, written, origin)
        _check_formula(formula, origin)
        written[target] = formula
    title, source = (printable(" ".join(part.split())) for part in (title, source))
    return Cell(cell_name, title, source, written, origin)


def _check_target(target: str, at: At, written: Mapping[str, Tree], origin: Source) -> None:
    if target in written:
        raise GatecalcError(
            f"name: '{target}' is defined twice", origin.place(at), "give the second one a name of its own"
        )
    if (
        target.endswith(PREVIOUS)
        or target == "x"
        or is_parameter(target)
        or target in CONSTANTS
        or target in ELEMENTWISE
    ):
        what = "a function" if target in ELEMENTWISE else "given, not computed"
        letter = target.partition("_")[0]
        help = (
            f"give the vector another name: one that begins with {letter} is a weight" if is_parameter(target) else None
        )
        raise GatecalcError(f"name: '{target}' is {what}", origin.place(at), help or "give the vector another name")


_CELL_NODES = {"number", "name", "+", "*", "/", "**", "@", "neg", "call"}


def _check_formula(formula: Tree, origin: Source) -> None:
    """Refuse what is part of the language but not of a cell, with its place."""
    for node in formula.walk():
        if node.op not in _CELL_NODES:
            raise GatecalcError(
                "syntax: this is not part of a cell",
                origin.place(node.at),
                "an equation has + - * / ** @ and elementwise functions",
            )
        if node.op == "call":
            if node.value not in ELEMENTWISE:
                raise GatecalcError(
                    f"name: unknown function '{node.value}'{closest(node.value, ELEMENTWISE)}",
                    origin.place(node.at),
                    "known are " + ", ".join(ELEMENTWISE),
                )
            if len(node.args) != 1 or node.args[0].op == "keyword":
                raise GatecalcError(
                    f"syntax: '{node.value}' takes one vector",
                    origin.place(node.at),
                    f"write it as in '{node.value}(a)'",
                )
        if node.op == "@" and (node.args[0].op != "name" or not is_matrix(node.args[0].value)):
            left, right = node.args
            if left.op == "*" and left.args[-1].op == "name" and is_matrix(left.args[-1].value):
                factors = " * ".join(str(factor) for factor in left.args[:-1])
                raise GatecalcError(
                    f"syntax: '{left} @ {right}' reads as '({left}) @ {right}'",
                    origin.place(node.at),
                    f"write '{factors} * ({left.args[-1]} @ {right})'",
                )
            raise GatecalcError(
                f"syntax: '{left}' is not a matrix",
                origin.place(left.at),
                "a matrix has a name such as W_f, on the left of '@'",
            )
        if node.op == "**" and node.args[1].op not in ("number", "neg"):
            raise GatecalcError(
                "syntax: the exponent is not a number",
                origin.place(node.args[1].at),
                "write the power as 'exp(b * log(a))'",
            )
        if node.op != "@":
            for argument in (formula, *node.args) if node is formula else node.args:
                if argument.op == "name" and is_matrix(argument.value):
                    raise GatecalcError(
                        f"shape: the matrix '{argument.value}' stands where a vector is needed",
                        origin.place(argument.at),
                        f"multiply a vector by it, as in '{argument.value} @ x'",
                    )


def is_matrix(text: str) -> bool:
    """Tell whether a name is a matrix's: it begins with a capital letter, as in W_f, U or V."""
    return text[:1].isupper()


def is_parameter(text: str) -> bool:
    """Tell whether a name is a parameter's: a matrix, a bias ``b`` or ``b_*``, or a peephole ``p_*``."""
    return is_matrix(text) or is_bias(text) or text.startswith("p_")


def is_bias(text: str) -> bool:
    """Tell whether a name is a bias's: ``b`` or ``b_*``."""
    return text == "b" or text.startswith("b_")


def _flatten(written: Mapping[str, Tree], origin: Source) -> tuple[list[Equation], tuple[str, ...], tuple[str, ...]]:
    """Turn the written equations into the two kinds, in an order in which they can be computed."""
    equations: dict[str, Equation] = {}

    def flat(formula: Tree) -> Tree:
        """Return the formula with each matrix product replaced by the name of its vector."""
        return rewrite(formula, lambda node: name(product(node)) if node.op == "@" else None)

    def product(node: Tree, target: str | None = None) -> str:
        matrix, operand = node.args[0].value, flat(node.args[1])
        if operand.op != "name":
            part = str(node.args[1])
            equations.setdefault(part, Elementwise(part, operand))
            operand = name(part)
        target = target or str(node)
        equations.setdefault(target, Product(target, matrix, operand.value))
        return target

    for target, formula in written.items():
        if formula.op == "@":
            product(formula, target)
        else:
            equations[target] = Elementwise(target, flat(formula))
    inputs, states = _classify(equations, written, origin)
    return _in_order(equations, written, origin), inputs, states


def _classify(
    equations: Mapping[str, Equation], written: Mapping[str, Tree], origin: Source
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Tell inputs from states; refuse a name that is neither of these, nor computed, nor a parameter."""
    inputs: list[str] = []
    states: list[str] = []
    for read in dict.fromkeys(vector for equation in equations.values() for vector in equation.reads):
        if read in equations or is_parameter(read):
            continue
        state = read.removesuffix(PREVIOUS)
        if read != state and state in written:
            states.append(state)
        elif read == "x":
            inputs.append(read)
        else:
            at = next(
                node.at
                for formula in written.values()
                for node in formula.walk()
                if node.op == "name" and node.value == read
            )
            known = ["x", *written, *(target + PREVIOUS for target in written)]
            what = (
                f"'{read}' is read, but no equation computes '{state}'" if read != state else f"unknown name '{read}'"
            )
            raise GatecalcError(
                f"name: {what}{closest(read, known)}",
                origin.place(at),
                "a vector is x, a name on the left, its _prev, a bias b_* or a peephole p_*",
            )
    order = list(written)
    return tuple(inputs), tuple(sorted(states, key=order.index))


def _in_order(equations: Mapping[str, Equation], written: Mapping[str, Tree], origin: Source) -> list[Equation]:
    """Sort so that each equation reads only what stands before it; refuse a cycle."""
    done: dict[str, Equation] = {}
    open_: list[str] = []

    def visit(target: str) -> None:
        if target in done or target not in equations:
            return
        if target in open_:
            cycle = [part for part in open_[open_.index(target) :] if part in written]
            first = cycle[0] if cycle else target
            raise GatecalcError(
                f"name: '{first}' is computed from itself, through {' -> '.join([*cycle, first])}",
                origin.place(written[first].at) if first in written else None,
                f"read the step before, as in '{first}{PREVIOUS}'",
            )
        if len(open_) > 300:
            raise GatecalcError(
                "limit: more than 300 equations depend on one another in a chain", Place(origin.path), "split the cell"
            )
        open_.append(target)
        for read in equations[target].reads:
            visit(read)
        open_.pop()
        done[target] = equations[target]

    for target in equations:
        visit(target)
    return list(done.values())


class _Widths:
    """Unknown widths, made equal where an equation says so (union-find)."""

    def __init__(self) -> None:
        self.parent: dict[str, str] = {}

    def find(self, key: str) -> str:
        self.parent.setdefault(key, key)
        while self.parent[key] != key:
            self.parent[key] = self.parent[self.parent[key]]
            key = self.parent[key]
        return key

    def join(self, one: str, other: str) -> None:
        self.parent[self.find(other)] = self.find(one)


def _shapes(cell: Cell) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Infer every width: elementwise operands are equally wide, a state is as wide as its previous value.

    The input is D wide. The width of the gates is H; where a state is the projection of another vector, its own is P.
    """
    widths = _Widths()
    rows = "rows of {}".format
    columns = "columns of {}".format
    for state in cell.states:
        widths.join(state, state + PREVIOUS)
    for equation in cell.equations:
        if isinstance(equation, Product):
            widths.join(rows(equation.matrix), equation.name)
            widths.join(columns(equation.matrix), equation.vector)
    meets_input = []  # last, so that a mismatch is found where the input stands
    for equation in cell.equations:
        if isinstance(equation, Elementwise):
            for vector in equation.reads:
                if vector in cell.inputs:
                    meets_input.append((equation.name, vector))
                else:
                    widths.join(equation.name, vector)
    for target, vector in meets_input:
        if any(widths.find(target) == widths.find(state) for state in cell.states):
            raise _mismatch(cell, target, vector)
        widths.join(target, vector)
    letters = _letters(cell, widths)

    vectors = dict.fromkeys(
        [*cell.inputs, *(state + PREVIOUS for state in cell.states), *(e.name for e in cell.equations)]
    )
    parameters: dict[str, tuple[str, ...]] = {}
    for formula in cell.written.values():
        for parameter in formula.names():
            if is_parameter(parameter):
                keys = (rows(parameter), columns(parameter)) if is_matrix(parameter) else (parameter,)
                parameters.setdefault(parameter, tuple(letters[widths.find(key)] for key in keys))
    return {vector: letters[widths.find(vector)] for vector in vectors}, parameters


def _letters(cell: Cell, widths: _Widths) -> dict[str, str]:
    """Name each class of equal widths: D for the input's, H for the gates', P for a projected state's."""
    letters = {widths.find(vector): "D" for vector in cell.inputs}

    def name_class(vector: str, letter: str) -> None:
        key = widths.find(vector)
        if key not in letters:
            taken = sum(other.startswith(letter) for other in letters.values())
            letters[key] = f"{letter}{taken + 1}" if taken else letter

    for equation in cell.equations:
        if isinstance(equation, Elementwise):
            name_class(equation.name, "H")
    for equation in cell.equations:
        if isinstance(equation, Product):
            name_class(equation.name, "P" if "H" in letters.values() else "H")
    for vector in list(widths.parent):
        name_class(vector, "P" if "H" in letters.values() else "H")
    return letters


def _mismatch(cell: Cell, target: str, given: str) -> GatecalcError:
    """Say where an input is joined elementwise to what is as wide as a state."""
    for node in (node for formula in cell.written.values() for node in formula.walk()):
        here = next((operand for operand in node.args if operand.op == "name" and operand.value == given), None)
        if here is None or node.op == "@":
            continue
        other = next((operand for operand in node.args if operand is not here), None)
        if node.op == "*" and other is not None:
            what = f"cannot multiply {other} (H) by {given} (D) elementwise"
        elif node.op == "+" and other is not None:
            what = f"cannot add {given} (D) to {other} (H)"
        else:
            what = f"'{target}' is H wide, and {given} is D wide"
        return GatecalcError(
            f"shape: {what}", cell.origin.place(here.at), f"project {given} first, as in 'W_n @ {given}'"
        )
    return GatecalcError(
        f"shape: '{target}' is H wide, and {given} is D wide", Place(cell.origin.path), f"project {given} first"
    )
