"""The width at which a network of one cell costs what another costs, or what a budget allows, in whole numbers.

A count is a polynomial of degree two at most in any one of its widths. So the equation is a quadratic, its root is
found with :func:`math.isqrt`, and either it is a whole number or the two widths around it are proved to be the nearest.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt

from gatecalc.cell import Cell, built_in, cell
from gatecalc.counts.architecture import (
    BYTES,
    QUANTITIES,
    WIDTHS,
    Architecture,
    architecture,
    give,
    given_widths,
    shown,
    whole,
)
from gatecalc.counts.counting import MAX_DIGITS
from gatecalc.counts.polynomial import Formula
from gatecalc.counts.quadratic import coefficients, solve
from gatecalc.errors import GatecalcError, closest
from gatecalc.record import Record

LETTERS = {option: letter for letter, option in WIDTHS.items()}


class At(Record):
    """A width, and what the network costs there."""

    width: int
    value: int


class Fair(Record):
    """What :func:`fair_width` returns: ``width`` where it is ``exact``, else ``below`` and ``above``.

    All values are in what is matched, for ``steps`` and ``batch``: numbers, or bytes where there is a ``dtype``.
    ``reference_bias`` is the rule of the reference, None without one.
    """

    cell: str
    reference: str | None
    match: str
    bias: str
    target: int
    target_formula: str | None
    solve: str
    equation: str
    quadratic: str
    discriminant: int | None
    root: int | str
    root_formula: str
    exact: bool
    width: int | None
    below: At | None
    above: At | None
    reference_bias: str | None = None
    dtype: str | None = None
    steps: int = 1
    batch: int = 1


class Problem(Record):
    """What a fair width is asked of: a quantity, and everything about the networks but the width that is looked for.

    Attributes:
        match: A quantity: ``parameters``, ``macs`` or ``stored``.
        scheme: The storage scheme, where that is matched.
        solve: The width that is looked for: ``hidden``, ``input``, ``layers`` or ``projection``.
        input, hidden, layers, projection, embedding, readout: Widths. P is that of the cells that have one.
        bias, bidirectional, initial, readout_bias: As in :func:`gatecalc.counts.architecture.count`.
        reference_bias: The bias rule of the reference, where it is another one.
        dtype: The type of the numbers where bytes are matched; None where numbers are.
        steps, batch: What MACs and stored numbers are of: T steps of N sequences.
        widths: Further widths of the cells that have them, {"H2": 7}.
    """

    input: int | None = None
    bias: str = "single"
    match: str = "parameters"
    scheme: str = "written"
    solve: str = "hidden"
    hidden: int | None = None
    layers: int = 1
    bidirectional: bool = False
    projection: int | None = None
    initial: bool = False
    embedding: int | None = None
    readout: int | None = None
    readout_bias: bool = False
    reference_bias: str | None = None
    dtype: str | None = None
    steps: int = 1
    batch: int = 1
    widths: Mapping[str, int] | None = None

    @property
    def unit(self) -> int:
        """How much one number counts: its bytes, for every step and sequence that has one."""
        size = BYTES[self.dtype] if self.dtype else 1
        return size if self.match == "parameters" else size * self.steps * self.batch

    @property
    def what(self) -> str:
        """What is matched, for a message."""
        what = {"macs": "MACs", "stored": "stored numbers"}.get(self.match, self.match)
        return f"bytes of {what}" if self.dtype else what

    def of_reference(self) -> Problem:
        """Return the problem with the bias rule of the reference."""
        return self._replace(bias=self.reference_bias or self.bias)

    def network(self, of: Cell, free: str | None = None) -> Architecture:
        """Return the network of a cell; with L free it may have any number of layers."""
        network = architecture(
            of,
            self.bias,
            self.layers,
            self.bidirectional,
            None,
            self.initial,
            self.embedding,
            self.readout,
            self.readout_bias,
        )
        return network._replace(deep=True) if free == "L" else network

    def quantity(self, of: Cell, free: str | None = None) -> Formula:
        """Return what is matched, of a network of a cell, for all widths."""
        return QUANTITIES[self.match](self.network(of, free), self.scheme) * self.unit

    def formula(self, of: Cell, free: str | None = None, **more: int) -> Formula:
        """Return the quantity of a network of a cell, its widths filled in but the free one."""
        check(self)
        widths = {
            "D": self.input,
            "H": self.hidden,
            "L": self.layers,
            "P": self.projection,
            "V": self.embedding,
            "K": self.readout,
            **{name: width for name, width in (self.widths or {}).items() if name in of.dimensions},
            **more,
        }
        if "P" not in of.dimensions:
            widths["P"] = None
        if free:
            widths[free] = None
        formula = self.quantity(of, free).at(**given_widths(of, widths))
        left = [name for name in formula.names if name != free]
        if left:
            raise GatecalcError(f"width: {of.name} has a width {left[0]}, which is not given", help=give(left[0]))
        return formula


def fair_width(
    of: str | Cell,
    target: int | str,
    input: int | None = None,
    bias: str = "single",
    match: str = "parameters",
    *,
    scheme: str = "written",
    solve: str = "hidden",
    hidden: int | None = None,
    layers: int = 1,
    bidirectional: bool = False,
    projection: int | None = None,
    initial: bool = False,
    embedding: int | None = None,
    readout: int | None = None,
    readout_bias: bool = False,
    reference_bias: str | None = None,
    dtype: str | None = None,
    steps: int = 1,
    batch: int = 1,
    widths: Mapping[str, int] | None = None,
) -> Fair:
    """Find the width at which a network of a cell costs exactly a target, or the two widths around it.

    Args:
        of: The cell whose width is looked for.
        target: A budget, or a reference ``"lstm:5"``: a cell and its hidden width; all around it is the same.
        input: D.
        bias: The bias rule: ``single``, ``double`` or ``none``.
        match: What must be equal: ``parameters``, ``macs`` (per step) or ``stored`` (per step, under ``scheme``).
        scheme: The storage scheme, as in :attr:`gatecalc.counts.architecture.Count.stored`.
        hidden, projection, layers, bidirectional: Of the network, H and P where they are not looked for.
        initial, embedding, readout, readout_bias: What stands around it, as in
            :func:`gatecalc.counts.architecture.count`.
        solve: The width that is looked for: ``hidden``; with ``hidden`` given, ``input``, ``layers`` or ``projection``.
        reference_bias: The bias rule of a reference that is counted as another framework stores it.
        dtype: The type of the numbers, where the budget is in bytes.
        steps, batch: T and N, where MACs or stored numbers are those of N sequences of T steps.
        widths: Further widths of the cells that have them, ``{"H2": 7}``.

    Raises:
        GatecalcError: For a target below the smallest such network, and for widths that are missing or impossible.

    >>> fair = fair_width("gru", "lstm:5", input=3)
    >>> fair.equation, fair.exact, fair.width
    ('3*H*(H + 4) = 180', True, 6)
    >>> fair_width("rnn", 180, input=3).below, fair_width("rnn", 180, input=3).above
    (At(width=11, value=165), At(width=12, value=192))
    >>> fair_width("lstm", 720, input=3, dtype="float32").width
    5
    """
    problem = Problem(
        input,
        bias,
        match,
        scheme,
        solve,
        hidden,
        layers,
        bidirectional,
        projection,
        initial,
        embedding,
        readout,
        readout_bias,
        reference_bias,
        dtype,
        steps,
        batch,
        widths,
    )
    return solved(problem, cell(of), target)


def fair(
    reference: str | Cell, reference_width: int, of: str | Cell, input: int | None = None, **options: object
) -> Fair:
    """Find the width at which a cell costs what another costs: :func:`fair_width`, the reference in two parts.

    >>> fair("lstm", 5, "gru", 3, bias="double").below
    At(width=6, value=198)
    """
    problem = Problem(input, **options)  # type: ignore[arg-type]
    return solved(problem, cell(of), (cell(reference), reference_width))


def solved(problem: Problem, of: Cell, target: int | str | tuple[Cell, int]) -> Fair:
    """Solve a problem for one cell.

    Raises:
        GatecalcError: As :func:`fair_width`, and for a projection that no cell has.
    """
    target = parse_reference(target) if isinstance(target, str) else target
    _check_widths(problem, of, *(target[:1] if isinstance(target, tuple) else ()))
    return _solved(problem, of, target)


def _least(problem: Problem, of: Cell) -> int:
    """Return the smallest hidden width that a cell can have: a projection is narrower than that."""
    return 1 + (problem.projection or 0) if "P" in of.dimensions else 1


def _check_widths(problem: Problem, *cells: Cell) -> None:
    """Refuse widths that no cell has."""
    for name in problem.widths or ():
        if name in WIDTHS or not any(name in of.dimensions for of in cells):
            names = " or ".join(dict.fromkeys(of.name for of in cells)) if len(cells) < 3 else "any of these cells"
            option = f"leave it out, or give --{WIDTHS[name]}" if name in WIDTHS else "leave it out"
            raise GatecalcError(f"width: '{name[:40]}' is no further width of {names}", help=option)
    if problem.projection is not None and not any("P" in of.dimensions for of in cells):
        names = " or ".join(dict.fromkeys(of.name for of in reversed(cells)))
        raise GatecalcError(
            f"projection: there is none in {names}, and P = {shown(problem.projection)} is given",
            help="take lstm_projected, or leave --projection out",
        )


def _solved(problem: Problem, of: Cell, target: int | tuple[Cell, int]) -> Fair:
    budget, reference, target_formula = _target(problem, target)
    letter = LETTERS[problem.solve]
    formula = problem.formula(of, letter)
    root = solve(formula, letter, budget)
    least = _least(problem, of) if letter == "H" else 1
    smallest = formula(**{letter: least})
    if root is None:
        raise _constant(problem, of)
    if budget < smallest:
        raise GatecalcError(
            f"budget: {shown(budget)} is below the smallest such {of.name}: "
            f"{shown(smallest)} {problem.what} at {letter} = {least}",
            help="take a larger budget, or a smaller network around the cell",
        )
    at = At(root.floor, formula(**{letter: root.floor}))
    exact = at.value == budget
    last = at if exact else At(at.width + 1, formula(**{letter: at.width + 1}))
    if letter == "P" and problem.hidden is not None and last.width >= problem.hidden:
        raise GatecalcError(
            f"projection: P would be {root.decimal}, which is not narrower than the hidden width {problem.hidden}",
            help="take a larger --hidden, or a smaller budget",
        )
    return Fair(
        cell=of.name,
        reference=reference,
        match=problem.match,
        bias=problem.bias,
        target=budget,
        target_formula=target_formula,
        solve=letter,
        equation=f"{formula} = {budget}",
        quadratic=root.equation,
        discriminant=root.discriminant,
        root=root.floor if root.exact == str(root.floor) else root.decimal,
        root_formula=root.exact,
        exact=exact,
        width=at.width if exact else None,
        below=None if exact else at,
        above=None if exact else last,
        reference_bias=reference and problem.of_reference().bias,
        dtype=problem.dtype,
        steps=problem.steps,
        batch=problem.batch,
    )


def check(problem: Problem) -> None:
    """Refuse a problem that names what there is not."""
    for given, table, what in ((problem.match, QUANTITIES, "match"), (problem.solve, _SOLVABLE, "solve")):
        if given not in table:
            raise GatecalcError(
                f"{what}: unknown '{given}'{closest(str(given), table)}", help=f"it is one of {', '.join(table)}"
            )
    if problem.dtype is not None and problem.dtype not in BYTES:
        raise GatecalcError(
            f"dtype: unknown '{problem.dtype}'{closest(problem.dtype, BYTES)}", help=f"it is one of {', '.join(BYTES)}"
        )
    if problem.dtype is not None and problem.match == "macs":
        raise GatecalcError("budget: MACs are no bytes", help="write it as 24M, or match parameters or stored numbers")
    for what, number in (("steps", problem.steps), ("batch", problem.batch)):
        if whole(number, what) > 1 and problem.match == "parameters":
            raise GatecalcError(f"{what}: parameters are the same for any", help="match macs or stored numbers")


_SOLVABLE = ("hidden", "input", "layers", "projection")


def parse_reference(text: str) -> tuple[Cell, int]:
    """Read ``lstm:5``: a cell and its width."""
    of, colon, width = text.rpartition(":")
    if colon and not of:
        raise GatecalcError(
            f"reference: '{text[:60]}' has no cell", help=f"write it before the width, as in 'lstm{text[:40]}'"
        )
    if not colon:
        raise GatecalcError(
            f"reference: '{text[:60]}' has no width", help=f"write it after the cell, as in '{(of or width)[:40]}:5'"
        )
    if not width.isascii() or not width.isdigit() or len(width) > MAX_DIGITS:
        raise GatecalcError(
            f"reference: the width '{width[:60]}' is not a positive whole number", help=f"write '{of[:40]}:5'"
        )
    return cell(of), whole(int(width), "the reference's width")


def _target(problem: Problem, target: int | tuple[Cell, int]) -> tuple[int, str | None, str | None]:
    """Return the value to be met, and for a reference its name and its formula."""
    if not isinstance(target, tuple):
        return whole(target, "budget"), None, None
    reference, width = target
    whole(width, "the reference's width")
    problem = problem.of_reference()
    value = problem.formula(reference, H=width)()
    return value, f"{reference.name}:{width}", str(problem.quantity(reference))


def _constant(problem: Problem, of: Cell) -> GatecalcError:
    letter = LETTERS[problem.solve]
    return GatecalcError(
        f"solve: the {problem.what} of {of.name} do not depend on {letter}",
        help="take lstm_projected, which has a P" if letter == "P" else "solve for another width",
    )


def exact_matches(problem: Problem, reference: Cell, of: Cell, first: int, last: int) -> list[tuple[int, int, int]]:
    """Return (reference width, width, value) for every exact match with a reference width from first to last.

    Whole-number arithmetic on the coefficients alone, about a microsecond for each width.
    """
    _check_widths(problem, reference, of)
    letter = LETTERS[problem.solve]
    r0, r1, r2 = coefficients(problem.of_reference().formula(reference, "H"), "H")
    c, b, a = coefficients(problem.formula(of, letter), letter)
    if not a and not b:
        raise _constant(problem, of)
    found = []
    least = _least(problem, of) if letter == "H" else 1
    most = problem.hidden - 1 if letter == "P" and problem.hidden else None
    for width in range(max(first, _least(problem, reference)), last + 1):
        value = (r2 * width + r1) * width + r0
        if a:
            discriminant = b * b - 4 * a * (c - value)
            if discriminant < 0:
                continue
            root = isqrt(discriminant)
            if root * root != discriminant or (root - b) % (2 * a):
                continue
            match = (root - b) // (2 * a)
        else:
            if (value - c) % b:
                continue
            match = (value - c) // b
        if match >= least and (most is None or match <= most):
            found.append((width, match, value))
    return found


class Comparison(Record):
    """One cell at the width that comes nearest to a target, and what it costs there, each in numbers for one step."""

    cell: str
    solve: str
    target: int
    width: int
    value: int
    exact: bool
    parameters: int
    macs: int
    stored: int


def comparison(problem: Problem, target: int | tuple[Cell, int]) -> list[Comparison]:
    """Return every built-in cell at its fair width, or at the nearer of the two around it.

    Cells that need a projection are left out without one, and so are those of which even the smallest is too large.
    """
    found = []
    cells = [cell(name) for name in built_in()]
    _check_widths(problem, *cells, *(target[:1] if isinstance(target, tuple) else ()))
    for of in cells:
        if "P" in of.dimensions and problem.projection is None and problem.solve != "projection":
            continue
        try:
            fair = _solved(problem, of, target)
        except GatecalcError as error:
            if not error.message.startswith(("budget:", "solve:", "storage:")):
                raise
            continue
        nearest = [At(fair.width, fair.target)] if fair.width else [at for at in (fair.below, fair.above) if at]
        at = min(nearest, key=lambda at: abs(at.value - fair.target))
        numbers = problem._replace(dtype=None, steps=1, batch=1)
        costs = [
            numbers._replace(match=match).formula(of, fair.solve)(**{fair.solve: at.width}) for match in QUANTITIES
        ]
        found.append(Comparison(of.name, fair.solve, fair.target, at.width, at.value, fair.exact, *costs))
    if not found:
        raise GatecalcError("budget: no built-in cell is so small", help="take a larger budget")
    return found
