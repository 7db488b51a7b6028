"""Which numerals of a document are checked, given or labels, and which nobody has accounted for.

A claim accounts for the numerals of its ``states``, ``formula`` and ``printed`` on its own line, each as often as the
claim says (``times``). The rest is accounted for by the pack's ``[[numeral]]`` tables. A run of digits that has lost
its spaces is accounted for when such pieces, put together in order, spell it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from gatecalc.checking.claims import Claim, Declared, Pack
from gatecalc.checking.documents import Document, Numeral, runs
from gatecalc.errors import GatecalcError

CHECKED, GIVEN, LABEL = "checked", "given", "label"
MAX_STEPS = 100_000  # of the search for the pieces of one run


class Coverage(NamedTuple):
    """How the numerals of a document are accounted for.

    Attributes:
        numerals: How many there are; a run that has lost its spaces is one.
        checked: Those that claims account for.
        given: Those that the document gives.
        label: Labels, years, list numbers and the like.
        unaccounted: The rest, with their places.
        warnings: What may make the line numbers wrong.
        errors: What was wrong with packs that could not be read, and so account for nothing.
    """

    numerals: int
    checked: int
    given: int
    label: int
    unaccounted: list[Numeral]
    warnings: list[str]
    errors: list[GatecalcError]


def coverage(document: Document, packs: Iterable[Pack], errors: Iterable[GatecalcError] = ()) -> Coverage:
    """Account for the numerals of a document by the packs about it that could be read."""
    packs = list(packs)
    by_line: dict[int, list[Numeral]] = {}
    for numeral in document.numerals():
        by_line.setdefault(numeral.line, []).append(numeral)
    claimed: dict[int, list[str]] = {}
    for claim in (claim for pack in packs for claim in pack.claims):
        if claim.line:
            claimed.setdefault(claim.line, []).extend(_pieces(claim))
    declared = [entry for pack in packs for entry in pack.declared]
    counts: Counter[str] = Counter()
    unaccounted: list[Numeral] = []
    for line, numerals in by_line.items():
        text = document.lines[line - 1]
        for numeral, kind in _account(numerals, claimed.get(line, []), _declared_on(line, text, declared)):
            if kind is None:
                unaccounted.append(numeral)
            else:
                counts[kind] += 1
    total = sum(map(len, by_line.values()))
    return Coverage(
        total,
        counts[CHECKED],
        counts[GIVEN],
        counts[LABEL],
        unaccounted,
        _warnings(document, packs, total),
        list(errors),
    )


def _warnings(document: Document, packs: Iterable[Pack], count: int) -> list[str]:
    """Say which packs speak of another text, of lines that are not there, or of figures that are not on their line."""
    found = []
    for pack in packs:
        if pack.sha256 and pack.sha256.lower() != document.sha256:
            found.append(
                f"{pack.path}: its line numbers refer to another text: sha256 is not {document.sha256[:12]}..."
            )
        if pack.numerals and pack.numerals != count:
            found.append(f"{pack.path}: it speaks of {pack.numerals} numerals, and the document has {count}")
        beyond = [claim.line for claim in pack.claims if claim.line and claim.line > len(document.lines)]
        if beyond:
            found.append(f"{pack.path}: line {min(beyond)} is beyond the document's {len(document.lines)} lines")
        for claim in pack.claims:
            text = _key(document.lines[claim.line - 1]) if claim.line and claim.line <= len(document.lines) else None
            absent = [] if text is None else [key for key in _keys(claim.states) if claim.numerals and key not in text]
            if absent:
                found.append(f"{pack.path}:{claim.place.line}: '{claim.states}' does not stand on line {claim.line}")
    return found


def _pieces(claim: Claim) -> list[str]:
    """Return the numerals that a claim accounts for, in order, as often as it does."""
    printed = [] if claim.printed is None else _keys(claim.printed.text)
    stated = [] if claim.holds else _keys(claim.states)  # a condition is not in the document's words
    return (stated + printed) * claim.times


def _keys(text: str) -> list[str]:
    return [_key(piece) for piece, _ in runs(text)]


def _key(text: str) -> str:
    """Return a numeral's text as it is compared: thousands separators aside."""
    return re.sub(r",|\{,\}", "", text).replace("−", "-")


def _declared_on(line: int, text: str, declared: Iterable[Declared]) -> list[tuple[int, str]]:
    """Return the columns of a line at which a declared numeral starts, with its kind."""
    found = []
    for entry in declared:
        if entry.lines and not any(first <= line <= last for first, last in entry.lines):
            continue
        for piece in entry.texts:
            found += [(column, entry.kind) for column in _columns(piece, text)]
    return found


def _columns(piece: str, text: str) -> list[int]:
    """Return where numerals start in the places of a line that have the given text, ``#`` standing for a numeral."""
    numerals = {column: run for run, column in runs(text)}
    parts = [part for part in re.split(r"(#)", piece) if part]
    first = parts[0]
    starts = sorted(numerals) if first == "#" else [match.start() + 1 for match in re.finditer(re.escape(first), text)]
    columns: list[int] = []
    for start in starts:
        at = start
        for part in parts:
            if part == "#" and at in numerals:
                at += len(numerals[at])
            elif part != "#" and text.startswith(part, at - 1):
                at += len(part)
            else:
                break
        else:
            columns += [column for column in numerals if start <= column < at]
    return columns


def _account(
    numerals: list[Numeral], claimed: list[str], declared: list[tuple[int, str]]
) -> Iterable[tuple[Numeral, str | None]]:
    """Yield each numeral of a line with what accounts for it."""
    left = list(claimed)
    kinds: dict[Numeral, str | None] = dict.fromkeys(numerals)
    named = dict(declared)
    alone = [numeral for numeral in numerals if numeral.column not in named]  # only a claim can account for these
    for numeral in alone:
        if _key(numeral.text) in left:
            left.remove(_key(numeral.text))
            kinds[numeral] = CHECKED
    for numeral in alone:
        places = None if kinds[numeral] else _spell(_key(numeral.text), left)
        if places:
            left = [piece for place, piece in enumerate(left) if place not in places]
            kinds[numeral] = CHECKED
    for numeral in numerals:
        if numeral.column in named:
            claimed_too = _key(numeral.text) in left
            if claimed_too:
                left.remove(_key(numeral.text))
            kinds[numeral] = CHECKED if claimed_too else named[numeral.column]
    return kinds.items()


def _spell(run: str, pieces: list[str]) -> list[int] | None:
    """Return the places of pieces that spell a run of digits when they are put together in their order, or None."""
    dead: set[tuple[int, int]] = set()
    steps = 0

    def search(at: int, place: int) -> list[int] | None:
        """Spell the run from ``at`` by pieces from ``place``."""
        nonlocal steps
        if at == len(run):
            return []
        for next_place in range(place, len(pieces)):
            steps += 1
            if steps > MAX_STEPS:
                return None
            end = at + len(pieces[next_place])
            if run.startswith(pieces[next_place], at) and (end, next_place) not in dead:
                rest = search(end, next_place + 1)
                if rest is not None:
                    return [next_place, *rest]
                dead.add((end, next_place))
        return None

    return search(0, 0)
