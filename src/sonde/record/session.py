"""Recording this very process: `with sonde.record("out.sonde") as session: ...`."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from sonde import _inside
from sonde.errors import SondeError, UsageError
from sonde.model.trees.partial_tree import DEFAULT_MEMORY
from sonde.units import parse_share, parse_size

from . import own_heap
from .launch import program_name
from .recorder.options.flow_options import check_flow
from .recorder.options.lock_options import check_lock_sampling
from .recorder.options.modes import parse_mode
from .recorder.options.options import (
    DEFAULT_RATE,
    DEFAULT_WHAT,
    Options,
    check_calls,
    check_rate,
    parse_what,
)
from .recorder.options.probe_text import parse_probe
from .recorder_process import RecorderHandle
from .shm import layout as shm
from .system import native_libraries
from .tables.stacks.live_profile import check_memory
from .tables.stacks.profile_result import Hot, HotEdge, Profile, profile_of

_OF_PARENT = "this session belongs to the parent process; start one in this process"


@functools.cache
def _load_agent() -> ctypes.PyDLL:
    """The agent for this interpreter; loaded once, it stays."""
    if sys.implementation.name != "cpython":
        raise SondeError(f"sonde records CPython, and this is {sys.implementation.name}")
    if "free-threading" in sys.version:
        raise SondeError("this is a free-threaded build, which sonde cannot record yet")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    # PyDLL: the agent's entry points want the GIL held.
    agent = ctypes.PyDLL(str(native_libraries.agent_for(version)))
    agent.sonde_agent_start.argtypes = [ctypes.c_char_p, ctypes.c_uint32]
    agent.sonde_agent_start.restype = ctypes.c_int
    agent.sonde_agent_stop.restype = None
    agent.sonde_agent_audit()
    return agent


class Session:
    """A recording of the process it is made in, from start to stop.

    A context manager; `start` and `stop` may also be called by hand. Sessions may follow one
    another, each with a file of its own; two at a time are refused.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        what: str | Iterable[str] = DEFAULT_WHAT,
        rate: int = DEFAULT_RATE,
        children: bool = True,
        sampler: str = "auto",
        mode: str = "normal",
        budget: str | None = None,
        online: bool | str | int | None = None,
        stride: int | None = None,
        samples: int | None = None,
        ticks: int | None = None,
        probes: Iterable[str] = (),
        flow_in: str | None = None,
        flow_metric: str | None = None,
        flow_c: bool = False,
        flow_events: bool = False,
        lock_activity_every: int | None = None,
        **mode_options: Any,
    ) -> None:
        kinds = parse_what(what)
        parsed = [parse_probe(text, option="probe") for text in probes]
        if parsed and "probes" not in kinds:
            kinds.append("probes")
        checked, calls = check_calls(kinds, check_rate(rate), stride, samples, ticks)
        argv = list(sys.orig_argv)
        program = program_name([sys.argv[0] or Path(sys.executable).name])
        self._options = Options(
            path=os.fspath(path) if path else f"sonde-{program}-{os.getpid()}.sonde",
            program=program,
            argv=argv,
            pid=os.getpid(),
            what=kinds,
            rate=checked,
            calls=calls,
            flow=check_flow(kinds, flow_in, flow_metric, native=flow_c, events=flow_events),
            lock_sampling=check_lock_sampling(kinds, lock_activity_every),
            sampler=sampler,
            children=children,
            mode=parse_mode(mode, **mode_options),
            budget=None if budget is None else parse_share("budget", budget),
            online=_online(online),
            probes=parsed,
        )
        self._recorder: RecorderHandle | None = None
        self._talk = threading.Lock()
        """An answer is for who asked."""
        self._over = threading.Event()
        self._watchers: list[threading.Thread] = []
        self.quality: dict[str, Any] = {}

    @property
    def path(self) -> str:
        return os.path.abspath(self._options.path)

    def __enter__(self) -> Session:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        if self._recorder is not None:
            raise SondeError("this session has already been started")
        agent = _load_agent()
        if agent.sonde_agent_active():
            raise SondeError("this process is already being recorded")
        recorder = RecorderHandle(self._options)
        code = agent.sonde_agent_start(os.fsencode(recorder.socket_path), shm.REASON_API)
        if code:
            recorder.send("stop", note="stopped")
            recorder.finished()
            raise SondeError(f"the agent could not start: {os.strerror(code).lower()}")
        self._recorder = recorder
        self._over.clear()
        self._tell_names()
        _inside.look()  # it may have been imported before there was an agent

    def stop(self) -> None:
        """Ends the recording and closes its file; further calls do nothing."""
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        if os.getpid() != self._options.pid:
            return  # a forked child: the session is its parent's
        self._over.set()
        for watcher in self._watchers:
            if watcher is not threading.current_thread():
                watcher.join()
        self._watchers.clear()
        agent = _load_agent()
        try:
            self._tell_names(recorder)
            recorder.ask("disarm", pid=os.getpid())
        finally:
            agent.sonde_agent_stop()
        recorder.send("stop", note="stopped")
        self.quality = recorder.finished()["done"]

    def mark(self, text: str) -> None:
        """Notes a moment, to be found again in every view that shows time."""
        self._running().send("mark", text=text, at=time.monotonic_ns())

    def pause(self) -> None:
        """No samples until `resume`; costs nothing meanwhile."""
        self._ask("pause")

    def resume(self) -> None:
        self._ask("resume")

    def status(self) -> dict[str, Any]:
        """What `sonde ctl PID status` shows: the path being written, its size, and more."""
        answer = self._ask("status")
        if answer is None:
            raise SondeError("this session has ended")
        return answer

    def flush(self) -> None:
        """Waits until everything recorded so far is in the file, which can then be read."""
        self._ask("flush")

    def rotate(self) -> str:
        """Begins the next segment of a continuous recording, and returns the path of that."""
        if self._options.mode.name != "continuous":
            raise SondeError("only a session in mode continuous has segments to rotate")
        answer = self._ask("rotate")
        if answer is None:
            raise SondeError("this session has ended")
        begun: str = answer["path"]
        return begun

    def dump(self, path: str | os.PathLike[str] | None = None) -> str:
        """Writes the last seconds of a session in mode wrap into a file, and returns which."""
        asked = None if path is None else os.path.abspath(path)
        answer = self._ask("dump", path=asked)
        if answer is None:
            raise SondeError("this session has ended")
        written: str = answer["path"]
        return written

    def heap(self, path: str | os.PathLike[str] | None = None) -> str:
        """Writes a snapshot of all objects of this process into a file, and returns which."""
        if os.getpid() != self._options.pid:
            raise SondeError(_OF_PARENT)
        self._running()
        stem = f"sonde-{self._options.program}-{self._options.pid}-heap"
        return own_heap.take(_load_agent(), path or own_heap.new_name(stem))

    # ---- probes

    def probe(self, text: str, *, every: int | None = None) -> int:
        """Records a value each time a line is reached: "orders.py:120 len(batch)".

        The session needs `what="...,probes"`. Returns the probe's number.
        """
        answer = self._probe("add", probe=parse_probe(text, every, "probe").to_config())
        number: int = answer["number"]
        return number

    def remove_probe(self, number: int) -> None:
        self._probe("remove", number=number)

    def probes(self) -> list[dict[str, Any]]:
        """The probes there are, and how often their lines were reached."""
        rows: list[dict[str, Any]] = self._probe("list")["probes"]
        return rows

    def _probe(self, verb: str, **arguments: Any) -> dict[str, Any]:
        answer = self._ask("probe", verb=verb, **arguments)
        if answer is None:
            raise SondeError("this session has ended")
        return answer

    # ---- what is known while it runs

    def profile(self, top: int = 10, by: str = "context", *, purge: bool = False) -> Profile:
        """What is hot, of all threads, since the session began or was last purged.

        `by` "function" adds up all contexts of a function. `purge` forgets it afterwards.
        """
        answer = self._ask("hot", top=top, by=by, purge=purge)
        if answer is None:
            raise SondeError("this session has ended")
        return profile_of(answer)

    def hot(self, top: int = 10, by: str = "context") -> list[Hot]:
        """Where most CPU time goes, most first."""
        return self.profile(top, by).hot

    def hot_edges(self, top: int = 10, by: str = "context") -> list[HotEdge]:
        """What is called most often, as samples find it, most first."""
        return self.profile(top, by).hot_edges

    def every(
        self,
        seconds: float,
        callback: Callable[[Profile], object],
        *,
        top: int = 10,
        by: str = "context",
        purge: bool = False,
    ) -> None:
        """Calls back with the profile, in a thread of its own, until the session ends.

        With `purge` each call has what came since the one before. A callback that raises is not
        called again.
        """
        if not seconds > 0:
            raise UsageError(f"invalid interval {seconds!r}; give a number of seconds above 0")
        self.profile(1, by)  # what is wrong is said here

        def watch() -> None:
            while not self._over.wait(seconds):
                try:
                    profile = self.profile(top, by, purge=purge)
                except SondeError:
                    return  # it has ended meanwhile
                callback(profile)

        watcher = threading.Thread(target=watch, name="sonde watcher", daemon=True)
        self._watchers.append(watcher)
        watcher.start()

    def _running(self) -> RecorderHandle:
        if self._recorder is None:
            raise SondeError("this session is not running")
        return self._recorder

    def _ask(self, command: str, **arguments: Any) -> dict[str, Any] | None:
        if os.getpid() != self._options.pid:
            raise SondeError(_OF_PARENT)
        with self._talk:
            return self._running().ask(command, **arguments)

    def _tell_names(self, recorder: RecorderHandle | None = None) -> None:
        names = {t.native_id: t.name for t in threading.enumerate() if t.native_id}
        (recorder or self._running()).send("names", pid=os.getpid(), names=names)


def _online(asked: bool | str | int | None) -> int | None:
    """Bytes for the profile while it runs; 0: none is wanted, None: as the mode has it."""
    if asked is None:
        return None
    if isinstance(asked, bool):
        return DEFAULT_MEMORY if asked else 0
    return check_memory("online", parse_size("online", asked))
