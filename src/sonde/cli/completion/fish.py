"""Completion for fish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.cli.completion.words import FILES, PIDS, PROGRAM, RECORDINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sonde.cli.completion.words import Command, Option, Values

HEAD = """\
# Completion of sonde for fish. Load it with: sonde completion fish | source
# Or save it as ~/.config/fish/completions/sonde.fish

function __sonde_at -a wanted
    set -l at ''
    set -l takes 0
    for word in (commandline -opc)[2..]
        if test $takes = 1
            set takes 0
        else if string match -q -- '-?*' $word
            contains -- "$at $word" $__sonde_takes; and set takes 1
        else if contains -- "$at $word" $__sonde_commands
            set at "$at $word"
        else if test "$at" = ' run'
            set at ' run program' # what follows is the program's
        end
    end
    test "$at" = "$wanted"
end

complete -c sonde -f
"""

OF_KINDS = {
    RECORDINGS: "-k -a '(__fish_complete_suffix .sonde)'",
    FILES: "-F",
    PIDS: "-a '(__fish_complete_pids)'",
    PROGRAM: "-F -a '(__fish_complete_command)'",
}


def script(root: Command) -> str:
    commands = list(root.all())
    taking = (
        f"{_at(c)} {name}"
        for c in commands
        for o in c.options
        if o.values is not None
        for name in o.names
    )
    lines = [
        _set("__sonde_commands", (_at(c) for c in commands[1:])),
        _set("__sonde_takes", taking),
        "complete -c sonde -n '__sonde_at \" run program\"' -F",
    ]
    for command in commands:
        lines += _command(command)
    return HEAD + "\n".join(lines) + "\n"


def _command(command: Command) -> Iterator[str]:
    here = f"complete -c sonde -n {_quoted(f'__sonde_at {_quoted(_at(command))}')}"
    for below in command.commands:
        yield f"{here} -a {_quoted(below.path[-1])} -d {_quoted(below.help)}"
    if command.arguments.words:
        yield f"{here} -a {_quoted(' '.join(command.arguments.words))}"
    for kind in command.arguments.kinds:
        yield f"{here} {OF_KINDS[kind]}"
    for option in command.options:
        yield f"{here} {_names(option)} {_values(option.values)}-d {_quoted(option.help)}"


def _names(option: Option) -> str:
    return " ".join(
        f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
    )


def _values(values: Values | None) -> str:
    if values is None:
        return ""
    if values.words and values.is_list:
        listed = _quoted(" ".join(("printf '%s\\n'", *values.words)))
        return f"-x -a {_quoted(f'(__fish_complete_list , {listed})')} "
    if values.words:
        return f"-x -a {_quoted(' '.join(values.words))} "
    if FILES in values.kinds:
        return "-r -F "
    return "-x " + "".join(f"{OF_KINDS[kind]} " for kind in values.kinds)


def _at(command: Command) -> str:
    return "".join(f" {name}" for name in command.path)


def _set(name: str, words: Iterable[str]) -> str:
    return f"set -g {name} {' '.join(map(_quoted, words))}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
