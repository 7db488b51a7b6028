"""Formulas: what is read, what is refused, and that printing and reading are inverse."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatecalc.errors import GatecalcError
from gatecalc.language import Source, Tree, add, decimal_text, multiply, number, parse, parse_equations, to_text

names = st.sampled_from(["x", "h_prev", "z", "U_n", "b_f", "alpha"]).map(lambda text: Tree("name", (), text))
numbers = st.one_of(
    st.integers(0, 10**30).map(number),
    st.decimals(0, 1000, places=6, allow_nan=False).map(lambda value: number(Fraction(value))),
)


def _operators(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    negated = st.builds(lambda a: Tree("neg", (a,)), inner)
    return st.one_of(
        st.builds(add, inner, inner, st.one_of(inner, negated)),
        st.builds(multiply, inner, inner),
        negated,
        st.builds(lambda op, a, b: Tree(op, (a, b)), st.sampled_from(["/", "**", "@"]), inner, inner),
        st.builds(lambda a: Tree("call", (a,), "sigmoid"), inner),
        st.builds(lambda a, b: Tree("call", (a, Tree("keyword", (b,), "bias")), "count"), inner, inner),
        st.builds(lambda a: Tree("attribute", (Tree("call", (a,), "trace"),), "c"), inner),
        st.builds(lambda a, b: Tree("index", (Tree("list", (a, b)), b)), inner, inner),
    )


arithmetic = st.recursive(st.one_of(names, numbers), _operators, max_leaves=12)
comparisons = st.builds(lambda a, b, c: Tree("compare", (a, b, c), ("<", "!=")), arithmetic, arithmetic, arithmetic)
logic = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.builds(lambda a, b: Tree("and", (a, b)), inner, inner),
        st.builds(lambda a, b: Tree("or", (a, b)), inner, inner),
        st.builds(lambda a: Tree("not", (a,)), inner),
    ),
    max_leaves=4,
)


def _nested_logic(tree: Tree) -> bool:
    return any(node.op == part.op for node in tree.walk() if node.op in ("and", "or") for part in node.args)


@given(arithmetic)
def test_reading_what_was_printed_gives_the_same_formula(tree: Tree) -> None:
    """parse(to_text(tree)) is the tree."""
    assert parse(to_text(tree)) == tree


@given(logic.filter(lambda tree: not _nested_logic(tree)))
def test_reading_a_printed_condition_gives_the_same_condition(tree: Tree) -> None:
    """The same for comparisons joined by and, or, not."""
    assert parse(to_text(tree)) == tree


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("(1-z)*h_prev+z*n", "(1 - z) * h_prev + z * n"),
        ("a-(b-c)", "a - (b - c)"),
        ("a*(b/c)", "a * (b / c)"),
        ("a*b/c*d", "a * b / c * d"),
        ("-a**2", "-a**2"),
        ("(-a)**2", "(-a)**2"),
        ("2**-1", "2**-1"),
        ("a**b**c", "a**b**c"),
        ("0.10", "0.1"),
        ("9.5e-7", "0.00000095"),
        ("a @ (b @ c)", "a @ (b @ c)"),
        ("trace('lstm', x=[1, 0], W_i=4).c[1]", "trace('lstm', x=[1, 0], W_i=4).c[1]"),
        ("not a < b <= c and d == None", "not a < b <= c and d == None"),
        ("+3", "3"),
        ("  a\n + b ", "a + b"),
    ],
)
def test_formulas_are_printed_in_one_way(text: str, printed: str) -> None:
    """Brackets only where they are needed, the order of terms as written."""
    assert to_text(parse(text)) == printed


def test_literals_keep_every_digit() -> None:
    """0.1 is one tenth, not the float nearest to it."""
    assert parse("0.1").value == Fraction(1, 10)
    assert parse("1_000.50").value == Fraction(2001, 2)
    assert parse("1" * 400).value == int("1" * 400)


@pytest.mark.parametrize(
    ("text", "message", "column", "help"),
    [
        ("tanh(W @ x", "syntax: '(' is never closed", 5, "add ')' before the end of the line"),
        ("3 ^ 4", "syntax: this operator is not part of a formula", 1, "'^' is not a power; write '**'"),
        ("a if b else c", "syntax: a condition is not part of a formula", 1, None),
        ("lambda: 0", "syntax: a lambda is not part of a formula", 1, None),
        ("[a for a in b]", "syntax: a comprehension is not part of a formula", 1, None),
        ("f'{x}'", "syntax: a format string is not part of a formula", 1, None),
        ("x.__class__", "name: '__class__' is not a name that a formula can use", 1, None),
        ("f(x)(y)", "syntax: only a named function can be called", 1, "write 'name(...)'"),
        ("f(**x)", "syntax: '**' before an argument is not part of a formula", 5, None),
        ("1 + 2j", "syntax: 2j is not part of a formula", 5, None),
        ("0x10", "syntax: the number '0x10' cannot be read", 1, "write it in decimal digits"),
        ("a \u2212 b", "syntax: the character U+2212 cannot be read here", 3, "write '-'"),
        ("r \u2299 h", "syntax: the character U+2299 cannot be read here", 3, "write '*' for the elementwise product"),
        ("", "syntax: the formula is empty", 1, "write a formula, as in 'sigmoid(3)**20'"),
        ("a\0b", "syntax: the character U+0000 cannot be read here", 2, None),
        ("a is b", "syntax: 'is' and 'in' are not part of a formula", 1, None),
    ],
)
def test_what_is_not_on_the_whitelist_is_refused_with_its_place(
    text: str, message: str, column: int, help: str | None
) -> None:
    """One line that says what, where, and what to do instead."""
    with pytest.raises(GatecalcError) as caught:
        parse(Source(text, "claims.toml", 7))
    assert caught.value.message == message
    assert caught.value.place is not None
    assert (caught.value.place.path, caught.value.place.line, caught.value.place.column) == ("claims.toml", 7, column)
    assert help is None or caught.value.help == help


@pytest.mark.parametrize(
    "text",
    [
        *(
            "(" * 10_000,
            "[" * 500,
            "f(" * 100 + ")" * 100,
            "-" * 50_000 + "1",
            "not " * 10_000 + "a",
            "a" + ".b" * 10_000,
        ),
        *("1e30000000", "1e-30000000", "9" * 5_000, "x" * 200_000, "1+" * 40_000 + "1", "2**" * 5_000 + "2"),
    ],
    ids=lambda text: text[:6],
)
def test_a_formula_beyond_the_limits_is_refused_at_once(text: str) -> None:
    """Size is bounded before work starts."""
    start = time.process_time()
    with pytest.raises(GatecalcError):
        parse(text)
    assert time.process_time() - start < 5  # a guard against a hang, not a benchmark


def test_a_caret_points_into_the_line() -> None:
    """The error shows the line and the place in it."""
    with pytest.raises(GatecalcError) as caught:
        parse_equations(Source("h = tanh(W @ x)\nz = 3 ^ 4", "my.cell", 1))
    assert str(caught.value) == (
        "my.cell:2:5: syntax: this operator is not part of a formula\n"
        "    z = 3 ^ 4\n"
        "        ^\n"
        "help: '^' is not a power; write '**'"
    )


def test_equal_formulas_are_equal_wherever_they_stand() -> None:
    """Structure counts, place does not; a name is not a text."""
    assert parse("a + b") == parse("(a)  +  b")
    assert parse("a") != parse("'a'")
    assert len({parse("a + b"), parse("a+b")}) == 1


@given(st.integers(-(10**40), 10**40), st.integers(0, 30))
def test_decimals_that_end_are_written_exactly(digits: int, places: int) -> None:
    """The text of a decimal is its exact value."""
    value = Fraction(digits, 10**places)
    assert Fraction(decimal_text(value)) == value
