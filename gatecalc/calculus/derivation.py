"""A derivation as it is handed over: the Jacobian, how it is printed, how it was found, and how it was checked.

    derive(cell, output, input, path="local", steps=1, check=True) -> Derivation

This is what ``gatecalc derive`` prints and what ``cell("lstm").jacobian("c", "c_prev")`` returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from gatecalc.calculus.derivatives import ZERO, tidy
from gatecalc.calculus.jacobian import MAX_PATHS, Jacobian, jacobian
from gatecalc.calculus.notation import LATEX, MATHML, UNICODE, Notation, Style, cell_latex, mathml
from gatecalc.calculus.words import IDENTITY, chain, factors, is_diag, terms
from gatecalc.cell import Cell
from gatecalc.errors import GatecalcError
from gatecalc.language import Source, Tree, name

if TYPE_CHECKING:
    from gatecalc.calculus.differences import Check


class Where(NamedTuple):
    """A part of a formula that has a name of its own."""

    name: str
    text: str
    latex: str


class Rule(NamedTuple):
    """One step of a derivation: a rule applied to an equation."""

    vector: str
    equation: str
    rule: str
    differential: str
    result: str


@dataclass(frozen=True)
class Derivation:
    """The derivative of one vector of a cell by another, or by a weight.

    Attributes:
        cell: The cell's name.
        output: The vector; over several steps, that of the last one.
        input: What it is derived by.
        path: ``local`` or ``total``.
        steps: How many steps it goes through.
        text: The formula, as ``gatecalc grade`` reads it; for a weight, the change of the output.
        latex: The equation, as LaTeX for a display.
        terms: The formula multiplied out, one word for each path of the chain rule; None beyond a limit.
        where: What the names J_... in the formula are.
        gradient: For a weight, the gradient of a loss by it, delta being that by the output; else None.
        layout: How rows and columns are to be read, and how many there are.
        notes: Why a formula is 0, and what is taken for the derivative at a kink.
        check: How it was checked by number, and the largest error; None where that was not asked for.
    """

    cell: str
    output: str
    input: str
    path: str
    steps: int
    text: str
    latex: str
    terms: list[str] | None
    where: list[Where]
    gradient: str | None
    layout: str
    notes: list[str]
    check: Check | None
    _jacobian: Jacobian

    @property
    def explanation(self) -> list[Rule]:
        """The derivation's own log: which rule was applied to which equation, and what came out."""
        return [
            Rule(
                entry.vector,
                f"{entry.vector} = {entry.equation}",
                entry.rule,
                str(entry.differential),
                str(entry.result),
            )
            for entry in self._jacobian.log
        ]

    def explain(self) -> str:
        """Return the derivation step by step, as text."""
        derived = self._jacobian
        lines = [f"the change of each vector, from {derived.input} on, in the order in which they are computed:"]
        for count, (rule, equation, change, result) in enumerate(_steps(derived, UNICODE), 1):
            lines += ["", f"{count}. {rule}", f"   {equation}", f"   {change}", f"   {result}"]
        return "\n".join(lines)

    def unicode(self) -> str:
        """Return the equation in Unicode, as in ``diag(1 − n²) U``."""
        return "\n".join(_equations(self._jacobian, UNICODE))

    def markdown(self, explain: bool = False) -> str:
        """Return the derivation as Markdown, with LaTeX in it."""
        return _markdown(self, explain)

    def html(self, explain: bool = False) -> str:
        """Return the derivation as a page of HTML, with MathML in it, that is well-formed XML."""
        return _html(self, explain)

    def numpy(self) -> str:
        """Return a NumPy function of the leaf arrays that returns the matrix."""
        from gatecalc.calculus.program import numpy_program

        return numpy_program(self._jacobian)

    def explicit(self, width: int) -> list[list[str]]:
        """Return the matrix written out by SymPy for vectors of ``width``, up to 3: an exact second opinion."""
        from gatecalc.calculus.explicit import explicit_jacobian

        return explicit_jacobian(self._jacobian, width)

    def compare_formula(self, source: Source) -> tuple[str, str, str | None, str]:
        """Judge a formula of a document: the verdict, how it is known, what should stand there, and why."""
        from gatecalc.calculus.grading import compare
        from gatecalc.language import parse
        from gatecalc.numbers.precise import ALGEBRA, ENCLOSURE

        found = compare(self._jacobian, parse(source), source)
        if found.correct:
            return (
                ("undecided", ENCLOSURE, None, found.note or "")
                if found.how == ENCLOSURE
                else ("exact", ALGEBRA, None, "")
            )
        sides = (("missing", found.missing), ("extra", found.extra))
        reason = "; ".join(f"{what} {', '.join(words)}" for what, words in sides if words)
        return "wrong", ALGEBRA, self.text, reason

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex}$"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Derivation(d {self.output} / d {self.input} = {self.text})"


def derive(
    cell: Cell | str, output: str, input: str, path: str = "local", steps: int = 1, check: bool = True
) -> Derivation:
    """Derive a vector of a cell by another one, or by a weight, and check the formula by number.

    Args:
        cell: A cell, its name, or the path of its file.
        output: The vector that changes, ``c``, ``h``, ``z``.
        input: What it is derived by: a previous state, ``x``, a gate, a bias or a weight.
        path: ``local`` holds the other previous states fixed; with ``total`` the input acts through them too.
        steps: How many steps.
        check: Whether to compare it with differences at 50 digits.

    Raises:
        GatecalcError: For a name that is not part of the cell, and for what has no derivative.

    >>> print(derive("lstm", "c", "c_prev"))
    diag(f)
    """
    return describe(jacobian(cell, output, input, path, steps), output, input, check)


def describe(derived: Jacobian, output: str, input: str, check: bool = True) -> Derivation:
    """Return a Jacobian as it is handed over."""
    checked = None
    if check:
        from gatecalc.calculus.differences import check as compare

        checked = compare(derived)
    try:
        words: list[str] | None = [str(word) for word in derived.paths()]
    except GatecalcError:
        words = None
    latex = _equations(derived, LATEX)
    where = [
        Where(reference, str(formula), line)
        for (reference, formula), line in zip(derived.named.items(), latex[1:], strict=True)
    ]
    notes = [derived.why_zero] if derived.why_zero else list(derived.kinks)
    if words is None:
        notes.append(f"it has more than {MAX_PATHS} paths, the limit, and is not multiplied out")
    return Derivation(
        cell=derived.cell.name,
        output=output,
        input=input,
        path=derived.path,
        steps=derived.steps,
        text=str(derived.formula),
        latex=latex[0],
        terms=words,
        where=where,
        gradient=str(gradient(derived)) if derived.by_weight and words is not None else None,
        layout=_layout(derived),
        notes=notes,
        check=checked,
        _jacobian=derived,
    )


def _layout(derived: Jacobian) -> str:
    if derived.by_weight:
        return (
            f"d{derived.input} is a change of {derived.input}, and the formula the change of {derived.output} from it"
        )
    rows, columns = derived.shape
    return f"J[i, j] = d {derived.output}[i] / d {derived.input}[j], {rows} by {columns}"


def gradient(derived: Jacobian) -> Tree:
    """Return the gradient by a weight: a word ``A @ dU @ v`` becomes ``A.T @ delta @ v.T``.

    >>> gradient(jacobian("lstm_projected", "h", "W_p"))
    Tree('delta @ m.T')
    """
    words = []
    change = name(str(derived.differential))
    written = terms(derived.formula)
    if not all(change in factors(_unsigned(term)) for term in written):  # the weight acts inside a sum, or a named part
        written = derived.paths()
    for term in written:
        sign, word = (True, term.args[0]) if term.op == "neg" else (False, term)
        back = _transposed(word, derived)
        words.append(Tree("neg", (back,)) if sign else back)
    return tidy(Tree("+", tuple(words))) if len(words) > 1 else tidy(words[0]) if words else ZERO


def _transposed(word: Tree, derived: Jacobian) -> Tree:
    *before, last = factors(word)
    if before and before[-1] == name(str(derived.differential)):
        return chain(*map(_transpose, reversed(before[:-1])), name("delta"), Tree("attribute", (last,), "T"))
    raise AssertionError(word)


def _unsigned(word: Tree) -> Tree:
    return word.args[0] if word.op == "neg" else word


def _transpose(factor: Tree) -> Tree:
    """Return the transpose of a factor; a diagonal matrix is its own."""
    if is_diag(factor) or factor == IDENTITY:
        return factor
    if factor.op == "neg":
        return Tree("neg", (_transpose(factor.args[0]),))
    return Tree("attribute", (factor,), "T")


# Printing.


def _notation(derived: Jacobian, style: Style) -> Notation:
    partials = {reference: (label, derived.input) for label, reference in derived.references.items()}
    return Notation(style, derived.cell.parameters, derived.steps, partials)


def _left(derived: Jacobian, notation: Notation, label: str) -> str:
    """Write what a formula is: a derivative, or the change of a vector with a weight."""
    if derived.by_weight:
        return notation.style.differential(notation.symbol(label))
    return notation.partial(label, derived.input)


def _equations(derived: Jacobian, style: Style) -> list[str]:
    """Return the equation, and those of its named parts."""
    notation = _notation(derived, style)
    lines = [(derived.output, derived.formula), *derived.where.items()]
    return [notation.equation(_left(derived, notation, label), formula) for label, formula in lines]


def _steps(derived: Jacobian, style: Style) -> list[tuple[str, str, str, str]]:
    """Return for each step of the derivation: the rule, the equation, the change of the vector, and its derivative."""
    notation = _notation(derived, style)
    found = []
    for entry in derived.log:
        vector = notation.symbol(entry.vector)
        equation = notation.equation(vector, entry.equation) if entry.vector.isidentifier() else vector
        change = notation.equation(style.differential(vector), entry.differential)
        result = notation.equation(_left(derived, notation, entry.vector), entry.result)
        found.append((entry.rule, equation, change, result))
    return found


def _markdown(derivation: Derivation, explain: bool) -> str:
    derived = derivation._jacobian
    main, *where = _equations(derived, LATEX)
    parts = [f"**{_title(derivation)}**", f"$$\n{main}\n$$"]
    if where:
        parts += ["where", *(f"$$\n{line}\n$$" for line in where)]
    if explain:
        parts += ["The equations, and the rule for each:", f"$$\n{cell_latex(derived.cell)}\n$$"]
        lines = []
        for count, (rule, equation, change, result) in enumerate(_steps(derived, LATEX), 1):
            lines.append(f"{count}. {rule}: ${equation}$, so ${change}$ and ${result}$")
        parts.append("\n".join(lines))
    parts.append("\n".join(f"- {note}" for note in remarks(derivation)))
    return "\n\n".join(parts)


def _html(derivation: Derivation, explain: bool) -> str:
    from html import escape

    derived = derivation._jacobian
    main, *where = _equations(derived, MATHML)
    title = escape(_title(derivation))
    body = [f"<h1>{title}</h1>", mathml(main)]
    if where:
        body += ["<p>where</p>", *map(mathml, where)]
    if explain:
        items = [
            f"<li><p>{escape(rule)}</p>{mathml(equation)}{mathml(change)}{mathml(result)}</li>"
            for rule, equation, change, result in _steps(derived, MATHML)
        ]
        body += ["<ol>", *items, "</ol>"]
    body += ["<ul>", *(f"<li>{escape(note)}</li>" for note in remarks(derivation)), "</ul>"]
    head = f'<head><meta charset="utf-8" /><title>{title}</title></head>'
    inner = "\n".join(body)
    page = f'<html xmlns="http://www.w3.org/1999/xhtml" lang="en">\n{head}\n<body>\n{inner}\n</body>\n</html>'
    return f"<!DOCTYPE html>\n{page}"


def _title(derivation: Derivation) -> str:
    derived = derivation._jacobian
    over = f", {derived.steps} steps" if derived.steps > 1 else ""
    return f"d {derived.output} / d {derived.input} of {derived.cell.name}, {derived.path} path{over}"


def remarks(derivation: Derivation) -> list[str]:
    """Return what is to be said beside a formula: its layout, its limits, and its check."""
    found = [derivation.layout, *derivation.notes]
    if derivation.gradient:
        found.append(f"gradient of a loss, delta being that by {derivation._jacobian.output}: {derivation.gradient}")
    if derivation.check:
        found.append(f"checked by {derivation.check.method}: largest error {derivation.check.max_error:.1e}")
    return found
