"""Training runs: published tables, reproducibility, resuming, and what is refused."""

from __future__ import annotations

import csv
import gc
import json
import signal
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from gatecalc import GatecalcError, train
from gatecalc.cell import built_in, cell
from gatecalc.cli import gatecalc
from gatecalc.networks.crand import LIBRARIES, fractions, library
from gatecalc.networks.initial import INITIAL, Numbers, draw
from gatecalc.networks.network import Network
from gatecalc.networks.optimisers import OPTIMISERS
from gatecalc.networks.options import Options
from gatecalc.networks.sweep import sweep
from gatecalc.networks.tasks import LOSSES, TASKS, task
from gatecalc.networks.training import Trainer, can_mix

# The settings of the trainer of 'LSTM and GRU: gates that decide what to keep', found from its printed figures.
RNN = {"W": 0.5, "U": 0.5, "V": 0.5}
LSTM = {"W_f": 0.5, "W_i": 0.5, "W_g": 0.5, "W_o": 0.5, "V": 0.5}


RAISE: dict[str, Any] = {"catch_exceptions": False, "standalone_mode": False}


def options(values: dict[str, Any]) -> list[str]:
    return [part for name, value in values.items() for part in ("--set", f"{name}={value}")]


def run(*arguments: str) -> str:
    result = CliRunner().invoke(gatecalc, ["train", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_plain_rnn_learns_as_published() -> None:
    """Pass 8 and 25; never at 20 and 40."""
    found = sweep(
        "remember-first", "rnn", [5, 10, 20, 40], {name: [value] for name, value in RNN.items()}, Options(rate=0.5)
    )
    assert [row[1] for row in found.rows] == [8, 25, None, None]
    assert [f"{each.first_gradient['W']:.{digits}f}" for each, digits in zip(found.runs, (4, 5, 8, 14))] == [
        "-0.0226",
        "-0.00072",
        "-0.00000070",
        "-0.00000000000067",
    ]


def test_the_lstm_learns_as_published() -> None:
    """The twelve runs of the table, in one sweep, and the first gradients at forget bias 2."""
    varied = {name: [value] for name, value in LSTM.items()} | {"b_f": [0, 1, 2]}
    found = sweep("remember-first", "lstm", [5, 10, 20, 40], varied, Options(rate=0.3))
    assert [row[2] for row in found.rows] == [97, 745, None, None, 42, 64, 339, None, 30, 27, 31, 73]
    gradients = [each.first_gradient["W_g"] for each in found.runs[8:]]
    assert [f"{value:.{digits}f}" for value, digits in zip(gradients, (4, 4, 4, 5))] == [
        "-0.0557",
        "-0.0306",
        "-0.0088",
        "-0.00070",
    ]


def test_a_sweep_is_its_runs_one_by_one() -> None:
    """Vectorised over settings, or alone: the same passes and the same loss."""
    varied = {name: [value] for name, value in LSTM.items()} | {"b_f": [1, 2], "rate": [0.2, 0.3]}
    together = sweep("remember-first", "lstm", [5, 10], varied, Options(passes=60))
    for row, each in zip(together.rows, together.runs):
        alone = train("remember-first", "lstm", row[0], b_f=row[1], rate=row[2], passes=60, **LSTM)
        assert (alone.learned, alone.passes) == (each.learned, each.passes)
        assert each.loss == pytest.approx(alone.loss, rel=1e-12)
        assert each.weights == pytest.approx(alone.weights, rel=1e-12)


def test_a_sweep_with_dropout_is_its_runs_one_by_one() -> None:
    """Each has the masks that it would have alone, also after another has learned."""
    common: dict[str, Any] = {"hidden": 3, "initial": "uniform", "layers": 2, "dropout": 0.3, "passes": 8}
    lone = [train("count-bits", "lstm", 5, b_f=value, **common) for value in (0, 1)]
    common["threshold"] = min(lone[0].losses[2:5]) * (1 + 1e-9)
    found = sweep("count-bits", "lstm", [5], {"b_f": [0, 1]}, Options(**common))
    lone = [train("count-bits", "lstm", 5, b_f=value, **common) for value in (0, 1)]
    assert {run.passes for run in lone} != {8}
    for run, alone in zip(found.runs, lone):
        assert run.losses == pytest.approx(alone.losses, rel=1e-12)


@pytest.mark.parametrize("name", built_in())
@pytest.mark.parametrize("task_name", ["remember-first", "information", "count-bits", "adding"])
def test_runs_of_different_lengths_are_as_each_would_be_alone(task_name: str, name: str) -> None:
    """In one batch or, where the data do not allow it, one length after another; one is done before the others."""
    projection = {"projection": 2} if name == "lstm_projected" else {}
    common: dict[str, Any] = {"initial": "uniform", "hidden": 2, "passes": 4, "seed": 3, **projection}
    lengths = [12, 9, 10]
    alone = [train(task_name, name, length, rate=0.1, **common) for length in lengths]
    threshold = sorted(run.losses[-1] for run in alone)[0] * (1 + 1e-9)
    alone = [train(task_name, name, length, rate=0.1, threshold=threshold, **common) for length in lengths]
    found = sweep(task_name, name, lengths, {"rate": [0.1]}, Options(threshold=threshold, **common))
    for run, other in zip(found.runs, alone):
        assert (run.length, run.learned, run.passes) == (other.length, other.learned, other.passes)
        assert run.losses == pytest.approx(other.losses, rel=1e-12)
        assert run.weights is not None
        for weight, value in run.weights.items():
            assert np.array(value) == pytest.approx(np.array((other.weights or {})[weight]), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("task_name", ["remember-first", "information"])
def test_a_long_run_that_overflows_leaves_the_short_ones_alone(task_name: str) -> None:
    """3 to the 1000th is no float64, and what a short run computes after its end is not its own."""
    values = {"W": 1.0, "U": 3.0} | ({"V": 0.01} if task_name == "remember-first" else {})
    options = {"rate": 1e-4, "passes": 5}
    found = sweep(task_name, "rnn_relu", [5, 1000], {key: [value] for key, value in values.items()}, Options(**options))
    alone = train(task_name, "rnn_relu", 5, **values, **options)
    assert alone.diverged is None
    assert found.runs[0].losses == pytest.approx(alone.losses, rel=1e-12)
    assert found.runs[0].first_gradient == pytest.approx(alone.first_gradient, rel=1e-12)
    assert found.rows[1][1:] == [None, 1, None]


def test_which_runs_may_be_one_batch() -> None:
    """Small ones that are read at their ends alone, with as many sequences each."""
    options = Options()
    assert can_mix(task("remember-first"), [5, 40], options, 12)
    assert can_mix(task("count-bits"), [9, 12], options, 2)
    assert not can_mix(task("count-bits"), [3, 4], options, 2)  # 8 and 16 sequences
    assert not can_mix(task("copying"), [5, 6], options, 2)
    assert not can_mix(task("remember-first"), [5, 40], Options(hidden=512), 12)
    assert not can_mix(task("remember-first"), [5, 40], Options(layers=2), 12)
    assert not can_mix(task("remember-first"), [5, 40], Options(bidirectional=True), 12)


@pytest.mark.parametrize("name", built_in())
def test_every_cell_trains_on_every_task(name: str) -> None:
    """A few passes of Adam bring each loss down from where it was."""
    for each in TASKS.values():
        found = train(
            each.name,
            name,
            6,
            hidden=3,
            projection=2 if name == "lstm_projected" else None,
            initial="uniform",
            optimiser="adam",
            rate=0.01,
            passes=12,
            text="hello",
        )
        assert found.diverged is None
        first, last = np.mean(found.losses[:4]), np.mean(found.losses[-4:])
        assert last < first


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("extra", [{}, {"layers": 2, "bidirectional": True, "readout_bias": True}])
def test_the_gradient_of_every_loss_is_its_central_difference(loss: str, extra: dict[str, Any]) -> None:
    """Through the read-out, for tasks read at the last step and at every step."""
    for name in ("count-bits", "next-character"):
        trainer = Trainer(task(name, loss), cell("gru"), 3, [{}], Options(hidden=2, initial="uniform", **extra))
        trainer.evaluate()
        pairs = [
            (trainer.network.values[0], trainer.network.all_gradients[0].copy()),
            (trainer.readout_values[0], trainer.readout_gradients[0].copy()),
        ]
        for values, found in pairs:
            for index in range(0, values.size, 3):
                held = values[index]
                values[index] = held + 1e-5
                above = trainer.evaluate()[0]
                values[index] = held - 1e-5
                assert found[index] == pytest.approx((above - trainer.evaluate()[0]) / 2e-5, rel=1e-6, abs=1e-9)
                values[index] = held


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_an_optimiser_steps_as_torch_does(optimiser: str) -> None:
    """Twenty steps on the same gradients."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    values, gradient = np.array([[1.0, -2.0, 0.5]]), np.zeros((1, 3))
    own = OPTIMISERS[optimiser]([(values, gradient)], np.array([0.05]))
    leaf = torch.tensor(values.copy(), requires_grad=True)
    other = (
        torch.optim.Adam([leaf], 0.05)
        if optimiser == "adam"
        else torch.optim.SGD([leaf], 0.05, momentum=0.9 if optimiser == "momentum" else 0)
    )
    for _ in range(20):
        gradient[...] = np.tanh(values) + values
        own.step()
        other.zero_grad()
        (torch.log(torch.cosh(leaf)) + leaf**2 / 2).sum().backward()
        other.step()
    assert np.abs(values - leaf.detach().numpy()).max() < 1e-12


def test_the_same_seed_gives_the_same_bytes() -> None:
    """And another seed, another run."""
    first, again, other = (
        train("adding", "gru", 8, hidden=4, initial="orthogonal", seed=seed, passes=5) for seed in (1, 1, 2)
    )
    assert json.dumps(first.weights) == json.dumps(again.weights)
    assert first.losses != other.losses


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_a_run_that_is_resumed_is_a_run_that_never_stopped(optimiser: str, tmp_path: Path) -> None:
    """Weights, losses and random data, to the bit."""
    shared = {"hidden": 4, "initial": "uniform", "optimiser": optimiser, "rate": 0.01, "layers": 2, "dropout": 0.2}
    whole = train("adding", "lstm", 6, passes=12, **shared)
    train("adding", "lstm", 6, passes=5, save=str(tmp_path / "run.npz"), **shared)
    rest = train("adding", "lstm", 6, passes=12, resume=str(tmp_path / "run.npz"), **shared)
    assert rest.losses == whole.losses
    assert rest.weights == whole.weights
    assert rest.first_gradient == whole.first_gradient
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]


def test_a_run_that_has_learned_is_resumed_as_it_stands(tmp_path: Path) -> None:
    """No further pass is made."""
    first = train("remember-first", "rnn", 5, rate=0.5, save=str(tmp_path / "run.npz"), **RNN)
    assert train("remember-first", "rnn", 5, rate=0.5, resume=str(tmp_path / "run.npz"), **RNN) == first


@pytest.mark.parametrize("further", [{"go_on": True}, {"threshold": 0.0001}], ids=str)
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_a_run_that_has_learned_goes_on_as_if_it_had_never_stopped(
    optimiser: str, further: dict[str, Any], tmp_path: Path
) -> None:
    """The step of the pass at which it stopped is made when it goes on."""
    path, again = str(tmp_path / "run.npz"), str(tmp_path / "again.npz")
    common: dict[str, Any] = {"W": 0.5, "U": 0.5, "V": 0.5, "rate": 0.1, "optimiser": optimiser}
    whole = train("remember-first", "rnn", 5, passes=60, **common | further)
    first = train("remember-first", "rnn", 5, passes=60, save=path, **common)
    assert first.learned == first.passes < whole.passes
    train("remember-first", "rnn", 5, passes=60, resume=path, save=again, **common)  # nothing is left to do
    for saved in (path, again):
        resumed = train("remember-first", "rnn", 5, passes=60, resume=saved, **common | further)
        assert resumed == whole


def test_a_run_that_has_diverged_is_resumed_as_it_stands(tmp_path: Path) -> None:
    """At the pass at which it did."""
    path = str(tmp_path / "run.npz")
    common: dict[str, Any] = {"hidden": 4, "initial": "uniform", "rate": 1e200}
    first = train("next-character", "rnn_relu", 5, save=path, **common)
    assert first.diverged is not None
    assert train("next-character", "rnn_relu", 5, resume=path, **common)._asdict() == first._asdict()


@pytest.mark.parametrize("damage", ["values", "losses", "gradients", "memory_0_0"])
def test_a_saved_run_that_is_not_whole_is_refused(damage: str, tmp_path: Path) -> None:
    """An array that is missing, or of another shape."""
    path = str(tmp_path / "run.npz")
    train("remember-first", "rnn", 5, passes=2, optimiser="adam", save=path)
    with np.load(path) as file:
        arrays = dict(file)
    for change in ({}, {damage: np.zeros((7, 7, 7))}):
        np.savez(path, **{key: value for key, value in arrays.items() if key != damage} | change)
        with pytest.raises(GatecalcError, match="the saved run is not whole"):
            train("remember-first", "rnn", 5, passes=3, optimiser="adam", resume=path)


def test_a_number_that_is_not_finite_is_named_with_its_place() -> None:
    """Where it has one."""
    with pytest.raises(GatecalcError, match=r"^value: 'b_f' is nan\nhelp: give finite numbers$"):
        train("remember-first", "lstm", 5, b_f=float("nan"))
    with pytest.raises(GatecalcError, match=r"^value: 'b_f' is inf at \[1\]\nhelp: give finite numbers$"):
        train("remember-first", "lstm", 5, hidden=2, b_f=[0.0, float("inf")])


def test_a_frozen_weight_keeps_its_value() -> None:
    """Its first gradient is told all the same."""
    found = train("remember-first", "lstm", 5, rate=0.3, b_f=2, passes=10, freeze=["b_f"], **LSTM)
    assert found.weights is not None
    assert found.weights["b_f"] == 2.0
    assert found.first_gradient["b_f"] != 0


def test_a_diverging_run_says_so() -> None:
    """With the pass, and without numbers."""
    found = train("next-character", "rnn_relu", 5, hidden=4, initial="uniform", rate=1e200)
    assert found.diverged == found.passes
    assert found.loss is None
    assert found.weights is None


def test_clipping_bounds_the_gradient() -> None:
    """By norm over all weights together, and by value."""
    for change in ({"clip_norm": 0.01}, {"clip_value": 0.001}):
        trainer = Trainer(task("count-bits"), cell("gru"), 4, [{}], Options(hidden=3, initial="uniform", **change))
        trainer.evaluate()
        trainer.clip()
        both = np.concatenate([trainer.network.all_gradients[0], trainer.readout_gradients[0]])
        assert np.linalg.norm(both) == pytest.approx(0.01) if "clip_norm" in change else np.abs(both).max() <= 0.001


def test_truncated_backpropagation_carries_states_and_cuts_gradients() -> None:
    """A window of the whole length is the run without windows; shorter windows step more often."""
    shared = {"hidden": 4, "initial": "uniform", "passes": 3, "text": "gradient"}
    whole = train("next-character", "lstm", 1, **shared)
    assert train("next-character", "lstm", 1, window=7, **shared).losses == whole.losses
    assert train("next-character", "lstm", 1, window=3, **shared).losses != whole.losses


@pytest.mark.parametrize("window", [1, 4, 5, 7, 12])
def test_windows_of_ragged_sequences_count_each_step_once(window: int, tmp_path: Path) -> None:
    """At rate 0 the loss is that of one window; what stands after a sequence's end is not read."""
    generator = np.random.default_rng(0)
    lengths = np.array([3, 7, 10])
    x, y = generator.normal(size=(12, 3, 2)), generator.normal(size=(12, 3, 1))
    path = str(tmp_path / "ragged.npz")
    np.savez(path, x=x, y=y, lengths=lengths.astype(np.uint8))
    common: dict[str, Any] = {"hidden": 3, "initial": "uniform", "passes": 2, "rate": 0.0}
    expected = train(path, "lstm", **common).loss
    assert train(path, "lstm", window=window, **common).loss == pytest.approx(expected, rel=1e-12)
    ended = np.arange(12)[:, None, None] >= lengths[:, None]
    np.savez(path, x=np.where(ended, 9.0, x), y=np.where(ended, 9.0, y), lengths=lengths)
    moved = train(path, "lstm", window=window, **common | {"rate": 0.1, "optimiser": "adam"})
    np.savez(path, x=x, y=y, lengths=lengths)
    assert moved == train(path, "lstm", window=window, **common | {"rate": 0.1, "optimiser": "adam"})


def test_windows_go_with_dropout_and_not_with_a_second_direction() -> None:
    """Each window draws masks of its own, the last and shorter one too."""
    common: dict[str, Any] = {"hidden": 3, "initial": "uniform", "passes": 3, "text": "hello world", "window": 3}
    assert train("next-character", "lstm", layers=2, dropout=0.3, **common).diverged is None
    with pytest.raises(GatecalcError, match="a window hands its last states to the next"):
        train("next-character", "lstm", bidirectional=True, **common)


def test_data_of_a_length_of_their_own_are_reported_with_it(tmp_path: Path) -> None:
    """Whatever the length that is given; several are refused."""
    path = str(tmp_path / "own.npz")
    np.savez(path, x=np.ones((7, 3, 2)), y=np.ones((3, 1)))
    for name, length in ((path, 7), ("next-character", 4)):
        assert train(name, "lstm", 12, passes=1).length == length
        assert sweep(name, "lstm", [12], {"b_f": [0, 1]}, Options(passes=1)).rows[1][0] == length
        with pytest.raises(GatecalcError, match="have a length of their own, and this asks for 2 lengths"):
            sweep(name, "lstm", [5, 6], {}, Options(passes=1))


@pytest.mark.parametrize("bidirectional", [False, True], ids=["forward", "bidirectional"])
@pytest.mark.parametrize("output", ["h = tanh(c)", "h = tanh(c) + 0 * h_prev"], ids=["read", "carried"])
def test_the_last_output_is_that_of_each_sequence_s_own_end(output: str, bidirectional: bool, tmp_path: Path) -> None:
    """Whether the output is a state or not: a ragged batch is its sequences one by one, value and gradient."""
    (tmp_path / "own.cell").write_text(
        f'"""Of one\'s own."""\nf = sigmoid(W_f @ x + b_f)\nc = f * c_prev + (1 - f) * tanh(W_n @ x)\n{output}\n'
    )
    generator = np.random.default_rng(0)
    x, y, lengths = generator.normal(size=(10, 3, 2)), generator.normal(size=(3, 1)), np.array([3, 7, 10])
    path, one = str(tmp_path / "ragged.npz"), str(tmp_path / "one.npz")
    common: dict[str, Any] = {"hidden": 3, "initial": "uniform", "passes": 1, "bidirectional": bidirectional}
    alone = []
    for number, length in enumerate(lengths):
        np.savez(one, x=x[:length, number : number + 1], y=y[number : number + 1])
        alone.append(train(one, str(tmp_path / "own.cell"), **common))
    np.savez(path, x=x, y=y, lengths=lengths)
    together = train(path, str(tmp_path / "own.cell"), **common)
    assert together.loss == pytest.approx(np.mean([run.loss for run in alone]), rel=1e-12)
    for name, gradient in together.first_gradient.items():
        assert np.array(gradient) == pytest.approx(
            np.mean([run.first_gradient[name] for run in alone], axis=0), rel=1e-9, abs=1e-12
        )


def test_own_data_is_read_from_a_file(tmp_path: Path) -> None:
    """With the length of each sequence; what stands behind a sequence's end does not matter."""
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(5, 3, 2)), generator.normal(size=(5, 3, 1))
    losses = []
    for filler in (0.0, 9.0):
        x[3:, 0] = y[3:, 0] = filler
        np.savez(tmp_path / "own.npz", x=x, y=y, lengths=[3, 5, 4])
        losses.append(train(str(tmp_path / "own.npz"), "gru", 1, hidden=3, initial="uniform", passes=4).losses)
    assert losses[0] == losses[1]


def test_a_training_pass_allocates_nothing_that_grows() -> None:
    """Memory after three hundred passes is memory after a hundred, but for the list of losses."""
    trainer = Trainer(
        task("count-bits"), cell("lstm"), 6, [{}], Options(hidden=4, initial="uniform", optimiser="adam", threshold=0)
    )
    tracemalloc.start()
    for _ in range(100):
        trainer._pass(last=False)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(200):
        trainer._pass(last=False)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 200 * 64 + 4096


def test_ctrl_c_gives_what_there_is() -> None:
    """The passes so far, with their weights."""

    def stop(done: int, loss: float) -> None:
        if done == 7:
            raise KeyboardInterrupt

    found = train("remember-first", "lstm", 10, rate=0.3, progress=stop, **LSTM)
    assert (found.interrupted, found.passes, len(found.losses)) == (True, 7, 7)
    assert found.weights is not None


def test_ctrl_c_ends_a_sweep_with_the_runs_that_were_made() -> None:
    """Not one length after another."""
    for lengths, options in (([5, 6], Options(layers=2)), ([5, 6], Options())):

        def stop(done: int, loss: float) -> None:
            if done >= 7:
                raise KeyboardInterrupt

        found = sweep("remember-first", "lstm", lengths, {"rate": [0.1, 0.2]}, options, stop)
        assert found.runs[0].interrupted
        assert len(found.rows) == len(found.runs) == (2 if options.layers == 2 else 4)


def test_a_run_that_ctrl_c_stops_inside_a_pass_goes_on_as_if_it_had_not_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pass is made to its end; of a sweep, what was made is in the table."""
    shared: dict[str, Any] = {"hidden": 3, "initial": "uniform", "optimiser": "adam", "passes": 9}
    whole = train("adding", "gru", 4, **shared)
    step = Trainer._step
    calls = []

    def stop(trainer: Trainer) -> None:
        calls.append(trainer)
        if len(calls) == 4:
            signal.raise_signal(signal.SIGINT)
        step(trainer)

    monkeypatch.setattr(Trainer, "_step", stop)
    part = train("adding", "gru", 4, save=str(tmp_path / "run.npz"), **shared)
    assert (part.interrupted, part.passes) == (True, 4)
    rest = train("adding", "gru", 4, resume=str(tmp_path / "run.npz"), **shared)
    assert (rest.losses, rest.weights) == (whole.losses, whole.weights)
    calls.clear()
    command = ["train", "adding", "--length", "4,5", "--hidden", "3", "--initial", "uniform", "--passes", "9"]
    lines = CliRunner().invoke(gatecalc, command, catch_exceptions=False).output.splitlines()
    assert [line.split() for line in lines[:1]] == [["length", "learned", "passes", "loss"]]
    assert [line.split()[:3] for line in lines[1:-1]] == [["4", "interrupted", "4"]]
    assert lines[-1] == "interrupted: 1 of these runs had not ended, and 1 not begun"


def test_a_second_ctrl_c_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the end of a long pass; and afterwards Ctrl-C is what it was."""

    def stop(trainer: Trainer) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Trainer, "_step", stop)
    with pytest.raises(KeyboardInterrupt):
        train("adding", "gru", 4, initial="uniform", passes=9)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# Random numbers of C libraries.


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_stream_stays_in_its_range(name: str) -> None:
    """From 0 to RAND_MAX, for the seeds 0, 1, 42 and the largest."""
    for seed in (0, 1, 42, 2**32 - 1):
        stream = library(name).stream(seed)
        drawn = [next(stream) for _ in range(2000)]
        assert min(drawn) >= 0
        assert library(name).rand_max / 2 < max(drawn) <= library(name).rand_max


@pytest.mark.parametrize(
    ("name", "seed", "first"),
    [
        ("glibc", 1, [1804289383, 846930886, 1681692777]),  # the best known numbers of rand() under Linux
        ("glibc", 42, [71876166, 708592740, 1483128881]),
        ("microsoft", 1, [41, 18467, 6334, 26500]),  # and under Windows
        ("macos", 1, [16807, 282475249, 1622650073]),  # Park and Miller, CACM 31 (1988)
        ("c_standard", 1, [16838, 5758, 10113]),
    ],
)
def test_a_stream_begins_as_its_library_s_does(name: str, seed: int, first: list[int]) -> None:
    """Published first values."""
    stream = library(name).stream(seed)
    assert [next(stream) for _ in first] == first


def test_park_and_miller_s_ten_thousandth_number() -> None:
    """1043618065 after 10,000 steps from 1: S. Park, K. Miller, CACM 31 (1988), p. 1195."""
    stream = library("macos").stream(1)
    assert [next(stream) for _ in range(10_000)][-1] == 1043618065


def test_fractions_divide_in_single_precision() -> None:
    """(float)rand() / RAND_MAX is a float32."""
    drawn = fractions("microsoft", 1, 2)
    assert drawn.dtype == np.float32
    assert drawn[0] == np.float32(41) / np.float32(32767)


# Initial weights.


def test_orthogonal_weights_are_orthogonal() -> None:
    """U U^T is the identity, and W, wider than high or not, has orthonormal rows or columns."""
    network = Network("lstm", input=3, hidden=5)
    draw("orthogonal", {name: value[None] for name, value in network.parameters.items()}, 5, Numbers(1))
    assert np.abs(network.parameters["U_f"] @ network.parameters["U_f"].T - np.eye(5)).max() < 1e-14
    assert np.abs(network.parameters["W_f"].T @ network.parameters["W_f"] - np.eye(3)).max() < 1e-14


@pytest.mark.parametrize("rand", [None, *LIBRARIES])
@pytest.mark.parametrize("way", INITIAL)
def test_drawn_weights_keep_within_their_limits(way: str, rand: str | None) -> None:
    """And are reproducible, from NumPy's generator and from each C library."""
    arrays = []
    for _ in range(2):
        network = Network("gru", input=4, hidden=6)
        draw(way, {name: value[None] for name, value in network.parameters.items()}, 6, Numbers(3, rand))
        arrays.append(network.values.copy())
    assert (arrays[0] == arrays[1]).all()
    assert np.abs(arrays[0]).max() <= {"zeros": 0, "uniform": 6**-0.5, "glorot": (6 / 10) ** 0.5, "orthogonal": 1}[way]


# The command.


def test_the_command_prints_one_run() -> None:
    """The fixed keys, and the numbers of the API."""
    found = json.loads(
        run("remember-first", "--cell", "rnn", "--length", "5", *options(RNN), "--rate", "0.5", "--format", "json")
    )
    assert {"learned", "passes", "loss", "weights", "first_gradient"} <= set(found)
    assert found["learned"] == 8
    assert run("remember-first", "--cell", "rnn", "--length", "5", *options(RNN), "--rate", "0.5").startswith(
        "learned at pass 8\n"
    )


def test_the_command_prints_a_table_of_many(tmp_path: Path) -> None:
    """Lengths and settings, and the same as CSV."""
    text = run(
        "remember-first",
        "--length",
        "5,10",
        *options(LSTM),
        "--set",
        "b_f=1,2",
        "--rate",
        "0.3",
        "--csv",
        str(tmp_path / "t.csv"),
    )
    assert [line.split()[:3] for line in text.splitlines()] == [
        ["length", "b_f", "learned"],
        ["5", "1.0", "42"],
        ["10", "1.0", "64"],
        ["5", "2.0", "30"],
        ["10", "2.0", "27"],
    ]
    with open(tmp_path / "t.csv") as file:
        assert [row[2] for row in csv.reader(file)] == ["learned", "42", "64", "30", "27"]


def test_the_plot_is_a_picture(tmp_path: Path) -> None:
    """Of matplotlib's."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    run("remember-first", "--length", "5", *options(LSTM), "--rate", "0.3", "--plot", str(tmp_path / "run.png"))
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("option", ["--save", "--csv", "--plot"])
@pytest.mark.parametrize(
    ("place", "reason"), [("nowhere/run.png", "no such file or directory"), ("", "is a directory")]
)
def test_a_place_that_cannot_be_written_is_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, place: str, reason: str
) -> None:
    """A run of hours is not lost at its end."""
    monkeypatch.setattr(Trainer, "run", lambda *_: pytest.fail("it has run"))
    path = tmp_path / place
    with pytest.raises(GatecalcError, match=f"cannot write it: {reason}"):
        CliRunner().invoke(gatecalc, ["train", "remember-first", option, str(path)], **RAISE)


def test_a_picture_of_another_kind_is_refused_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an ending that is no picture's."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.setattr(Trainer, "run", lambda *_: pytest.fail("it has run"))
    with pytest.raises(GatecalcError, match="it is no kind of picture"):
        CliRunner().invoke(gatecalc, ["train", "remember-first", "--plot", str(tmp_path / "run.txt")], **RAISE)


@pytest.mark.parametrize(("name", "pictures"), [("lstm", 3), ("rnn", 2)])
def test_a_cell_without_gates_has_no_picture_of_them(name: str, pictures: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its loss and its gradient remain, over whole passes and steps."""
    figure = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed").Figure
    drawn: list[Any] = []
    monkeypatch.setattr(figure, "savefig", lambda self, path: drawn.append(self))
    run("remember-first", "--cell", name, "--length", "5", "--initial", "uniform", "--passes", "9", "--plot", "x.png")
    (picture,) = drawn
    assert len(picture.axes) == pictures
    assert picture.axes[-1].get_title() == "gradient, first pass"
    assert all(tick == int(tick) for axes in picture.axes for tick in axes.get_xticks())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["remember-firs"], "name: unknown task 'remember-firs'; did you mean 'remember-first'?"),
        (["remember-first", "--set", "W_h=1"], "name: 'lstm' has no weight 'W_h'; did you mean 'W_o'?"),
        (["remember-first", "--set", "b_f=[1,2]"], "shape: 'b_f' is given as (2,), and it is (1,)"),
        (["remember-first", "--freeze", "b_q"], "name: 'lstm' has no weight 'b_q'; did you mean 'b_o'?"),
        (["remember-first", "--length", "0"], "value: the length is 0"),
        (["remember-first", "--rand", "glib"], "name: unknown C library 'glib'; did you mean 'glibc'?"),
        (["remember-first", "--optimiser", "adm"], "name: unknown optimiser 'adm'; did you mean 'adam'?"),
        (
            ["remember-first", "--initial", "ortogonal"],
            "name: unknown initial weights 'ortogonal'; did you mean 'orthogonal'?",
        ),
        (["remember-first", "--loss", "squar"], "name: unknown loss 'squar'; did you mean 'square'?"),
        (
            ["remember-first", "--window", "2"],
            "option: 'remember-first' is read at its last step only, so that windows before it learn nothing",
        ),
        (["adding", "--dropout", "0.5"], "option: dropout is between layers, and there is one"),
        (["next-character", "--text", "x"], "value: the text has fewer than two characters"),
        (["missing.npz"], "file: cannot read it: no such file or directory"),
        (["remember-first", "--resume", "missing.npz"], "file: cannot read it: no such file or directory"),
        (
            ["remember-first", "--length", "5,6", "--save", "x.npz"],
            "option: --every, --plot, --save and --resume are for one run, and this is 2",
        ),
    ],
)
def test_bad_input_is_one_clear_error(arguments: list[str], message: str) -> None:
    """What is wrong, and the closest known name."""
    with pytest.raises(GatecalcError) as error:
        CliRunner().invoke(gatecalc, ["train", *arguments], **RAISE)
    assert error.value.message == message


def test_a_saved_run_of_something_else_is_refused(tmp_path: Path) -> None:
    """With what differs."""
    train("count-bits", "gru", 3, passes=1, save=str(tmp_path / "run.npz"))
    with pytest.raises(GatecalcError, match="the saved run has length 3, this one 4"):
        train("count-bits", "gru", 4, resume=str(tmp_path / "run.npz"))
    (tmp_path / "run.npz").write_bytes(b"nothing")
    with pytest.raises(GatecalcError, match="it is not a saved run"):
        train("count-bits", "gru", 4, resume=str(tmp_path / "run.npz"))


def test_every_so_many_passes_the_loss_and_the_mean_gates_are_shown() -> None:
    """The first, every N-th and the last; at zero weights both gates of a GRU stand at one half."""
    command = ["train", "information", "--cell", "gru_cho", "--length", "4", "--passes", "5", "--every", "2"]
    lines = CliRunner().invoke(gatecalc, command, catch_exceptions=False).output.splitlines()
    assert lines[0].split() == ["pass", "loss", "z", "r"]
    assert [line.split()[0] for line in lines[1:5]] == ["1", "2", "4", "5"]
    assert all(line.split()[2:] == ["0.5000", "0.5000"] for line in lines[1:4])
