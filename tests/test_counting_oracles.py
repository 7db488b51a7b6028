"""Counts and layouts against the frameworks themselves; each test skips where its framework is not installed."""

from __future__ import annotations

import itertools
import os
from typing import Any

import pytest

from gatecalc import count
from gatecalc.cell import built_in, cell
from gatecalc.counting import stored
from gatecalc.layouts import layout

pytestmark = pytest.mark.filterwarnings("ignore")

T, N = 6, 4
PYTORCH = {"RNN": "rnn", "GRU": "gru_reset_after", "LSTM": "lstm"}
CONFIGURATIONS = [
    (kind, d, h, layers, both, bias, projection)
    for kind, (d, h), layers, both, bias, projection in itertools.product(
        PYTORCH, [(3, 5), (7, 4), (1, 2)], [1, 2, 3], [False, True], [True, False], [None, 1]
    )
    if projection is None or kind == "LSTM"
]


@pytest.fixture(scope="module")
def torch() -> Any:
    """PyTorch, or a skip with the reason."""
    return pytest.importorskip("torch", reason="PyTorch is not installed: make oracles")


def _layer(torch: Any, configuration: tuple, **more: Any) -> Any:
    kind, d, h, layers, both, bias, projection = configuration
    if projection:
        more["proj_size"] = projection
    return getattr(torch.nn, kind)(d, h, layers, bias=bias, bidirectional=both, **more)


def _count(configuration: tuple, **more: Any) -> Any:
    kind, d, h, layers, both, bias, projection = configuration
    return count(PYTORCH[kind], d, h, "double" if bias else "none", layers, both, projection, steps=T, batch=N, **more)


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
def test_parameters_are_what_torch_allocates(torch: Any, configuration: tuple) -> None:
    """Numel, over layers, directions, biases and projections."""
    found = _count(configuration).parameters
    assert found == sum(each.numel() for each in _layer(torch, configuration, device="meta").parameters())


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
def test_macs_are_half_the_flops_that_torch_dispatches(torch: Any, configuration: tuple) -> None:
    """FlopCounterMode on the meta device, forward, and backward from an input that needs no gradient."""
    from torch.utils.flop_counter import FlopCounterMode

    layer = _layer(torch, configuration, device="meta")
    x = torch.empty(T, N, configuration[1], device="meta")
    with FlopCounterMode(display=False) as counter:
        output = layer(x)[0]
    totals = _count(configuration).totals
    assert totals["macs"] * 2 == totals["flops"] == counter.get_total_flops()
    with FlopCounterMode(display=False) as counter:
        output.sum().backward()
    assert totals["macs_backward"] * 2 == counter.get_total_flops()


@pytest.mark.parametrize("kind", PYTORCH)
@pytest.mark.parametrize("bias", [True, False])
def test_pytorchs_single_cells_count_like_its_layers(torch: Any, kind: str, bias: bool) -> None:
    """RNNCell, GRUCell, LSTMCell: numel and one step's MACs."""
    from torch.utils.flop_counter import FlopCounterMode

    layer = getattr(torch.nn, kind + "Cell")(3, 5, bias=bias, device="meta")
    found = count(PYTORCH[kind], 3, 5, "double" if bias else "none")
    assert found.parameters == sum(each.numel() for each in layer.parameters())
    with FlopCounterMode(display=False) as counter:
        layer(torch.empty(1, 3, device="meta"))
    assert found.flops == counter.get_total_flops()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("kind", "name", "projection"), [
    ("RNN", "rnn", None), ("GRU", "gru_reset_after", None), ("LSTM", "lstm", None), ("LSTM", "lstm_projected", 2),
])  # fmt: skip
def test_pytorchs_layout_is_its_state_dict(
    torch: Any, kind: str, name: str, projection: int | None, bias: bool
) -> None:
    """Names, shapes and order, for two layers in two directions."""
    options = {} if projection is None else {"proj_size": projection}
    layer = getattr(torch.nn, kind)(3, 5, 2, bias=bias, bidirectional=True, device="meta", **options)
    found = layout(name, "pytorch", 3, 5, projection, layers=2, bidirectional=True, bias=bias)
    assert list(found.tensors.items()) == [(key, list(tensor.shape)) for key, tensor in layer.state_dict().items()]


@pytest.mark.parametrize(("kind", "options", "name", "projection"), [
    ("RNN", {}, "rnn", None),
    ("RNN", {"nonlinearity": "relu"}, "rnn_relu", None),
    ("GRU", {}, "gru_reset_after", None),
    ("LSTM", {}, "lstm", None),
    ("LSTM", {"proj_size": 8}, "lstm_projected", 8),
])  # fmt: skip
def test_the_pytorch_scheme_is_what_its_autograd_keeps_alive(
    torch: Any, kind: str, options: dict, name: str, projection: int | None
) -> None:
    """Storages packed for the backward pass, a step's share: their growth from 20 to 21 steps, the weights aside."""

    def kept(steps: int) -> int:
        storages: dict[int, tuple[Any, int]] = {}

        def pack(tensor: Any) -> Any:
            storage = tensor.untyped_storage()
            storages[storage.data_ptr()] = (tensor, storage.nbytes() // 4)
            return tensor

        layer = getattr(torch.nn, kind)(3, 32, **options)
        with (
            torch.backends.mkldnn.flags(enabled=False),
            torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor),
        ):
            output = layer(torch.randn(steps, 1, 3))
        assert output
        return sum(size for _, size in storages.values())

    assert kept(21) - kept(20) == count(name, 3, 32, projection=projection).stored["pytorch"]


@pytest.fixture(scope="module")
def keras() -> Any:
    """Keras on PyTorch, or a skip with the reason."""
    pytest.importorskip("torch", reason="PyTorch is not installed: make oracles")
    os.environ.setdefault("KERAS_BACKEND", "torch")
    return pytest.importorskip("keras", reason="Keras is not installed: make oracles")


KERAS = [
    ("SimpleRNN", {}, "rnn", "single"),
    ("LSTM", {}, "lstm", "single"),
    ("GRU", {}, "gru_reset_after", "double"),
    ("GRU", {"reset_after": False}, "gru_cho", "single"),
]


@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize(("d", "h"), [(3, 5), (80, 256), (1, 1)])
@pytest.mark.parametrize(("kind", "options", "name", "bias"), KERAS, ids=str)
def test_parameters_are_kerass_count_params(
    keras: Any, kind: str, options: dict, name: str, bias: str, d: int, h: int, use_bias: bool
) -> None:
    """One layer, both directions, and a stack of two."""
    rule = bias if use_bias else "none"

    def made(**more: Any) -> Any:
        return getattr(keras.layers, kind)(h, use_bias=use_bias, **options, **more)

    layer = made()
    layer.build((None, T, d))
    assert count(name, d, h, rule).parameters == layer.count_params()
    both = keras.layers.Bidirectional(made())
    both.build((None, T, d))
    assert count(name, d, h, rule, bidirectional=True).parameters == both.count_params()
    model = keras.Sequential([keras.Input((T, d)), made(return_sequences=True), made(), keras.layers.Dense(7)])
    assert count(name, d, h, rule, 2, readout=7, readout_bias=True).parameters == model.count_params()


@pytest.mark.parametrize(("kind", "options", "name", "bias"), KERAS, ids=str)
def test_kerass_layout_is_its_list_of_weights(keras: Any, kind: str, options: dict, name: str, bias: str) -> None:
    """Names and shapes in order."""
    layer = getattr(keras.layers, kind)(5, **options)
    layer.build((None, T, 3))
    found = layout(name, "keras", 3, 5)
    assert list(found.tensors.items()) == [(each.name, list(each.shape)) for each in layer.weights]
    assert found.bias == bias


@pytest.mark.parametrize("name", built_in())
def test_the_autograd_scheme_is_what_autograd_keeps_of_the_written_equations(torch: Any, name: str) -> None:
    """The formulas run by torch operator by operator, as written; a step's share of what is packed, for every cell."""
    of = cell(name)
    sizes = {"D": 3, "H": 5, "P": 2}

    def evaluate(tree: Any, values: dict[str, Any]) -> Any:
        if tree.op == "number":
            return tree.value
        if tree.op == "name":
            return values[tree.value]
        if tree.op == "call":
            return getattr(torch, tree.value)(evaluate(tree.args[0], values))
        total = evaluate(tree.args[0], values)
        for term in tree.args[1:]:
            if tree.op == "+" and term.op == "neg":  # a difference, as torch would be asked for it
                total = total - evaluate(term.args[0], values)
                continue
            value = evaluate(term, values)
            total = total + value if tree.op == "+" else total * value if tree.op == "*" else total @ value
        return total

    def kept(steps: int) -> int:
        storages: dict[int, tuple[Any, int]] = {}

        def pack(tensor: Any) -> Any:
            storage = tensor.untyped_storage()
            storages[storage.data_ptr()] = (tensor, storage.nbytes() // 4)
            return tensor

        weights = {
            parameter: torch.randn([sizes[width] for width in shape], requires_grad=True)
            for parameter, shape in of.parameters.items()
        }
        state = {each: torch.zeros(sizes[of.widths[each]]) for each in of.states}
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            for _ in range(steps):
                values = weights | {f"{each}_prev": value for each, value in state.items()} | {"x": torch.randn(3)}
                for target, formula in of.written.items():
                    values[target] = evaluate(formula, values)
                state = {each: values[each] for each in of.states}
        return sum(size for _, size in storages.values())

    assert kept(7) - kept(6) == stored(name, "autograd")(**sizes)
