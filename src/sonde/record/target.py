"""One target process (strictly: one program image in it) as its recorder sees it."""

from __future__ import annotations

import itertools
import mmap
import os
import time
from typing import TYPE_CHECKING, Any

from sonde.recording.schema import VIRTUAL_TID

from . import procfs, shm, unwalked, windows
from .contexts import SHORT_THREADS, Codes, Contexts
from .lock_runs import LockRows, LockRuns
from .maps import Maps
from .open_locks import OpenLocks
from .procfs import birth_of, born_ticks, cpu_of, inode_at, process_cpu
from .slots import OpenWait, Slot
from .spans import Spans
from .tids import ThreadIds
from .weights import NO_THREAD_OBJECT, WAITING, ThreadTime

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from sonde.recording.writer import Writer

    from .arming import Armed
    from .metrics import Metrics


# A reader looks at every waiting thread this often at least (native/core/reader.c, twice LOOK_NS):
# one not seen for longer had ended.
LOOK_NS = 100_000_000


# A name may be told this long before its thread is first seen.
NAME_NS = 60_000_000_000
NAMES_AT_ONE_PLACE = 8

# Threads that were gone before anybody could ask when they were born.
_UNKNOWN = 1 << 63
_unknown = itertools.count(int.from_bytes(os.urandom(4), "little") << 24)
_images: dict[int, int] = {}


class TargetProcess:
    """Its memory, its threads, and what its agent counted."""

    def __init__(
        self,
        pid: int,
        runtime: str,
        version: str,
        writer: Writer,
        contexts: Contexts,
        lock_rows: LockRows,
        origin: int,
        slots: int,
        ring_size: int,
    ) -> None:
        self.pid = pid
        self.runtime = runtime
        self.writer = writer
        self.contexts = contexts
        self.lock_rows = lock_rows
        self.origin = origin
        self.ring_size = ring_size
        self.tids = ThreadIds(pid)
        self.codes = Codes(contexts, runtime)
        self.names: dict[int, list[tuple[int, str]]] = {}
        """What threads are called since when, by the address of their threading.Thread."""
        self.told_names: dict[int, str] = {}
        """The same by thread id, as a program told of itself."""
        self.spans = Spans(self)
        self.open_waits: dict[int, OpenWait] = {}
        self.polls_waits = False
        """Waits are seen from outside only, not told by the threads themselves."""
        self._times: dict[int, ThreadTime] = {}
        self._lock_rows: dict[tuple[int, int], int] = {}
        self._counted: Container[str] | None = ()
        """What is captured at the moment; None: nothing, this is a pause."""
        self._untyped: set[tuple[int, int]] = set()
        """Locks of which nobody has told the type yet."""
        self._virtual_rows: dict[int, int] = {}
        self.types: dict[int, str] = {0: ""}
        """What classes are called, by the number the agent gave them."""
        self.armed: Armed | None = None
        self.metrics: Metrics | None = None
        self.maps = Maps(pid)
        self.event_periods: dict[int, int] = {}
        self.events_told: dict[int, int] = {}
        """Of each kernel event, by its number."""
        self.ended = False
        self.garbled = self.undescribed = self.running = self.cpu_sampled = 0
        self.started = time.monotonic_ns()
        self.seam = 0
        """When the part being written followed another one; 0 in the first."""
        self.open_locks = OpenLocks(self)
        # Of this part, as are all figures that become rows at its end.
        self._part_since = self.started
        self._cpu_before = self._turned_cpu = process_cpu(pid)
        self._sampled_before = self._unsampled = self._unsampled_before = 0
        self._version = version
        # A process that executes another program is another one to us.
        image = _images[pid] = _images.get(pid, -1) + 1
        self._number = born_ticks(pid, pid) << 20 | image & 0xFFFFF
        self._about = procfs.about(pid)
        self.size = shm.size_of(slots, ring_size)
        self.rings_at = self.size - slots * ring_size
        self.memfd = os.memfd_create("sonde", os.MFD_CLOEXEC)
        os.ftruncate(self.memfd, self.size)
        self.memory = memoryview(mmap.mmap(self.memfd, self.size))
        self.lock_runs = LockRuns(lock_rows, self.memory, ring_size)
        shm.HEADER.pack_into(
            self.memory, 0, shm.MAGIC, shm.PROTOCOL, slots, ring_size, 0, 0, 0, 0, 0, 0, 0, 0, 0
        )
        self._slots: dict[int, Slot] = {}
        self.row = self._process_row()

    # ---- threads

    def baseline_of(self, tid: int) -> tuple[int, int]:
        """When a thread's life in this recording began and its CPU time at that moment."""
        if self.armed is not None and tid in self.armed.baseline:
            return self.armed.baseline[tid]
        return 0, 0

    def time_of(self, tid: int, seen: int, born: int = 0) -> ThreadTime:
        """Of a thread that was seen then; when it was born is asked for only if nobody knows."""
        time_ = self._times.get(tid)
        if time_ is None:
            start, cpu = self.baseline_of(tid)
            start = start or born or birth_of(self.pid, tid) or seen
            time_ = self._times[tid] = ThreadTime(self, tid, start, cpu)
        return time_

    def has(self, time_: ThreadTime) -> bool:
        """Whether that thread still has rows here."""
        return self._times.get(time_.tid) is time_

    def is_armed(self) -> None:
        """What the process used until now, to be entered, is nobody's to be sampled."""
        self._cpu_before = process_cpu(self.pid)

    def thread_row(self, tid: int, seen: int) -> int:
        """A row of the thread's, whichever interpreter it runs."""
        time_ = self.time_of(tid, seen)
        return next(iter(time_.rows.values())) if time_.rows else time_.row(0)

    def ended_unseen(self, tid: int, now: int, cpu: int) -> None:
        """A thread is over; one that never told anything itself ended about now."""
        time_ = self._times.get(tid)
        if time_ is not None and time_.last_time == time_.born:
            time_.last_time = now
            time_.last_cpu += cpu

    def still_waits(self, tid: int, wait: OpenWait) -> None:
        """A thread was seen waiting; whether that wait ever ends is not known yet."""
        time_ = self.time_of(tid, wait.time)
        time_.is_thread(wait.thread_object, wait.time)
        if self.polls_waits:
            time_.waited(wait.time, wait.cpu, wait.place, WAITING, goes_on=True)
        else:
            self.open_waits[tid] = wait

    def name_of(self, tid: int, thread_object: int, at: int) -> str:
        if tid in self.told_names:
            return self.told_names[tid]
        if names := self.names.get(thread_object):
            return [name for since, name in names if since <= at or since == names[0][0]][-1]
        if tid == self.pid and self.runtime == "cpython":
            return "MainThread"
        return procfs.name_of(self.pid, tid)

    # ---- what is captured

    def order(self, what: int, period: int) -> None:
        """Tells the agent, which looks here before it does anything."""
        shm.ORDERS.pack_into(self.memory, shm.ORDERS_AT, what, 0, period)

    def order_calls(self, stride: int, samples: int, ticks: int) -> None:
        every = 1_000_000_000 // ticks
        shm.CALL_ORDERS.pack_into(self.memory, shm.CALL_ORDERS_AT, stride, samples, every)

    def why_no_ticks(self, armed: Armed) -> str:
        """Why no window can be opened in it, if so."""
        if self.runtime != "cpython":
            return f"calls of {self.runtime} programs are not counted"
        if armed.code != shm.SAMPLER_PERF or armed.sampler == "remote":
            return f"calls are counted by perf signals only, and the sampler is {armed.sampler}"
        return ""

    def marks_activations(self) -> bool:
        """Whether its threads can tell which frames are the same as in their last samples."""
        by_perf = self.armed is not None and self.armed.code == shm.SAMPLER_PERF
        return self.runtime == "cpython" and by_perf

    def why_no_calls(self) -> str:
        """Why its agent does not count calls, if so."""
        return windows.REFUSALS.get(shm.CALLS.unpack_from(self.memory, shm.CALLS_AT)[0], "")

    def stand_still(self) -> None:
        """Nothing is captured until it is armed again."""
        if self.armed is not None:
            self.armed.close()
        self.order(0, shm.ORDERS.unpack_from(self.memory, shm.ORDERS_AT)[2])
        self.captures(None)

    def captures(self, what: Container[str] | None) -> None:
        """This is captured from now on; None: nothing, and the time counts for no thread."""
        for tid, time_ in self._times.items():
            if cpu := cpu_of(self.pid, tid):
                time_.turn(time.monotonic_ns(), cpu, self._counted)
        used = process_cpu(self.pid)
        if not self._counts_cpu():
            self._cpu_before += max(used - self._turned_cpu, 0)
        self._turned_cpu, self._counted = used, what

    def _counts_cpu(self) -> bool:
        return self._counted is not None and "cpu" in self._counted

    def still_mapped(self) -> bool:
        """Is the program that mapped our memory still the one that runs?"""
        return "memfd:sonde" in procfs.maps_of(self.pid)

    def poll_cpu(self, period: int) -> None:
        """Compares what the process used with what samples stand for.

        A thread's first tick comes after a full period: one that lives for less is never sampled.
        Its time must not vanish without a word.
        """
        if not self._counts_cpu():
            return
        reader_ns = shm.HEADER.unpack_from(self.memory, 0)[10]  # the agent's own thread
        used = process_cpu(self.pid) - self._cpu_before - reader_ns
        self.drain()  # what was sampled until then, or a slow drain looks like unsampled threads
        if used <= 0:
            return
        sampled = self.cpu_sampled - self._sampled_before
        self._unsampled = used - sampled - (len(self._times) + 1) * period
        if self._tells_unsampled():
            # Known threads may have used it: one that exits gets no more ticks but gives back much
            # memory yet.
            self._unsampled -= sum(
                max(cpu_of(self.pid, tid) - time_.last_cpu, 0) for tid, time_ in self._times.items()
            )

    def _tells_unsampled(self) -> bool:
        return self._unsampled > (self.cpu_sampled - self._sampled_before) // 100

    def _write_unsampled(self, now: int) -> None:
        if not self._tells_unsampled():
            return
        row = self.writer.append(
            "threads", self.row, 0, SHORT_THREADS, 0, self._part_since - self.origin,
            now - self.origin, self._unsampled,
        )  # fmt: skip
        context = self.standing_for(SHORT_THREADS)
        self.writer.append("samples", row, now - self.origin, context, self._unsampled, 0)

    def unnamed(self) -> set[int]:
        """The threading.Thread objects seen of which nobody has told the name yet."""
        found = {slot.thread_object() for slot in self._slots.values()}
        return {address for address in found if address > NO_THREAD_OBJECT} - self.names.keys()

    def standing_for(self, what: str) -> int:
        return self.contexts.standing_for(what, self.runtime)

    def virtual_row(self, number: int, now: int) -> int:
        """The row of a thread that the kernel does not know, by the number its runtime gave it.

        In the place of a thread id it has that number, above all that the kernel gives.
        """
        row = self._virtual_rows.get(number)
        if row is None:
            names = self.names.get(number)
            # Most have no name of their own.
            name = names[-1][1] if names else f"virtual thread {number & ~shm.VIRTUAL}"
            row = self._virtual_rows[number] = self.writer.append(
                "threads", self.row, VIRTUAL_TID | number & (VIRTUAL_TID - 1), name, 0,
                max(now - self.origin, 0), -1, -1, number,
            )  # fmt: skip
        return row

    def virtual_is(self, number: int, name: str) -> None:
        """What a thread is called that may have been seen before."""
        if number not in self.names and number in self._virtual_rows:
            self.writer.update("threads", self._virtual_rows[number], name=name)
        self.names[number] = [(time.monotonic_ns(), name)]

    # ---- locks

    def lock_row(self, address: int, kind: int, type_: str = "") -> int:
        key = (address, kind)
        row = self._lock_rows.get(key)
        if row is None:
            row = self._lock_rows[key] = self._new_lock(address, kind, type_)
            if not type_:
                self._untyped.add(key)
        elif type_ and key in self._untyped:  # who let it go was drained before who waited
            self._untyped.remove(key)
            self.writer.update("locks", row, type=type_)
        return row

    def learn_lock(self, address: int, kind: int, row: int) -> None:
        """What runs of its events need to know."""
        key = (address, kind)
        typed, held = key not in self._untyped, self.open_locks.is_held(*key)
        self.lock_runs.learn_lock(address, kind, row, typed, held)

    def look_at_waits(self, now: int) -> None:
        """Tells of those that have lasted for long."""
        self._keep_waits()
        self.open_locks.look(now)

    def keep_wait(self, tid: int) -> None:
        """What a run left open of this thread's is kept in mind here."""
        for slot in self._slots.values():
            if slot.tid == tid:
                slot.locks.keep_wait()

    def wait_changes(self, tid: int) -> None:
        for slot in self._slots.values():
            if slot.tid == tid:
                slot.locks.wait_changes()

    def _keep_waits(self) -> None:
        for slot in self._slots.values():
            slot.locks.keep_wait()

    def _new_lock(self, address: int, kind: int, type_: str) -> int:
        made_of = shm.MADE_OF[kind] if kind < len(shm.MADE_OF) else ""
        if kind >= shm.KIND_MONITOR:
            address &= 0xFFFFFFFF  # the identity hash; above it is what tells uses of it apart
        if made_of != "shared":
            return self.writer.append("locks", self.row, address, made_of, type_)
        # Each process has it mapped elsewhere; the file behind it is the same.
        inode = inode_at(self.pid, address) or address
        row = self.contexts.shared_locks.get(inode)
        if row is None:
            row = self.writer.append("locks", self.row, inode, made_of)
            self.contexts.shared_locks[inode] = row
        return row

    # ---- draining

    def drain(self) -> float:
        """Takes what the rings hold; returns how full the fullest one was."""
        header = shm.HEADER.unpack_from(self.memory, 0)
        fullest = 0
        for index in range(min(header[11], header[2])):
            base = shm.HEADER_SIZE + index * shm.SLOT_SIZE
            state, tid, claimed, _, _ = shm.SLOT_FACTS.unpack_from(self.memory, base)
            if state != shm.SLOT_USED or not tid:
                continue
            slot = self._slots.get(index)
            if slot is None or slot.claimed != claimed:
                slot = self._slots[index] = Slot(self, index, self.tids.ours(tid), claimed)
            fullest = max(fullest, slot.backlog())
        waiting = [slot for slot in self._slots.values() if not slot.drain()]
        for slot in waiting:  # the ring it waited for may have come after it
            slot.drain()
        return fullest / self.ring_size

    def settle(self) -> None:
        """Nothing is kept back any more that a later record might tell more about."""
        for slot in self._slots.values():
            slot.end()

    def sweep(self) -> None:
        """Frees the slots of threads that are gone, so that any number of threads finds one."""
        alive = procfs.threads_of(self.pid)
        newest: dict[int, int] = {}
        for slot in self._slots.values():
            newest[slot.tid] = max(newest.get(slot.tid, 0), slot.claimed)
        for index, slot in list(self._slots.items()):
            if slot.tid == shm.NOTES_TID:
                continue
            gone = slot.tid not in alive
            if not gone and newest[slot.tid] != slot.claimed:
                # A thread has two where a reader feeds one for it and it tells of locks in the
                # other; it is another thread's that had the same id if it is older than the thread.
                gone = slot.claimed < birth_of(self.pid, slot.tid)
            if gone and slot.drain() and not slot.backlog():
                ended = self._times.pop(slot.tid, None)
                slot.end()
                if ended is not None:
                    ended.write_end(ended.last_time)
                slot.locks.keep_wait()
                self.open_locks.forget(slot.tid)
                self._free(index, slot)

    def _free(self, index: int, slot: Slot) -> None:
        del self._slots[index]
        shm.SLOT_FACTS.pack_into(self.memory, slot.base, shm.SLOT_USED, 0, 0, 0, 0)
        self.memory[slot.base : slot.base + 4] = shm.SLOT_FREE.to_bytes(4, "little")

    # ---- parts

    def end_part(self, now: int) -> None:
        """Writes what the rows of this part are to say; the process goes on in the next."""
        self.captures(self._counted)
        alive = procfs.threads_of(self.pid)
        for tid, time_ in self._times.items():
            if tid in alive:
                time_.write_end(now, max(time_.last_cpu, cpu_of(self.pid, tid)))
            else:
                time_.write_end(time_.last_time)
        self._write_unsampled(now)

    def renew(self, now: int, carried: Callable[[int], int]) -> None:
        """All rows are new ones, of a part that begins now."""
        self._keep_waits()
        self.lock_runs.forget()
        self.origin = self.seam = self._part_since = now
        self._unsampled_before += max(self._unsampled, 0)
        self._unsampled = 0
        self._sampled_before = self.cpu_sampled
        reader_ns: int = shm.HEADER.unpack_from(self.memory, 0)[10]
        self._turned_cpu = process_cpu(self.pid)
        self._cpu_before = self._turned_cpu - reader_ns
        self.codes.renew()
        self._lock_rows.clear()
        self._untyped.clear()
        self._virtual_rows.clear()
        self._forget_names(now)
        self.row = self._process_row()
        for slot in self._slots.values():
            slot.renew(carried)
        for tid, wait in self.open_waits.items():
            place = wait.place._replace(context=carried(wait.place.context))
            self.open_waits[tid] = wait._replace(place=place)
        for time_ in self._times.values():
            time_.renew(carried)
        self.spans.renew()
        self.open_locks.repeat(carried)

    def _forget_names(self, now: int) -> None:
        """Of threads that are over, told so long ago that no ring speaks of them any more."""
        known = {slot.thread_object() for slot in self._slots.values()}
        known |= {time_.thread_object for time_ in self._times.values()}
        known |= self.open_locks.virtual()
        for address, names in list(self.names.items()):
            if address not in known and now - names[-1][0] > NAME_NS:
                del self.names[address]
            else:
                del names[:-NAMES_AT_ONE_PLACE]

    def number_of(self, tid: int) -> int:
        """Tells a thread from all others that ever had its id, in every part of a session."""
        return born_ticks(self.pid, tid) or _UNKNOWN | next(_unknown)

    # ---- the end

    def finish(self, ended: bool, exit_: str | None) -> None:
        """The last drain; `ended` tells whether the process is gone or the recording is over."""
        self.ended = True
        if self.armed is not None:
            self.armed.close()
        self.drain()
        self.settle()
        self.captures(self._counted)
        if self.metrics is not None:
            self.metrics.step(told=self._counted is not None and "threads" in self._counted)
            self.metrics.close()
        now = time.monotonic_ns()
        alive = set() if ended else procfs.threads_of(self.pid)
        for tid, time_ in self._times.items():
            wait = self.open_waits.get(tid)
            if wait is not None:
                # It was in this wait when last seen, and told of no end: it is in it still.
                time_.waited(now, wait.cpu, wait.place, WAITING)
                time_.write_end(now)
            elif tid in alive or (self.polls_waits and now - time_.last_time < LOOK_NS):
                time_.finish_wait(now, time_.last_cpu)
                time_.last_cpu = max(time_.last_cpu, cpu_of(self.pid, tid))
                time_.write_end(now)
            else:
                time_.write_end(time_.last_time)
        self._write_unsampled(now)
        facts: dict[str, Any] = {"end_ns": now - self.origin} if ended else {}
        if exit_ is not None:
            facts["exit"] = exit_
        if facts:
            self.writer.update("processes", self.row, **facts)

    def close(self) -> None:
        self._slots.clear()
        self.memory.release()
        os.close(self.memfd)

    # ---- what it says about itself

    def counts(self) -> dict[str, int]:
        header = shm.HEADER.unpack_from(self.memory, 0)
        total = [0] * 8
        lock_events = lock_events_lost = 0
        calls = calls_lost = opened = missed = frames = visited = 0
        for index in range(min(header[11], header[2])):
            at = shm.HEADER_SIZE + index * shm.SLOT_SIZE + shm.HEAD_AT
            for i, n in enumerate(shm.SLOT_COUNTS.unpack_from(self.memory, at)):
                total[i] += n
            told, unwritten = shm.SLOT_LOCK_COUNTS.unpack_from(
                self.memory, at - shm.HEAD_AT + shm.LOCK_COUNTS_AT
            )
            lock_events += told
            lock_events_lost += unwritten
            counted = shm.SLOT_CALL_COUNTS.unpack_from(
                self.memory, at - shm.HEAD_AT + shm.CALL_COUNTS_AT
            )
            calls, calls_lost = calls + counted[0], calls_lost + counted[1]
            opened, missed = opened + counted[2], missed + counted[3]
            stood, seen = shm.SLOT_FRAMES.unpack_from(self.memory, at - shm.HEAD_AT + shm.FRAMES_AT)
            frames, visited = frames + stood, visited + seen
        _, taken, lost, undecodable, truncated, agent_ns, waits, duplicate = total
        return {
            "taken": taken,
            "lost": lost,
            "undecodable": undecodable + self.undescribed,
            "truncated": truncated,
            "agent_cpu_ns": agent_ns + header[10],
            "events_lost": lost + header[6] + lock_events_lost + header[12] + calls_lost,
            "lock_events": lock_events,
            "lock_events_lost": lock_events_lost,
            **windows.counts(calls, calls_lost, opened, missed),
            "waits": waits,
            "duplicate_signals": duplicate,
            "late_signals": header[7],
            "frames": frames,
            "frames_visited": visited,
            **self._checked(),
            "unnamed_code": header[8],
            "faults": header[9],
            "garbled_rings": self.garbled,
            "unsampled_cpu_ns": self._unsampled_before + max(self._unsampled, 0),
            "running": self.running,
            "cpu_sampled_ns": self.cpu_sampled,
            **self._unwalked(),
            **{f"event_{number}": n for number, n in self.events_told.items()},
        }

    def _checked(self) -> dict[str, int]:
        """Walks that were made twice, if that was asked for."""
        checked, wrong = shm.WALKS.unpack_from(self.memory, shm.WALKS_AT)
        return {"walks_checked": checked, "walks_wrong": wrong} if checked else {}

    def _unwalked(self) -> dict[str, int]:
        """Stacks that the runtime itself could not walk, by reason; they are undecodable."""
        counts = shm.UNWALKED.unpack_from(self.memory, shm.UNWALKED_AT)
        reasons = unwalked.REASONS.get(self.runtime, ())
        return {f"unwalked_{name}": n for name, n in zip(reasons, counts, strict=False) if n}

    def set_event_periods(self, periods: dict[int, int]) -> None:
        self.event_periods = periods
        for number, period in periods.items():
            at = shm.EVENT_PERIODS_AT + number * shm.WORD.size
            shm.WORD.pack_into(self.memory, at, period)

    def endless(self) -> int:
        """Kernel events that nothing but their own signals causes, bits by number."""
        bits: int = shm.ENDLESS.unpack_from(self.memory, shm.ENDLESS_AT)[0]
        return bits

    def reader_mode(self) -> int:
        mode: int = shm.HEADER.unpack_from(self.memory, 0)[5]
        return mode

    def _process_row(self) -> int:
        ppid, executable, argv = self._about
        start = max(self.started - self.origin, 0)
        return self.writer.append(
            "processes", self.pid, ppid, self.runtime, self._version, executable, argv, start, -1,
            "", self._number,
        )  # fmt: skip
