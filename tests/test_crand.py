"""The random numbers of C libraries."""

from __future__ import annotations

import ctypes
import ctypes.util
import shutil
import subprocess
from itertools import islice
from pathlib import Path

import pytest

from gatecalc.errors import GatecalcError
from gatecalc.networks.crand import LIBRARIES, library

SEEDS = (0, 1, 42, 71, 65_537, 2**31 - 1)


def rand(name: str, seed: int, count: int) -> list[int]:
    """Return the first numbers of a stream."""
    return list(islice(library(name).stream(seed), count))


# First numbers that others have printed or that the sources' own comments state.
PUBLISHED = [
    ("microsoft", 1, [41, 18467, 6334, 26500, 19169]),  # the best known start of rand() on Windows
    ("glibc", 1, [1804289383, 846930886, 1681692777, 1714636915, 1957747793]),  # and on Linux
    ("macos", 1, [16807, 282475249, 1622650073, 984943658, 1144108930]),  # Park and Miller 1988
    ("c_standard", 1, [16838, 5758, 10113, 17515, 31051]),
    ("freebsd", 1, [33613, 564950497, 1097816498, 1969887315, 140734212]),
]


@pytest.mark.parametrize("name, seed, numbers", PUBLISHED, ids=[row[0] for row in PUBLISHED])
def test_a_stream_begins_with_the_numbers_that_are_published(name: str, seed: int, numbers: list[int]) -> None:
    """As found in textbooks and in countless programs' outputs."""
    assert rand(name, seed, 5) == numbers


def test_minimal_standard_passes_the_check_of_its_authors() -> None:
    """Park and Miller: from seed 1, the 10,000th number is 1043618065."""
    assert rand("macos", 1, 10_000)[-1] == 1043618065


@pytest.mark.parametrize("seed", SEEDS)
def test_glibc_stream_is_that_of_the_library_itself(seed: int) -> None:
    """Where the tests run on glibc, its own rand() is asked."""
    path = ctypes.util.find_library("c")
    libc = ctypes.CDLL(path) if path else None
    if libc is None or not hasattr(libc, "gnu_get_libc_version"):
        pytest.skip("the C library here is not glibc")
    libc.srand(ctypes.c_uint(seed))
    assert rand("glibc", seed, 1000) == [libc.rand() for _ in range(1000)]


# The recurrences in C's own unsigned arithmetic, written from the sources' formulas.
IN_C = {
    "microsoft": ("unsigned s", "s = seed", "s = s*214013u + 2531011u", "(s >> 16) & 32767u"),
    "musl": ("unsigned long long s", "s = seed - 1u", "s = 6364136223846793005ULL*s + 1", "s >> 33"),
    "newlib": ("unsigned long long s", "s = seed", "s = 6364136223846793005ULL*s + 1", "(s >> 32) & 0x7fffffff"),
    "netbsd": ("unsigned long s", "s = seed", "s = s*1103515245 + 12345", "s % 2147483648u"),
    "c_standard": ("unsigned s", "s = seed", "s = s*1103515245u + 12345u", "s / 65536u % 32768u"),
}


@pytest.mark.parametrize("name", IN_C)
def test_linear_streams_are_those_of_the_recurrence_compiled(name: str, tmp_path: Path) -> None:
    """A C compiler's wrap-around arithmetic gives the same numbers."""
    if not shutil.which("gcc"):
        pytest.skip("no C compiler here")
    declare, first, next_, show = IN_C[name]
    seeds = ", ".join(f"{seed}u" for seed in SEEDS)
    (tmp_path / "stream.c").write_text(
        f"""#include <stdio.h>
int main(void) {{
    unsigned seeds[] = {{{seeds}}};
    for (int k = 0; k < {len(SEEDS)}; k++) {{
        unsigned seed = seeds[k];
        {declare}; {first};
        for (int i = 0; i < 200; i++) {{ {next_}; printf("%u ", (unsigned)({show})); }}
        printf("\\n");
    }}
}}"""
    )
    subprocess.run(["gcc", "-o", tmp_path / "stream", tmp_path / "stream.c"], check=True)
    lines = subprocess.run([tmp_path / "stream"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert [rand(name, seed, 200) for seed in SEEDS] == [list(map(int, line.split())) for line in lines]


@pytest.mark.parametrize("name", LIBRARIES)
def test_every_library_stays_within_its_rand_max_and_says_its_source(name: str) -> None:
    """A row is complete, and no number is above RAND_MAX."""
    row = library(name)
    assert row.source
    for seed in SEEDS:
        assert all(0 <= number <= row.rand_max for number in rand(name, seed, 2000))


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_stream_uses_the_whole_range(name: str) -> None:
    """The mean of many numbers is near half of RAND_MAX: the shift and the mask fit together."""
    numbers = rand(name, 42, 20_000)
    assert abs(sum(numbers) / len(numbers) / library(name).rand_max - 0.5) < 0.01


def test_an_unknown_library_is_refused_with_the_closest() -> None:
    """The message offers what may have been meant."""
    with pytest.raises(GatecalcError, match="unknown C library 'microsft'; did you mean 'microsoft'"):
        library("microsft")
