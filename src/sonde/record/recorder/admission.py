"""How processes come into a session: their agents introduce themselves, or we read them."""

from __future__ import annotations

import os
import select
import selectors
import socket
import struct
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..decode.target import TargetProcess
from ..shm import layout as shm
from ..shm import probe_area
from ..shm.agent_memory import AgentMemory
from ..shm.lock_drain import LockRows
from ..shm.thread_ids import ThreadIds
from ..tables.metrics import Metrics
from ..tables.stacks.contexts import Contexts
from ..tables.stacks.live_profile import LiveProfile
from ..targets.remote_reader import RemoteReader
from . import self_armed
from .capture_control import CaptureControl
from .control.agent_connections import AgentConnections
from .options.dump_triggers import DumpTriggers
from .options.flow_options import why_no_java_flow
from .options.lock_options import LOCK_ACTIVITY, why_no_lock_activity
from .probe_control import ProbeControl
from .sampling.samplers import SAMPLERS_OF
from .self_armed import SelfArmed

if TYPE_CHECKING:
    from ..system.procfs import About
    from .segments import Segments
    from .target_set import TargetSet

ANSWER_S = 1.0
# Connections that are looked at before rings are drained again.
AT_ONCE = 64
# Descriptors that come with a hello.
MAX_DESCRIPTORS = 4
_LANGUAGES = {"cpython": "Python", "hotspot": "Java"}
# No execve takes longer to replace the old program.
EXEC_NS = 1_000_000_000
# A target without an agent after this long will not get one.
TIMEOUT_NS = 1_000_000_000


class Admission:
    def __init__(
        self,
        config: dict[str, Any],
        segments: Segments,
        target_set: TargetSet,
        selector: selectors.BaseSelector,
        listener: socket.socket,
        path: str,
        send_progress: Callable[[dict[str, Any]], None],
    ) -> None:
        self._config = config
        self._segments = segments
        self._writer = segments.writer
        self._target_set = target_set
        self._selector = selector
        self._path = path
        self._send_progress = send_progress
        self._contexts = Contexts(segments.writer)
        self._lock_rows = LockRows(segments.writer)
        self._contexts.tells_sizes = "calls" in config["what"]
        self.online: LiveProfile | None = None
        """What is known of the session while it runs, if that is wanted."""
        if config.get("online"):
            self.online = LiveProfile(self._contexts, config["online"])
        self.thresholds = DumpTriggers(config["mode"]["dump_when"], self._contexts)
        self._executing: dict[int, int] = {}
        self._listeners: list[socket.socket] = []
        self._came: list[SelfArmed] = []
        """Processes that armed themselves and were not taken in yet, oldest first."""
        self._remote: RemoteReader | None = None
        self._steering = AgentConnections()
        self.capture = CaptureControl(config, segments.writer, target_set, self._steering)
        has_area = bool({"probes", "steps"} & set(config["what"]))
        self._steps = config.get("steps") or {}
        self._area_size = probe_area.SIZE + self._steps.get("room", 0) if has_area else 0
        self.probes = ProbeControl(config.get("probes", []), target_set, "probes" in config["what"])
        self.origin: int | None = None
        """When the segment being written began: before the first process came in there is none."""
        self.trouble: str | None = None
        self.why_remote = ""
        self.listen(listener)

    @property
    def contexts(self) -> int:
        """How many the segment being written has."""
        return self._contexts.count

    @property
    def left_behind(self) -> int:
        return self._steering.left_behind

    def listen(self, listener: socket.socket) -> None:
        """One more place where agents introduce themselves."""
        listener.setblocking(False)
        self._listeners.append(listener)
        self._selector.register(listener, selectors.EVENT_READ, ("agent", listener))

    def accept(self, listener: socket.socket, most: int = AT_ONCE) -> bool:
        """Those that wait; false if there may be more."""
        for _ in range(most):
            try:
                connection, _ = listener.accept()
            except BlockingIOError:
                return True
            stays = False
            try:
                stays = self._admit(connection)
            except struct.error:
                pass  # it is no agent
            except OSError as error:  # it died, or a target that lives goes on unprofiled
                self.trouble = f"recording failed: {_words(error.errno)}"
            if not stays:
                connection.close()
        return False

    def admit_waiting(self) -> None:
        """Everybody who has introduced itself or is about to, as the recording ends."""
        for listener in self._listeners:
            while not self.accept(listener):
                pass
        self.admit_self_armed(time.monotonic_ns() + self_armed.WAIT_NS)

    def end(self) -> None:
        """Nobody is sampled any more; agents that were put into a process leave it."""
        if self._remote is not None:
            self._remote.stop()
        self._target_set.disarm()
        self._steering.end()
        self.capture.end()

    def start_segment(self, now: int) -> None:
        """Everybody goes on in a segment that begins now."""
        self.origin = now
        self.capture.start_segment()
        remap = self._contexts.start_segment()
        if self.online is not None:
            self.online.forget_rows()
        for target in self._target_set:
            target.start_segment(now, remap)

    # ---- agents

    def _admit(self, connection: socket.socket) -> bool:
        """An agent introduces itself; true if its connection is to stay."""
        connection.settimeout(ANSWER_S)
        message, fds, _, _ = socket.recv_fds(connection, shm.HELLO.size, MAX_DESCRIPTORS)
        try:
            return self._admit_hello(connection, message, fds)
        finally:
            for fd in fds:  # those that nobody took
                os.close(fd)

    def _admit_hello(self, connection: socket.socket, message: bytes, fds: list[int]) -> bool:
        magic, protocol, told_pid, told_tid, ppid, reason, version_hex, runtime = shm.HELLO.unpack(
            message
        )
        if magic != shm.MAGIC or protocol != shm.PROTOCOL or runtime >= len(shm.RUNTIMES):
            return False
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        pid, uid, _ = struct.unpack("iII", credentials)
        if uid not in (os.getuid(), 0) and os.getuid() != 0:
            return False
        if reason == shm.REASON_REMOTE:
            if pid != os.getpid():
                return False
            pid = told_pid
        version = f"{version_hex >> 24}.{version_hex >> 16 & 255}.{version_hex >> 8 & 255}"
        if reason in (shm.REASON_FORKED_ARMED, shm.REASON_START_ARMED) and fds:
            came = SelfArmed(
                pid, told_tid, ppid, reason, shm.RUNTIMES[runtime], version, fds[0], fds[1:]
            )
            fds.clear()
            self._came.append(came)
            return False
        if reason == shm.REASON_CONTROL:
            # A forked child has no such thread yet. Looking into /proc for it would make the kernel
            # walk what it remembers of that folder when the child is reaped.
            tid = ThreadIds(pid).ours(told_tid) if told_tid else 0
            self._steering.add(pid, tid, connection)
            self._selector.register(connection, selectors.EVENT_READ, ("steer", pid))
            self._send_progress({"steered": pid})
            return True
        if reason in (shm.REASON_EXEC, shm.REASON_EXEC_FAILED):
            self._around_exec(pid, reason)
            connection.send(shm.ARM.pack(shm.MAGIC, 0, 0, 0))
        elif reason in (shm.REASON_PAUSE, shm.REASON_RESUME):
            if self.origin is not None:
                if reason == shm.REASON_PAUSE:
                    self.capture.pause()
                else:
                    self.capture.resume(self.origin)
            connection.send(shm.ARM.pack(shm.MAGIC, 0, 0, 0))
        elif _is_closed(connection):
            pass  # it has given up waiting for us, and comes again, or not
        # One that comes after we gave up waiting for it finds itself read from outside already.
        elif reason != shm.REASON_ATTACH or self._remote is None:
            self._admit_target(connection, pid, reason, shm.RUNTIMES[runtime], version)
        return False

    def _admit_target(
        self, connection: socket.socket, pid: int, reason: int, runtime: str, version: str
    ) -> None:
        """A process to be recorded: give it memory, arm its threads."""
        self._make_room(pid, runtime, reason == shm.REASON_START)
        slots, ring_size = self._config["slots"], self._config["ring_size"]
        flow, why_no_flow = None, ""
        if "flow" in self.capture.hooked:
            why_no_flow = _why_no_flow(runtime, reason, self._config["flow"])
            flow = None if why_no_flow else self._config["flow"]
        memory = AgentMemory(slots, ring_size, area_size=self._area_size, flow=flow)
        target = self._new_target(pid, runtime, version, memory)
        self._want_steps(target)
        self.probes.set_up(target)
        capture = self.capture
        capture.order(target)
        target.agent.order_calls(**self._config["calls"])
        if why_no_flow:
            self._target_set.tally.why_no_flow = why_no_flow
        why_no_locks = ""
        if LOCK_ACTIVITY in capture.hooked:
            sampling = self._config["lock_sampling"]
            target.agent.order_lock_samples(**sampling)
            why_no_locks = why_no_lock_activity(runtime, reason, sampling)
            tally = self._target_set.tally
            tally.why_no_lock_activity = why_no_locks or tally.why_no_lock_activity
            tally.samples_locks |= runtime == "cpython" and not why_no_locks
        if "objects" in capture.what and reason == shm.REASON_REMOTE:
            self._target_set.tally.why_no_objects = "a process that is read from outside has none"
        follow = int(self._config.get("children", True))
        missing = shm.WHAT_FLOW if flow is None else 0
        missing |= shm.WHAT_LOCK_ACTIVITY if why_no_locks else 0
        socket.send_fds(
            connection,
            [
                shm.CONFIG.pack(
                    shm.MAGIC, shm.PROTOCOL, target.agent.size, capture.period, slots, ring_size,
                    capture.hooks() & ~missing, follow,
                )
            ],
            [target.agent.fd],
        )  # fmt: skip
        magic, status = shm.READY.unpack(connection.recv(shm.READY.size))
        if magic != shm.MAGIC or status:
            self.trouble = f"the agent could not start: {_words(status)}"
            self._target_set.drop(target, self.trouble)
            return
        try:
            if reason == shm.REASON_REMOTE:
                armed = capture.read_remotely(target, self.why_remote)
            else:
                armed = capture.arm(target)
        except OSError:
            self._target_set.drop(target, None)
            return
        target.armed = armed
        if armed.sampler not in SAMPLERS_OF[runtime]:
            language, names = _LANGUAGES[runtime], SAMPLERS_OF[runtime]
            self.trouble = (
                f"--sampler {armed.sampler} does not support {language} threads; use auto, "
                f"{', '.join(names[:-1])} or {names[-1]}"
            )
            self._target_set.drop(target, self.trouble)
            self._send_progress({"refused": self.trouble, "pid": pid})
            return
        target.cpu.begin()
        self._target_set.watch(pid)
        target.metrics = (
            Metrics(target.segment, target.threads) if "threads" in capture.what else None
        )
        target.sampling.polls_waits = "waits" in capture.what and not armed.wait_signals
        self._target_set.tally.armed(armed)
        if "calls" in capture.what and (why := target.why_no_ticks(armed)):
            self._target_set.tally.why_no_calls = why
        exact = int(armed.sampler in ("perf-user", "cpu-timer"))
        connection.send(shm.ARM.pack(shm.MAGIC, armed.code, int(armed.wait_signals), exact))
        self._send_progress({"admitted": pid})

    def _make_room(self, pid: int, runtime: str, replaced: bool, began: int | None = None) -> None:
        """For a process that is new to us, whatever had its number before."""
        for old in self._target_set.of(pid):
            self._target_set.drop(old, "replaced by exec" if replaced else None)
        if self.origin is None:
            self.origin = time.monotonic_ns() if began is None else began
            self._segments.started(self.origin)
            self._writer.target({"runtime": runtime})

    def _new_target(
        self,
        pid: int,
        runtime: str,
        version: str,
        memory: AgentMemory,
        about: About | None = None,
    ) -> TargetProcess:
        assert self.origin is not None
        target = TargetProcess(
            pid, runtime, version, self._writer, self._contexts, self._lock_rows, self.origin,
            memory, about, self.online,
        )  # fmt: skip
        target.open_locks.notable_ns = self.thresholds.notable_ns
        target.open_locks.on_long_wait = self.thresholds.waited
        self._target_set.add(target)
        return target

    # ---- processes that armed themselves

    @property
    def next_armed(self) -> int | None:
        """When the next of them is to be taken in."""
        return self._came[0].since + self_armed.WAIT_NS if self._came else None

    def admit_self_armed(self, now: int, pid: int | None = None) -> None:
        """Those that came a moment ago; or at once the one with that number."""
        while self._came and (pid is not None or self._came[0].since + self_armed.WAIT_NS <= now):
            if pid is not None and all(came.pid != pid for came in self._came):
                return
            came = self._came.pop(0)
            try:
                self._admit_self_armed(came)
            except OSError as error:
                self.trouble = f"recording failed: {_words(error.errno)}"
            finally:
                came.forget_process()

    def _admit_self_armed(self, came: SelfArmed) -> None:
        slots, ring_size = self._config["slots"], self._config["ring_size"]
        if not came.fits(slots, ring_size):
            came.close()
            return
        forked = came.reason == shm.REASON_FORKED_ARMED
        over, exit_ = came.ended()
        if over and forked and self.origin is not None and not came.has_data():
            self_armed.write_ended(came, exit_, self._target_set, self._writer, self.origin)
            came.close()
            return
        self._make_room(came.pid, came.runtime, not forked, came.armed_ns())
        about = self_armed.about_child(came, self._target_set) if forked else None
        if over and about is None:
            about = came.ppid, "", self._config["argv"]
        memory = AgentMemory(slots, ring_size, came.memory)
        target = self._new_target(came.pid, came.runtime, came.version, memory, about)
        capture = self.capture
        capture.adopt(target, came.events, target.tids.ours(came.tid))
        assert target.armed is not None
        target.cpu.begin(memory.self_armed()[1])
        target.metrics = (
            Metrics(target.segment, target.threads) if "threads" in capture.what else None
        )
        target.sampling.polls_waits = "waits" in capture.what and not target.armed.wait_signals
        self._target_set.tally.armed(target.armed)
        if not over:
            self._target_set.watch(came.pid)
        if not self._target_set.watches(came.pid):
            self._target_set.drop(target, came.ended()[1])
        self._send_progress({"admitted": came.pid})

    def _want_steps(self, target: TargetProcess) -> None:
        if target.agent.area is not None and self._steps:
            target.agent.area.want_steps(self._steps["span"].encode(), self._steps["duration_ns"])

    def steps_are_over(self) -> bool:
        """Is there nothing more to record than step traces that have ended?"""
        if not self._steps.get("alone"):
            return False
        areas = [target.agent.area for target in self._target_set]
        return bool(areas) and all(area is None or area.steps().over for area in areas)

    def step_metrics(self) -> None:
        for target in self._target_set:
            if target.metrics is None and "threads" in self.capture.what:
                target.metrics = Metrics(target.segment, target.threads)
            if target.metrics is not None:
                reported = not self.capture.paused and "threads" in self.capture.what
                target.metrics.step(self._steering.threads_of(target.pid), reported=reported)

    # ---- a program replaces itself

    def _around_exec(self, pid: int, reason: int) -> None:
        self.admit_self_armed(0, pid)
        for target in self._target_set.of(pid):
            if target.armed is None:
                continue
            if reason == shm.REASON_EXEC:
                target.stop_capture()
                self._executing[pid] = time.monotonic_ns()
            else:
                self._executing.pop(pid, None)
                self.capture.rearm(target)

    def rearm_survivors(self, now: int) -> None:
        """A program that records itself cannot send that its exec failed; its memory states it."""
        for pid, since in list(self._executing.items()):
            if now - since < EXEC_NS:
                continue
            del self._executing[pid]
            for target in self._target_set.of(pid):
                if target.still_mapped():
                    self.capture.rearm(target)

    # ---- a process that no agent enters

    def read_remotely(self, root: int, age: int) -> None:
        """No agent has come: read the target from outside, if it is a CPython."""
        if self._remote is not None:
            if self._remote.refusal and self._remote.refusal != self.trouble:
                self.trouble = self._remote.refusal
                self._send_progress({"refused": self.trouble, "pid": root})
            return
        wanted = self._config["sampler"] == "remote"
        if not wanted and not self.why_remote and age < TIMEOUT_NS:
            return
        remote = RemoteReader(root, self._path)
        if wanted:
            self.why_remote = "--sampler remote was given"
        self.why_remote = self.why_remote or "no agent could be injected into the target"
        if remote.try_start():
            self._remote = remote
        elif remote.refusal and remote.refusal != self.trouble:
            self.trouble = remote.refusal
            self._send_progress({"refused": remote.refusal, "pid": root})

    # ---- processes that were attached to

    def read_connection(self, pid: int) -> None:
        number = self._steering.fileno(pid)
        failed = self._steering.hear(pid)
        if pid not in self._steering:
            self._selector.unregister(number)
            if pid in self._executing:
                self._left(pid, "replaced by exec")
        if failed is not None:
            self.trouble = f"the agent could not start: {_words(failed)}"
            self._send_progress({"refused": self.trouble, "pid": pid})

    def ask_names(self) -> None:
        for target in self._target_set:
            if target.pid in self._steering:
                self._steering.ask_names(target.pid, target.unnamed())

    def exited(self, pid: int) -> None:
        self._steering.lost.pop(pid, None)
        self._executing.pop(pid, None)

    def drop_left(self, now: int) -> None:
        """Processes that live, but without our agent in them."""
        for pid, since in list(self._steering.lost.items()):
            if now - since > EXEC_NS:
                self._left(pid, None)

    def _left(self, pid: int, exit_: str | None) -> None:
        self.exited(pid)
        for target in self._target_set.of(pid):
            self._target_set.drop(target, exit_)
        self._send_progress({"left": pid})


def _why_no_flow(runtime: str, reason: int, flow: dict[str, Any]) -> str:
    """Why the process will have no call flow; "": it will."""
    if reason == shm.REASON_REMOTE:
        return "a process that is read from outside has none"
    return why_no_java_flow(flow) if runtime == "hotspot" else ""


def _is_closed(connection: socket.socket) -> bool:
    poll = select.poll()
    poll.register(connection, select.POLLHUP)
    return bool(poll.poll(0))


def _words(errno: int | None) -> str:
    return os.strerror(errno or 0).lower()
