"""A training run: loss, gradient, step, until it has learned, as one reads it in a text.

``learned`` is the first pass, counted from 1, whose loss, looked at before that pass's step, is below the threshold.
Runs of several settings are made at once, each with weights and a rate of its own; one that has learned is taken out.
"""

from __future__ import annotations

import dataclasses
import json
import math
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gatecalc.cell import Cell
from gatecalc.cell import cell as find_cell
from gatecalc.errors import GatecalcError, Place, closest, integer, shorten, text
from gatecalc.files import check_writable
from gatecalc.networks import saved
from gatecalc.networks.initial import Numbers
from gatecalc.networks.initial import draw as draw_weights
from gatecalc.networks.layer import Array
from gatecalc.networks.network import Dropout, Network, finite
from gatecalc.networks.optimisers import OPTIMISERS
from gatecalc.networks.options import Options, check_options, split_options
from gatecalc.networks.tasks import LOSSES, Data, Task, draw, task

SMALL = 4096  # numbers of a state in all runs, up to which a step's calls cost more than their arithmetic

Progress = Callable[[int, float], None]


@dataclasses.dataclass
class Trained:
    """What came of a run.

    Attributes:
        learned: The first pass, from 1, whose loss was below the threshold; None if none was.
        passes: How many passes looked at the loss.
        loss: The loss at the last of them; None if the run diverged.
        weights: {name: number or nested list}, as they stood at that loss; None if the run diverged.
        first_gradient: The same for the gradient of the first pass, frozen weights too.
        diverged: The pass at which the loss was no longer a finite number; else None.
        interrupted: Whether it was stopped from outside.
        losses: The loss at each pass.
    """

    task: str
    cell: str
    length: int
    learned: int | None
    passes: int
    loss: float | None
    weights: dict[str, Any] | None
    first_gradient: dict[str, Any]
    diverged: int | None = None
    interrupted: bool = False
    how: str = "float64"
    losses: list[float] = dataclasses.field(default_factory=list, repr=False)

    def _asdict(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "losses"}


def _brief(value: Any) -> str:
    return repr(shorten(value) if isinstance(value, str) else value)


_FREE = ("passes", "threshold", "go_on")  # what may differ when a run goes on


class Trainer:
    """Runs of one task and cell with several settings at once.

    Args:
        length: Steps of every run.
        settings: For each run, {weight or ``rate``: value}.
        lengths: Steps of each run where they differ, of a task for which :func:`can_mix` says that they may.
    """

    def __init__(
        self,
        found: Task,
        cell: Cell,
        length: int,
        settings: Sequence[Mapping[str, Any]],
        options: Options,
        lengths: Sequence[int] | None = None,
    ) -> None:
        self.task, self.cell, self.length, self.options = found, cell, length, options
        self.settings = list(settings)
        self.lengths = [length] * len(self.settings) if lengths is None else list(lengths)
        check_options(options, self.settings)
        self.loss = LOSSES[found.loss]
        self.generator = np.random.default_rng(options.seed)
        self.data = draw(found, length, self.generator, options.text)
        if not found.sized:
            self.lengths = [self.data.x.shape[1]] * len(self.settings)
        self.running = list(range(len(settings)))
        self.passes = 0
        self.results: dict[int, Trained] = {}
        self.losses: list[list[float]] = [[] for _ in settings]
        self.first: list[dict[str, Any]] = []
        self._build(len(settings))
        self._start()
        self.watch: Callable[[Trainer], None] | None = None

    # The weights.

    def _build(self, count: int) -> None:
        """Make the network, the read-out and the optimiser for that many runs."""
        options, width = self.options, self.data.x.shape[0]
        self.network = Network(
            self.cell,
            width,
            options.hidden,
            options.projection,
            options.layers,
            options.bidirectional,
            options.dtype,
            count,
        )
        network, read = self.network, self.network.width * self.network.directions
        outputs = self.data.target.shape[0] if self.data.target is not None else read
        rows = outputs * (read + options.readout_bias) if self.task.readout else 0
        self.readout_values = np.zeros((count, rows), network.dtype)
        self.readout_gradients = np.zeros_like(self.readout_values)
        self.parameters = {name: value[None] if count == 1 else value for name, value in network.parameters.items()}
        self.gradients = {name: value[None] if count == 1 else value for name, value in network.gradients.items()}
        if self.task.readout:
            cut = outputs * read
            for target, source in ((self.parameters, self.readout_values), (self.gradients, self.readout_gradients)):
                target["V"] = source[:, :cut].reshape(count, outputs, read)
                if options.readout_bias:
                    target["b_V"] = source[:, cut:].reshape(count, outputs)
        self._lengths = self.data.lengths
        self._give()
        self._mix()
        self._dropout = Dropout(options.dropout, self.generator) if options.dropout else None
        self._states: Mapping[str, Array] | None = None
        rates = np.array([self.settings[run].get("rate", options.rate) for run in self.running], network.dtype)
        if options.optimiser not in OPTIMISERS:
            raise GatecalcError(
                f"name: unknown optimiser '{shorten(options.optimiser)}'{closest(options.optimiser, OPTIMISERS)}",
                help="known are " + ", ".join(OPTIMISERS),
            )
        arrays = [(network.values, network.all_gradients), (self.readout_values, self.readout_gradients)]
        self.optimiser = OPTIMISERS[options.optimiser](arrays, rates)

    def _start(self) -> None:
        """Draw and set the initial weights."""
        draw_weights(
            self.options.initial, self.parameters, self.options.hidden, Numbers(self.options.seed, self.options.rand)
        )
        for name in (*self.options.freeze, *(name for setting in self.settings for name in setting if name != "rate")):
            if name not in self.parameters:
                raise GatecalcError(
                    f"name: '{self.cell.name}' has no weight '{shorten(name)}'{closest(name, self.parameters)}",
                    help="it has " + ", ".join(self.parameters),
                )
        for run, setting in enumerate(self.settings):
            for name, value in setting.items():
                if name == "rate":
                    continue
                target, given = self.parameters[name][run], finite(value, f"'{name}'")
                if given.shape not in ((), target.shape):
                    raise GatecalcError(
                        f"shape: '{name}' is given as {given.shape}, and it is {target.shape}",
                        help="give a number, which fills it, or a nested list of that shape",
                    )
                target[...] = given

    # The data.

    def _give(self) -> None:
        """Hand the data to the network, (settings or 1, D, T, N)."""
        dtype = self.network.dtype
        self._x = np.asarray(self.data.x, dtype)[None]
        self._target = None if self.data.target is None else np.asarray(self.data.target, dtype)

    def _mix(self) -> None:
        """Give each run the data of its own length, followed by zeros: what comes after its last step is not read."""
        lengths = [self.lengths[run] for run in self.running]
        self._ends: tuple[Any, ...] | None = None
        if set(lengths) <= {self.length} or not self.task.sized:
            return
        network, count = self.network, len(lengths)
        drawn = {length: self._draw(length) for length in set(lengths)}
        sequences = self.data.x.shape[2]
        self._x = np.zeros((count, self.data.x.shape[0], max(lengths), sequences), network.dtype)
        for position, length in enumerate(lengths):
            self._x[position, :, :length] = drawn[length].x
        if self.data.target is not None:
            self._target = np.array([drawn[length].target for length in lengths], network.dtype)
        self._ends = np.arange(count), slice(None), np.array(lengths) - 1
        self._steps = tuple(sorted({length - 1 for length in lengths}))
        self._given = np.zeros((count, network.width, max(lengths), sequences), network.dtype)

    def _draw(self, length: int) -> Data:
        return draw(self.task, length, np.random.default_rng(self.options.seed), self.options.text)

    # One pass.

    def evaluate(self, windowed: slice | None = None) -> Array:
        """Compute the loss of each run, and all gradients."""
        network, loss = self.network, self.loss
        steps = slice(None) if windowed is None else windowed
        x, lengths = self._x[:, :, steps], self._lengths_in(windowed)
        outputs = network.run(x, self._states, lengths, self._dropout)
        target = self._target
        stateful = network.cell.states and network._weights[0].plan.output in network.cell.states
        if self.data.every:
            read = outputs.transpose(0, 2, 1, 3)  # (settings, T, width, N)
            target = None if target is None else target[:, steps]
        elif self._ends is not None:
            read = outputs[self._ends][:, None]
        else:
            read = self._last(outputs, bool(stateful))[:, None]
        y = read
        if self.task.readout:
            y = np.matmul(self.parameters["V"][:, None], read)
            if self.options.readout_bias:
                y = y + self.parameters["b_V"][:, None, :, None]
        y = y.transpose(0, 2, 1, 3)  # (settings, outputs, T or 1, N)
        wanted = target if target is None or self.data.every else target[..., None, :]
        value, gradient = loss.value(y, wanted), loss.gradient(y, wanted)
        weight, counted = self._weights_of_positions(value.shape[1:], lengths)
        value = np.add.reduce(value if weight is None else value * weight, axis=(1, 2)) / counted
        gradient = gradient * (weight / counted) if weight is not None else gradient / counted
        gradient = gradient.transpose(0, 2, 1, 3)
        back = gradient
        if self.task.readout:
            np.add.reduce(np.matmul(gradient, read.transpose(0, 1, 3, 2)), axis=1, out=self.gradients["V"])
            if self.options.readout_bias:
                self.gradients["b_V"][...] = gradient.sum(axis=(1, 3))
            back = np.matmul(self.parameters["V"][:, None].transpose(0, 1, 3, 2), gradient)
        if self.data.every:
            network.run_back(back.transpose(0, 2, 1, 3))
        elif self._ends is not None:
            self._given[self._ends] = back[:, 0]
            network.run_back(self._given, at=self._steps)
        elif stateful:
            network.run_back(None, {network._weights[0].plan.output: self._to_states(back[:, 0])})
        else:
            given = np.zeros_like(outputs)
            np.put_along_axis(given, self._last_steps(outputs), back[:, 0, :, None], 2)
            network.run_back(given)
        return np.asarray(value)

    def _lengths_in(self, window: slice | None) -> Array | None:
        """Return how many steps of a window each sequence has; None where all have all of them."""
        if self._lengths is None or window is None:
            return self._lengths
        inside: Array = np.clip(self._lengths - window.start, 0, window.stop - window.start)
        return inside

    def _share(self, window: slice | None) -> float:
        """Return the share of all positions that lie in a window."""
        if window is None:
            return 1.0
        own, lengths = self._lengths_in(window), self._lengths
        if own is None or lengths is None:
            return float((window.stop - window.start) / self._x.shape[2])
        return int(own.sum()) / int(lengths.sum())

    def _weights_of_positions(self, shape: tuple[int, ...], lengths: Array | None) -> tuple[Array | None, float]:
        """Return what counts of the positions (steps, sequences), and how many do: none after a sequence's end."""
        if lengths is None or not self.data.every:
            return None, float(shape[0] * shape[1])
        weight = (np.arange(shape[0])[:, None] < lengths).astype(self.network.dtype)
        return weight, float(weight.sum())

    def _last(self, outputs: Array, stateful: bool) -> Array:
        """Return the last output, (settings, width, N): that of each direction, at each sequence's own end."""
        if not stateful:
            return np.take_along_axis(outputs, self._last_steps(outputs), 2)[:, :, 0]
        network = self.network
        state = network._weights[0].plan.output
        last = [layer.state(state, layer.steps).transpose(1, 0, 2) for layer in network._layers[-network.directions :]]
        return last[0] if len(last) == 1 else np.concatenate(last, axis=1)

    def _last_steps(self, outputs: Array) -> Array:
        """Return the step at which each row of the outputs ends its direction's sequence, (S, width, 1, N)."""
        last = np.zeros((*outputs.shape[:2], 1, outputs.shape[3]), int)
        last[:, : self.network.width] = outputs.shape[2] - 1 if self._lengths is None else self._lengths - 1
        return last

    def _to_states(self, gradient: Array) -> Any:
        network = self.network
        below = [0] * (len(network._weights) - network.directions)
        parts = [gradient] if network.directions == 1 else np.split(gradient, network.directions, axis=1)
        return [*below, *(part.transpose(1, 0, 2) for part in parts)]

    def _windows(self) -> list[slice | None]:
        """Return the windows of truncated backpropagation."""
        size, steps = self.options.window, self._x.shape[2] if self._lengths is None else int(self._lengths.max())
        if size is None or size >= steps:
            return [None]
        if self.options.bidirectional:
            raise GatecalcError(
                "option: a window hands its last states to the next, and what reads from the end has none to hand",
                help="leave --window or --bidirectional out",
            )
        if not self.data.every:
            raise GatecalcError(
                f"option: '{self.task.name}' is read at its last step only, so that windows before it learn nothing",
                help="leave --window out",
            )
        return [slice(start, min(start + size, steps)) for start in range(0, steps, size)]

    def clip(self) -> None:
        """Bring the gradient down to the largest norm and the largest size of a number."""
        gradients = [self.network.all_gradients, self.readout_gradients]
        if self.options.clip_value is not None:
            for gradient in gradients:
                np.clip(gradient, -self.options.clip_value, self.options.clip_value, gradient)
        if self.options.clip_norm is not None:
            norm = np.sqrt(sum(np.square(gradient).sum(axis=1) for gradient in gradients))
            scale = np.minimum(1, self.options.clip_norm / np.maximum(norm, 1e-300))[:, None]
            for gradient in gradients:
                gradient *= scale

    # The run.

    def run(self, progress: Progress | None = None) -> list[Trained]:
        """Run until every setting has learned, diverged or used up its passes.

        Ctrl-C stops after the pass that is being made, with what there is: from weights half stepped no saved run could
        go on. A second Ctrl-C does not wait.
        """
        passes = self.task.passes if self.options.passes is None else self.options.passes
        with np.errstate(all="ignore"), _noted() as interrupts:
            while self.running and self.passes < passes and not interrupts:
                self._pass(last=self.passes + 1 == passes)
                try:
                    if progress is not None:
                        progress(self.passes, self.losses[self.running[0]][-1] if self.running else 0.0)
                except KeyboardInterrupt:
                    interrupts.append(signal.SIGINT)
        interrupted = bool(interrupts) and self.passes < passes
        for position, run in enumerate(self.running):
            if interrupted or run not in self.results:
                self.results[run] = self.result(run, position, interrupted=interrupted)
        return [self.results[run] for run in range(len(self.settings))]

    def _pass(self, last: bool) -> None:
        """Look at the loss; then make the step."""
        if self.passes and self.task.fresh:
            self.data = draw(self.task, self.length, self.generator, self.options.text)
            self._give()
        windows = self._windows()
        self._states, total = None, np.zeros(len(self.running))
        for number, window in enumerate(windows):
            if self._dropout is not None:
                self._dropout.renew()
            total += self._share(window) * self.evaluate(window)
            if not self.first:
                self.first = [self._named(self.gradients, position) for position in range(len(self.running))]
            if number < len(windows) - 1:
                self._carry()
                self._step()
        self.passes += 1
        values = total.tolist()
        for run, value in zip(self.running, values):
            self.losses[run].append(value)
        done = []
        for position, (run, value) in enumerate(zip(self.running, values)):
            diverged, learned = not math.isfinite(value), self.has_learned(run)
            if last or diverged or learned:
                self.results[run] = self.result(run, position, self.passes if diverged else None)
            if diverged or learned:
                done.append(position)
        if len(done) < len(self.running):
            self._step()  # after the last pass too, so that a saved run can go on
        if done:
            self._keep([position for position in range(len(self.running)) if position not in done])
        if self.watch is not None and self.running:
            self.watch(self)

    def has_learned(self, run: int) -> bool:
        """Tell whether a run is to stop, its loss being below the threshold."""
        stops = self.task.readout and not self.options.go_on
        return stops and bool(self.losses[run]) and self.losses[run][-1] < self.options.threshold

    def _step(self) -> None:
        for name in self.options.freeze:
            self.gradients[name][...] = 0
        if self.options.clip_norm is not None or self.options.clip_value is not None:
            self.clip()
        self.optimiser.step()

    def _carry(self) -> None:
        """Hand the last states to the next window, without their gradients."""
        layers = self.network._layers
        self._states = {
            state: np.stack([layer.state(state, layer.steps) for layer in layers]) for state in self.cell.states
        }

    def _keep(self, positions: list[int]) -> None:
        """Go on with some of the runs only."""
        values, readout = self.network.values[positions], self.readout_values[positions]
        steps, memory = self.optimiser.steps, self.optimiser.memory
        self.running = [self.running[position] for position in positions]
        if not positions:
            return
        self._build(len(positions))
        self.network.values[...] = values
        self.readout_values[...] = readout
        self.optimiser.steps = steps
        for own, old in zip(self.optimiser.memory, memory):
            for array, former in zip(own, old):
                array[...] = former[positions]

    # The run on disk.

    def save(self, path: str) -> None:
        """Write a run of one setting, from which :meth:`restore` goes on as if it had never stopped."""
        arrays = {
            "values": self.network.values,
            "readout": self.readout_values,
            "losses": np.array(self.losses[0]),
            "gradients": self.network.all_gradients,
            "readout_gradients": self.readout_gradients,
        }
        for position, memory in enumerate(self.optimiser.memory):
            arrays |= {f"memory_{position}_{number}": array for number, array in enumerate(memory)}
        state = {
            "steps": self.optimiser.steps,
            "random": self.generator.bit_generator.state,
            "first": self.first,
            "owed": bool(self.losses[0]) and not self.running,
        }
        saved.write(path, arrays, self._about() | state)

    def restore(self, path: str) -> None:
        """Put a new run where a saved one stopped.

        Raises:
            GatecalcError: For a file that is not a saved run, or that is the run of something else.
        """
        arrays, about = saved.read(path)
        own = self._about()
        own, former = own | own.pop("options"), about | about.pop("options", {})
        for key, value in own.items():
            if former.get(key) != value:
                raise GatecalcError(
                    f"file: the saved run has {key} {_brief(former.get(key))}, this one {_brief(value)}",
                    Place(path),
                    "go on with the options of the saved run",
                )
        try:
            self._restore(arrays, about)
        except (KeyError, ValueError, TypeError):
            raise GatecalcError(
                "file: the saved run is not whole", Place(path), "give a file as --save wrote it"
            ) from None

    def _restore(self, arrays: Mapping[str, Array], about: Mapping[str, Any]) -> None:
        self.network.values[...] = arrays["values"]
        self.readout_values[...] = arrays["readout"]
        self.network.all_gradients[...] = arrays["gradients"]
        self.readout_gradients[...] = arrays["readout_gradients"]
        self.losses[0] = arrays["losses"].tolist()
        self.passes = len(self.losses[0])
        self.first = about["first"]
        self.optimiser.steps = about["steps"]
        self.generator.bit_generator.state = about["random"]
        for position, memory in enumerate(self.optimiser.memory):
            for number, array in enumerate(memory):
                array[...] = arrays[f"memory_{position}_{number}"]
        diverged = bool(self.losses[0]) and not math.isfinite(self.losses[0][-1])
        if diverged or self.has_learned(0):
            self.results[0], self.running = self.result(0, 0, self.passes if diverged else None), []
        elif about["owed"]:  # it had learned, so that the step of its last pass was not made
            self._step()

    def _about(self) -> dict[str, Any]:
        """Return what a run is, as JSON gives it back."""
        options = {key: value for key, value in dataclasses.asdict(self.options).items() if key not in _FREE}
        options["rate"] = float(self.settings[0].get("rate", self.options.rate))
        about = {"task": self.task.name, "cell": str(self.cell), "length": self.length, "options": options}
        found: dict[str, Any] = json.loads(json.dumps(about))
        return found

    def _named(self, arrays: Mapping[str, Array], position: int) -> dict[str, Any]:
        """Return the weights of a run as numbers and nested lists; a matrix of one number is that number."""
        return {
            name: array[position].item() if array[position].size == 1 else array[position].tolist()
            for name, array in arrays.items()
        }

    def result(self, run: int, position: int, diverged: int | None = None, interrupted: bool = False) -> Trained:
        """Return what has come of a run so far."""
        losses = self.losses[run]
        learned = (
            next((number for number, value in enumerate(losses, 1) if value < self.options.threshold), None)
            if self.task.readout
            else None
        )
        return Trained(
            task=self.task.name,
            cell=self.cell.name,
            length=self.lengths[run],
            learned=learned,
            passes=self.passes,
            loss=None if diverged or not losses else losses[-1],
            weights=None if diverged else self._named(self.parameters, position),
            first_gradient=self.first[run] if self.first else {},
            diverged=diverged,
            interrupted=interrupted,
            how=str(self.network.dtype),
            losses=losses,
        )


@contextmanager
def _noted() -> Iterator[list[int]]:
    """Note a first Ctrl-C instead of raising it, where Python would raise it: in the main thread."""
    noted: list[int] = []

    def note(number: int, frame: Any) -> None:
        if noted:
            raise KeyboardInterrupt
        noted.append(number)

    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not usual or threading.current_thread() is not threading.main_thread():
        yield noted
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def can_mix(found: Task, lengths: Sequence[int], options: Options, count: int) -> bool:
    """Tell whether so many runs of different lengths are one batch, and soon done: small, and read at their ends alone.

    The calls of a step then serve all of them, and the steps are those of the longest instead of the sum of all.
    """
    plain = not (found.fresh or options.window or options.dropout or options.bidirectional) and options.layers == 1
    if not plain or len(set(lengths)) == 1:
        return plain
    drawn = [draw(found, length, np.random.default_rng(options.seed), options.text) for length in lengths]
    if any(data.every or data.lengths is not None for data in drawn):
        return False
    sequences = {data.x.shape[2] for data in drawn}
    return len(sequences) == 1 and options.hidden * max(sequences) * count <= SMALL


def train(
    task_name: str,
    cell: Cell | str = "lstm",
    length: int = 20,
    *,
    progress: Progress | None = None,
    save: str | None = None,
    resume: str | None = None,
    **values: Any,
) -> Trained:
    """Train a cell on a task.

    Args:
        task_name: A task's name, or the path of an ``.npz`` file with ``x`` (T, N, D) and ``y``.
        cell: A cell, its name, or the path of a ``.cell`` file.
        length: Steps of the task; a text and one's own data have a length of their own.
        progress: Called after each pass with its number and the loss.
        save: Where the run is written at its end, an ``.npz`` file.
        resume: Such a file, from which the run goes on.
        values: Fields of :class:`Options`, and initial weights by their names; what is not given is 0.

    Raises:
        GatecalcError: For an unknown task, weight or option, and for shapes that do not fit.

    >>> train("remember-first", "rnn", 5, W=0.5, U=0.5, V=0.5, rate=0.5).learned
    8
    """
    found_cell = find_cell(cell)
    options, weights = split_options(values)
    if save is not None:
        check_writable(text(save, "save"))
    if resume is not None:
        text(resume, "resume")
    trainer = Trainer(
        task(text(task_name, "the task"), options.loss), found_cell, integer(length, "the length"), [weights], options
    )
    if resume is not None:
        trainer.restore(resume)
    (result,) = trainer.run(progress)
    if save is not None:
        trainer.save(save)
    return result
