"""A network of cells: layers, directions, sequences of different lengths; forward and backpropagation through time.

The passes of one layer are :mod:`gatecalc.networks.layer`'s, compiled from the cell's own equations and their
derivatives. Here layers are stacked, turned around, and checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from gatecalc.cell import Cell
from gatecalc.cell import cell as find_cell
from gatecalc.errors import GatecalcError, closest, shorten
from gatecalc.networks.layer import Array, Layer, Weights
from gatecalc.networks.plan import shortest_plan

MAX_NUMBERS = 2**27  # numbers kept for a pass, about 1 GB in float64
MAX_WEIGHTS = 2**26  # numbers of all weights, over all settings
MAX_LAYERS = 1_000
KEPT_SHAPES = 4  # (steps, sequences) whose arrays are kept


class Outputs(NamedTuple):
    """What a forward pass gives.

    Attributes:
        outputs: The last layer's output at every step, (T, N, width times directions); 0 after a sequence's end.
        states: {state: its last value}, (layers times directions, N, width); direction by direction inside a layer.
    """

    outputs: Array
    states: dict[str, Array]


class InputGradients(NamedTuple):
    """What a backward pass gives besides the gradients of the weights: of the inputs, and of the initial states."""

    inputs: Array
    states: dict[str, Array]


class Network:
    """Layers of one cell.

    Args:
        cell: A cell, its name, or the path of a ``.cell`` file.
        input: D, the width of the input.
        hidden: H.
        projection: P, for a cell that has one.
        layers: How many, one on the outputs of another.
        bidirectional: Whether each layer also reads its input from the end; the outputs stand side by side.
        dtype: ``"float64"`` or ``"float32"``.
        settings: How many independent networks are run at once, each with weights of its own.

    Attributes:
        parameters: {name: array}, (rows, columns) or (rows,), views that can be written to. ``W_f`` of the second layer
            is ``W_f_l1`` and of its second direction ``W_f_l1_reverse``. With more than one setting they have a leading
            axis, and so have inputs, outputs and states.
        gradients: The same for the gradients of the last backward pass.
        values: All parameters as one array, (settings, numbers).

    >>> network = Network("gru", input=3, hidden=4)
    >>> network.parameters["U_z"].shape
    (4, 4)
    """

    def __init__(
        self,
        cell: Cell | str,
        input: int,
        hidden: int,
        projection: int | None = None,
        layers: int = 1,
        bidirectional: bool = False,
        dtype: str = "float64",
        settings: int = 1,
    ) -> None:
        self.cell = find_cell(cell) if isinstance(cell, str) else cell
        self.input = _positive(input, "input")
        self.hidden = _positive(hidden, "hidden")
        self.layers = _positive(layers, "layers")
        self.settings = _positive(settings, "settings")
        self.directions = 2 if bidirectional else 1
        if dtype not in ("float32", "float64", np.float32, np.float64):
            raise GatecalcError(f"value: the dtype is '{shorten(str(dtype))}'", help="use float32 or float64")
        self.dtype = np.dtype(dtype)
        if self.layers > MAX_LAYERS:
            raise GatecalcError(f"limit: {self.layers:,} layers, and {MAX_LAYERS:,} at most", help="take fewer layers")
        widths = dict.fromkeys(self.cell.dimensions, self.hidden) | {"D": self.input}
        if "P" in widths:
            if projection is None:
                raise GatecalcError(
                    f"option: '{self.cell.name}' has a projection",
                    help="give its width, as in --projection 2, or projection=2 in Python",
                )
            widths["P"] = _positive(projection, "projection")
        elif projection is not None:
            raise GatecalcError(
                f"option: '{self.cell.name}' has no projection", help="leave it out, or use lstm_projected"
            )
        first = shortest_plan(self.cell, widths)
        self.width = first.width(first.output)
        if self.layers > 1 and not self.cell.inputs:
            raise GatecalcError(
                f"option: '{self.cell.name}' reads no input, so it cannot stand on another layer", help="take one layer"
            )
        later = shortest_plan(self.cell, widths | {"D": self.width * self.directions}) if self.layers > 1 else first
        plans = [first if layer == 0 else later for layer in range(self.layers) for _ in range(self.directions)]
        sizes = [Weights.size(plan) for plan in plans]
        if sum(sizes) * self.settings > MAX_WEIGHTS:
            raise GatecalcError(
                f"limit: the network has more than {MAX_WEIGHTS:,} weights",
                help="take smaller widths, or fewer settings",
            )
        self.values = np.zeros((self.settings, sum(sizes)), self.dtype)
        self.all_gradients = np.zeros_like(self.values)
        stops = np.cumsum(sizes)
        self._weights = [
            Weights(plan, self.values[:, stop - size : stop], self.all_gradients[:, stop - size : stop])
            for plan, size, stop in zip(plans, sizes, stops)
        ]
        self.parameters: dict[str, Array] = {}
        self.gradients: dict[str, Array] = {}
        for index, weights in enumerate(self._weights):
            suffix = self.suffix(index)
            for name in self.cell.parameters:
                self.parameters[name + suffix] = self._public(weights.named[name])
                self.gradients[name + suffix] = self._public(weights.gradients[name])
        self._kept: dict[tuple[int, int], list[Layer]] = {}

    def suffix(self, index: int) -> str:
        """Return what the names of a layer's direction end in: nothing, ``_reverse``, ``_l1``, ``_l1_reverse``."""
        layer, direction = divmod(index, self.directions)
        return (f"_l{layer}" if layer else "") + ("_reverse" if direction else "")

    def _public(self, array: Array) -> Array:
        return array[0] if self.settings == 1 else array

    def set(self, name: str, value: Any) -> None:
        """Set a parameter; a single number fills it.

        Raises:
            GatecalcError: For an unknown name, a shape that does not fit, and what is not finite.
        """
        if name not in self.parameters:
            raise GatecalcError(
                f"name: '{self.cell.name}' has no weight '{shorten(name)}'{closest(name, self.parameters)}",
                help="it has " + ", ".join(self.parameters),
            )
        target = self.parameters[name]
        given = finite(value, name)
        if given.shape not in ((), target.shape, target.shape[1:] if self.settings > 1 else ()):
            raise GatecalcError(
                f"shape: '{name}' is given as {given.shape}, and it is {target.shape}",
                help="give a number, or a nested list of that shape",
            )
        target[...] = given

    # The passes over the arrays of the layers, (settings, width, T, N).

    def arrays(self, steps: int, sequences: int) -> list[Layer]:
        """Return the layers with arrays for that many steps and sequences."""
        key = (steps, sequences)
        if key not in self._kept:
            kept = sum(
                (plan.sizes["now"] + plan.sizes["panel"] + plan.sizes["delta"])
                for plan in (w.plan for w in self._weights)
            )
            if kept * steps * sequences * self.settings > MAX_NUMBERS:
                raise GatecalcError(
                    f"limit: a pass over {steps} steps of {sequences} sequences keeps more than {MAX_NUMBERS} numbers",
                    help="use fewer or shorter sequences at a time",
                )
            if len(self._kept) >= KEPT_SHAPES:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = [Layer(weights, steps, sequences) for weights in self._weights]
        self._layers = self._kept[key]
        return self._layers

    def run(
        self,
        x: Array,
        initial: Mapping[str, Array] | None = None,
        lengths: Array | None = None,
        dropout: Dropout | None = None,
    ) -> Array:
        """Run all layers on ``x``, (settings or 1, D, T, N); return the outputs as a view of the same form."""
        layers = self.arrays(*x.shape[2:])
        self._lengths = None if lengths is None else np.broadcast_to(lengths, (self.settings, x.shape[3]))
        self._dropout = dropout
        below = x
        for first in range(0, len(layers), self.directions):
            if first and dropout is not None:
                below = below * dropout.mask(first, below.shape, self.dtype)
            for direction in range(self.directions):
                layer = layers[first + direction]
                layer.set_lengths(self._lengths)
                for place in layer.inputs:
                    self._turn(below, direction, place)
                    if self._lengths is not None:
                        np.copyto(place, 0, where=layer.arrays["ended"].transpose(1, 0, 2)[:, None])
                for state in self.cell.states:
                    layer.set_state(
                        state, 0 if initial is None or state not in initial else initial[state][first + direction]
                    )
                layer.forward()
            below = self._outputs(first)
        return below

    def _outputs(self, first: int) -> Array:
        """Return the outputs of a layer, its directions below one another."""
        if self.directions == 1:
            return self._layers[first].outputs
        forth, back = self._layers[first].outputs, self._layers[first + 1].outputs
        both = np.empty((forth.shape[0], 2 * self.width, *forth.shape[2:]), self.dtype)
        both[:, : self.width] = forth
        self._turn(back, 1, both[:, self.width :])
        return both

    def _turn(self, source: Array, direction: int, out: Array) -> None:
        """Copy, from the end of each sequence for the second direction."""
        if direction == 0:
            out[...] = source
        elif self._lengths is None:
            out[...] = source[:, :, ::-1]
        else:
            step = np.arange(source.shape[2])[None, :, None]
            length = self._lengths[:, None, :]
            index = np.where(step < length, length - 1 - step, step)[:, None]
            out[...] = np.take_along_axis(np.broadcast_to(source, out.shape), np.broadcast_to(index, out.shape), 2)

    def run_back(
        self,
        outputs: Array | None = None,
        states: Mapping[str, Array] | None = None,
        inputs: bool = False,
        at: tuple[int, ...] | None = None,
    ) -> Array | None:
        """Go back through all layers; the gradients of the weights are in ``gradients``.

        Args:
            outputs: The gradient of the outputs, in their form; None for zero.
            states: {state: gradient of its last value}, (layers times directions, width, settings, N).
            inputs: Whether the gradient of the inputs is returned.
            at: The steps at which the gradient of the outputs is not 0, of a network of one layer and direction.
        """
        layers = self._layers
        above = outputs
        for first in reversed(range(0, len(layers), self.directions)):
            below = None
            if first or inputs:
                layer = layers[first]
                shape = (
                    self.settings,
                    layer.plan.width("x") if self.cell.inputs else 0,
                    layer.steps,
                    layer.arrays["delta_panel"].shape[3],
                )
                below = np.zeros(shape, self.dtype)
            for direction in range(self.directions):
                layer = layers[first + direction]
                for state, gradient in layer.state_gradients.items():
                    gradient[...] = 0 if states is None or state not in states else states[state][first + direction]
                if above is not None:
                    own = (
                        above
                        if self.directions == 1
                        else above[:, direction * self.width : (direction + 1) * self.width]
                    )
                    self._turn(own, direction, layer.given)
                    if self._lengths is not None:
                        np.copyto(layer.given, 0, where=layer.arrays["ended"].transpose(1, 0, 2)[:, None])
                layer.backward(() if above is None else at or range(layer.steps))
                if below is not None and direction == 0:
                    layer.input_gradient(below)
                elif below is not None:
                    turned = np.zeros_like(below)
                    layer.input_gradient(turned)
                    again = np.empty_like(below)
                    self._turn(turned, 1, again)
                    below += again
            if first and self._dropout is not None:
                assert below is not None
                below *= self._dropout.mask(first, below.shape, self.dtype)
            above = below
        return above if inputs else None

    # The same for arrays as a user has them, (T, N, width).

    def forward(self, x: Any, initial: Mapping[str, Any] | None = None, lengths: Any = None) -> Outputs:
        """Run the network.

        Args:
            x: (T, N, D).
            initial: {state: (layers times directions, N, width)}; what is not given is 0.
            lengths: Of each sequence, N whole numbers from 1 to T; steps after it change nothing.

        Raises:
            GatecalcError: For shapes and lengths that do not fit, and for numbers that are not finite.
        """
        given = numbers(x, "the input", self.dtype)
        x = self._checked(given if lengths is None else np.nan_to_num(given), "the input", 3, (None, None, self.input))
        steps, sequences = x.shape[1:3]
        if lengths is not None:
            lengths = checked_lengths(lengths, steps, sequences, self.settings)
            read = (
                np.arange(steps)[:, None, None]
                < (lengths if given.ndim == 4 else lengths.max(axis=0))[..., None, :, None]
            )
            finite(np.where(read, given, 0), "the input")  # what stands behind a sequence's end is not read
        states = {
            name: self._checked(
                value, f"the initial '{name}'", 3, (len(self._weights), sequences, self._width_of(name))
            )
            for name, value in self._known(initial).items()
        }
        inside = {name: value.transpose(1, 3, 0, 2) for name, value in states.items()}
        outputs = self.run(x.transpose(0, 3, 1, 2), inside, lengths).transpose(0, 2, 3, 1).copy()
        if lengths is not None:
            outputs[np.arange(steps)[None, :, None] >= lengths[:, None, :]] = 0
        last = {
            name: np.stack([layer.state(name, steps).transpose(1, 2, 0) for layer in self._layers], axis=1)
            for name in self.cell.states
        }
        return Outputs(self._public(outputs), {name: self._public(value) for name, value in last.items()})

    def backward(self, outputs: Any = None, states: Mapping[str, Any] | None = None) -> InputGradients:
        """Go back through the last forward pass; fill ``gradients``.

        Args:
            outputs: The gradient of the outputs, (T, N, width times directions).
            states: {state: the gradient of its last value}, (layers times directions, N, width).
        """
        if not self._kept:
            raise GatecalcError("value: there is no forward pass to go back through", help="call forward first")
        steps, sequences = self._layers[0].steps, self._layers[0].arrays["delta_panel"].shape[3]
        shape = (steps, sequences, self.width * self.directions)
        given = (
            None
            if outputs is None
            else self._checked(outputs, "the gradient of the outputs", 3, shape).transpose(0, 3, 1, 2)
        )
        known = {
            name: self._checked(
                value, f"the gradient of '{name}'", 3, (len(self._weights), sequences, self._width_of(name))
            ).transpose(1, 3, 0, 2)
            for name, value in self._known(states).items()
        }
        below = self.run_back(given, known, inputs=True)
        assert below is not None
        first = {
            name: np.stack([layer.state_gradient(name).transpose(1, 2, 0) for layer in self._layers], axis=1)
            for name in self.cell.states
        }
        return InputGradients(
            self._public(below.transpose(0, 2, 3, 1)), {name: self._public(value) for name, value in first.items()}
        )

    def _width_of(self, state: str) -> int:
        return self._weights[0].plan.width(state)

    def _known(self, states: Mapping[str, Any] | None) -> Mapping[str, Any]:
        if states is not None and not isinstance(states, Mapping):
            raise GatecalcError(f"type: the states are {shorten(repr(states))}", help="give a dictionary, {'h': array}")
        for name in states or {}:
            if name not in self.cell.states:
                raise GatecalcError(
                    f"name: '{self.cell.name}' has no state '{shorten(name)}'{closest(name, self.cell.states)}",
                    help="it has " + ", ".join(self.cell.states),
                )
        return states or {}

    def _checked(self, value: Any, what: str, axes: int, shape: tuple[int | None, ...]) -> Array:
        """Return an array with a leading axis for the settings, its shape and numbers checked."""
        array = finite(value, what, self.dtype)
        if array.ndim == axes:
            array = array[None]
        fits = array.ndim == axes + 1 and array.shape[0] in (1, self.settings)
        if (
            not fits
            or any(size is not None and size != own for size, own in zip(shape, array.shape[1:]))
            or 0 in array.shape
        ):
            names = ("T", "N", "D")
            expected = ", ".join(names[axis] if size is None else str(size) for axis, size in enumerate(shape))
            raise GatecalcError(
                f"shape: {what} is {np.shape(value)}, and it should be ({expected})",
                help="axes are steps, sequences, width",
            )
        return array


class Dropout:
    """Masks between layers, drawn anew for each pass: what is kept is scaled, so that its mean stays.

    Settings that run at once have the same masks, as each would have alone.
    """

    def __init__(self, share: float, generator: np.random.Generator) -> None:
        if not 0 <= share < 1:
            raise GatecalcError(
                f"value: the dropout is {share}", help="give the share that is left out, from 0 to below 1"
            )
        self.share = share
        self.generator = generator
        self._masks: dict[int, Array] = {}

    def renew(self) -> None:
        """Draw new masks at the next pass."""
        self._masks.clear()

    def mask(self, layer: int, shape: tuple[int, ...], dtype: Any) -> Array:
        if layer not in self._masks:
            kept = self.generator.random((1, *shape[1:])) >= self.share
            self._masks[layer] = (kept / (1 - self.share)).astype(dtype)
        return self._masks[layer]


def numbers(value: Any, what: str, dtype: Any = np.float64) -> Array:
    """Return an array of numbers, finite or not, or refuse what is none."""
    try:
        array = np.asarray(value)
        if array.dtype.kind == "c":
            raise TypeError
        return array.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        raise GatecalcError(
            f"value: {what} is not an array of numbers",
            help="give a number, or a nested list whose rows are equally long",
        ) from None


def finite(value: Any, what: str, dtype: Any = np.float64) -> Array:
    """Return an array of finite numbers, or say where one is not."""
    array = numbers(value, what, dtype)
    if not np.isfinite(array).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        where = f" at {list(at)}" if at else ""
        raise GatecalcError(f"value: {what} is {array[at]}{where}", help="give finite numbers")
    return array


def _positive(value: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise GatecalcError(f"value: {what} is {value!r}", help="give a whole number from 1")
    return int(value)


def checked_lengths(lengths: Any, steps: int, sequences: int, settings: int = 1) -> Array:
    """Return the lengths of sequences for each setting, or say what does not fit."""
    array = np.asarray(lengths)
    if array.shape not in ((sequences,), (settings, sequences)) or array.dtype.kind not in "iu":
        raise GatecalcError(
            f"shape: the lengths are {array.shape} of {array.dtype}",
            help=f"give {sequences} whole numbers, one for each sequence",
        )
    if array.min() < 1 or array.max() > steps:
        raise GatecalcError(
            f"value: a length is {array.min() if array.min() < 1 else array.max()}",
            help=f"lengths are from 1 to {steps}",
        )
    return np.broadcast_to(array, (settings, sequences))
