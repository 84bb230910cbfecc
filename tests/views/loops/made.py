"""Tables of tasks for synthetic recordings."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from sonde.recording.tables import Functions, Recording, Samples
from sonde.recording.task_tables import (
    LoopTimes,
    TaskAwaiters,
    TaskResumptions,
    Tasks,
    TaskTimes,
    TaskWaits,
)
from synthetic import Maker

MS = 1_000_000
_TYPES: dict[str, Any] = {
    "kind": np.uint8, "woken": np.uint8, "ended": np.uint8, "process": np.uint32,
    "thread": np.uint32, "steps": np.uint32, "tasks": np.uint32, "id": np.uint64,
    "task": np.uint64, "parent": np.uint64, "waker": np.uint64, "awaiter": np.uint64,
    "object": np.uint64, "function": np.int32, "context": np.int32,
}  # fmt: skip
_TEXTS = ("name", "runtime")


def table(kind: type[Any], rows: list[dict[str, Any]]) -> Any:
    """Columns that a row leaves out are 0."""
    return kind(
        **{
            column.name: [row.get(column.name, "") for row in rows]
            if column.name in _TEXTS
            else np.array(
                [row.get(column.name, 0) for row in rows], _TYPES.get(column.name, np.int64)
            )
            for column in fields(kind)
        }
    )


class TaskMaker(Maker):
    """Collects tasks, each named after its number, with the coroutine function `coro<number>`."""

    def __init__(self) -> None:
        super().__init__()
        self.thread("MainThread")
        self.tasks: list[dict[str, Any]] = []
        self.waits: list[dict[str, Any]] = []
        self.resumptions: list[dict[str, Any]] = []
        self.awaiters: list[dict[str, Any]] = []
        self.in_tasks: list[int] = []

    def task(self, number: int, parent: int = 0) -> None:
        self.context(f"coro{number}:1")
        row = next(i for i, key in enumerate(self.functions) if key[0] == f"coro{number}")
        self.tasks.append(
            {"id": number, "name": f"task-{number}", "function": row, "parent": parent}
        )

    def suspended(
        self,
        task: int,
        chain: str,
        since: int,
        until: int,
        by: int = 0,
        object_: int = 0,
        woken: int = 1,
        ready: int = 0,
    ) -> None:
        """In ms; `by` is the task that resumed it, which it did in `release`."""
        self.waits.append(
            {
                "time": (until + ready) * MS, "task": task, "ready_ns": ready * MS,
                "suspended_ns": (until - since) * MS, "waker": by, "woken": woken,
                "context": self.context(chain), "object": object_,
            }
        )  # fmt: skip
        if by:
            self.resumptions.append(
                {
                    "time": until * MS, "task": task, "waker": by, "woken": woken,
                    "since_ns": -1, "function": -1, "context": self.context("coro9:1 > release:5"),
                }
            )  # fmt: skip

    def ran(self, task: int, chain: str, ns: int) -> None:
        self.sample(f"_run_once:1 > {chain}", ns)
        self.in_tasks.append(task)

    def tasked(self) -> Recording:
        found = self.recording()
        samples = replace(found.samples, task=np.array(self.in_tasks, np.uint64))
        assert isinstance(found.functions, Functions)
        assert isinstance(samples, Samples)
        return replace(
            found,
            samples=samples,
            tasks=table(Tasks, self.tasks),
            task_times=table(TaskTimes, []),
            task_waits=table(TaskWaits, sorted(self.waits, key=lambda row: int(row["time"]))),
            task_resumptions=table(TaskResumptions, self.resumptions),
            task_awaiters=table(TaskAwaiters, self.awaiters),
            loop_times=table(LoopTimes, [{"time": 1, "runtime": "asyncio", "steps": 1}]),
        )
