"""A recording as the parts its page reads; every view of the page is made from these.

The parts hold the tables behind the views, not their results, so that the page can filter and
regroup by itself, and one file holds everything. Functions and call stacks that read the same to a
person are one here already, as in the views. `ui/src/data/recording.ts` describes the columns; how
they are written is known only here and in `decode.ts` and `waits.ts` beside it.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde._version import version
from sonde.model.cpu_loss import CPU_LOSS_CAUSES
from sonde.model.locks.contention import UNKNOWN, Ints
from sonde.model.locks.lock_kinds import KINDS
from sonde.model.order import stable_order
from sonde.model.survival import NEVER
from sonde.model.trees.context_tree import ContextTree, Merged
from sonde.views.calls.calls import calls, picked
from sonde.views.locks.contentions import contended
from sonde.views.locks.locks import ASPECTS
from sonde.views.loops.lock_rows import KIND
from sonde.views.objects.sampled import sampled
from sonde.views.quality import quality
from sonde.views.selecting.duration import duration_ns
from sonde.views.selecting.formatting import duration
from sonde.views.selecting.own_code import is_own
from sonde.views.selecting.profile import Function
from sonde.views.selecting.selection import Selection
from sonde.views.selecting.sources import Sources
from sonde.views.selecting.stolen_time import by_step, corrected_cpu, is_counted, starts
from sonde.views.spans import spans
from sonde.views.summary import summary
from sonde.views.threads import lives
from sonde.web.coarse import MAX_SAMPLES, CoarseSamples, merged
from sonde.web.columns import changes, deflated, part, signed, unsigned
from sonde.web.flow import flow_facts, flow_part
from sonde.web.modules import module_of
from sonde.web.tasks import loop_facts, loop_locks, task_part, task_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sonde.recording.tables import Recording

PARTS = (
    "meta", "contexts", "samples", "waits", "spans", "calls", "objects", "flow", "tasks", "sources",
)  # fmt: skip

SOURCE_SUFFIXES = (".py", ".pyw", ".pyi", ".pyx")

STATES = 3
"""Of samples: running, waiting, preempted."""

HEAVIEST = 1 << 40
"""What the heaviest of the counted calls weighs on the page, where numbers are whole."""


class Bundle:
    """The parts of one recording, each made when it is first asked for."""

    def __init__(self, recording: Recording, *, sources: bool) -> None:
        """`sources`: whether source text can be had, embedded or by asking."""
        self.recording = recording
        self.sources = sources

    @cached_property
    def meta(self) -> bytes:
        """Everything that is not a long column."""
        recording = self.recording
        everything = contended(recording)
        functions = everything.chains.functions
        files: dict[str, int] = {}
        loops = loop_facts(recording)
        facts = {
            "file": PurePath(recording.path).name,
            "version": version(),
            "target": recording.target,
            "duration": duration_ns(recording),
            "summary": summary(recording).to_json(),
            "quality": self._quality(),
            "warnings": recording.warnings,
            "kinds": [*KINDS, KIND],
            "aspects": ASPECTS,
            "undecided": everything.undecided,
            "hasSources": self.sources,
            "counts": {
                "samples": len(recording.samples)
                if self._coarse is None
                else len(self._coarse.row),
                "contentions": len(everything),
                "spans": len(recording.spans),
                "calls": len(recording.calls),
                "objects": len(recording.objects),
                "tasks": len(recording.tasks),
            },
            "loops": loops,
            "taskNames": list(recording.tasks.name),
            "flow": flow_facts(recording),
            "survival": bool((recording.objects.id != 0).any()),
            "advice": self._advice(functions),
            "spans": self._span_rows,
            "spanPaths": self._span_paths(),
            "processes": self._processes(),
            "threads": self._threads(),
            "functions": [
                [f.name, files.setdefault(f.file, len(files)), f.line, f.runtime, module_of(f), own]
                for f, own in zip(functions, is_own(recording, functions), strict=True)
            ],
            "files": list(files),
            "locks": [
                {
                    "name": lock.name,
                    "short": lock.short,
                    "lock_class": lock.lock_class,
                    "kind": lock.kind,
                    "process": lock.process,
                }
                for lock in everything.locks
            ]
            + loop_locks(recording, loops),
            "taken": self._taken(),
            "marks": [
                {
                    "time": time,
                    "thread": thread,
                    "text": f"{text}, {duration / 1e6:.1f} ms" if duration else text,
                }
                for time, thread, text, duration in zip(
                    recording.marks.time.tolist(),
                    recording.marks.thread.tolist(),
                    recording.marks.text,
                    recording.marks.duration_ns.tolist(),
                    strict=True,
                )
            ],
        }
        return deflated(json.dumps(facts, separators=(",", ":")).encode())

    def _advice(self, functions: list[Function]) -> list[dict[str, Any]]:
        """What to do about the calls of the whole recording, by kind and then heaviest first."""
        if not len(self.recording.calls):
            return []
        number = {function: i for i, function in enumerate(functions)}
        advice = calls(self.recording, top=0).advice
        return [
            {
                "kind": kind,
                "caller": number[piece.caller],
                "line": piece.line,
                "weight": piece.weight,
                "said": piece.said,
            }
            for kind, pieces in (("inline", advice.inlined), ("loop", advice.loops))
            for piece in pieces
        ]

    def _taken(self) -> list[list[int]]:
        """What others took: thread, from when to when, and by the queue, quota and hypervisor."""
        recording = self.recording
        if not is_counted(recording):
            return []
        metrics, lost = recording.metrics, by_step(recording)
        began = starts(recording)
        columns = (metrics.thread, began, metrics.time, *(lost[cause] for cause in CPU_LOSS_CAUSES))
        some = sum(lost[cause] for cause in CPU_LOSS_CAUSES) > 0
        steps = [np.asarray(column, np.int64)[some].tolist() for column in columns]
        return [list(step) for step in zip(*steps, strict=True)]

    def _processes(self) -> list[dict[str, Any]]:
        return [
            {
                "pid": process.pid,
                "ppid": process.ppid,
                "runtime": process.runtime,
                "version": process.version,
                "executable": process.executable,
                "argv": process.argv,
                "start": process.start_ns,
                "end": process.end_ns,
                "exit": process.exit,
            }
            for process in self.recording.processes
        ]

    def _threads(self) -> list[dict[str, Any]]:
        table = self.recording.threads
        labels, label = contended(self.recording).thread_names
        corrected = corrected_cpu(self.recording)
        start, end = lives(self.recording)
        return [
            {
                "process": int(table.process[i]),
                "tid": int(table.tid[i]),
                "name": table.name[i],
                "interpreter": int(table.interpreter[i]),
                "start": int(start[i]),
                "end": int(end[i]),
                "cpu": int(table.cpu_ns[i]),
                "corrected": int(corrected[i]),
                "label": labels[int(label[i])],
            }
            for i in range(len(table))
        ]

    @cached_property
    def contexts(self) -> bytes:
        chains = contended(self.recording).chains
        first = np.array([function.line for function in chains.functions], dtype=np.int64)
        # A line is near the first one of its function, which is known.
        near = chains.line - first[chains.function] if len(chains.line) else chains.line
        return part(changes(chains.tree.parent), unsigned(chains.function), signed(near))

    @cached_property
    def samples(self) -> bytes:
        """By thread: within one, times and contexts change little from sample to sample."""
        samples = self.recording.samples
        coarse = self._coarse
        if coarse is None:
            order = stable_order(samples.thread)
            time, weight = samples.time[order], samples.weight[order]
        else:
            order, time, weight = coarse.row, coarse.time, coarse.weight
        thread = samples.thread[order].astype(np.int64)
        before = np.roll(time, 1)
        before[np.flatnonzero(np.diff(thread, prepend=UNKNOWN))] = 0
        return part(
            changes(thread),
            # What a thread did between two samples is mostly the later one's weight.
            signed(time - before - weight),
            unsigned(self._node(samples.context[order]) + 1),
            signed(weight),
            unsigned(samples.state[order]),
            self._paths_of(samples.span[order]),
            unsigned(self._sampled_tasks[order] + 1 if len(self.recording.tasks) else []),
        )

    @cached_property
    def _sampled_tasks(self) -> Ints:
        """By sample the row of the task that ran; UNKNOWN: none."""
        recording = self.recording
        process = recording.threads.process[recording.samples.thread]
        return task_places(recording, process, recording.samples.task)

    @cached_property
    def _coarse(self) -> CoarseSamples | None:
        """The samples that stand for all of them, if a browser could not hold these."""
        samples = self.recording.samples
        if len(samples) <= MAX_SAMPLES:
            return None
        # In place, like everything that is done to so many: what they take is most of the memory.
        what = self._node(samples.context)
        what += 1
        what *= STATES
        what += samples.state
        what *= len(self.recording.spans) + 1
        what += samples.span
        what += 1
        if len(self.recording.tasks):
            what *= len(self.recording.tasks) + 1
            what += self._sampled_tasks
            what += 1
        return merged(
            samples.thread, samples.time, samples.state, what, samples.weight, MAX_SAMPLES
        )

    def _quality(self) -> dict[str, Any]:
        """What is to be known of the figures, with what the web UI itself leaves out."""
        facts: dict[str, Any] = quality(self.recording).to_json()
        coarse = self._coarse
        if coarse is not None:
            facts["problems"] = [
                {
                    "title": "times are coarser here than in the recording",
                    "detail": f"the web UI shows {len(self.recording.samples):,} samples merged "
                    f"into {len(coarse.row):,}: those of one thread with the same stack within "
                    f"{duration(coarse.bucket_ns)} are one, so a shorter range shows other stacks "
                    "than ran in it; sums are exact",
                    "share": 0.0,
                    "advice": "sonde report and sonde export read every sample",
                },
                *facts["problems"],
            ]
        return facts

    @cached_property
    def _span_rows(self) -> list[dict[str, Any]]:
        """Every name with its figures; a name's number is its place here."""
        rows: list[dict[str, Any]] = spans(self.recording).to_json()["rows"]
        return rows

    @cached_property
    def _nested(self) -> Merged:
        """Spans that read the same, from the outermost name to their own, are one path."""
        table = self.recording.spans
        number = {row["name"]: i for i, row in enumerate(self._span_rows)}
        return ContextTree(table.parent).merged([number[name] for name in table.name])

    def _span_paths(self) -> list[list[int]]:
        """By path: the one it continues, which has a smaller number or is -1, and its last name."""
        paths = self._nested
        pairs = zip(paths.tree.parent.tolist(), paths.key.tolist(), strict=True)
        return [list(pair) for pair in pairs]

    def _paths_of(self, span: NDArray[Any]) -> bytes:
        """Which path each of these lies in, if there is any."""
        if not len(self.recording.spans):
            return unsigned([])
        return unsigned(np.append(self._nested.node, UNKNOWN)[span] + 1)

    @cached_property
    def spans(self) -> bytes:
        """When each was entered and left, by thread and time."""
        table = self.recording.spans
        order = np.lexsort((table.start_ns, table.thread))
        start, end = table.start_ns[order], table.end_ns[order]
        open_ = end < 0
        length = np.where(open_, 0, np.maximum(end - start, 0) + 1)
        return part(
            changes(table.thread[order]),
            changes(start),
            unsigned(length),
            unsigned(self._nested.node[order]),
        )

    def _node(self, context: NDArray[Any]) -> Ints:
        node: Ints = contended(self.recording).chains.node[context]
        return node

    @cached_property
    def waits(self) -> bytes:
        """Waits and holds; which owner a part of a wait is attributed to follows from the two."""
        everything = contended(self.recording)
        found = everything.found
        holds = found.holds
        order = np.argsort(found.wait, kind="stable")
        begins = np.diff(found.wait[order], prepend=UNKNOWN) != 0
        flags = found.outcome[order].astype(np.int64)
        for bit, column in enumerate((found.clean, found.whole, everything.signalling), start=2):
            flags |= column[order].astype(np.int64) << bit
        flags |= begins.astype(np.int64) << 5
        flags |= everything.after_notification[order].astype(np.int64) << 6
        used = np.concatenate([found.context, found.tail_context, holds.context])
        used = np.unique(used[used >= 0])
        node = self._node(used)
        return part(
            unsigned(flags),
            unsigned(found.thread[order]),
            unsigned(everything.lock[order]),
            unsigned(everything.kind[order]),
            unsigned(self._node(found.context[order]) + 1),
            changes(found.start[order]),
            unsigned(found.length[order]),
            changes(found.first[order]),
            unsigned(found.held[order]),
            unsigned(found.tail_thread[order] + 1),
            unsigned(self._node(found.tail_context[order]) + 1),
            changes(holds.until),
            unsigned(holds.thread + 1),
            unsigned(self._node(holds.context) + 1),
            unsigned(holds.gap),
            unsigned(node),
            unsigned(everything.function[used] + 1),
            self._paths_of(everything.span[order]),
        )

    @cached_property
    def calls(self) -> bytes:
        """Windows, and the calls counted in them with what each of these weighs."""
        recording = self.recording
        _, rows, weight = picked(recording, Selection())
        heaviest = float(weight.max(initial=0)) or 1.0
        return part(
            unsigned(recording.windows.thread),
            changes(recording.windows.time),
            changes(recording.calls.window[rows]),
            unsigned(self._node(recording.calls.context[rows]) + 1),
            unsigned(np.rint(weight / heaviest * HEAVIEST)),
        )

    @cached_property
    def objects(self) -> bytes:
        """Sampled objects: when each was allocated and how long it was alive, if it ended."""
        found = sampled(self.recording, Selection())
        if found.followed.any():
            found = found.only(found.followed)
        table = self.recording.objects
        ended = found.end != NEVER
        length = np.where(ended, np.maximum(found.end - found.begin, 0) + 1, 0)
        return part(
            unsigned(table.thread[found.row]),
            changes(found.begin),
            unsigned(length),
            unsigned(self._node(table.context[found.row]) + 1),
            unsigned(np.rint(found.bytes)),
        )

    @cached_property
    def flow(self) -> bytes:
        return flow_part(self.recording, self._node)

    @cached_property
    def tasks(self) -> bytes:
        return task_part(self.recording, self._node)

    @cached_property
    def files(self) -> list[str]:
        """The files that functions of the recording stand in."""
        return list(dict.fromkeys(self.recording.functions.file))

    @cached_property
    def _texts(self) -> Sources:
        started = self.recording.target.get("started")
        return Sources(float(started) if isinstance(started, int | float) else None)

    def source(self, file: str) -> str | None:
        """The text of a file as it was when recorded, if it is a Python source the recording names.

        The names are the recording's, which may come from anybody: a page mailed to a colleague
        must not carry whatever file of this machine they lead to.
        """
        if file not in self.files:
            return None
        text = self._texts.text(file)
        if text is None or "\0" in text:
            return None
        head = text.partition("\n")[0]
        if file.endswith(SOURCE_SUFFIXES) or (head.startswith("#!") and "python" in head):
            return text
        return None

    @cached_property
    def all_sources(self) -> bytes:
        texts = {file: self.source(file) for file in self.files}
        there = {file: text for file, text in texts.items() if text is not None}
        return deflated(json.dumps(there, separators=(",", ":")).encode())

    def part(self, name: str) -> bytes:
        """The part of that name, of PARTS."""
        if name == "sources":
            return self.all_sources
        made: bytes = getattr(self, name)
        return made
