"""Keras files: written by Keras itself, read without it and without the HDF5 library, agreeing with both."""

from __future__ import annotations

import io
import json
import os
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gatecalc import GatecalcError
from gatecalc.models import hdf5file
from gatecalc.models.artefacts import read
from gatecalc.models.audit import Audit, audit
from gatecalc.models.weights import convert
from tests.test_counting_commands import run


def _keras() -> Any:
    pytest.importorskip("torch", reason="PyTorch is not installed: make oracles")
    os.environ.setdefault("KERAS_BACKEND", "torch")
    return pytest.importorskip("keras", reason="Keras is not installed: make oracles")


def sequential() -> Any:
    """Return a model with every kind of layer, both resets, no bias, two of one class, and layers of other kinds."""
    keras = _keras()
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((6, 3)),
            layers.Bidirectional(layers.LSTM(5, return_sequences=True), name="both"),
            layers.GRU(4, return_sequences=True, name="mine"),
            layers.Dropout(0.5),
            layers.GRU(4, return_sequences=True, reset_after=False),
            layers.SimpleRNN(7, use_bias=False),
            layers.Dense(2),
        ]
    )


def functional() -> Any:
    """Return a model with cells in an RNN, a model inside, two outputs, and a layer in a wrapper."""
    keras = _keras()
    layers = keras.layers
    start = keras.Input((6, 3))
    cells = layers.RNN([layers.LSTMCell(4), layers.GRUCell(5)], return_sequences=True)(start)
    inner = keras.Sequential([keras.Input((6, 5)), layers.LSTM(9, return_sequences=True)], name="inner")(cells)
    return keras.Model(start, [layers.LSTM(3)(cells), layers.TimeDistributed(layers.Dense(3))(inner)])


MODELS = {"sequential": (sequential, [360, 192, 108, 77]), "functional": (functional, [128, 165, 540, 108])}


def written(model: Any, path: Path) -> str:
    """Save a trained model, so that its optimiser has a state, and return the path."""
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)
    model.save(str(path))
    return str(path)


def changed(path: str, entry: str, change: Any) -> str:
    """Rewrite one entry of a .keras file; return the new path."""
    target = path.replace(".keras", "-changed.keras")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, change(data) if name == entry else data)
    return target


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["keras", "h5"])
@pytest.mark.parametrize("name", MODELS)
def test_the_weights_that_keras_writes_agree_with_its_configuration(name: str, kind: str, tmp_path: Path) -> None:
    """Layer by layer, and in all as Keras counts its own."""
    make, counts = MODELS[name]
    model = make()
    found = audit(written(model, tmp_path / f"model.{kind}"))
    assert [layer.parameters for layer in found.layers] == counts
    assert {layer.weights for layer in found.layers} == {"agree"}
    assert found.parameters == model.count_params()
    assert (found.kind, found.notes, found.recurrent) == ("keras", [], sum(counts))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["keras", "h5", "weights.h5"])
@pytest.mark.parametrize("name", MODELS)
def test_every_number_is_the_one_that_the_hdf5_library_reads(name: str, kind: str, tmp_path: Path) -> None:
    """By the path, the number type and the bits."""
    h5py = pytest.importorskip("h5py", reason="h5py is not installed: make oracles")
    path = tmp_path / f"model.{kind}"
    model = MODELS[name][0]()
    model.save_weights(str(path)) if kind == "weights.h5" else written(model, path)
    data = path.read_bytes() if kind != "keras" else zipfile.ZipFile(path).read("model.weights.h5")
    ours = hdf5file.content(hdf5file.source_of(data))
    theirs: dict[str, Any] = {}
    with h5py.File(io.BytesIO(data)) as file:
        file.visititems(lambda name, item: theirs.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
        assert {key: value for key, value in file.attrs.items() if isinstance(value, str)} == ours.attributes
    assert {key: (tensor.shape, tensor.dtype) for key, tensor in ours.tensors.items()} == {
        key: (value.shape, value.dtype.name) for key, value in theirs.items()
    }
    assert all(np.array_equal(ours.tensors[key].read(), value) for key, value in theirs.items())


def test_arrays_that_keras_does_not_write_are_read_or_refused(tmp_path: Path) -> None:
    """A compressed one, one in another file, links, many members in a group, the newer form."""
    h5py = pytest.importorskip("h5py", reason="h5py is not installed: make oracles")
    path = tmp_path / "odd.h5"
    with h5py.File(path, "w") as file:
        file["plain"] = np.arange(6.0).reshape(2, 3)
        for number in range(300):
            file[f"many/{number}"] = np.int16(number)
        file["soft"] = h5py.SoftLink("/plain")
        file.create_dataset("packed", data=np.zeros((50, 50)), compression="gzip")
        file.create_dataset("outside", (4,), "f4", external=[("another.bin", 0, 16)])
        file["big-endian"] = np.arange(3, dtype=">f4")
        file["text"] = "abc"
        file.create_dataset("empty", (3,), "f4")
    tensors = read(str(path)).tensors
    assert len([name for name in tensors if name.startswith("many/")]) == 300
    assert tensors["many/299"].read() == 299
    assert np.array_equal(tensors["plain"].read(), np.arange(6.0).reshape(2, 3))
    assert np.array_equal(tensors["empty"].read(), np.zeros(3))
    assert "soft" not in tensors
    for name in ("packed", "outside", "big-endian", "text"):
        with pytest.raises(GatecalcError, match=f"'{name}' is compressed, lies in another file, or holds no plain"):
            tensors[name].read()


def test_other_forms_of_hdf5_and_links_are_refused(tmp_path: Path) -> None:
    """Never followed: what is outside the file, and a tree that holds itself."""
    h5py = pytest.importorskip("h5py", reason="h5py is not installed: make oracles")
    path = tmp_path / "odd.h5"
    with h5py.File(path, "w", libver="latest") as file:
        file["plain"] = np.zeros(3)
    with pytest.raises(GatecalcError, match="a superblock of version"):
        read(str(path))
    with h5py.File(path, "w") as file:
        file["external"] = h5py.ExternalLink("another.h5", "/plain")
    with pytest.raises(GatecalcError, match="groups of the newer form"):
        read(str(path))
    with h5py.File(path, "w") as file:
        file["group/itself"] = file.create_group("group")
    with pytest.raises(GatecalcError, match="its tree holds itself"):
        read(str(path))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        ('"units": 4', '"units": 6', "kernel is 10 x 12 in the weights, and 10 x 18 in the configuration"),
        ('"reset_after": false', '"reset_after": true', "bias is 12 in the weights, and 2 x 12 in the configuration"),
        ('"use_bias": false', '"use_bias": true', "bias is not in the weights, and 7 in the configuration"),
    ],
)
def test_weights_that_contradict_the_configuration_are_status_one(
    old: str, new: str, note: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the layer, with both shapes."""
    path = written(sequential(), tmp_path / "model.keras")
    path = changed(path, "config.json", lambda data: data.replace(old.encode(), new.encode()))
    status, out, _ = run(capsys, f"audit {path}")
    assert status == 1
    assert "its weights disagree with the configuration" in out
    assert note in out


@pytest.mark.filterwarnings("ignore")
def test_layers_that_no_configuration_describes_are_found_by_their_weights(tmp_path: Path) -> None:
    """Those of a model of one's own class, and those of a file of weights alone."""
    path = written(sequential(), tmp_path / "model.keras")
    bare = json.dumps({"class_name": "Mine", "config": {}}).encode()
    found = audit(changed(path, "config.json", lambda data: bare))
    assert sorted(layer.parameters or 0 for layer in found.layers) == [77, 108, 180, 180, 192]
    model = sequential()
    model.save_weights(str(tmp_path / "model.weights.h5"))
    found = audit(str(tmp_path / "model.weights.h5"))
    assert (found.kind, found.parameters, len(found.layers)) == ("hdf5", model.count_params(), 5)


@pytest.mark.filterwarnings("ignore")
def test_a_layer_of_a_keras_file_is_converted(tmp_path: Path) -> None:
    """Gate by gate: PyTorch's GRU with Keras' weights gives Keras' numbers."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: make oracles")
    keras = _keras()
    model = keras.Sequential([keras.Input((6, 3)), keras.layers.GRU(4)])
    target = str(tmp_path / "torch.npz")
    convert(written(model, tmp_path / "model.keras"), target, "pytorch")
    gru = torch.nn.GRU(3, 4, batch_first=True)
    gru.load_state_dict({name: torch.from_numpy(array) for name, array in np.load(target).items()})
    x = np.random.default_rng(1).normal(size=(2, 6, 3)).astype("float32")
    ours = gru(torch.from_numpy(x))[0][:, -1].detach().numpy()
    assert np.allclose(ours, np.asarray(model(x).detach() if hasattr(model(x), "detach") else model(x)), atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_bfloat16_weights_are_read_to_the_bit(tmp_path: Path) -> None:
    """HDF5 has no such type of old: Keras marks it."""
    keras = _keras()
    model = keras.Sequential([keras.Input((6, 3)), keras.layers.LSTM(5, dtype="bfloat16")])
    tensors = read(written(model, tmp_path / "model.keras")).tensors
    stored = sorted(tensors.values(), key=lambda tensor: tensor.shape)
    assert {tensor.dtype for tensor in stored} == {"bfloat16"}
    wanted = sorted((weight.value.float().detach().numpy() for weight in model.weights), key=lambda array: array.shape)
    assert all(np.array_equal(tensor.read(), array) for tensor, array in zip(stored, wanted, strict=True))


def test_a_configuration_alone_says_that_there_are_no_weights(tmp_path: Path) -> None:
    """And what is said is by the configuration."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"class_name": "LSTM", "config": {"units": 5}}), encoding="utf-8")
    found = audit(str(path))
    assert found.layers[0].weights is None
    assert found.notes == ["there are no weights in it; what is said is by the configuration alone"]


@pytest.mark.filterwarnings("ignore")
def test_weights_in_a_form_that_is_not_read_are_left_out_and_it_is_said(tmp_path: Path) -> None:
    """The configuration is audited all the same."""
    h5py = pytest.importorskip("h5py", reason="h5py is not installed: make oracles")
    data = io.BytesIO()
    with h5py.File(data, "w", libver="latest") as file:
        file["plain"] = np.zeros(3)
    path = written(sequential(), tmp_path / "model.keras")
    found = audit(changed(path, "model.weights.h5", lambda _: data.getvalue()))
    assert [(layer.parameters, layer.weights) for layer in found.layers] == [(n, None) for n in MODELS["sequential"][1]]
    assert found.notes == [
        "its weights are left out: it is HDF5 with a superblock of version 3, a form that is not read here; "
        "what is said is by the configuration alone"
    ]


@pytest.mark.filterwarnings("ignore")
def test_a_compressed_archive_is_read_and_a_bomb_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real size counts, whatever the archive says."""
    path = written(sequential(), tmp_path / "model.keras")
    packed = str(tmp_path / "packed.keras")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    assert audit(packed).layers == audit(path).layers
    monkeypatch.setattr("gatecalc.models.artefacts.MAX_HEADER", 10_000)
    status, _, err = run(capsys, f"audit {packed}")
    assert status == 2
    assert "limit: 'model.weights.h5' has more than 10,000 bytes" in err


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["keras", "h5", "weights.h5"])
def test_damaged_copies_are_an_error_or_a_finding_and_never_a_crash(kind: str, tmp_path: Path) -> None:
    """Three hundred of each kind, cut and flipped, read to the last tensor."""
    source, damaged = tmp_path / f"model.{kind}", tmp_path / "damaged"
    model = sequential()
    model.save_weights(str(source)) if kind == "weights.h5" else written(model, source)
    whole, dice = source.read_bytes(), random.Random(5)
    results: list[Audit | None] = []
    for _ in range(300):
        copy = bytearray(whole)
        for _ in range(dice.randint(1, 6)):
            copy[dice.randrange(len(copy))] = dice.randrange(256)
        damaged.write_bytes(copy[: dice.choice([len(copy), dice.randrange(len(copy))])])
        try:
            results.append(audit(str(damaged)))
            for tensor in read(str(damaged)).tensors.values():
                tensor.read()
        except GatecalcError:
            results.append(None)
    assert None in results
    assert any(results)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("kind", ["keras", "h5", "weights.h5"])
def test_a_file_cut_short_is_one_line_and_status_two(
    kind: str, part: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever it is cut."""
    source = tmp_path / f"model.{kind}"
    model = sequential()
    model.save_weights(str(source)) if kind == "weights.h5" else written(model, source)
    source.write_bytes(source.read_bytes()[: int(part * source.stat().st_size)])
    status, out, err = run(capsys, f"audit {source}")
    assert (status, out, len(err.splitlines())) == (2, "", 2)
    assert "cut short or damaged" in err
