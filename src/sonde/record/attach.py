"""Recording processes that already run: agents are put into them, and taken out at the end."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sonde.errors import SondeError

from .recorder.options.options import Options, with_shared_memory
from .recorder_process import RecorderHandle, RecorderKilledError
from .system.procfs import is_alive
from .targets import ptrace_inject
from .targets.discovery import Discovery
from .targets.entry import Entry
from .targets.hotspot import Jvm
from .targets.process import RunningProcess, has_agent, inspect_process

REMOTE_S = 10.0
# How long the agents of a recorder that was killed have to leave.
LEAVE_S = 5.0
MAX_RESTARTS = 100
# Segment numbers that one recorder may use: the next recorder begins behind them.
PARTS_A_RECORDER = 1 << 32
# Processes entered at the same time: each costs this machine a core for some milliseconds.
AT_ONCE = 4
# A process that no longer has our agent has executed something else, and has had its time to
# become a Python again.
EXECUTES_S = 1.5

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Whatever would end us waits while a target is in the middle of a call that we made it do.
_HELD = {
    signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGPIPE,
    signal.SIGVTALRM, signal.SIGPROF, signal.SIGXCPU, signal.SIGIO, signal.SIGPWR,
}  # fmt: skip


class Attach:
    """A session of running processes, from entering the first to leaving the last.

    Without `discovery` it is that of one process and what it starts.
    """

    def __init__(
        self,
        first: RunningProcess | list[RunningProcess],
        options: Options,
        discovery: Discovery | None = None,
    ) -> None:
        chosen = [first] if isinstance(first, RunningProcess) else first
        self._root = None if discovery is not None else chosen[0].pid
        self._options = options = with_shared_memory(options)
        self._restarts = 0
        self._say: Callable[[str], None] = lambda _: None
        if discovery is None and options.sampler != "remote":
            discovery = Discovery([chosen[0].pid], children=options.children)
        self._discovery = discovery
        self._next_look = 0.0
        self._entries: dict[int, Entry] = {}
        self._inside: set[int] = set()
        self._left_at: float | None = None
        self._ending = self._root_exited = self._closed = False
        self._done: dict[str, Any] | None = None
        self.refused: dict[int, str] = {}
        """Processes that belong to the session and could not be entered, and why."""
        self._refused_told: dict[int, str] = {}
        self._ever_inside: set[int] = set()
        self._rotates = False
        self.entered_by = ""
        self.injection: ptrace_inject.Injection | None = None
        self._woken, self._wake = socket.socketpair()
        self._before = {number: signal.getsignal(number) for number in _ENDS}
        for number in _ENDS:
            signal.signal(number, self._on_signal)
        self._recorder = RecorderHandle(options)
        self._paths: dict[str, str | None] = {_key(options.place): self._recorder.socket_path}
        self._waiting: list[RunningProcess] = []
        if discovery is not None:
            discovery.leave(self._recorder.pid)
        try:
            self._recorder.send("root", pid=self._root or 0)
            self._begin_with(chosen)
        except BaseException:
            self._give_up()
            raise

    @property
    def recorder_pid(self) -> int:
        """Of the recorder at work; another one takes its place if it is killed."""
        return self._recorder.pid

    def wait(
        self, seconds: float | None, send: Callable[[str], None] = lambda _: None
    ) -> dict[str, Any]:
        """Until the time is over, somebody ends it, or nobody is left: what was recorded.

        `send` gets what goes wrong, or right again, meanwhile.
        """
        self._say = send
        end = None if seconds is None else time.monotonic() + seconds
        killed: RecorderKilledError | None = None
        try:
            while True:
                try:
                    if killed is not None:
                        self._go_on(killed)
                    return self._add_session_facts(self._until(end))
                except RecorderKilledError as error:
                    killed = error
        finally:
            self._close()

    def _until(self, end: float | None) -> dict[str, Any]:
        while self._done is None:
            if self._ending or (end is not None and time.monotonic() >= end):
                return self._stop("stopped")
            if note := self._why_over():
                return self._stop(note)
            self._handle_next(end)
        return self._done

    def _add_session_facts(self, done: dict[str, Any]) -> dict[str, Any]:
        """With what only we know if there was more than one recorder."""
        done["done"]["recorder_restarts"] = self._restarts
        if self._restarts:
            done["processes"] = max(done["processes"], len(self._ever_inside))
        return done

    # ---- a recorder that was killed

    def _go_on(self, error: RecorderKilledError) -> None:
        """Another one takes its place; the session goes on in another segment."""
        self._end_entries()
        inside = {pid for pid in self._inside if is_alive(pid)}
        if self._restarts >= MAX_RESTARTS or self._ending or not self._has_targets(inside):
            raise SondeError(str(error))
        self._restarts += 1
        self._say(f"{error}; another recorder continues")
        self._wait_for_agents_to_leave(inside)
        session = {"id": self._recorder.session, "part": self._restarts * PARTS_A_RECORDER + 1}
        # Of many, the one whose file system it was found in may have ended; others have a place.
        place = None if self._root is None else self._options.place
        self._options = replace(self._options, session=session, place=place)
        self._recorder = RecorderHandle(self._options)
        self._paths = {_key(self._options.place): self._recorder.socket_path}
        self._inside.clear()
        self._waiting.clear()
        self._left_at = None
        self._refused_told = {}
        self._recorder.send("root", pid=self._root or 0)
        self._enter_again(inside)

    def _has_targets(self, inside: set[int]) -> bool:
        if self._root is not None:
            return is_alive(self._root)
        return bool(inside) or (self._discovery is not None and not self._discovery.is_over)

    def _wait_for_agents_to_leave(self, pids: set[int]) -> None:
        """They do when their connection ends, and only then others come in."""
        until = time.monotonic() + LEAVE_S
        while any(map(has_agent, pids)) and time.monotonic() < until:
            time.sleep(0.005)

    def _enter_again(self, pids: set[int]) -> None:
        """Those that were recorded; whoever was being entered, or is new, is found by looking."""
        if self._discovery is not None:
            self._discovery.leave(self._recorder.pid)
            for pid in pids:
                self._discovery.again(pid)
        if self._root is None:
            return  # there is no one without whom it makes no sense
        try:
            self._begin_with([inspect_process(self._root)])
        except RecorderKilledError:
            raise
        except SondeError:
            if is_alive(self._root):
                self._give_up()
                raise
            self._root_exited = True

    # ---- for those who do something else meanwhile

    @property
    def asked_to_end(self) -> bool:
        """Whether a signal came that ends recordings."""
        return self._ending and not self._closed

    def over(self) -> dict[str, Any] | None:
        """To be called now and then: what was recorded if nobody is left, None if it goes on."""
        if self._closed:
            return None
        try:
            self._handle_next(time.monotonic())
            if self._done is None and (note := self._why_over()):
                self._done = self._stop(note)
        except BaseException:
            self._close()
            raise
        if self._done is not None:
            self._close()
        return self._done

    def stop(self) -> dict[str, Any]:
        """Leaves the target; nothing if it has been left already."""
        if self._closed:
            return {}
        try:
            return self._stop("stopped")
        finally:
            self._close()

    # ---- the first

    def _begin_with(self, chosen: list[RunningProcess]) -> None:
        if self._options.sampler == "remote" and not isinstance(chosen[0].runtime, Jvm):
            self._read_from_outside(chosen[0].pid, "--sampler remote was given")
            self._recorder.send("entered", facts={"by": "nothing"})
            return
        self._waiting = list(chosen)
        self._enter_waiting()
        while (self._entries or self._waiting) and not self._inside and not self._ending:
            self._handle_next(None, look=False)
            if self._done is not None:
                raise SondeError(f"process {chosen[0].pid} exited before it could be recorded")
        if self._root is not None:
            self._is_entered(chosen[0])
        elif not self._inside and not self._ending:
            raise SondeError(next(iter(self.refused.values()), "could not attach to any process"))

    def _is_entered(self, process: RunningProcess) -> None:
        """The one process of a session: read from outside if no agent could enter it."""
        while process.pid in self._entries and not self._ending and self._done is None:
            self._handle_next(None, look=False)
        why_not = self.refused.pop(process.pid, None)
        if why_not is None and not self._inside and not self._ending:
            raise SondeError(f"process {process.pid} exited before sonde could attach to it")
        if why_not is not None and not self._ending:
            if isinstance(process.runtime, Jvm):
                raise SondeError(f"process {process.pid} cannot be recorded: {why_not}")
            self._read_from_outside(process.pid, why_not)

    def _read_from_outside(self, pid: int, why: str) -> None:
        self.entered_by = "nothing"
        self._recorder.send("running", why=why)
        end = time.monotonic() + REMOTE_S
        detail = "it has no supported interpreter"
        while pid not in self._inside and time.monotonic() < end and not self._ending:
            either = [self._recorder.fileno(), self._woken.fileno()]
            if not select.select(either, [], [], REMOTE_S)[0]:
                break
            words = self._read_message()
            if "refused" in words:
                detail = words["refused"]
                break
            if "exited" in words or self._done is not None:
                detail = "it exited"
                break
        if pid not in self._inside and not self._ending:
            raise SondeError(f"process {pid} cannot be recorded: {why}; {detail}")

    # ---- the loop

    def _handle_next(self, end: float | None, look: bool = True) -> None:
        """Waits for whatever comes first, and does what is to be done about it."""
        now = time.monotonic()
        until = [end] if end is not None else []
        if look and self._discovery is not None:
            until.append(self._next_look)
        if self._left_at is not None:
            until.append(self._left_at + EXECUTES_S)
        left = max(min(until) - now, 0) if until else None
        woken, said = self._woken.fileno(), self._recorder.fileno()
        ready, _, _ = select.select([woken, said], [], [], left)
        if woken in ready:
            self._woken.recv(4096)
        if self._rotates:
            self._rotates = False
            self._recorder.send("rotate_soon")
        if said in ready:
            self._read_message()
        self._close_entries()
        if look and self._discovery is not None and time.monotonic() >= self._next_look:
            self._look(self._discovery)
        self._enter_waiting()

    def _read_message(self) -> dict[str, Any]:
        """One thing the recorder said."""
        if not select.select([self._recorder.fileno()], [], [], 0)[0]:
            return {}
        words = self._recorder.hear()
        pid = words.get("pid") or next(
            (words[k] for k in ("steered", "admitted", "exited", "left") if k in words), 0
        )
        if "done" in words:
            self._done = words
        elif "dumped" in words:
            self._say(f"{words['why']}: wrote {words['dumped']}")
        elif "trouble" in words:
            self._say(words["trouble"])
        elif "listens" in words:
            self._paths[_key(words["place"])] = words["listens"]
        elif "admitted" in words:
            self._inside.add(pid)
            self._ever_inside.add(pid)
            self._left_at = None
            if self._discovery is not None:
                self._discovery.entered(pid)
        elif "exited" in words or "left" in words:
            self._inside.discard(pid)
            self._root_exited |= "exited" in words and pid == self._root
            if self._discovery is not None:
                (self._discovery.again if "left" in words else self._discovery.exited)(pid)
            if not self._inside and self._root is not None:
                self._left_at = time.monotonic()
        if pid in self._entries:
            self._entries[pid].hear_recorder(words)
        return words

    def _look(self, discovery: Discovery) -> None:
        busy = self._inside | self._entries.keys() | {p.pid for p in self._waiting}
        self._waiting += discovery.look(busy)
        self._next_look = time.monotonic() + discovery.wait
        self._report_refused(self.refused | discovery.refused())

    def _why_over(self) -> str | None:
        """Whether nobody is left to be recorded, and what to call that."""
        if self._root_exited:
            return "target exited"
        if self._inside or self._entries or self._waiting:
            return None
        if self._root is not None:
            gone = self._left_at is not None and time.monotonic() >= self._left_at + EXECUTES_S
            return "the target replaced its program" if gone else None
        if self._discovery is not None and self._discovery.is_over:
            return "target exited"
        return None

    # ---- entering

    def _enter_waiting(self) -> None:
        for process in list(self._waiting):
            if len(self._entries) >= AT_ONCE:
                return
            # One that has exited seems to live elsewhere.
            path = self._path_for(process) if is_alive(process.pid) else ""
            if path is None:
                continue  # the recorder has not said yet where it listens for it
            self._waiting.remove(process)
            if not path or process.pid in self._inside or process.pid in self._entries:
                continue
            signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
            self._entries[process.pid] = Entry(process, path, self._wake_up)

    def _path_for(self, process: RunningProcess) -> str | None:
        """Where a process finds the recorder; one of another user or in a container, elsewhere."""
        place = process.place() or None
        key = _key(place)
        if key not in self._paths:
            self._paths[key] = None
            self._recorder.send("listen", place=place)
        return self._paths[key]

    def _close_entries(self) -> None:
        for pid, entry in list(self._entries.items()):
            if not entry.over:
                continue
            del self._entries[pid]
            if not self.entered_by or pid == self._root:
                self.entered_by, self.injection = entry.by, entry.injection
                self._recorder.send("entered", facts=entry.facts())
            if entry.why_not is None or pid in self._inside:
                self.refused.pop(pid, None)
            elif not entry.already or pid == self._root:
                self._note(pid, entry)
        if not self._entries:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)

    def _note(self, pid: int, entry: Entry) -> None:
        if pid == self._root and not self._ever_inside and (entry.gone or entry.already):
            why = entry.why_not if entry.gone else f"process {pid} is already being recorded"
            raise SondeError(str(why))
        if entry.gone and pid in self._ever_inside:
            return  # a program that it executed was over before it could be entered
        self.refused[pid] = str(entry.why_not)
        if self._discovery is not None:
            self._discovery.give_up(pid)
        self._report_refused(self.refused)

    def _report_refused(self, refused: dict[int, str]) -> None:
        if refused == self._refused_told or not self._inside:
            return  # without anybody inside, the session fails for that reason
        self._refused_told = dict(refused)
        self._recorder.send("not_entered", reasons={str(pid): why for pid, why in refused.items()})

    # ---- ending

    def _on_signal(self, number: int, _: object) -> None:
        if number == signal.SIGHUP and self._options.mode.name == "continuous":
            self._rotates = True
        else:
            self._ending = True
        self._wake_up()

    def _wake_up(self) -> None:
        with contextlib.suppress(OSError):
            self._wake.send(b"\0")

    def _stop(self, note: str) -> dict[str, Any]:
        self._end_entries()
        self._recorder.send("stop", note=note)
        return self._recorder.finished()

    def _end_entries(self) -> None:
        for entry in self._entries.values():
            entry.end()
        self._entries.clear()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)

    def _give_up(self) -> None:
        self._end_entries()
        with contextlib.suppress(SondeError, OSError):
            self._recorder.send("stop", note="stopped")
            self._recorder.finished()
        self._restore_signals()

    def _close(self) -> None:
        self._end_entries()
        self._restore_signals()

    def _restore_signals(self) -> None:
        self._closed = True
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._wake.close()
        self._woken.close()
        for file in self._options.memory or ():
            os.close(file)
        self._options = replace(self._options, memory=None)


def _key(place: dict[str, Any] | None) -> str:
    return json.dumps(place or None, sort_keys=True)
