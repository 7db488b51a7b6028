r"""Formulas as they are set: LaTeX, MathML and Unicode, each a table of how its parts are written.

The formula is the same tree in all of them. Elementwise products are :math:`\odot`, matrix products stand side by side,
``h_prev`` is :math:`h_{t-1}` beside :math:`h_t`, and over several steps ``h_2`` is :math:`h_2`. A new notation is one
:class:`Style`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from html import escape
from typing import NamedTuple

from gatecalc.calculus.words import factors
from gatecalc.cell import PREVIOUS, Cell
from gatecalc.elementwise import ELEMENTWISE
from gatecalc.language import Tree, decimal_text, name


class Style(NamedTuple):
    """How the parts of a formula are written."""

    number: Callable[[str], str]
    symbol: Callable[[str, Sequence[str]], str]  # a letter and its subscripts
    differential: Callable[[str], str]  # d of a symbol
    partial: Callable[[str, str], str]  # d of one symbol by another
    call: Callable[[str, str], str]  # a function's name and its argument
    diag: Callable[[str], str]
    group: Callable[[str], str]
    plus: str
    minus: str
    negative: str
    times: str  # between vectors, elementwise
    product: str  # between matrices
    power: Callable[[str, str], str]
    quotient: Callable[[str, str], str]
    transpose: Callable[[str], str]
    equation: Callable[[str, str], str]
    row: Callable[[str], str]  # around what is one operand


def _latex_symbol(letter: str, subscripts: Sequence[str]) -> str:
    letter = letter if len(letter) == 1 else rf"\{letter}" if letter in _GREEK else rf"\mathrm{{{_tex(letter)}}}"
    return f"{letter}_{{{', '.join(_subscript(each) for each in subscripts)}}}" if subscripts else letter


_GREEK = ("alpha", "beta", "gamma", "delta", "eta", "theta", "lambda", "mu", "rho", "tau", "pi", "phi", "psi", "omega")


def _subscript(text: str) -> str:
    plain = len(text) == 1 or re.fullmatch(r"t-\d+|\d+", text)
    return text if plain else rf"\mathrm{{{_tex(text)}}}"


def _tex(text: str) -> str:
    return text.replace("_", r"\_")


LATEX = Style(
    number=lambda text: text,
    symbol=_latex_symbol,
    differential=lambda symbol: rf"\mathrm{{d}} {symbol}",
    partial=lambda out, by: rf"\frac{{\partial {out}}}{{\partial {by}}}",
    call=lambda function, argument: (
        rf"\sqrt{{{argument}}}" if function == "sqrt" else rf"{ELEMENTWISE[function].latex}\left({argument}\right)"
    ),
    diag=lambda argument: rf"\operatorname{{diag}}\left({argument}\right)",
    group=lambda inner: rf"\left({inner}\right)",
    plus=" + ",
    minus=" - ",
    negative="-",
    times=r" \odot ",
    product=r" \, ",
    power=lambda base, exponent: f"{base}^{{{exponent}}}",
    quotient=lambda top, bottom: rf"\frac{{{top}}}{{{bottom}}}",
    transpose=lambda matrix: rf"{matrix}^{{\top}}",
    equation=lambda left, right: f"{left} = {right}",
    row=lambda text: text,
)

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")

UNICODE = Style(
    number=lambda text: text,
    symbol=lambda letter, subscripts: "_".join([letter, *subscripts]),
    differential=lambda symbol: f"d{symbol}",
    partial=lambda out, by: f"∂{out}/∂{by}",
    call=lambda function, argument: f"{'σ' if function == 'sigmoid' else function}({argument})",
    diag=lambda argument: f"diag({argument})",
    group=lambda inner: f"({inner})",
    plus=" + ",
    minus=" − ",
    negative="−",
    times=" ⊙ ",
    product=" ",
    power=lambda base, exponent: (
        base + exponent.translate(_SUPERSCRIPTS) if re.fullmatch(r"-?\d+", exponent) else f"{base}^({exponent})"
    ),
    quotient=lambda top, bottom: f"{top} / {bottom}",
    transpose=lambda matrix: f"{matrix}ᵀ",
    equation=lambda left, right: f"{left} = {right}",
    row=lambda text: text,
)


def _mrow(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"


def _mathml_symbol(letter: str, subscripts: Sequence[str]) -> str:
    letter = f"<mi>{escape(letter)}</mi>"
    if not subscripts:
        return letter
    parts = "<mo>,</mo>".join(_mathml_subscript(each) for each in subscripts)
    return f"<msub>{letter}{_mrow(parts)}</msub>"


def _mathml_subscript(text: str) -> str:
    before = re.fullmatch(r"t-(\d+)", text)
    if before:
        return f"<mi>t</mi><mo>&#x2212;</mo><mn>{before[1]}</mn>"
    return f"<mn>{text}</mn>" if text.isdigit() else f"<mi>{escape(text)}</mi>"


def _mathml_call(function: str, argument: str) -> str:
    shown = "&#x3C3;" if function == "sigmoid" else function
    return _mrow(f"<mi>{shown}</mi><mo>&#x2061;</mo>", _mathml_group(argument))


def _mathml_group(inner: str) -> str:
    return _mrow("<mo>(</mo>", inner, "<mo>)</mo>")


# Characters by number: the names of HTML's entities are unknown to an XML parser.
MATHML = Style(
    number=lambda text: f"<mn>{text}</mn>",
    symbol=_mathml_symbol,
    differential=lambda symbol: _mrow('<mi mathvariant="normal">d</mi>', symbol),
    partial=lambda out, by: f"<mfrac>{_mrow('<mo>&#x2202;</mo>', out)}{_mrow('<mo>&#x2202;</mo>', by)}</mfrac>",
    call=_mathml_call,
    diag=lambda argument: _mrow("<mi>diag</mi><mo>&#x2061;</mo>", _mathml_group(argument)),
    group=_mathml_group,
    plus="<mo>+</mo>",
    minus="<mo>&#x2212;</mo>",
    negative="<mo>&#x2212;</mo>",
    times="<mo>&#x2299;</mo>",
    product="<mo>&#x2062;</mo>",
    power=lambda base, exponent: f"<msup>{base}{exponent}</msup>",
    quotient=lambda top, bottom: f"<mfrac>{top}{bottom}</mfrac>",
    transpose=lambda matrix: f"<msup>{matrix}<mo>&#x22A4;</mo></msup>",
    equation=lambda left, right: f"{left}<mo>=</mo>{right}",
    row=_mrow,
)

_SUM, _PRODUCT, _SIGNED, _POWER, _ATOM = 1, 2, 3, 4, 5


class Notation:
    """A style, and what the names of one cell stand for.

    Args:
        style: How the parts are written.
        parameters: The names that have no time.
        steps: Over how many steps the names go.
        partials: What a named Jacobian is the derivative of, {"J_h_1": ("h_1", "h_0")}.
    """

    def __init__(
        self,
        style: Style,
        parameters: Collection[str],
        steps: int = 1,
        partials: dict[str, tuple[str, str]] | None = None,
    ) -> None:
        self.style = style
        self.parameters = parameters
        self.steps = steps
        self.partials = partials or {}

    def write(self, formula: Tree) -> str:
        """Return the formula in this notation."""
        return self._write(formula)[0]

    def equation(self, left: str, formula: Tree) -> str:
        """Return ``left = formula``, where ``left`` is already written."""
        return self.style.equation(left, self.style.row(self.write(formula)))

    def partial(self, output: str, by: str) -> str:
        """Return the derivative of one name by another, as it stands on the left of an equation."""
        return self.style.partial(self.symbol(output), self.symbol(by))

    def symbol(self, label: str) -> str:
        """Return a name: a vector at its time, a matrix, or a named Jacobian."""
        if label in self.partials:
            return self.partial(*self.partials[label])
        if label[:1] == "d" and label[1:] in self.parameters:
            return self.style.differential(self.symbol(label[1:]))
        if not label.isidentifier():  # a part known by its text
            from gatecalc.language import parse

            return self.style.group(self.style.row(self.write(parse(label))))
        if label in self.parameters or label in ("I", "delta", "pi"):
            return self.style.symbol(*_letters(label))
        if self.style is UNICODE:
            return label
        base, time = self._time(label)
        letter, subscripts = _letters(base)
        return self.style.symbol(letter, [*subscripts, time])

    def _time(self, label: str) -> tuple[str, str]:
        base = label
        while base.endswith(PREVIOUS):
            base = base.removesuffix(PREVIOUS)
        before = (len(label) - len(base)) // len(PREVIOUS)
        numbered = re.fullmatch(r"(.+)_(\d+)", base)
        if self.steps > 1 and numbered:
            return numbered[1], str(int(numbered[2]) - before)
        return base, f"t-{before}" if before else "t"

    def _write(self, tree: Tree) -> tuple[str, int]:
        """Return the formula and how tightly it binds."""
        style, op, args = self.style, tree.op, tree.args
        if op == "number":
            text = decimal_text(tree.value)
            if text[:1] == "(":
                top, bottom = text.strip("()").split(" / ")
                return style.quotient(style.number(top), style.number(bottom)), _PRODUCT
            return style.number(text), _ATOM
        if op == "name":
            return self.symbol(tree.value), _POWER if tree.value in self.partials else _ATOM
        if op == "call":
            return self._call(tree), _ATOM
        if op == "+":
            parts = [self._within(args[0], _PRODUCT)]
            for term in args[1:]:
                negative = term.op == "neg"
                parts += [
                    style.minus if negative else style.plus,
                    self._within(term.args[0] if negative else term, _PRODUCT),
                ]
            return "".join(parts), _SUM
        if op == "neg":
            return style.negative + self._within(args[0], _PRODUCT), _SUM
        if op == "*":
            shown = [self._within(factor, _SIGNED) for factor in args]
            if args[0].op == "number" and args[1].op in ("name", "call", "+"):  # a number only scales
                shown[:2] = [shown[0] + style.product + shown[1]]
            return style.times.join(shown), _PRODUCT
        if op == "@":
            return style.product.join(self._within(factor, _SIGNED) for factor in factors(tree)), _PRODUCT
        if op == "/":
            if style is UNICODE:
                return style.quotient(self._within(args[0], _PRODUCT), self._within(args[1], _SIGNED)), _PRODUCT
            return style.quotient(style.row(self.write(args[0])), style.row(self.write(args[1]))), _ATOM
        if op == "**":
            base, exponent = self._within(args[0], _ATOM), style.row(self.write(args[1]))
            return style.power(style.row(base), exponent), _POWER
        if op == "attribute":
            return style.transpose(style.row(self._within(args[0], _ATOM))), _POWER
        raise ValueError(f"'{tree}' cannot be written")

    def _call(self, tree: Tree) -> str:
        argument = self.write(tree.args[0])
        if tree.value == "diag":
            return self.style.diag(argument)
        if tree.value == "d":
            is_plain = tree.args[0].op == "name"
            return self.style.differential(argument if is_plain else self.style.group(argument))
        return self.style.call(tree.value, argument)

    def _within(self, tree: Tree, binding: int) -> str:
        text, own = self._write(tree)
        return self.style.row(text) if own >= binding else self.style.group(text)


def _letters(label: str) -> tuple[str, list[str]]:
    """Take ``U_f`` apart into its letter and its subscripts."""
    letter, *subscripts = label.split("_")
    return (letter or label, [each for each in subscripts if each] if letter else [])


def cell_latex(cell: Cell) -> str:
    """Return the equations of a cell, aligned, as LaTeX that stands in a display.

    >>> from gatecalc.cell import cell
    >>> print(cell_latex(cell("rnn")))
    \\begin{aligned}
    h_{t} &= \\tanh\\left(W \\, x_{t} + U \\, h_{t-1} + b\\right)
    \\end{aligned}
    """
    notation = Notation(LATEX, cell.parameters)
    lines = [f"{notation.write(name(target))} &= {notation.write(tree)}" for target, tree in cell.written.items()]
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def mathml(inner: str) -> str:
    """Return a formula as a ``math`` element of its own."""
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{_mrow(inner)}</math>'
