"""Training steps against torch and against the bare matrix products, and the sweep of a document's table.

    python benchmarks/training.py [SECONDS] > benchmarks/results/training-DATE.md

Every row is measured in turn inside one process, one thread each, so that a busy machine slows all of them alike;
medians of what fits into SECONDS (3) for each row. A step is forward, loss and backward. The bare products are those
that a step cannot do without: one for each step forward, one for each step back, and one for the weights' gradient.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from datetime import date
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402
import torch  # noqa: E402

from gatecalc.networks.network import Network  # noqa: E402
from gatecalc.networks.options import Options  # noqa: E402
from gatecalc.networks.sweep import sweep  # noqa: E402

SHAPES = [(2, 40, 1, 1), (32, 50, 8, 16), (32, 50, 8, 64), (32, 100, 80, 256), (64, 100, 128, 512)]
CELLS = {"lstm": (torch.nn.LSTM, 4), "gru_reset_after": (torch.nn.GRU, 3), "rnn": (torch.nn.RNN, 1)}
TABLE = {"W_f": [0.5], "W_i": [0.5], "W_g": [0.5], "W_o": [0.5], "V": [0.5], "b_f": [0, 1, 2]}


def medians(calls: list[Callable[[], Any]], seconds: float) -> list[float]:
    """Return the median milliseconds of each call, all of them in turn."""
    times: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 5:
        for call, measured in zip(calls, times):
            start = time.perf_counter()
            call()
            measured.append(time.perf_counter() - start)
    return [1000 * statistics.median(measured) for measured in times]


def ours(cell: str, shape: tuple[int, ...], dtype: str, x: Any, target: Any) -> Callable[[], None]:
    """Return a step of gatecalc's network: half the squared distance of the last state from a target."""
    sequences, _, width, hidden = shape
    network = Network(cell, width, hidden, dtype=dtype)
    network.values[...] = np.random.default_rng(1).normal(0, hidden**-0.5, network.values.shape)
    inside, wanted = x.transpose(2, 0, 1)[None], target.T[None]

    def step() -> None:
        last = network.run(inside)[:, :, -1]
        network.run_back(None, {"h": ((last - wanted) / sequences).transpose(1, 0, 2)[None]})

    return step


def bare(gates: int, shape: tuple[int, ...], dtype: str) -> Callable[[], None]:
    """Return the matrix products alone."""
    sequences, steps, width, hidden = shape
    generator = np.random.default_rng(1)
    weights = generator.normal(size=(gates * hidden, hidden + width + 1)).astype(dtype)
    panel = generator.normal(size=(hidden + width + 1, steps, sequences)).astype(dtype)
    delta = generator.normal(size=(gates * hidden, steps, sequences)).astype(dtype)
    sums, back = np.empty((gates * hidden, sequences), dtype), np.empty((hidden, sequences), dtype)
    gradient, recurrent = np.empty_like(weights), weights[:, :hidden].T

    def products() -> None:
        for step in range(steps):
            np.matmul(weights, panel[:, step], sums)
        for step in range(steps):
            np.matmul(recurrent, delta[:, step], back)
        np.matmul(delta.reshape(len(delta), -1), panel.reshape(len(panel), -1).T, gradient)

    return products


def torchs(module: Any, shape: tuple[int, ...], dtype: str, x: Any, target: Any) -> Callable[[], None]:
    """Return the same step in torch."""
    network = module(shape[2], shape[3]).to(getattr(torch, dtype))
    inside, wanted = torch.tensor(x), torch.tensor(target)

    def step() -> None:
        network.zero_grad(set_to_none=True)
        outputs, _ = network(inside)
        (((outputs[-1] - wanted) ** 2).sum() / (2 * shape[0])).backward()

    return step


def torch_table() -> tuple[float, float]:
    """Return the seconds of the document's twelve runs as a loop over torch, from a few hundred of their passes.

    Once with every run stopped where it learns, and once with all 3,000 passes of each.
    """
    passes = {0: (97, 745, 3000, 3000), 1: (42, 64, 339, 3000), 2: (30, 27, 31, 73)}
    stopped = whole = 0.0
    for column, steps in enumerate((5, 10, 20, 40)):
        network, read = torch.nn.LSTM(1, 1).double(), torch.full((1,), 0.5, dtype=torch.float64, requires_grad=True)
        x = torch.zeros(steps, 2, 1, dtype=torch.float64)
        x[0, :, 0] = torch.tensor([1.0, -1.0])
        optimiser = torch.optim.SGD([*network.parameters(), read], 0.3)

        def step(network: Any = network, read: Any = read, x: Any = x, optimiser: Any = optimiser) -> None:
            optimiser.zero_grad()
            outputs, _ = network(x)
            ((read * outputs[-1] - x[0]) ** 2).mean().div(2).backward()
            optimiser.step()

        start, count = time.perf_counter(), 300
        for _ in range(count):
            step()
        each = (time.perf_counter() - start) / count
        stopped += each * sum(row[column] for row in passes.values())
        whole += each * 3000 * len(passes)
    return stopped, whole


def our_table(go_on: bool) -> tuple[float, list[int | None]]:
    """Return the seconds of the same runs in one sweep, and where they learned."""
    start = time.perf_counter()
    rows = sweep("remember-first", "lstm", [5, 10, 20, 40], TABLE, Options(rate=0.3, go_on=go_on)).rows
    return time.perf_counter() - start, [row[2] for row in rows]


def main(seconds: float = 3.0) -> None:
    """Print the tables."""
    torch.set_num_threads(1)
    print(f"# Training, {date.today()}\n")
    print(
        f"NumPy {np.__version__}, torch {torch.__version__}, one thread, medians in milliseconds, measured in turn.\n"
    )
    print("| cell | dtype | (N, T, D, H) | gatecalc | products | torch | to torch | to products |")
    print("|---|---|---|---|---|---|---|---|")
    for cell, (module, gates) in CELLS.items():
        for dtype in ("float32", "float64"):
            for shape in SHAPES:
                generator = np.random.default_rng(0)
                x = generator.normal(size=(shape[1], shape[0], shape[2])).astype(dtype)
                target = generator.normal(size=(shape[0], shape[3])).astype(dtype)
                calls = [
                    ours(cell, shape, dtype, x, target),
                    bare(gates, shape, dtype),
                    torchs(module, shape, dtype, x, target),
                ]
                own, least, other = medians(calls, seconds)
                figures = f"{own:.3g} | {least:.3g} | {other:.3g} | {own / other:.2f} | {own / least:.2f}"
                print(f"| {cell} | {dtype} | {shape} | {figures} |", flush=True)
    stopped, learned = our_table(go_on=False)
    whole, _ = our_table(go_on=True)
    torch_stopped, torch_whole = torch_table()
    print(f"\nThe table of twelve runs, which learned at {learned}, in one sweep and as loops over torch:\n")
    print("| | gatecalc, s | torch, s | ratio |\n|---|---|---|---|")
    print(f"| all 3,000 passes of each | {whole:.2f} | {torch_whole:.1f} | {torch_whole / whole:.0f} |")
    print(f"| each until it learns | {stopped:.2f} | {torch_stopped:.1f} | {torch_stopped / stopped:.0f} |")


if __name__ == "__main__":
    main(*(float(argument) for argument in sys.argv[1:2]))
