"""A process seen from outside only: what its threads use, by the kernel's counters."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sonde.errors import SondeError

from .procfs import is_alive, name_of, threads_of
from .thread_counters import Countable, Counters, CounterTotals


@dataclass(frozen=True)
class ThreadStep:
    tid: int
    name: str
    used: CounterTotals

    def to_json(self) -> dict[str, Any]:
        figures = {key: None if value < 0 else value for key, value in asdict(self.used).items()}
        return {"tid": self.tid, "name": self.name, **figures}


class ThreadUsage:
    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._countable = Countable()
        self._threads: dict[int, Counters] = {}
        self._names: dict[int, str] = {}
        self.gone = False
        self._look()
        if self.gone:
            raise SondeError(f"no process {pid}")

    def step(self) -> list[ThreadStep]:
        """What each thread used since the last step, the busiest first; idle ones last."""
        alive = self._look()
        steps: list[ThreadStep] = []
        for tid, counters in list(self._threads.items()):
            used = counters.step() or CounterTotals().since(CounterTotals())
            steps.append(ThreadStep(tid, self._names[tid], used))
            if tid not in alive:
                counters.close()
                del self._threads[tid]
        steps.sort(key=lambda step: (-step.used.cpu_ns, -step.used.run_delay_ns, step.tid))
        return steps

    def close(self) -> None:
        for counters in self._threads.values():
            counters.close()

    def _look(self) -> set[int]:
        alive = threads_of(self._pid)
        self.gone = not alive or (alive == {self._pid} and not is_alive(self._pid))
        for tid in alive:
            if tid not in self._threads:
                self._threads[tid] = Counters(self._pid, tid, self._countable)
            self._names[tid] = name_of(self._pid, tid) or self._names.get(tid, "")
        return alive
