"""A network of one cell, counted: layers, directions, projection, trained initial states, embedding and read-out.

Every quantity is a formula in D, H and P, in L once there is more than one layer, in V with an embedding (V symbols of
D numbers each) and in K with a read-out (K outputs of the top layer's h, at every step).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from gatecalc.cell import PREVIOUS, Cell, cell, is_bias
from gatecalc.counts import counting
from gatecalc.counts.counting import BIAS_RULES as BIAS_RULES
from gatecalc.counts.counting import BYTES as BYTES
from gatecalc.counts.counting import MAX_DIGITS, SCHEMES, bias_vectors
from gatecalc.counts.polynomial import Formula, Polynomial, factor, symbol
from gatecalc.errors import GatecalcError, closest
from gatecalc.language import Tree, name, rewrite
from gatecalc.record import Record

PYTORCH_GRU = "PyTorch's GRU is gru_reset_after: it resets after the product, and has a bias inside the reset"
NOTES = {"gru": PYTORCH_GRU, "gru_cho": PYTORCH_GRU}


class Architecture(Record):
    """What is counted.

    Attributes:
        cell: The cell of every layer and direction; one that is projected has P among its widths.
        bias: A rule of :data:`gatecalc.counts.counting.BIAS_RULES`.
        deep: Whether there are L layers, or one.
        directions: 1 or 2.
        initial: Whether the initial states are trained: one of each for every layer and direction.
        embedding: Whether the inputs are rows of a table V by D.
        readout: Whether a matrix K by the top layer's width reads every step out.
        readout_bias: Whether the read-out has a bias.
    """

    cell: Cell
    bias: str = "single"
    deep: bool = False
    directions: int = 1
    initial: bool = False
    embedding: bool = False
    readout: bool = False
    readout_bias: bool = False

    @property
    def output(self) -> str:
        """The letter of the width of what a layer hands up, in one direction."""
        return self.cell.widths[output(self.cell)]

    def _stack(self, first: Formula, deeper: Formula | None = None) -> Formula:
        """Return the formula of all layers from that of one: the layers above the first read what lies below them."""
        if not self.deep:
            return first * self.directions
        above = (deeper or first).at(D=self.directions * symbol(self.output))
        if above == first:
            return first * self.directions * symbol("L")
        return first * self.directions + above * self.directions * (symbol("L") - 1)

    def _readout(self, weight: int = 1, bias: int = 0) -> Formula:
        """Return a formula of the read-out: its matrix and its bias, each so many times."""
        if not self.readout:
            return Formula()
        return factor(symbol("K") * symbol(self.output) * (self.directions * weight) + symbol("K") * bias)

    @property
    def _layers(self) -> Any:
        return symbol("L") if self.deep else 1

    def parameters(self) -> Formula:
        """All trained numbers."""
        total = self._stack(counting.parameters(self.cell, self.bias))
        if self.initial:
            total += counting.stored(self.cell, "recompute") * self.directions * self._layers
        if self.embedding:
            total += factor(symbol("V") * symbol("D"))
        return total + self._readout(1, self.readout_bias)

    def macs(self) -> Formula:
        """Multiply-accumulates of one step of one sequence, forward."""
        return self._stack(counting.macs(self.cell)) + self._readout()

    def macs_backward(self) -> Formula:
        """Multiply-accumulates of one step backward; given inputs need no gradient, an embedding does."""
        deeper = counting.gradient_macs(self.cell)
        first = counting.gradient_macs(self.cell, self.embedding)
        return self._stack(first, deeper) + self._readout(2)

    def macs_first_step(self) -> Formula:
        """What the first step backwards does not cost when the initial states are given."""
        return Formula() if self.initial else self._stack(counting.first_step_macs(self.cell))

    def elementwise(self) -> dict[str, Formula]:
        """Elementwise operations of one step of one sequence, by kind."""
        found = {kind: self._stack(number) for kind, number in counting.elementwise(self.cell, self.bias).items()}
        if self.readout and self.readout_bias:
            found["add"] = found.get("add", Formula()) + factor(symbol("K"))
        return found

    def stored(self, scheme: str = "written") -> Formula:
        """Numbers that one step of one sequence stores for the backward pass."""
        total = self._stack(counting.stored(self.cell, scheme))
        return (
            total + factor(symbol(self.output) * self.directions) if SCHEMES[scheme].inputs and self.readout else total
        )

    def shapes(self) -> dict[str, tuple[Polynomial, ...]]:
        """The parameters' shapes; a bias that is stored twice has two rows. In a stack a name begins with its layer."""
        found: dict[str, tuple[Polynomial, ...]] = {}
        if self.embedding:
            found["embedding"] = (symbol("V"), symbol("D"))
        vectors = bias_vectors(self.cell, self.bias)
        below = symbol(self.output) * self.directions
        for layer in ["1.", "2..L."] if self.deep else [""]:
            for direction in ["", "reverse."][: self.directions]:
                for parameter, widths in self.cell.parameters.items():
                    deep = layer == "2..L."
                    shape = tuple(below if deep and width == "D" else symbol(width) for width in widths)
                    number = vectors.get(parameter, 0) if is_bias(parameter) else 1
                    if number:
                        rows = (Polynomial({(): number}),) if number > 1 else ()
                        found[layer + direction + parameter] = (*rows, *shape)
                for state in self.cell.states if self.initial else ():
                    found[f"{layer}{direction}{state}_0"] = (symbol(self.cell.widths[state]),)
        if self.readout:
            found["V"] = (symbol("K"), below)
            if self.readout_bias:
                found["b_V"] = (symbol("K"),)
        return found


def output(of: Cell) -> str:
    """Return the state that a layer hands up: h, or the last one."""
    if not of.states:
        raise GatecalcError(
            f"cell: {of.name} has no state: nothing is read as '..._prev'",
            help="a recurrent cell reads its own step before, as in h_prev",
        )
    return "h" if "h" in of.states else of.states[-1]


@functools.lru_cache(maxsize=1024)
def projected(of: Cell) -> Cell:
    """Return the cell with its output projected to P numbers by a matrix W_p before it is handed on, as in LSTMP.

    Raises:
        GatecalcError: Where the output's previous value also meets a vector elementwise, and so cannot be narrower.

    >>> print(projected(cell("rnn")))
    m = tanh(W @ x + U @ h_prev + b)
    h = W_p @ m
    """
    if "P" in of.dimensions:
        return of
    state = output(of)
    taken = {*of.widths, *of.parameters}
    inner, matrix = (
        next(free for free in names if free not in taken) for names in (("m", "m_h", "m_0"), ("W_p", "W_q", "W_pp"))
    )
    written: dict[str, Tree] = {}
    for target, formula in of.written.items():
        renamed = rewrite(formula, lambda node: name(inner) if node.op == "name" and node.value == state else None)
        written[inner if target == state else target] = renamed
    written[state] = Tree("@", (name(matrix), name(inner)))
    changed = Cell(f"{of.name}_projected", f"{of.title} With a projection.", of.source, written, of.origin)
    if changed.widths[state] != "P":
        where = next(target for target, formula in of.written.items() if _meets(formula, state + PREVIOUS))
        raise GatecalcError(
            f"projection: {of.name} cannot be projected: in '{where} = {of.written[where]}', {state}_prev meets it",
            help="lstm can: its h is read only through matrices",
        )
    return changed


def _meets(formula: Tree, vector: str) -> bool:
    """Tell whether a formula reads a vector other than directly through a matrix."""
    return any(
        argument.op == "name" and argument.value == vector
        for node in formula.walk()
        if node.op != "@"
        for argument in node.args
    )


class Count(Record):
    """What :func:`count` returns: figures for the widths that are given, and the formulas they come from.

    ``macs``, ``macs_backward``, ``flops``, ``elementwise`` and ``stored`` are for one step of one sequence; ``totals``
    has them for a batch of sequences. A FLOP count is twice the MACs, the elementwise operations are apart.
    """

    cell: str
    widths: dict[str, int]
    bias: str
    directions: int
    parameters: int | None
    parameters_formula: str
    macs: int | None
    macs_formula: str
    macs_backward: int | None
    macs_backward_formula: str
    flops: int | None
    flops_formula: str
    elementwise: dict[str, int] | None
    elementwise_formulas: dict[str, str]
    stored: dict[str, int | None] | None
    stored_formulas: dict[str, str | None]
    shapes: dict[str, list[int]] | None
    bytes: dict[str, Any] | None
    totals: dict[str, Any] | None
    note: str | None


def count(
    of: str | Cell,
    input: int | None = None,
    hidden: int | None = None,
    bias: str = "single",
    layers: int = 1,
    bidirectional: bool = False,
    projection: int | None = None,
    *,
    initial: bool = False,
    embedding: int | None = None,
    readout: int | None = None,
    readout_bias: bool = False,
    steps: int | None = None,
    batch: int | None = None,
    dtype: str = "float32",
    widths: Mapping[str, int] | None = None,
) -> Count:
    """Count a network of one cell.

    Args:
        of: A cell, its name, or the path of a ``.cell`` file.
        input, hidden, projection: D, H and P; without D and H there are formulas and no figures.
        bias: A rule: ``single``, ``double`` or ``none``.
        layers, bidirectional: The stack; the layers above the first read all directions of the one below.
        initial: Count initial states as trained.
        embedding, readout, readout_bias: V symbols before the first layer, K outputs after the last.
        steps, batch: For ``totals``: T steps of N sequences, 1 where one of them is given alone.
        dtype: Of ``bytes``.
        widths: Further widths of a cell that has them, ``{"H2": 7}``.

    Raises:
        GatecalcError: For widths that are not positive whole numbers, and for what the cell cannot have.

    >>> count("lstm", 3, 5).parameters, count("lstm", 3, 5, bias="double").parameters
    (180, 200)
    """
    network = architecture(of, bias, layers, bidirectional, projection, initial, embedding, readout, readout_bias)
    twice = {"D": input, "H": hidden, "P": projection}
    for letter in widths or {}:
        if letter in WIDTHS and letter not in network.cell.dimensions:  # L layers are more than an L in a formula
            raise GatecalcError(f"width: '{letter}' is no width of {network.cell.name} itself", help=give(letter))
        if twice.get(letter) is not None:
            raise GatecalcError(f"width: {letter} is given twice, once by itself", help="keep one of them")
    given = {"D": input, "H": hidden, "P": projection, "L": layers, "V": embedding, "K": readout, **(widths or {})}
    known = given_widths(network.cell, given)
    missing = [width for width in network.cell.dimensions if width not in known]
    if missing and missing[0] not in ("D", "H"):
        raise GatecalcError(
            f"width: {network.cell.name} has a width {missing[0]}, which is not given", help=give(missing[0])
        )
    if dtype not in BYTES:
        raise GatecalcError(f"dtype: unknown '{dtype}'{closest(dtype, BYTES)}", help=f"it is one of {', '.join(BYTES)}")
    formulas = _formulas(network)
    if missing and (steps is not None or batch is not None):
        raise GatecalcError(f"width: totals need every width, and {missing[0]} is not given", help=give(missing[0]))
    if missing:  # what is known is filled in, and there are no figures
        partial = {letter: value for letter, value in known.items() if letter != "L" or network.deep}
        return _result(network, known, bias, formulas.map(lambda formula: formula.at(**partial)), None, None)
    figures = formulas.map(lambda formula: formula(**known))
    totals = None
    if steps is not None or batch is not None:
        totals = _totals(
            network,
            known,
            figures,
            whole(1 if steps is None else steps, "steps"),
            whole(1 if batch is None else batch, "batch"),
        )
    return _result(network, known, bias, formulas, figures, totals, dtype)


class _Formulas(Record):
    """The quantities of a network: as formulas, and as figures."""

    parameters: Any
    macs: Any
    macs_backward: Any
    elementwise: dict[str, Any]
    stored: dict[str, Any]

    def map(self, change: Callable[[Formula], Any]) -> _Formulas:
        def each(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: each(item) for key, item in value.items()}
            return None if value is None else change(value)

        return _Formulas(*map(each, self._asdict().values()))


@functools.lru_cache(maxsize=1024)
def _formulas(network: Architecture) -> _Formulas:
    return _Formulas(
        network.parameters(),
        network.macs(),
        network.macs_backward(),
        network.elementwise(),
        {scheme: _defined(network, scheme) for scheme in SCHEMES},
    )


def _result(
    network: Architecture,
    known: dict[str, int],
    bias: str,
    formulas: _Formulas,
    figures: _Formulas | None,
    totals: dict[str, Any] | None,
    dtype: str = "float32",
) -> Count:
    text, number, size = formulas.map(str), figures or _Formulas(None, None, None, {}, {}), BYTES[dtype]
    return Count(
        cell=network.cell.name,
        widths=known,
        bias=bias,
        directions=network.directions,
        parameters=number.parameters,
        parameters_formula=text.parameters,
        macs=number.macs,
        macs_formula=text.macs,
        macs_backward=number.macs_backward,
        macs_backward_formula=text.macs_backward,
        flops=2 * number.macs if figures else None,
        flops_formula=str(formulas.macs * 2),
        elementwise=number.elementwise if figures else None,
        elementwise_formulas=text.elementwise,
        stored=number.stored if figures else None,
        stored_formulas=text.stored,
        shapes=_shapes(network, known) if figures else None,
        bytes={"dtype": dtype, "parameters": size * number.parameters, "stored": _times(number.stored, size)}
        if figures
        else None,
        totals=totals and {**totals, "stored_bytes": _times(totals["stored"], size)},
        note=NOTES.get(network.cell.name),
    )


def _totals(network: Architecture, known: dict[str, int], figures: _Formulas, steps: int, batch: int) -> dict[str, Any]:
    """Return the figures of a batch of sequences; the first step backwards leaves a given state without a gradient."""
    all_steps = steps * batch
    return {
        "steps": steps,
        "batch": batch,
        "macs": all_steps * figures.macs,
        "macs_backward": all_steps * figures.macs_backward - batch * network.macs_first_step()(**known),
        "flops": 2 * all_steps * figures.macs,
        "elementwise": _times(figures.elementwise, all_steps),
        "stored": _times(figures.stored, all_steps),
    }


def _times(figures: Mapping[str, int | None], number: int) -> dict[str, int | None]:
    return {key: None if value is None else value * number for key, value in figures.items()}


def architecture(
    of: str | Cell,
    bias: str = "single",
    layers: int = 1,
    bidirectional: bool = False,
    projection: int | None = None,
    initial: bool = False,
    embedding: int | None = None,
    readout: int | None = None,
    readout_bias: bool = False,
) -> Architecture:
    """Return what is counted, from the options that all commands share; see :func:`count`."""
    of = cell(of)
    bias_vectors(of, bias)
    output(of)
    if projection is not None:
        of = projected(of)
    if readout_bias and readout is None:
        raise GatecalcError("readout: a bias of a read-out that is not there", help="give --readout K as well")
    deep = whole(layers, "layers") > 1
    return Architecture(
        of, bias, deep, 2 if bidirectional else 1, initial, embedding is not None, readout is not None, readout_bias
    )


WIDTHS = {"D": "input", "H": "hidden", "P": "projection", "L": "layers", "V": "embedding", "K": "readout"}


def given_widths(of: Cell, values: Mapping[str, int | None]) -> dict[str, int]:
    """Check the widths that are given and return them; refuse a projection that is none."""
    known = {letter: whole(value, WIDTHS.get(letter, letter)) for letter, value in values.items() if value is not None}
    unknown = [letter for letter in known if letter not in WIDTHS and letter not in of.dimensions]
    if unknown:
        raise GatecalcError(
            f"width: {of.name} has no width '{unknown[0]}'", help=f"its widths are {', '.join(of.dimensions)}"
        )
    if "P" in known and "H" in known and known["P"] >= known["H"]:
        raise GatecalcError(
            f"projection: {known['P']} is not narrower than the hidden width {known['H']}",
            help="a projection makes the state narrower; PyTorch refuses this too",
        )
    return known


def whole(value: object, what: str) -> int:
    """Return a width that is a positive whole number of at most 1,000 digits; refuse all else."""
    number = int(value.__index__()) if hasattr(value, "__index__") and not isinstance(value, bool) else 0
    if number < 1:
        raise GatecalcError(
            f"{what}: {shown(value)} is not a positive whole number", help=f"give {what} as 1, 2, 3, ..."
        )
    if number >= 10**MAX_DIGITS:
        raise GatecalcError(f"{what}: it has more than {MAX_DIGITS} digits", help="take a smaller one")
    return number


def shown(value: object) -> str:
    """Return a value for a message, unless it is too long."""
    return str(value)[:40] if not isinstance(value, int) or abs(value) < 10**40 else "the number"


def give(width: str) -> str:
    """Return the remedy for a width that is missing."""
    return f"give --{WIDTHS[width]} {width}" if width in WIDTHS else f"give --set {width}=..."


def _defined(network: Architecture, scheme: str) -> Formula | None:
    try:
        return network.stored(scheme)
    except GatecalcError:
        return None


def _shapes(network: Architecture, known: Mapping[str, int]) -> dict[str, list[int]]:
    last = known.get("L", 1)
    return {
        parameter.replace("2..L.", "2." if last == 2 else f"2..{last}."): [extent(**known) for extent in shape]
        for parameter, shape in network.shapes().items()
    }


Quantity = Callable[[Architecture, str], Formula]

QUANTITIES: dict[str, Quantity] = {
    "parameters": lambda network, scheme: network.parameters(),
    "macs": lambda network, scheme: network.macs(),
    "stored": lambda network, scheme: network.stored(scheme),
}
