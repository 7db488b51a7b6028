"""Settings that a document does not state, found from the figures that it prints.

A pack's ``[unknown]`` table gives candidates for some of its names. The claims that depend on an unknown are what a
combination of candidates must reproduce; unknowns that share no claim are searched apart. The cheapest claims of the
fewest unknowns come first, and what fails one of them is left at once.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from gatecalc.checking.calculator import Scope
from gatecalc.checking.check import check_claim
from gatecalc.checking.claims import Claim, Pack, read_pack
from gatecalc.errors import GatecalcError, Place
from gatecalc.language import Source, parse
from gatecalc.numbers.verdictnames import PASSING
from gatecalc.record import Record

MAX_COMBINATIONS = 10**9


class Part(Record):
    """Where a combination parts from the document: what it prints, and what the combination gives."""

    id: str
    line: int | None
    states: str
    value: str | None


class Group(Record):
    """Unknowns that were searched together.

    Attributes:
        unknowns: Their names.
        claims: The ids of the claims that they must reproduce.
        tried: How many combinations were tried: all of them.
        found: The combinations that reproduce every claim, {name: candidate}.
        closest: If none does, one that reproduces most; else None.
        parts: The claims that the closest one fails.
    """

    unknowns: list[str]
    claims: list[str]
    tried: int
    found: list[dict[str, str]]
    closest: dict[str, str] | None
    parts: list[Part]


class Recovered(Record):
    """What was found for a pack."""

    pack: str
    groups: list[Group]


def recover(path: str, progress: Callable[[int, int], None] | None = None) -> Recovered:
    """Search a pack's unknowns.

    Args:
        path: The pack.
        progress: Called with how many combinations are done, and how many there are.

    Raises:
        GatecalcError: For a pack without unknowns, an unknown that no claim depends on, and too many combinations.
    """
    pack = read_pack(path)
    if not pack.unknown:
        raise GatecalcError(
            "key: the pack has no unknowns", Place(path), "write candidates under [unknown], as in rate = [0.1, 0.5]"
        )
    groups = list(_groups(pack))
    total = sum(math.prod(len(pack.unknown[name]) for name in names) for names, _ in groups)
    if total > MAX_COMBINATIONS:
        raise GatecalcError(
            f"limit: there are {total:,} combinations, {MAX_COMBINATIONS:,} at most",
            Place(path),
            "give fewer candidates",
        )
    done = 0

    def tick(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    return Recovered(path, [_Search(pack, names, claims, tick).run() for names, claims in groups])


def _groups(pack: Pack) -> Iterator[tuple[list[str], list[Claim]]]:
    """Yield the unknowns that share claims, with those claims; known errata are not to be reproduced."""
    needs = {claim.id: _unknowns(claim, pack) for claim in pack.claims if claim.expect is None}
    waiting = list(pack.unknown)
    while waiting:
        names, claims = {waiting[0]}, set[str]()
        while True:
            more = {id for id, unknowns in needs.items() if unknowns & names}
            if more == claims:
                break
            claims = more
            names |= set().union(*(needs[id] for id in claims))
        if not claims:
            raise GatecalcError(
                f"name: no claim depends on the unknown '{waiting[0]}'",
                Place(pack.path),
                "use it in a claim, or leave it out",
            )
        yield [name for name in waiting if name in names], [claim for claim in pack.claims if claim.id in claims]
        waiting = [name for name in waiting if name not in names]


def _names(claim: Claim, pack: Pack) -> list[str]:
    """Return the pack's names that a claim depends on, through definitions too; what is needed first comes last."""
    found: dict[str, None] = {}
    sources: list[Source] = [source for source in (claim.of, claim.printed, claim.holds) if source is not None]
    while sources:
        for name in parse(sources.pop()).names():
            if name not in found and name in pack.scope.formulas:
                found[name] = None
                sources.append(pack.scope.formulas[name])
    return list(found)


def _unknowns(claim: Claim, pack: Pack) -> set[str]:
    """Return the unknowns that a claim depends on."""
    return set(_names(claim, pack)) & set(pack.unknown)


def _costs(claims: list[Claim], pack: Pack) -> dict[str, float]:
    """Return how long each claim takes with all that it is defined by; each definition is computed once."""
    alone = pack._replace(scope=Scope(pack.scope.formulas, folder=pack.scope.folder))
    definitions: dict[str, float] = {}
    costs = {}
    for claim in claims:
        names = _names(claim, pack)
        for name in reversed(names):
            if name not in definitions:
                start = time.perf_counter()
                with suppress(GatecalcError):  # the claim itself will say what is wrong
                    alone.scope.lookup(name)
                definitions[name] = time.perf_counter() - start
        start = time.perf_counter()
        check_claim(claim, alone)
        costs[claim.id] = time.perf_counter() - start + sum(definitions[name] for name in names)
    return costs


class _Search:
    """One group: unknowns are set one after another, and each claim is checked as soon as all that it needs is set.

    A choice that fails a claim is left with all that would follow from it, so that every combination is decided, most
    of them many at a time. What was computed for a choice is kept for all that follow it.
    """

    def __init__(self, pack: Pack, names: list[str], claims: list[Claim], tick: Callable[[int], Any]) -> None:
        self.pack = pack
        self.tick = tick
        self.claims = claims
        needs = {claim.id: _unknowns(claim, pack) for claim in claims}
        costs = _costs(claims, pack)
        self.names: list[str] = []
        self.steps: list[list[Claim]] = []  # what to check once so many unknowns are set
        waiting = list(claims)
        while waiting:
            first = min(waiting, key=lambda claim: (len(needs[claim.id] - set(self.names)), costs[claim.id]))
            self.names += [name for name in names if name in needs[first.id] and name not in self.names]
            ready = [claim for claim in waiting if needs[claim.id] <= set(self.names)]
            while len(self.steps) < len(self.names):
                self.steps.append([])
            self.steps[-1] += sorted(ready, key=lambda claim: costs[claim.id])
            waiting = [claim for claim in waiting if claim not in ready]
        self.found: list[dict[str, str]] = []
        self.closest: tuple[int, dict[str, Source]] = (-1, {})

    def run(self) -> Group:
        """Decide every combination."""
        self.choose({}, self.pack.scope.with_values(), 0)
        parts = []
        if not self.found:
            best = self.tested(self.closest[1], Scope())
            parts = [_part(claim, best) for claim in self.claims if not _holds(claim, best)]
        tried = math.prod(len(self.pack.unknown[name]) for name in self.names)
        closest = None if self.found else _texts(self.closest[1])
        return Group(self.names, [claim.id for claim in self.claims], tried, self.found, closest, parts)

    def choose(self, chosen: dict[str, Source], scope: Scope, reproduced: int) -> None:
        """Go through the candidates of the next unknown."""
        depth = len(chosen)
        if depth == len(self.names):
            self.found.append(_texts(chosen))
            return
        below = math.prod(len(self.pack.unknown[name]) for name in self.names[depth + 1 :])
        for source in self.pack.unknown[self.names[depth]]:
            more = {**chosen, self.names[depth]: source}
            tested = self.tested(more, scope)
            holding = list(itertools.takewhile(partial(_holds, pack=tested), self.steps[depth]))
            count = reproduced + len(holding)
            if count > self.closest[0]:
                self.closest = count, more
            if len(holding) == len(self.steps[depth]):
                self.choose(more, tested.scope, count)
            else:
                self.tick(below)
            if depth == len(self.names) - 1 and len(holding) == len(self.steps[depth]):
                self.tick(1)

    def tested(self, chosen: Mapping[str, Source], before: Scope) -> Pack:
        """Return the pack with candidates in the place of its unknowns, and with what is already known of them."""
        scope = self.pack.scope
        known = {name: value for name, value in before.values.items() if name not in self.pack.unknown}
        return self.pack._replace(scope=Scope({**scope.formulas, **chosen}, known, scope.folder))


def _texts(chosen: Mapping[str, Source]) -> dict[str, str]:
    return {name: source.text for name, source in chosen.items()}


def _part(claim: Claim, pack: Pack) -> Part:
    """Return what a claim states, and what it is with the pack's settings; None where it cannot be computed."""
    try:
        value = check_claim(claim, pack).value
    except GatecalcError:
        value = None
    return Part(claim.id, claim.line, claim.states, value)


def _holds(claim: Claim, pack: Pack) -> bool:
    """Tell whether a claim is reproduced; candidates that it cannot be computed with do not."""
    try:
        return check_claim(claim, pack).verdict in PASSING
    except GatecalcError:
        return False
