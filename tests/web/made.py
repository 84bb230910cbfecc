"""Recordings that try the page: one with everything in it, and one whose names mean harm.

    made.py FOLDER

writes both and an empty one into FOLDER, and the parts of the first with what must come out of them
in truth.json, for the tests that run outside Python.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from heap.made_up import large
from sonde.heap import hprof, snapshot_file
from sonde.model.locks.contention import blames
from sonde.recording.tables import Recording
from sonde.views.calls.calls import calls
from sonde.views.locks.contentions import Contended, contended
from sonde.web.bundle import PARTS, Bundle
from synthetic import MS, Maker

LONG = "long_" * 2000
"""10,000 characters."""
HOSTILE = (
    "</script><script>window.pwned = 1</script>",
    '<img src=x onerror="window.pwned = 1">',
    "\"><svg onload='window.pwned = 1'>",
    "javascript:window.pwned=1//",
    "<!--<script>",
    "]]></style><style>*{display:none}</style>",
    "${window.pwned = 1}{{window.pwned}}",
    "back\\slash 'single' \"double\" `tick` &amp; &#60;b&#62;",
    "\u202egnp.exe\u202c \u2066right to left\u2069 \u05d0\u05d1\u05d2",
    "line\nbreak\ttab\x00null\x1b[31mred\x7f",
    "__proto__",
    "constructor",
    "\ud800 lone surrogate \udfff",
    "Zalgo " + "e\u0301\u0302\u0303" * 50,
    LONG,
    "",
)


def everything(seed: int = 1, rounds: int = 300) -> Maker:
    """Two processes, recursion, all states, no stack, marks, spans, convoys, signals, losses."""
    draw = random.Random(seed)
    make = Maker(started=1_700_000_000.5, what=["cpu", "locks", "waits"])
    make.quality = {"sampler": "perf-sigtrap", "rate_asked": 1000, "lost": 3}
    make.define("Condition.wait", "/usr/lib/python3.12/threading.py", 323)
    make.define("Parser.parse", "/lib/python3.12/site-packages/parser/core.py", 10)
    child = make.process(200)
    threads = [f"worker-{i}" for i in range(6)]
    for name in threads:
        make.thread(name, end=900 * MS if name == "worker-2" else -1)
    make.thread("child", process=child)
    chains = (
        "main:3 > Parser.parse:12 > len", "main:3 > Parser.parse:13", "fib:2 > fib:2 > fib:3",
        "main:4 > time.sleep", "main:3",
    )  # fmt: skip
    spans = _spans(make, threads)
    for i in range(rounds):
        make.sample(
            draw.choice((*chains, None)),
            draw.randrange(1, 3 * MS),
            thread=draw.choice((*threads, "child")),
            state=draw.choice((0, 0, 0, 1, 2)),
            # The same code in two processes, and loaded twice in one, is one to a person.
            version=draw.randrange(2),
            span=spans[i % len(spans)],
        )
    make.mark("warm", 2 * MS)
    make.mark("busy", 6 * MS, thread=1)
    for lock, made_of in (("cache", "semaphore"), ("gil", "gil"), ("mutex", "parked")):
        make.lock(lock, made_of)
        _convoy(make, draw, lock, threads, rounds, spans)
    for i in range(rounds // 10):
        at = (800 + i) * MS
        make.wait("signal", threads[0], threads[1], at, at + draw.randrange(MS),
                  "main:9 > Condition.wait:355 > _thread.lock.acquire", "main:30")  # fmt: skip
    make.enter("cache", threads[3], 950 * MS)
    for i in range(rounds // 10):
        called = (
            "main:3 > Parser.parse:12 > len",
            "main:3 > Parser.parse:13",
            "fib:2 > fib:2",
            None,
        )
        make.window(
            [draw.choice((*called, "main:3")) for _ in range(8)],
            i * 10 * MS,
            draw.randrange(1, MS // 10),
            thread=threads[i % 3],
        )
    return make


def _spans(make: Maker, threads: list[str]) -> list[int]:
    """Some in another, one in its like, one that is never left, two at a time; and none."""
    request = make.span("request", 5 * MS, 400 * MS, thread=threads[0])
    query = make.span("query", 10 * MS, 200 * MS, thread=threads[0], parent=request)
    again = make.span("request", 20 * MS, 30 * MS, thread=threads[0], parent=query)
    task = make.span("query", 8 * MS, 90 * MS, thread=threads[0])
    never = make.span("query", 0, thread=threads[1])
    return [-1, request, query, again, -1, task, never]


def _convoy(
    make: Maker,
    draw: random.Random,
    lock: str,
    threads: list[str],
    rounds: int,
    spans: list[int],
) -> None:
    """Threads that queue for a lock; now and then an event is lost, or one gives up."""
    now, owner, queue = MS, threads[0], list[str]()
    for _ in range(rounds):
        now += draw.randrange(MS // 2)
        outside = [name for name in threads if name != owner and name not in queue]
        if outside and (draw.random() < 0.5 or not queue):
            queue.append(draw.choice(outside))
            chain = draw.choice(("main:7 > take:3", "take:3"))
            make.enter(lock, queue[-1], now, chain, spans[now % len(spans)])
            continue
        if not queue:
            continue
        if draw.random() < 0.1:
            make.gave_up(lock, queue.pop(), now)
            continue
        if draw.random() < 0.9:
            chain = draw.choice(("main:8 > give:4", "give:5", None))
            make.release(lock, owner, now, chain)
        else:
            make.numbers[make.lock(lock)] = make.numbers.get(make.lock(lock), 0) + 1
        owner = queue.pop(0)
        make.entered(lock, owner, now + draw.randrange(2000))


def hostile() -> Maker:
    """Every name that a program chooses is one that means harm to a page."""
    make = Maker(program=HOSTILE[0], argv=list(HOSTILE[:4]), what=["cpu", "locks", "waits"])
    make.warnings = [HOSTILE[1]]
    # The maker reads ":" and " > " in chains; places and functions get their names afterwards.
    for i in range(len(HOSTILE)):
        make.sample(f"main:3 > f{i}:2 > g{i}:4", (i + 1) * MS, thread=f"t{i}")
        make.sample(f"main:3 > f{i}:2", MS, thread=f"t{i}", state=1)
    for i in range(1, len(HOSTILE)):
        make.wait(f"lock{i}", f"t{i}", f"t{i - 1}", i * MS, (i + 2) * MS, f"f{i}:2", f"g{i - 1}:4")
        make.window([f"main:3 > f{i}:2 > g{i}:4"] * 4, i * MS, MS // 10, thread=f"t{i}")
    make.mark(HOSTILE[0], 3 * MS)
    make.mark(HOSTILE[8], 5 * MS, thread=1)
    for i, name in enumerate(HOSTILE):
        make.span(name, i * MS, (i + 2) * MS, thread=f"t{i % 3}")
    names = dict(zip((f"{kind}{i}" for kind in "fgt" for i in range(len(HOSTILE))),
                     (name for _ in "fgt" for name in HOSTILE), strict=True))  # fmt: skip
    make.functions = {
        (names.get(name, name), names.get(name, "/app") + "/app.py", line, i): i
        for (name, _, line, _), i in make.functions.items()
    }
    # Names need not be unique, but the maker keeps threads by name.
    make.threads = {names[name] or " ": values for name, values in make.threads.items()}
    return make


def written(recording: Recording, folder: Path) -> None:
    bundle = Bundle(recording, sources=False)
    for name in PARTS:
        (folder / name).write_bytes(bundle.part(name))
    (folder / "truth.json").write_text(json.dumps(truth(recording)))


def truth(recording: Recording) -> dict[str, Any]:
    """The samples and the blamed parts of waits as rows of plain values, without any encoding."""
    everything_waited = contended(recording)
    paths, spans = _paths(everything_waited), _span_names(recording)
    samples = recording.samples
    return {
        "samples": sorted(
            [thread, time, paths[context], weight, state, spans[span]]
            for thread, time, context, weight, state, span in zip(
                samples.thread.tolist(),
                samples.time.tolist(),
                samples.context.tolist(),
                samples.weight.tolist(),
                samples.state.tolist(),
                samples.span.tolist(),
                strict=True,
            )
        ),
        "waits": _waits(everything_waited, paths, spans),
        "spans": sorted(
            [thread, start, end, names]
            for thread, start, end, names in zip(
                recording.spans.thread.tolist(),
                recording.spans.start_ns.tolist(),
                recording.spans.end_ns.tolist(),
                spans[:-1],
                strict=True,
            )
        ),
        "calls": [
            {
                "caller": [edge.caller.name, edge.caller.file] if edge.caller else None,
                "line": edge.site_line,
                "callee": [edge.callee.name, edge.callee.file],
                "weight": edge.weight,
                "count": edge.count,
                "error": edge.error,
            }
            for edge in calls(recording).edges
        ],
        "labels": [everything_waited.thread_names[0][i]
                   for i in everything_waited.thread_names[1][:-1].tolist()],
    }  # fmt: skip


def _waits(
    everything_waited: Contended, paths: list[list[list[Any]]], spans: list[list[str]]
) -> list[list[Any]]:
    found = everything_waited.found
    functions = everything_waited.chains.functions
    rows = []
    for block in blames(found):
        for i, contention in enumerate(block.contention.tolist()):
            waiter, owner = int(found.context[contention]), int(block.context[i])
            named = [int(everything_waited.function[context]) for context in (waiter, owner)]
            rows.append(
                [
                    int(found.wait[contention]),
                    int(found.thread[contention]),
                    int(block.start[i]),
                    int(block.ns[i]),
                    everything_waited.locks[int(everything_waited.lock[contention])].name,
                    int(everything_waited.kind[contention]),
                    int(everything_waited.signalling[contention]),
                    paths[waiter],
                    paths[owner],
                    int(block.thread[i]),
                    *(functions[f].name if f >= 0 else None for f in named),
                    spans[int(everything_waited.span[contention])],
                ]
            )
    return rows


def _span_names(recording: Recording) -> list[list[str]]:
    """The names from the outermost span to each one, and last of none."""
    found: list[list[str]] = []
    for name, parent in zip(recording.spans.name, recording.spans.parent.tolist(), strict=True):
        found.append([*(found[parent] if parent >= 0 else []), name])
    return [*found, []]


def _paths(everything_waited: Contended) -> list[list[list[Any]]]:
    """The frames of each context, and last of none."""
    chains = everything_waited.chains
    return [
        [[f.name, f.file, f.line, line] for f, line in chains.frames(node)]
        for node in chains.node.tolist()
    ]


if __name__ == "__main__":
    out = Path(sys.argv[1])
    everything().write(str(out / "everything.sonde"))
    hostile().write(str(out / "hostile.sonde"))
    Maker(duration_ns=0).write(str(out / "empty.sonde"))
    written(everything().recording(), out)
    (out / "heap.hprof").write_bytes(large().bytes())
    snapshot_file.write(hprof.read(str(out / "heap.hprof")), str(out / "heap.sonde"))
