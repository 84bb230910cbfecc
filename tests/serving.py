"""Servers of many processes, and clients that ask them without a pause."""

from __future__ import annotations

import http.client
import itertools
import json
import math
import os
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from launching import TARGETS, TIMEOUT_S, Interpreter, clean_environment
from sonde.record.attach import Attach
from sonde.record.recorder.options.options import Options
from sonde.record.targets.process import inspect_process

CLIENTS = 3
# A worker that is killed takes the connections it has with it, and those just made.
KILL_S = 1.0


class Load:
    """Clients that know the answer. A failed request is one that nobody's death explains."""

    def __init__(self, port: int, new_every: int = 1) -> None:
        self._port = port
        self._new_every = new_every
        """One request of so many has a connection of its own."""
        self._over = threading.Event()
        self._killed: list[tuple[float, float]] = []
        """From when to when a worker's death breaks connections."""
        self.answered: Counter[int] = Counter()
        """By the process that answered."""
        self.failed: list[str] = []
        self._threads = [threading.Thread(target=self._ask, args=(i,)) for i in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def kills(self) -> None:
        """A worker is about to be killed: what breaks now is not the profiler's doing."""
        self._killed.append((time.monotonic(), math.inf))

    def recovers(self) -> None:
        """Another one has taken its place, and soon nothing breaks any more."""
        began, _ = self._killed.pop()
        self._killed.append((began, time.monotonic() + KILL_S))

    def _ask(self, number: int) -> None:
        n = 1000 + 100 * number
        right = sum(i * i for i in range(n))
        headers = {"Connection": "close"} if self._new_every == 1 else {}
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        for turn in itertools.count():
            if self._over.is_set():
                break
            if turn % self._new_every == 0:
                connection.close()
            began = time.monotonic()
            try:
                connection.request("GET", f"/{n}", headers=headers)
                answer = connection.getresponse()
                body = json.loads(answer.read())
                if answer.status != 200 or body["total"] != right:
                    self.failed.append(f"{answer.status}: {body}")
                self.answered[body["pid"]] += 1
            except (OSError, ValueError, http.client.HTTPException) as error:
                now = time.monotonic()
                if not any(start < now and began < end for start, end in self._killed):
                    self.failed.append(repr(error))
                connection.close()
        connection.close()

    def end(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


def size(pid: int) -> dict[str, int]:
    """What a process takes up."""
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return {
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "threads": int(status["Threads"]),
        "maps": len(Path(f"/proc/{pid}/maps").read_text().splitlines()),
        "mapped_kb": int(status["VmSize"].split()[0]),
        "resident_kb": int(status["VmRSS"].split()[0]),
    }


def record_once(pid: int, path: Path, seconds: float = 0.1) -> int:
    """Attaches and leaves again; how many samples that gave."""
    process = inspect_process(pid)
    options = Options(
        path=str(path),
        program=process.program,
        argv=process.argv,
        pid=pid,
        what=["cpu", "locks"],
        attached=True,
        place=process.place(),
    )
    done = Attach(process, options).wait(seconds)
    path.unlink()
    taken: int = done["done"]["taken"]
    return taken


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


def wait_until_up(port: int, process: subprocess.Popen[str], said: Callable[[], str]) -> None:
    """Until a server accepts connections; `said` is what it wrote if it has ended instead."""
    end = time.monotonic() + TIMEOUT_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
            return
        except OSError:
            assert process.poll() is None, said()
            assert time.monotonic() < end, "the server does not come up"
            time.sleep(0.05)


class Server:
    """gunicorn or uvicorn with workers, under load; ends with the `with` statement."""

    def __init__(self, python: Interpreter, packages: str, arguments: Sequence[str]) -> None:
        self.port = free_port()
        words = [word.replace("PORT", str(self.port)) for word in arguments]
        self.process = subprocess.Popen(
            [python.path, "-m", *words],
            cwd=TARGETS,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=clean_environment(PYTHONPATH=packages, PYTHONDONTWRITEBYTECODE="1"),
        )
        self.pid = self.process.pid
        wait_until_up(self.port, self.process, lambda: self.process.communicate()[0])
        self.load = Load(self.port)

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.load.end()
        self.end()

    def end(self) -> tuple[int, str]:
        """Told to, it ends its workers and itself: exit code and what it said."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            out, _ = self.process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, _ = self.process.communicate()
            raise AssertionError(f"the server does not end: {out}") from None
        return self.process.returncode, out
