"""Counts: published figures, arrays that are really allocated, and what a formula looks like."""

from __future__ import annotations

import pytest

from gatecalc import GatecalcError, count
from gatecalc.cell import built_in, cell, parse_cell
from gatecalc.counts.architecture import architecture, projected
from gatecalc.counts.counting import BIAS_RULES, SCHEMES, bias_vectors, elementwise, macs, parameters, stored

# (cell, D, H, bias rule, parameters), as printed by Keras' and PyTorch's own counters and in chapters.
PUBLISHED = [
    ("rnn", 3, 5, "single", 45),
    ("lstm", 3, 5, "single", 180),
    ("gru_cho", 3, 5, "single", 135),
    ("gru_reset_after", 3, 5, "double", 150),
    ("gru_reset_after", 3, 5, "single", 140),
    ("rnn", 3, 5, "double", 50),
    ("lstm", 3, 5, "double", 200),
    ("rnn", 3, 5, "none", 40),
    ("lstm", 3, 5, "none", 160),
    ("gru", 3, 5, "none", 120),
    ("rnn", 80, 256, "single", 86_272),
    ("lstm", 80, 256, "single", 345_088),
    ("gru_reset_after", 80, 256, "double", 259_584),
    ("gru_cho", 80, 256, "single", 258_816),
    ("lstm", 80, 256, "double", 346_112),
    ("rnn", 80, 256, "double", 86_528),
    ("lstm", 1, 1, "single", 12),
]


@pytest.mark.parametrize(("name", "d", "h", "bias", "expected"), PUBLISHED, ids=lambda value: str(value))
def test_a_layer_counts_what_is_published(name: str, d: int, h: int, bias: str, expected: int) -> None:
    """Keras' count_params, PyTorch's numel and printed tables agree with the rules."""
    assert count(name, d, h, bias).parameters == expected


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("lstm", {"bidirectional": True}, 360),
        ("gru_reset_after", {"bidirectional": True, "bias": "double"}, 300),
        ("lstm", {"layers": 2}, 400),
        ("lstm", {"layers": 2, "bidirectional": True}, 1_000),
        ("lstm", {"readout": 7, "readout_bias": True}, 222),
        ("lstm", {"layers": 2, "bias": "double"}, 440),
        ("lstm", {"layers": 2, "bias": "double", "bidirectional": True}, 1_080),
        ("lstm", {"projection": 2, "bias": "double"}, 150),
        ("lstm", {"projection": 2, "bias": "double", "layers": 2, "bidirectional": True}, 640),
    ],
    ids=str,
)
def test_a_stack_counts_what_keras_and_pytorch_count(name: str, options: dict[str, int], expected: int) -> None:
    """Layers, directions, heads and projections at D = 3 and H = 5."""
    assert count(name, 3, 5, **options).parameters == expected


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("rnn", {}, 960),
        ("gru_reset_after", {}, 2_880),
        ("lstm", {}, 3_840),
        ("lstm", {"layers": 2}, 8_640),
        ("lstm", {"bidirectional": True}, 7_680),
        ("lstm", {"bidirectional": True, "layers": 2}, 22_080),
        ("lstm", {"projection": 2}, 2_640),
        ("lstm", {"projection": 2, "bidirectional": True, "layers": 2}, 11_520),
    ],
    ids=str,
)
def test_macs_of_a_batch_are_those_that_torch_dispatches(name: str, options: dict[str, int], expected: int) -> None:
    """torch's FlopCounterMode / 2 at D = 3, H = 5, T = 6, N = 4, recorded on torch 2.13.0."""
    totals = count(name, 3, 5, steps=6, batch=4, **options).totals
    assert totals
    assert totals["macs"] == expected
    assert totals["flops"] == 2 * expected


def test_backward_macs_leave_out_the_gradients_of_given_states() -> None:
    """torch dispatches 7,260 forward and backward for a GRU whose input and initial state need no gradient."""
    totals = count("gru_reset_after", 3, 5, steps=6, batch=4).totals
    assert totals
    assert totals["macs"] + totals["macs_backward"] == 7_260


FORMULAS = [
    ("lstm", "single", "4*H*(D + H + 1)"),
    ("lstm", "double", "4*H*(D + H + 2)"),
    ("lstm", "none", "4*H*(D + H)"),
    ("rnn", "single", "H*(D + H + 1)"),
    ("gru", "single", "3*H*(D + H + 1)"),
    ("gru_reset_after", "single", "3*H*(D + H + 1) + H"),
    ("gru_reset_after", "double", "3*H*(D + H + 2)"),
    ("mgu", "double", "2*H*(D + H + 2)"),
    ("lstm_projected", "single", "4*H*(D + P + 1) + H*P"),
    ("lstm_peephole", "single", "4*H*(D + H + 1) + 3*H"),
    ("lstm_peephole", "none", "4*H*(D + H) + 3*H"),
]


@pytest.mark.parametrize(("name", "bias", "expected"), FORMULAS, ids=str)
def test_a_formula_is_factored_as_a_textbook_prints_it(name: str, bias: str, expected: str) -> None:
    """Blocks times one block, and then the rest."""
    assert str(parameters(name, bias)) == expected


def test_a_width_that_is_given_is_filled_into_the_formula() -> None:
    """Three inputs and the bias make four; the factors stay."""
    assert str(parameters("gru").at(D=3)) == "3*H*(H + 4)"
    assert str(parameters("lstm").at(D=0)) == "4*H*(H + 1)"
    assert str(parameters("lstm_projected").at(D=3)) == "4*H*(P + 4) + H*P"
    assert count("gru", 3).parameters_formula == "3*H*(H + 4)"


def test_a_stack_is_a_formula_in_its_layers() -> None:
    """The layers above the first read both directions of the one below; what is given is filled in while H is not."""
    formula = "8*H*(D + H + 1) + 8*H*(L - 1)*(3*H + 1)"
    assert count("lstm", 3, 5, layers=2, bidirectional=True).parameters_formula == formula
    assert count("lstm", layers=2, bidirectional=True).parameters_formula == "8*H*(D + H + 1) + 8*H*(3*H + 1)"


BIASES = {
    "rnn": (1, 2),
    "rnn_relu": (1, 2),
    "lstm": (4, 8),
    "lstm_1997": (3, 6),
    "lstm_peephole": (4, 8),
    "lstm_coupled": (3, 6),
    "lstm_projected": (4, 8),
    "gru": (3, 6),
    "gru_cho": (3, 6),
    "gru_reset_after": (4, 6),
    "gru_reset_after_write": (4, 6),
    "mgu": (2, 4),
    "min_gru": (2, 2),
}


@pytest.mark.parametrize("name", built_in())
def test_a_bias_rule_gives_every_cell_its_number_of_bias_vectors(name: str) -> None:
    """The double rule has one for each product in a sum with a bias, so the reset-after GRU has six, not eight."""
    assert (
        sum(bias_vectors(cell(name), "single").values()),
        sum(bias_vectors(cell(name), "double").values()),
    ) == BIASES[name]
    assert bias_vectors(cell(name), "none") == {}


def test_the_projection_never_has_a_bias() -> None:
    """A sum without a written bias has none under any rule."""
    assert str(parameters("lstm_projected", "double")) == "4*H*(D + P + 2) + H*P"


@pytest.mark.parametrize("bias", BIAS_RULES)
@pytest.mark.parametrize("name", built_in())
def test_parameters_are_the_numbers_in_the_arrays_allocated(name: str, bias: str) -> None:
    """The shapes that are listed hold as many numbers as are counted, in a stack with everything around it."""
    numpy = pytest.importorskip("numpy")
    options = {} if "P" not in cell(name).dimensions else {"projection": 2}
    found = count(name, 3, 5, bias, 2, True, embedding=11, readout=4, readout_bias=True, initial=True, **options)
    assert found.shapes
    assert sum(numpy.zeros(shape).size for shape in found.shapes.values()) == found.parameters


def test_macs_leave_elementwise_operations_to_their_own_list() -> None:
    """An LSTM's step has three products of gates, five squashings, and nothing of it is in the MACs."""
    assert str(macs("lstm")) == "4*H*(D + H)"
    kinds = {kind: str(number) for kind, number in elementwise("lstm").items()}
    assert kinds == {"add": "9*H", "multiply": "3*H", "sigmoid": "3*H", "tanh": "2*H"}
    assert str(elementwise("lstm", "double")["add"]) == "13*H"
    assert str(elementwise("lstm", "none")["add"]) == "5*H"


STORED = [
    ("rnn", "H", "H", "D + H", "H"),
    ("rnn_relu", "H", "H", "D + H", "H"),
    ("lstm", "6*H", "4*H", "D + 7*H", "2*H"),
    ("lstm_projected", "6*H + P", "4*H + P", "D + 7*H + P", "H + P"),
    ("gru", "4*H", "3*H", "D + 6*H", "H"),
    ("gru_reset_after", "4*H", "4*H", "D + 6*H", "H"),
    ("mgu", "3*H", "2*H", "D + 5*H", "H"),
]


@pytest.mark.parametrize(("name", "written", "minimal", "autograd", "recompute"), STORED, ids=str)
def test_what_is_stored_depends_on_a_named_scheme(
    name: str, written: str, minimal: str, autograd: str, recompute: str
) -> None:
    """A ratio of two cells' storage means nothing before the scheme is named."""
    schemes = ("written", "minimal", "autograd", "recompute")
    assert [str(stored(name, scheme)) for scheme in schemes] == [written, minimal, autograd, recompute]


def test_a_cell_of_ones_own_has_the_same_knobs() -> None:
    """The rules read the formulas, so they know nothing of names."""
    own = parse_cell("s = tanh(A @ x + B @ s_prev + C @ (s_prev * s_prev) + b_one)", "own")
    assert str(parameters(own)) == "H*(D + 2*H + 1)"
    assert str(parameters(own, "double")) == "H*(D + 2*H + 3)"
    assert count(own, 3, 5, "double", layers=2, bidirectional=True).parameters == 2 * 5 * 16 + 2 * 5 * 23


def test_any_cell_read_through_matrices_alone_can_be_projected() -> None:
    """The plain network can; the GRU adds its old state to the new one, and cannot."""
    assert str(parameters(projected(cell("rnn")))) == "H*(D + 2*P + 1)"
    assert parameters(projected(cell("lstm"))) == parameters("lstm_projected")
    with pytest.raises(GatecalcError, match="gru cannot be projected"):
        projected(cell("gru"))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("lstm", 0, 5), {}, "input: 0 is not a positive whole number"),
        (("lstm", 3, -5), {}, "hidden: -5 is not a positive whole number"),
        (("lstm", 3, 5.0), {}, "hidden: 5.0 is not a positive whole number"),
        (("lstm", 3, True), {}, "hidden: True is not a positive whole number"),
        (("lstm", 3, 10**1000), {}, "hidden: it has more than 1000 digits"),
        (("lstm", 3, 5, "twice"), {}, "bias: unknown rule 'twice'"),
        (("lstm", 3, 5), {"layers": 0}, "layers: 0 is not a positive whole number"),
        (("lstm", 3, 5), {"projection": 5}, "projection: 5 is not narrower than the hidden width 5"),
        (("lstm_projected", 3, 5), {}, "width: lstm_projected has a width P, which is not given"),
        (("lstm", 3, 5), {"readout_bias": True}, "readout: a bias of a read-out that is not there"),
        (("lstm", 3, 5), {"widths": {"Q": 3}}, "width: lstm has no width 'Q'"),
        (("lstm", 3, 5), {"dtype": "float31"}, "dtype: unknown 'float31'; did you mean 'float32'?"),
        (("lstn", 3, 5), {}, "name: unknown cell 'lstn'; did you mean 'lstm'?"),
    ],
    ids=str,
)
def test_bad_input_is_one_clear_error(arguments: tuple, options: dict, message: str) -> None:
    """The option, the value and what it should have been."""
    with pytest.raises(GatecalcError) as caught:
        count(*arguments, **options)
    assert caught.value.message == message
    assert caught.value.help


def test_an_unknown_scheme_and_one_that_is_not_defined_are_refused() -> None:
    """PyTorch has no MGU whose storage could be measured."""
    with pytest.raises(GatecalcError, match="storage: unknown scheme 'minimum'; did you mean 'minimal'"):
        stored("lstm", "minimum")
    with pytest.raises(GatecalcError, match="'pytorch' is not defined for mgu"):
        stored("mgu", "pytorch")
    found = count("mgu", 3, 5)
    assert found.stored
    assert found.stored["pytorch"] is None
    assert list(found.stored) == list(SCHEMES)


def test_widths_of_thirty_digits_are_counted_exactly() -> None:
    """Whole numbers, never floats."""
    h = 10**30 + 7
    assert count("lstm", 3, h).parameters == 4 * h * (h + 4)


def test_a_formula_takes_anything_that_adds_and_multiplies() -> None:
    """Fractions, and names of another algebra."""
    from fractions import Fraction

    sympy = pytest.importorskip("sympy")
    assert parameters("gru")(D=3, H=Fraction(1, 2)) == Fraction(27, 4)
    h = sympy.Symbol("H")
    assert sympy.expand(parameters("gru")(D=3, H=h) - 3 * h * (h + 4)) == 0


def test_an_architecture_knows_its_formulas_without_any_width() -> None:
    """In D, H, L, V and K."""
    network = architecture("lstm", layers=3, embedding=10, readout=2, readout_bias=True)
    assert str(network.parameters()) == "4*H*(D + H + 1) + 4*H*(L - 1)*(2*H + 1) + D*V + K*(H + 1)"
