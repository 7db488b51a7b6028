"""Cells that nobody wrote: a strategy for hypothesis, shared by the tests of all that has to hold for every cell."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

SMOOTH = ("sigmoid", "tanh", "sin", "atan", "softplus", "silu", "erf")


@st.composite
def cell_texts(draw: Any, functions: tuple[str, ...] = SMOOTH) -> str:
    """Draw the text of a cell: one or two states, up to three gates, resets before and after, peepholes, a blend."""
    states = ["h"] if draw(st.booleans()) else ["c", "h"]
    function = st.sampled_from(functions)
    gates: list[str] = []
    lines = []
    for letter in "fiz"[: draw(st.integers(1, 3))]:
        previous = f"{draw(st.sampled_from(states))}_prev"
        read = draw(st.sampled_from([previous, *(f"({gate} * {previous})" for gate in gates)]))
        terms = [f"W_{letter} @ x", f"U_{letter} @ {read}", f"b_{letter}"]
        if draw(st.booleans()):
            terms.append(f"p_{letter} * {draw(st.sampled_from(states))}_prev")
        if gates and draw(st.booleans()):
            terms.append(f"{draw(st.sampled_from(gates))} * (V_{letter} @ {previous} + b_u{letter})")
        lines.append(f"{letter} = {draw(function)}({' + '.join(terms)})")
        gates.append(letter)
    known = [*gates, *(f"{state}_prev" for state in states)]
    for state in states:
        lines.append(f"{state} = {draw(_formula(known, function, 2))} + {draw(st.sampled_from(known))} * {state}_prev")
        known.append(state)
    if len(states) == 2:  # a state is one only if its previous value is read
        lines[-2] += " + 0.5 * h_prev"
    return "\n".join(lines)


@st.composite
def _formula(draw: Any, known: list[str], function: Any, depth: int) -> str:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return str(draw(st.sampled_from([*known, "0.5", "2"])))
    one, other = (draw(_formula(known, function, depth - 1)) for _ in range(2))
    shape = draw(st.sampled_from(["({} + {})", "({} - {})", "{} * {}", "{} / (2 + {}**2)", "call"]))
    return f"{draw(function)}({one})" if shape == "call" else shape.format(one, other)
