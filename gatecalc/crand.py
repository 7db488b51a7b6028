"""What ``rand()`` of a C library returns after ``srand(seed)``: one row each, with where it is written down.

A program that prints random numbers prints others on another system; a row says which. To add a library, add a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from gatecalc.errors import GatecalcError, closest, shorten

MAX_DRAWS = 10_000_000


class Library(NamedTuple):
    """A C library's ``rand()``.

    Attributes:
        name: As a claim calls it.
        title: Whose it is.
        rand_max: Its RAND_MAX.
        source: Where it is written down.
        numbers: The stream for a seed, without end.
    """

    name: str
    title: str
    rand_max: int
    source: str
    numbers: Callable[[int], Iterator[int]]


def _linear(
    multiplier: int, increment: int, modulus: int, shift: int, mask: int, first: Callable[[int], int] = int
) -> Callable[[int], Iterator[int]]:
    """Return the streams of ``state = (multiplier * state + increment) % modulus``, of which some bits are shown."""

    def numbers(seed: int) -> Iterator[int]:
        state = first(seed)
        while True:
            state = (multiplier * state + increment) % modulus
            yield state >> shift & mask

    return numbers


def _minimal(seed: int) -> Iterator[int]:
    """Park and Miller's minimal standard; 0, from which it would never move, is replaced."""
    state = seed
    while True:
        state = 16807 * (state or 123459876) % (2**31 - 1)
        yield state


def _minimal_shifted(seed: int) -> Iterator[int]:
    """The same on 1 to 2**31 - 2, shown from 0."""
    state = seed
    while True:
        state = 16807 * (state % (2**31 - 2) + 1) % (2**31 - 1) - 1
        yield state


def _additive(seed: int) -> Iterator[int]:
    """The sum of the numbers 3 and 31 steps before, without its last bit, after 310 that are thrown away."""
    table = [seed or 1]
    for _ in range(30):
        table.append(16807 * _signed(table[-1]) % (2**31 - 1))
    front, back = 3, 0
    drawn = 0
    while True:
        table[front] = (table[front] + table[back]) % 2**32
        number = table[front] >> 1
        front, back = (front + 1) % 31, (back + 1) % 31
        drawn += 1
        if drawn > 310:
            yield number


def _signed(word: int) -> int:
    return word - 2**32 if word >= 2**31 else word


_ROWS = (
    Library(
        "glibc",
        "GNU C library (Linux)",
        2**31 - 1,
        "glibc, stdlib/random_r.c, type 3: r[i] = r[i-3] + r[i-31]",
        _additive,
    ),
    Library(
        "microsoft",
        "Microsoft's C runtime (Visual C++, MinGW)",
        2**15 - 1,
        "Universal C Runtime, misc/rand.cpp; the same in ReactOS, sdk/lib/crt/stdlib/rand.c",
        _linear(214013, 2531011, 2**32, 16, 0x7FFF),
    ),
    Library(
        "macos",
        "macOS, and FreeBSD up to 9",
        2**31 - 1,
        "FreeBSD 9, lib/libc/stdlib/rand.c (Apple's Libc has the same): 16807 x mod 2**31 - 1",
        _minimal,
    ),
    Library(
        "freebsd-10",
        "FreeBSD 10 to 12",
        2**31 - 3,
        "FreeBSD 10.4, lib/libc/stdlib/rand.c: the minimal standard on a shifted range",
        _minimal_shifted,
    ),
    Library(
        "musl",
        "musl (Alpine Linux)",
        2**31 - 1,
        "musl, src/prng/rand.c",
        _linear(6364136223846793005, 1, 2**64, 33, 2**31 - 1, lambda seed: (seed - 1) % 2**32),
    ),
    Library(
        "newlib",
        "newlib (embedded systems, Cygwin)",
        2**31 - 1,
        "newlib, libc/stdlib/rand.c",
        _linear(6364136223846793005, 1, 2**64, 32, 2**31 - 1),
    ),
    Library(
        "netbsd",
        "NetBSD, and glibc's simplest generator",
        2**31 - 1,
        "NetBSD, lib/libc/stdlib/rand.c, version 1.6: 1103515245 x + 12345",
        _linear(1103515245, 12345, 2**64, 0, 2**31 - 1),
    ),
    Library(
        "iso-c",
        "The example in the C standard",
        2**15 - 1,
        "ISO/IEC 9899:1999, 7.20.2.2, example",
        _linear(1103515245, 12345, 2**32, 16, 0x7FFF),
    ),
)

LIBRARIES: dict[str, Library] = {row.name: row for row in _ROWS}
if len(LIBRARIES) < len(_ROWS):
    raise ValueError("a C library is in the table twice")


def library(name: str) -> Library:
    """Return a library's row by its name."""
    if name not in LIBRARIES:
        raise GatecalcError(
            f"name: unknown C library '{shorten(str(name))}'{closest(str(name), LIBRARIES)}",
            help=f"known: {', '.join(LIBRARIES)}",
        )
    return LIBRARIES[name]


def rand(name: str, seed: int, count: int) -> list[int]:
    """Return what ``rand()`` gives after ``srand(seed)``, so many times.

    Args:
        name: The library's.
        seed: As an unsigned int: 0 to 2**32 - 1.
        count: How many numbers.

    >>> rand("microsoft", 42, 3)
    [175, 400, 17869]
    """
    row = library(name)
    if not 0 <= seed < 2**32:
        raise GatecalcError(f"value: the seed is {seed}, and srand takes 0 to {2**32 - 1}")
    if not 0 <= count <= MAX_DRAWS:
        raise GatecalcError(f"limit: {count} numbers are more than {MAX_DRAWS:,}", help="draw fewer")
    return list(islice(row.numbers(seed), count))
