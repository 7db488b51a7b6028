"""Formulas as NumPy calls: what they compute, and where they write on the way."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from gatecalc.elementwise import ELEMENTWISE
from gatecalc.language import parse
from gatecalc.networks.arrays import PRIMITIVES, Program, Slot, constant, expand, fuse
from gatecalc.numbers.precise import Real, apply

PLACES = {"t": Slot("memory", 0, 1), "u": Slot("memory", 1, 2), "w": Slot("memory", 2, 3)}
VALUES = {"t": 0.3, "u": 0.7, "w": -0.4}


def run(program: Program, calls: list[Any], values: list[float]) -> Any:
    """Run calls on memory that begins with the values, one a row; return it."""
    arrays = {"memory": np.array(values)[:, None], "scratch": np.full((program.size + 1, 1), np.nan)}

    def view(slot: Any) -> Any:
        return arrays[slot.space][slot.start : slot.stop] if isinstance(slot, Slot) else slot

    for call in calls:
        call.function(*(view(argument) for argument in call.args), view(call.out))
    return arrays["memory"]


FORMULAS = st.recursive(
    st.sampled_from(["t", "u", "w", "0.5", "2"]),
    lambda inner: st.one_of(
        st.tuples(
            st.sampled_from(["({} + {})", "({} - {})", "({}) * ({})", "(1 - ({})) * ({})", "({} - {} + 1)"]),
            inner,
            inner,
        ).map(lambda parts: parts[0].format(*parts[1:])),
        st.tuples(st.sampled_from(["tanh({})", "sigmoid({})", "(-({}))", "({})**2", "({0} - {0} + {0})"]), inner).map(
            lambda parts: parts[0].format(parts[1])
        ),
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(text=FORMULAS)
def test_a_formula_may_be_computed_where_what_it_reads_stands(text: str) -> None:
    """The target is the place of t, which the formula reads: nothing is overwritten too early, fused or not."""
    program = Program("scratch")
    program.assign(PLACES["t"], parse(text), PLACES)
    names = {"tanh": math.tanh, "sigmoid": lambda a: 1 / (1 + math.exp(-a)), **VALUES}
    expected = eval(text, {"__builtins__": {}}, names)
    for calls in (program.calls, fuse(program.calls)):
        assert run(program, calls, list(VALUES.values()))[0, 0] == pytest.approx(expected, rel=1e-12, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(texts=st.lists(FORMULAS, min_size=2, max_size=4))
def test_fused_calls_compute_what_the_calls_did(texts: list[str]) -> None:
    """Several formulas into neighbouring rows."""
    program = Program("scratch")
    for row, text in enumerate(texts, 3):
        program.assign(Slot("memory", row, row + 1), parse(text), PLACES)
    start = [*VALUES.values(), *[0.0] * len(texts)]
    fused = fuse(program.calls)
    assert len(fused) <= len(program.calls)
    assert np.array_equal(run(program, program.calls, start), run(program, fused, start), equal_nan=True)


def test_calls_on_neighbouring_rows_become_one() -> None:
    """Two sigmoids and a tanh are one tanh, one product and one sum."""
    program = Program("scratch")
    for row, function in ((0, "sigmoid"), (1, "sigmoid"), (2, "tanh")):
        place = Slot("memory", row, row + 1)
        program.assign(place, parse("0.5 + 0.5 * tanh(a)" if function == "sigmoid" else "tanh(a)"), {"a": place})
    names = [call.function.__name__ for call in fuse(program.calls)]
    assert sorted(names) == ["add", "multiply", "tanh"]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_every_function_agrees_with_its_enclosure(name: str) -> None:
    """By its definition, at eighty points."""
    points = [k / 8 for k in range(-40, 40) if name not in ("log", "sqrt") or k > 0]
    program = Program("scratch")
    program.assign(Slot("memory", 1, 2), parse(f"{name}(a)"), {"a": Slot("memory", 0, 1)})
    for point in points:
        found = run(program, program.calls, [point, 0.0])[1, 0]
        assert found == pytest.approx(
            float(apply(name, Real.number(Fraction(point))).decimal(25)), rel=1e-13, abs=1e-15
        )


def test_every_primitive_has_a_call() -> None:
    """And each expanded function has primitives only."""
    for name in ELEMENTWISE:
        calls = {node.value for node in expand(parse(f"{name}(a)")).walk() if node.op == "call"}
        assert calls <= set(PRIMITIVES)


def test_constants_are_folded() -> None:
    """sqrt(2 * pi) is one number, and a formula with a vector none."""
    assert constant(parse("sqrt(2 * pi)")) == pytest.approx(math.sqrt(2 * math.pi))
    assert constant(parse("sigmoid(0) + 1")) == 1.5
    assert constant(parse("2 * a")) is None
