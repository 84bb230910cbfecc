"""A process seen from outside only: what its threads use, by the kernel's counters."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sonde.errors import SondeError

from .counters import Countable, Counters, Used
from .procfs import threads_of


@dataclass(frozen=True)
class ThreadStep:
    tid: int
    name: str
    used: Used

    def to_json(self) -> dict[str, Any]:
        figures = {key: None if value < 0 else value for key, value in asdict(self.used).items()}
        return {"tid": self.tid, "name": self.name, **figures}


class WatchedProcess:
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
            used = counters.step() or Used().since(Used())
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
        self.gone = not alive or (alive == {self._pid} and _is_over(self._pid))
        for tid in alive:
            if tid not in self._threads:
                self._threads[tid] = Counters(self._pid, tid, self._countable)
            self._names[tid] = _name(self._pid, tid) or self._names.get(tid, "")
        return alive


def _is_over(pid: int) -> bool:
    """A process that has ended stays in the list until its parent has heard of it."""
    try:
        with open(f"/proc/{pid}/stat", errors="replace") as f:
            text = f.read()
    except OSError:
        return True
    return text[text.rfind(")") + 1 :].split()[0] in ("Z", "X")


def _name(pid: int, tid: int) -> str:
    try:
        with open(f"/proc/{pid}/task/{tid}/comm", errors="replace") as f:
            return f.read().rstrip("\n")
    except OSError:
        return ""
