"""The pack of gru-chapter a second time: by compiled C, NumPy, mpmath, fractions and PyTorch, not by this package."""

from __future__ import annotations

import math
import shutil
import subprocess
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

from gatecalc.checking.check import Finding, check_pack
from gatecalc.checking.claims import read_pack

PACK = Path(__file__).parent.parent / "worked_examples" / "gru-chapter.toml"
Array = npt.NDArray[Any]


@cache
def findings() -> dict[str, Finding]:
    return {finding.id: finding for finding in check_pack(read_pack(str(PACK)))}


def printed(line: int) -> list[str]:
    """Return the figures of a line that the pack finds right and that came out of a float32 program."""
    return [f.states for f in findings().values() if f.line == line and f.how == "float32" and f.verdict == "rounded"]


# A C program of our own that draws and runs as programs 089 and 090 do. RESET is the index of r in the candidate's
# loop: i for the row, as they have it, j for the column, as their text has it.

PROGRAM = r"""
#include <math.h>
#include <stdio.h>
#include <string.h>
static unsigned state;
static float unit(void) { state = state * 214013u + 2531011u; return (float)(int)(state >> 16 & 32767u) / 32767; }
static float draw(float width, float half) { return unit() * width - half; }
static float gate(float a) { return 1.0f / (1.0f + expf(-a)); }
#ifdef TRUE_TANH
static float squash(float a) { return tanhf(a); }
#else
static float squash(float a) { float e = expf(-2 * a); return (1 - e) / (1 + e); }
#endif
static float w[4][8], u[4][8][8], h[8], c[8];
static float before(int k, int i, int size, float x, float bias) {
    float sum = bias + w[k][i] * x;
    for (int j = 0; j < size; j++) sum += u[k][i][j] * h[j];
    return sum;
}
static void gru(int size, float x, float bz) {
    float next[8], r[8];
    for (int i = 0; i < size; i++) r[i] = gate(before(1, i, size, x, 0));
    for (int i = 0; i < size; i++) {
        float z = gate(before(0, i, size, x, bz)), n = w[2][i] * x;
        for (int j = 0; j < size; j++) n += u[2][i][j] * (r[RESET] * h[j]);
        next[i] = z * h[i] + (1.0f - z) * squash(n);
    }
    memcpy(h, next, sizeof h);
}
static void draw_gru(int size, int output) {
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < 3; k++) w[k][i] = draw(0.2f, 0.1f);
        if (output) unit();
        for (int j = 0; j < size; j++) for (int k = 0; k < 3; k++) u[k][i][j] = draw(0.2f, 0.1f);
    }
}
int main(void) {
    state = 42; draw_gru(4, 1);
    for (int t = 0; t < 10; t++) {
        gru(4, t == 0 || t == 8, BIAS);
        for (int i = 0; i < 4; i++) printf("%a ", h[i]);
    }
    printf("\n");
    for (int kind = 0; kind < 3; kind++) {
        float sums[50] = {0};
        for (int trial = 0; trial < 30; trial++) {
            state = 42 + trial; memset(h, 0, sizeof h); memset(c, 0, sizeof c);
            if (kind == 1) draw_gru(8, 0);
            else for (int k = 0; k < (kind ? 4 : 1); k++) for (int i = 0; i < 8; i++) {
                float wide = kind ? 0.2f : 0.4f, half = kind ? 0.1f : 0.2f;
                w[k][i] = draw(wide, half);
                for (int j = 0; j < 8; j++) u[k][i][j] = draw(wide, half);
            }
            for (int t = 0; t < 50; t++) {
                float x = t == 0, next[8], norm = 0;
                if (kind == 1) gru(8, x, BIAS);
                else {
                    for (int i = 0; i < 8; i++) {
                        if (kind == 0) { next[i] = squash(before(0, i, 8, x, 0)); continue; }
                        float f = gate(before(0, i, 8, x, 1)), in = gate(before(1, i, 8, x, 0));
                        float o = gate(before(2, i, 8, x, 0)), g = squash(before(3, i, 8, x, 0));
                        c[i] = f * c[i] + in * g;
                        next[i] = o * squash(c[i]);
                    }
                    memcpy(h, next, sizeof h);
                }
                for (int i = 0; i < 8; i++) norm += h[i] * h[i];
                sums[t] += sqrtf(norm);
            }
        }
        for (int t = 0; t < 50; t++) printf("%a ", sums[t] / 30);
        printf("\n");
    }
}
"""


class Output:
    """What the compiled program prints: the states of 089, and the mean norms of 090 by length."""

    def __init__(self, lines: list[list[float]]) -> None:
        self.h = np.array(lines[0]).reshape(10, 4)
        self.rnn, self.gru, self.lstm = ({t: norms[t - 1] for t in range(1, 51)} for norms in lines[1:])


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Output]:
    if not shutil.which("gcc"):
        pytest.skip("no C compiler here")
    folder = tmp_path_factory.mktemp("programs")
    (folder / "run.c").write_text(PROGRAM)

    @cache
    def run(reset: str = "i", bias: int = 0, true_tanh: bool = False) -> Output:
        flags = ["-O1", "-ffp-contract=off", "-fexcess-precision=standard", f"-DRESET={reset}", f"-DBIAS={bias}"]
        flags += ["-DTRUE_TANH"] * true_tanh
        subprocess.run(["gcc", *flags, "-o", folder / "run", folder / "run.c", "-lm"], check=True)
        text = subprocess.run([folder / "run"], capture_output=True, text=True, check=True).stdout
        return Output([[float.fromhex(number) for number in line.split()] for line in text.splitlines()])

    return run


# The mathematics, by NumPy in double precision: its rounding is ten digits below what is compared.


def draws(seed: int, count: int) -> Array:
    """Microsoft's rand(), divided and scaled in float32: from -0.5 to 0.5 before the factor."""
    numbers = []
    for _ in range(count):
        seed = (seed * 214013 + 2531011) % 2**32
        numbers.append(seed >> 16 & 32767)
    return np.array(numbers).astype(np.float32) / np.float32(32767)


def scaled(numbers: Array, width: float, half: float) -> Array:
    return (numbers * np.float32(width) - np.float32(half)).astype(np.float64)


def sigmoid(a: Array) -> Array:
    return 1 / (1 + np.exp(-a))


def states(kind: str, seed: int, bias: float = 0) -> Iterator[Array]:
    """Yield h after each of 50 steps, x being 1 and then 0."""
    h, c = np.zeros(8), np.zeros(8)
    if kind == "rnn":
        rows = scaled(draws(seed, 72), 0.4, 0.2).reshape(8, 9)
    elif kind == "gru":
        rows = scaled(draws(seed, 216), 0.2, 0.1).reshape(8, 27)
        w, u = rows[:, :3].T, rows[:, 3:].reshape(8, 8, 3).transpose(2, 0, 1)
    else:
        gates = scaled(draws(seed, 288), 0.2, 0.1).reshape(4, 8, 9)
    for step in range(50):
        x = float(step == 0)
        if kind == "rnn":
            h = np.tanh(rows[:, 0] * x + rows[:, 1:] @ h)
        elif kind == "gru":
            z, r = sigmoid(w[0] * x + u[0] @ h + bias), sigmoid(w[1] * x + u[1] @ h)
            h = z * h + (1 - z) * np.tanh(w[2] * x + r * (u[2] @ h))
        else:
            f, i, o, g = gates[:, :, 0] * x + gates[:, :, 1:] @ h
            c = sigmoid(f + bias) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
        yield h


@cache
def norms(kind: str, bias: float = 0) -> Array:
    """Return the mean norm over 30 trials after each step; index 0 is not used."""
    runs = [[float(np.linalg.norm(h)) for h in states(kind, 42 + trial, bias)] for trial in range(30)]
    return np.array([0, *np.mean(runs, axis=0)])


def test_the_compiled_program_prints_what_the_pack_says_089_prints(compiled: Callable[..., Output]) -> None:
    """Column h[3], and h[0] where the text names it."""
    column = [f"{value:+.3f}" for value in compiled().h[:, 3]]
    shown = ["-0.029", "-0.015", "-0.008", "-0.004", "-0.002", "-0.001", "-0.001", "-0.000", "-0.029", "-0.015"]
    assert column == shown
    assert [f"{compiled().h[step, 0]:+.3f}" for step in (0, 3, 8)] == ["+0.005", "+0.000", "+0.005"]
    assert [text for text in printed(226) if text[0] in "+−"] == ["−0.029", "+0.005"]


def test_the_compiled_program_prints_what_the_pack_says_090_prints(compiled: Callable[..., Output]) -> None:
    """All twelve figures of the table, the zero among them."""
    run = compiled()
    table = [f"{norms_[length]:.3e}" for length in (5, 10, 20, 50) for norms_ in (run.rnn, run.gru, run.lstm)]
    told = [text for text in printed(400) + printed(401) if "e-" in text]
    assert [text for text in table if text != "0.000e+00"] == told
    assert table[9] == "0.000e+00"


def test_the_mathematics_of_090_is_that_of_double_precision() -> None:
    """The pack's enclosures, and NumPy's float64 over the same weights."""
    for row, length in enumerate((5, 10, 20, 50), start=1):
        for name, kind, bias in (("RNN", "rnn", 0), ("GRU", "gru", 0), ("LSTM", "lstm", 1)):
            value = findings()[f"mathematics[{row},{name}]"].value
            assert value is not None
            assert norms(kind, bias)[length] == pytest.approx(float(value), rel=1e-6)


def test_double_precision_is_enough_for_the_smallest_norm() -> None:
    """mpmath at 40 digits, for three of the trials of the plain network."""
    with mpmath.workdps(40):
        for seed in (42, 55, 71):
            rows = scaled(draws(seed, 72), 0.4, 0.2).reshape(8, 9)
            w, u = mpmath.matrix(rows[:, 0].tolist()), mpmath.matrix(rows[:, 1:].tolist())
            h = (w * 1).apply(mpmath.tanh)
            for _ in range(49):
                h = (u * h).apply(mpmath.tanh)
            last = list(states("rnn", seed))[-1]
            assert float(mpmath.norm(h)) == pytest.approx(float(np.linalg.norm(last)), rel=1e-11)


def test_the_outputs_of_087_and_088_are_those_of_numpy_float32() -> None:
    """Each operation rounded to float32."""
    f = np.float32
    blend = [f(z) * f(0.8) + (f(1) - f(z)) * f(-0.3) for z in (0.0, 1.0, 0.5, 0.8)]
    assert [f"{value:+.3f}" for value in blend] == ["-0.300", "+0.800", "+0.250", "+0.580"]
    h, w, u = (np.array(v, f) for v in ([0.8, -0.5, 0.3], [0.5, -0.3, 0.7], [0.4, 0.6, -0.2]))
    for r, texts in (
        (0.0, ["+0.462", "-0.291", "+0.604"]),
        (0.5, ["+0.578", "-0.422", "+0.585"]),
        (1.0, ["+0.675", "-0.537", "+0.565"]),
    ):
        e = np.exp(np.float64(-2 * (w + u * (f(r) * h)))).astype(f)
        assert [f"{value:+.3f}" for value in (1 - e) / (1 + e)] == texts


def test_pytorch_counts_what_091_prints() -> None:
    """Its layers without their second bias."""
    torch = pytest.importorskip("torch")
    counts = [
        sum(weight.numel() for name, weight in kind(32, 64).named_parameters() if name != "bias_hh_l0")
        for kind in (torch.nn.RNN, torch.nn.GRU, torch.nn.LSTM)
    ]
    assert counts == [6208, 18624, 24832]


# The errata.


def prove_reset(compiled: Callable[..., Output]) -> None:
    """r[i] and r[j] in the loop give other states, and the same printed digits; and the example with 2 by 2."""
    rows, columns = compiled("i"), compiled("j")
    assert rows.h[1, 3] != columns.h[1, 3]
    assert [f"{h:+.3f}" for h in rows.h.flat] == [f"{h:+.3f}" for h in columns.h.flat]
    for length in (5, 10, 20, 50):
        assert f"{rows.gru[length]:.3e}" == f"{columns.gru[length]:.3e}"
    u, r, h = np.array([[0, 1], [1, 0]]), np.array([1, 0]), np.array([1, 1])
    loop = np.array([sum(u[i, j] * (r[i] * h[j]) for j in range(2)) for i in range(2)])
    assert (u @ (r * h)).tolist() == [0, 1]
    assert loop.tolist() == (r * (u @ h)).tolist() == [1, 0]


def prove_columns(compiled: Callable[..., Output]) -> None:
    """h[1] changes its sign and grows, and the printed column shows it."""
    column = compiled().h[:5, 1]
    assert column[2] < 0 < column[3] < column[4]
    assert [f"{value:+.3f}" for value in column[:4]] == ["-0.006", "-0.002", "-0.000", "+0.000"]


def prove_less_to_lose(compiled: Callable[..., Output]) -> None:
    column = compiled().h[:, 0]
    assert (f"{column[0] / 8:+.3f}", f"{column[3]:+.3f}") == ("+0.001", "+0.000")


def prove_residue(compiled: Callable[..., Output]) -> None:
    """Not zero before the second input, not equal after it, also with a correct tanh."""
    for run in (compiled(), compiled(true_tanh=True)):
        assert f"{run.h[7, 3]:.6f}" == "-0.000262"
        assert [f"{run.h[step, 3]:.4f}" for step in (0, 8)] == ["-0.0293", "-0.0295"]
        assert all(run.h[0, i] != run.h[8, i] for i in range(4))


def prove_underflow(compiled: Callable[..., Output]) -> None:
    """float32 holds the result, once the program's own tanh, 0 below 2**-26, is not in its way."""
    assert compiled().rnn[50] == 0
    assert f"{compiled(true_tanh=True).rnn[50]:.3e}" == "8.612e-20"
    assert norms("rnn")[50] > 1e10 * np.finfo(np.float32).tiny
    e = np.exp(np.float64(-2e-9)).astype(np.float32)
    assert (1 - e) / (1 + e) == 0


def prove_gap(compiled: Callable[..., Output]) -> None:
    """18 million in double precision, and in float32 with a correct tanh; 139 million with the program's own."""
    exact, right, own = norms("lstm", 1)[50] / norms("gru")[50], compiled(true_tanh=True), compiled()
    assert round(exact / 1e6) == round(right.lstm[50] / right.gru[50] / 1e6) == 18
    assert round(own.lstm[50] / own.gru[50] / 1e6) == 139


def prove_price(compiled: Callable[..., Output]) -> None:
    """With the GRU's bias at 1 nearly all of the gap is gone, in double precision and in float32."""
    lstm, before, after = norms("lstm", 1)[50], norms("gru")[50], norms("gru", 1)[50]
    assert np.log(lstm / after) / np.log(lstm / before) < 0.06
    assert compiled().lstm[50] / compiled(bias=1).gru[50] < 3


def prove_tuning(compiled: Callable[..., Output]) -> None:
    """At 1.5 the GRU is ahead; at 2 in float32 too."""
    assert norms("gru", 1.5)[50] > 40 * norms("lstm", 1)[50]
    assert compiled(bias=2).gru[50] > compiled().lstm[50]
    assert norms("gru")[50] > 2 * norms("lstm", 0)[50]


def prove_training(compiled: Callable[..., Output]) -> None:
    """A plain unit, trained over 10 steps by plain Python, keeps its output for 50."""
    w, u, v = 0.5, 0.5, 0.5
    number = 0
    while True:
        number += 1
        h = [math.tanh(w)]
        for _ in range(9):
            h.append(math.tanh(u * h[-1]))
        error = v * h[-1] - 1
        if error**2 / 2 < 0.01:
            break
        back, gradient_u = error * v, 0.0
        for step in range(9, 0, -1):
            back *= 1 - h[step] ** 2
            gradient_u += back * h[step - 1]
            back *= u
        w, u, v = w - 0.5 * back * (1 - h[0] ** 2), u - 0.5 * gradient_u, v - 0.5 * error * h[-1]
    state = math.tanh(w)
    for _ in range(49):
        state = math.tanh(u * state)
    assert (number, f"{u:.2f}", f"{state:.3f}") == (25, "1.54", "0.873")
    assert compiled().rnn[50] == 0


def prove_closer(compiled: Callable[..., Output]) -> None:
    """By quotient and by difference, at each of the four lengths."""
    for length in (5, 10, 20, 50):
        rnn, gru, lstm = norms("rnn")[length], norms("gru")[length], norms("lstm", 1)[length]
        assert lstm / gru > gru / rnn
        assert lstm - gru > gru - rnn
    run = compiled()
    assert all(run.lstm[length] / run.gru[length] > run.gru[length] / run.rnn[length] for length in (5, 10, 20))


def prove_quotient(compiled: Callable[..., Output]) -> None:
    """Of the printed figures, by exact arithmetic."""
    assert round(Fraction("4.371e-08") / Fraction("3.147e-16"), -6) == 139_000_000


def prove_gradient(compiled: Callable[..., Output]) -> None:
    """By complex steps through the reset-before cell: the formula lacks exactly the path through z."""
    generator = np.random.default_rng(0)
    u_z, u_r, u_n = generator.normal(size=(3, 5, 5))
    x_z, x_r, x_n, h = generator.normal(size=(4, 5))

    def step(h: Array) -> Array:
        z, r = sigmoid(x_z + u_z @ h), sigmoid(x_r + u_r @ h)
        return z * h + (1 - z) * np.tanh(x_n + u_n @ (r * h))

    whole = np.array([step(h + 1e-30j * unit).imag / 1e-30 for unit in np.eye(5)]).T
    z, r = sigmoid(x_z + u_z @ h), sigmoid(x_r + u_r @ h)
    n = np.tanh(x_n + u_n @ (r * h))
    candidate = np.diag(1 - n**2) @ u_n @ (np.diag(r) + np.diag(h * r * (1 - r)) @ u_r)
    printed = np.diag(z) + np.diag(1 - z) @ candidate
    missing = np.diag(z * (1 - z) * (h - n)) @ u_z
    np.testing.assert_allclose(printed + missing, whole, atol=1e-13)
    assert np.abs(printed - whole).max() > 0.1


PROOFS = {
    "reset-after-089": prove_reset,
    "reset-after-090": prove_reset,
    "other-columns": prove_columns,
    "less-to-lose": prove_less_to_lose,
    "exact-equality": prove_residue,
    "no-residue": prove_residue,
    "underflow-401": prove_underflow,
    "underflow-467": prove_underflow,
    "gap-401": prove_gap,
    "price-401": prove_price,
    "closer-402": prove_closer,
    "gap-457": prove_quotient,
    "tuning-457": prove_tuning,
    "training-455": prove_training,
    "gradient-464": prove_gradient,
    "gradient-473": prove_gradient,
}


def test_every_erratum_has_a_second_proof() -> None:
    """And no proof is left of an erratum that is gone."""
    assert {finding.id for finding in findings().values() if finding.is_erratum} == set(PROOFS)


@pytest.mark.parametrize("proof", dict.fromkeys(PROOFS.values()), ids=lambda proof: proof.__name__)
def test_a_second_computation_agrees_with_the_erratum(
    proof: Callable[..., None], compiled: Callable[..., Output]
) -> None:
    """By another way than the package's own."""
    proof(compiled)


def test_pytorch_differentiates_the_cell_as_the_pack_does() -> None:
    """Its automatic derivative is the printed formula and the path through z together."""
    torch = pytest.importorskip("torch")
    generator = torch.Generator().manual_seed(0)
    u_z, u_r, u_n = torch.randn(3, 5, 5, generator=generator, dtype=torch.float64)
    x_z, x_r, x_n, h = torch.randn(4, 5, generator=generator, dtype=torch.float64)

    def step(h: Any) -> Any:
        z, r = torch.sigmoid(x_z + u_z @ h), torch.sigmoid(x_r + u_r @ h)
        return z * h + (1 - z) * torch.tanh(x_n + u_n @ (r * h))

    z, r = torch.sigmoid(x_z + u_z @ h), torch.sigmoid(x_r + u_r @ h)
    n = torch.tanh(x_n + u_n @ (r * h))
    candidate = torch.diag(1 - n**2) @ u_n @ (torch.diag(r) + torch.diag(h * r * (1 - r)) @ u_r)
    printed = torch.diag(z) + torch.diag(1 - z) @ candidate
    whole = torch.autograd.functional.jacobian(step, h)
    assert torch.allclose(printed + torch.diag(z * (1 - z) * (h - n)) @ u_z, whole, atol=1e-12)
    assert not torch.allclose(printed, whole, atol=1e-2)
