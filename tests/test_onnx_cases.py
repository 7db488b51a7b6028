"""ONNX's own backend test cases for RNN, GRU and LSTM, through our network; and against the reference evaluator.

What the operators allow and the network does not: ``activations`` other than the defaults, their ``activation_alpha``
and ``activation_beta``, and ``clip`` (a clipped sum is another cell); ``input_forget`` is the cell ``lstm_coupled``
with its gates written the other way. Each would be a cell of one's own.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from gatecalc.networks.network import Network

pytest.importorskip("onnx", reason="onnx is not installed")

OPERATORS = ("RNN", "GRU", "LSTM")
GATES = {"rnn": [""], "gru": ["_z", "_r", "_n"], "lstm": ["_i", "_o", "_f", "_g"]}


def collect() -> dict[str, tuple[Any, list[Any], list[Any]]]:
    """Let ONNX's test modules make their cases: {name: (node, inputs, outputs)}."""
    found = {}
    for operator in OPERATORS:
        module = importlib.import_module(f"onnx.backend.test.case.node.{operator.lower()}")

        def expect(node: Any, inputs: Any, outputs: Any, name: str, **more: Any) -> None:
            found[name] = (node, list(inputs), list(outputs))

        module.expect = expect
        case = getattr(module, operator)
        for export in sorted(name for name in vars(case) if name.startswith("export")):
            getattr(case, export)()
    return found


CASES = collect()


def run(node: Any, given: list[Any]) -> dict[str, Any]:
    """Run a node: {output's place: array}, outputs in ONNX's own layout."""
    import onnx

    options = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    values = iter(given)
    names = ("X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P")
    inputs = {name: next(values) for name, used in zip(names, node.input) if used}
    kind, hidden = node.op_type.lower(), options["hidden_size"]
    direction = options.get("direction", b"forward").decode()
    batch_first = options.get("layout", 0) == 1
    after = options.get("linear_before_reset", 0) == 1
    cell = {
        "rnn": "rnn",
        "gru": "gru_reset_after" if after else "gru_cho",
        "lstm": "lstm_peephole" if "P" in inputs else "lstm",
    }[kind]
    x = np.asarray(inputs["X"], np.float64)
    x = x.transpose(1, 0, 2) if batch_first else x
    network = Network(cell, x.shape[2], hidden, bidirectional=direction == "bidirectional")
    for index in range(network.directions):
        fill(network, inputs, index, kind, after)
    initial = {state: inputs[f"initial_{state}"] for state in network.cell.states if f"initial_{state}" in inputs}
    if batch_first:
        initial = {state: value.transpose(1, 0, 2) for state, value in initial.items()}
    lengths = inputs.get("sequence_lens")
    x = reverse(x, lengths) if direction == "reverse" else x
    outputs, states = network.forward(x, initial, lengths)
    outputs = reverse(outputs, lengths) if direction == "reverse" else outputs
    outputs = outputs.reshape(*outputs.shape[:2], network.directions, hidden).transpose(0, 2, 1, 3)
    last = [states["h"], states.get("c")]
    if batch_first:
        outputs = outputs.transpose(2, 0, 1, 3)
        last = [value.transpose(1, 0, 2) if value is not None else None for value in last]
    return dict(zip(("Y", "Y_h", "Y_c"), [outputs, *last]))


def reverse(x: Any, lengths: Any) -> Any:
    """Turn each sequence around within its length."""
    turned = x[::-1].copy()
    for n, length in enumerate([] if lengths is None else lengths):
        turned[:length, n], turned[length:, n] = x[:length, n][::-1], x[length:, n]
    return turned


def fill(network: Network, inputs: dict[str, Any], index: int, kind: str, after: bool) -> None:
    """Take a direction's weights out of ONNX's stacked ones."""
    suffix, gates, hidden = network.suffix(index), GATES[kind], network.hidden
    biases = np.split(inputs["B"][index], 2) if "B" in inputs else [np.zeros(len(gates) * hidden)] * 2
    for position, gate in enumerate(gates):
        rows = slice(position * hidden, (position + 1) * hidden)
        network.set(f"W{gate}{suffix}", inputs["W"][index][rows])
        network.set(f"U{gate}{suffix}", inputs["R"][index][rows])
        if after and gate == "_n":
            network.set(f"b_n{suffix}", biases[0][rows])
            network.set(f"b_u{suffix}", biases[1][rows])
        else:
            network.set(f"b{gate}{suffix}", biases[0][rows] + biases[1][rows])
    for position, gate in enumerate(("i", "o", "f") if "P" in inputs else ()):
        network.set(f"p_{gate}{suffix}", inputs["P"][index][position * hidden : (position + 1) * hidden])


@pytest.mark.parametrize("name", CASES)
def test_onnx_s_own_case_passes(name: str) -> None:
    """Every output that the case names, to single precision."""
    node, inputs, outputs = CASES[name]
    found = run(node, inputs)
    wanted = [place for place, used in zip(("Y", "Y_h", "Y_c"), node.output) if used]
    assert len(wanted) == len(outputs)
    for place, expected in zip(wanted, outputs):
        assert found[place].shape == expected.shape
        assert np.abs(found[place] - expected).max() < 1e-6


def test_onnx_has_the_cases_that_we_know() -> None:
    """So that a case that it renames or drops is noticed."""
    kinds = {"rnn", "gru", "lstm"}
    assert {kind for kind in kinds if any(kind in name for name in CASES)} == kinds
    for part in ("defaults", "initial_bias", "seq_length", "peepholes", "batchwise"):
        assert any(part in name for name in CASES), part


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize("lengths", [None, [4, 2, 3]], ids=["full", "lengths"])
def test_the_operators_formulas_agree(kind: str, direction: str, lengths: list[int] | None) -> None:
    """Where ONNX has no case, as reset-after with lengths: torch with the same weights."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    import onnx

    generator = np.random.default_rng(3)
    size, hidden, count = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind], 3, 2 if direction == "bidirectional" else 1
    inputs = [
        generator.normal(size=(4, 3, 2)),
        generator.normal(size=(count, size * hidden, 2)),
        generator.normal(size=(count, size * hidden, hidden)),
        generator.normal(size=(count, 2 * size * hidden)),
    ]
    names = ["X", "W", "R", "B", "sequence_lens" if lengths else ""]
    inputs += [np.array(lengths, np.int32)] if lengths else []
    more = {"linear_before_reset": 1} if kind == "GRU" else {}
    node = onnx.helper.make_node(kind, names, ["Y", "Y_h"], hidden_size=hidden, direction=direction, **more)
    found = run(node, inputs)
    order = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 2, 3, 1]}[kind]  # torch's gates among ONNX's
    module = getattr(torch.nn, kind)(2, hidden, bidirectional=count == 2).double()
    with torch.no_grad():
        for index in range(count):
            suffix = "_l0" + ("_reverse" if index else "")
            for name, value in (("weight_ih", inputs[1][index]), ("weight_hh", inputs[2][index])):
                blocks = np.split(value, size)
                getattr(module, name + suffix).copy_(torch.tensor(np.concatenate([blocks[gate] for gate in order])))
            for name, value in zip(("bias_ih", "bias_hh"), np.split(inputs[3][index], 2)):
                blocks = np.split(value, size)
                getattr(module, name + suffix).copy_(torch.tensor(np.concatenate([blocks[gate] for gate in order])))
        x = reverse(inputs[0], lengths) if direction == "reverse" else inputs[0]
        packed = torch.nn.utils.rnn.pack_padded_sequence(torch.tensor(x), lengths or [4, 4, 4], enforce_sorted=False)
        output, _ = module(packed)
        padded, _ = torch.nn.utils.rnn.pad_packed_sequence(output, total_length=4)
    expected = padded.numpy()
    expected = reverse(expected, lengths) if direction == "reverse" else expected
    expected = expected.reshape(4, 3, count, hidden).transpose(0, 2, 1, 3)
    assert np.abs(found["Y"] - expected).max() < 1e-12
