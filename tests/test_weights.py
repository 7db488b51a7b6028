"""Conversions between every two layouts: the same function, and the same bits wherever nothing is rounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gatecalc import GatecalcError
from gatecalc.cell import Cell, cell
from gatecalc.counts.layouts import LAYOUTS, Row, framework
from gatecalc.language import Tree
from gatecalc.models.artefacts import read
from gatecalc.models.recognise import solve, units
from gatecalc.models.weights import CHANGES, Values, convert, converted, extract, fill, write
from tests.test_counting_commands import printed
from tests.test_counting_commands import run as run_line

WIDTHS = {"D": 3, "H": 5, "P": 2}
FRAMEWORKS = sorted(path.stem for path in Path(LAYOUTS).glob("*.toml"))
ROWS = [row for name in FRAMEWORKS for row in framework(name).rows]


def _id(row: Row) -> str:
    return f"{row.framework}-{row.names[0]}-{row.cell}"


def sigmoid(a: Any) -> Any:
    """Of an array."""
    return 1 / (1 + np.exp(-a))


FUNCTIONS = {"sigmoid": sigmoid, "tanh": np.tanh, "relu": lambda a: np.maximum(a, 0)}


def evaluate(tree: Tree, values: dict[str, Any]) -> Any:
    """Run a formula with NumPy."""
    if tree.op in ("number", "name"):
        return values[tree.value] if tree.op == "name" else float(tree.value)
    args = [evaluate(argument, values) for argument in tree.args]
    if tree.op == "call":
        return FUNCTIONS[tree.value](args[0])
    if tree.op == "neg":
        return -args[0]
    total = args[0]
    for value in args[1:]:
        total = total + value if tree.op == "+" else total * value if tree.op == "*" else total @ value
    return total


def run(of: Cell, parameters: dict[str, Any], steps: int = 4) -> Any:
    """Return the last state of a few steps from a state that is not zero."""
    random = np.random.default_rng(7)
    states = {state: random.normal(size=WIDTHS[of.widths[state]]) for state in of.states}
    for _ in range(steps):
        values = parameters | {f"{state}_prev": value for state, value in states.items()} | {"x": random.normal(size=3)}
        for target, formula in of.written.items():
            values[target] = evaluate(formula, values)
        states = {state: values[state] for state in of.states}
    return np.concatenate(list(states.values()))


def effective(row: Row, values: Values, of: Cell) -> dict[str, Any]:
    """Return a cell's parameters from a layout's: the sides of a bias added up, the constants on top, the rest zero."""
    found = {name: np.zeros([WIDTHS[width] for width in shape]) for name, shape in of.parameters.items()}
    for (name, _), value in values.items():
        found[name] = found[name] + value
    return found | {name: found[name] + constant for name, constant in row.added.items()}


def made(row: Row, dtype: str = "float64") -> tuple[Values, dict[str, Any]]:
    """Return random parameters of a row's cell, and its tensors filled with them."""
    random = np.random.default_rng(len(_id(row)))
    of = cell(row.cell)
    values = {
        (block.parameter, block.side): random.normal(
            size=[WIDTHS[width] for width in of.parameters[block.parameter]]
        ).astype(dtype)
        for tensor in row.tensors
        for block in tensor.blocks(WIDTHS)
    }
    tensors, rounded = fill(row, values, WIDTHS, row.added, True, [])
    assert not rounded
    return values, tensors


@pytest.mark.parametrize("row", ROWS, ids=_id)
def test_what_is_laid_out_is_cut_out_again(row: Row, tmp_path: Path) -> None:
    """The layout is found again by names and shapes, and every parameter in it to the last bit."""
    values, tensors = made(row, "float32")
    path = tmp_path / "layer.safetensors"
    write(str(path), tensors)
    (unit,) = units(read(str(path)), row.framework, row.cell)[:1]
    assert {key: unit.widths[key] for key in unit.widths} == {key: WIDTHS[key] for key in unit.widths}
    same = [
        each
        for each in framework(row.framework).rows
        if each.cell == row.cell and len(each.tensors) == len(row.tensors)
    ]
    if unit.row == row or len(same) == 1:
        found = extract(unit)
        assert found.keys() == values.keys()
        for key, value in values.items():
            assert found[key].tobytes() == value.tobytes(), key


@pytest.mark.parametrize("row", ROWS, ids=_id)
def test_a_converted_layer_computes_the_same_function(row: Row, tmp_path: Path) -> None:
    """In every framework; or it is refused with a reason. It comes back to the last bit where nothing was rounded."""
    of = cell(row.cell)
    values, tensors = made(row)
    source, target = str(tmp_path / "source.npz"), str(tmp_path / "target.npz")
    write(source, tensors)
    before = run(of, effective(row, values, of))
    forget = row.added.get("b_f", 0.0) if "b_f" in of.parameters else None
    for to in FRAMEWORKS:
        refused = None
        try:
            arrays, result = converted(source, to, where=row.framework, cell=row.cell, forget_bias=forget)
        except GatecalcError as error:
            refused = error
        if refused:
            assert (refused.message[:9], bool(refused.help)) == ("convert: ", True)
            assert all(each.cell != row.cell or each.absent for each in framework(to).rows), refused.message
            continue
        write(target, arrays)
        unit = units(read(target), to, result.target_cell)[0]
        after = run(cell(unit.row.cell), effective(unit.row, extract(unit), cell(unit.row.cell)))
        np.testing.assert_allclose(after, before, rtol=1e-11, atol=1e-11, err_msg=to)
        if result.exact and (result.target_cell, row.cell) in {*CHANGES, (row.cell, row.cell)} and not row.added:
            back, again = converted(target, row.framework, where=to, cell=result.target_cell, layer=row.names[0])
            if again.target_cell == row.cell and back.keys() == tensors.keys():
                assert again.exact, to
                for name, array in tensors.items():
                    assert back[name].tobytes() == array.tobytes(), (to, name)


def test_every_pair_of_cells_that_is_converted_is_met_by_some_framework() -> None:
    """Dead rows are deleted."""
    have = {row.cell for row in ROWS}
    assert {pair for pair in CHANGES if not set(pair) & have} == set()


def test_a_reset_form_is_refused_with_the_reason(tmp_path: Path) -> None:
    """PyTorch's GRU cannot become Haiku's."""
    row = next(each for each in framework("pytorch").rows if each.cell == "gru_reset_after")
    path = tmp_path / "gru.npz"
    write(str(path), made(row)[1])
    with pytest.raises(GatecalcError) as caught:
        convert(str(path), None, "haiku")
    assert caught.value.message == (
        "convert: gru_reset_after cannot become gru of Haiku: U_n @ (r * h_prev) is not r * (U_n @ h_prev), "
        "and no weights make it so"
    )


def test_a_bias_that_the_target_leaves_out_must_be_zero(tmp_path: Path) -> None:
    """Flax's nnx GRU has no bias inside the reset; zero there, the conversion is exact."""
    row = next(each for each in framework("flax-linen").rows if each.cell == "gru_reset_after")
    values, _ = made(row)
    path = tmp_path / "gru.npz"
    write(str(path), fill(row, values, WIDTHS, {}, True, [])[0])
    with pytest.raises(GatecalcError, match="has no b_u in its GRUCell, and it is not zero"):
        convert(str(path), None, "flax-nnx", where="flax-linen")
    values["b_u", None][:] = 0
    write(str(path), fill(row, values, WIDTHS, {}, True, [])[0])
    assert convert(str(path), None, "flax-nnx", where="flax-linen").exact


def test_a_merged_bias_says_when_its_sum_was_rounded(tmp_path: Path) -> None:
    """1 + 2**-60 is not a float64; 1 + 2**-20 is."""
    row = next(each for each in framework("pytorch").rows if each.cell == "lstm")
    values, _ = made(row)
    path = tmp_path / "lstm.npz"
    for small, exact in ((2.0**-60, False), (2.0**-20, True)):
        for (name, side), value in values.items():
            if name.startswith("b_"):
                value[:] = 1.0 if side == "input" else small
        write(str(path), fill(row, values, WIDTHS, {}, True, [])[0])
        assert convert(str(path), None, "keras").exact is exact


def test_widths_are_solved_from_shapes_or_not_at_all() -> None:
    """A contradiction, a fraction and a width of zero are no solution."""
    from gatecalc.counts.polynomial import symbol

    d, h = symbol("D"), symbol("H")
    assert solve([(d + h, 8), (4 * h, 20)]) == {"H": 5, "D": 3}
    assert solve([(4 * h, 20), (h, 6)]) is None
    assert solve([(4 * h, 21)]) is None
    assert solve([(d + h, 5), (4 * h, 20)]) is None
    assert solve([(d + h, 5)]) is None


def layer(tmp_path: Path, name: str, of: str) -> str:
    """Write a layer of a framework and return its path."""
    path = str(tmp_path / f"{name}.npz")
    write(path, made(next(row for row in framework(name).rows if row.cell == of))[1])
    return path


def test_the_command_says_what_it_did_and_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names and shapes, and whether a number was rounded."""
    target = tmp_path / "keras.safetensors"
    status, out, _ = run_line(capsys, f"convert {layer(tmp_path, 'pytorch', 'gru_reset_after')} {target} --to keras")
    assert status == 0
    assert "recurrent_kernel  5 x 15" in out
    assert "exact: no number was rounded" in out
    assert list(read(str(target)).tensors) == ["kernel", "recurrent_kernel", "bias"]


def test_the_command_prints_its_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a target nothing is written."""
    source = layer(tmp_path, "keras", "lstm")
    found = printed(capsys, f"convert {source} --to pytorch")
    assert (found["source_framework"], found["target"], found["exact"]) == ("keras", None, True)
    assert found["tensors"]["weight_ih_l0"] == [20, 3]


@pytest.mark.parametrize(
    ("name", "of", "rest", "message"),
    [
        ("pytorch", "lstm", "--to caffe9", "framework: unknown 'caffe9'"),
        ("pytorch", "lstm", "--to keras --cell lstn", "name: unknown cell 'lstn'"),
        ("pytorch", "lstm", "--to keras --prefix encoder.", "prefix: no layer stands under 'encoder.'"),
        ("pytorch", "lstm", "--to keras --from keras", "no recurrent layer of a known layout is in it"),
        ("pytorch", "lstm", "--to keras --layer GRU", "convert: Keras's GRU does not compute lstm"),
        ("pytorch", "rnn", "--to keras --forget-bias 1", "forget bias: rnn has no forget gate"),
        ("onnx", "gru_cho", "--from onnx --to keras", "cell: gru_cho and gru_reset_after have the same tensors"),
        ("pytorch", "lstm", "out.onnx --to keras", "'out.onnx' would hold layers of keras"),
        ("pytorch", "lstm", "out.bin --to keras", "'out.bin' does not say how to write it"),
        ("pytorch", "lstm", "--to keras --dtype float8", "dtype: unknown 'float8'; did you mean 'float64'?"),
        ("pytorch", "lstm", "--to keras --dtype bfloat16", "are no bfloat16, and would be rounded"),
        ("keras", "gru_cho", "--to pytorch", "U_n @ (r * h_prev) is not r * (U_n @ h_prev)"),
    ],
)
def test_what_cannot_be_converted_is_one_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, of: str, rest: str, message: str
) -> None:
    """With the remedy, and status 2."""
    status, out, err = run_line(capsys, f"convert {layer(tmp_path, name, of)} {rest}")
    assert (status, out) == (2, "")
    assert message in err
    assert "help: " in err


def _torch() -> Any:
    return pytest.importorskip("torch", reason="PyTorch is not installed: make oracles")


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_a_stack_as_an_onnx_model_computes_what_pytorch_computes(
    kind: str, layers: int, both: bool, bias: bool, tmp_path: Path
) -> None:
    """By ONNX's reference evaluator, and every node of it is found again."""
    torch, onnx = _torch(), pytest.importorskip("onnx", reason="onnx is not installed: make oracles")
    from onnx.reference import ReferenceEvaluator

    torch.manual_seed(layers)
    module = getattr(torch.nn, kind)(3, 5, layers, bias=bias, bidirectional=both)
    source, target = tmp_path / "model.pt", tmp_path / "model.onnx"
    torch.save(module.state_dict(), source)
    assert convert(str(source), str(target), "onnx", cell="rnn" if kind == "RNN" else None).exact
    onnx.checker.check_model(str(target), full_check=True)
    x = torch.randn(6, 4, 3)
    (y,) = ReferenceEvaluator(str(target)).run(None, {"X": x.numpy()})
    assert y.shape == (6, 2 if both else 1, 4, 5)
    assert np.allclose(y.transpose(0, 2, 1, 3).reshape(6, 4, -1), module(x)[0].detach().numpy(), atol=1e-6)
    again = units(read(str(target)))
    assert len(again) == layers * (2 if both else 1)
    assert [unit.widths["D"] for unit in again] == [3] * y.shape[1] + [5 * y.shape[1]] * (y.shape[1] * (layers - 1))


def half(tmp_path: Path, kind: str = "safetensors") -> tuple[str, dict[str, Any]]:
    """Return a PyTorch LSTM's file in bfloat16, written by PyTorch or by safetensors' own package, and its tensors."""
    torch = _torch()
    state = torch.nn.LSTM(3, 5, 2).to(torch.bfloat16).state_dict()
    state["bias_hh_l0"][0] = float("nan")
    path = tmp_path / f"half.{kind}"
    if kind == "pt":
        torch.save(state, path)
    else:
        pytest.importorskip("safetensors", reason="safetensors is not installed: make oracles")
        from safetensors.torch import save_file

        save_file(state, path)
    return str(path), state


@pytest.mark.parametrize("kind", ["safetensors", "pt"])
def test_bfloat16_is_read_to_the_bit(kind: str, tmp_path: Path) -> None:
    """As PyTorch reads it; float32 holds all of its numbers."""
    path, state = half(tmp_path, kind)
    found = read(path).tensors
    assert {tensor.dtype for tensor in found.values()} == {"bfloat16"}
    for name, tensor in found.items():
        assert tensor.read().dtype == np.float32
        assert np.array_equal(tensor.read(), state[name].float().numpy(), equal_nan=True)


def test_bfloat16_goes_to_another_layout_and_back_without_a_bit_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Through ONNX's layout; a sum of two biases may be no bfloat16, and is refused; NumPy's file has none."""
    path, state = half(tmp_path)
    there, back = str(tmp_path / "onnx.safetensors"), str(tmp_path / "back.safetensors")
    assert convert(path, there, "onnx", dtype="bfloat16").dtype == "bfloat16"
    assert convert(there, back, "pytorch", where="onnx", cell="lstm", dtype="bfloat16").exact
    from safetensors.torch import load_file

    torch = _torch()
    for name, tensor in load_file(back).items():
        assert torch.equal(tensor.view(torch.int16), state[name].view(torch.int16))
    found = convert(path, None, "onnx")
    assert found.dtype == "float32"
    assert found.notes == [
        "bfloat16 is written as float32, which holds each of its numbers: --dtype bfloat16 writes it as it is"
    ]
    status, _, err = run_line(capsys, f"convert {path} --to keras --dtype bfloat16")
    assert status == 2
    assert "of the 20 numbers of l0/bias are no bfloat16, and would be rounded" in err
    status, _, err = run_line(capsys, f"convert {path} {tmp_path / 'half.npz'} --to onnx --dtype bfloat16")
    assert status == 2
    assert "cannot be written in bfloat16" in err


@pytest.mark.parametrize(("given", "asked", "fits"), [("float64", "float16", False), ("float16", "float64", True)])
def test_a_type_is_changed_where_no_number_is_rounded(given: str, asked: str, fits: bool, tmp_path: Path) -> None:
    """And refused where one would be."""
    source = tmp_path / "layer.npz"
    numbers = np.random.default_rng(3)
    np.savez(source, weight_ih_l0=numbers.normal(size=(20, 3)).astype(given), weight_hh_l0=np.zeros((20, 5), given))
    if fits:
        target = str(tmp_path / "target.npz")
        convert(str(source), target, "keras", dtype=asked)
        assert np.load(target)["kernel"].dtype == asked
    else:
        with pytest.raises(GatecalcError, match=r"of the 60 numbers of kernel are no float16, and would be rounded"):
            convert(str(source), None, "keras", dtype=asked)
