"""Completion for zsh."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sonde.cli.completion.words import Command, Values

SCRIPT = """\
#compdef sonde
# Completion of sonde for zsh. Load it with: source <(sonde completion zsh)
# Or save it as _sonde in a folder of $fpath.

_sonde_add() {  # KIND [WORD...]: what may stand here
    local kind=$1
    shift
    case $kind in
        words) compadd -- "$@" ;;
        list) compset -P '*,'; compadd -- "$@" ;;
        recordings) _files -g '*.sonde(-.)' ;;
        files) _files ;;
        pids) _pids ;;
        program) _files; _command_names -e ;;
    esac
}

_sonde_is_command() {
    case $1 in
        @COMMANDS@) return 0 ;;
    esac
    return 1
}

_sonde_takes_value() {
    case $1 in
        @TAKES@) return 0 ;;
    esac
    return 1
}

_sonde_value() {
    case $1 in
@VALUES@
    esac
}

_sonde_options() {
    local -a found
    case $1 in
@OPTIONS@
    esac
    _describe -o option found
}

_sonde_arguments() {
    local -a found
    case $1 in
@ARGUMENTS@
    esac
    (( $#found )) && _describe command found
}

_sonde() {
    local at= option= word
    for word in "${(@)words[2,CURRENT-1]}"; do
        if [[ -n $option ]]; then
            option=
        elif [[ $word == -?* ]]; then
            _sonde_takes_value "$at $word" && option=$word
        elif _sonde_is_command "$at $word"; then
            at="$at $word"
        elif [[ $at == ' run' ]]; then  # what follows is the program's
            _files
            return
        fi
    done
    if [[ -n $option ]]; then
        _sonde_value "$at $option"
    elif [[ ${words[CURRENT]} == -* ]]; then
        _sonde_options "$at"
    else
        _sonde_arguments "$at"
    fi
}

if [[ ${funcstack[1]} == _sonde ]]; then
    _sonde "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
    compdef _sonde sonde
fi
"""


def script(root: Command) -> str:
    commands = list(root.all())
    takes = [(c, o) for c in commands for o in c.options if o.values is not None]
    parts = {
        "COMMANDS": _either(_at(c.path) for c in commands[1:]),
        "TAKES": _either(f"{_at(c.path)} {name}" for c, o in takes for name in o.names),
        "VALUES": _cases(
            (_either(f"{_at(c.path)} {name}" for name in o.names), _adds(o.values))
            for c, o in takes
            if o.values is not None and (o.values.kinds or o.values.words)
        ),
        "OPTIONS": _cases(
            (
                shlex.quote(_at(c.path)),
                [_found((name, o.help) for o in c.options for name in o.names)],
            )
            for c in commands
        ),
        "ARGUMENTS": _cases(
            (
                shlex.quote(_at(c.path)),
                [
                    *([_found((b.path[-1], b.help) for b in c.commands)] if c.commands else []),
                    *_adds(c.arguments),
                ],
            )
            for c in commands
        ),
    }
    text = SCRIPT
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return text


def _at(path: tuple[str, ...]) -> str:
    return "".join(f" {name}" for name in path)


def _either(words: Iterable[str]) -> str:
    return "|".join(map(shlex.quote, words))


def _cases(cases: Iterable[tuple[str, list[str]]]) -> str:
    return "\n".join(f"        {when}) {'; '.join(then) or ':'} ;;" for when, then in cases)


def _found(described: Iterable[tuple[str, str]]) -> str:
    """Words with a description, which a colon divides."""
    entries = (f"{word}:{help_}" for word, help_ in described)
    return f"found=({shlex.join(entries)})"


def _adds(values: Values | None) -> list[str]:
    if values is None:
        return []
    found = []
    if values.words:
        kind = "list" if values.is_list else "words"
        found.append(shlex.join(["_sonde_add", kind, *values.words]))
    return found + [f"_sonde_add {kind}" for kind in values.kinds]
