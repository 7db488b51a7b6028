"""Initial weights: one row for each way to draw them, and where the random numbers come from."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gatecalc.errors import GatecalcError, closest
from gatecalc.networks.crand import library
from gatecalc.networks.layer import Array


class Numbers:
    """Uniform random numbers, from NumPy's generator or from the ``rand()`` of a C library."""

    def __init__(self, seed: int, rand: str | None = None) -> None:
        self._generator = np.random.default_rng(seed) if rand is None else None
        if rand is not None:
            found = library(rand)
            self._stream, self._rand_max = found.stream(seed), found.rand_max

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """Return numbers from 0 to 1, in the order of the rows."""
        if self._generator is not None:
            return self._generator.random(shape)
        return np.array([next(self._stream) / self._rand_max for _ in range(math.prod(shape))]).reshape(shape)

    def normal(self, shape: tuple[int, ...]) -> Array:
        """Return normal numbers (from a C library, by Box and Muller's transform of two uniform ones)."""
        if self._generator is not None:
            return self._generator.standard_normal(shape)
        first, second = np.maximum(self.uniform(shape), 1e-12), self.uniform(shape)
        result: Array = np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)
        return result


class Initial(NamedTuple):
    """A way to draw one weight.

    Attributes:
        name: How it is called.
        draw: (shape, hidden width, numbers) to an array.
        source: Where it is defined.
    """

    name: str
    draw: Callable[[tuple[int, ...], int, Numbers], Array]
    source: str


def _zeros(shape: tuple[int, ...], hidden: int, numbers: Numbers) -> Array:
    return np.zeros(shape)


def _symmetric(limit: float, shape: tuple[int, ...], numbers: Numbers) -> Array:
    result: Array = (2 * numbers.uniform(shape) - 1) * limit
    return result


def _orthogonal(shape: tuple[int, ...], hidden: int, numbers: Numbers) -> Array:
    """Return a matrix with orthonormal rows or columns; biases are 0."""
    if len(shape) < 2:
        return np.zeros(shape)
    rows, columns = shape
    square = numbers.normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(square)
    q = q * np.sign(np.diag(r))
    return q if rows >= columns else q.T


_ROWS = (
    Initial("zeros", _zeros, "every weight 0"),
    Initial(
        "uniform",
        lambda shape, hidden, numbers: _symmetric(1 / math.sqrt(hidden), shape, numbers),
        "PyTorch, torch/nn/modules/rnn.py, reset_parameters: from -1/sqrt(H) to 1/sqrt(H), biases too",
    ),
    Initial(
        "glorot",
        lambda shape, hidden, numbers: (
            _symmetric(math.sqrt(6 / sum(shape)), shape, numbers) if len(shape) == 2 else np.zeros(shape)
        ),
        "X. Glorot, Y. Bengio, AISTATS (2010), equation 16; biases 0",
    ),
    Initial("orthogonal", _orthogonal, "A. Saxe, J. McClelland, S. Ganguli, arXiv 1312.6120 (2013); biases 0"),
)

INITIAL: dict[str, Initial] = {}
for _row in _ROWS:
    if _row.name in INITIAL:
        raise ValueError(f"initial weights '{_row.name}' are defined twice")
    INITIAL[_row.name] = _row


def initial(name: str) -> Initial:
    """Return a way to draw weights by its name, or offer the closest."""
    if name not in INITIAL:
        raise GatecalcError(
            f"name: unknown initial weights '{name[:40]}'{closest(name, INITIAL)}",
            help="known are " + ", ".join(INITIAL),
        )
    return INITIAL[name]


def draw(name: str, parameters: dict[str, Any], hidden: int, numbers: Numbers) -> None:
    """Fill the parameters, in their order; settings that run at once start alike."""
    way = initial(name)
    for array in parameters.values():
        array[...] = way.draw(array.shape[1:], hidden, numbers)
