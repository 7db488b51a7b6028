"""Cells: what the built-in ones are, how shapes are inferred, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatecalc.cell import Elementwise, Product, built_in, cell, parse_cell, read_cell
from gatecalc.errors import GatecalcError
from tests.test_check import run

NAMES = [
    *("gru", "gru_cho", "gru_reset_after", "gru_reset_after_write"),
    *("lstm", "lstm_1997", "lstm_coupled", "lstm_peephole", "lstm_projected"),
    *("mgu", "min_gru", "rnn", "rnn_relu"),
]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"""never closed\nh = tanh(W @ x)\n', "the text in quotes is never closed\n"),
        ("h := tanh(W @ x)\n", "help: write one equation a line, as in 'c = f * c_prev + i * g'"),
        ("\th = tanh(W @ x)\n", "help: begin each equation at the beginning of its line"),
        ("a = tanh(b)\nb = tanh(W @ x)\n", "help: give the vector another name: one that begins with b is a weight"),
    ],
)
def test_what_is_no_equation_is_told_how_one_is_written(text: str, message: str) -> None:
    """In the terms of a cell, not of a claim."""
    with pytest.raises(GatecalcError) as error:
        parse_cell(text)
    assert message in str(error.value)


def test_a_cell_file_may_begin_with_a_byte_order_mark_and_have_no_title(tmp_path: Path) -> None:
    """As some editors write it; then its name stands for its title."""
    path = tmp_path / "own.cell"
    path.write_text("h = tanh(W @ x + U @ h_prev)\r\n", encoding="utf-8-sig", newline="")
    assert run("show", str(path)).stdout.startswith("own, a cell without a title\n\nh = tanh(W @ x + U @ h_prev)\n\nW")
    assert run("show", str(path), "--format", "markdown").stdout.startswith("**own**\n\n$$")
    assert run("show", "-", stdin="\ufeffh = tanh(W @ x)\n").exit_code == 0


def test_the_built_in_cells_have_their_names() -> None:
    """Thirteen cells, by the names that packs and commands use."""
    assert built_in() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_names_its_source_with_authors_and_year(name: str) -> None:
    """A title, and a source that has a year in it."""
    each = cell(name)
    assert each.title.endswith(".")
    assert any(str(year) in each.source for year in range(1990, 2027)) or "PyTorch" in each.source


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_is_in_an_order_in_which_it_can_be_computed(name: str) -> None:
    """Each equation reads inputs, previous states, parameters, or what stands before it."""
    each = cell(name)
    known = {*each.inputs, *(state + "_prev" for state in each.states), *each.parameters}
    for equation in each.equations:
        assert set(equation.reads) <= known
        known.add(equation.name)
    assert set(each.states) <= known


@pytest.mark.parametrize("name", NAMES)
def test_every_matrix_takes_and_gives_the_widths_of_its_vectors(name: str) -> None:
    """A product's matrix has as many rows as the result and as many columns as the vector."""
    each = cell(name)
    for equation in each.equations:
        if isinstance(equation, Product):
            assert each.parameters[equation.matrix] == (each.widths[equation.name], each.widths[equation.vector])
        else:
            assert {each.widths[read] for read in equation.reads if read in each.widths} == {each.widths[equation.name]}


@pytest.mark.parametrize("name", NAMES)
def test_printing_a_cell_and_reading_it_gives_the_same_equations(name: str) -> None:
    """str(cell) is text that the reader understands."""
    each = cell(name)
    assert parse_cell(str(each)).equations == each.equations


def test_the_projection_has_a_width_of_its_own() -> None:
    """The LSTM with a projection: h is P wide, the gates H."""
    each = cell("lstm_projected")
    assert each.parameters["W_p"] == ("P", "H")
    assert each.parameters["U_f"] == ("H", "P")
    assert (each.widths["h"], each.widths["c"], each.widths["x"]) == ("P", "H", "D")


def test_a_part_that_is_written_twice_is_computed_once() -> None:
    """Parts are named by their own text."""
    each = parse_cell("z = sigmoid(U @ h_prev)\nh = tanh(U @ h_prev + W @ x) * z")
    assert [equation.name for equation in each.equations] == ["U @ h_prev", "z", "W @ x", "h"]
    assert isinstance(each.equations[0], Product)
    assert isinstance(each.equations[1], Elementwise)


def test_equations_may_be_written_in_any_order() -> None:
    """The list is sorted so that it can be computed."""
    each = parse_cell("h = o * tanh(c)\no = sigmoid(W_o @ x)\nc = c_prev + o * h_prev")
    assert [equation.name for equation in each.equations if equation.name in "hoc"] == ["o", "c", "h"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "r = sigmoid(W_r @ x + U_r @ h_prev)\nh = tanh(W @ x + r * x) * h_prev",
            "t.cell:2:22: shape: cannot multiply r (H) by x (D) elementwise\n"
            "    h = tanh(W @ x + r * x) * h_prev\n"
            "                         ^\n"
            "help: project x first, as in 'W_n @ x'",
        ),
        (
            "h = sigmod(W @ x)",
            "t.cell:1:5: name: unknown function 'sigmod'; did you mean 'sigmoid'?\n    h = sigmod(W @ x)\n        ^",
        ),
        (
            "h = tanh(W @ x + r * U_n @ h_prev)",
            "t.cell:1:18: syntax: 'r * U_n @ h_prev' reads as '(r * U_n) @ h_prev'\n"
            "    h = tanh(W @ x + r * U_n @ h_prev)\n"
            "                     ^\n"
            "help: write 'r * (U_n @ h_prev)'",
        ),
        (
            "a = tanh(U @ b)\nh = a",
            None,
        ),
        (
            "h = W * x",
            "t.cell:1:5: shape: the matrix 'W' stands where a vector is needed\n"
            "    h = W * x\n"
            "        ^\n"
            "help: multiply a vector by it, as in 'W @ x'",
        ),
        (
            "h = h_prv + x",
            "t.cell:1:5: name: unknown name 'h_prv'; did you mean 'h_prev'?\n"
            "    h = h_prv + x\n"
            "        ^\n"
            "help: a vector is x, a name on the left, its _prev, a bias b_* or a peephole p_*",
        ),
        ("h = U @ g\ng = tanh(h)", "t.cell:1:5: name: 'h' is computed from itself, through h -> g -> h"),
        ("h = c_prev", "t.cell:1:5: name: 'c_prev' is read, but no equation computes 'c'"),
        ("h = x\nh = x", "t.cell:2:1: name: 'h' is defined twice"),
        ("x = tanh(b)", "t.cell:1:1: name: 'x' is given, not computed"),
        ("h = tanh(x) if x else x", "t.cell:1:5: syntax: a condition is not part of a formula"),
        ("import os", "t.cell:1:1: syntax: not an equation"),
        ("'only a title'", "t.cell: syntax: the file has no equation"),
        ("h = W @ x)", "t.cell:1:10: syntax: unmatched ')'"),
    ],
)
def test_what_is_no_cell_is_refused_with_a_caret(text: str, error: str | None) -> None:
    """Place, what is wrong, the source line, and the remedy."""
    if error is None:
        assert parse_cell(text).parameters
        return
    with pytest.raises(GatecalcError) as caught:
        parse_cell(text, "t", "t.cell")
    assert str(caught.value).startswith(error)


def test_an_unknown_cell_is_refused_with_the_closest_name() -> None:
    """lstn is not a cell; lstm is."""
    with pytest.raises(GatecalcError, match="unknown cell 'lstn'; did you mean 'lstm'"):
        cell("lstn")


def test_a_cell_file_that_cannot_be_read_is_one_error(tmp_path: Path) -> None:
    """Missing, a folder, or rubbish."""
    rubbish = tmp_path / "rubbish.cell"
    rubbish.write_bytes(bytes(range(256)))
    for path in (tmp_path / "none.cell", tmp_path, rubbish):
        with pytest.raises(GatecalcError):
            read_cell(str(path))


def test_a_cell_that_is_not_text_is_refused_with_what_to_do(tmp_path: Path) -> None:
    """UTF-16, as some editors save."""
    path = tmp_path / "wide.cell"
    path.write_bytes("h = tanh(W @ x + U @ h_prev)".encode("utf-16"))
    with pytest.raises(GatecalcError) as error:
        cell(str(path))
    assert str(error.value) == f"{path}: file: it is not text in UTF-8\nhelp: save the cell as UTF-8"
