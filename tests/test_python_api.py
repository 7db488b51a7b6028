"""The public functions: what they refuse, they refuse as gatecalc's own error, at once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gatecalc
from gatecalc import GatecalcError, cell, check, count, derive, fair_width, grade, trace, train, value

WRONG: dict[str, Callable[[], Any]] = {
    "cell 3": lambda: cell(3),  # type: ignore[arg-type]
    "cell None": lambda: cell(None),  # type: ignore[arg-type]
    "value 3": lambda: value(3),  # type: ignore[arg-type]
    "value states 0.33": lambda: value("1/3", 0.33),  # type: ignore[arg-type]
    "value digits 10**9": lambda: value("1/3", digits=10**9),
    "value digits -1": lambda: value("1/3", digits=-1),
    "value digits 2.5": lambda: value("1/3", digits=2.5),  # type: ignore[arg-type]
    "check None": lambda: check(None),  # type: ignore[arg-type]
    "count 3": lambda: count(3, 3, 5),  # type: ignore[arg-type]
    "count 3.0": lambda: count("lstm", 3.0, 5),  # type: ignore[arg-type]
    "count dtype": lambda: count("lstm", 3, 5, dtype=3),  # type: ignore[arg-type]
    "fair None": lambda: fair_width("gru", None, input=3),  # type: ignore[arg-type]
    "derive output": lambda: derive("lstm", 3, "c_prev"),  # type: ignore[arg-type]
    "derive input": lambda: derive("lstm", "c", None),  # type: ignore[arg-type]
    "derive path": lambda: derive("lstm", "c", "c_prev", None),  # type: ignore[arg-type]
    "derive steps": lambda: derive("lstm", "c", "c_prev", steps="2"),  # type: ignore[arg-type]
    "derive steps 2.5": lambda: derive("lstm", "c", "c_prev", steps=2.5),  # type: ignore[arg-type]
    "grade 3": lambda: grade("lstm", "c", "c_prev", 3),  # type: ignore[arg-type]
    "grade steps": lambda: grade("lstm", "c", "c_prev", "diag(f)", steps="2"),  # type: ignore[arg-type]
    "trace cell": lambda: trace(3, [1]),  # type: ignore[arg-type]
    "trace digits": lambda: trace("lstm", [1], digits="a"),  # type: ignore[arg-type]
    "trace digits 10**9": lambda: trace("lstm", [1], digits=10**9),
    "trace show": lambda: trace("lstm", [1], show=[3]),  # type: ignore[list-item]
    "train task": lambda: train(3),  # type: ignore[arg-type]
    "train cell": lambda: train("adding", None),  # type: ignore[arg-type]
    "train length": lambda: train("adding", "gru", 6.5),  # type: ignore[arg-type]
    "train rate": lambda: train("adding", rate="a"),
    "train rate list": lambda: train("adding", rate=[1]),
    "train seed": lambda: train("adding", seed=1.5),
    "train passes": lambda: train("adding", passes=2.5),
    "train threshold": lambda: train("adding", threshold=None),
    "train freeze": lambda: train("adding", freeze=3),
    "train initial": lambda: train("adding", initial=3),
    "train optimiser": lambda: train("adding", optimiser=None),
    "train loss": lambda: train("adding", loss=3),
    "train dtype": lambda: train("adding", dtype="foo"),
    "train dropout": lambda: train("adding", dropout="a"),
    "train clip": lambda: train("adding", clip_norm="a"),
    "train window": lambda: train("next-character", window=0),
    "train hidden": lambda: train("adding", hidden=True),
    "train text": lambda: train("next-character", text=3),
    "train rand": lambda: train("adding", rand=3),
    "train save": lambda: train("adding", save=3),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_a_value_of_another_kind_is_gatecalc_s_own_error(call: Callable[[], Any]) -> None:
    """With a remedy; never an AttributeError from inside, and never work without end."""
    with pytest.raises(GatecalcError) as error:
        call()
    assert error.value.help


def test_numpy_s_whole_numbers_are_whole_numbers() -> None:
    """Widths, lengths and steps often come out of arrays."""
    three, five = np.array([3, 5])
    assert count("lstm", three, five).parameters == 180
    assert fair_width("gru", np.int64(180), input=three).width == 6
    assert derive("lstm", "c", "c_prev", steps=three).steps == 3
    assert train("remember-first", "rnn", five, hidden=three, passes=np.int64(2)).passes == 2


def test_a_place_that_cannot_be_written_is_refused_before_the_run(tmp_path: Path) -> None:
    """From Python as on the command line."""
    with pytest.raises(GatecalcError, match="cannot write it"):
        train("adding", save=str(tmp_path / "missing" / "run.npz"), progress=lambda *_: pytest.fail("it has run"))


def test_what_a_saved_run_has_otherwise_is_named(tmp_path: Path) -> None:
    """The one option, and not all of them."""
    path = str(tmp_path / "run.npz")
    train("count-bits", "gru", 3, passes=1, save=path)
    for name, number, old in (("hidden", 2, 1), ("rate", 0.5, 0.1)):
        with pytest.raises(GatecalcError) as error:
            train("count-bits", "gru", 3, resume=path, **{name: number})
        assert error.value.message == f"file: the saved run has {name} {old}, this one {number}"


def test_every_public_name_has_a_docstring_with_an_example_or_is_an_error() -> None:
    """What `from gatecalc import ...` offers."""
    for name in gatecalc._PUBLIC:
        documented = getattr(gatecalc, name).__doc__
        assert documented
        assert ">>> " in documented or name in ("GatecalcError", "Undecided", "check", "scan"), name


def test_every_argument_of_a_public_function_is_in_its_docstring() -> None:
    """Under `Args:`, by its name."""
    for name in gatecalc._PUBLIC:
        function = getattr(gatecalc, name)
        if inspect.isclass(function):
            continue
        described = function.__doc__.partition("Args:")[2].partition("Raises:")[0]
        for argument in inspect.signature(function).parameters:
            assert re.search(rf"\b{argument}\b[^\n]*: ", described), (name, argument)


def test_no_public_function_returns_anything_at_all() -> None:
    """A type checker knows what comes back, and so what it has."""
    functions = [getattr(gatecalc, name) for name in gatecalc._PUBLIC if not name[0].isupper()]
    for function in [*functions, cell("lstm").jacobian]:
        assert inspect.signature(function).return_annotation not in ("Any", inspect.Signature.empty), function
