"""Grading: what is right in any shape, and what circulates and is wrong."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gatecalc.calculus.derivation import derive
from gatecalc.calculus.grading import grade
from gatecalc.calculus.jacobian import jacobian
from gatecalc.cell import built_in, cell, parse_cell
from gatecalc.errors import GatecalcError
from tests.random_cells import cell_texts
from tests.test_check import run

GRU = (
    "diag(1 - z) + diag(z * (1 - n**2)) @ U_n @ (diag(r) + diag(h_prev * r * (1 - r)) @ U_r)"
    " + diag(z * (1 - z) * (n - h_prev)) @ U_z"
)
LSTM = (
    "diag(f) + (diag(c_prev * f * (1 - f)) @ U_f + diag(g * i * (1 - i)) @ U_i + diag(i * (1 - g**2)) @ U_g)"
    " @ diag(o_prev * (1 - tanh(c_prev)**2))"
)


@pytest.mark.parametrize(
    ("arguments", "formula"),
    [
        (("lstm", "c", "c_prev"), "diag(f)"),
        (("lstm", "c", "c_prev"), "I - diag(1 - f)"),
        (("lstm", "c", "c_prev"), "(2 * diag(f) @ I + diag(f) * 2) / 4"),
        (("lstm", "c", "c_prev"), "diag(sigmoid(b_f + U_f @ h_prev + W_f @ x))"),
        (("lstm_1997", "c", "c_prev"), "I"),
        (("gru", "h", "h_prev"), GRU),
        (("gru", "h", "h_prev"), " + ".join(reversed(GRU.replace(" + diag(z", " ~ diag(z").split(" ~ ")))),
        (("gru", "h", "h_prev"), GRU.replace("diag(z * (1 - n**2))", "diag(z) @ diag(1 - n * n)")),
        (("gru", "h", "h_prev"), GRU.replace("(n - h_prev)) @ U_z", "n) @ U_z - diag(h_prev * (z - z**2)) @ U_z")),
        (("gru", "h", "h_prev"), GRU.replace("n**2", "tanh(W_n @ x + b_n + U_n @ (h_prev * r))**2")),
        (("lstm", "c", "c_prev", "total"), LSTM),
        (("lstm", "h", "c_prev"), "diag(f * (o - o * tanh(f * c_prev + g * i)**2))"),
        (("lstm", "h", "U_f"), "diag(o * (1 - tanh(c)**2)) @ diag(c_prev * f * (1 - f)) @ dU_f @ h_prev"),
        (("lstm", "h", "U_f"), "diag(f * (1 - f) * c_prev) @ diag(o * (1 - tanh(c)**2)) @ delta @ h_prev.T"),
        (
            ("lstm_projected", "h", "U_f"),
            "diag(f * (1 - f) * c_prev * o * (1 - tanh(c)**2)) @ W_p.T @ delta @ h_prev.T",
        ),
        (("gru", "z", "n"), "0"),
    ],
)
def test_a_right_formula_is_right_in_any_shape(arguments: tuple[Any, ...], formula: str) -> None:
    """Reordered, split, merged, multiplied out, with definitions in place of names."""
    found = grade(*arguments[:3], formula, *arguments[3:])
    assert (found.correct, found.how, list(found.missing), list(found.extra)) == (True, "exact", [], [])


BELT = "diag(o_prev * (1 - tanh(c_prev)**2))"

# What circulates and is wrong, in our own words: the mistake, the formula, what is missing and what is extra.
WRONG: dict[str, tuple[tuple[Any, ...], str, list[str], list[str]]] = {
    "the belt alone is read as the total derivative": (
        ("lstm", "c", "c_prev", "total"),
        "diag(f)",
        [
            f"diag(c_prev * f * (1 - f)) @ U_f @ {BELT}",
            f"diag(g * i * (1 - i)) @ U_i @ {BELT}",
            f"diag(i * (1 - g**2)) @ U_g @ {BELT}",
        ],
        [],
    ),
    "the path through the reset gate is forgotten": (
        ("gru", "h", "h_prev"),
        GRU.replace("(diag(r) + diag(h_prev * r * (1 - r)) @ U_r)", "diag(r)"),
        ["diag(z * (1 - n**2)) @ U_n @ diag(h_prev * r * (1 - r)) @ U_r"],
        [],
    ),
    "the update gate is held constant": (
        ("gru", "h", "h_prev"),
        GRU.replace(" + diag(z * (1 - z) * (n - h_prev)) @ U_z", ""),
        ["diag(z * (1 - z) * (n - h_prev)) @ U_z"],
        [],
    ),
    "one minus z is derived without its sign": (
        ("gru", "h", "z"),
        "diag(h_prev + n)",
        ["-diag(h_prev)"],
        ["diag(h_prev)"],
    ),
    "the difference in the update gate's term is turned round": (
        ("gru", "h", "h_prev"),
        GRU.replace("n - h_prev", "h_prev - n"),
        ["diag(z * (1 - z) * (n - h_prev)) @ U_z"],
        ["diag(z * (1 - z) * (h_prev - n)) @ U_z"],
    ),
    "the reset is taken after the product, not before": (
        ("gru", "h", "h_prev"),
        "diag(1 - z) + diag(z * (1 - n**2)) @ (diag(r) @ U_n + diag(r * (1 - r) * (U_n @ h_prev)) @ U_r)"
        " + diag(z * (1 - z) * (n - h_prev)) @ U_z",
        ["diag(z * (1 - n**2)) @ U_n @ diag(r)", "diag(z * (1 - n**2)) @ U_n @ diag(h_prev * r * (1 - r)) @ U_r"],
        ["diag(z * (1 - n**2) * r) @ U_n", "diag(z * (1 - n**2) * r * (1 - r) * (U_n @ h_prev)) @ U_r"],
    ),
    "the reset is taken before the product, not after": (
        ("gru_reset_after_write", "h", "h_prev"),
        GRU,
        ["diag(z * (1 - n**2) * r) @ U_n", "diag(z * (1 - n**2) * r * (1 - r) * (U_n @ h_prev + b_u)) @ U_r"],
        ["diag(z * (1 - n**2)) @ U_n @ diag(r)", "diag(z * (1 - n**2)) @ U_n @ diag(h_prev * r * (1 - r)) @ U_r"],
    ),
    "the kept share is taken for the written one": (
        ("gru_cho", "h", "h_prev"),
        "diag(1 - z) + diag((1 - z) * (1 - n**2)) @ U_n @ (diag(r) + diag(h_prev * r * (1 - r)) @ U_r)"
        " + diag(z * (1 - z) * (h_prev - n)) @ U_z",
        ["diag(z)"],
        ["diag(1 - z)"],
    ),
    "tanh is applied to a cell state that went through tanh already": (
        ("lstm", "h", "c"),
        "diag(o * (1 - tanh(tanh(c))**2))",
        ["diag(o * (1 - tanh(c)**2))"],
        ["diag(o * (1 - tanh(tanh(c))**2))"],
    ),
    "the slope of the sigmoid is taken at the gate, not at its argument": (
        ("lstm", "c", "U_f"),
        "diag(c_prev * sigmoid(f) * (1 - sigmoid(f))) @ dU_f @ h_prev",
        ["diag(c_prev * f * (1 - f)) @ dU_f @ h_prev"],
        ["diag(c_prev * sigmoid(f) * (1 - sigmoid(f))) @ dU_f @ h_prev"],
    ),
    "the forget gate's slope is left out": (
        ("lstm", "c", "U_f"),
        "diag(c_prev) @ dU_f @ h_prev",
        ["diag(c_prev * f * (1 - f)) @ dU_f @ h_prev"],
        ["diag(c_prev) @ dU_f @ h_prev"],
    ),
    "the candidate's gradient gets the candidate once too often": (
        ("lstm", "c", "U_g"),
        "diag(i * g * (1 - g**2)) @ dU_g @ h_prev",
        ["diag(i * (1 - g**2)) @ dU_g @ h_prev"],
        ["diag(i * g * (1 - g**2)) @ dU_g @ h_prev"],
    ),
    "the input weights stand for the recurrent ones": (
        ("lstm", "h", "h_prev"),
        "diag(tanh(c) * o * (1 - o)) @ W_o + diag(o * (1 - tanh(c)**2)) @ (diag(c_prev * f * (1 - f)) @ U_f"
        " + diag(g * i * (1 - i)) @ U_i + diag(i * (1 - g**2)) @ U_g)",
        ["diag(tanh(c) * o * (1 - o)) @ U_o"],
        ["diag(tanh(c) * o * (1 - o)) @ W_o"],
    ),
    "two factors are added and not multiplied": (
        ("lstm", "c", "h_prev"),
        "diag(c_prev * f * (1 - f)) @ U_f + diag(g + i * (1 - i)) @ U_i + diag(i * (1 - g**2)) @ U_g",
        ["diag(g * i * (1 - i)) @ U_i"],
        ["diag(g + i * (1 - i)) @ U_i"],
    ),
    "errors stop at the peepholes": (
        ("lstm_peephole", "c", "c_prev"),
        "diag(f)",
        ["diag(c_prev * f * (1 - f) * p_f)", "diag(g * i * (1 - i) * p_i)"],
        [],
    ),
    "the carry from the next step takes the place of the path through the output": (
        ("lstm", "h", "c_prev", "total", 2),
        "diag(o_2 * (1 - tanh(c_2)**2) * f_2) @ J_c_1",
        [],
        [],
    ),
    "the last step alone is read as the whole gradient": (
        ("gru", "h", "U_z", "local", 2),
        "diag(z_2 * (1 - z_2) * (n_2 - h_1)) @ dU_z @ h_1",
        ["diag(1 - z_2) @ diag(z_1 * (1 - z_1) * (n_1 - h_0)) @ dU_z @ h_0"],
        [],
    ),
    "a path is counted twice": (
        ("lstm", "c", "c_prev"),
        "diag(f) + diag(f)",
        [],
        ["diag(f)"],
    ),
    "the projection is forgotten": (
        ("lstm_projected", "h", "c_prev"),
        "diag(o * (1 - tanh(c)**2) * f)",
        ["W_p @ diag(o * (1 - tanh(c)**2) * f)"],
        ["diag(o * (1 - tanh(c)**2) * f)"],
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_what_circulates_and_is_wrong_is_refused(mistake: str) -> None:
    """With the words that are missing and extra, and a point at which the two differ."""
    arguments, formula, missing, extra = WRONG[mistake]
    found = grade(*arguments[:3], formula, *arguments[3:])
    assert not found.correct
    if "carry" in mistake:
        assert all("U_" in word for word in found.missing)
        assert found.missing
    elif "last step" in mistake:
        assert len(found.missing) == 4
        assert all(
            word.endswith("@ diag(z_1 * (1 - z_1) * (n_1 - h_0)) @ dU_z @ h_0") or "diag(" in word
            for word in found.missing
        )
        assert not found.extra
    else:
        assert (list(found.missing), list(found.extra)) == (missing, extra)
    assert found.note


@pytest.mark.parametrize("built", built_in())
def test_what_derive_prints_is_graded_right(built: str) -> None:
    """Both paths, one step and two, named parts and weights among them; for a weight, its gradient too."""
    found = cell(built)
    inputs = [*(f"{state}_prev" for state in found.states), "x", found.gates[0], *list(found.parameters)[:3]]
    for output, by, path, steps in itertools.product(found.states, inputs, ("local", "total"), (1, 2)):
        derived = derive(found, output, by, path, steps, check=False)
        assert grade(found, output, by, derived.text, path, steps).correct, (output, by, path, steps)
        if derived.gradient and derived.gradient != "0":
            assert grade(found, output, by, derived.gradient, path, steps).correct, (output, by, derived.gradient)


@settings(max_examples=20, deadline=None)
@given(cell_texts(), st.randoms(use_true_random=False))
def test_of_any_formula_every_word_is_needed(text: str, draw: random.Random) -> None:
    """A shuffled list of words is right; with one left out or turned round, that one is missing."""
    found = parse_cell(text)
    by = f"{found.states[0]}_prev"
    words = [str(word) for word in jacobian(found, found.states[-1], by).paths(5000)]
    assume(words)
    draw.shuffle(words)
    whole = " + ".join(f"({word})" for word in words)
    assert grade(found, found.states[-1], by, whole).correct
    # A word may be 0 by its numbers, as one with (f - f): that one nobody misses.
    needed = [word for word in words if not grade(found, found.states[-1], by, f"{whole} + ({word})").correct]
    assume(needed)
    left_out = needed.pop()
    words.remove(left_out)
    rest = " + ".join(f"({word})" for word in words) or "0"
    assert not grade(found, found.states[-1], by, rest).correct
    turned = grade(found, found.states[-1], by, f"{rest} - ({left_out})")
    assert not turned.correct
    assert turned.missing


def test_a_number_before_a_product_of_matrices_is_a_number_before_all_of_it() -> None:
    """Python reads 2 * U @ v as (2 * U) @ v, which is the same; a vector there is not."""
    assert grade("rnn", "h", "h_prev", "2 * diag(1 - h**2) @ U @ I - diag(1 - h**2) @ U").correct
    assert grade("lstm", "h", "h_prev", "0").missing
    assert grade("gru", "h", "x", "0.5 * U_n @ W_n + 0").extra == ["0.5 * U_n @ W_n"]
    with pytest.raises(GatecalcError, match=r"reads as"):
        grade("gru", "h", "h_prev", "r * U_n @ diag(r)")


def test_a_formula_may_begin_with_a_minus_sign() -> None:
    """It is no option."""
    result = run("grade", "lstm", "c", "f", "-diag(c_prev) + 2 * diag(c_prev)")
    assert (result.exit_code, result.stdout) == (0, "correct\n")


def test_identities_of_functions_are_settled_by_algebra() -> None:
    """The slope of tanh(a) is also 4 sigmoid(2a) sigmoid(-2a)."""
    a = "(W @ x + U @ h_prev + b)"
    found = grade("rnn", "h", "h_prev", f"4 * diag(sigmoid(2 * {a}) * sigmoid(-2 * {a})) @ U")
    assert (found.correct, found.how) == (True, "algebra")


def test_what_only_numbers_settle_says_so() -> None:
    """relu is positive where its argument is."""
    found = grade("rnn_relu", "h", "h_prev", "diag(step(h)) @ U")
    assert (found.correct, found.how) == (True, "enclosure")
    assert found.note == ("the difference encloses 0 at 3 random points to 256 bits; algebra does not settle it")


def test_a_counterexample_is_the_same_on_every_run() -> None:
    """And says what is expected and what is given."""
    note = grade("lstm", "c", "i", "diag(g * i)").note
    assert note == grade("lstm", "c", "i", "diag(g * i)").note
    assert note.startswith("at g = ")
    assert ": the diagonal is " in note


def test_a_term_of_another_shape_is_not_right_and_says_so() -> None:
    """W_o leads from the input."""
    found = grade("lstm", "o", "h_prev", "diag(o * (1 - o)) @ W_o")
    assert found.note == "diag(o * (1 - o)) @ W_o is H by D, and d o / d h_prev is H by H"


@pytest.mark.parametrize(
    ("formula", "message", "help"),
    [
        ("f", "<formula>:1:1: shape: the vector 'f' stands where a matrix is needed", "write 'diag(f)'"),
        ("diag(F)", "<formula>:1:6: name: 'F' is not part of lstm; did you mean 'f'?", "its vectors are"),
        ("diag(f) @ U_q", "<formula>:1:11: name: 'U_q' is not part of lstm; did you mean 'U_o'?", "its vectors are"),
        ("diag(f) * U_f", "<formula>:1:1: syntax: '*' is elementwise", "write 'diag(f) @ U_f'"),
        (
            "f * U_f @ h_prev",
            "<formula>:1:1: syntax: 'f * U_f @ h_prev' reads as '(f * U_f) @ h_prev'",
            "write 'diag(f) @ U_f @ h_prev'",
        ),
        (
            "diag(f * U_f @ h_prev)",
            "<formula>:1:6: syntax: 'f * U_f @ h_prev' reads as '(f * U_f) @ h_prev'",
            "write 'f * (U_f @ h_prev)'",
        ),
        (
            "W_f @ U_f",
            "<formula>:1:7: shape: cannot multiply W_f (D columns) by U_f (H rows)",
            "the columns of a matrix",
        ),
        ("diag(f + x)", "<formula>:1:10: shape: f is H wide, and x is D wide", ""),
        ("diag(sigmod(f))", "<formula>:1:6: name: unknown function 'sigmod'; did you mean 'sigmoid'?", ""),
        ("diag(f) + 1", "<formula>:1:11: shape: the number 1 stands where a matrix is needed", "write '1 * I'"),
        ("diag(f", "<formula>:1:5: syntax: '(' is never closed", "add ')'"),
        ("diag(f) ⊙ I", "<formula>:1:9: syntax: the character U+2299 cannot be read here", "write '*'"),
        ("diag(f @ f)", "<formula>:1:6: syntax: 'f' is not a matrix", "it has W_f"),
        ("diag(U_f)", "<formula>:1:6: shape: the matrix 'U_f' stands where a vector is needed", ""),
        ("delta @ h_prev.T", "<formula>:1:1: name: 'delta' belongs to the gradient by a matrix", "derive by one"),
        ("__import__('os')", "<formula>:1:1: syntax: '__import__('os')' is not part of a sum of words", ""),
        ("9**9**9**9 * diag(f)", "limit: the power is too large to be multiplied out", "write a smaller power"),
        ("diag((f + i)**51)", "limit: the power is too large to be multiplied out", "write a smaller power"),
    ],
)
def test_bad_input_is_one_error_with_its_place(formula: str, message: str, help: str) -> None:
    """With a caret, and the likely remedy."""
    with pytest.raises(GatecalcError) as caught:
        grade("lstm", "c", "c_prev", formula)
    assert str(caught.value).startswith(message)
    assert help in (caught.value.help or "")
