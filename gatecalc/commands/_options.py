"""Options that the counting commands share: widths, and all that stands around a cell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from gatecalc.errors import GatecalcError, Place


class FormulaCommand(click.Command):
    """A command whose formula may begin with a minus sign."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [f" {each}" if re.match(r"-(?!-|h$|$)", each) else each for each in args])


class Whole(click.ParamType):  # type: ignore[type-arg]
    """A positive whole number, of any size; thousands may be set off by ``_`` or ``,``."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> int:
        from gatecalc.counts.architecture import whole

        what = param.opts[0] if param and param.opts else "number"
        text = str(value).strip().replace("_", "").replace(",", "")
        if not (text.isascii() and text.isdigit()) or len(text) > 4_000:
            raise GatecalcError(
                f"{what}: '{str(value)[:60]}' is not a positive whole number", help=f"write it as in '{what} 5'"
            )
        return whole(int(text), what)


WHOLE = Whole()


def options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return several options as one decorator, in the order in which ``--help`` lists them."""

    def decorate(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


input_option = click.option("--input", "input", type=WHOLE, metavar="D", help="Input width.")
hidden_option = click.option("--hidden", type=WHOLE, metavar="H", help="Hidden width.")
projection_option = click.option("--projection", type=WHOLE, metavar="P", help="Project the output to P numbers.")
bias_option = click.option("--bias", metavar="RULE", default="single", help="single, double (as in PyTorch) or none.")
layers_option = click.option("--layers", type=WHOLE, metavar="L", default=1, help="Layers, each reading the one below.")
bidirectional_option = click.option("--bidirectional", is_flag=True, help="Read the sequence in both directions.")
set_option = click.option(
    "--set", "widths", multiple=True, metavar="NAME=WIDTH", help="Another width of a cell that has one."
)

around_options = options(
    click.option("--initial", is_flag=True, help="Initial states are trained."),
    click.option("--embedding", type=WHOLE, metavar="V", help="A table of V symbols before the first layer."),
    click.option("--readout", type=WHOLE, metavar="K", help="K outputs after the last layer, at every step."),
    click.option("--readout-bias", is_flag=True, help="The read-out has a bias."),
)

totals_options = options(
    click.option("--steps", type=WHOLE, metavar="T", help="Totals for sequences of T steps."),
    click.option("--batch", type=WHOLE, metavar="N", help="Totals for N sequences."),
    click.option(
        "--dtype", default="float32", metavar="TYPE", help="For bytes: float64, float32, float16, bfloat16 or int8."
    ),
)


@contextmanager
def named(option: str, help: str) -> Iterator[None]:
    """Say of an error in the value of an option which option it is, and what to write."""
    try:
        yield
    except GatecalcError as error:
        if error.message.startswith(("value: ", "syntax: ")):
            error.help = help
        raise (error if error.message.startswith(option) else error.at(Place(option))) from None


def settings(pairs: tuple[str, ...]) -> dict[str, int]:
    """Read repeated ``--set NAME=WIDTH``."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not value.strip().isdigit() or len(value) > 1_000:
            raise GatecalcError(f"--set: '{pair[:60]}' is not NAME=WIDTH", help="write it as in '--set H2=7'")
        found[name.strip()] = int(value)
    return found
