"""Settings that a document does not state, found from the figures that it prints.

A pack's ``[unknown]`` table gives candidates for some of its names. The claims that depend on an unknown are what a
combination of candidates must reproduce; unknowns that share no claim are searched apart. A combination is left at the
first claim that it fails, the cheapest claims first.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gatecalc.calculator import Scope
from gatecalc.check import check_claim
from gatecalc.claims import Claim, Pack, read_pack
from gatecalc.errors import GatecalcError, Place
from gatecalc.language import Source, parse
from gatecalc.record import Record
from gatecalc.verdicts import PASSING

MAX_COMBINATIONS = 1_000_000


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
    done = itertools.count(1)
    return Recovered(
        path,
        [_search(pack, names, claims, lambda: progress and progress(next(done), total)) for names, claims in groups],
    )


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


def _unknowns(claim: Claim, pack: Pack) -> set[str]:
    """Return the unknowns that a claim depends on, through definitions too."""
    found: set[str] = set()
    sources: list[Source] = [source for source in (claim.of, claim.printed, claim.holds) if source is not None]
    while sources:
        for name in parse(sources.pop()).names():
            if name not in found and name in pack.scope.formulas:
                found.add(name)
                sources.append(pack.scope.formulas[name])
    return found & set(pack.unknown)


def _search(pack: Pack, names: list[str], claims: list[Claim], tick: Callable[[], Any]) -> Group:
    """Try every combination of a group."""
    cost = {claim.id: _cost(claim, pack) for claim in claims}
    claims = sorted(claims, key=lambda claim: cost[claim.id])
    found: list[dict[str, str]] = []
    closest: tuple[int, dict[str, Source]] = (-1, {})
    tried = 0
    for values in itertools.product(*(pack.unknown[name] for name in names)):
        chosen = dict(zip(names, values))
        tried += 1
        tick()
        tested = _with(pack, chosen)
        reproduced = len(list(itertools.takewhile(lambda claim: _holds(claim, tested), claims)))  # noqa: B023
        if reproduced == len(claims):
            found.append(_texts(chosen))
        if reproduced > closest[0]:
            closest = reproduced, chosen
    parts = []
    if not found:
        best = _with(pack, closest[1])
        findings = [check_claim(claim, best) for claim in claims]
        parts = [Part(each.id, each.line, each.states, each.value) for each in findings if each.verdict not in PASSING]
    return Group(names, [claim.id for claim in claims], tried, found, None if found else _texts(closest[1]), parts)


def _texts(chosen: Mapping[str, Source]) -> dict[str, str]:
    return {name: source.text for name, source in chosen.items()}


def _holds(claim: Claim, pack: Pack) -> bool:
    """Tell whether a claim is reproduced; a run that gives no number does not."""
    return check_claim(claim, pack).verdict in PASSING


def _with(pack: Pack, chosen: Mapping[str, Source]) -> Pack:
    """Return the pack with candidates in the place of its unknowns."""
    return pack._replace(scope=Scope({**pack.scope.formulas, **chosen}, folder=pack.scope.folder))


def _cost(claim: Claim, pack: Pack) -> float:
    """Return how long a claim takes on its own."""
    alone = _with(pack, {})
    start = time.perf_counter()
    check_claim(claim, alone)
    return time.perf_counter() - start
