"""The entry of the command line: finds the verb, and says what went wrong in one sentence."""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
import re
import signal
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup, TyperOption
from typer.main import get_command

import sonde.cli.commands
from sonde import settings
from sonde.cli import display
from sonde.cli.shared.default_options import Default, by_parameter, defaults, with_origin
from sonde.errors import SondeError, UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

ORDER = ("run", "attach", "top", "waits", "report", "view", "export", "diff", "fleet", "ctl")
"""As a newcomer meets them; further verbs follow by name."""

PAGED = ("report", "diff", "doctor", "tprof", "fleet report", "heap diff")
"""Verbs whose output is read at leisure."""

WITHOUT_SETTINGS = ("doctor",)
"""Verbs to find out what is wrong with."""

HELP = ("-h", "--help")
SETTINGS = {"help_option_names": [*HELP], "max_content_width": 100}


class Commands(TyperGroup):
    """The modules of `sonde.cli.commands`, each imported only when its command is run."""

    defaults: Sequence[Default] = ()
    """What the settings say of the verb that is run."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        names = {module.name for module in pkgutil.iter_modules(sonde.cli.commands.__path__)}
        known = [name for name in ORDER if name in names]
        return known + sorted(names.difference(known))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Before a verb's arguments are read: the settings have its defaults."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            hint = did_you_mean(args[0], self.list_commands(ctx))
            raise UsageError(f"no such command {args[0]!r}{hint}; see sonde --help")
        name, command, rest = super().resolve_command(ctx, args)
        if name not in (None, *WITHOUT_SETTINGS) and rest[:1] not in ([HELP[0]], [HELP[1]]):
            found = settings.load()
            if found.table or found.variables:
                self.defaults = defaults(found, name, lambda verb: self.get_command(ctx, verb))
                ctx.default_map = {name: by_parameter(self.defaults)}
        return name, command, rest

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"sonde.cli.commands.{cmd_name}")
        if hasattr(module, "app"):
            return _group(module.app, cmd_name)
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        settings = SETTINGS | getattr(module, "SETTINGS", {})
        single.command(cmd_name, context_settings=settings)(
            getattr(module, cmd_name, None) or module.verb
        )
        command = get_command(single)
        command.name = cmd_name
        command.callback = _watched(command.callback, paged=cmd_name in PAGED)
        command.params += _display_options()
        return command


def _group(app: typer.Typer, name: str) -> Any:
    """A verb with verbs of its own."""
    group: Any = get_command(app)
    group.name = name
    group.context_settings = {**SETTINGS, **group.context_settings}
    for command in group.commands.values():
        paged = f"{name} {command.name}" in PAGED
        command.callback = _watched(command.callback, paged=paged)
        command.params += _display_options()
        command.context_settings = {**SETTINGS, **command.context_settings}
    return group


class ReaderLeftError(Exception):
    """Nobody reads our output any more; Typer would take the plain error for a failure."""


def _display_options() -> list[Any]:
    """Those of the whole command line, which people type behind the verb."""
    return [
        TyperOption(
            param_decls=["--color"], metavar="WHEN", hidden=True, expose_value=False,
            callback=lambda _, __, when: display.set_color(when),
        ),
        TyperOption(
            param_decls=["--no-pager"], is_flag=True, hidden=True, expose_value=False,
            callback=lambda _, __, unpaged: display.set_unpaged(unpaged),
        ),
    ]  # fmt: skip


def _watched(verb: Any, *, paged: bool) -> Any:
    @functools.wraps(verb)
    def call(*args: Any, **options: Any) -> Any:
        try:
            # JSON is for programs, also on a terminal.
            with display.paged() if paged and not options.get("as_json") else nullcontext():
                result = verb(*args, **options)
            sys.stdout.flush()
        except BrokenPipeError as error:
            raise ReaderLeftError from error
        return result

    return call


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"sonde {sonde.__version__}")
        raise typer.Exit


@app.callback()
def sonde_(
    version: Annotated[  # noqa: ARG001
        bool,
        typer.Option("--version", help="Show the version.", callback=_version, is_eager=True),
    ] = False,
    color: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN", help="Color the output: auto (on a terminal), always or never."
        ),
    ] = None,
    no_pager: Annotated[
        bool, typer.Option("--no-pager", help="Do not page reports longer than the screen.")
    ] = False,
) -> None:
    """Profile CPython and Java: where time goes, and which code held each contended lock.

    \b
    Example:
      sonde run app.py
      sonde report
      sonde view

    --color and --no-pager may also follow the command.
    """
    display.set_color(color)
    display.set_unpaged(no_pager)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 2 for a wrong call, 1 for a failure."""
    code = _code_of(args)
    if args is None:
        # All is done. A Ctrl-C while the interpreter ends could only spoil the exit code.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code


def _code_of(args: Sequence[str] | None) -> int:
    for stream in (sys.stdout, sys.stderr):
        # A name the terminal's encoding lacks is shown as a question mark, not as a failure.
        getattr(stream, "reconfigure", lambda **_: None)(errors="replace")
    display.reset()
    command: Any = get_command(app)
    try:
        code = command.main(args=args, prog_name="sonde", standalone_mode=False)
    except SondeError as error:
        return _failed(with_origin(str(error), command.defaults), error.code)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except (ReaderLeftError, BrokenPipeError):
        return _reader_left()
    except MemoryError:
        return _failed("not enough memory", 1)
    except OSError as error:
        return _failed(_sentence_of(error), 1)
    except Exception as error:
        # Typer's own errors differ in class between its versions, but not in these two.
        message, code = getattr(error, "format_message", None), getattr(error, "exit_code", None)
        if message is None or code is None:
            if type(error).__name__ == "Abort":
                return 128 + signal.SIGINT
            raise
        return _wrong_call(error, with_origin(message().rstrip("."), command.defaults), code)
    return code if isinstance(code, int) else 0


def _wrong_call(error: Any, message: str, code: int) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        print(message, file=sys.stderr)
        return code
    ctx = getattr(error, "ctx", None)
    hint = f"; see {ctx.command_path} --help" if ctx is not None else ""
    return _failed(_one_sentence(message) + hint, code)


def _one_sentence(message: str) -> str:
    text = " ".join(message.split()).rstrip(".")
    # The parser has suggestions of its own, which read like the others.
    text = re.sub(r"\.? Did you mean (?:one of: )?'?([^?']+)'?\?", r" (did you mean \1?)", text)
    text = re.sub(r"\(Possible options: (.+)\)$", r"(did you mean \1?)", text)
    return text[:1].lower() + text[1:]


def _sentence_of(error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    return f"{os.fsdecode(error.filename)}: {reason}" if error.filename else reason


def _failed(sentence: str, code: int) -> int:
    try:
        print(f"sonde: {sentence}", file=sys.stderr)
    except BrokenPipeError:
        pass
    return code


def _reader_left() -> int:
    """The reader of our output has closed it, as `| head` does: end quietly, also at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return 128 + signal.SIGPIPE
