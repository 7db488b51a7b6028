"""The NumPy program of a Jacobian."""

from __future__ import annotations

import ast
import itertools
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from gatecalc.calculus.differences import Arithmetic, apply
from gatecalc.calculus.jacobian import Jacobian, jacobian
from gatecalc.calculus.program import numpy_program
from gatecalc.cell import built_in, cell, parse_cell
from gatecalc.elementwise import ELEMENTWISE
from gatecalc.errors import GatecalcError
from gatecalc.language import parse


def run(derived: Jacobian, given: dict[str, Any]) -> Any:
    scope: dict[str, Any] = {}
    exec(numpy_program(derived), scope)
    return scope["jacobian"](given)


def drawn(derived: Jacobian) -> dict[str, Any]:
    """Draw every vector and weight, at widths that are all different."""
    random = np.random.default_rng(1)
    letters = sorted({*derived.unrolled.widths.values(), *(w for s in derived.cell.parameters.values() for w in s)})
    sizes = dict(zip(letters, itertools.count(2)))
    vectors = {label: w for label, w in derived.unrolled.widths.items() if label.isidentifier()}
    given = {label: random.uniform(-1, 1, sizes[w]) for label, w in vectors.items()}
    given |= {name: random.uniform(-1, 1, [sizes[w] for w in s]) for name, s in derived.cell.parameters.items()}
    return given


def exactly(arithmetic: Arithmetic, value: Any) -> Any:
    return [exactly(arithmetic, each) for each in value] if np.ndim(value) else arithmetic.context.mpf(float(value))


@pytest.mark.parametrize("built", built_in())
def test_the_program_returns_the_matrix_of_the_formula(built: str) -> None:
    """Column by column, against the same words at 50 digits, over one step and two, both paths."""
    found = cell(built)
    arithmetic = Arithmetic()
    for output, state, path, steps in itertools.product(found.states, found.states, ("local", "total"), (1, 2)):
        derived = jacobian(found, output, f"{state}_prev", path, steps)
        given = drawn(derived)
        ours = run(derived, given)
        assert ours.shape == (len(given[derived.output]), len(given[derived.input]))
        exact = {label: exactly(arithmetic, value) for label, value in given.items()}
        for label, node in derived.unrolled.nodes.items():
            if label not in derived.given:
                exact[label] = arithmetic.vector(node.formula, exact)
        for column in range(ours.shape[1]):
            unit = [arithmetic.context.mpf(k == column) for k in range(ours.shape[1])]
            change = [float(entry) for entry in apply(arithmetic, derived, exact, unit)]
            assert np.abs(ours[:, column] - change).max() < 1e-13, (output, state, path, steps)


@pytest.mark.parametrize("function", ELEMENTWISE)
def test_every_function_is_part_of_the_program_that_needs_it(function: str) -> None:
    """Defined in it, or NumPy's own; and right."""
    found = parse_cell(f"h = {function}(W @ x + U @ h_prev + b) * {function}(h_prev)")
    derived = jacobian(found, "h", "h_prev")
    given = {"W": [[0.3]], "U": [[0.7]], "b": [0.4], "x": [0.5], "h_prev": [0.6]}
    step = 1e-6

    def h(value: float) -> float:
        arithmetic = Arithmetic()
        exact = {**given, "h_prev": [value]}
        for node in derived.unrolled.nodes.values():
            exact[node.label] = arithmetic.vector(node.formula, exact)
        return float(exact["h"][0])

    slope = (h(0.6 + step) - h(0.6 - step)) / (2 * step)
    assert abs(run(derived, given)[0, 0] - slope) < 1e-6


def test_the_program_needs_numpy_alone(tmp_path: Any) -> None:
    """It runs in an interpreter of its own, and imports nothing else."""
    text = numpy_program(jacobian("gru", "h", "h_prev"))
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imports] == ["import numpy as np"]
    file = tmp_path / "made.py"
    shapes = {"x": 2, "h_prev": 3, "W": (3, 2), "U": (3, 3), "b": 3}
    arrays = {name: shapes[name[0] if name[0] in "WUb" else name] for name in [*cell("gru").parameters, "x", "h_prev"]}
    file.write_text(text + f"\nprint(jacobian({{k: np.ones(s) for k, s in {arrays!r}.items()}}).shape)\n")
    assert subprocess.run([sys.executable, "-I", file], capture_output=True, text=True).stdout == "(3, 3)\n"


@pytest.mark.parametrize(
    "text", ["lambda = tanh(W @ x)\nh = lambda + h_prev", "a = tanh(W @ x)\nnp = a * h_prev\nh = np + h_prev"]
)
def test_a_name_that_python_or_the_program_uses_gets_another(text: str) -> None:
    """Where the reader lets it through at all."""
    try:
        found = parse_cell(text)
    except GatecalcError:
        return
    assert run(jacobian(found, "h", "h_prev"), {"W": [[1.0]], "x": [0.5], "h_prev": [0.2]}).shape == (1, 1)


def test_a_sum_that_is_taken_away_stays_in_parentheses() -> None:
    """U - (V + I), whichever way the formula came to be written."""
    derived = jacobian(parse_cell("h = U @ h_prev - (V @ h_prev + h_prev)"), "h", "h_prev")
    given = {"U": [[2.0]], "V": [[3.0]], "h_prev": [1.0]}
    assert run(derived, given) == [[-2.0]]
    derived.formula = parse("U - (V + I)")
    assert run(derived, given) == [[-2.0]]
    derived.formula = parse("U @ -(V - I) - (I - V @ U)")
    assert run(derived, given) == [[1.0]]


def test_a_zero_and_an_identity_know_their_size() -> None:
    """From the arrays that are given."""
    given = {"c_prev": np.ones(4), "x": np.ones(2), "h_prev": np.ones(4)}
    assert (run(jacobian("lstm_1997", "c", "c_prev"), given) == np.eye(4)).all()
    zero = jacobian("lstm", "f", "c_prev")
    leaves = {name: np.ones([{"H": 4, "D": 2}[w] for w in shape]) for name, shape in cell("lstm").parameters.items()}
    assert (run(zero, {**leaves, **given}) == np.zeros((4, 4))).all()


def test_a_weight_s_derivative_is_refused_with_the_remedy() -> None:
    """It has three indices."""
    with pytest.raises(GatecalcError) as caught:
        numpy_program(jacobian("lstm", "h", "U_f"))
    assert caught.value.message == "format: the derivative by the weight 'U_f' has three indices and is not a matrix"
    assert caught.value.help == "use its gradient, which '--format text' prints"
