"""Parameters, multiply-accumulates and stored activations of one cell, as formulas in its widths.

Widths are D (inputs), H (hidden) and P (projected). A bias rule is a rule over the cell's own formulas and a storage
scheme one over its equations, so that a cell that a user writes is counted like a built-in one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from gatecalc.cell import PREVIOUS, Cell, Elementwise, Product, cell, is_bias
from gatecalc.counts.polynomial import ZERO, Formula, Polynomial, factor, product, symbol, total
from gatecalc.elementwise import ELEMENTWISE
from gatecalc.errors import GatecalcError, closest
from gatecalc.language import Tree, name, parse
from gatecalc.record import Record

MAX_DIGITS = 1_000  # of a width or a budget
BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int8": 1}

Vectors = dict[str, str]  # {a vector: the letter of its width}


def parameters(of: str | Cell, bias: str = "single") -> Formula:
    """Count the trained numbers of one cell.

    Args:
        of: A cell, its name, or the path of a ``.cell`` file.
        bias: A rule of :data:`BIAS_RULES`. ``single`` counts each bias that the cell's text has; ``double`` one for
            each matrix product that stands directly in a sum with a bias, as in PyTorch and cuDNN; ``none`` no bias.

    Returns:
        A formula in the cell's widths, to be printed or evaluated.

    Raises:
        GatecalcError: For an unknown cell or rule.

    >>> print(parameters("lstm"), parameters("gru_reset_after"), sep=", ")
    4*H*(D + H + 1), 3*H*(D + H + 1) + H
    >>> parameters("lstm", bias="double")(D=3, H=5)
    200
    """
    of = cell(of)
    weights = [product(*shape) for parameter, shape in of.parameters.items() if not is_bias(parameter)]
    biases = [product(*of.parameters[each]) * vectors for each, vectors in bias_vectors(of, bias).items()]
    return factor(total((*weights, *biases)))


def bias_vectors(of: Cell, rule: str) -> dict[str, int]:
    """Return how many stored vectors each bias of the cell's text stands for under a rule: {bias: number}."""
    _known(rule, BIAS_RULES, "bias", "rule")
    return BIAS_RULES[rule](of)


def _single(of: Cell) -> dict[str, int]:
    return {parameter: 1 for parameter in of.parameters if is_bias(parameter)}


def _double(of: Cell) -> dict[str, int]:
    vectors = _single(of)
    counted: set[str] = set()
    for node in (node for formula in of.written.values() for node in formula.walk() if node.op == "+"):
        terms = [term.args[0] if term.op == "neg" else term for term in node.args]
        products = sum(term.op == "@" for term in terms)
        own = [term.value for term in terms if term.op == "name" and is_bias(term.value) and term.value not in counted]
        if own:  # one for each product, and never fewer than are written
            vectors[own[0]] = max(1, products - len(own) + 1)
            counted.update(own)
    return vectors


BIAS_RULES: dict[str, Callable[[Cell], dict[str, int]]] = {"single": _single, "double": _double, "none": lambda of: {}}


def macs(of: str | Cell) -> Formula:
    """Count the multiply-accumulates of one step of one sequence: those of the matrix products, and no others.

    A FLOP count is twice that; see :func:`elementwise` for the rest of a step.

    >>> print(macs("lstm"), macs("lstm_projected"), sep=", ")
    4*H*(D + H), 4*H*(D + P) + H*P
    """
    of = cell(of)
    return factor(total(_cost(of, equation) for equation in of.equations if isinstance(equation, Product)))


def gradient_macs(of: str | Cell, input_gradient: bool = True) -> Formula:
    """Count the multiply-accumulates of one step backwards.

    One product for each weight matrix's gradient, and one for each vector's, the input's only where something below it
    is trained.

    >>> print(gradient_macs("lstm"), gradient_macs("lstm", input_gradient=False), sep=", ")
    8*H*(D + H), 4*H*(D + 2*H)
    """
    of = cell(of)
    products = [equation for equation in of.equations if isinstance(equation, Product)]
    onward = [equation for equation in products if input_gradient or equation.vector not in of.inputs]
    return factor(total(_cost(of, equation) for equation in [*products, *onward]))


def first_step_macs(of: str | Cell) -> Formula:
    """Count what the first step backwards saves when initial states are not trained: their own gradients."""
    of = cell(of)
    given = {state + PREVIOUS for state in of.states}
    saved = (equation for equation in of.equations if isinstance(equation, Product) and equation.vector in given)
    return factor(total(_cost(of, equation) for equation in saved))


def elementwise(of: str | Cell, bias: str = "single") -> dict[str, Formula]:
    """Count the elementwise operations of one step, by kind; a difference is an ``add``, and nothing is a MAC.

    >>> {kind: str(number) for kind, number in elementwise("rnn").items()}
    {'add': '2*H', 'tanh': 'H'}
    """
    of = cell(of)
    found: dict[str, Polynomial] = {}

    def note(kind: str, number: Polynomial) -> None:
        found[kind] = found.get(kind, ZERO) + number

    for equation in of.equations:
        if not isinstance(equation, Elementwise):
            continue
        width = symbol(of.widths[equation.name])
        for node in equation.formula.walk():
            if node.op in _KINDS:
                note(_KINDS[node.op], width * (len(node.args) - 1))
            elif node.op == "call":
                note(node.value, width)
            elif node.op == "neg" and not _inside_sum(node, equation.formula) and node.args[0].op != "number":
                note("negate", width)
    written = _single(of)
    vectors = bias_vectors(of, bias)
    note(
        "add",
        total(product(*of.parameters[each]) * (vectors.get(each, 0) - number) for each, number in written.items()),
    )
    return {kind: factor(number) for kind, number in sorted(found.items()) if number != ZERO}


_KINDS = {"+": "add", "*": "multiply", "/": "divide", "**": "power"}


def _inside_sum(node: Tree, formula: Tree) -> bool:
    return any(above.op == "+" and any(term is node for term in above.args) for above in formula.walk())


# ------------------------------------------------------------------------------------------------- stored activations


class Scheme(Record):
    """What a backward pass finds stored.

    Attributes:
        keeps: What is kept of each step, in words.
        vectors: The rule, from a cell to {vector: its width}; None where the scheme is not defined for a cell.
        inputs: Whether the layer's own input is among them.
    """

    keeps: str
    vectors: Callable[[Cell], Vectors | None]
    inputs: bool = False


def stored(of: str | Cell, scheme: str = "written") -> Formula:
    """Count the numbers that one step of one sequence stores for the backward pass, under a scheme of :data:`SCHEMES`.

    Raises:
        GatecalcError: For an unknown scheme, and where it is not defined for the cell.

    >>> [str(stored("lstm", scheme)) for scheme in ("written", "minimal", "autograd", "recompute")]
    ['6*H', '4*H', 'D + 7*H', '2*H']
    """
    of = cell(of)
    _known(scheme, SCHEMES, "storage", "scheme")
    vectors = SCHEMES[scheme].vectors(of)
    if vectors is None:
        raise GatecalcError(
            f"storage: '{scheme}' is not defined for {of.name}: PyTorch has no such layer",
            help="take 'autograd', the rule for any cell",
        )
    return factor(total(map(symbol, vectors.values())))


def _written(of: Cell) -> Vectors:
    return {vector: of.widths[vector] for vector in of.written}


def _states(of: Cell) -> Vectors:
    return {state: of.widths[state] for state in of.states}


def _autograd(of: Cell) -> Vectors:
    """Return what the derivatives read, each once: factors, results of functions, vectors under a matrix."""
    return {vector: width for vector, (_, width) in _needed(of).items()}


def _minimal(of: Cell) -> Vectors:
    """Return the part of it that takes a matrix product to compute again, the inputs and initial states given."""
    equations = {equation.name: equation for equation in of.equations}
    kept: Vectors = {}
    seen: set[str] = set(of.inputs)

    def settle(vector: str) -> None:
        if vector in seen:
            return
        seen.add(vector)
        equation = equations[vector]
        if isinstance(equation, Product):
            kept[vector] = of.widths[vector]
        else:
            again(vector, equation.formula, of.widths[vector])

    def again(vector: str, formula: Tree, width: str) -> None:
        reads = _reads(of, formula)
        if any(isinstance(equations.get(read), Product) and read not in of.written for read in reads):
            kept[vector] = width
        else:
            for read in reads:
                settle(read)

    for vector, (formula, width) in _needed(of).items():
        if vector in equations or vector in seen:
            settle(vector)
        else:
            again(vector, formula, width)
    return kept


@functools.cache
def _needed(of: Cell) -> dict[str, tuple[Tree, str]]:
    """Return {vector: (its formula, its width)} for all that some derivative of the cell reads.

    A part of a formula is a vector too, named by its text; a state stands for its previous value as well, since that is
    the same vector, stored one step before.
    """
    found: dict[str, tuple[Tree, str]] = {}

    def need(part: Tree, width: str) -> None:
        if part.op == "neg":
            part = part.args[0]
        reads = _reads(of, part)
        if reads:
            found.setdefault(reads[0] if part.op == "name" else str(part), (part, width))

    def visit(part: Tree, width: str, equation: Elementwise) -> None:
        for argument in part.args:
            visit(argument, width, equation)
        if part.op in ("*", "/", "**"):
            for argument in part.args:
                others = [other for other in part.args if other is not argument]
                if any(other.op != "number" for other in others) or part.op == "**":
                    need(argument, width)
        elif part.op == "call":
            reads = ["y"] if part.value in _RESULT_TELLS else parse(ELEMENTWISE[part.value].derivative).names()
            if "y" in reads:
                need(name(equation.name) if part is equation.formula else part, width)
            if "a" in reads:
                need(part.args[0], width)

    for equation in of.equations:
        if isinstance(equation, Product):
            need(name(equation.vector), of.widths[equation.vector])
        else:
            visit(equation.formula, of.widths[equation.name], equation)
    return found


# Their rows give the derivative by the argument; the result tells it as well, and is what is kept.
_RESULT_TELLS = {"relu", "leaky_relu", "elu", "hard_tanh", "hard_sigmoid"}


def _reads(of: Cell, formula: Tree) -> list[str]:
    """Return the vectors that a formula reads, a state's previous value under the state's own name."""
    previous = {state + PREVIOUS: state for state in of.states}
    return [previous.get(read, read) for read in formula.names() if read in of.widths]


# Numbers that PyTorch's CPU autograd keeps, measured through torch.autograd.graph.saved_tensors_hooks, torch 2.13.0,
# oneDNN off. The GRU's gates are views of a buffer of three blocks, which is why it keeps one more than it reads.
_PYTORCH: dict[str, Vectors] = {
    "rnn": {"x": "D", "h": "H"},
    "rnn_relu": {"x": "D", "h": "H"},
    "lstm": {"x": "D", **dict.fromkeys(["h", "i", "f", "g", "o", "c", "tanh(c)"], "H")},
    "lstm_projected": {"x": "D", "h": "P", **dict.fromkeys(["i", "f", "g", "o", "c", "tanh(c)", "m"], "H")},
    "gru_reset_after": {
        "x": "D",
        **dict.fromkeys(["h", "r", "z", "r * (U_n @ h_prev + b_u)", "n", "U_n @ h_prev + b_u", "h_prev - n"], "H"),
    },
}

SCHEMES: dict[str, Scheme] = {
    "written": Scheme("each vector that the equations name", _written),
    "minimal": Scheme("what no elementwise operation can compute again", _minimal),
    "autograd": Scheme("all that the derivative of some operation reads, once, and the input", _autograd, inputs=True),
    "pytorch": Scheme(
        "what PyTorch's CPU autograd keeps alive, oneDNN off", lambda of: _PYTORCH.get(of.name), inputs=True
    ),
    "recompute": Scheme("the states alone; every step is run again", _states),
}


# ------------------------------------------------------------------------------------------------- shared small things


def _cost(of: Cell, equation: Product) -> Polynomial:
    return product(of.widths[equation.name], of.widths[equation.vector])


def _known(given: str, table: Mapping[str, object], topic: str, what: str) -> None:
    if given not in table:
        raise GatecalcError(
            f"{topic}: unknown {what} '{given}'{closest(str(given), table)}", help=f"it is one of {', '.join(table)}"
        )
