"""The tables of one process: what decoding its records reads and writes, subject by subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..shm.lock_drain import LockRows, LockRuns
from ..shm.thread_ids import ThreadIds
from ..tables.active_sampler import Sampling
from ..tables.lock_samples import SampledLocks
from ..tables.lock_table import Locks
from ..tables.memory_maps import MemoryMaps
from ..tables.open_lock_waits import OpenLockWaits
from ..tables.probe_values import ProbeValues
from ..tables.process_cpu import ProcessCpu
from ..tables.sampled_objects import SampledObjects
from ..tables.segment import ProcessSegment
from ..tables.spans import Spans
from ..tables.stacks.contexts import Codes, Contexts
from ..tables.tasks import Tasks
from ..tables.thread_names import ThreadNames
from ..tables.threads import Threads
from .call_flow import CallFlow

if TYPE_CHECKING:
    from ..shm.agent_memory import AgentMemory
    from ..tables.stacks.live_profile import LiveProfile


class ProcessTables:
    def __init__(
        self,
        segment: ProcessSegment,
        contexts: Contexts,
        lock_rows: LockRows,
        agent: AgentMemory,
        online: LiveProfile | None,
    ) -> None:
        pid, runtime = segment.pid, segment.runtime
        self.segment = segment
        self.contexts = contexts
        self.online = online
        self.lock_rows = lock_rows
        self.memory = agent.view
        self.rings_at, self.ring_size = agent.rings_at, agent.ring_size
        self.sampling = Sampling(runtime)
        self.tids = ThreadIds(pid)
        self.codes = Codes(contexts, runtime)
        self.names = ThreadNames(pid, runtime)
        self.cpu = ProcessCpu(pid)
        self.lock_runs = LockRuns(lock_rows, agent.view, agent.ring_size)
        self.spans = Spans(segment, self.lock_runs)
        self.threads = Threads(segment, self.sampling, self.names, self.spans, self.cpu)
        self.locks = Locks(segment, contexts)
        self.open_locks = OpenLockWaits(segment, self.threads, self.locks, self.spans, lock_rows)
        self.lock_samples = SampledLocks(segment, self.locks, self.spans)
        self.objects = SampledObjects(segment, contexts)
        self.probes = ProbeValues(segment, contexts, agent.area)
        self.flow = CallFlow(segment, contexts, self.codes, agent.flow)
        self.tasks = Tasks(segment, self.codes)
        self.maps = MemoryMaps(pid)
        self.types: dict[int, str] = {0: ""}
        """What classes are called, by the number the agent gave them."""
        self.event_periods: dict[int, int] = {}
        self.events_reported: dict[int, int] = {}
        """Of each kernel event, by its number."""
        self.ended = False
        """No ring gets another record."""
        self.garbled = self.undescribed = self.undecodable_waits = 0

    def pseudo_context(self, what: str) -> int:
        return self.contexts.pseudo_context(what, self.segment.runtime)
