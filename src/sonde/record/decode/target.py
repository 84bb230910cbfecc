"""One target process (strictly: one program image in it) as its recorder sees it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ..shm import layout as shm
from ..shm.agent_memory import AgentMemory
from ..system import procfs
from ..tables.sampled_objects import undercounted
from ..tables.segment import ProcessSegment
from ..tables.stacks.contexts import SHORT_THREADS
from ..tables.step_traces import write_steps
from ..tables.thread_row import NO_THREAD_OBJECT
from .process_tables import ProcessTables
from .ring_reader import RingReader

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from sonde.recording.write.writer import Writer

    from ..shm.lock_drain import LockRows
    from ..system.procfs import About
    from ..tables.active_sampler import ActiveSampler
    from ..tables.metrics import Metrics
    from ..tables.stacks.contexts import Contexts
    from ..tables.stacks.live_profile import LiveProfile


_images: dict[int, int] = {}


class TargetProcess:
    """What is known of it, subject by subject, and how that becomes rows of the segments."""

    def __init__(
        self,
        pid: int,
        runtime: str,
        version: str,
        writer: Writer,
        contexts: Contexts,
        lock_rows: LockRows,
        origin: int,
        agent: AgentMemory,
        about: About | None = None,
        online: LiveProfile | None = None,
    ) -> None:
        self.pid = pid
        self.runtime = runtime
        self.writer = writer
        self.segment = segment = ProcessSegment(pid, runtime, writer, origin)
        self._tables = tables = ProcessTables(segment, contexts, lock_rows, agent, online)
        self.sampling = tables.sampling
        self.tids = tables.tids
        self.names = tables.names
        self.threads = tables.threads
        self.cpu = tables.cpu
        self.open_locks = tables.open_locks
        self.probes = tables.probes
        self._counted: Container[str] | None = ()
        """What is captured at the moment; None: nothing, this is a pause."""
        self.metrics: Metrics | None = None
        self.started = agent.self_armed()[0] or time.monotonic_ns()
        self._version = version
        # A process that executes another program is another one to us.
        image = _images[pid] = _images.get(pid, -1) + 1
        self._number = procfs.born_ticks(pid, pid) << 20 | image & 0xFFFFF
        self.about = about or procfs.about(pid)
        self.agent = agent
        self.memory = tables.memory
        self._slots: dict[int, RingReader] = {}
        segment.row = self._process_row()

    # ---- what is captured

    @property
    def armed(self) -> ActiveSampler | None:
        return self.sampling.armed

    @armed.setter
    def armed(self, armed: ActiveSampler) -> None:
        self.sampling.armed = armed

    def why_no_ticks(self, armed: ActiveSampler) -> str:
        """Why no window can be opened in it, if so."""
        if self.runtime == "hotspot" and armed.code == shm.SAMPLER_CPU_TIMER:
            return ""
        if armed.code != shm.SAMPLER_PERF or armed.sampler == "remote":
            return f"calls can be counted by perf signals only, and the sampler is {armed.sampler}"
        return ""

    def stop_capture(self) -> None:
        """Nothing is captured until it is armed again."""
        if self.armed is not None:
            self.armed.close()
        self.agent.order_nothing()
        self.set_capture(None)

    def set_capture(self, what: Container[str] | None) -> None:
        """This is captured from now on; None: nothing, and the time counts for no thread."""
        self.threads.account_until(self._counted)
        self.cpu.account_until(counted=self._counts_cpu())
        self._step_metrics()  # else the next step would lie on both sides
        self._counted = what

    def _step_metrics(self) -> None:
        if self.metrics is not None:
            self.metrics.step(reported=self._counts_threads())

    def _counts_cpu(self) -> bool:
        return self._counted is not None and "cpu" in self._counted

    def _counts_threads(self) -> bool:
        return self._counted is not None and "threads" in self._counted

    def still_mapped(self) -> bool:
        """Is the program that mapped our memory still the one that runs?"""
        return "memfd:sonde" in procfs.maps_of(self.pid)

    def set_event_periods(self, periods: dict[int, int]) -> None:
        self._tables.event_periods = periods
        self.agent.order_events(periods)

    def poll_cpu(self, period: int) -> None:
        """Compares what the process used with what samples stand for."""
        if not self._counts_cpu():
            return
        used = self.cpu.used(self.agent.reader_ns())
        self.drain()  # what was sampled until then, or a slow drain looks like unsampled threads
        self.cpu.compare(used, (len(self.threads) + 1) * period, self.threads.unreported_cpu)

    def _write_unsampled(self, now: int) -> None:
        unsampled = self.cpu.unsampled
        if not unsampled:
            return
        origin = self.segment.origin
        since = self.segment.boundary or self.started
        row = self.writer.append(
            "threads", self.segment.row, 0, SHORT_THREADS, 0, since - origin, now - origin,
            unsampled,
        )  # fmt: skip
        context = self._tables.pseudo_context(SHORT_THREADS)
        self.writer.append("samples", row, now - origin, context, unsampled, 0)

    def unnamed(self) -> set[int]:
        """The threading.Thread objects seen of which the name is not known yet."""
        found = {slot.thread.thread_object() for slot in self._slots.values()}
        return {
            address for address in found if address > NO_THREAD_OBJECT and address not in self.names
        }

    # ---- waits for locks

    def look_at_waits(self, now: int) -> None:
        """Reports those that have lasted for long."""
        self._keep_waits()
        self.open_locks.look(now)

    def _keep_waits(self) -> None:
        for slot in self._slots.values():
            slot.locks.keep_wait()

    # ---- draining

    def drain(self) -> float:
        """Takes what the rings hold; returns how full the fullest one was."""
        fullest = 0
        pending = [self._slot(*facts) for facts in self.agent.pending()]
        for slot in pending:
            fullest = max(fullest, slot.backlog())
        waiting = [slot for slot in pending if not slot.drain()]
        for slot in waiting:  # the ring it waited for may have come after it
            slot.drain()
        return fullest / self.agent.ring_size

    def _slot(self, index: int, tid: int, claimed: int) -> RingReader:
        slot = self._slots.get(index)
        if slot is None or slot.thread.claimed != claimed:
            if slot is not None:
                self._drop(index)
            slot = self._slots[index] = RingReader(
                self._tables, index, self.tids.ours(tid), claimed
            )
            self.open_locks.add_ring(slot.thread.tid, slot.locks)
            self.agent.knows(index, claimed)
        return slot

    def _drop(self, index: int) -> None:
        slot = self._slots.pop(index)
        self.open_locks.remove_ring(slot.thread.tid, slot.locks)

    def settle(self) -> None:
        """Writes what was kept back for a later record to complete."""
        for slot in self._slots.values():
            slot.end()

    def sweep(self) -> None:
        """Frees the slots of threads that have ended, so that any number of threads finds one."""
        alive = procfs.threads_of(self.pid)
        newest: dict[int, int] = {}
        for slot in self._slots.values():
            thread = slot.thread
            newest[thread.tid] = max(newest.get(thread.tid, 0), thread.claimed)
        for index, slot in list(self._slots.items()):
            thread = slot.thread
            if thread.tid == shm.NOTES_TID:
                continue
            gone = thread.tid not in alive and not procfs.has_thread(self.pid, thread.tid)
            if not gone and newest[thread.tid] != thread.claimed:
                # A thread has two where a reader feeds one for it and it reports locks in the
                # other; it is another thread's that had the same id if it is older than the thread.
                gone = thread.claimed < procfs.birth_of(self.pid, thread.tid)
            if gone and slot.drain() and not slot.backlog():
                slot.end()
                self._count_acquisitions(index, slot)
                if self.metrics is not None:
                    self.metrics.ended(thread.tid, reported=self._counts_threads())
                self.threads.ended(thread.tid, thread.known)
                slot.locks.keep_wait()
                self.open_locks.forget(thread.tid)
                self._drop(index)
                self.agent.free(index)
            else:
                thread.learn_name()  # it may have come since, in another ring

    def _count_acquisitions(self, index: int, slot: RingReader) -> None:
        """Of locks, that no sample has reported."""
        if acquisitions := self.agent.acquisitions(index):
            slot.lock_samples.count_rest(acquisitions, time.monotonic_ns())

    # ---- segments

    def end_part(self, now: int) -> None:
        """Writes what the rows of this segment are to say; the process goes on in the next."""
        self.set_capture(self._counted)
        self._tables.flow.write(now)
        for index, slot in self._slots.items():
            self._count_acquisitions(index, slot)
        self.threads.end_part(now)
        self.probes.write_counts()
        self._write_unsampled(now)

    def start_segment(self, now: int, remap: Callable[[int], int]) -> None:
        """All rows are new ones, of a segment that begins now."""
        self._keep_waits()
        tables = self._tables
        tables.lock_runs.forget()
        self.segment.origin = self.segment.boundary = now
        self.cpu.start_segment(self.agent.reader_ns())
        tables.codes.start_segment()
        tables.locks.start_segment()
        self._forget_names(now)
        self.segment.row = self._process_row()
        for slot in self._slots.values():
            slot.start_segment(remap)
        self.threads.start_segment(remap)
        tables.objects.start_segment(remap)
        tables.probes.start_segment()
        tables.flow.start_segment()
        tables.lock_samples.start_segment(remap)
        tables.spans.start_segment()
        tables.tasks.start_segment()
        self.open_locks.repeat(remap)

    def _forget_names(self, now: int) -> None:
        known = {slot.thread.thread_object() for slot in self._slots.values()}
        known |= self.threads.thread_objects() | self.open_locks.virtual()
        self.names.forget(now, known)

    # ---- the end

    def finish(self, ended: bool, exit_: str | None) -> None:
        """The last drain; `ended` shows whether the process has exited or the recording is over."""
        self.drain()  # one ring may hold names that another one needs
        self._tables.ended = True
        if self.armed is not None:
            self.armed.close()
        self.drain()
        self._tables.objects.finish(*self.agent.object_share())
        self.probes.write_counts()
        self._tables.lock_samples.finish()
        for index, slot in self._slots.items():
            self._count_acquisitions(index, slot)
        write_steps(self.segment, self._tables.codes, self.tids, self.agent.area)
        self.settle()
        self.set_capture(self._counted)
        if self.metrics is not None:
            self.metrics.close()
        now = time.monotonic_ns()
        self._tables.flow.finish(now)
        self.threads.finish(now, ended=ended)
        self._write_unsampled(now)
        facts: dict[str, Any] = {"end_ns": now - self.segment.origin} if ended else {}
        if exit_ is not None:
            facts["exit"] = exit_
        if facts:
            self.writer.update("processes", self.segment.row, **facts)

    def close(self) -> None:
        self._slots.clear()
        self.open_locks.clear_rings()
        self.agent.close()

    # ---- what it says about itself

    def counts(self) -> dict[str, int]:
        counts = self.agent.counts(self.runtime)
        counts["undecodable"] += self._tables.undescribed
        has_timers = self.agent.reader_mode() == shm.SAMPLER_CPU_TIMER
        if self.armed is not None and self.armed.sampler == "cpu-timer" and not has_timers:
            counts["without_timers"] = 1
        return {
            **counts,
            "undecodable_waits": self._tables.undecodable_waits,
            "garbled_rings": self._tables.garbled,
            **self.cpu.counts(),
            **{f"event_{number}": n for number, n in self._tables.events_reported.items()},
        }

    def _process_row(self) -> int:
        ppid, executable, argv = self.about
        start = max(self.started - self.segment.origin, 0)
        return self.writer.append(
            "processes", self.pid, ppid, self.runtime, self._version, executable, argv, start, -1,
            "", self._number, 0, undercounted(self.runtime, self._version),
        )  # fmt: skip
