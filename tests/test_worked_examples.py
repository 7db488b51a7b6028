"""The packs of the worked examples: they hold, they account for their documents, and they notice a changed digit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from gatecalc.checking.check import Finding, _figures, _formulas, _value, check_pack
from gatecalc.checking.claims import NEVER, Claim, Pack, read_pack
from gatecalc.checking.coverage import coverage
from gatecalc.checking.documents import read_document
from gatecalc.errors import GatecalcError
from gatecalc.language import Source, Tree, parse
from gatecalc.numbers.numeral import Numeral, read_all
from gatecalc.numbers.verdictnames import PASSING
from gatecalc.numbers.verdicts import Judgement

ROOT = Path(__file__).parent.parent
PACKS = sorted((ROOT / "worked_examples").glob("*.toml"))
DOCUMENTS = next((path for up in (1, 2) if (path := ROOT.parents[up - 1] / "shared" / "documents").is_dir()), None)


@cache
def pack(path: Path) -> Pack:
    """Read a pack once: its definitions, training runs among them, are evaluated once for all tests."""
    return read_pack(str(path))


@cache
def findings(path: Path) -> list[Finding]:
    return check_pack(pack(path))


each_pack = pytest.mark.parametrize("path", PACKS, ids=lambda path: path.stem)


@each_pack
def test_a_pack_holds(path: Path) -> None:
    """All as expected, nothing undecided, and every erratum with its reason."""
    assert [finding for finding in findings(path) if not finding.as_expected] == []
    assert [finding.id for finding in findings(path) if finding.verdict == "undecided"] == []
    assert [finding.id for finding in findings(path) if finding.is_erratum and not finding.note] == []


@each_pack
def test_claims_are_named_once(path: Path) -> None:
    """So that an id names one claim."""
    names = [claim.id for claim in pack(path).claims]
    assert sorted(names) == sorted(set(names))


@each_pack
def test_every_numeral_of_the_document_is_accounted_for(path: Path) -> None:
    """As claim, given or label, a quarter of them at least as claims; and what a claim states is on its line."""
    places = [path.with_suffix(".md"), *([DOCUMENTS / f"{path.stem}.txt"] if DOCUMENTS else [])]
    document = next((place for place in places if place.exists()), None)
    if document is None:
        pytest.skip(f"the text of {path.stem} is not here: only its pack is part of this repository")
    found = coverage(read_document(str(document)), [pack(path)])
    assert (found.unaccounted, found.warnings) == ([], [])
    assert 4 * found.checked >= found.numerals


# Mutation: a printed digit or a sign that is changed must be noticed.


class Mutant(NamedTuple):
    """A changed figure or formula, what came of it, and why it may have passed."""

    claim: str
    text: str
    caught: bool
    reason: str


def changed_figures(claim: Claim) -> Iterator[tuple[Numeral, Claim]]:
    """Yield the claim with one of its figures changed by one unit in its last digit, up and down.

    An inequality is changed only towards the value: "under 6" is as true as "under 5".
    """
    for position, numeral in enumerate(claim.numerals):
        unit = numeral.step or abs(numeral.value)
        for direction in (1, -1):
            if numeral.relation and direction != (1 if numeral.relation.startswith(">") else -1):
                continue
            value = numeral.value + direction * unit
            changed = numeral._replace(value=value, text=f"{float(value)}", minus=value < 0)
            numerals = (*claim.numerals[:position], changed, *claim.numerals[position + 1 :])
            yield changed, claim._replace(numerals=numerals)
    if claim.states == NEVER:
        yield read_all("100")[0], claim._replace(numerals=tuple(read_all("100")))


def figure_mutants(path: Path) -> Iterator[Mutant]:
    for claim, finding in zip(pack(path).claims, findings(path), strict=True):
        if claim.formula or claim.holds or claim.expect:
            continue
        value = _value(claim, pack(path).scope)
        for numeral, changed in changed_figures(claim):
            judgement = _figures(changed, value, pack(path).scope)
            yield Mutant(claim.id, numeral.text, judgement.verdict not in PASSING, reason(numeral, finding, judgement))


def reason(numeral: Numeral, finding: Finding, judgement: Judgement) -> str:
    """Say why a changed figure may pass, if there is a good reason."""
    if numeral.hedged:
        return "the hedge covers it"
    if len(numeral.readings) > 1:
        return "its unit has two readings, and the other one holds"
    if "chained" in (finding.verdict, judgement.verdict):
        return "the value itself and what the document's rounded operands give both pass"
    return ""


@each_pack
def test_a_changed_digit_is_noticed(path: Path) -> None:
    """At least 99 of 100, and each of the others for a reason."""
    mutants = list(figure_mutants(path))
    survivors = [mutant for mutant in mutants if not mutant.caught]
    assert [mutant for mutant in survivors if not mutant.reason] == []
    assert 100 * len(survivors) <= len(mutants)


def changed_formulas(tree: Tree) -> Iterator[Tree]:
    """Yield the formula with one term dropped, one sign flipped, or one factor dropped."""
    if tree.op in ("+", "*") and len(tree.args) > 1:
        for position in range(len(tree.args)):
            rest = (*tree.args[:position], *tree.args[position + 1 :])
            yield rest[0] if len(rest) == 1 else Tree(tree.op, rest)
    if tree.op == "+":
        for position, term in enumerate(tree.args):
            flipped = term.args[0] if term.op == "neg" else Tree("neg", (term,))
            yield Tree("+", (*tree.args[:position], flipped, *tree.args[position + 1 :]))
    elif tree.op == "neg":
        yield tree.args[0]
    for position, argument in enumerate(tree.args):
        if tree.op == "+" and argument.op == "neg":
            changed = (Tree("neg", (inner,)) for inner in changed_formulas(argument.args[0]))
        else:
            changed = changed_formulas(argument)
        for inner in changed:
            yield Tree(tree.op, (*tree.args[:position], inner, *tree.args[position + 1 :]), tree.value)


@each_pack
def test_a_changed_formula_is_noticed(path: Path) -> None:
    """Each sign flipped, each term and each factor dropped, one at a time."""
    survivors = []
    for claim in pack(path).claims:
        if claim.formula is None or claim.expect:
            continue
        value = _value(claim, pack(path).scope)
        for changed in changed_formulas(parse(claim.formula)):
            try:
                verdict = _formulas(Source(str(changed)), value).verdict
            except GatecalcError:
                continue  # refused, as it does not even fit
            if verdict in PASSING:
                survivors.append((claim.id, str(changed)))
    assert survivors == []


# The errata a second time, by plain Python, NumPy or PyTorch, and not by this package.


def sigmoid(a: float) -> float:
    return 1 / (1 + math.exp(-a))


def train_plain(
    length: int, passes: int, w: float = 0.5, u: float = 0.5, v: float = 0.5, rate: float = 0.5
) -> int | None:
    """Train the one-unit plain network: the pass at which it has learned. Both examples have the same gradient."""
    for number in range(1, passes + 1):
        h = [math.tanh(w)]
        for _ in range(length - 1):
            h.append(math.tanh(u * h[-1]))
        error = v * h[-1] - 1
        if error * error / 2 < 0.01:
            return number
        gradient_v, back, gradient_u = error * h[-1], error * v, 0.0
        for step in range(length - 1, 0, -1):
            back *= 1 - h[step] ** 2
            gradient_u += back * h[step - 1]
            back *= u
        gradient_w = back * (1 - h[0] ** 2)
        w, u, v = w - rate * gradient_w, u - rate * gradient_u, v - rate * gradient_v
    return None


def train_lstm(length: int, forget_bias: float, passes: int = 3000, freeze: bool = False) -> tuple[int | None, float]:
    """Train the one-unit LSTM by NumPy over both examples: the pass at which it has learned, and b_f then."""
    w = dict.fromkeys(["f", "i", "g", "o"], 0.5)
    u = dict.fromkeys(w, 0.0)
    b = {"f": forget_bias, "i": 0.0, "g": 0.0, "o": 0.0}
    v, sign = 0.5, np.array([1.0, -1.0])
    for number in range(1, passes + 1):
        h, c, past = np.zeros(2), np.zeros(2), []
        for step in range(length):
            x = sign if step == 0 else np.zeros(2)
            a = {gate: w[gate] * x + u[gate] * h + b[gate] for gate in w}
            y = {gate: np.tanh(a[gate]) if gate == "g" else 1 / (1 + np.exp(-a[gate])) for gate in w}
            past.append((x, h, c, y))
            c = y["f"] * c + y["i"] * y["g"]
            past[-1] += (np.tanh(c),)
            h = y["o"] * past[-1][4]
        error = v * h - sign
        if np.mean(error**2) / 2 < 0.01:
            return number, b["f"]
        gradient_v = np.mean(error * h)
        dh, dc = error * v / 2, np.zeros(2)
        dw, du, db = (dict.fromkeys(w, 0.0) for _ in range(3))
        for x, h_prev, c_prev, y, squashed in reversed(past):
            dc = dc + dh * y["o"] * (1 - squashed**2)
            da = {
                "f": dc * c_prev * y["f"] * (1 - y["f"]),
                "i": dc * y["g"] * y["i"] * (1 - y["i"]),
                "g": dc * y["i"] * (1 - y["g"] ** 2),
                "o": dh * squashed * y["o"] * (1 - y["o"]),
            }
            for gate in w:
                dw[gate] += float(np.sum(da[gate] * x))
                du[gate] += float(np.sum(da[gate] * h_prev))
                db[gate] += float(np.sum(da[gate]))
            dh, dc = sum(da[gate] * u[gate] for gate in w), dc * y["f"]
        if freeze:
            db["f"] = 0.0
        v -= 0.3 * gradient_v
        for weights, gradients in ((w, dw), (u, du), (b, db)):
            for gate in w:
                weights[gate] -= 0.3 * gradients[gate]
    return None, b["f"]


def prove_never_at_20() -> None:
    """Not within 3,000 passes, but at the 3,615th; with the settings that give the printed passes."""
    assert [train_plain(length, 3000) for length in (5, 10, 20)] == [8, 25, None]
    assert train_plain(20, 4000) == 3615
    assert train_plain(20, 100, u=1.0) is not None


def prove_step_of_the_bias() -> None:
    ratios = [(sigmoid(bias + 1) / sigmoid(bias)) ** 20 for bias in range(3)]
    assert [round(ratio, 1) for ratio in ratios] == [1993.6, 41.5, 4.8]


def prove_forget_bias() -> None:
    """Nine runs learn; only the four that start at 2 end near 2.35, and holding b_f there changes little."""
    found = {(bias, length): train_lstm(length, bias) for bias, length in [(0, 5), (0, 10), (1, 5), (1, 10), (1, 20)]}
    found |= {(2, length): train_lstm(length, 2) for length in (5, 10, 20, 40)}
    assert [run[0] for run in found.values()] == [97, 745, 42, 64, 339, 30, 27, 31, 73]
    biases = ["1.02", "1.12", "1.62", "1.70", "1.72", "2.31", "2.35", "2.34", "2.33"]
    assert [f"{run[1]:.2f}" for run in found.values()] == biases
    assert [train_lstm(length, 2, freeze=True)[0] for length in (5, 10, 20, 40)] == [31, 28, 33, 81]


def prove_hand_loop() -> None:
    """The loop as printed and PyTorch's layer differ for every seed; with the second bias they agree."""
    torch = pytest.importorskip("torch")
    for seed in range(20):
        torch.manual_seed(seed)
        rnn = torch.nn.RNN(input_size=8, hidden_size=16, batch_first=True, nonlinearity="tanh")
        x = torch.randn(4, 30, 8)
        _, last = rnn(x)
        for bias, same in ((rnn.bias_ih_l0, False), (rnn.bias_ih_l0 + rnn.bias_hh_l0, True)):
            h = torch.zeros(4, 16)
            for step in range(30):
                h = torch.tanh(x[:, step] @ rnn.weight_ih_l0.T + h @ rnn.weight_hh_l0.T + bias)
            assert torch.allclose(h, last[0], atol=1e-6) is same


def prove_relu_derivative() -> None:
    """By PyTorch's own derivative: 0 or 1; and a product with tanh' <= 1 in it that grows without bound."""
    torch = pytest.importorskip("torch")
    a = torch.tensor([-1000.0, -1.0, 0.0, 1.0, 1000.0], requires_grad=True)
    torch.relu(a).sum().backward()
    assert a.grad.tolist() == [0, 0, 0, 1, 1]
    h = start = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    for _ in range(50):
        h = torch.tanh(2 * h)
    h.sum().backward()
    assert start.grad.item() == 2.0**50


def prove_plain_weights() -> None:
    """By the arrays that a plain network and an LSTM allocate."""
    torch = pytest.importorskip("torch")
    for inputs, hidden in ((8, 16), (3, 5)):
        plain, lstm = torch.nn.RNN(inputs, hidden), torch.nn.LSTM(inputs, hidden)
        assert plain.weight_ih_l0.numel() + plain.weight_hh_l0.numel() == (hidden + inputs) * hidden
        assert lstm.weight_hh_l0.numel() == 4 * plain.weight_hh_l0.numel()


def test_a_plain_unit_learns_through_fifty_small_factors() -> None:
    """Factors of at most 0.95 over 50 steps, and it is learned at the fifth pass."""
    assert train_plain(51, 100, u=0.95) == 5
    h, product = math.tanh(0.5), 1.0
    for _ in range(50):
        h = math.tanh(0.95 * h)
        product *= 0.95 * (1 - h**2)
    assert f"{product:.4f}" == "0.0216"
    assert product < 0.95**50


PROOFS: dict[str, dict[str, Callable[[], None]]] = {
    "lstm-and-gru": {
        "never-at-20": prove_never_at_20,
        "step-of-the-bias": prove_step_of_the_bias,
        "b_f-2.35": prove_forget_bias,
    },
    "rnns-lstms-grus": {
        "hand-loop": prove_hand_loop,
        "relu-derivative": prove_relu_derivative,
        "plain-weights": prove_plain_weights,
        "exactly-twice": prove_plain_weights,
    },
}


@pytest.mark.parametrize("stem", PROOFS)
def test_every_erratum_has_a_second_proof(stem: str) -> None:
    """And no proof is left of an erratum that is gone."""
    errata = {finding.id for finding in findings(ROOT / "worked_examples" / f"{stem}.toml") if finding.is_erratum}
    assert errata == set(PROOFS[stem])


@pytest.mark.parametrize(
    "proof", dict.fromkeys(proof for proofs in PROOFS.values() for proof in proofs.values()), ids=lambda p: p.__name__
)
def test_a_second_computation_agrees_with_the_erratum(proof: Callable[[], None]) -> None:
    """By another way than the package's own."""
    proof()


# What PyTorch prints, by PyTorch.


def test_pytorch_counts_what_the_documents_print() -> None:
    """The snippets of lstm-and-gru and rnns-lstms-grus, run."""
    torch = pytest.importorskip("torch")
    nn = torch.nn

    def count(module: Any) -> int:
        return sum(parameter.numel() for parameter in module.parameters())

    assert [count(kind(80, 256)) for kind in (nn.RNN, nn.GRU, nn.LSTM)] == [86528, 259584, 346112]
    assert str(nn.LSTM(80, 256).weight_ih_l0.shape) == "torch.Size([1024, 80])"
    assert [count(kind(8, 16)) for kind in (nn.GRU, nn.LSTM)] == [1248, 1664]
    assert [count(kind(8, 256)) for kind in (nn.RNN, nn.GRU, nn.LSTM)] == [68096, 204288, 272384]
    lstm = nn.LSTM(input_size=8, hidden_size=16, batch_first=True)
    assert (str(lstm.weight_ih_l0.shape), str(lstm.weight_hh_l0.shape)) == (
        "torch.Size([64, 8])",
        "torch.Size([64, 16])",
    )
    out, (_, last) = lstm(torch.randn(4, 30, 8))
    assert (tuple(out.shape), tuple(last.shape)) == ((4, 30, 16), (1, 4, 16))
    assert [count(nn.RNN(8, 16, num_layers=layers)) for layers in (1, 2, 3, 4)] == [416, 960, 1504, 2048]
    assert nn.RNN(8, 16, num_layers=2)(torch.randn(30, 4, 8))[1].shape == (2, 4, 16)


def test_a_state_that_is_not_detached_is_not_carried_on_silently() -> None:
    """The second chunk's backward pass raises: the graph of the first has been freed."""
    torch = pytest.importorskip("torch")
    rnn, state = torch.nn.RNN(8, 16), None
    x = torch.randn(10, 4, 8)
    out, state = rnn(x, state)
    out.sum().backward()
    out, state = rnn(x, state)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        out.sum().backward()


def test_the_update_gate_of_pytorch_keeps() -> None:
    """As the z of 2014 does, and not as that of the two documents that write with z."""
    torch = pytest.importorskip("torch")
    gru = torch.nn.GRU(1, 2)
    with torch.no_grad():
        gru.bias_ih_l0[2:4] = 50.0  # rows 2 and 3 are those of the update gate at width 2
        start = torch.tensor([[[0.3, -0.7]]])
        _, last = gru(torch.ones(1, 1, 1), start)
    assert torch.allclose(last, start, atol=1e-6)
