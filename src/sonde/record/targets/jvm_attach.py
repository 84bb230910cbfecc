"""A JVM's own attach protocol, which jcmd uses, too; no JDK is needed for it.

A file named after the process and SIGQUIT make the JVM listen at a socket; there it is ordered to
carry out a command. Most often that is to load the agent, with our word as its options.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from . import ptrace_inject
from .hotspot import Jvm, is_up
from .process import owner_of, status_of

# How long a JVM may take to listen, and then to answer.
LISTEN_S = 5.0
ANSWER_S = 10.0

# From 24 on there is a second form of requests, without limits on their length.
_ASKED_FOR_VERSION = 24
_MAX_FIRST_LENGTH = 1024
# From 21 on the JVM warns on its stderr of agents loaded so, unless an option allows them.
_WARNS_FROM = 21
_WELCOME = "-XX:+EnableDynamicAgentLoading"
_UNWELCOME = "-XX:-EnableDynamicAgentLoading"
_DISABLED = "-XX:+DisableAttachMechanism"


class RefusedError(Exception):
    """The JVM was not entered, and why."""


def why_not(jvm: Jvm) -> str | None:
    """Why this JVM must not be asked: it would refuse, or answer SIGQUIT by a thread dump."""
    if _DISABLED in jvm.options:
        return f"it was started with {_DISABLED}"
    if "-Xrs" in jvm.options:
        return "it was started with -Xrs"
    if _UNWELCOME in jvm.options:
        return f"it was started with {_UNWELCOME}"
    return None


def is_silent(jvm: Jvm) -> bool:
    """Whether the program's output stays as it is."""
    return 0 < jvm.major < _WARNS_FROM or _WELCOME in jvm.options


def load(pid: int, jvm: Jvm, library: Path, options: str) -> None:
    """Has process `pid` load `library`; RefusedError says why it did not."""
    with _seen_by(pid, library) as path:
        status, text = command(pid, jvm, "load", path, "true", options)
    # The library's own answer comes after the protocol's.
    code = text.strip().removeprefix("return code: ") if text.startswith("return code") else ""
    if status != "0" or code not in ("", "0"):
        raise RefusedError(f"it did not load the agent: {text.strip() or status}")


def command(pid: int, jvm: Jvm, *words: str, timeout: float | None = ANSWER_S) -> tuple[str, str]:
    """Has the JVM of process `pid` carry out a command: its status, "0" if all is well, and text.

    RefusedError says why there is no answer. `timeout` None: however long it takes.
    """
    if reason := why_not(jvm):
        raise RefusedError(reason)
    if not is_up(pid):
        raise RefusedError("its JVM has not started yet")
    try:
        _listening(pid)
        if jvm.major >= _ASKED_FOR_VERSION and _speaks_second(pid):
            answer = _ask(pid, _second(*words), timeout)
        elif max(len(os.fsencode(word)) for word in words) > _MAX_FIRST_LENGTH:
            raise RefusedError("a path is too long for its attach protocol")
        else:
            answer = _ask(pid, _first(*words), timeout)
    except OSError as error:
        raise RefusedError(
            f"its attach protocol failed: {(error.strerror or str(error)).lower()}"
        ) from None
    status, _, text = answer.partition("\n")
    return status.strip(), text


# ---- messages


def _first(*words: str) -> bytes:
    """The command and always three arguments."""
    return b"1\0" + b"".join(os.fsencode(word) + b"\0" for word in (*words, "", "", "")[:4])


def _second(*words: str) -> bytes:
    """Its length, the command and its arguments."""
    body = b"".join(os.fsencode(word) + b"\0" for word in words)
    return b"2\0" + str(len(body)).encode() + b"\0" + body


def _speaks_second(pid: int) -> bool:
    status, _, text = _ask(pid, _first("getversion", "options")).partition("\n")
    return status.strip() == "0" and text.split()[:1] == ["2"]


def _ask(pid: int, message: bytes, timeout: float | None = ANSWER_S) -> str:
    """One question a connection; the answer's first line is a number, 0 if all is well."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as talk:
        talk.settimeout(ANSWER_S)
        talk.connect(_socket_of(pid))
        talk.sendall(message)
        talk.settimeout(timeout)
        answer = b""
        while part := talk.recv(4096):
            answer += part
    return answer.decode(errors="replace")


# ---- the JVM listens


def _inner(pid: int) -> str:
    """Its number as it knows itself."""
    return status_of(pid).get("NSpid", str(pid)).split()[-1]


def _folder(pid: int) -> str:
    """Where it looks: /tmp, whatever java.io.tmpdir says."""
    return f"/proc/{pid}/root/tmp"


def _socket_of(pid: int) -> str:
    return f"{_folder(pid)}/.java_pid{_inner(pid)}"


def _listening(pid: int) -> None:
    if os.path.exists(_socket_of(pid)):
        return
    wish = f"{_folder(pid)}/.attach_pid{_inner(pid)}"
    try:
        # It believes a file of its own user only.
        os.close(os.open(wish, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        uid, gid = owner_of(pid)
        if uid != os.geteuid():
            os.chown(wish, uid, gid)
    except FileExistsError:
        pass  # somebody else attaches just now
    try:
        os.kill(pid, signal.SIGQUIT)
        until = time.monotonic() + LISTEN_S
        while not os.path.exists(_socket_of(pid)):
            if time.monotonic() > until:
                raise RefusedError(f"its JVM did not respond for {LISTEN_S:.0f} s")
            if not is_up(pid):
                raise RefusedError("it exited")
            time.sleep(0.01)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(wish)


@contextlib.contextmanager
def _seen_by(pid: int, library: Path) -> Iterator[str]:
    """The library under a name that the process finds; a copy is removed afterwards."""
    if ptrace_inject.sees(pid, library):
        yield str(library)
        return
    name = f"/tmp/.sonde-{os.getpid()}-{library.name}"
    copy = f"/proc/{pid}/root{name}"
    try:
        shutil.copyfile(library, copy)
        os.chmod(copy, 0o644)
        yield name
    except OSError as error:
        raise RefusedError(
            f"cannot copy the agent to where the process can read it: {error.strerror}"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(copy)
