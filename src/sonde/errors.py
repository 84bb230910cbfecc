"""What went wrong, said in one sentence to the person at the terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterable


class SondeError(Exception):
    """A failure the user can understand; the command line prints it and exits with `code`."""

    code = 1


class CommandError(SondeError):
    """The command to run was not found (127) or cannot be executed (126), as shells have it."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class UsageError(SondeError):
    """The call itself was wrong."""

    code = 2


def invalid(what: str, word: str, valid: Iterable[str], kind: str) -> str:
    """The sentence about a word that is none of those it must be one of."""
    words = list(valid)
    return f"invalid {what} {word!r}{did_you_mean(word, words)}; valid {kind}: {', '.join(words)}"


def did_you_mean(word: str, valid: Collection[str]) -> str:
    """What to add behind a wrong word: the valid one that it resembles, if there is one."""
    from difflib import get_close_matches

    # Letters in a wrong order are the most frequent mistake, and weigh much in a short word.
    close = [right for right in valid if sorted(right) == sorted(word)]
    close = close or get_close_matches(word, valid, n=1)
    return f" (did you mean {close[0]}?)" if close else ""
