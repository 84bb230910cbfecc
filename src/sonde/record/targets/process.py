"""A running process as somebody who wants to attach sees it: what it is, and what is in the way."""

from __future__ import annotations

import os
import pwd
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonde.errors import SondeError

from ..system import native_libraries, permissions
from ..system.procfs import descendants, name_of, threads_of, words_of
from . import cpython as runtime
from . import hotspot, session_registry
from .cpython import Runtime
from .hotspot import Jvm

_STOPPED = "Tt"

RECORDED = "CPython 3.11 to 3.15 or a JVM 17 or newer"


class NotRecordable(SondeError):
    """There is nothing in this process that sonde could record."""


@dataclass(frozen=True)
class RunningProcess:
    pid: int
    runtime: Runtime | Jvm
    agent: Path
    argv: list[str]

    @property
    def program(self) -> str:
        """What to call a recording of it after."""
        return program_of(self.argv)

    def place(self) -> dict[str, Any]:
        """Where it can reach a socket of ours."""
        theirs, ours = f"/proc/{self.pid}/root", "/"
        uid, gid = owner_of(self.pid)
        place: dict[str, Any] = {}
        if not _same(f"{theirs}/", ours) or not _same(f"{theirs}/tmp", "/tmp"):
            place = {"root": theirs, "folder": "/tmp"}
        if uid != os.geteuid():
            place |= {"uid": uid, "gid": gid}
            place.setdefault("folder", tempfile.gettempdir())
        return place


def inspect_process(pid: int, *, recorded: bool = False) -> RunningProcess:
    """What process `pid` is; a SondeError says why it cannot be recorded.

    `recorded`: it may be recorded already.
    """
    if pid <= 0 or not os.path.exists(f"/proc/{pid}"):
        raise NotRecordable(f"no process {pid}")
    status = status_of(pid)
    state = status.get("State", "?")[:1]
    if status.get("Tgid", str(pid)) != str(pid):
        raise SondeError(f"{pid} is a thread; give its process, {status['Tgid']}")
    if state == "Z":
        raise NotRecordable(f"process {pid} has exited (zombie)")
    if pid == os.getpid():
        raise SondeError(
            "the PID is that of sonde itself; a program can record itself with sonde.record()"
        )
    try:
        with open(f"/proc/{pid}/mem", "rb"):
            pass
        # Of a JVM that runs Python inside, or the other way round, the one that started is meant.
        found: Runtime | Jvm | None = runtime.find(pid) or hotspot.find(pid)
        older = found is None and runtime.is_older(pid)
    except (FileNotFoundError, ProcessLookupError):
        raise NotRecordable(_nothing_in(pid)) from None
    except PermissionError:
        raise SondeError(_what_is_missing(pid, status)) from None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise SondeError(f"cannot read the memory of process {pid}: {why}") from None
    if found is None:
        raise NotRecordable(_not_ours(pid, older))
    agent = _agent_for(pid, found)
    if not recorded and (session := session_registry.find(pid)):
        raise SondeError(
            f"process {pid} is already being recorded, into {session.path or 'memory'}"
        )
    if state in _STOPPED:
        raise SondeError(f"process {pid} is stopped; continue it first (kill -CONT {pid})")
    return RunningProcess(pid, found, agent, words_of(pid))


def _agent_for(pid: int, found: Runtime | Jvm) -> Path:
    if isinstance(found, Jvm):
        if 0 < found.major < hotspot.OLDEST:
            raise SondeError(
                f"process {pid} runs Java {found.version}; sonde records {hotspot.OLDEST} and newer"
            )
        return native_libraries.hotspot_agent()
    if found.free_threaded:
        raise SondeError(
            f"process {pid} runs a free-threaded CPython {found.version}, "
            "which sonde cannot record yet"
        )
    return native_libraries.agent_for(found.version)


def tracer_of(pid: int) -> str | None:
    """Who traces the process already, by name."""
    tracer = status_of(pid).get("TracerPid", "0")
    if tracer == "0":
        return None
    return f"{status_of(int(tracer)).get('Name', 'a process')} (process {tracer})"


def has_agent(pid: int) -> bool:
    """Whether a thread of the process is an agent's own."""
    return any(name_of(pid, tid).startswith("sonde-") for tid in threads_of(pid))


def owner_of(pid: int) -> tuple[int, int]:
    """As whom it opens files. /proc itself belongs to root where a process has changed its user."""
    status = status_of(pid)
    try:
        return int(status["Uid"].split()[3]), int(status["Gid"].split()[3])
    except (KeyError, IndexError, ValueError):
        return os.geteuid(), os.getegid()


def status_of(pid: int) -> dict[str, str]:
    try:
        with open(f"/proc/{pid}/status", errors="replace") as f:
            return {key: value.strip() for key, _, value in (line.partition(":") for line in f)}
    except OSError:
        return {}


def _nothing_in(pid: int) -> str:
    if not os.path.exists(f"/proc/{pid}"):
        return f"no process {pid}"
    return f"process {pid} is a kernel thread, not {RECORDED}"


def _not_ours(pid: int, older: bool) -> str:
    if older:
        return f"process {pid} runs a CPython older than 3.11, the oldest that sonde records"
    try:
        what = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        what = "another program"
    said = f"process {pid} is not {RECORDED}: it runs {what}"
    inside = sorted(child for child in descendants(pid) if _can_be_recorded(child))
    if not inside:
        return said
    if len(inside) > 1:
        return f"{said}; record its {len(inside)} descendants that are with: --tree {pid}"
    child = inside[0]
    return f"{said}; attach to {child}, {program_of(words_of(child))}, which it started"


def _can_be_recorded(pid: int) -> bool:
    try:
        return (runtime.find(pid) or hotspot.find(pid)) is not None
    except (OSError, ValueError):  # exited meanwhile, or not ours to look into
        return False


def _what_is_missing(pid: int, status: dict[str, str]) -> str:
    uids = status.get("Uid", "").split()
    own = os.geteuid()
    if uids and any(uid != str(own) for uid in uids[:3]):
        return (
            f"process {pid} belongs to {_name_of(int(uids[0]))} and you are {_name_of(own)}; "
            f"run sonde as that user or as root (it needs {_missing_for_other_users()})"
        )
    scope = permissions.setting("yama/ptrace_scope") or 0
    advice = {
        1: "kernel.yama.ptrace_scope is 1: only a parent may attach; run sonde as root, give it "
        "CAP_SYS_PTRACE, or set kernel.yama.ptrace_scope=0",
        2: "kernel.yama.ptrace_scope is 2: attaching needs CAP_SYS_PTRACE; run sonde as root",
        3: "kernel.yama.ptrace_scope is 3: attaching is disabled; reboot "
        "with a lower kernel.yama.ptrace_scope",
    }
    if scope in advice:
        return f"not permitted to attach to process {pid}: {advice[scope]}"
    if permissions.has_capability(permissions.CAP_SYS_PTRACE):
        return (
            f"not permitted to attach to process {pid} despite CAP_SYS_PTRACE: it is in "
            "another user namespace, or a security policy protects it"
        )
    return (
        f"not permitted to attach to process {pid}: it has more privileges or is "
        "undumpable; run sonde as root (it needs CAP_SYS_PTRACE)"
    )


def _missing_for_other_users() -> str:
    """What root in a container may lack; whoever is not root has none of it."""
    needed = {
        "CAP_SYS_PTRACE": permissions.CAP_SYS_PTRACE,
        # /proc/PID/mem is for its owner only, and the socket is for the target's user.
        "CAP_DAC_OVERRIDE": permissions.CAP_DAC_OVERRIDE,
        "CAP_CHOWN": permissions.CAP_CHOWN,
    }
    missing = [name for name, number in needed.items() if not permissions.has_capability(number)]
    return " and ".join(missing) if missing and os.geteuid() == 0 else "CAP_SYS_PTRACE"


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def program_of(argv: list[str]) -> str:
    """The script or module of an interpreter's command line; else the command's own name.

    Code given on the command line or on stdin has no name: it is `inline` or `stdin`.
    """
    name = argv[0] if argv else "python"
    if "python" in os.path.basename(name):
        rest = iter(argv[1:])
        for word in rest:
            if word == "-m":
                name = next(rest, name)
            elif word in ("-X", "-W"):
                next(rest, None)
                continue
            elif word == "-":
                name = "stdin"
            elif word.startswith("-"):
                if word == "-c":
                    name = "inline"
                    break
                continue
            else:
                name = word
            break
    elif os.path.basename(name) == "java":
        name = _java_program(argv) or name
    base = os.path.basename(name.rstrip("/")).removesuffix(".py").removesuffix(".jar")
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in base) or "python"


_JAVA_WITH_VALUE = ("-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules")


def _java_program(argv: list[str]) -> str | None:
    """The main class or the jar of a Java command line."""
    rest = iter(argv[1:])
    for word in rest:
        if word in ("-jar", "-m", "--module"):
            return next(rest, None)
        if word in _JAVA_WITH_VALUE:
            next(rest, None)
        elif not word.startswith(("-", "@")):
            return word.rpartition(".")[2]
    return None
