"""Completion for zsh."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from sonde.cli.completion.cases import filled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sonde.cli.completion.words import Command

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
    return filled(SCRIPT, root, _found)


def _found(described: Iterable[tuple[str, str]]) -> str:
    """A colon divides word and description."""
    entries = (f"{word}:{help_}" for word, help_ in described)
    return f"found=({shlex.join(entries)})"
