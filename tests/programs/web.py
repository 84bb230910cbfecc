"""Requests to a web server on the loopback interface: so many of them, and no more."""

from __future__ import annotations

import http.client
import json
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Self

from attaching import until
from launching import TIMEOUT_S
from programs.support import RunningProgram
from serving import wait_until_up

CLIENTS = 4


def get(port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", path, headers={"Connection": "close"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


class Answers:
    """What requests were answered with; who answered is counted apart."""

    def __init__(self) -> None:
        self.bodies: Counter[tuple[str, int, str]] = Counter()
        """By path, status and body without the process id."""
        self.pids: Counter[int] = Counter()
        self.failed: list[str] = []

    def add(self, path: str, status: int, body: str) -> None:
        if body.startswith("{"):
            answer = json.loads(body)
            if pid := answer.pop("pid", None):
                self.pids[pid] += 1
            body = json.dumps(answer)
        self.bodies[path, status, body] += 1


class WebServer(RunningProgram):
    """A server of one of the web applications in `apps`."""

    port: int

    def __enter__(self) -> Self:
        wait_until_up(self.port, self.program.process, lambda: self.program.err)
        return self

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ends it while it answers; that answer still comes."""
        answer: list[tuple[int, str]] = []
        asks = threading.Thread(target=lambda: answer.append(get(self.port, "/slow/1")))
        asks.start()
        until(lambda: "slow begins" in self.program.out, "it answers", self.program.process)
        self.program.send(number)
        asks.join()
        assert answer == [(200, "slow\n")]
        return self.program.wait()

    def log(self) -> list[str]:
        return plain_log(self.program.out + self.program.err, self.port)


def ask(port: int, paths: Sequence[str], count: int, until_pids: int = 0) -> Answers:
    """Each of `CLIENTS` clients asks for the paths in turn, `count` times in all.

    With `until_pids` they go on until that many processes have answered.
    """
    answers, lock = Answers(), threading.Lock()
    end = time.monotonic() + TIMEOUT_S

    def client(number: int) -> None:
        turn = 0
        while time.monotonic() < end and (
            turn < count // CLIENTS or len(answers.pids) < until_pids
        ):
            path = paths[(turn + number) % len(paths)]
            turn += 1
            try:
                status, body = get(port, path)
            except (OSError, http.client.HTTPException) as error:
                with lock:
                    answers.failed.append(f"{path}: {error!r}")
                return
            with lock:
                answers.add(path, status, body)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def plain_log(text: str, port: int) -> list[str]:
    """Lines of a log without what is different in each run."""
    text = text.replace(str(port), "PORT")
    text = re.sub(r"\[\d{4}-\d\d-\d\d [^\]]*\]", "[TIME]", text)
    text = re.sub(r"\[\d+\]", "[PID]", text)
    text = re.sub(r"\(\d+\)$", "(PID)", text, flags=re.M)
    text = re.sub(r"\b(pid: ?|process )\d+", r"\1PID", text)
    return sorted(text.splitlines())
