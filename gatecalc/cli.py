"""The command line: each file in ``commands/`` is one command, loaded when it is called.

A new command is a new file there that has a click command of the name ``command``. The first line of the file, its
name and what it does, is its line in ``gatecalc --help``, which loads none of them.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import Any

import click

from gatecalc.errors import GatecalcError, closest, shorten

COMMANDS = os.path.join(os.path.dirname(__file__), "commands")

OK, FOUND, BROKEN, INTERRUPTED = 0, 1, 2, 130  # exit statuses


class Commands(click.Group):
    """The commands that stand as files in ``commands/``."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(file[:-3] for file in os.listdir(COMMANDS) if file.endswith(".py") and file[0] != "_")

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(context):
            return None
        command: click.Command = import_module(f"gatecalc.commands.{name}").command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _title(name)) for name in self.list_commands(context)])

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except click.UsageError as error:
            if error.ctx in (None, context) and context.invoked_subcommand in self.list_commands(context):
                error.ctx = click.Context(self, info_name=context.invoked_subcommand, parent=context)
            raise

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(context):
            raise GatecalcError(
                f"unknown command '{args[0][:40]}'{closest(args[0], self.list_commands(context))}",
                help="gatecalc --help lists the commands",
            )
        return super().resolve_command(context, args)


def _title(name: str) -> str:
    with open(os.path.join(COMMANDS, f"{name}.py"), encoding="utf-8") as file:
        title = file.readline().strip().strip('"').partition(": ")[2].rstrip(".")
    return f"{title[:1].upper()}{title[1:]}."


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=None, version=import_module("gatecalc").__version__, prog_name="gatecalc")
def gatecalc() -> None:
    """The arithmetic of gated recurrent networks: counted, derived, trained, and checked in documents.

    \b
    gatecalc value "sigmoid(3)**20" --states 0.3784
    gatecalc count lstm --input 3 --hidden 5
    gatecalc check worked_examples
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input ends with one error and status 2, never with a traceback."""
    gc.set_threshold(50_000)  # start-up makes many objects and frees none: looking for rubbish then is time lost
    if sys.stdin is None:  # closed by who called us: it is empty
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    colour = False if os.environ.get("NO_COLOR") else None  # None: on a terminal only
    try:
        status = gatecalc.main(args=arguments, prog_name="gatecalc", standalone_mode=False, color=colour)
        if sys.stdout is not None:  # closed by who called us: the status is all that is wanted
            sys.stdout.flush()
    except GatecalcError as error:
        status = _refuse(str(error))
    except click.exceptions.NoArgsIsHelpError as error:
        status = _refuse(error.format_message())
    except click.ClickException as error:
        status = _refuse(_one_line(error))
    except (KeyboardInterrupt, click.exceptions.Abort):
        click.echo("interrupted", err=True)
        status = INTERRUPTED
    except BrokenPipeError:  # the reader of our output has left: nothing more to say
        _drop_output()
        status = OK
    except OSError as error:
        if error.filename is not None:
            raise
        _drop_output()  # an error of no file is that of our own output
        reason = (error.strerror or "error").lower()
        status = _refuse(f"output: cannot write it: {reason}\nhelp: look at where the output goes, and at its disk")
    sys.exit(status if isinstance(status, int) else OK)


def _drop_output() -> None:
    """Send what is still to be written nowhere, so that Python does not try again at its end."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse(message: str) -> int:
    click.echo(message, err=True)
    return BROKEN


_OURS = {  # what click calls the kinds of its numbers
    "is not a valid integer range": "is not a whole number",
    "is not a valid integer": "is not a whole number",
    "is not a valid float": "is not a number",
}


def _one_line(error: click.ClickException) -> str:
    """Return a usage error as one line, and where to look."""
    message = shorten(error.format_message(), 200)
    for theirs, ours in _OURS.items():
        message = message.replace(theirs, ours)
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "gatecalc"
    return f"{path}: {message[:1].lower()}{message[1:].rstrip('.')}\nhelp: {path} --help"
