"""Counts and layouts against the frameworks themselves; each test skips where its framework is not installed."""

from __future__ import annotations

import itertools
import os
from typing import Any

import pytest

from gatecalc import count
from gatecalc.cell import built_in, cell
from gatecalc.counts.counting import stored
from gatecalc.counts.layouts import layout

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


# ---------------------------------------------------------------------------------------------- conversions, by running


def _sequence(torch: Any) -> Any:
    import numpy

    return numpy.random.default_rng(3).normal(size=(T, 3)).astype("float32")


def _own(path: str, where: str, name: str, x: Any) -> Any:
    """Run our own equations with the weights of a file, and return every step's h."""
    import numpy

    from gatecalc.models.artefacts import read
    from gatecalc.models.recognise import units
    from gatecalc.models.weights import extract

    (unit,) = units(read(path), where, name)
    of = cell(name)
    values: dict[str, Any] = {}
    for (parameter, _), value in extract(unit).items():
        values[parameter] = values.get(parameter, 0) + value.astype("float64")
    functions = {"sigmoid": lambda a: 1 / (1 + numpy.exp(-a)), "tanh": numpy.tanh, "relu": lambda a: a * (a > 0)}

    def evaluate(tree: Any) -> Any:
        if tree.op in ("number", "name"):
            return values[tree.value] if tree.op == "name" else tree.value
        args = [evaluate(argument) for argument in tree.args]
        if tree.op == "call":
            return functions[tree.value](args[0])
        if tree.op == "neg":
            return -args[0]
        total = args[0]
        for value in args[1:]:
            total = total + value if tree.op == "+" else total * value if tree.op == "*" else total @ value
        return total

    values |= {f"{state}_prev": numpy.zeros(unit.widths[of.widths[state]]) for state in of.states}
    outputs = []
    for values["x"] in x:
        for target, formula in of.written.items():
            values[target] = evaluate(formula)
        values |= {f"{state}_prev": values[state] for state in of.states}
        outputs.append(values["h"])
    return numpy.array(outputs)


def _onnx(kind: str, arrays: dict[str, Any], x: Any, **attributes: Any) -> Any:
    """Run one node with ONNX's reference evaluator."""
    onnx = pytest.importorskip("onnx", reason="ONNX is not installed: make oracles")
    from onnx.reference import ReferenceEvaluator

    hidden = arrays["R"].shape[2]
    node = onnx.helper.make_node(kind, ["X", "W", "R", "B"], ["Y"], hidden_size=hidden, **attributes)
    types = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in ("X", "Y")]
    initial = [onnx.numpy_helper.from_array(arrays[name], name) for name in "WRB"]
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "graph", types[:1], types[1:], initial))
    return ReferenceEvaluator(model).run(None, {"X": x[:, None]})[0][:, 0, 0]


RUN = [
    ("RNN", "rnn", "SimpleRNN", {}),
    ("LSTM", "lstm", "LSTM", {}),
    ("GRU", "gru_reset_after", "GRU", {"linear_before_reset": 1}),
]


@pytest.mark.parametrize(("kind", "name", "keras_kind", "attributes"), RUN, ids=str)
def test_torch_keras_onnx_and_our_own_equations_agree_on_converted_weights(
    torch: Any, keras: Any, tmp_path: Any, kind: str, name: str, keras_kind: str, attributes: dict
) -> None:
    """One sequence, every step, to the tolerance of float32."""
    import numpy

    from gatecalc.models.weights import converted, write

    torch.manual_seed(5)
    layer = getattr(torch.nn, kind)(3, 5)
    x = _sequence(torch)
    expected = layer(torch.tensor(x)[:, None])[0][:, 0].detach().numpy()
    source = str(tmp_path / "layer.pt")
    torch.save(layer.state_dict(), source)
    choice = None if name == "rnn" else name
    numpy.testing.assert_allclose(_own(source, "pytorch", name, x), expected, atol=1e-6)

    arrays, result = converted(source, "keras", cell=choice)
    assert result.target_cell == name
    theirs = getattr(keras.layers, keras_kind)(5, return_sequences=True)
    theirs.build((None, T, 3))
    theirs.set_weights([arrays[weight.name] for weight in theirs.weights])
    output = keras.ops.convert_to_numpy(theirs(x[None]))[0]
    numpy.testing.assert_allclose(output, expected, atol=1e-6)

    path = str(tmp_path / "keras.npz")
    write(path, {weight.name: keras.ops.convert_to_numpy(weight) for weight in theirs.weights})
    arrays, result = converted(path, "onnx", where="keras", cell=choice)
    numpy.testing.assert_allclose(_onnx(kind, arrays, x, **attributes), expected, atol=1e-6)

    path = str(tmp_path / "onnx.npz")
    write(path, arrays)
    arrays, result = converted(path, "pytorch", where="onnx", cell=name)
    layer.load_state_dict({key: torch.tensor(value) for key, value in arrays.items()})
    numpy.testing.assert_allclose(layer(torch.tensor(x)[:, None])[0][:, 0].detach().numpy(), expected, atol=1e-6)


def test_keras_without_reset_after_runs_as_onnx_without_linear_before_reset(keras: Any, tmp_path: Any) -> None:
    """The other reset form, gru_cho."""
    import numpy

    from gatecalc.models.weights import converted, write

    layer = keras.layers.GRU(5, reset_after=False, return_sequences=True, bias_initializer="random_normal")
    layer.build((None, T, 3))
    x = _sequence(None)
    expected = keras.ops.convert_to_numpy(layer(x[None]))[0]
    path = str(tmp_path / "gru.npz")
    write(path, {weight.name: keras.ops.convert_to_numpy(weight) for weight in layer.weights})
    arrays, result = converted(path, "onnx", where="keras")
    assert (result.cell, result.exact) == ("gru_cho", True)
    numpy.testing.assert_allclose(_onnx("GRU", arrays, x), expected, atol=1e-6)
    numpy.testing.assert_allclose(_own(path, "keras", "gru_cho", x), expected, atol=1e-6)


def test_a_bidirectional_stack_goes_to_onnx_and_back_to_the_last_bit(torch: Any, tmp_path: Any) -> None:
    """Two layers, two directions, both biases."""
    from gatecalc.models.weights import converted, write

    layer = torch.nn.LSTM(3, 5, 2, bidirectional=True)
    source, path = str(tmp_path / "lstm.pt"), str(tmp_path / "lstm.npz")
    torch.save(layer.state_dict(), source)
    arrays, result = converted(source, "onnx")
    assert (result.layers, result.directions, result.exact) == (2, 2, True)
    write(path, arrays)
    back, result = converted(path, "pytorch", where="onnx", cell="lstm")
    assert result.exact
    for name, tensor in layer.state_dict().items():
        assert back[name].tobytes() == tensor.numpy().tobytes(), name


def test_a_torch_file_is_read_as_torch_reads_it(torch: Any, tmp_path: Any) -> None:
    """Views, transposes, half precision, a nested checkpoint and parameters; and a module is refused by name."""
    from gatecalc import GatecalcError
    from gatecalc.models.artefacts import read

    base = torch.arange(24.0).reshape(4, 6)
    saved = {
        "epoch": 3,
        "model": {"view": base[1:3, ::2], "turned": base.T, "half": base.half(), "one": torch.nn.Parameter(base[0])},
    }
    path = str(tmp_path / "checkpoint.pt")
    torch.save(saved, path)
    found = read(path).tensors
    assert list(found) == ["model.view", "model.turned", "model.half", "model.one"]
    for name, stored_ in found.items():
        assert (stored_.read() == saved["model"][name[6:]].detach().numpy()).all(), name
    torch.save(torch.nn.LSTM(3, 5), path)
    with pytest.raises(GatecalcError, match=r"would run code|no state dict needs"):
        read(path)


def test_an_onnx_file_is_read_as_onnx_reads_it(torch: Any, tmp_path: Any) -> None:
    """Initial values, node attributes, and the layers they make."""
    onnx = pytest.importorskip("onnx", reason="ONNX is not installed: make oracles")
    import numpy

    from gatecalc.models.artefacts import read
    from gatecalc.models.recognise import units

    random = numpy.random.default_rng(1)
    arrays = {
        name: random.normal(size=shape).astype("float32")
        for name, shape in {"W": (2, 15, 3), "R": (2, 15, 5), "B": (2, 30)}.items()
    }
    node = onnx.helper.make_node(
        "GRU", ["X", "W", "R", "B"], ["Y"], name="gru", hidden_size=5, linear_before_reset=1, direction="bidirectional"
    )
    types = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in ("X", "Y")]
    initial = [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]
    initial[2] = onnx.helper.make_tensor("B", onnx.TensorProto.FLOAT, (2, 30), arrays["B"].ravel().tolist())
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "graph", types[:1], types[1:], initial))
    path = str(tmp_path / "gru.onnx")
    onnx.save(model, path)
    found = read(path)
    for name, array in arrays.items():
        assert (found.tensors[name].read() == array).all()
    assert [(unit.row.cell, unit.direction, unit.widths) for unit in units(found)] == [
        ("gru_reset_after", 0, {"H": 5, "D": 3}),
        ("gru_reset_after", 1, {"H": 5, "D": 3}),
    ]


def test_a_safetensors_file_is_read_and_written_as_its_own_library_does(tmp_path: Any) -> None:
    """Both ways, to the last bit."""
    library = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed: make oracles")
    import numpy

    from gatecalc.models.artefacts import read
    from gatecalc.models.weights import write

    arrays = {"a.weight": numpy.arange(6, dtype="float32").reshape(2, 3), "b": numpy.ones(4, "float16")}
    path = str(tmp_path / "x.safetensors")
    library.save_file(arrays, path)
    assert all((read(path).tensors[name].read() == array).all() for name, array in arrays.items())
    write(path, arrays)
    assert all((library.load_file(path)[name] == array).all() for name, array in arrays.items())


@pytest.mark.parametrize(("kind", "name"), [("RNN", "rnn"), ("GRU", "gru_reset_after"), ("LSTM", "lstm")])
def test_an_onnx_file_that_is_written_runs_and_comes_back(torch: Any, tmp_path: Any, kind: str, name: str) -> None:
    """Both directions of torch's layer in ONNX's reference evaluator; and the weights again, to the last bit."""
    onnx = pytest.importorskip("onnx", reason="ONNX is not installed: make oracles")
    import numpy
    from onnx.reference import ReferenceEvaluator

    from gatecalc.models.audit import audit
    from gatecalc.models.weights import convert, converted

    layer = getattr(torch.nn, kind)(3, 5, bidirectional=True)
    source, target = str(tmp_path / "layer.pt"), str(tmp_path / "layer.onnx")
    torch.save(layer.state_dict(), source)
    assert convert(source, target, "onnx").exact
    onnx.checker.check_model(target, full_check=True)
    x = _sequence(torch)
    both = ReferenceEvaluator(target).run(None, {"X": x[:, None]})[0][:, :, 0]
    expected = layer(torch.tensor(x)[:, None])[0][:, 0].detach().numpy()
    numpy.testing.assert_allclose(both.reshape(T, 10), expected, atol=1e-6)
    assert [(found.cell, found.directions, found.parameters) for found in audit(target).layers] == [
        (name, 2, sum(each.numel() for each in layer.parameters()))
    ]
    back, _ = converted(target, "pytorch")
    for key, tensor in layer.state_dict().items():
        assert back[key].tobytes() == tensor.numpy().tobytes(), key
