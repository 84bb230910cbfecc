"""The programs that are profiled: each is a function without arguments that does one round of work.

Most are pyperformance's. Its own runner would start processes and hide the workload behind them,
so the modules are loaded with nothing behind their `import pyperf`, and the function they would
have timed is called, with sizes that make a round some milliseconds long. Runs on every
interpreter that sonde supports, without packages but for those in NEEDS.
"""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

Work = Callable[[], object]

FOLDER_VARIABLE = "SONDE_BENCH_PYPERFORMANCE"
DEEP = 200
THREADS = 50

# Threads that share a slice: each has a timer of its own, which wants its share to be long enough.
SHARED_BY = {"handoff": THREADS}
# Shown but left out of means: it switches threads ten thousand times a second, to show what that
# costs where every switch stops one timer and starts another.
APART = ("handoff",)
# What a program imports that the standard library does not have.
NEEDS = {"django_template": "django", "sqlglot": "sqlglot"}


def folder() -> Path:
    """Where pyperformance keeps its programs; another interpreter's installation serves as well."""
    given = os.environ.get(FOLDER_VARIABLE)
    if given:
        return Path(given)
    spec = importlib.util.find_spec("pyperformance")
    if spec is None or spec.origin is None:
        sys.exit("pyperformance is not installed: `make bench` installs it")
    return Path(spec.origin).parent / "data-files" / "benchmarks"


def _module(name: str, change: tuple[str, str] = ("", "")) -> Any:
    """The module of a program; `change` replaces a piece of its text, without moving a line."""
    if "pyperf" not in sys.modules:
        stand_in: Any = ModuleType("pyperf")
        stand_in.perf_counter = time.perf_counter
        sys.modules["pyperf"] = stand_in
    path = folder() / f"bm_{name}" / "run_benchmark.py"
    module = ModuleType(f"bm_{name}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    text = path.read_text()
    if text.count(change[0]) != 1 and change[0]:
        sys.exit(f"pyperformance's {name} has changed: {change[0]!r} is not in it once")
    exec(compile(text.replace(*change), str(path), "exec"), module.__dict__)
    return module


def _richards(count: int = 1000) -> Work:
    # Its idle task counts down the length of a run.
    module = _module("richards", ("count = 10000", f"count = {count}"))
    richards = module.Richards()

    def work() -> object:
        # Tasks of earlier runs stay in the list, so that each run would make more calls.
        module.taskWorkArea.taskList = None
        return richards.run(1)

    return work


def _deltablue(size: int = 100) -> Work:
    module = _module("deltablue")
    return lambda: module.delta_blue(size)


def _raytrace(size: int = 12) -> Work:
    module = _module("raytrace")
    return lambda: module.bench_raytrace(1, size, size, None)


def _go(games: int = 6, size: int = 9) -> Work:
    module = _module("go", ("SIZE = 9", f"SIZE = {size}"))
    module.GAMES = games

    def play() -> object:
        module.random.seed(1)
        return module.computer_move(module.Board())

    return play


def _json(part: int = 100, huge: bool = True) -> Work:
    module = _module("json_dumps")
    cases = [getattr(module, case) for case in module.CASES if huge or case != "HUGE"]
    data = [(value, range(max(count // part, 1))) for value, count in cases]
    return lambda: module.bench_json_dumps(data)


def _json_loads() -> Work:
    module = _module("json_loads")
    values = (module.DICT, module.TUPLE, module.DICT_GROUP)
    texts = [json.dumps(value) for value in values]
    return lambda: module.bench_json_loads(texts)


def _nbody(steps: int = 500) -> Work:
    module = _module("nbody")
    return lambda: module.bench_nbody(1, "sun", steps)


def _deepcopy(times: int = 10) -> Work:
    module = _module("deepcopy")
    return lambda: module.benchmark(times)


def _nqueens(queens: int = 6) -> Work:
    module = _module("nqueens")
    return lambda: module.bench_n_queens(queens)


def _spectral_norm(size: int = 14) -> Work:
    module = _module("spectral_norm")
    module.DEFAULT_N = size
    return lambda: module.bench_spectral_norm(1)


def _logging(loops: int = 20) -> Work:
    module = _module("logging")
    stream = module.io.StringIO()
    handler = module.logging.StreamHandler(stream=stream)
    logger = module.logging.getLogger("measured")
    logger.propagate = False
    logger.addHandler(handler)
    logger.setLevel(module.logging.WARNING)
    return lambda: module.bench_simple_output(loops, logger, stream)


class _Catch:
    """Takes the place of pyperf's runner: keeps what it would have timed."""

    def __init__(self) -> None:
        self.metadata: dict[str, object] = {}
        self.work: Work = lambda: None

    def bench_func(self, _name: str, function: Callable[..., object], *args: object) -> None:
        self.work = lambda: function(*args)


def _chaos(iterations: int = 300, size: int = 256) -> Work:
    module = _module("chaos")
    runner = _Catch()
    options = ModuleType("options")
    options.__dict__.update(
        thickness=0.25,
        width=size,
        height=size,
        iterations=iterations,
        filename=None,
        rng_seed=1234,
    )
    module.main(runner, options)
    return runner.work


def _hexiom() -> Work:
    module = _module("hexiom")
    return lambda: module.main(1, 25)


def _sqlglot() -> Work:
    module = _module("sqlglot_v2")
    return lambda: module.bench_transpile(1)


def _django(size: int = 20) -> Work:
    module = _module("django_template")
    backend = "django.template.backends.django.DjangoTemplates"
    module.django.conf.settings.configure(TEMPLATES=[{"BACKEND": backend}])
    module.django.setup()
    runner = _Catch()
    module.bench_django_template(runner, size)
    return runner.work


def _leaf(n: int) -> int:
    return n * n % 7


def _dive(depth: int, leaves: int) -> int:
    if depth:
        return _dive(depth - 1, leaves) + 1
    total = 0
    for n in range(leaves):
        total += _leaf(n)
    return total


def _deep(leaves: int = 20_000) -> Work:
    return lambda: _dive(DEEP, leaves)


class _Crowd:
    """Threads that live as long as the process and wait for their turn or for all at once."""

    def __init__(self, threads: int) -> None:
        self.next = 0
        self.todo: list[queue.SimpleQueue[int]] = [queue.SimpleQueue() for _ in range(threads)]
        self.done: queue.SimpleQueue[int] = queue.SimpleQueue()
        for mine in self.todo:
            threading.Thread(target=self.serve, args=(mine,), daemon=True).start()

    def serve(self, mine: queue.SimpleQueue[int]) -> None:
        while True:
            count = mine.get()
            total = 0
            for n in range(count):
                total += _leaf(n)
            self.done.put(total)

    def turn(self, count: int) -> int:
        """One of them works; they would take turns anyway, as only one has the GIL."""
        self.next = (self.next + 1) % len(self.todo)
        self.todo[self.next].put(count)
        return self.done.get()

    def all(self, count: int) -> int:
        for its in self.todo:
            its.put(count)
        return sum(self.done.get() for _ in self.todo)


def _threads() -> Work:
    crowd = _Crowd(THREADS)
    return lambda: crowd.turn(150_000)


def _handoff() -> Work:
    crowd = _Crowd(THREADS)
    return lambda: crowd.all(1_000)


# Every program of pyperformance's that is here, all in one thread and with rounds that are alike.
PYPERFORMANCE = (
    "richards", "deltablue", "raytrace", "go", "json", "nbody", "chaos", "hexiom", "deepcopy",
    "sqlglot", "django_template", "nqueens", "spectral_norm", "logging",
)  # fmt: skip

# Without those of a handful of functions, of which every profiler tells the same.
BRANCHED = tuple(name for name in PYPERFORMANCE if name not in ("nbody", "spectral_norm"))

PROGRAMS: dict[str, Callable[[], Work]] = {
    "richards": _richards,
    "deltablue": _deltablue,
    "raytrace": _raytrace,
    "go": _go,
    "json": _json,
    "json_loads": _json_loads,
    "nbody": _nbody,
    "chaos": _chaos,
    "hexiom": _hexiom,
    "deepcopy": _deepcopy,
    "sqlglot": _sqlglot,
    "django_template": _django,
    "nqueens": _nqueens,
    "spectral_norm": _spectral_norm,
    "logging": _logging,
    "deep": _deep,
    "threads": _threads,
    "handoff": _handoff,
}


# In rounds of half a millisecond or so, where that is possible.
SHORT: dict[str, Callable[[], Work]] = {
    "richards": partial(_richards, 60),
    "deltablue": partial(_deltablue, 10),
    "raytrace": partial(_raytrace, 3),
    "go": partial(_go, 1, size=5),
    "json": partial(_json, 40, huge=False),
    "json_loads": _json_loads,
    "nbody": partial(_nbody, 50),
    "chaos": partial(_chaos, 15, 32),
    "deepcopy": partial(_deepcopy, 1),
    "django_template": partial(_django, 5),
    "nqueens": partial(_nqueens, 5),
    "spectral_norm": partial(_spectral_norm, 8),
    "logging": partial(_logging, 4),
    "deep": partial(_deep, 3000),
}


def prepare(name: str, short: bool = False) -> Work:
    """The program, ready to run; loading and setting up is done here."""
    sys.dont_write_bytecode = True  # the folder is another interpreter's installation
    return (SHORT if short else PROGRAMS)[name]()
