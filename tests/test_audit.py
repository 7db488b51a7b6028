"""Audits: real tables and files, tables with an error in them, and files that mean harm."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gatecalc import GatecalcError
from gatecalc.counts.layouts import layout
from gatecalc.models.artefacts import BINARY, read
from gatecalc.models.audit import audit
from gatecalc.models.weights import write
from tests.test_counting_commands import run

# Printed by Keras 3.15.1; the layer whose name is broken off comes from a second model.
KERAS = """
Model: "sequential"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩
│ embedding (Embedding)           │ (None, 6, 3)           │           300 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ lstm (LSTM)                     │ (None, 6, 5)           │           180 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ bidirectional (Bidirectional)   │ (None, 6, 8)           │           264 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ simple_rnn (SimpleRNN)          │ (None, 6)              │            84 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ dense (Dense)                   │ (None, 7)              │            49 │
└─────────────────────────────────┴────────────────────────┴───────────────┘
 Total params: 877 (3.43 KB)

│ input_layer_1 (InputLayer)      │ (None, 6, 3)           │             0 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ a_rather_long_name_of_a_layer   │ (None, 100)            │        21,600 │
│ (Bidirectional)                 │                        │               │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ dense_1 (Dense)                 │ (None, 2)              │           202 │
└─────────────────────────────────┴────────────────────────┴───────────────┘
 Total params: 21,802 (85.16 KB)
"""

TORCHINFO = """
==========================================================================================
Layer (type:depth-idx)                   Output Shape              Param #
==========================================================================================
Net                                      [4, 7]                    --
├─LSTM: 1-1                              [4, 6, 5]                 440
├─GRU (second): 1-2                      [4, 6, 8]                 264
├─Linear: 1-3                            [4, 6, 7]                 63
==========================================================================================
Total params: 767
Total mult-adds (Units.KILOBYTES): 21.50
"""


def saved(tmp_path: Path, text: str, name: str = "summary.txt") -> str:
    """Write a text and return its path."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_table_by_keras_is_right_row_by_row(tmp_path: Path) -> None:
    """Two tables, a name broken off, and the totals."""
    found = audit(saved(tmp_path, KERAS))
    assert {row.verdict for row in found.table} == {"exact"}
    assert [row.printed for row in found.table] == [180, 264, 84, 49, 877, 21_600, 202, 21_802]
    assert found.table[1].note == "gru_reset_after, D = 5, H = 4, two directions, bias rule 'double'"


@pytest.mark.parametrize("figure", ["180", "264", "84", "877", "21,600", "21,802"])
@pytest.mark.parametrize("step", [1, -1])
def test_a_figure_changed_by_one_is_not_exact(tmp_path: Path, figure: str, step: int) -> None:
    """Its row, or the total, or both."""
    changed = f"{int(figure.replace(',', '')) + step:,}"
    found = audit(saved(tmp_path, KERAS.replace(f" {figure} ", f" {changed} ")))
    assert [row for row in found.table if row.verdict == "wrong"]


def test_a_table_by_torchinfo_is_right_row_by_row(tmp_path: Path) -> None:
    """Two layers of an LSTM whose input width the table does not tell, and both directions of a GRU behind it."""
    found = audit(saved(tmp_path, TORCHINFO))
    assert [(row.printed, row.verdict) for row in found.table][1:] == [(264, "exact"), (63, "exact"), (767, "exact")]
    assert found.table[0].verdict in ("exact", "undecided")
    assert "the biases" in found.notes[0]


def test_a_count_that_no_width_gives_is_wrong_and_status_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what should stand there, where the row above tells the input width."""
    text = KERAS.replace("           180 │", "           181 │")
    status, out, _ = run(capsys, f"audit {saved(tmp_path, text)}")
    assert status == 1
    assert "no option of LSTM gives it; it is 180 for 3 inputs" in out


def test_a_projection_that_a_table_does_not_tell_is_said(tmp_path: Path) -> None:
    """Printed by torchinfo for nn.LSTM(8, 9, 2, bidirectional=True, proj_size=3) above an embedding of 8."""
    text = "├─Embedding: 1-1      [2, 7, 8]      800\n├─LSTM: 1-2      [2, 7, 6]      1,836\n"
    (row,) = audit(saved(tmp_path, text)).table
    assert row.verdict == "undecided"
    assert row.note == "right for lstm_projected, D = 8: H = 9, P = 3, 2 layers, two directions, bias rule 'double'"


def test_a_count_of_an_lstm_that_no_projection_gives_is_wrong(tmp_path: Path) -> None:
    """One more than the right one; without a row above, a projection might explain it."""
    above = "├─Embedding: 1-1      [2, 7, 8]      800\n"
    text = "├─LSTM: 1-2      [2, 7, 6]      1,837\n"
    (row,) = audit(saved(tmp_path, above + text)).table
    assert (row.verdict, row.value) == ("wrong", 384)
    (row,) = audit(saved(tmp_path, text)).table
    assert row.verdict == "undecided"


def test_tensors_tell_the_layer_its_widths_and_its_rule(tmp_path: Path) -> None:
    """A state dict with a layer under a prefix, between others."""
    shapes = layout("lstm_projected", "pytorch", 3, 5, 2, layers=2, bidirectional=True).tensors
    arrays: dict[str, Any] = {f"encoder.lstm.{name}": np.zeros(shape, "float32") for name, shape in shapes.items()}
    path = str(tmp_path / "model.safetensors")
    write(path, arrays | {"head.weight": np.zeros((7, 4), "float32")})
    (layer,) = audit(path).layers
    assert (layer.name, layer.framework, layer.cell) == ("encoder.lstm", "pytorch", "lstm_projected")
    assert (layer.input, layer.hidden, layer.projection, layer.layers, layer.directions) == (3, 5, 2, 2, 2)
    assert (layer.parameters, layer.counted, layer.bias) == (640, 640, "double")
    assert (audit(path).parameters, audit(path).recurrent) == (640 + 28, 640)


def test_an_exception_to_the_bias_rules_is_said(tmp_path: Path) -> None:
    """Flax's nnx GRU: reset-after with three bias vectors."""
    shapes = layout("gru_reset_after", "flax-nnx", 3, 5).tensors
    path = str(tmp_path / "gru.npz")
    write(path, {name: np.zeros(shape) for name, shape in shapes.items()})
    (layer,) = audit(path).layers
    assert (layer.framework, layer.parameters, layer.counted, layer.bias) == ("flax-nnx", 135, 140, "listed")
    assert layer.note == "an exception to the bias rules: it has no b_u"


def test_a_keras_configuration_is_counted(tmp_path: Path) -> None:
    """Both directions, another reset form, no bias, a cell inside an RNN, and an unknown input width."""

    def layer(kind: str, inputs: int | None = None, **config: Any) -> dict[str, Any]:
        built = {"build_config": {"input_shape": [None, 6, inputs]}} if inputs else {}
        return {"class_name": kind, "config": config, **built}

    model = layer(
        "Sequential",
        layers=[
            layer("Bidirectional", 3, layer=layer("LSTM", units=5, name="both")),
            layer("GRU", 10, units=5, reset_after=False, name="before"),
            layer("SimpleRNN", 5, units=5, use_bias=False, name="plain"),
            layer("RNN", 5, cell=layer("LSTMCell", units=5, name="inside")),
            layer("GRU", units=5, name="untold", activation="relu"),
        ],
    )
    found = audit(saved(tmp_path, json.dumps(model), "config.json")).layers
    assert [(each.name, each.cell, each.parameters) for each in found] == [
        ("both", "lstm", 360),
        ("before", "gru_cho", 240),
        ("plain", "rnn", 50),
        ("inside", "lstm", 220),
        ("untold", "gru_reset_after", None),
    ]
    assert found[-1].formula == "15*(D + 7)"
    assert found[-1].note == "its activations are relu and sigmoid"


class Harm:
    """What a hostile pickle would run."""

    def __reduce__(self) -> Any:
        """Ask for a file to be written."""
        return (open, ("harm-was-done", "w"))


def archive(content: Any, name: str = "archive/data.pkl") -> bytes:
    """Return a zip archive with a pickle in it, as torch.save writes it."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr(name, content if isinstance(content, bytes) else pickle.dumps(content, 2))
    return data.getvalue()


def safetensors(header: Any, data: bytes = b"") -> bytes:
    """Return a .safetensors file with any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def objects() -> bytes:
    """Return an .npz file with an array of Python objects."""
    data = io.BytesIO()
    np.savez(data, a=np.array([Harm()], dtype=object))
    return data.getvalue()


F32 = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
BAD = {
    "empty": b"",
    "rubbish": bytes(range(256)) * 3,
    "zeros": bytes(100),
    "a pickle": pickle.dumps(Harm()),
    "a pickle of a dictionary": pickle.dumps({"a": 1}),
    "code in a torch file": archive({"weight": Harm()}),
    "code in a torch file, protocol 4": archive(pickle.dumps({"weight": Harm()}, 4)),
    "os.system": archive(b"cos\nsystem\n(S'true'\ntR."),
    "an instance": archive(b"ios\nsystem\n."),
    "a pickle without an end": archive(b"\x80\x02}q\x00"),
    "a pickle that pops nothing": archive(b"\x80\x02R."),
    "a memo that is not there": archive(b"\x80\x02h\x05."),
    "a cut torch file": archive({"a": 1})[:-10],
    "a dictionary that holds itself": archive(b"\x80\x02}q\x00X\x01\x00\x00\x00ah\x00s."),
    "objects in an npz": objects(),
    "a zip without a model": archive(b"text", "readme.txt"),
    "HDF5": b"\x89HDF\r\n\x1a\n" + bytes(100),
    "a tensor outside the file": safetensors({"a": F32 | {"data_offsets": [0, 8]}}),
    "a tensor of the wrong size": safetensors({"a": F32 | {"shape": [3]}}, bytes(8)),
    "a negative shape": safetensors({"a": F32 | {"shape": [-1, -2]}}, bytes(8)),
    "a shape of text": safetensors({"a": F32 | {"shape": "22"}}, bytes(8)),
    "an unknown number type": safetensors({"a": F32 | {"dtype": "F31"}}, bytes(8)),
    "a header that is no JSON": safetensors(b"{nonsense"),
    "a header of lists": safetensors(b"{" + b'"a":[' * 5000),
    "a header without offsets": safetensors({"a": {"dtype": "F32", "shape": [2]}}),
    "deep JSON": b'{"a":' + b"[" * 200_000,
    "a configuration without layers": b'{"class_name": "Sequential", "config": {"layers": []}}',
    "text without a table": b"once upon a time",
    "an ONNX file cut short": bytes([0x3A, 0x7F, 0x0A]),
    "an ONNX varint without end": b"\x3a\x80" + b"\xff" * 40,
}


@pytest.mark.parametrize("name", BAD)
def test_a_broken_or_hostile_file_is_one_error_and_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """One line with the path, one with the remedy, status 2."""
    monkeypatch.chdir(tmp_path)
    Path("model.bin").write_bytes(BAD[name])
    status, out, err = run(capsys, "audit model.bin")
    assert (status, out) == (2, "")
    assert err.startswith("model.bin: ")
    assert len(err.splitlines()) == 2
    assert err.splitlines()[1].startswith("help: ")
    assert not Path("harm-was-done").exists()


@pytest.mark.parametrize("ending", BINARY)
def test_text_under_the_name_of_a_model_file_is_no_table(tmp_path: Path, ending: str) -> None:
    """As two bytes that are left of a download."""
    path = tmp_path / f"model{ending}"
    path.write_bytes(b"PK")
    with pytest.raises(GatecalcError, match="cut short or damaged, or no such file as its name says"):
        read(str(path))


def test_a_name_that_a_pickle_calls_is_in_the_error(tmp_path: Path) -> None:
    """So that one sees what would have been run."""
    path = tmp_path / "model.pt"
    path.write_bytes(BAD["os.system"])
    with pytest.raises(GatecalcError, match=r"calls 'os\.system', which would run code"):
        read(str(path))


@pytest.mark.parametrize("cut", range(0, 200, 7))
def test_a_file_cut_anywhere_is_an_error_or_less(tmp_path: Path, cut: int) -> None:
    """Never a traceback."""
    whole = tmp_path / "whole.safetensors"
    write(str(whole), {"weight_ih_l0": np.zeros((20, 3), "float32"), "weight_hh_l0": np.zeros((20, 5), "float32")})
    part = tmp_path / "part.safetensors"
    part.write_bytes(whole.read_bytes()[:-cut] if cut else b"")
    with pytest.raises(GatecalcError):
        audit(str(part))


def test_of_several_files_the_others_are_still_audited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the status is 2."""
    good = saved(tmp_path, KERAS)
    status, out, err = run(capsys, f"audit {tmp_path / 'absent.onnx'} {good}")
    assert status == 2
    assert "lstm" in out
    assert "cannot read it" in err


@pytest.mark.parametrize("kind", ["safetensors", "npz", "pt", "json", "txt"])
def test_flipped_bytes_are_an_error_or_a_finding_and_never_a_crash(kind: str, tmp_path: Path) -> None:
    """Two hundred damaged copies of each kind, read to the last tensor."""
    import random

    source, damaged = tmp_path / f"a.{kind}", tmp_path / "damaged"
    if kind in ("safetensors", "npz"):
        write(str(source), {"weight_ih_l0": np.zeros((20, 3), "float32"), "weight_hh_l0": np.zeros((20, 5), "float32")})
    elif kind == "pt":
        source.write_bytes(archive({"epoch": 3, "state": {"names": ["a", "b"], "sizes": (1, 2.5, None, True)}}))
    else:
        model = {"class_name": "GRU", "config": {"units": 5}, "build_config": {"input_shape": [None, 6, 3]}}
        source.write_text(json.dumps(model) if kind == "json" else KERAS, encoding="utf-8")
    whole, dice = source.read_bytes(), random.Random(5)
    for _ in range(200):
        copy = bytearray(whole)
        for _ in range(dice.randint(1, 4)):
            copy[dice.randrange(len(copy))] = dice.randrange(256)
        damaged.write_bytes(copy[: dice.choice([len(copy), dice.randrange(len(copy))])])
        try:
            audit(str(damaged))
            for tensor in read(str(damaged)).tensors.values():
                tensor.read()
        except GatecalcError:
            continue
