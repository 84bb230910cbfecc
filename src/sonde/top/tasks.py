"""The tasks of the watched process, and how long each is known to await what it awaits."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sonde.model.task_graph import TasksNow
from sonde.record.remote_tasks.snapshot import TaskReader
from sonde.reports.live.tasks import TasksSeen

if TYPE_CHECKING:
    from collections.abc import Mapping

SECOND = 1_000_000_000
MIN_INTERVAL_S = 1.0
SHARE = 0.02
"""Reading many tasks takes long; it is done less often, so that it takes at most this of a core."""


class TaskWatch:
    def __init__(self, pid: int) -> None:
        self._reader = TaskReader(pid)
        self._since: dict[tuple[int, int], float] = {}
        self._next = 0.0
        self.seen = TasksSeen(TasksNow(), [])

    def look(self, threads: Mapping[int, str]) -> bool:
        """Reads them again if it is time; whether it was."""
        began, used = time.monotonic(), time.process_time()
        if began < self._next:
            return False
        now = self._reader.read().named(threads)
        self._since = {
            task.wait: self._since.get(task.wait, began) for task in now.tasks if task.wait[1]
        }
        lasted = [round((began - self._since.get(task.wait, began)) * SECOND) for task in now.tasks]
        self.seen = TasksSeen(now, lasted)
        self._next = began + max(MIN_INTERVAL_S, (time.process_time() - used) / SHARE)
        return True
