"""One layer in one direction: a plan's rows become arrays, its calls become ufunc calls on views of them.

Arrays are feature-major, (rows, settings, sequences), so that a vector is one block of memory; panels are (settings,
rows, steps, sequences), so that all steps of one row are the columns of one matrix. They are allocated once, and every
call's output is given: a pass allocates nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gatecalc.networks.arrays import Call, Slot
from gatecalc.networks.graph import ONES
from gatecalc.networks.plan import Matrix, Plan

Array = npt.NDArray[Any]
Ready = list[tuple[Callable[..., Any], tuple[Any, ...]]]
SMALL = 256  # numbers; a constant of that many is an array, which NumPy joins faster than a scalar
FACTOR_BYTES = 2**20  # of factors and the like computed at once: what stays in a core's second cache
# A ufunc copies rows shorter than its buffer (8,192 numbers) into it. To read them where they lie takes a third
# of that time, except for the shortest; so the buffer is made as small as NumPy allows.
BUFFER = 16
SHORT = 128  # numbers


class Weights:
    """A plan's parameters and their gradients: views of two flat arrays, (settings, numbers).

    The parts that are multiplied by one operand stand together in one matrix, which is what the product reads.
    """

    def __init__(self, plan: Plan, values: Array, gradients: Array) -> None:
        self.plan = plan
        self.matrices: list[Array] = []
        self.matrix_gradients: list[Array] = []
        settings, start = values.shape[0], 0
        for group in plan.groups:
            shape = (settings, group.rows.rows, group.columns.rows)
            stop = start + shape[1] * shape[2]
            self.matrices.append(values[:, start:stop].reshape(shape))
            self.matrix_gradients.append(gradients[:, start:stop].reshape(shape))
            start = stop
        leaf = plan.sizes["leaf"]
        self.leaf = values[:, start : start + leaf].T[:, :, None]  # (rows, settings, 1)
        self.leaf_gradient = gradients[:, start : start + leaf].T
        self.named = {name: self._view(name, self.matrices, self.leaf[:, :, 0]) for name in plan.cell.parameters}
        self.gradients = {
            name: self._view(name, self.matrix_gradients, self.leaf_gradient) for name in plan.cell.parameters
        }
        self._scaled = [
            np.empty_like(matrix) if set(group.scales) != {1.0} else matrix
            for matrix, group in zip(self.matrices, plan.groups)
        ]
        self._scales = [
            np.concatenate(
                [np.full(plan.width(each.name), scale) for each, scale in zip(group.sums, group.scales)]
            ).astype(values.dtype)[:, None]
            for group in plan.groups
        ]

    @staticmethod
    def size(plan: Plan) -> int:
        return sum(group.rows.rows * group.columns.rows for group in plan.groups) + plan.sizes["leaf"]

    def _view(self, name: str, matrices: list[Array], leaf: Array) -> Array:
        """Return a parameter as (settings, rows, columns) or (settings, rows)."""
        group, rows, columns = self.plan.parameters[name]
        if group is None or columns is None:
            return leaf[rows.start : rows.stop].T
        block = matrices[group][:, rows.start : rows.stop, columns.start : columns.stop]
        return block if len(self.plan.cell.parameters[name]) == 2 else block[:, :, 0]

    def refresh(self) -> None:
        """Bring the scaled copies up to date, after the weights have changed."""
        for matrix, scaled, scale in zip(self.matrices, self._scaled, self._scales):
            if scaled is not matrix:
                np.multiply(matrix, scale, scaled)

    def view(self, matrix: Matrix) -> Array:
        if matrix.back:
            return self.matrices[matrix.group][:, :, matrix.start : matrix.stop].transpose(0, 2, 1)
        return self._scaled[matrix.group][:, :, matrix.start : matrix.stop]


class Layer:
    """The arrays of a plan for a number of steps and sequences, and its passes over them.

    Args:
        weights: The parameters.
        steps: T.
        sequences: N, of each setting.
    """

    def __init__(self, weights: Weights, steps: int, sequences: int) -> None:
        plan = self.plan = weights.plan
        self.weights = weights
        self.steps = steps
        settings = weights.matrices[0].shape[0] if weights.matrices else weights.leaf.shape[1]
        dtype = weights.leaf.dtype
        self.dtype = dtype
        self.settings = settings
        self.sequences = sequences
        sizes = plan.sizes
        rest = (settings, sequences)
        self.chunk = max(
            1,
            min(
                steps, FACTOR_BYTES // max(1, dtype.itemsize * settings * sequences * (sizes["factor"] + sizes["now"]))
            ),
        )

        def panel(rows: int, more: int = 0) -> Array:
            return np.zeros((settings, rows, steps + more, sequences), dtype)

        self.arrays: dict[str, Array] = {
            "now": np.zeros((steps + 1, sizes["now"], *rest), dtype),
            "panel": panel(sizes["panel"], 1),
            "delta": np.zeros((self.chunk, sizes["delta"], *rest), dtype),
            "delta_panel": panel(sizes["delta"]),
            "factor": np.zeros((self.chunk, sizes["factor"], *rest), dtype),
            "factor_scratch": np.zeros((self.chunk, sizes["factor_scratch"], *rest), dtype),
            "leaf_delta": np.zeros((steps, sizes["leaf"], *rest), dtype),
            "adjoint": np.zeros((sizes["adjoint"], *rest), dtype),
            "scratch": np.zeros((sizes["scratch"], *rest), dtype),
            "back_scratch": np.zeros((sizes["back_scratch"], *rest), dtype),
            "given": panel(plan.width(plan.output)),
            "input_delta": panel(plan.width("x") if plan.cell.inputs else 0),
            "ended": np.zeros((steps, *rest), np.bool_),
            "last": np.zeros((steps, *rest), np.bool_),
        }
        for slot in plan.panel.get(ONES, ()):
            self.arrays["panel"][:, slot.start] = 1
        self.state_gradients = {state: np.zeros((plan.width(state), *rest), dtype) for state in plan.cell.states}
        self._forward: dict[bool, Ready] = {}
        self._backward: dict[tuple[bool, range | tuple[int, ...]], Ready] = {}

    # Inputs, states and outputs.

    @property
    def inputs(self) -> list[Array]:
        """Where the input is written: (settings, D, T, N), at each place that reads it."""
        return [self.arrays["panel"][:, slot.start : slot.stop, : self.steps] for slot in self.plan.panel.get("x", ())]

    @property
    def outputs(self) -> Array:
        """The output of every step, (settings, width, T, N)."""
        plan = self.plan
        later = plan.output in plan.cell.states
        slot = plan.panel[plan.output + "_prev" if later else plan.output][0]
        return (
            self.arrays["panel"][:, slot.start : slot.stop, 1:]
            if later
            else self.arrays["panel"][:, slot.start : slot.stop, : self.steps]
        )

    @property
    def given(self) -> Array:
        """Where the gradient of the outputs is written, (settings, width, T, N)."""
        return self.arrays["given"]

    def state(self, name: str, step: int) -> Array:
        """Return a view of a state before a step, (width, settings, N); that after the last is at ``steps``."""
        return self._by_rows(self.plan.state_places[name][0], step)

    def set_state(self, name: str, value: Any) -> None:
        """Set a state before the first step: 0, or (width, settings, N)."""
        for slot in self.plan.state_places[name]:
            self._by_rows(slot, 0)[...] = value

    def _by_rows(self, slot: Slot, step: int) -> Array:
        if slot.space == "now":
            return self.arrays["now"][step, slot.start : slot.stop]
        return self.arrays["panel"][:, slot.start : slot.stop, step].transpose(1, 0, 2)

    def state_gradient(self, name: str) -> Array:
        """Return the gradient of a state before the first step, once the backward pass has run."""
        slot = self.plan.state_adjoints[name]
        return self.arrays["adjoint"][slot.start : slot.stop]

    def set_lengths(self, lengths: Array | None) -> None:
        """Tell how many steps each sequence has, (settings, N); None for all of them."""
        self.ragged = lengths is not None
        if lengths is not None:
            step = np.arange(self.steps)[:, None, None]
            np.greater_equal(step, lengths, out=self.arrays["ended"])
            np.equal(step, lengths - 1, out=self.arrays["last"])

    ragged = False

    # The passes.

    def forward(self) -> None:
        """Compute every step from the inputs and the initial states."""
        if self.ragged not in self._forward:
            self._forward[self.ragged] = self._bind_forward()
        self.weights.refresh()
        for function, arguments in self._forward[self.ragged]:
            function(*arguments)

    def backward(self, external: range | tuple[int, ...]) -> None:
        """Compute the gradients of the weights and of the initial states.

        Args:
            external: The steps at which ``given`` holds a gradient of the output; the last states' is always read.
        """
        key = (self.ragged, external)
        if key not in self._backward:
            self._backward[key] = self._bind_backward(set(external))
        is_short = self.plan.width(self.plan.output) * self.settings * self.sequences < SHORT
        buffer = np.setbufsize(np.getbufsize() if is_short else BUFFER)
        try:
            for function, arguments in self._backward[key]:
                function(*arguments)
        finally:
            np.setbufsize(buffer)

    def input_gradient(self, out: Array) -> None:
        """Add the gradient of the inputs to ``out``, (settings, D, T, N)."""
        flat = (self.settings, -1, out.shape[2] * out.shape[3])
        for index, columns in self.plan.input_reads():
            group = self.plan.groups[index]
            matrix = self.weights.view(Matrix(index, columns.start, columns.stop, True))
            delta = self.arrays["delta_panel"][:, group.rows.start : group.rows.stop].reshape(flat)
            out += np.matmul(matrix, delta).reshape(out.shape)
        if self.plan.input_is_elementwise:
            out += self.arrays["input_delta"]

    # From calls to ufunc calls.

    def _bind_forward(self) -> Ready:
        ready: Ready = []
        for group in self.plan.before_loop:
            assert group.place is not None
            matrix = self.weights.view(Matrix(self.plan.groups.index(group), 0, group.columns.rows, False))
            panel = self.arrays["panel"][:, group.columns.start : group.columns.stop, : self.steps].transpose(
                2, 0, 1, 3
            )
            out = self.arrays["now"][: self.steps, group.place.start : group.place.stop].transpose(0, 2, 1, 3)
            ready.append(
                (np.matmul, (matrix[None], panel, out) if self.settings > 1 else (matrix[0], panel[:, 0], out[:, 0]))
            )
        for step in range(self.steps):
            ready += [self._ready(call, step) for call in self.plan.step]
            if self.ragged:
                mask = self.arrays["ended"][step]
                for state in self.plan.cell.states:
                    for slot in self.plan.state_places[state]:
                        ready.append((_keep, (self._by_rows(slot, step + 1), self._by_rows(slot, step), mask)))
        return ready

    def _bind_backward(self, external: set[int]) -> Ready:
        plan, arrays = self.plan, self.arrays
        ready: Ready = []
        for state, gradient in self.state_gradients.items():
            ready.append(
                (_fill, (self.state_gradient(state), 0))
                if self.ragged
                else (np.positive, (gradient, self.state_gradient(state)))
            )
        stop = self.steps
        while stop > 0:
            start = max(0, stop - self.chunk)
            ready += [self._ready_chunk(call, start, stop) for call in plan.factors]
            for step in reversed(range(start, stop)):
                if self.ragged:
                    for state, gradient in self.state_gradients.items():
                        ready.append((_add_where, (self.state_gradient(state), gradient, arrays["last"][step])))
                ready += [self._ready(call, step, start) for call in plan.back[step in external]]
            chunk = arrays["delta"][: stop - start].transpose(
                2, 1, 0, 3
            )  # of rows side by side, for the products below
            ready.append((np.copyto, (arrays["delta_panel"][:, :, start:stop], chunk)))
            stop = start
        for index, group in enumerate(plan.groups):
            flat = (self.settings, -1, self.steps * arrays["delta_panel"].shape[3])
            delta = arrays["delta_panel"][:, group.rows.start : group.rows.stop].reshape(flat)
            panel = arrays["panel"][:, group.columns.start : group.columns.stop].reshape(
                self.settings, group.columns.rows, -1
            )[:, :, : flat[2]]
            out = self.weights.matrix_gradients[index]
            views = (delta, panel.transpose(0, 2, 1), out)
            ready.append((np.matmul, tuple(view[0] for view in views) if self.settings == 1 else views))
        if plan.sizes["leaf"]:
            ready.append((_sum_leaf, (arrays["leaf_delta"], self.weights.leaf_gradient)))
        return ready

    def _ready(self, call: Call, step: int, first: int = 0) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return a step's call with its views."""
        if call.function is np.matmul:
            matrix, operand = call.args
            views = [
                self.weights.view(matrix),
                self._by_setting(operand, step, first),
                self._by_setting(call.out, step, first),
            ]
            return np.matmul, tuple(view[0] for view in views) if self.settings == 1 else tuple(views)
        return self._elementwise(call, lambda slot: self._at(slot, step, first), 0)

    def _ready_chunk(self, call: Call, start: int, stop: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return a call over many steps at once with its views, (steps, rows, ...)."""
        return self._elementwise(call, lambda slot: self._over(slot, start, stop), 1)

    def _elementwise(
        self, call: Call, view: Callable[[Slot], Array], axis: int
    ) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        slots = [*call.args, call.out]
        rows = min((slot.rows for slot in slots if isinstance(slot, Slot)), default=1)
        blocks = call.out.rows // rows if rows else 1
        arguments: list[Any] = []
        for slot in slots:
            if not isinstance(slot, Slot):
                arguments.append(None)
                continue
            array = view(slot)
            if self.settings == 1:
                array = array[:, 0] if axis == 0 else array[:, :, 0]
            if blocks > 1 and slot.rows != rows:
                array = array.reshape(*array.shape[:axis], blocks, rows, *array.shape[axis + 1 :])
            elif blocks > 1 and axis == 1:
                array = array[:, None]
            arguments.append(array)
        shape = arguments[-1].shape if arguments[-1].size <= SMALL else ()
        for position, slot in enumerate(slots):
            if not isinstance(slot, Slot):
                arguments[position] = np.full(shape, slot, self.dtype)
        return call.function, tuple(arguments)

    def _at(self, slot: Slot, step: int, first: int) -> Array:
        """Return rows at a step, (rows, settings, N)."""
        rows = slice(slot.start, slot.stop)
        if slot.space == "now":
            return self.arrays["now"][step, rows]
        if slot.space == "next":
            return self.arrays["now"][step + 1, rows]
        if slot.space in ("factor", "delta"):
            return self.arrays[slot.space][step - first, rows]
        if slot.space == "leaf":
            return self.weights.leaf[rows]
        if slot.space == "leaf_delta":
            return self.arrays["leaf_delta"][step, rows]
        if slot.space in ("adjoint", "scratch", "back_scratch"):
            return self.arrays[slot.space][rows]
        return self._by_setting(slot, step, first).transpose(1, 0, 2)

    def _by_setting(self, slot: Slot, step: int, first: int) -> Array:
        """Return rows at a step as a product reads and writes them, (settings, rows, N)."""
        rows = slice(slot.start, slot.stop)
        if slot.space == "panel_next":
            return self.arrays["panel"][:, rows, step + 1]
        if slot.space in ("panel", "given", "input_delta"):
            return self.arrays[slot.space][:, rows, step]
        return self._at(slot, step, first).transpose(1, 0, 2)

    def _over(self, slot: Slot, start: int, stop: int) -> Array:
        """Return rows over steps, (steps, rows, settings, N)."""
        rows = slice(slot.start, slot.stop)
        if slot.space == "now":
            return self.arrays["now"][start:stop, rows]
        if slot.space == "next":
            return self.arrays["now"][start + 1 : stop + 1, rows]
        if slot.space in ("factor", "factor_scratch"):
            return self.arrays[slot.space][: stop - start, rows]
        if slot.space == "leaf":
            return self.weights.leaf[rows][None]
        shift = slot.space == "panel_next"
        return self.arrays["panel"][:, rows, start + shift : stop + shift].transpose(2, 1, 0, 3)


def _keep(new: Array, old: Array, ended: Array) -> None:
    """Let a sequence that has ended keep its state."""
    np.copyto(new, old, where=ended)


def _add_where(total: Array, more: Array, here: Array) -> None:
    np.add(total, more, out=total, where=here)


def _fill(array: Array, value: float) -> None:
    array.fill(value)


def _sum_leaf(delta: Array, out: Array) -> None:
    """Sum what reached an elementwise parameter over steps and sequences."""
    np.sum(delta, axis=(0, 3), out=out)
