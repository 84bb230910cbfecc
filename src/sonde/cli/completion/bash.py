"""Completion for bash."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sonde.cli.completion.words import Command, Values

SCRIPT = """\
# Completion of sonde for bash. Load it with: source <(sonde completion bash)

_sonde_add() {  # KIND [WORD...]: what may stand here
    local kind=$1 before= rest=$cur word
    shift
    case $kind in
        words) ;;
        list) [[ $cur == *,* ]] && before=${cur%,*}, rest=${cur##*,} ;;
        recordings)
            compopt -o filenames 2>/dev/null
            while IFS= read -r word; do COMPREPLY+=("$word"); done \\
                < <(compgen -f -X '!*.sonde' -- "$cur"; compgen -d -- "$cur")
            return ;;
        files) compopt -o default 2>/dev/null; return ;;
        pids)
            set --
            for word in /proc/[0-9]*; do [[ -O $word ]] && set -- "$@" "${word#/proc/}"; done ;;
        program)
            compopt -o default 2>/dev/null
            while IFS= read -r word; do COMPREPLY+=("$word"); done \\
                < <(compgen -f -X '!*.py' -- "$cur"; [[ $cur ]] && compgen -c -- "$cur")
            return ;;
    esac
    for word in "$@"; do [[ $word == "$rest"* ]] && COMPREPLY+=("$before$word"); done
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
    case $1 in
@OPTIONS@
    esac
}

_sonde_arguments() {
    case $1 in
@ARGUMENTS@
    esac
}

_sonde() {
    local cur=${COMP_WORDS[COMP_CWORD]} at= option= word i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $option ]]; then
            option=
        elif [[ $word == -?* ]]; then
            _sonde_takes_value "$at $word" && option=$word
        elif _sonde_is_command "$at $word"; then
            at="$at $word"
        elif [[ $at == ' run' ]]; then  # what follows is the program's
            compopt -o default 2>/dev/null
            return
        fi
    done
    if [[ $option ]]; then
        _sonde_value "$at $option"
    elif [[ $cur == -* ]]; then
        _sonde_options "$at"
    else
        _sonde_arguments "$at"
    fi
}

complete -F _sonde sonde
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
            (shlex.quote(_at(c.path)), [_add("words", [n for o in c.options for n in o.names])])
            for c in commands
        ),
        "ARGUMENTS": _cases(
            (
                shlex.quote(_at(c.path)),
                [
                    *([_add("words", [b.path[-1] for b in c.commands])] if c.commands else []),
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


def _adds(values: Values | None) -> list[str]:
    if values is None:
        return []
    found = [_add("list" if values.is_list else "words", values.words)] if values.words else []
    return found + [_add(kind, ()) for kind in values.kinds]


def _add(kind: str, words: Iterable[str]) -> str:
    return shlex.join(["_sonde_add", kind, *words])
