"""Attached to and left many times while it serves requests: nobody notices, nothing grows."""

from __future__ import annotations

import http.client
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attaching import Target
from launching import TARGETS, Interpreter
from sonde.record.attach import Attach
from sonde.record.handle import Options
from sonde.record.process import look_at

CYCLES = 12
# Until everything is made that is made once.
SETTLED = 3
CLIENTS = 3


class Load:
    """Clients that ask without a pause and know the answer."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._over = threading.Event()
        self.answered = 0
        self.failed: list[str] = []
        self._threads = [threading.Thread(target=self._ask, args=(i,)) for i in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def _ask(self, number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        n = 1000 + 100 * number
        right = sum(i * i for i in range(n))
        while not self._over.is_set():
            try:
                if self.answered % 7 == number:
                    connection.close()  # new connections too, each a new thread over there
                connection.request("GET", f"/{n}")
                answer = connection.getresponse()
                body = json.loads(answer.read())
                if (answer.status, body) != (200, {"total": right}):
                    self.failed.append(f"{answer.status}: {body}")
                self.answered += 1
            except (OSError, ValueError, http.client.HTTPException) as error:
                self.failed.append(repr(error))
                connection.close()
        connection.close()

    def end(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


def size(pid: int) -> dict[str, Any]:
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "threads": int(status["Threads"]),
        "mapped_kb": int(status["VmSize"].split()[0]),
        "resident_kb": int(status["VmRSS"].split()[0]),
        "maps": len(maps),
    }


def record_once(pid: int, path: Path) -> int:
    process = look_at(pid)
    options = Options(
        path=str(path),
        program=process.program,
        argv=process.argv,
        pid=pid,
        what=["cpu", "locks"],
        attached=True,
        place=process.place(),
    )
    done = Attach(process, options).wait(0.1)
    path.unlink()
    taken: int = done["done"]["taken"]
    return taken


def test_a_server_under_load_does_not_notice(
    python: Interpreter, keep: Callable[[str], Path]
) -> None:
    # libc would go on giving new threads memory of their own, 64 MB of addresses each.
    one_arena = {"MALLOC_ARENA_MAX": "1"}
    with Target(python, TARGETS / "serving.py", env=one_arena) as target:
        load = Load(int(target.first[1]))
        sizes, taken = [], 0
        try:
            for _ in range(CYCLES):
                taken += record_once(target.pid, keep("load"))
                sizes.append(size(target.pid))
        finally:
            load.end()
        code, out, err = target.end()
    assert load.failed == []
    assert load.answered > 100
    assert taken > 100
    assert (code, err) == (0, "")
    assert json.loads(out)["answered"] >= load.answered
    before, after = sizes[SETTLED - 1], sizes[-1]
    # Connections come and go meanwhile, and with them a thread and what libc keeps for one.
    assert after["descriptors"] <= before["descriptors"] + CLIENTS
    assert after["threads"] <= before["threads"] + CLIENTS
    assert after["maps"] <= before["maps"] + 6 * CLIENTS
    assert after["mapped_kb"] <= before["mapped_kb"] + CLIENTS * (8 << 10)
    assert after["resident_kb"] <= before["resident_kb"] + (8 << 10)
