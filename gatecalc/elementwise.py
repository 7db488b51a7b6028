"""The elementwise functions: one row each, with its definition and its derivative side by side.

A row is data, written in the language of formulas, with ``a`` for the argument and ``y`` for the function's own value.
Exact arithmetic, enclosures, SymPy, mpmath and NumPy all read the same row: a new function is one row here. A row
without a definition is a primitive, which each of those back ends has under a name of its own.
"""

from __future__ import annotations

from gatecalc.record import Record


class Elementwise(Record):
    """One function of one real number.

    Attributes:
        name: As it is called in a formula.
        definition: In terms of primitives and earlier rows; None for a primitive.
        derivative: With respect to ``a``, in terms of ``a`` and of its own value ``y``.
        latex: How its name is set.
        at_half: Its value at a = 0.5, to four decimals, as another library gives it.
        stable: A form that neither overflows nor cancels in floating point, when the definition does.
        kinks: Where the derivative jumps, and what is taken there; empty where it is smooth.
    """

    name: str
    definition: str | None
    derivative: str
    latex: str
    at_half: str
    stable: str | None = None
    kinks: str = ""


_ROWS = (
    Elementwise("exp", None, "y", r"\exp", "1.6487"),
    Elementwise("log", None, "1 / a", r"\log", "-0.6931"),
    Elementwise("sqrt", None, "1 / (2 * y)", r"\operatorname{sqrt}", "0.7071"),
    Elementwise("tanh", None, "1 - y**2", r"\tanh", "0.4621"),
    Elementwise("sin", None, "cos(a)", r"\sin", "0.4794"),
    Elementwise("cos", None, "-sin(a)", r"\cos", "0.8776"),
    Elementwise("atan", None, "1 / (1 + a**2)", r"\arctan", "0.4636"),
    Elementwise("erf", None, "2 / sqrt(pi) * exp(-a**2)", r"\operatorname{erf}", "0.5205"),
    Elementwise("step", None, "0", r"\operatorname{step}", "1.0000", kinks="0 at a = 0"),
    Elementwise("abs", None, "step(a) - step(-a)", r"\operatorname{abs}", "0.5000", kinks="0 at a = 0"),
    Elementwise("sigmoid", "1 / (1 + exp(-a))", "y * (1 - y)", r"\sigma", "0.6225", stable="0.5 + 0.5 * tanh(0.5 * a)"),
    Elementwise(
        "relu",
        "(a + abs(a)) / 2",
        "step(a)",
        r"\operatorname{relu}",
        "0.5000",
        stable="a * step(a)",
        kinks="0 at a = 0",
    ),
    Elementwise(
        "leaky_relu",
        "relu(a) - 0.01 * relu(-a)",
        "step(a) + 0.01 * (1 - step(a))",
        r"\operatorname{leaky\_relu}",
        "0.5000",
        kinks="0.01 at a = 0",
    ),
    Elementwise(
        "elu",
        "relu(a) + exp(-relu(-a)) - 1",
        "exp(-relu(-a))",
        r"\operatorname{elu}",
        "0.5000",
    ),
    Elementwise(
        "hard_sigmoid",
        "(relu(a + 3) - relu(a - 3)) / 6",
        "(step(a + 3) - step(a - 3)) / 6",
        r"\operatorname{hard\_sigmoid}",
        "0.5833",
        kinks="0 at a = -3 and 1/6 at a = 3",
    ),
    Elementwise(
        "hard_tanh",
        "relu(a + 1) - relu(a - 1) - 1",
        "step(a + 1) - step(a - 1)",
        r"\operatorname{hard\_tanh}",
        "0.5000",
        kinks="0 at a = -1 and 1 at a = 1",
    ),
    Elementwise(
        "softplus",
        "log(1 + exp(a))",
        "sigmoid(a)",
        r"\operatorname{softplus}",
        "0.9741",
        stable="relu(a) + log(1 + exp(-abs(a)))",
    ),
    Elementwise("softsign", "a / (1 + abs(a))", "1 / (1 + abs(a))**2", r"\operatorname{softsign}", "0.3333"),
    Elementwise("silu", "a * sigmoid(a)", "sigmoid(a) * (1 + a * (1 - sigmoid(a)))", r"\operatorname{silu}", "0.3112"),
    Elementwise(
        "gelu",
        "a * (1 + erf(a / sqrt(2))) / 2",
        "(1 + erf(a / sqrt(2))) / 2 + a * exp(-a**2 / 2) / sqrt(2 * pi)",
        r"\operatorname{gelu}",
        "0.3457",
    ),
)

ELEMENTWISE: dict[str, Elementwise] = {}
for _row in _ROWS:
    if _row.name in ELEMENTWISE:
        raise ValueError(f"elementwise function '{_row.name}' is defined twice")
    ELEMENTWISE[_row.name] = _row
