"""The hand-run table: published tables, exactness, and what is refused."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from gatecalc import GatecalcError, trace
from gatecalc.cell import built_in
from gatecalc.cli import gatecalc

BELT = {"W_i": 4, "b_i": -2, "W_g": 2, "b_f": 3}
BELT_OPTIONS = ["--set", "W_i=4", "--set", "b_i=-2", "--set", "W_g=2", "--set", "b_f=3"]


def run(*arguments: str) -> str:
    result = CliRunner().invoke(gatecalc, ["trace", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_a_name_of_several_letters_is_set_upright_in_latex(tmp_path: Path) -> None:
    """Not as a product of its letters."""
    (tmp_path / "own.cell").write_text("xt = W @ x\nn_1 = tanh(xt)\nh = n_1 + h_prev\n", encoding="utf-8")
    result = CliRunner().invoke(gatecalc, ["trace", str(tmp_path / "own.cell"), "--input", "1", "--format", "latex"])
    assert "step & $x$ & $\\mathrm{xt}$ & $n_1$ & $h$ \\\\" in result.output


def test_lstm_prints_the_published_table() -> None:
    """The table of 'LSTM and GRU: gates that decide what to keep', figure 3."""
    rows = trace("lstm", x=[1, 0, 0, 0], digits=4, **BELT).rows
    assert [row[6:] for row in rows] == [
        ["0.8491", "0.3453"],
        ["0.8088", "0.3345"],
        ["0.7705", "0.3236"],
        ["0.7339", "0.3127"],
    ]


def test_gru_prints_the_published_table_with_its_further_columns() -> None:
    """The table of the same document, figure 5: r h_prev, the kept and the written share."""
    found = trace(
        "gru", x=[1, 0, 0, 0], W_z=4, b_z=-2, W_n=2, U_n=1, digits=4, show=["r * h_prev", "(1 - z) * h_prev", "z * n"]
    )
    assert found.columns == ["step", "x", "z", "r", "n", "h", "r * h_prev", "(1 - z) * h_prev", "z * n"]
    assert found.rows[1] == ["2", "0.0000", "0.1192", "0.5000", "0.4008", "0.7957", "0.4246", "0.7479", "0.0478"]
    assert [row[5] for row in found.rows] == ["0.8491", "0.7957", "0.7459", "0.6995"]


@pytest.mark.parametrize("name", built_in())
def test_every_cell_agrees_with_floating_point(name: str) -> None:
    """A scalar run in Python floats, through the equations as written, gives the same numbers."""
    from gatecalc.cell import cell

    each = cell(name)
    weights = {parameter: Fraction(3 * position % 7 - 3, 4) for position, parameter in enumerate(each.parameters)}
    found = trace(name, x=[1, Fraction(-1, 2), 2], **weights)
    functions = {"sigmoid": lambda a: 1 / (1 + math.exp(-a)), "tanh": math.tanh, "relu": lambda a: max(a, 0.0)}
    values = {parameter: float(value) for parameter, value in weights.items()} | {
        state + "_prev": 0.0 for state in each.states
    }
    for step, x in enumerate((1.0, -0.5, 2.0), 1):
        values["x"] = x
        for target, formula in each.written.items():
            values[target] = eval(str(formula).replace("@", "*"), {**functions, **values})
            assert float(found[target][step].decimal(15)) == pytest.approx(values[target], abs=1e-14)
        values.update({state + "_prev": values[state] for state in each.states})


def test_digits_are_rounded_not_cut() -> None:
    """Forty digits begin with the rounding of six: 0.849112675942744... to six is 0.849113."""
    short, long = (trace("lstm", x=[1], digits=digits, **BELT).rows[0][6] for digits in (6, 40))
    assert short == "0.849113"
    assert long.startswith("0.8491126")


def test_a_vector_cell_has_a_column_for_each_element() -> None:
    """Widths follow from the values given."""
    found = trace("rnn", x=[[1, 0], [0, 1]], W=[[1, 2], [3, 4], [5, 6]], U=[[0, 0, 0]] * 3)
    assert found.columns == ["step", "x[0]", "x[1]", "h[0]", "h[1]", "h[2]"]
    assert found.h[1][2].decimal(6) == f"{math.tanh(5):.6f}"


def test_steps_count_from_one_and_a_state_has_its_initial_value_at_zero() -> None:
    """c[0] is what the run starts from."""
    found = trace("lstm", x=[0], c_prev="1/3")
    assert found.c[0].fraction == Fraction(1, 3)
    assert found.c[1].fraction == Fraction(1, 6)
    with pytest.raises(GatecalcError, match=r"'c' has no step 2; its steps are 0 to 1"):
        found.c[2]


def test_formats_hold_the_same_numbers() -> None:
    """JSON, CSV, Markdown and LaTeX print the rows of the text."""
    options = ["lstm", "--input", "1,0", *BELT_OPTIONS, "--digits", "4"]
    rows = json.loads(run(*options, "--format", "json"))["rows"]
    assert rows == trace("lstm", x=[1, 0], digits=4, **BELT).rows
    assert run(*options, "--format", "csv").splitlines()[1:] == [",".join(row) for row in rows]
    assert run(*options, "--format", "markdown").splitlines()[2:] == ["| " + " | ".join(row) + " |" for row in rows]
    assert [
        line.removesuffix(r" \\").split(" & ") for line in run(*options, "--format", "latex").splitlines()[4:6]
    ] == rows
    assert [line.split() for line in run(*options).splitlines()[1:]] == rows


def test_vector_inputs_are_separated_by_semicolons() -> None:
    """1,0;0,1 is two steps of two numbers."""
    assert json.loads(run("rnn", "--input", "1,0;0,1", "--format", "json"))["columns"] == ["step", "x[0]", "x[1]", "h"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lstm", "--input", "1", "--set", "W_q=1"], "name: 'lstm' has no weight 'W_q'; did you mean 'W_o'?"),
        (["lstm", "--input", "1", "--set", "W_f=[[1,2]]"], "shape: 'W_f' says that D = 2, and the input says 1"),
        (["lstm", "--input", "1", "--set", "b_f=[[1,2]]"], "shape: 'b_f' is given as (1, 2), and it is (H)"),
        (["rnn", "--input", "1", "--set", "b"], "option: 'b' is not NAME=VALUE"),
        (["rnn", "--input", "1;2,3"], "--input: step 2 is 2 wide, and step 1 is 1"),
        (["rnn", "--input", "1", "--show", "q"], "name: 'rnn' has no 'q'"),
        (["lstn", "--input", "1"], "name: unknown cell 'lstn'; did you mean 'lstm'?"),
    ],
)
def test_bad_input_is_one_clear_error(arguments: list[str], message: str) -> None:
    """What is wrong, and the closest known name."""
    with pytest.raises(GatecalcError) as error:
        CliRunner().invoke(gatecalc, ["trace", *arguments], catch_exceptions=False, standalone_mode=False)
    assert error.value.message == message
