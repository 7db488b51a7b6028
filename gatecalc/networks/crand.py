"""The ``rand()`` of named C libraries: one row each, with the file that defines it.

A program that draws its numbers with ``srand(42)`` and ``rand()`` gives other results on another system. A row is a
generator of what ``rand()`` returns after ``srand(seed)``, and its ``RAND_MAX``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gatecalc.errors import GatecalcError, closest

Stream = Callable[[int], Iterator[int]]


class Library(NamedTuple):
    """One C library.

    Attributes:
        name: How it is called here.
        stream: The numbers of ``rand()`` after ``srand(seed)``.
        rand_max: Its ``RAND_MAX``.
        source: The file that defines it.
    """

    name: str
    stream: Stream
    rand_max: int
    source: str


def _congruential(multiplier: int, increment: int, bits: int, shift: int, mask: int, before: int = 0) -> Stream:
    """Return ``state = multiplier * state + increment`` modulo 2**bits; a number is ``state >> shift & mask``."""

    def stream(seed: int) -> Iterator[int]:
        state = (seed - before) % 2**32  # an unsigned int, whatever the state's own width
        while True:
            state = (multiplier * state + increment) % 2**bits
            yield state >> shift & mask

    return stream


def _park_miller(seed: int) -> Iterator[int]:
    """Return x = 16807 x modulo 2**31 - 1; a seed of 0 stands for 123459876."""
    state = seed % 2**32
    state = state - 2**32 if state >= 2**31 else state
    while True:
        state = state or 123459876
        high, low = int(state / 127773), state - int(state / 127773) * 127773  # C's division, towards zero
        state = 16807 * low - 2836 * high
        state += 0x7FFFFFFF if state < 0 else 0
        yield state


def _park_miller_shifted(seed: int) -> Iterator[int]:
    """Return the same with the range moved to 0 .. 2**31 - 3."""
    state = seed % 2**32
    while True:
        state = state % 0x7FFFFFFE + 1
        state = 16807 * state % 0x7FFFFFFF - 1
        yield state


def _additive_feedback(seed: int) -> Iterator[int]:
    """Return r[i] = r[i-3] + r[i-31] modulo 2**32, without its lowest bit; the first 310 are thrown away."""
    first = (seed % 2**32) or 1
    first = first - 2**32 if first >= 2**31 else first
    state = [first]
    for _ in range(30):
        high, low = int(state[-1] / 127773), state[-1] - int(state[-1] / 127773) * 127773
        word = 16807 * low - 2836 * high
        state.append(word + 0x7FFFFFFF if word < 0 else word)
    state = [word % 2**32 for word in state]
    index = 0
    while True:
        state[(index + 3) % 31] = (state[(index + 3) % 31] + state[index % 31]) % 2**32
        if index >= 310:
            yield state[(index + 3) % 31] >> 1
        index += 1


_ROWS = (
    Library(
        "glibc", _additive_feedback, 0x7FFFFFFF, "glibc, stdlib/random_r.c, TYPE_3 with degree 31 and separation 3"
    ),
    Library(
        "microsoft",
        _congruential(214013, 2531011, 32, 16, 0x7FFF),
        0x7FFF,
        "Microsoft Universal C Runtime, ucrt/misc/rand.cpp; also MinGW, and ReactOS sdk/lib/crt/stdlib/rand.c",
    ),
    Library(
        "macos",
        _park_miller,
        0x7FFFFFFF,
        "Apple Libc, stdlib/FreeBSD/rand.c; FreeBSD to version 9, lib/libc/stdlib/rand.c",
    ),
    Library("freebsd", _park_miller_shifted, 0x7FFFFFFD, "FreeBSD 10 to 12, lib/libc/stdlib/rand.c"),
    Library(
        "musl", _congruential(6364136223846793005, 1, 64, 33, 0x7FFFFFFF, before=1), 0x7FFFFFFF, "musl, src/prng/rand.c"
    ),
    Library(
        "newlib", _congruential(6364136223846793005, 1, 64, 32, 0x7FFFFFFF), 0x7FFFFFFF, "newlib, libc/stdlib/rand.c"
    ),
    Library(
        "c_standard", _congruential(1103515245, 12345, 32, 16, 0x7FFF), 0x7FFF, "ISO/IEC 9899:1999, 7.20.2, example"
    ),
    Library(
        "netbsd", _congruential(1103515245, 12345, 32, 0, 0x7FFFFFFF), 0x7FFFFFFF, "NetBSD, lib/libc/stdlib/rand.c"
    ),
)

LIBRARIES: dict[str, Library] = {}
for _row in _ROWS:
    if _row.name in LIBRARIES:
        raise ValueError(f"C library '{_row.name}' is defined twice")
    LIBRARIES[_row.name] = _row


def library(name: str) -> Library:
    """Return a C library by its name.

    Raises:
        GatecalcError: For an unknown one, with the closest.

    >>> next(library("microsoft").stream(42))
    175
    """
    if name not in LIBRARIES:
        raise GatecalcError(
            f"name: unknown C library '{name[:40]}'{closest(name, LIBRARIES)}", help="known are " + ", ".join(LIBRARIES)
        )
    return LIBRARIES[name]


def fractions(name: str, seed: int, count: int) -> npt.NDArray[np.float32]:
    """Return ``(float)rand() / RAND_MAX`` in single precision, as C divides it: both sides rounded to float first."""
    found = library(name)
    stream = found.stream(seed)
    drawn = np.array([next(stream) for _ in range(count)], np.int64).astype(np.float32)
    quotient: Any = drawn / np.float32(found.rand_max)
    return np.asarray(quotient, np.float32)
