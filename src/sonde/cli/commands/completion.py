"""`sonde completion`: a script that completes the command line in a shell."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from sonde.errors import UsageError, invalid

SHELLS = ("bash", "zsh", "fish")


def completion(
    ctx: typer.Context,
    shell: Annotated[
        str | None,
        typer.Argument(
            metavar="[bash|zsh|fish]", help="[default: the one of $SHELL]", show_default=False
        ),
    ] = None,
) -> None:
    """Print a script that completes commands, options, views and recordings in your shell.

    \b
    Examples:
      source <(sonde completion bash)                      # in ~/.bashrc
      source <(sonde completion zsh)                       # in ~/.zshrc
      sonde completion fish > ~/.config/fish/completions/sonde.fish
    """
    if shell is None:
        shell = os.path.basename(os.environ.get("SHELL", ""))
        if shell not in SHELLS:
            raise UsageError(f"no shell given; valid shells: {', '.join(SHELLS)}")
    if shell not in SHELLS:
        raise UsageError(invalid("shell", shell, SHELLS, "shells"))
    from sonde.cli.completion import bash, fish, zsh
    from sonde.cli.completion.words import words_of

    script = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}[shell]
    assert ctx.parent is not None
    root: Any = ctx.parent.command
    print(script(words_of(root, _values())), end="")


def _values() -> Any:
    """Of options that take one of some words, which the parser does not know."""
    from sonde.cli.commands.ctl import VERBS
    from sonde.cli.commands.report import VIEWS
    from sonde.cli.completion.words import FILES, PIDS, PROGRAM, RECORDINGS, Values
    from sonde.exports import FORMATS
    from sonde.record.recorder.capture_control import STACKS
    from sonde.record.recorder.options.modes import MODES
    from sonde.record.recorder.options.options import KINDS
    from sonde.record.recorder.sampling.samplers import SAMPLERS

    return {
        "--what": Values(words=KINDS, is_list=True),
        "--sampler": Values(words=("auto", *SAMPLERS)),
        "--stacks": Values(words=STACKS),
        "--mode": Values(words=MODES),
        "--report": Values(words=VIEWS),
        "--to": Values(),
        "export --to": Values(words=FORMATS, is_list=True),
        "--taken": Values(words=("queue", "quota", "steal", "all")),
        "--while-held": Values(words=("gil",)),
        "run": Values((PROGRAM,)),
        "report": Values((RECORDINGS,), VIEWS),
        "ctl": Values((PIDS, FILES), tuple(VERBS)),
        "heap": Values((PIDS,)),
        "heap diff": Values((RECORDINGS,)),
        "completion": Values(words=SHELLS),
    }
