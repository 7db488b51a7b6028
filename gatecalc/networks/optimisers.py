"""How a gradient becomes a step; one class for each optimiser, and the table of their names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gatecalc.networks.layer import Array


class Optimiser:
    """Plain gradient descent; a subclass makes another step of the same gradient."""

    memories = 0  # arrays that it keeps for each array of weights

    def __init__(self, arrays: Sequence[tuple[Array, Array]], rate: Array) -> None:
        self.arrays = arrays
        self.rate = rate.reshape(-1, 1)
        self.steps = 0
        self.memory = [[np.zeros_like(values) for _ in range(self.memories)] for values, _ in arrays]
        self._scratch = [np.empty_like(values) for values, _ in arrays]

    def step(self) -> None:
        self.steps += 1
        for (values, gradient), memory, scratch in zip(self.arrays, self.memory, self._scratch):
            self.change(values, gradient, memory, scratch)

    def change(self, values: Array, gradient: Array, memory: list[Array], scratch: Array) -> None:
        np.multiply(gradient, self.rate, scratch)
        np.subtract(values, scratch, values)


class Momentum(Optimiser):
    """B. Polyak (1964), as in PyTorch's SGD: v = 0.9 v + gradient; the step is rate times v."""

    memories = 1

    def change(self, values: Array, gradient: Array, memory: list[Array], scratch: Array) -> None:
        np.multiply(memory[0], 0.9, memory[0])
        np.add(memory[0], gradient, memory[0])
        super().change(values, memory[0], memory, scratch)


class Adam(Optimiser):
    """D. Kingma, J. Ba, arXiv 1412.6980 (2014), algorithm 1, with 0.9, 0.999 and 1e-8."""

    memories = 2

    def change(self, values: Array, gradient: Array, memory: list[Array], scratch: Array) -> None:
        mean, square = memory
        np.multiply(mean, 0.9, mean)
        np.multiply(gradient, 0.1, scratch)
        np.add(mean, scratch, mean)
        np.multiply(square, 0.999, square)
        np.multiply(gradient, gradient, scratch)
        np.multiply(scratch, 0.001, scratch)
        np.add(square, scratch, square)
        np.divide(square, 1 - 0.999**self.steps, scratch)
        np.sqrt(scratch, scratch)
        np.add(scratch, 1e-8, scratch)
        np.divide(mean, scratch, scratch)
        np.multiply(scratch, self.rate / (1 - 0.9**self.steps), scratch)
        np.subtract(values, scratch, values)


OPTIMISERS: dict[str, type[Optimiser]] = {"descent": Optimiser, "momentum": Momentum, "adam": Adam}
