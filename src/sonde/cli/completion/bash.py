"""Completion for bash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.cli.completion.cases import added, filled

if TYPE_CHECKING:
    from sonde.cli.completion.words import Command

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
    return filled(SCRIPT, root, lambda described: added("words", (word for word, _ in described)))
