"""Forward and backward passes, against torch's autograd and central differences; nothing here retypes a derivative."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from gatecalc import GatecalcError
from gatecalc.cell import Cell, built_in, cell, parse_cell
from gatecalc.networks.graph import graph_of
from gatecalc.networks.layer import Layer, Weights
from gatecalc.networks.network import Dropout, Network
from gatecalc.networks.plan import Plan, layouts, output_of


def projection(name: Cell | str) -> int | None:
    """Return a width for a cell that has a projection."""
    return 2 if "P" in (cell(name) if isinstance(name, str) else name).dimensions else None


def filled(name: Cell | str, seed: int, **options: Any) -> tuple[Network, np.random.Generator]:
    """Return a network with random weights."""
    generator = np.random.default_rng(seed)
    network = Network(name, projection=projection(name), **options)
    network.values[...] = generator.normal(0, 0.6, network.values.shape)
    return network, generator


def random_pass(
    network: Network, generator: np.random.Generator, steps: int, sequences: int, lengths: Any = None
) -> dict[str, Any]:
    """Run a network forward and backward on random numbers; return all that went in and came out."""
    stacked = network.layers * network.directions
    widths = {state: network._width_of(state) for state in network.cell.states}
    x = generator.normal(size=(steps, sequences, network.input))
    initial = {state: generator.normal(0, 0.5, (stacked, sequences, width)) for state, width in widths.items()}
    outputs, states = network.forward(x, initial, lengths)
    output_weights = generator.normal(size=outputs.shape)
    state_weights = {state: generator.normal(size=value.shape) for state, value in states.items()}
    back = network.backward(output_weights, state_weights)
    return {
        "x": x,
        "initial": initial,
        "outputs": outputs,
        "states": states,
        "output_weights": output_weights,
        "state_weights": state_weights,
        "back": back,
        "gradients": {name: gradient.copy() for name, gradient in network.gradients.items()},
    }


def total(network: Network, run: dict[str, Any], lengths: Any = None) -> float:
    """Return the number whose gradient the pass took."""
    outputs, states = network.forward(run["x"], run["initial"], lengths)
    return float(
        (outputs * run["output_weights"]).sum()
        + sum((states[name] * run["state_weights"][name]).sum() for name in states)
    )


def torch_gradients(network: Network, run: dict[str, Any], lengths: Any) -> dict[str, Any]:
    """Run the cell's equations as written, in torch, and let autograd go back through them."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    functions = {"sigmoid": torch.sigmoid, "tanh": torch.tanh, "relu": torch.relu}
    leaves = {name: torch.tensor(value, requires_grad=True) for name, value in network.parameters.items()}
    x = torch.tensor(run["x"], requires_grad=True)
    initial = {name: torch.tensor(value, requires_grad=True) for name, value in run["initial"].items()}
    steps, sequences = x.shape[:2]
    ends = [steps] * sequences if lengths is None else list(lengths)
    written = [(target, compile(str(formula), target, "eval")) for target, formula in network.cell.written.items()]
    last: dict[str, list[Any]] = {state: [] for state in network.cell.states}
    below = [[x[step, n] for step in range(ends[n])] for n in range(sequences)]
    for layer in range(network.layers):
        above: list[list[list[Any]]] = []
        for direction in range(network.directions):
            index = layer * network.directions + direction
            weights = {name: leaves[name + network.suffix(index)] for name in network.cell.parameters}
            finals: dict[str, list[Any]] = {state: [] for state in network.cell.states}
            for n in range(sequences):
                states = {state + "_prev": initial[state][index, n] for state in network.cell.states}
                out = []
                for vector in below[n][::-1] if direction else below[n]:
                    names = {**functions, **weights, **states, "x": vector}
                    for target, formula in written:
                        names[target] = eval(formula, {"__builtins__": {}}, names)
                    states = {state + "_prev": names[state] for state in network.cell.states}
                    out.append(names["h"])
                above.append(out[::-1] if direction else out)
                for state in network.cell.states:
                    finals[state].append(states[state + "_prev"])
            for state in network.cell.states:
                last[state].append(torch.stack(finals[state]))
        below = [
            [torch.cat([above[d * sequences + n][step] for d in range(network.directions)]) for step in range(ends[n])]
            for n in range(sequences)
        ]
    loss = sum(
        (below[n][step] * torch.tensor(run["output_weights"][step, n])).sum()
        for n in range(sequences)
        for step in range(ends[n])
    )
    for state, values in last.items():
        loss = loss + (torch.stack(values) * torch.tensor(run["state_weights"][state])).sum()
    loss.backward()
    return {
        "outputs": [torch.stack(below[n]).detach().numpy() for n in range(sequences)],
        "gradients": {
            name: np.zeros(leaf.shape) if leaf.grad is None else leaf.grad.numpy() for name, leaf in leaves.items()
        },
        "x": x.grad.numpy(),
        "initial": {name: value.grad.numpy() for name, value in initial.items()},
    }


def close(found: Any, expected: Any, tolerance: float) -> None:
    scale = max(1.0, float(np.abs(expected).max()))
    assert float(np.abs(found - expected).max()) <= tolerance * scale


SHAPES = {
    "one": {"layers": 1, "bidirectional": False, "steps": 1, "sequences": 1, "lengths": None, "input": 1, "hidden": 1},
    "layers": {
        "layers": 3,
        "bidirectional": False,
        "steps": 4,
        "sequences": 3,
        "lengths": None,
        "input": 3,
        "hidden": 4,
    },
    "both directions": {
        "layers": 2,
        "bidirectional": True,
        "steps": 5,
        "sequences": 2,
        "lengths": None,
        "input": 2,
        "hidden": 3,
    },
    "ragged": {
        "layers": 1,
        "bidirectional": False,
        "steps": 6,
        "sequences": 4,
        "lengths": [3, 6, 1, 4],
        "input": 2,
        "hidden": 5,
    },
    "ragged both": {
        "layers": 2,
        "bidirectional": True,
        "steps": 4,
        "sequences": 3,
        "lengths": [2, 4, 1],
        "input": 3,
        "hidden": 2,
    },
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", built_in())
def test_every_gradient_is_torch_autograd_s(name: str, shape: str) -> None:
    """Weights, inputs and initial states, to 1e-12, for layers, directions and sequences of different lengths."""
    options = dict(SHAPES[shape])
    steps, sequences, lengths = options.pop("steps"), options.pop("sequences"), options.pop("lengths")
    network, generator = filled(name, 7, **options)
    run = random_pass(network, generator, steps, sequences, lengths)
    expected = torch_gradients(network, run, lengths)
    for n, values in enumerate(expected["outputs"]):
        close(run["outputs"][: len(values), n], values, 1e-12)
        assert not run["outputs"][len(values) :, n].any()
    for parameter, gradient in run["gradients"].items():
        close(gradient, expected["gradients"][parameter], 1e-12)
    close(run["back"].inputs, expected["x"], 1e-12)
    for state, gradient in run["back"].states.items():
        close(gradient, expected["initial"][state], 1e-12)


def differences(network: Network, run: dict[str, Any], lengths: Any = None, step: float = 1e-5) -> np.ndarray:
    """Return the central differences of all weights."""
    found = np.empty(network.values.size)
    flat = network.values.reshape(-1)
    for index, value in enumerate(flat.copy()):
        flat[index] = value + step
        above = total(network, run, lengths)
        flat[index] = value - step
        found[index] = (above - total(network, run, lengths)) / (2 * step)
        flat[index] = value
    return found


@pytest.mark.parametrize("name", built_in())
def test_every_gradient_is_the_central_difference(name: str) -> None:
    """To 1e-7, two layers in two directions, of sequences of different lengths."""
    network, generator = filled(name, 3, input=2, hidden=2, layers=2, bidirectional=True)
    lengths = [2, 3]
    run = random_pass(network, generator, 3, 2, lengths)
    close(network.all_gradients.reshape(-1), differences(network, run, lengths), 1e-7)


# Cells of the reader's own: every operator and every smooth function, shared parts, states that cross.

CUSTOM = {
    "crossed states": "a = tanh(W @ x + 0.5 * d_prev)\nd = sigmoid(U @ a_prev) - 0.3 * a_prev * d_prev",
    "shared product": "z = sigmoid(U @ h_prev + W @ x)\nh = z * tanh(U @ h_prev + W @ x) + (1 - z) * h_prev",
    "product of a product": "h = tanh(A @ (U @ h_prev) + W @ x + b)",
    "written product": "q = U @ h_prev\nh = tanh(q * q + W @ x)",
    "difference of products": "h = tanh(W @ x - U @ h_prev - b)",
    "two matrices on one vector": "h = tanh(W @ x + A @ x + U @ h_prev)",
    "quotient and powers": "h = (W @ x + b)**3 / (2 + (U @ h_prev)**2) + sqrt(1 + h_prev**2) / 7",
    "elementwise input": "s = sigmoid(A @ h_prev + b)\nh = tanh(W @ (s * x))",
    "no bias, no input": "h = sin(U @ h_prev) + cos(h_prev)",
    "every function": "a = exp(0.1 * (W @ x)) + log(2 + h_prev**2)\nd = atan(U @ h_prev) * erf(h_prev) + gelu(W @ x)\n"
    "h = 0.3 * tanh(a) + silu(d) + softplus(b * h_prev) + softsign(a * d) + elu(d)",
    "scaled": "h = tanh(2 * (W @ x + U @ h_prev + b)) + 0.25 * sigmoid(4 * (V @ h_prev))",
    "dead vector": "q = tanh(V @ x)\nh = tanh(W @ x + U @ h_prev)",
    "cancelled bias": "h = tanh(W @ x + (b - b)) + U @ h_prev",
    "no state": "h = tanh(W @ x + b)",
    "bias outside": "h = tanh(W @ x) * b + b_r * (U @ h_prev) * b_r",
}


@pytest.mark.parametrize("text", CUSTOM)
@pytest.mark.parametrize("count", [1, 3])
def test_a_cell_of_one_s_own_has_the_gradients_of_central_differences(text: str, count: int) -> None:
    """For one setting and for several that are run at once."""
    network, generator = filled(parse_cell(CUSTOM[text]), 5, input=2, hidden=3, settings=count)
    x = generator.normal(size=(count, 4, 2, 2))
    weights = generator.normal(size=(count, 4, 2, network.width))

    def value() -> float:
        return float((network.forward(x).outputs.reshape(weights.shape) * weights).sum())

    value()
    network.backward(weights)
    found, flat = network.all_gradients.reshape(-1).copy(), network.values.reshape(-1)
    for index, held in enumerate(flat.copy()):
        flat[index] = held + 1e-5
        above = value()
        flat[index] = held - 1e-5
        assert found[index] == pytest.approx((above - value()) / 2e-5, rel=1e-6, abs=1e-7)
        flat[index] = held


LEAVES = st.sampled_from(["W @ x", "U @ h_prev", "A @ (h_prev * c_prev)", "h_prev", "c_prev", "b", "b_q", "0.5", "2"])
FORMULAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["({} + {})", "({} - {})", "({}) * ({})", "(1 - ({})) * ({})"]), inner, inner).map(
            lambda t: t[0].format(*t[1:])
        ),
        st.tuples(
            st.sampled_from(
                ["tanh({})", "sigmoid({})", "sin({})", "0.5 * ({})", "(-({}))", "1 / (1 + ({})**2)", "softsign({})"]
            ),
            inner,
        ).map(lambda t: t[0].format(t[1])),
    ),
    max_leaves=6,
)


@settings(max_examples=40, deadline=None)
@given(first=FORMULAS, second=FORMULAS, third=FORMULAS, seed=st.integers(0, 1000))
def test_any_cell_has_the_gradient_of_its_central_difference(first: str, second: str, third: str, seed: int) -> None:
    """Along a random direction, for cells that hypothesis writes."""
    text = f"q = tanh({first})\nc = sin({second} + q) + 0.1 * c_prev\nh = tanh({third} + c + W @ x) + 0.1 * h_prev"
    network, generator = filled(parse_cell(text), seed, input=2, hidden=2)
    run = random_pass(network, generator, 3, 2)
    direction = generator.normal(size=network.values.shape)
    slope = float((network.all_gradients * direction).sum())
    start = network.values.copy()

    def difference(step: float) -> float:
        ends = []
        for signed in (step, -step):
            network.values[...] = start + signed * direction
            ends.append(total(network, run))
        return (ends[0] - ends[1]) / (2 * step)

    better = (4 * difference(5e-5) - difference(1e-4)) / 3  # without the error of second order
    assert slope == pytest.approx(better, rel=2e-6, abs=2e-6)


@pytest.mark.parametrize("name", built_in())
def test_settings_run_together_as_each_would_alone(name: str) -> None:
    """Three networks at once give the outputs and gradients of three runs."""
    together, generator = filled(name, 2, input=2, hidden=3, settings=3, layers=2)
    x = generator.normal(size=(4, 2, 2))
    weights = generator.normal(size=(4, 2, together.width))
    outputs = together.forward(x).outputs
    together.backward(np.broadcast_to(weights, outputs.shape))
    for index in range(3):
        alone, _ = filled(name, 0, input=2, hidden=3, layers=2)
        alone.values[0] = together.values[index]
        close(outputs[index], alone.forward(x).outputs, 1e-14)
        alone.backward(weights)
        close(together.all_gradients[index], alone.all_gradients[0], 1e-13)


@pytest.mark.parametrize("name", built_in())
def test_every_layout_computes_the_same(name: str) -> None:
    """Where rows lie is a matter of speed alone."""
    widths = {"D": 2, "H": 3, "P": 2}
    graph = graph_of(cell(name), output_of(cell(name)))
    found = []
    for layout in layouts(graph):
        plan = Plan(graph, widths, layout)
        numbers = Weights.size(plan)
        weights = Weights(plan, np.zeros((1, numbers)), np.zeros((1, numbers)))
        generator = np.random.default_rng(5)
        for parameter in sorted(weights.named):
            weights.named[parameter][...] = generator.normal(size=weights.named[parameter].shape)
        layer = Layer(weights, 4, 2)
        x = generator.normal(size=(1, 2, 4, 2))
        for place in layer.inputs:
            place[...] = x
        for state in plan.cell.states:
            layer.set_state(state, generator.normal(size=layer.state_gradients[state].shape))
        layer.forward()
        layer.given[...] = generator.normal(size=layer.given.shape)
        layer.backward(range(4))
        states = {state: layer.state_gradient(state) for state in plan.cell.states}
        parts = [layer.outputs, *dict(sorted((weights.gradients | states).items())).values()]
        found.append(np.concatenate([np.ravel(part) for part in parts]))
    assert len(found) >= 2 ** len(plan.cell.states)
    for other in found[1:]:
        close(other, found[0], 1e-13)


def test_float32_is_float32() -> None:
    """No pass falls back to float64, and the results agree to single precision."""
    wide, generator = filled("gru", 1, input=3, hidden=4)
    narrow = Network("gru", input=3, hidden=4, dtype="float32")
    narrow.values[...] = wide.values
    x = generator.normal(size=(5, 2, 3))
    outputs = narrow.forward(x).outputs
    assert outputs.dtype == np.float32
    close(outputs, wide.forward(x).outputs, 1e-6)
    assert {array.dtype for layer in narrow._layers for array in layer.arrays.values()} == {
        np.dtype("float32"),
        np.dtype("bool"),
    }


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn"])
def test_padding_changes_nothing(name: str) -> None:
    """A sequence gives the same alone and in a padded batch, whatever stands in the padding, even NaN."""
    network, generator = filled(name, 4, input=2, hidden=3, layers=2, bidirectional=True)
    x = generator.normal(size=(5, 2, 2))
    x[3:, 0] = np.nan
    both = network.forward(x, lengths=[3, 5])
    weights = generator.normal(size=both.outputs.shape)
    gradients = network.backward(weights).inputs.copy()
    alone = network.forward(x[:3, :1])
    close(both.outputs[:3, :1], alone.outputs, 1e-14)
    close(both.states["h"][:, :1], alone.states["h"], 1e-14)
    close(gradients[:3, :1], network.backward(weights[:3, :1]).inputs, 1e-14)
    assert not gradients[3:, 0].any()


def test_carried_states_continue_a_run() -> None:
    """Two halves, the second from the first's last states, give the outputs of the whole."""
    network, generator = filled("lstm", 6, input=2, hidden=3, layers=2)
    x = generator.normal(size=(6, 2, 2))
    whole = network.forward(x)
    first = network.forward(x[:2])
    second = network.forward(x[2:], first.states)
    close(np.concatenate([first.outputs, second.outputs]), whole.outputs, 1e-14)
    close(second.states["c"], whole.states["c"], 1e-14)


def test_dropout_between_layers_keeps_the_mean_and_has_its_own_gradient() -> None:
    """The gradient with fixed masks is the central difference with the same masks."""
    network, generator = filled("gru", 8, input=2, hidden=4, layers=2)
    dropout = Dropout(0.5, np.random.default_rng(1))
    x = generator.normal(size=(1, 2, 3, 2))
    weights = generator.normal(size=(1, 4, 3, 2))

    def value() -> float:
        return float((network.run(x, dropout=dropout) * weights).sum())

    value()
    mask = dropout.mask(1, (1, 4, 3, 2), np.float64)
    assert set(np.unique(mask)) == {0.0, 2.0}
    network.run_back(weights)
    found, flat = network.all_gradients[0].copy(), network.values[0]
    for index, held in enumerate(flat.copy()):
        flat[index] = held + 1e-5
        above = value()
        flat[index] = held - 1e-5
        assert found[index] == pytest.approx((above - value()) / 2e-5, rel=1e-6, abs=1e-8)
        flat[index] = held


def test_a_pass_allocates_nothing_that_grows() -> None:
    """After the first passes, a hundred more leave no more memory in use."""
    network, generator = filled("lstm", 9, input=3, hidden=8, layers=2)
    x = generator.normal(size=(1, 3, 10, 4))
    weights = generator.normal(size=(1, 8, 10, 4))

    def passes(count: int) -> None:
        for _ in range(count):
            network.run(x)
            network.run_back(weights)

    tracemalloc.start()
    passes(50)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    passes(100)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 4096


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.zeros((2, 3))}, "shape: the input is (2, 3), and it should be (T, N, 2)"),
        ({"x": np.zeros((2, 3, 5))}, "shape: the input is (2, 3, 5), and it should be (T, N, 2)"),
        ({"x": np.full((1, 1, 2), np.nan)}, "value: the input is nan at [0, 0, 0]"),
        ({"x": "what"}, "value: the input is not an array of numbers"),
        ({"lengths": [1]}, "shape: the lengths are (1,) of int64"),
        ({"lengths": [0, 1, 1]}, "value: a length is 0"),
        ({"initial": {"q": 0}}, "name: 'lstm' has no state 'q'"),
        ({"initial": {"h": np.zeros((1, 3, 9))}}, "shape: the initial 'h' is (1, 3, 9), and it should be (1, 3, 4)"),
    ],
)
def test_input_that_does_not_fit_is_one_clear_error(change: dict[str, Any], message: str) -> None:
    """What was given, and what should have been."""
    network = Network("lstm", input=2, hidden=4)
    with pytest.raises(GatecalcError) as error:
        network.forward(**{"x": np.zeros((2, 3, 2)), **change})
    assert error.value.message == message


def test_an_unknown_weight_offers_the_closest() -> None:
    """As does a shape that does not fit."""
    network = Network("lstm", input=2, hidden=4, layers=2)
    with pytest.raises(GatecalcError, match="has no weight 'W_f_11'; did you mean 'W_f_l1'"):
        network.set("W_f_11", 1)
    with pytest.raises(GatecalcError, match=r"'b_f' is given as \(3,\), and it is \(4,\)"):
        network.set("b_f", [1, 2, 3])


def test_what_is_not_a_number_is_refused_where_it_is_read() -> None:
    """Behind the end of a sequence it is not; and nothing goes back before it has gone forward."""
    network = Network("gru", input=2, hidden=3)
    with pytest.raises(GatecalcError, match="there is no forward pass"):
        network.backward(np.ones((4, 2, 3)))
    x = np.ones((4, 2, 2))
    x[3, 0] = np.nan
    assert np.isfinite(network.forward(x, lengths=[3, 4]).outputs).all()
    for wrong, lengths in ((x, [4, 4]), ([[["a", "b"]] * 2] * 4, [3, 4])):
        with pytest.raises(GatecalcError, match=r"the input is (nan at \[3, 0, 0\]|not an array)"):
            network.forward(wrong, lengths=lengths)
    with pytest.raises(GatecalcError, match="the states are 3"):
        network.forward(np.ones((4, 2, 2)), initial=3)  # type: ignore[arg-type]


def test_parameters_hold_each_weight_once() -> None:
    """The flat array is the parameters and nothing else."""
    for name in built_in():
        network = Network(name, input=3, hidden=4, projection=projection(name), layers=2, bidirectional=True)
        assert sum(value.size for value in network.parameters.values()) == network.values.size
        for position, value in enumerate(network.parameters.values()):
            value[...] = position + 1
        assert (network.values > 0).all()
    assert cell("lstm").name == "lstm"
