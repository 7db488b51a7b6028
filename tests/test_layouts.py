"""Every row of every framework's layout: complete, disjoint, and as large as its bias rule says."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from gatecalc import GatecalcError
from gatecalc.cell import built_in, cell, is_bias
from gatecalc.counts.counting import bias_vectors, parameters
from gatecalc.counts.layouts import LAYOUTS, Row, framework, frameworks, layout, stack

WIDTHS = {"D": 3, "H": 5, "P": 2}
FILES = sorted(path.stem for path in Path(LAYOUTS).glob("*.toml"))
ROWS = [row for name in FILES for row in framework(name).rows]


def _id(row: Row) -> str:
    return f"{row.framework}-{row.names[0]}-{row.cell}"


LAYER_KEYS = {
    *("framework", "cell", "names", "when", "gates", "bias", "biases", "absent", "bias_off", "reset", "z", "added"),
    *("added_note", "directions", "prefix", "other_meaning", "source", "source_note", "verified", "note", "tensor"),
}
TENSOR_KEYS = {
    *("name", "template", "shape", "holds", "gates", "axis", "orientation", "side", "drop", "direction_axis"),
    *("layer_axis", "parts", "parts_axis", "order", "optional", "only_shape"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_layout_file_holds_only_what_its_schema_lists(name: str) -> None:
    """A misspelt key would be silently without effect."""
    data = tomllib.loads((Path(LAYOUTS) / f"{name}.toml").read_text(encoding="utf-8"))
    assert set(data) <= {"framework", "layer", "refused"}
    assert set(data["framework"]) == {"name", "aliases", "title", "versions"}
    assert data["framework"]["name"] == name
    for row in data["layer"]:
        assert set(row) <= LAYER_KEYS
        for tensor in row["tensor"]:
            assert set(tensor) <= TENSOR_KEYS
        assert row["source"]
        assert row["verified"] in ("run", "run-shapes", "source")
    for entry in data.get("refused", ()):
        assert {"names", "near", "reason", "source"} <= set(entry)
        assert entry["near"] in built_in()


@pytest.mark.parametrize("row", ROWS, ids=_id)
def test_every_parameter_of_the_cell_has_its_place(row: Row) -> None:
    """As often as the bias rule says, with the cell's shape once it is cut out, and no element twice or unused."""
    of = cell(row.cell)
    found: dict[str, int] = {}
    for tensor in row.tensors:
        elements = 0
        for block in tensor.blocks(WIDTHS):
            shape = [stop - start for axis, (start, stop) in enumerate(block.ranges) if axis not in block.drop]
            assert all(block.ranges[axis][1] - block.ranges[axis][0] == 1 for axis in block.drop)
            if block.transposed:
                shape.reverse()
            expected = [WIDTHS[width] for width in of.parameters[block.parameter]]
            assert shape == expected, (tensor.name, block)
            found[block.parameter] = found.get(block.parameter, 0) + 1
            size = 1
            for start, stop in block.ranges:
                size *= stop - start
            elements += size
        whole = 1
        for extent in tensor.extents(WIDTHS):
            whole *= extent
        assert elements == (0 if tensor.only_shape else whole), tensor.name
    matrices = {parameter: 1 for parameter in of.parameters if not is_bias(parameter)}
    biases = bias_vectors(of, "single" if row.bias == "listed" else row.bias)
    assert found == matrices | {bias: number for bias, number in biases.items() if bias not in row.absent}


@pytest.mark.parametrize("row", ROWS, ids=_id)
def test_a_layout_has_as_many_parameters_as_its_rule_counts(row: Row) -> None:
    """The sizes of the tensors against the polynomial."""
    projection = 2 if "P" in cell(row.cell).dimensions else None
    found = layout(row.cell, row.framework, 3, 5, projection, layer=row.names[0])
    rule = parameters(row.cell, "single" if found.bias == "listed" else found.bias)(**WIDTHS)
    absent = next(each for each in ROWS if each.framework == row.framework and each.source == found.source).absent
    assert found.parameters == rule - 5 * len(absent)


def test_the_two_layouts_that_leave_the_bias_inside_the_reset_out() -> None:
    """Reset-after with three bias vectors: no rule, and listed as such."""
    listed = {(row.framework, row.absent) for row in ROWS if row.bias == "listed"}
    assert ("flax-nnx", ("b_u",)) in listed
    assert layout("gru_reset_after", "flax-nnx", 3, 5).parameters == 135


def test_pytorch_lays_out_the_lstm_as_its_documentation_says() -> None:
    """Shapes, the order i f g o, and the rows of the forget gate."""
    found = layout("lstm", "pytorch", 3, 5)
    assert found.tensors == {
        "weight_ih_l0": [20, 3],
        "weight_hh_l0": [20, 5],
        "bias_ih_l0": [20],
        "bias_hh_l0": [20],
    }
    assert [(gate.gate, gate.first_row, gate.last_row) for gate in found.gates] == [
        ("i", 0, 4),
        ("f", 5, 9),
        ("g", 10, 14),
        ("o", 15, 19),
    ]
    assert found.parameters == 200


def test_a_stack_of_layers_has_the_names_and_shapes_of_pytorchs_state_dict() -> None:
    """Recorded from torch 2.13.0, nn.LSTM(3, 5, num_layers=2, bidirectional=True, proj_size=2)."""
    found = layout("lstm_projected", "pytorch", 3, 5, 2, layers=2, bidirectional=True)
    assert found.tensors["weight_ih_l1_reverse"] == [20, 4]
    assert found.tensors["weight_hr_l1"] == [2, 5]
    assert list(found.tensors)[:5] == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_hr_l0"]
    assert found.parameters == 640


@pytest.mark.parametrize(
    ("of", "where", "meant"),
    [("gru", "pytorch", "gru_reset_after"), ("gru_cho", "pytorch", "gru_reset_after"), ("gru", "tf1", "gru_cho")],
)
def test_a_name_that_means_another_cell_there_is_refused_with_the_one_meant(of: str, where: str, meant: str) -> None:
    """The remedy is a command that works."""
    with pytest.raises(GatecalcError) as caught:
        layout(of, where, 3, 5)
    assert meant in caught.value.message
    assert caught.value.help == f"gatecalc layout {meant} --framework {where}"
    assert layout(meant, where, 3, 5).parameters


def test_pytorchs_gru_is_named_in_one_line() -> None:
    """The message that a user of gru sees."""
    with pytest.raises(GatecalcError, match=r"^layout: PyTorch's GRU is gru_reset_after, not gru\n"):
        layout("gru", "pytorch", 3, 5)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("lstm", "torhc", 3, 5), {}, "framework: unknown 'torhc'; did you mean 'torch'?"),
        (("mgu", "pytorch", 3, 5), {}, "layout: PyTorch has no layer that computes mgu"),
        (("lstm_projected", "pytorch", 3, 5), {}, "width: lstm_projected has a width P, which is not given"),
        (("lstm", "keras", 3, 5), {"layers": 2}, "layers: one LSTM is one layer"),
        (("lstm", "pytorch", 0, 5), {}, "input: 0 is not a positive whole number"),
        (("lstm", "pytorch", 3, 5), {"layer": "GRU"}, "layer: PyTorch has no 'GRU' that computes lstm"),
        (("lstm", "tf1", 3, 5), {"bias": False}, "bias: BasicLSTMCell always has its biases"),
    ],
    ids=str,
)
def test_what_a_framework_does_not_have_is_one_clear_error(arguments: tuple, options: dict, message: str) -> None:
    """With what it has instead."""
    with pytest.raises(GatecalcError) as caught:
        layout(*arguments, **options)
    assert caught.value.message == message
    assert caught.value.help


def test_every_alias_is_unique() -> None:
    """A name means one framework."""
    names = [
        alias
        for name in FILES
        for alias in (name, *tomllib.loads((Path(LAYOUTS) / f"{name}.toml").read_text())["framework"]["aliases"])
    ]
    assert len(names) == len(set(names)) == len(frameworks())


@pytest.mark.parametrize("row", [row for row in ROWS if row.directions], ids=_id)
def test_a_stacks_names_are_all_different(row: Row) -> None:
    """Two layers in two directions."""
    widths = WIDTHS | {"L": 2}
    names = [
        name
        for name, _, _ in stack(
            row, cell(row.cell), widths, 2 if "{layer}" in (row.tensors[0].template or "") else 1, True
        )
    ]
    assert len(names) == len(set(names))
