"""Jacobians: the published ones, and every one against SymPy, differences and torch."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatecalc.calculus.differences import MAX_COMPLEX, MAX_DIFFERENCE, check
from gatecalc.calculus.explicit import explicit_jacobian
from gatecalc.calculus.jacobian import Jacobian, jacobian
from gatecalc.calculus.words import paths
from gatecalc.cell import Cell, built_in, cell, parse_cell
from gatecalc.errors import GatecalcError
from gatecalc.language import parse
from tests.random_cells import cell_texts


def formula(*arguments: Any) -> str:
    return str(jacobian(*arguments).formula)


GATES = "diag(c_prev * f * (1 - f)) @ U_f + diag(g * i * (1 - i)) @ U_i + diag(i * (1 - g**2)) @ U_g"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("rnn", "h", "h_prev"), "diag(1 - h**2) @ U"),
        (("lstm", "c", "c_prev"), "diag(f)"),
        (("lstm", "c", "c_prev", "total"), f"diag(f) + ({GATES}) @ diag(o_prev * (1 - tanh(c_prev)**2))"),
        (("lstm", "c", "h_prev"), GATES),
        (
            ("lstm", "h", "h_prev"),
            f"diag(tanh(c) * o * (1 - o)) @ U_o + diag(o * (1 - tanh(c)**2)) @ ({GATES})",
        ),
        (("lstm", "c", "c_prev", "local", 3), "diag(f_3 * f_2 * f_1)"),
        (
            ("gru", "h", "h_prev"),
            "diag(1 - z) + diag(z * (1 - n**2)) @ U_n @ (diag(r) + diag(h_prev * r * (1 - r)) @ U_r)"
            " + diag(z * (1 - z) * (n - h_prev)) @ U_z",
        ),
        (
            ("gru_reset_after", "h", "h_prev"),
            "diag(z) + diag((1 - z) * (1 - n**2)) @ (diag(r) @ U_n + diag(r * (1 - r) * (U_n @ h_prev + b_u)) @ U_r)"
            " + diag(z * (1 - z) * (h_prev - n)) @ U_z",
        ),
        (("lstm_1997", "c", "c_prev"), "I"),
        (("lstm_coupled", "c", "c_prev"), "diag(f)"),
        (("lstm_coupled", "c", "f"), "diag(c_prev - g)"),
        (("lstm_peephole", "c", "c_prev"), "diag(f + c_prev * f * (1 - f) * p_f + g * i * (1 - i) * p_i)"),
        (("lstm_projected", "h", "c_prev"), "W_p @ diag(o * (1 - tanh(c)**2) * f)"),
        (("min_gru", "h", "h_prev"), "diag(1 - z)"),
        (("rnn_relu", "h", "x"), "diag(step(W @ x + U @ h_prev + b)) @ W"),
        (("lstm", "f", "U_f"), "diag(f * (1 - f)) @ dU_f @ h_prev"),
        (("gru", "h", "U_n"), "diag(z * (1 - n**2)) @ dU_n @ (r * h_prev)"),
        (("lstm", "c", "b_f"), "diag(c_prev * f * (1 - f))"),
        (("lstm_peephole", "c", "p_f"), "diag(c_prev**2 * f * (1 - f))"),
        (("gru", "n", "r * h_prev"), "diag(1 - n**2) @ U_n"),
        (("lstm", "h_prev", "c_prev", "total"), "diag(o_prev * (1 - tanh(c_prev)**2))"),
        (("gru", "z", "z"), "I"),
    ],
)
def test_the_formula_is_that_of_a_textbook(arguments: tuple[Any, ...], expected: str) -> None:
    """Gates by name, the author's order, nested as one would print it."""
    assert formula(*arguments) == expected


@pytest.mark.parametrize("built", built_in())
@pytest.mark.parametrize("path", ["local", "total"])
def test_every_jacobian_agrees_with_differences(built: str, path: str) -> None:
    """Each state by each previous state, the input and each kind of weight, over one step and three."""
    found = cell(built)
    first = {parameter[:2]: parameter for parameter in reversed(found.parameters)}.values()
    inputs = [*(f"{state}_prev" for state in found.states), "x", *first]
    for output, by, steps in itertools.product(found.states, inputs, (1, 3)):
        result = check(jacobian(found, output, by, path, steps))
        assert result.central_differences <= MAX_DIFFERENCE == 1e-25
        assert result.complex_steps <= MAX_COMPLEX == 1e-45


@pytest.mark.parametrize("built", built_in())
def test_every_weight_and_gate_agrees_with_differences(built: str) -> None:
    """The last state by every parameter and by every gate of its own step."""
    found = cell(built)
    for by in (*found.parameters, *found.gates):
        check(jacobian(found, found.states[-1], by))


@pytest.mark.parametrize("built", built_in())
def test_every_jacobian_is_sympy_s_own_at_width_2(built: str) -> None:
    """Entry by entry, exactly: the difference expands to 0."""
    import sympy

    from gatecalc.calculus.explicit import derived_by_sympy, written_out

    found = cell(built)
    for output, by in itertools.product(found.states, [*(f"{state}_prev" for state in found.states), "x"]):
        derived = jacobian(found, output, by, "total" if (output, by) == ("c", "c_prev") else "local")
        difference = derived_by_sympy(derived, 2)[0] - sympy.Matrix(written_out(derived, 2))
        assert all(sympy.expand(entry) == 0 for entry in difference), (output, by)


def test_sympy_s_sigmoid_is_the_sigmoid() -> None:
    """The function that is derived whole has the derivative of 1 / (1 + exp(-a))."""
    import sympy

    from gatecalc.numbers.algebra import function, symbol, to_sympy

    a = symbol("a")
    whole = function("sigmoid")(a).diff(a)
    defined = to_sympy(parse("sigmoid(a)"))
    assert sympy.simplify(whole.subs(function("sigmoid")(a), defined) - defined.diff(a)) == 0


def _torch_value(tree: Any, known: dict[str, Any], torch: Any) -> Any:
    """Evaluate a written formula with torch: the oracle knows nothing of the flattened equations."""
    op = tree.op
    if op == "number":
        return torch.tensor(float(tree.value), dtype=torch.float64)
    if op == "name":
        return known[tree.value]
    args = [_torch_value(argument, known, torch) for argument in tree.args]
    if op == "call":
        named = {"softplus": torch.nn.functional.softplus, "silu": torch.nn.functional.silu}
        return (named.get(tree.value) or getattr(torch, tree.value))(args[0])
    if op in ("+", "*"):
        result = args[0]
        for argument in args[1:]:
            result = result + argument if op == "+" else result * argument
        return result
    return {"neg": lambda a: -a, "/": lambda a, b: a / b, "**": lambda a, b: a**b, "@": lambda a, b: a @ b}[op](*args)


def _against_torch(found: Cell, output: str, by: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    import numpy as np

    from gatecalc.calculus.program import numpy_program

    torch.manual_seed(1)
    sizes = dict(zip(found.dimensions, itertools.count(3), strict=False))
    given = {
        name: torch.rand([sizes[w] for w in shape], dtype=torch.float64) - 0.5
        for name, shape in found.parameters.items()
    }
    given |= {name: torch.rand(sizes[found.widths[name]], dtype=torch.float64) - 0.5 for name in found.inputs}
    given |= {f"{s}_prev": torch.rand(sizes[found.widths[s]], dtype=torch.float64) - 0.5 for s in found.states}

    def run(value: Any) -> Any:
        known = {**given, by: value}
        for target, tree in found.written.items():
            known[target] = _torch_value(tree, known, torch)
        return known[output]

    oracle = torch.autograd.functional.jacobian(run, given[by]).numpy()
    program: dict[str, Any] = {}
    exec(numpy_program(Jacobian(found, output, by)), program)
    ours = program["jacobian"]({name: value.numpy() for name, value in given.items()})
    assert ours.shape == oracle.shape
    assert np.abs(ours - oracle).max() <= 1e-12


@pytest.mark.parametrize("built", built_in())
def test_every_jacobian_agrees_with_torch(built: str) -> None:
    """Autograd of the equations as their author wrote them; our side is the NumPy program that is printed."""
    found = cell(built)
    for output, by in itertools.product(found.states, [*(f"{state}_prev" for state in found.states), "x"]):
        _against_torch(found, output, by)


@settings(max_examples=25, deadline=None)
@given(cell_texts(), st.data())
def test_the_jacobian_of_any_cell_agrees_with_torch(text: str, data: st.DataObject) -> None:
    """Cells that nobody wrote: resets before and after, peepholes, quotients."""
    found = parse_cell(text)
    by = data.draw(st.sampled_from([*(f"{state}_prev" for state in found.states), "x", "b_f"]))
    _against_torch(found, data.draw(st.sampled_from(found.states)), by)


@settings(max_examples=20, deadline=None)
@given(cell_texts(), st.data())
def test_the_jacobian_of_any_cell_agrees_with_differences(text: str, data: st.DataObject) -> None:
    """Both paths, up to three steps, weights too."""
    found = parse_cell(text)
    by = data.draw(st.sampled_from([*(f"{state}_prev" for state in found.states), "x", *found.parameters]))
    output = data.draw(st.sampled_from(list(found.written)))
    check(jacobian(found, output, by, data.draw(st.sampled_from(["local", "total"])), data.draw(st.integers(1, 3))))


def test_what_is_held_fixed_is_held_inside_of_parts_too() -> None:
    """A reset of a held state, f * c_prev, does not move: by differences, and by SymPy."""
    found = parse_cell(
        "f = sigmoid(W_f @ x + U_f @ c_prev + b_f)\n"
        "i = sigmoid(W_i @ x + U_i @ (f * c_prev) + b_i)\n"
        "c = f + i * c_prev + 0.5 * h_prev\n"
        "h = i + f * h_prev + c"
    )
    derived = jacobian(found, "i", "h_prev", "local", 2)
    assert check(derived).max_error == 0
    assert derived.why_zero.startswith("c_0 and c_1 are held fixed")
    check(jacobian(found, "h", "h_prev", "local", 3))
    assert explicit_jacobian(jacobian(found, "h", "h_prev", "local", 2), 2)


@settings(max_examples=15, deadline=None)
@given(cell_texts())
def test_the_words_of_any_cell_sum_to_its_formula(text: str) -> None:
    """Multiplied out, read again, and with every named part in its place."""
    found = parse_cell(text)
    derived = jacobian(found, found.states[-1], f"{found.states[0]}_prev", "total")
    algebra = derived.algebra(inline=False)
    whole = algebra.expand(derived.formula)
    assert algebra.expand(parse(str(derived.formula))) == whole
    assert algebra.expand(parse(" + ".join(f"({word})" for word in derived.paths(5000)) or "0")) == whole


def test_a_wrong_rule_is_caught_by_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a sign flipped in the derivative of tanh, no formula comes out."""
    import gatecalc.calculus.derivatives as derivatives
    import gatecalc.calculus.unrolled as unrolled

    row = derivatives._row
    monkeypatch.setattr(
        derivatives, "_row", lambda function: parse("1 + y**2") if function == "tanh" else row(function)
    )
    unrolled._templates.cache_clear()
    with pytest.raises(GatecalcError, match=r"check: the formula for d h / d h_prev is off by 0\.\d"):
        check(jacobian("rnn", "h", "h_prev"))
    monkeypatch.undo()
    unrolled._templates.cache_clear()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("gru", "z", "n"), "no equation of gru leads from n to z"),
        (("lstm", "f", "c_prev"), "h_prev is held fixed; --path total has the path through what was held"),
        (("lstm", "f", "c_prev", "total"), None),
        (
            ("lstm", "f", "c_prev", "local", 2),
            "h_0 and h_1 are held fixed; --path total has the path through what was held",
        ),
        (("lstm", "h_prev", "c_prev"), "h_prev is given, not computed: it is held fixed"),
        (("gru", "z", "U_r"), "no equation of gru leads from U_r to z"),
    ],
)
def test_a_zero_says_why(arguments: tuple[Any, ...], why: str | None) -> None:
    """Never a silent zero; the total path goes where the local one may not."""
    found = jacobian(*arguments)
    assert (str(found.formula) == "0") == (why is not None)
    assert found.why_zero == (why or "")


def test_a_flat_function_is_said_to_be_flat() -> None:
    """Its derivative is 0 wherever it has one."""
    found = jacobian(parse_cell("h = step(W @ x + U @ h_prev)"), "h", "h_prev")
    assert str(found.formula) == "0"
    assert found.why_zero == "the derivative of step is 0 wherever it has one"
    assert jacobian(parse_cell("h = 2 + step(h_prev)**2"), "h", "h_prev").why_zero == found.why_zero
    assert jacobian(parse_cell("h = h_prev - h_prev"), "h", "h_prev").why_zero == "its terms cancel"


def test_a_kink_states_the_value_that_is_taken() -> None:
    """For each function on the way, and no other."""
    found = parse_cell("f = hard_sigmoid(W_f @ x + b_f)\nh = f * relu(W @ x + U @ h_prev)")
    assert jacobian(found, "h", "h_prev").kinks == ["the derivative of relu is taken as 0 at a = 0"]
    assert jacobian(found, "f", "x").kinks == [
        "the derivative of hard_sigmoid is taken as 0 at a = -3 and 1/6 at a = 3"
    ]
    assert jacobian("lstm", "h", "x").kinks == []


def test_the_log_is_the_derivation() -> None:
    """One entry for each vector on the way; the last result is the formula."""
    derived = jacobian("gru", "h", "h_prev")
    assert [entry.vector for entry in derived.log] == [
        "U_z @ h_prev", "z", "U_r @ h_prev", "r", "r * h_prev", "U_n @ (r * h_prev)", "n", "h",
    ]  # fmt: skip
    assert derived.log[-1].result == derived.formula
    assert str(derived.log[4].differential) == "diag(h_prev) @ d(r) + diag(r) @ d(h_prev)"
    assert derived.log[4].rule == "product rule"


def test_paths_of_one_state_are_the_same_local_or_total() -> None:
    """There is no other state to hold fixed."""
    for built in built_in():
        if len(cell(built).states) == 1:
            assert formula(built, "h", "h_prev") == formula(built, "h", "h_prev", "total")


@pytest.mark.parametrize("by", ["x", "U_n", "b_z", "p_f", "f", "h_prev"])
def test_what_no_state_depends_on_is_the_same_local_or_total(by: str) -> None:
    """A weight, an input, a gate: nothing of the step before is computed from it."""
    built = "lstm_peephole" if by in ("p_f", "f") else "gru"
    assert formula(built, "h", by) == formula(built, "h", by, "total")


def test_a_step_can_be_named() -> None:
    """Over several steps, c_0 is what the first one is given, and any vector of any step will do."""
    assert formula("lstm", "c", "c_0", "local", 2) == formula("lstm", "c", "c_prev", "local", 2) == "diag(f_2 * f_1)"
    assert formula("lstm", "c_3", "c_1", "local", 3) == "diag(f_3 * f_2)"
    assert formula("gru", "h_1", "h_0", "local", 2).replace("_1", "").replace("_0", "_prev") == formula(
        "gru", "h", "h_prev"
    )


def test_several_steps_are_the_product_of_single_ones() -> None:
    """For one state: the words of three steps are those of the factors, multiplied."""
    algebra = jacobian("gru", "h", "h_prev", "local", 3).algebra()
    factors = [str(jacobian("gru", "h", "h_prev").formula)] * 3
    names = {"h_prev": "h_{0}", "z": "z_{1}", "r": "r_{1}", "n": "n_{1}"}
    moved = []
    for step, text in zip((3, 2, 1), factors, strict=True):
        from gatecalc.language import name, substitute

        values = {old: name(new.format(step - 1, step)) for old, new in names.items()}
        moved.append(f"({substitute(parse(text), values)})")
    assert algebra.expand(parse(" @ ".join(moved))) == algebra.expand(
        jacobian("gru", "h", "h_prev", "local", 3).formula
    )


@pytest.mark.parametrize("built", ["lstm", "gru", "lstm_peephole"])
def test_the_compact_form_is_linear_in_the_steps(built: str) -> None:
    """Nodes of the formula and its named parts grow by the same number for each step."""

    def size(steps: int) -> int:
        derived = jacobian(built, "h", "h_prev", "total", steps)
        return sum(sum(1 for _ in each.walk()) for each in (derived.formula, *derived.where.values()))

    ten, twenty, fifty = size(10), size(20), size(50)
    assert abs((twenty - ten) / 10 - (fifty - twenty) / 30) < 0.05 * (twenty - ten) / 10


def test_expansion_has_a_limit_that_is_stated() -> None:
    """Six total steps of the LSTM are 2,089 words; ten are refused."""
    assert len(jacobian("lstm", "c", "c_prev", "total", 3).paths()) == 91
    with pytest.raises(GatecalcError, match="limit: the formula has more than 256 words when multiplied out"):
        jacobian("lstm", "c", "c_prev", "total", 10).paths()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lstm", "c", "c_pre"), "name: 'c_pre' is not part of lstm; did you mean 'c_prev'?"),
        (("lstm", "cc", "c_prev"), "name: 'cc' is not part of lstm; did you mean 'c'?"),
        (("lstm", "U_f", "c_prev"), "name: 'U_f' is a weight, which nothing changes"),
        (("lstm", "c", "c_prev", "totl"), "name: unknown path 'totl'; did you mean 'total'?"),
        (("lstm", "c", "c_prev", "local", 0), "limit: 0 steps; from 1 to 1000 can be derived"),
        (("lstm", "c", "f_prev"), "name: 'f_prev' is not part of lstm"),
    ],
)
def test_bad_input_is_named(arguments: tuple[Any, ...], message: str) -> None:
    """With the closest name that there is."""
    with pytest.raises(GatecalcError) as caught:
        jacobian(*arguments)
    assert caught.value.message.startswith(message)
    assert caught.value.help


def test_a_named_part_never_takes_a_weight_s_name() -> None:
    """A cell that has a matrix J_h_1 keeps it."""
    found = parse_cell(str(cell("lstm")).replace("U_o", "J_h"))
    derived = jacobian(found, "h", "c_prev", "total", 3)
    assert all(name.startswith("JJ_") for name in derived.named)
    assert derived.named
    check(derived)


def test_a_long_chain_is_read_again() -> None:
    """Fifty steps of a plain network are printed in parts that the reader accepts."""
    derived = jacobian("rnn", "h", "h_prev", "local", 50)
    for each in (derived.formula, *derived.where.values()):
        assert str(parse(str(each))) == str(each)
    assert len(paths(derived.formula)) == 1
