"""A claim and its value make a finding: the verdict, the right figure, and how it is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from gatecalc.checking.calculator import Scope, as_value, attributes, calculate, condition
from gatecalc.checking.claims import NEVER, Claim, Pack, figures, find_packs, read_pack
from gatecalc.checking.functions import describe, real
from gatecalc.errors import GatecalcError, Undecided, closest, shorten, text
from gatecalc.language import Source, parse
from gatecalc.numbers.numeral import read_all
from gatecalc.numbers.precise import ALGEBRA, EXACT, Real
from gatecalc.numbers.verdictnames import PASSING, VERDICTS
from gatecalc.numbers.verdicts import Judgement, Never, difference, judge, worst
from gatecalc.report import checked_digits

MORE_DIGITS = 6  # that a value is shown with, beyond those of the figure


class Finding(NamedTuple):
    """The verdict on one claim.

    Attributes:
        pack: The path of the pack.
        id: The claim's.
        line: Where it stands in the document.
        states: As printed.
        verdict: One of :data:`gatecalc.numbers.verdictnames.VERDICTS`.
        value: What it is, to more digits than were printed; None when undecided.
        how: ``exact``, ``enclosure``, ``algebra``, ``float64`` or ``float32``; None when undecided.
        expect: The verdict that the pack expects of a known erratum.
        note: The pack's.
        of: The formula of the value, as the pack writes it.
        should: What should stand there, when something else should.
        reason: Why, where the verdict alone does not say; else None.
        pack_line: Where the claim stands in the pack.
    """

    pack: str
    id: str
    line: int | None
    states: str
    verdict: str
    value: str | None
    how: str | None
    expect: str | None
    note: str | None
    of: str
    should: str | None
    reason: str | None
    pack_line: int | None

    @property
    def as_expected(self) -> bool:
        """Whether nobody needs to look at it."""
        return self.verdict == self.expect if self.expect else self.verdict in PASSING

    @property
    def is_erratum(self) -> bool:
        """Whether it is a known mistake of the document that is still there."""
        return self.expect is not None and self.expect not in PASSING and self.verdict == self.expect


class Report(NamedTuple):
    """The findings on some packs, and the errors of those that could not be checked."""

    claims: list[Finding]
    errors: list[GatecalcError]

    @property
    def summary(self) -> dict[str, int]:
        """Counts: claims, each verdict, and errata, which are in no other count but claims."""
        rest = [finding for finding in self.claims if not finding.is_erratum]
        counts = {verdict: sum(finding.verdict == verdict for finding in rest) for verdict in VERDICTS}
        return {"claims": len(self.claims), **counts, "errata": len(self.claims) - len(rest)}

    def failures(self, allow_undecided: bool = False) -> list[Finding]:
        """Return the findings that a human must look at."""
        return [
            finding
            for finding in self.claims
            if not finding.as_expected
            and not (allow_undecided and finding.verdict == "undecided" and not finding.expect)
        ]


def check(
    *paths: str, jobs: int = 1, only: str | None = None, progress: Callable[[int, int], None] | None = None
) -> Report:
    """Check the claims of packs, or of all packs in folders.

    Args:
        paths: Files and folders.
        jobs: How many packs to check at the same time.
        only: The id of the one claim to check, of those in the packs.
        progress: Called with how many packs are done, and how many there are.

    Raises:
        GatecalcError: For folders without packs, where there is nothing else to check. What is wrong with one of
            several paths, or with one pack, is in the report's ``errors``.
    """
    packs, errors = find_packs([text(path, "the path") for path in paths])
    findings: list[Finding] = []
    for done, result in enumerate(_each(packs, jobs, only), start=1):
        if isinstance(result, GatecalcError):
            errors.append(result)
        else:
            findings += result
        if progress:
            progress(done, len(packs))
    return Report(findings, errors)


def _each(packs: Sequence[str], jobs: int, only: str | None) -> Iterable[list[Finding] | GatecalcError]:
    check_path = partial(_check_path, only=only)
    if jobs <= 1 or len(packs) <= 1:
        yield from map(check_path, packs)
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(min(jobs, len(packs))) as pool:
        yield from pool.map(check_path, packs)


def _check_path(path: str, only: str | None = None) -> list[Finding] | GatecalcError:
    try:
        pack = read_pack(path)
        if only is not None:
            ids = [claim.id for claim in pack.claims]
            if only not in ids:
                raise GatecalcError(
                    f"{path}: name: no claim '{shorten(only)}'{closest(only, ids)}", help="'-v' shows the ids of a pack"
                )
            pack = pack._replace(claims=tuple(claim for claim in pack.claims if claim.id == only))
        return check_pack(pack)
    except GatecalcError as error:
        return error


def check_pack(pack: Pack) -> list[Finding]:
    """Return the findings on a pack's claims, in its order."""
    return [check_claim(claim, pack) for claim in pack.claims]


def check_claim(claim: Claim, pack: Pack) -> Finding:
    """Return the finding on one claim; a claim that reaches a limit is undecided."""
    value: Any = None
    try:
        if claim.holds is not None:
            judgement = _condition(claim.holds, pack.scope)
            value = judgement.verdict == EXACT
        else:
            value = _value(claim, pack.scope)
            if claim.formula is not None:
                judgement = _formulas(claim.formula, value)
            else:
                judgement = _figures(claim, value, pack.scope)
    except Undecided as undecided:
        judgement = Judgement("undecided", EXACT, None, undecided.message)
    except GatecalcError as error:
        raise error.at(claim.place) from None
    return Finding(
        pack=pack.path,
        id=claim.id,
        line=claim.line,
        states=claim.states,
        verdict=judgement.verdict,
        value=None if judgement.verdict == "undecided" else _shown(value, _digits(claim)),
        how=None if judgement.verdict == "undecided" else judgement.how,
        expect=claim.expect,
        note=claim.note,
        of=_of(claim),
        should=judgement.should,
        reason=judgement.reason or None,
        pack_line=claim.place.line,
    )


def _shown(value: Any, digits: int) -> str | None:
    """Write a value for a report; a verdict stands even where its digits cannot be settled."""
    try:
        return show(value, digits)
    except GatecalcError:
        return None


def _of(claim: Claim) -> str:
    text = " ".join((claim.holds or claim.of or Source("")).text.split())
    if claim.cell is None:
        return text
    names = f"row {claim.cell.row_name.text}, column {claim.cell.column_name}"
    return f"{text} at {names}"


def _digits(claim: Claim) -> int:
    return max((numeral.decimals for numeral in claim.numerals), default=0) + MORE_DIGITS


def _value(claim: Claim, scope: Scope) -> Any:
    assert claim.of is not None
    cell = claim.cell
    if cell is None:
        return calculate(claim.of, scope)
    if {"row", "column"} & set(parse(claim.of).names()):
        column: Any = cell.column_name
        if re.fullmatch(r"-?\d+(\.\d+)?", column):
            column = calculate(column)
        return calculate(claim.of, scope.with_values(row=calculate(cell.row_name, scope), column=column))
    owner = calculate(claim.of, scope)
    if isinstance(owner, list):
        index = cell.column - 1
        if any(isinstance(item, list) for item in owner):
            owner = owner[cell.row - 1] if cell.row <= len(owner) else []
        elif cell.row > 1:  # a plain list is one row, or one column
            owner, index = (owner, cell.row - 1) if cell.column == 1 else ([], 0)
    elif cell.column_name in attributes(owner):
        owner = as_value(getattr(owner, cell.column_name))
        index = cell.row - 1 + getattr(owner, "first", 0)
    else:
        raise GatecalcError(
            f"name: {describe(owner)} has no '{shorten(cell.column_name)}'",
            help="'of' is an object with the columns as attributes, a list of rows, or a formula in row and column",
        )
    try:
        return as_value(owner[index])
    except (IndexError, KeyError, TypeError):
        raise GatecalcError(
            f"shape: the value has no row {cell.row}, column {cell.column_name}",
            help="'of' is an object with the columns as attributes, a list of rows, or a formula in row and column",
        ) from None


def _condition(source: Source, scope: Scope) -> Judgement:
    """Judge a condition: ``exact`` when it holds, ``wrong`` when it does not."""
    holds, how = condition(source, scope)
    return Judgement(EXACT if holds else "wrong", how, None, "" if holds else "the condition does not hold")


def _figures(claim: Claim, value: Any, scope: Scope) -> Judgement:
    """Judge the printed figures of a claim, or "never", against its value, or against the items of its value."""
    if value is None or isinstance(value, Never) or not claim.numerals:
        how = getattr(value, "how", EXACT)
        there_is_none = value is None or isinstance(value, Never)
        if there_is_none != bool(claim.numerals):
            return Judgement(EXACT, how)
        return Judgement("wrong", how, NEVER if there_is_none else show(value, MORE_DIGITS))
    printed = calculate(claim.printed, scope) if claim.printed is not None else None
    values = _flat(value)
    operands = _flat(printed) if printed is not None else [None] * len(values)
    numerals = claim.numerals
    if len(numerals) != len(values):
        numerals = tuple(read_all(claim.states, separate=True))
    if not len(numerals) == len(values) == len(operands):
        raise GatecalcError(
            f"shape: '{shorten(claim.states)}' has {len(numerals)} figures for a value that has {len(values)}",
            help="state them as '[1.0, 0.4]' or '20 × 3'",
        )
    judgements = [
        judge(numeral, real(item, "the value"), None if operand is None else real(operand, "'printed'"))
        for numeral, item, operand in zip(numerals, values, operands, strict=True)
    ]
    verdict = worst(judgements)
    if len(judgements) > 1 and any(judgement.should for judgement in judgements):
        right = [j.should or numeral.text for j, numeral in zip(judgements, numerals, strict=True)]
        verdict = verdict._replace(should=f"[{', '.join(right)}]")
    return verdict


def _flat(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [item for entry in value for item in _flat(entry)]
    return [value]


def _formulas(formula: Source, value: Any) -> Judgement:
    """Judge a formula of the document against the formula that it claims to be, for every value of its symbols."""
    if hasattr(value, "compare_formula"):  # a derivative knows how to compare itself
        return Judgement(*value.compare_formula(formula))
    stated = calculate(formula, Scope(free=True))
    found = difference(real(stated, "the formula"), real(value, "the value"))
    if found is None:
        return Judgement(EXACT, ALGEBRA)
    return Judgement("wrong", ALGEBRA, show(value, MORE_DIGITS), found)


def show(value: Any, digits: int) -> str | None:
    """Write a value for a report."""
    if isinstance(value, Real):
        return value.text() if value.symbols else value.display(digits)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(str(show(item, digits)) for item in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else shorten(str(value), 200)


class Value(NamedTuple):
    """What the calculator found: the proved digits, and the verdict on a printed figure if there is one."""

    value: str | None
    verdict: str | None = None
    how: str | None = None
    should: str | None = None
    reason: str | None = None


def value(expression: str, states: str | None = None, digits: int = 6) -> Value:
    """Evaluate a formula, with every digit proved, and judge a figure that is printed for it.

    Args:
        expression: In the language of claims.
        states: A printed figure.
        digits: After the point; numbers below 0.001 or very large ones get that many significant digits.

    Raises:
        GatecalcError: With the place of what cannot be used.

    >>> value("sigmoid(3)**20", states="0.3784")
    Value(value='0.378421', verdict='rounded', how='enclosure', should=None, reason=None)
    """
    source = Source(text(expression, "the formula"), "<formula>")
    if states is not None:
        text(states, "the figure")
    checked_digits(digits)
    try:
        result = calculate(source)
        if states is None:
            return Value(show(result, digits), None, _known(result))
    except Undecided as undecided:
        return Value(None, "undecided", None, None, undecided.message)
    claim = Claim("value", None, states, figures(states), None, None, None, None, None, None, 1, _NOWHERE)
    judgement = _figures(claim, result, Scope())
    how = None if judgement.verdict == "undecided" else judgement.how
    return Value(_shown(result, digits), judgement.verdict, how, judgement.should, judgement.reason or None)


_NOWHERE = Source("").place((1, 0))


def _known(result: Any) -> str:
    """Tell how the digits of a value are known."""
    if isinstance(result, Sequence) and not isinstance(result, str):
        return max((_known(item) for item in result), key=("exact", "algebra", "enclosure", "float64", "float32").index)
    if isinstance(result, Real) and result.how == EXACT and result.exact is None:
        return ALGEBRA if result.symbols else "enclosure"
    return result.how if isinstance(result, Real) else EXACT
