"""Pictures of a run: its loss, its gates over the passes, and the gradient's size by steps back."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from gatecalc.errors import GatecalcError, Place
from gatecalc.files import unwritable
from gatecalc.networks.training import Trained, Trainer

ENDINGS = (".png", ".svg", ".pdf")


class Watch:
    """Notes the mean of every gate at each pass, and at the first the gradient's size by steps back."""

    def __init__(self) -> None:
        self.gates: dict[str, list[float]] = {}
        self.sizes: list[float] = []

    def __call__(self, trainer: Trainer) -> None:
        layer = trainer.network._layers[0]
        for gate in trainer.cell.gates:
            formula, slot = trainer.cell.written[gate], layer.plan.places[gate]
            if formula.op == "call" and formula.value == "sigmoid" and slot.space == "now":
                mean = float(layer.arrays["now"][:-1, slot.start : slot.stop].mean())
                self.gates.setdefault(gate, []).append(mean)
        if not self.sizes:
            delta = layer.arrays["delta_panel"]
            self.sizes = np.sqrt(np.square(delta).sum(axis=(0, 1, 3)))[::-1].tolist()


def check(path: str) -> None:
    """Refuse, before a run, a picture that could not be drawn after it.

    Raises:
        GatecalcError: Without matplotlib, and for a file of another kind.
    """
    if find_spec("matplotlib") is None:
        raise GatecalcError(
            "option: --plot needs matplotlib, which is not installed", help="pip install 'gatecalc[plot]'"
        )
    if not path.lower().endswith(ENDINGS):
        raise GatecalcError(
            "file: it is no kind of picture", Place(path), "give a path that ends in .png, .svg or .pdf"
        )


def plot(run: Trained, watch: Watch, path: str) -> None:
    """Write the pictures to a file, its ending tells the format; a cell without gates has none of them.

    Raises:
        GatecalcError: Without matplotlib, and for a file that cannot be written.
    """
    check(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots(1, 3 if watch.gates else 2)
    axes[0].plot(range(1, len(run.losses) + 1), run.losses)
    axes[0].set(title=f"{run.task}, {run.cell}, length {run.length}", xlabel="pass", ylabel="loss", yscale="log")
    if watch.gates:
        for gate, means in watch.gates.items():
            axes[1].plot(range(1, len(means) + 1), means, label=gate)
        axes[1].set(title="gates, mean over steps", xlabel="pass", ylim=(0, 1))
        axes[1].legend()
    axes[-1].plot(range(len(watch.sizes)), watch.sizes, marker=".")
    axes[-1].set(title="gradient, first pass", xlabel="steps back", ylabel="norm")
    for each in axes:
        each.xaxis.get_major_locator().set_params(integer=True)
    if any(watch.sizes):
        axes[-1].set_yscale("log")
    try:
        figure.savefig(path)
    except OSError as error:
        raise unwritable(path, error) from None
