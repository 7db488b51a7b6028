"""A derivation as it is handed over: in Python, in notebooks and on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

import gatecalc
from gatecalc.calculus.derivation import derive
from gatecalc.calculus.explicit import explicit_jacobian
from gatecalc.calculus.jacobian import jacobian
from gatecalc.cell import built_in, cell
from gatecalc.language import Source
from tests.test_check import run

KEYS = {"cell", "output", "input", "text", "latex", "terms", "check"}


def test_python_is_as_short_as_the_command_line() -> None:
    """A cell's method, and two functions of the package."""
    found = gatecalc.cell("lstm").jacobian("c", "c_prev")
    assert str(found) == "diag(f)"
    assert found.terms == ["diag(f)"]
    assert found.check.max_error <= 1e-25
    assert gatecalc.derive("lstm", "c", "c_prev", steps=2).text == "diag(f_2 * f_1)"
    assert gatecalc.grade("lstm", "c", "c_prev", "diag(f)").correct


def test_a_notebook_shows_latex() -> None:
    """A derivation and a cell."""
    assert gatecalc.derive("lstm", "c", "c_prev")._repr_latex_() == (
        r"$\displaystyle \frac{\partial c_{t}}{\partial c_{t-1}} = \operatorname{diag}\left(f_{t}\right)$"
    )
    assert r"f_{t} &= \sigma\left(W_{f} \, x_{t}" in gatecalc.cell("lstm")._repr_latex_()


def test_json_has_its_keys() -> None:
    """Those that are promised, and the check with its own."""
    data = json.loads(run("derive", "gru", "h", "h_prev", "--format", "json", "--explain").stdout)
    assert set(data) >= KEYS
    assert len(data["terms"]) == 4
    assert set(data["check"]) >= {"method", "max_error"}
    assert data["check"]["max_error"] <= 1e-25
    assert len(data["explanation"]) == 8
    assert data["explanation"][-1]["result"] == data["text"]
    unchecked = json.loads(run("derive", "lstm", "c", "c_prev", "--format", "json", "--no-check").stdout)
    assert unchecked["check"] is None


def test_the_first_line_is_the_formula_and_the_rest_a_comment() -> None:
    """So that the whole output can be handed to grade."""
    result = run("derive", "lstm", "c", "c_prev", "--path", "total", "--steps", "2")
    assert result.exit_code == 0
    first, *rest = result.stdout.splitlines()
    assert "J_c_1" in first
    assert rest[0].startswith("# where J_c_1 = ")
    assert all(line.startswith("# ") for line in rest)
    assert "# J[i, j] = d c_2[i] / d c_0[j], H by H" in rest
    assert "largest error" in rest[-1]
    graded = run("grade", "lstm", "c", "c_prev", result.stdout, "--path", "total", "--steps", "2")
    assert (graded.exit_code, graded.stdout) == (0, "correct\n")
    assert (
        run("grade", "lstm", "c", "c_prev", "-", "--path", "total", "--steps", "2", stdin=result.stdout).exit_code == 0
    )


def test_grade_exits_with_1_for_what_is_not_right() -> None:
    """And says what is missing and extra."""
    result = run("grade", "lstm", "c", "i", "diag(c_prev)")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[:3] == ["not correct", "missing: diag(g)", "extra: diag(c_prev)"]
    data = json.loads(run("grade", "lstm", "c", "i", "diag(c_prev)", "--format", "json").stdout)
    assert (data["correct"], data["missing"], data["extra"]) == (False, ["diag(g)"], ["diag(c_prev)"])


@pytest.mark.parametrize("format", ["latex", "markdown", "numpy", "html", "unicode"])
@pytest.mark.parametrize("built", built_in())
def test_every_cell_prints_in_every_format(built: str, format: str) -> None:
    """Without a word on stderr."""
    state = cell(built).states[-1]
    result = run("derive", built, state, f"{state}_prev", "--format", format)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.strip()


def test_an_explanation_names_each_rule() -> None:
    """Which rule, on which equation, what came out."""
    text = run("derive", "lstm", "c", "h_prev", "--explain").stdout
    assert "2. chain rule; sigmoid has the derivative y * (1 - y), y being its value" in text
    assert "   f = σ(W_f x + U_f h_prev + b_f)\n   df = diag(f ⊙ (1 − f)) d(U_f h_prev)\n" in text
    assert "sum and product rules" in text


def test_a_weight_has_a_change_and_a_gradient() -> None:
    """Neither of which is a matrix by a matrix."""
    text = run("derive", "lstm_projected", "h", "U_f").stdout
    assert text.splitlines()[0] == "W_p @ diag(o * (1 - tanh(c)**2) * c_prev * f * (1 - f)) @ dU_f @ h_prev"
    assert ": diag(o * (1 - tanh(c)**2) * c_prev * f * (1 - f)) @ W_p.T @ delta @ h_prev.T\n" in text


@pytest.mark.parametrize("built", ["lstm", "gru", "lstm_peephole", "lstm_projected", "rnn"])
def test_the_gradient_is_that_of_torch(built: str) -> None:
    """By every matrix of the cell: the printed gradient, evaluated, against autograd of delta @ h."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    import numpy as np

    from gatecalc.calculus.derivation import gradient
    from gatecalc.calculus.words import factors, is_diag, paths
    from tests.test_jacobian import _torch_value

    found = cell(built)
    sizes = dict(zip(found.dimensions, (3, 4, 2), strict=False))
    torch.manual_seed(2)
    widths = {**{name: (found.widths[name],) for name in (*found.inputs, *(f"{s}_prev" for s in found.states))}}
    known = {
        n: torch.rand([sizes[w] for w in s], dtype=torch.float64) - 0.5
        for n, s in {**found.parameters, **widths}.items()
    }
    for name, shape in found.parameters.items():
        known[name].requires_grad_(len(shape) == 2)
    for target, tree in found.written.items():
        known[target] = _torch_value(tree, known, torch)
    output = found.states[-1]
    delta = torch.rand(sizes[found.widths[output]], dtype=torch.float64)
    (delta @ known[output]).backward()
    for matrix in [name for name, shape in found.parameters.items() if len(shape) == 2]:
        whole = np.zeros(known[matrix].shape)
        for word in paths(gradient(jacobian(found, output, matrix))):
            *before, last = factors(word)
            value: Any = delta.numpy()
            for factor in reversed(before[:-1]):
                if is_diag(factor):
                    value = _torch_value(factor.args[0], known, torch).detach().numpy() * value
                else:
                    value = _torch_value(factor.args[0], known, torch).detach().numpy().T @ value
            whole += np.outer(value, _torch_value(last.args[0], known, torch).detach().numpy())
        assert np.abs(whole - known[matrix].grad.numpy()).max() < 1e-12, matrix


def test_entries_are_written_out_on_request() -> None:
    """By SymPy, up to a width of 3, by the names of the gates."""
    result = run("derive", "lstm", "c", "c_prev", "--explicit", "2")
    assert "J[0, 0] = f_0\nJ[0, 1] = 0\nJ[1, 0] = 0\nJ[1, 1] = f_1\n" in result.stdout
    assert explicit_jacobian(jacobian("rnn", "h", "h_prev"), 1) == [["U_00*(1 - h_0**2)"]]
    derived = jacobian("lstm", "c", "c_prev")
    derived.formula = jacobian("lstm", "c", "i").formula
    with pytest.raises(gatecalc.GatecalcError, match="check: SymPy derives another matrix"):
        explicit_jacobian(derived, 2)
    refused = run("derive", "lstm", "c", "c_prev", "--explicit", "4")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("limit: entries are written out for widths 1 to 3, not 4")


def test_the_gradient_is_followed_at_given_numbers() -> None:
    """Twenty steps along the belt."""
    text = run("derive", "lstm", "c", "c_prev", "--steps", "20", "--at", "b_f=3", "--digits", "4").stdout
    assert "  20  0.9526          0.3784   0.3784\n" in text
    data = json.loads(run("derive", "lstm", "c", "c_prev", "--at", "b_f=3", "--format", "json").stdout)
    assert data["at"]["rows"][0]["belt"] == "0.952574"


def test_a_zero_says_why_on_the_command_line() -> None:
    """In a comment."""
    assert "# no equation of gru leads from n to z\n" in run("derive", "gru", "z", "n").stdout


def test_a_kink_is_stated() -> None:
    """With the value that is taken."""
    assert "# the derivative of relu is taken as 0 at a = 0\n" in run("derive", "rnn_relu", "h", "h_prev").stdout


def test_beyond_the_limit_the_paths_are_not_listed() -> None:
    """And it says so."""
    found = derive("lstm", "c", "c_prev", "total", 10, check=False)
    assert found.terms is None
    assert "it has more than 256 paths, the limit, and is not multiplied out" in found.notes


def test_a_claim_can_be_a_derivative() -> None:
    """A formula of a document is compared with the one that is derived."""
    found = derive("lstm", "c", "c_prev", check=False)
    assert found.compare_formula(Source("diag(f)"))[:2] == ("exact", "algebra")
    assert found.compare_formula(Source("diag(i)")) == (
        "wrong", "algebra", "diag(f)", "missing diag(f); extra diag(i)",
    )  # fmt: skip
    assert derive("rnn_relu", "h", "h_prev", check=False).compare_formula(Source("diag(step(h)) @ U"))[0] == "undecided"


def test_show_prints_a_cell() -> None:
    """Its equations, parameters and LaTeX."""
    data = json.loads(run("show", "gru", "--format", "json").stdout)
    assert "h = (1 - z) * h_prev + z * n" in data["equations"]
    assert data["parameters"]["W_z"] == ["H", "D"]
    assert data["latex"].startswith("\\begin{aligned}")
    assert run("show", "gru", "--format", "latex").stdout.rstrip("\n") == data["latex"]
    assert "| $U_{n}$ | H by H |" in run("show", "gru", "--format", "markdown").stdout
    assert "U_n  H by H" in run("show", "gru").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("derive", "lstm", "c", "c_pre"), "name: 'c_pre' is not part of lstm; did you mean 'c_prev'?"),
        (("derive", "lstn", "c", "c_prev"), "name: unknown cell 'lstn'; did you mean 'lstm'?"),
        (("derive", "lstm", "c", "c_prev", "--path", "all"), "name: unknown path 'all'"),
        (("derive", "lstm", "c", "c_prev", "--steps", "0"), "limit: 0 steps; from 1 to 1000 can be derived"),
        (("derive", "lstm", "c", "U_f", "--format", "numpy"), "format: the derivative by the weight 'U_f'"),
        (
            ("grade", "gru", "h", "h_prev", "diag(z * U_n @ h_prev)"),
            "<formula>:1:6: syntax: 'z * U_n @ h_prev' reads as",
        ),
    ],
)
def test_bad_input_is_one_error(arguments: tuple[str, ...], message: str) -> None:
    """On stderr, with a remedy and status 2."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(message)
    assert "help: " in result.stderr


def test_a_derivation_does_not_wait_for_sympy() -> None:
    """Neither SymPy nor NumPy is loaded for it, its check or a grade."""
    code = """
import sys
from gatecalc import derive, grade
derive("gru", "h", "h_prev")
grade("lstm", "c", "c_prev", "diag(i)")
sys.exit(" ".join(name for name in ("sympy", "numpy") if name in sys.modules) or 0)
"""
    run_ = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run_.returncode, run_.stderr) == (0, "")
