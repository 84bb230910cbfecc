"""The recorder process: drains the rings of all targets of one session into one recording.

It is a process of its own, so that a target that dies loses nothing already written, and one that
lives pays nothing for decoding and compression. It imports only what it needs: it runs beside
production.

Started as `python -m sonde.record.recorder FD CONFIG`, where FD is its end of a socket pair over
which whoever started it says `disarm`, `names`, `mark` and `stop`, and hears `ready`, `error` and
`done`.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import selectors
import shutil
import signal
import socket
import struct
import sys
import time
from typing import Any

from sonde.errors import SondeError
from sonde.recording.writer import Writer

from . import sessions, shm
from .arming import Arming
from .contexts import Contexts
from .listening import listen
from .remote import RemoteReader
from .steering import Steering
from .tally import Tally, target_facts
from .target import TargetProcess
from .tids import ThreadIds

# How long to sleep between drains: short enough that no ring fills up, else as long as it may be.
# At high rates a ring fills within one long sleep where a thousand frames change from sample to
# sample. Each time we wake up we take the processor from somebody.
SHORTEST, LONGEST = 0.005, 0.06
# After a long sleep what was drained is written at once.
FLUSH_NS = 60_000_000
# Counts take as much room as the samples of one flush; only recordings cut off need them early.
COUNT_NS = 250_000_000
SAMPLES_ASLEEP = 100
# A quarter-full ring after one sleep is the sign to sleep less.
BUSY = 0.25

ANSWER_S = 1.0
# No execve takes longer to replace the old program.
EXEC_NS = 1_000_000_000
# A target without an agent after this long will not get one.
PATIENCE_NS = 1_000_000_000


class Recorder:
    def __init__(self, control: socket.socket, config: dict[str, Any]) -> None:
        self.origin = time.monotonic_ns()
        self._control: socket.socket | None = control
        self._config = config
        rate = config["rate"]
        self._period = 1_000_000_000 // rate
        self._what = set(config["what"])
        self._arming = Arming(self._period, "waits" in self._what, config.get("sampler", "auto"))
        self._writer = Writer(config["path"], target_facts(config))
        self._contexts = Contexts(self._writer)
        self._targets: list[TargetProcess] = []
        self._pidfds: dict[int, int] = {}
        self._root: int | None = None
        self._admitted = self._stopping = False
        self._ended = self.origin
        self._end_note = "stopped"
        self._longest = max(SHORTEST, min(LONGEST, SAMPLES_ASLEEP / rate))
        self._tick = self._longest
        self._tally = Tally(rate)
        self._executing: dict[int, int] = {}
        self._remote: RemoteReader | None = None
        self._why_remote = ""
        self._running_since: int | None = None
        self._trouble: str | None = None
        self._steering = Steering()
        self._told: set[tuple[str, int | str]] = set()
        self._attached: bool = config.get("attached", False)
        self._folder, self.path, self._listener = listen(config.get("place"))
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, "agent")
        self._selector.register(control, selectors.EVENT_READ, "control")

    # ---- the loop

    def run(self) -> None:
        self._say({"ready": self.path, "path": self._writer.path})
        next_flush = time.monotonic_ns() + FLUSH_NS
        next_sweep = next_count = next_flush
        try:
            while not self._stopping:
                left = (next_flush - time.monotonic_ns()) / 1e9
                for key, _ in self._selector.select(max(min(self._tick, left), 0.0)):
                    self._handle(key.data)
                fullest = max((target.drain() for target in self._targets), default=0.0)
                if fullest > BUSY:
                    self._tick = max(self._tick / 2, SHORTEST)
                elif fullest < BUSY / 4:
                    self._tick = min(self._tick * 1.5, self._longest)
                now = time.monotonic_ns()
                if now >= next_count:
                    self._write_quality()
                    next_count = now + COUNT_NS
                if now >= next_flush:
                    for target in self._targets:
                        target.poll_cpu(self._period)
                    self._writer.flush()
                    next_flush = now + FLUSH_NS
                if not self._admitted and self._root and self._running_since:
                    self._read_remotely(self._root, now - self._running_since)
                if self._executing:
                    self._rearm_survivors(now)
                if now >= next_sweep:
                    self._sweep(now)
                    next_sweep = now + 10 * FLUSH_NS
            self._finish()
        finally:
            for target in self._targets:
                if target.armed is not None:
                    target.armed.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _handle(self, what: Any) -> None:
        if what == "agent":
            connection, _ = self._listener.accept()
            stays = False
            try:
                stays = self._admit(connection)
            except struct.error:
                pass  # it is no agent
            except OSError as error:  # it died, or a target that lives goes on unprofiled
                self._trouble = f"recording it failed: {_words(error.errno)}"
            if not stays:
                connection.close()
        elif what == "control":
            self._obey()
        elif isinstance(what, tuple):
            self._hear_steered(what[1])
        else:
            self._exited(what)

    def stop(self, note: str) -> None:
        if not self._stopping:
            self._ended = time.monotonic_ns()
        self._stopping = True
        self._end_note = note

    # ---- agents

    def _admit(self, connection: socket.socket) -> bool:
        """An agent introduces itself; true if its connection is to stay."""
        connection.settimeout(ANSWER_S)
        magic, protocol, told_pid, told_tid, _, reason, version_hex, _ = shm.HELLO.unpack(
            connection.recv(shm.HELLO.size)
        )
        if magic != shm.MAGIC or protocol != shm.PROTOCOL:
            return False
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        pid, uid, _ = struct.unpack("iII", credentials)
        if uid not in (os.getuid(), 0) and os.getuid() != 0:
            return False
        if reason == shm.REASON_REMOTE:
            if pid != os.getpid():
                return False
            pid = told_pid
        if reason == shm.REASON_STEER:
            self._steering.add(pid, ThreadIds(pid).ours(told_tid), connection)
            self._selector.register(connection, selectors.EVENT_READ, ("steer", pid))
            self._tell("steered", pid)
            return True
        if reason in (shm.REASON_EXEC, shm.REASON_EXEC_FAILED):
            self._around_exec(pid, reason)
            connection.send(shm.ARM.pack(shm.MAGIC, 0, 0, 0))
        # One that comes after we gave up waiting for it finds itself read from outside already.
        elif reason != shm.REASON_ATTACH or self._remote is None:
            self._take_in(connection, pid, reason, version_hex)
        return False

    def _take_in(self, connection: socket.socket, pid: int, reason: int, version_hex: int) -> None:
        """A process to be recorded: give it memory, arm its threads."""
        for old in [target for target in self._targets if target.pid == pid]:
            self._drop(old, "replaced by exec" if reason == shm.REASON_START else None)
        if not self._admitted:  # time counts from here: before it there was nothing to record
            self._admitted = True
            self.origin = time.monotonic_ns()
            self._writer.target({"started": time.time()})
        slots, ring_size = self._config["slots"], self._config["ring_size"]
        version = f"{version_hex >> 24}.{version_hex >> 16 & 255}.{version_hex >> 8 & 255}"
        target = TargetProcess(
            pid, version, self._writer, self._contexts, self.origin, slots, ring_size
        )
        self._targets.append(target)
        self._announce()
        what = shm.WHAT_CPU
        what |= shm.WHAT_WAITS if "waits" in self._what else 0
        what |= shm.WHAT_LOCKS if "locks" in self._what else 0
        follow = int(self._config.get("children", True))
        socket.send_fds(
            connection,
            [
                shm.CONFIG.pack(
                    shm.MAGIC, shm.PROTOCOL, target.size, self._period, slots, ring_size,
                    what, follow,
                )
            ],
            [target.memfd],
        )  # fmt: skip
        magic, status = shm.READY.unpack(connection.recv(shm.READY.size))
        if magic != shm.MAGIC or status:
            self._trouble = f"the agent could not start: {_words(status)}"
            self._drop(target, self._trouble)
            return
        try:
            if reason == shm.REASON_REMOTE:
                target.armed = self._arming.read_remotely(pid, self._why_remote)
            else:
                target.armed = self._arming.arm(pid, self._steering.threads_of(pid))
        except OSError:
            self._drop(target, None)
            return
        self._watch(pid)
        armed = target.armed
        target.polls_waits = "waits" in self._what and not armed.wait_signals
        self._tally.armed(armed)
        exact = int(armed.sampler == "perf-user" or "waits" in self._what)
        connection.send(shm.ARM.pack(shm.MAGIC, armed.code, int(armed.wait_signals), exact))
        self._tell("admitted", pid)

    def _read_remotely(self, root: int, age: int) -> None:
        """No agent has come: read the target from outside, if it is a CPython."""
        if self._remote is not None:
            if self._remote.refusal:
                self._trouble = self._remote.refusal
                self._tell("refused", self._trouble)
            return
        wanted = self._config["sampler"] == "remote"
        if not wanted and not self._why_remote and age < PATIENCE_NS:
            return
        remote = RemoteReader(root, self.path)
        if wanted:
            self._why_remote = "--sampler remote was asked for"
        self._why_remote = self._why_remote or "no agent could enter the target"
        if remote.try_start():
            self._remote = remote
        elif remote.refusal:
            self._tell("refused", remote.refusal)

    # ---- attached targets

    def _hear_steered(self, pid: int) -> None:
        number = self._steering.fileno(pid)
        failed = self._steering.hear(pid)
        if pid not in self._steering:
            self._selector.unregister(number)
        if failed is not None:
            self._trouble = f"the agent could not start: {_words(failed)}"
            self._tell("refused", self._trouble)

    def _sweep(self, now: int) -> None:
        for target in self._targets:
            target.sweep()
            if target.pid in self._steering:
                self._steering.ask_names(target.pid, target.unnamed())
        lost = self._steering.lost.get(self._root or 0)
        if lost is not None and now - lost > EXEC_NS:  # it lives, but our agent does not
            self.stop("the agent left the target")

    def _tell(self, what: str, value: int | str) -> None:
        """Whoever attaches wants to know how far it is; others do not listen."""
        if self._attached and (what, value) not in self._told:
            self._told.add((what, value))
            self._say({what: value})

    def _announce(self) -> None:
        pids = [target.pid for target in self._targets]
        sessions.announce(self._folder, self._writer.path, pids, sorted(self._what))

    def _around_exec(self, pid: int, reason: int) -> None:
        for target in self._targets:
            if target.pid != pid or target.armed is None:
                continue
            if reason == shm.REASON_EXEC:
                target.armed.close()
                self._executing[pid] = time.monotonic_ns()
            else:
                self._executing.pop(pid, None)
                target.rearm(self._arming, self._steering.threads_of(pid))

    def _rearm_survivors(self, now: int) -> None:
        """A program that records itself cannot tell us that its exec failed; its memory does."""
        for pid, since in list(self._executing.items()):
            if now - since < EXEC_NS:
                continue
            del self._executing[pid]
            for target in self._targets:
                if target.pid == pid and target.still_mapped():
                    target.rearm(self._arming, self._steering.threads_of(pid))

    def _watch(self, pid: int) -> None:
        if pid in self._pidfds:
            return
        try:
            fd = os.pidfd_open(pid)
        except OSError:
            return
        self._pidfds[pid] = fd
        self._selector.register(fd, selectors.EVENT_READ, pid)

    def _exited(self, pid: int) -> None:
        fd = self._pidfds.pop(pid)
        self._selector.unregister(fd)
        os.close(fd)
        self._forget(pid)

    def _forget(self, pid: int) -> None:
        for target in [target for target in self._targets if target.pid == pid]:
            self._drop(target, None)
        if pid == self._root:
            self.stop("target exited")

    def _drop(self, target: TargetProcess, exit_: str | None) -> None:
        """A process that is over: its last records, then its memory goes."""
        self._targets.remove(target)
        self._announce()
        target.finish(ended=True, exit_=exit_)
        self._tally.add(target)
        target.close()

    # ---- whoever started us

    def _obey(self) -> None:
        assert self._control is not None
        try:
            message = self._control.recv(1 << 20)
        except OSError:
            message = b""
        if not message:  # it is gone; the targets decide when we end
            self._selector.unregister(self._control)
            self._control.close()
            self._control = None
            if self._root is None or self._attached:
                self.stop("the one who started the recording is gone")
            return
        order: dict[str, Any] = json.loads(message)
        if "root" in order:
            self._root = order["root"]
            self._watch(order["root"])
        if "running" in order:
            self._running_since = time.monotonic_ns()
            self._why_remote = order.get("why", "")
        if "entered" in order:  # how it came in, and what that cost the target
            self._writer.target({"entered": order["entered"]})
        if "names" in order:
            for target in self._targets:
                if target.pid == order["pid"]:
                    target.told_names.update({int(k): v for k, v in order["names"].items()})
        if "mark" in order:
            self._writer.append("marks", order["time"] - self.origin, -1, order["mark"])
        if "exit" in order:
            self._note_exit(order["pid"], order["exit"])
            if order["pid"] not in self._pidfds:  # none could be had: only this word tells
                self._forget(order["pid"])
        if "disarm" in order:
            for target in self._targets:
                if target.pid == order["disarm"] and target.armed is not None:
                    target.armed.close()
            self._say({"disarmed": True})
        if "arm" in order:
            for target in self._targets:
                if target.pid == order["arm"]:
                    target.rearm(self._arming, self._steering.threads_of(target.pid))
            self._say({"armed": True})
        if "stop" in order:
            self.stop("stopped")

    def _note_exit(self, pid: int, text: str) -> None:
        self._config["exit"] = {"pid": pid, "text": text}

    def _say(self, words: dict[str, Any]) -> None:
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.send(json.dumps(words).encode())

    # ---- the end

    def _write_quality(self) -> dict[str, Any]:
        facts = self._tally.facts(self._targets)
        self._writer.quality(facts)
        if not self._stopping:  # so that a recording still growing, or cut off, knows its length
            self._writer.target({"duration_ns": time.monotonic_ns() - self.origin})
        return facts

    def _finish(self) -> None:
        if self._remote is not None:
            self._remote.stop()
        for target in self._targets:
            if target.armed is not None:
                target.armed.close()
        self._steering.end()
        # A root that exits and one that we see exit are the same event; its code comes by control.
        self._hear_exit()
        for target in list(self._targets):
            target.finish(ended=False, exit_=None)
        facts = self._write_quality()
        noted = self._config.get("exit")
        if noted:
            self._writer.target({"exit": noted["text"]})
        end = {"note": self._end_note, "duration_ns": self._ended - self.origin}
        self._writer.target({"duration_ns": end["duration_ns"]})
        self._writer.close(end)
        if not self._admitted:  # there was no process to record
            os.unlink(self._writer.path)
        self._say(
            {
                "done": facts,
                "duration_ns": end["duration_ns"],
                "path": self._writer.path,
                "trouble": self._trouble,
                "note": self._end_note,
                "left_behind": self._steering.left_behind,
            }
        )

    def _hear_exit(self) -> None:
        """The starter reaps the root and knows how it ended; wait for that word a moment."""
        if self._control is None or self._end_note != "target exited" or self._attached:
            return
        self._control.settimeout(ANSWER_S)
        try:
            while "exit" not in self._config:
                message = self._control.recv(1 << 20)
                if not message:
                    return
                order = json.loads(message)
                if "exit" in order:
                    self._note_exit(order["pid"], order["exit"])
        except OSError:
            return


def _words(errno: int | None) -> str:
    return os.strerror(errno or 0).lower()


def main() -> int:
    control = socket.socket(fileno=int(sys.argv[1]))
    config: dict[str, Any] = json.loads(sys.argv[2])
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    os.umask(0o077)
    recorder: Recorder | None = None
    try:
        recorder = Recorder(control, config)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: recorder.stop("the recorder was told to stop"))
        recorder.run()
    except SondeError as error:
        with contextlib.suppress(OSError):
            control.send(json.dumps({"error": str(error)}).encode())
        return error.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
