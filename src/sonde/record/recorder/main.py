"""The recorder process: drains the rings of all targets of one session into one recording.

It is a process of its own, so that a target that dies loses nothing already written, and one that
lives pays nothing for decoding and compression. It imports only what it needs: it runs beside
production.

Started as `python -m sonde.record.recorder.main FD CONFIG`, where FD is its end of a socket pair
over which whoever started it (parent_channel.py) says commands (commands.py), and hears `ready`,
`error` and `done`. Anybody else who may speaks over the control socket (control_server.py).
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
import sys
import time
from typing import Any

from sonde.errors import SondeError

from ..system.steal import cpu_includes_steal
from ..tables.metrics import STEP_NS
from ..targets import session_registry
from .admission import Admission
from .control.agent_socket import AgentSocket, listen, listen_for_target
from .control.commands import COMMANDS
from .control.control_server import ControlServer
from .control.parent_channel import ParentChannel
from .options.probe_text import Probe
from .sampling.drain_schedule import DrainSchedule
from .sampling.overhead_budget import Cost, OverheadBudget, interrupt_ns
from .sampling.quality_counts import target_facts
from .segment_lifecycle import SegmentLifecycle
from .segments import Segments
from .target_set import TargetSet

# Counts take as much room as the samples of one flush; only recordings cut off need them early.
COUNT_NS = 250_000_000
SWEEP_NS = 600_000_000
# Contexts that a recorder which is to be frugal knows at a time: with them it had 63 MB.
MAX_CONTEXTS = 100_000

FULL = "size limit reached"


class Recorder:
    def __init__(self, control: socket.socket, config: dict[str, Any]) -> None:
        self._began = time.monotonic_ns()
        self._config = config
        self._segments = Segments(config, target_facts(config))
        self._writer = self._segments.writer
        if "threads" in config["what"]:
            self._writer.target({"cpu_includes_steal": cpu_includes_steal()})
        self._root: int | None = None
        self._stopping = False
        self._ended = self._began
        self._end_note = "stopped"
        self._budget: OverheadBudget | None = None
        if config.get("budget") is not None:
            self._budget = OverheadBudget(
                config["budget"], config["rate"], self._began, interrupt_ns()
            )
        self._pace = DrainSchedule(config, frugal=self._budget is not None)
        self._bounded = self._budget is not None or config["mode"]["name"] == "wrap"
        self._running_since: int | None = None
        given = config.get("listening")
        listening = (
            AgentSocket.inherited(given) if given else listen_for_target(config.get("place"))
        )
        self._folder, self.path = listening.folder, listening.path
        self._folders = [self._folder]
        self._selector = selectors.DefaultSelector()
        self._parent = ParentChannel(
            control, self._selector, attached=config.get("attached", False)
        )
        # Where others look for it: a target's own file system is no place for that.
        self._home = session_registry.make_home() if config.get("place") else self._folder
        self._target_set = TargetSet(self._selector, self._home, self._writer, config)
        self._admission = Admission(
            config, self._segments, self._target_set, self._selector, listening.listener, self.path,
            self._parent.send_progress,
        )  # fmt: skip
        self._capture = self._admission.capture
        self._steered = ControlServer(self._home, self._selector, self)
        self._book = SegmentLifecycle(
            self._began,
            self._segments,
            self._target_set,
            self._admission,
            self._budget,
            self._parent,
        )
        self._next_dump = 0

    # ---- the loop

    def run(self) -> None:
        self._parent.send(
            {
                "ready": self.path,
                "path": self._segments.path,
                "session": self._segments.session["id"],
            }
        )
        next_flush = time.monotonic_ns() + self._pace.flush_ns
        next_sweep = next_count = next_step = next_flush
        try:
            while not self._stopping:
                wake = min(next_flush, self._admission.next_armed or next_flush)
                left = (wake - time.monotonic_ns()) / 1e9
                asleep = max(min(self._pace.sleep, left), self._pace.rest)
                for key, _ in self._selector.select(asleep):
                    self._handle(key.data)
                self._admission.admit_self_armed(time.monotonic_ns())
                self._target_set.announce_changes()
                began = time.thread_time()
                fullest = max((target.drain() for target in self._target_set), default=0.0)
                self._pace.drained(fullest, time.thread_time() - began)
                now = time.monotonic_ns()
                for target in self._target_set:
                    self._capture.close_endless(target)
                if now >= next_count:
                    self._book.write_quality()
                    next_count = now + COUNT_NS
                if now >= next_step:
                    self._admission.step_metrics()
                    next_step = now + STEP_NS
                if now >= next_flush:
                    for target in self._target_set:
                        target.poll_cpu(self._capture.longest_period)
                    self._book.flush()
                    next_flush = now + self._pace.flush_ns
                    if self._bounded and self._admission.contexts > MAX_CONTEXTS:
                        self._segments.wanted = True  # a new segment knows only what it needs
                    if self._segments.due(now):
                        self._book.next_part()
                    if self._segments.full():
                        self.stop(FULL)
                self._watch_thresholds(now)
                if self._admission.steps_are_over():
                    self.stop("step trace ended")
                if self._admission.origin is None and self._root and self._running_since:
                    self._admission.read_remotely(self._root, now - self._running_since)
                self._admission.rearm_survivors(now)
                if now >= next_sweep:
                    self._sweep(now)
                    next_sweep = now + SWEEP_NS
                    self._keep_budget(now)
            self._finish()
        finally:
            self._target_set.disarm()
            for folder in {*self._folders, self._home}:
                shutil.rmtree(folder, ignore_errors=True)

    def _handle(self, what: Any) -> None:
        if what == "control":
            self._obey()
        elif isinstance(what, int):
            self._exited(what)
        elif what[0] == "agent":
            self._admission.accept(what[1])
        elif what[0] == "control":
            self._steered.ready(what[1])
        else:
            self._admission.read_connection(what[1])

    def _sweep(self, now: int) -> None:
        for target in self._target_set:
            target.sweep()
            if not self._capture.paused:
                target.look_at_waits(now)
        self._admission.ask_names()
        self._admission.drop_left(now)

    def _keep_budget(self, now: int) -> None:
        if self._budget is None or self._admission.origin is None:
            return
        counts = self._book.facts(whole=True)
        cost = Cost(
            counts.get("agent_cpu_ns", 0), counts["recorder_cpu_ns"], counts.get("taken", 0)
        )
        if self._capture.paused:
            self._budget.pass_over(now, cost)
            return
        rate = self._budget.step(now, cost)
        if rate is not None:
            self._change_rate(rate)

    def _change_rate(self, rate: int) -> None:
        self._capture.set_rate(rate, self._book.origin)
        self._pace.set_rate(rate)

    def _watch_thresholds(self, now: int) -> None:
        why = self._admission.thresholds.take()
        if why is None or now < self._next_dump:
            return
        self._next_dump = now + self._config["mode"]["dump_every_ns"]
        try:
            self._parent.send_nowait({"dumped": self.dump(None, why), "why": why})
        except SondeError as error:
            self._parent.send_nowait({"trouble": str(error)})

    def _exited(self, pid: int) -> None:
        self._target_set.exited(pid)
        self._admission.exited(pid)
        if self._parent.attached:
            self._parent.send_progress({"exited": pid})
        elif pid == self._root:
            self.stop("target exited")

    def stop(self, note: str) -> None:
        if not self._stopping:
            self._ended = time.monotonic_ns()
        self._stopping = True
        self._book.grows = False
        self._end_note = note

    # ---- steering, by whoever started us, by the control socket and by the program itself

    def status(self) -> dict[str, Any]:
        began = self._segments.first_origin or self._began
        return {
            "state": "paused" if self._capture.paused else "recording",
            "mode": self._config["mode"]["name"],
            "path": self._segments.path,
            "part": self._segments.count,
            "size": self._segments.size,
            "duration_ns": time.monotonic_ns() - began,
            "paused_ns": self._capture.paused_ns,
            "processes": [target.pid for target in self._target_set],
            "recorder": os.getpid(),
            "what": sorted(self._capture.what),
            "rate": self._capture.rate,
            "quality": self._book.facts(whole=True),
        }

    def pause(self) -> None:
        self._capture.pause()

    def resume(self) -> None:
        self._capture.resume(self._book.origin)

    def mark(self, text: str, at: int | None = None) -> None:
        at = time.monotonic_ns() if at is None else at
        self._writer.append("marks", at - self._book.origin, -1, text)

    def set_rate(self, rate: int) -> None:
        if self._budget is not None:
            self._budget.ask(rate)
        self._change_rate(rate)

    def set_what(self, what: list[str]) -> None:
        self._capture.set_what(what)
        self._target_set.set_capture(what)
        self._pace.set_capture(what, self._capture.rate)

    def flush(self) -> int:
        return self._book.bring_up_to_date()

    def dump(self, path: str | None = None, why: str = "requested") -> str:
        return self._book.dump(path, why)

    def rotate(self) -> str:
        return self._book.rotate()

    def hot(self, top: int = 10, by: str = "context", purge: bool = False) -> dict[str, Any]:
        """What is hot at this moment, and was since the session began or was purged."""
        online = self._admission.online
        if online is None:
            raise SondeError(
                "this session has no profile in memory; it needs online=True, --budget or "
                "--mode wrap"
            )
        for target in self._target_set:
            target.drain()
        answer = online.answer(top, by)
        if purge:
            online.purge()
        return answer

    def probe(self, verb: str, probe: dict[str, Any] | None = None, number: int = 0) -> Any:
        """Adds or removes a probe, or lists them all."""
        probes = self._admission.probes
        if verb == "add" and probe is not None:
            number = probes.add(Probe(**probe))
        elif verb == "remove":
            probes.remove(number)
        return {"verb": verb, "number": number, "probes": probes.rows()}

    # ---- whoever started us

    def _obey(self) -> None:
        order = self._parent.hear()
        if order is None:  # it has exited; the targets decide when we end
            if self._root is None or self._parent.attached:
                self.stop("the process that started the recording exited")
            return
        verb, answered = order.pop("do"), order.pop("answered", False)
        try:
            answer = COMMANDS[verb].do(self, **order)
        except SondeError as error:
            if not answered:
                raise
            self._parent.send({"did": verb, "refused": str(error), "code": error.code})
        else:
            if answered:
                self._parent.send({"did": verb, "answer": answer or {}})

    def rotate_soon(self) -> None:
        self._segments.wanted = True

    def set_root(self, pid: int) -> None:
        if pid:  # a session of many processes has none
            self._root = pid
            self._target_set.watch(pid)

    def listen(self, place: dict[str, Any] | None) -> None:
        """One more place for agents to find us; "" if the process that it is for has ended."""
        try:
            listening = listen(place)
        except OSError:
            path = ""
        else:
            self._folders.append(listening.folder)
            self._admission.listen(listening.listener)
            path = listening.path
        self._parent.send_progress({"listens": path, "place": place})

    def set_names(self, pid: int, names: dict[str, str]) -> None:
        for target in self._target_set.of(pid):
            target.names.reported.update({int(tid): name for tid, name in names.items()})

    def set_not_entered(self, reasons: dict[str, str]) -> None:
        self._target_set.tally.not_entered = reasons

    def set_entered(self, facts: dict[str, Any]) -> None:
        """How the agent was injected, and how long that stopped the target."""
        self._writer.target({"entered": facts})

    def set_running(self, why: str = "") -> None:
        """The target runs; `why` it can only be read from outside, if that is known."""
        self._running_since = time.monotonic_ns()
        self._admission.why_remote = why

    def set_exit(self, pid: int, text: str) -> None:
        self._note_exit(pid, text)
        if not self._target_set.watches(pid):  # it could not be: only this message says so
            self._exited(pid)

    def disarm(self, pid: int) -> None:
        for target in self._target_set.of(pid):
            target.stop_capture()

    def _note_exit(self, pid: int, text: str) -> None:
        self._config["exit"] = {"pid": pid, "text": text}

    # ---- the end

    def _finish(self) -> None:
        self._admission.admit_waiting()
        self._capture.end_pause(self._book.origin)
        self._admission.end()
        # A root that exits and one that we see exit are the same event; its code comes by control.
        self._hear_exit()
        if self._segments.refused is not None and self._admission.origin is not None:
            self._segments.writer.sink.spend_reserve()
            self._book.next_part()  # what was lost is said at least
        for target in self._target_set:
            target.finish(ended=False, exit_=None)
        self._book.write_quality()
        self._book.write_hot()
        noted = self._config.get("exit")
        if noted:
            self._writer.target({"exit": noted["text"]})
        end = {"note": self._end_note, "duration_ns": self._ended - self._book.origin}
        if self._segments.flies:
            self._writer.target({"dumped": self._end_note})
        self._segments.close(end)
        facts = self._book.facts(whole=True)
        trouble = self._admission.trouble
        if self._admission.origin is None:  # there was no process to record
            self._segments.discard()
        elif self._segments.flies:
            try:
                self._segments.dump(self._config["path"], self._end_note)
            except SondeError as error:
                trouble = str(error)
        self._steered.end(
            {
                "path": self._segments.path,
                "size": self._segments.size_on_disk(),
                "mode": self._config["mode"]["name"],
            }
        )
        self._parent.send(
            {
                "done": facts,
                "duration_ns": self._ended - (self._segments.first_origin or self._began),
                "path": self._segments.path,
                "parts": self._segments.count,
                "dumps": self._segments.dumps,
                "refused": self._segments.refused,
                "mode": self._config["mode"],
                "trouble": trouble,
                "note": self._end_note,
                "left_behind": self._admission.left_behind,
                "processes": self._target_set.many,
            }
        )

    def _hear_exit(self) -> None:
        """The starter reaps the root and knows how it ended; wait for that word a moment."""
        if self._end_note != "target exited" or self._parent.attached:
            return
        orders = self._parent.last_orders()
        while "exit" not in self._config and (order := next(orders, None)) is not None:
            if order["do"] == "exit":
                self._note_exit(order["pid"], order["text"])


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
            signal.signal(
                number, lambda *_: recorder.stop("the recorder received SIGTERM or SIGHUP")
            )
        recorder.run()
    except SondeError as error:
        with contextlib.suppress(OSError):
            control.send(json.dumps({"error": str(error)}).encode())
        return error.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
