"""The way of an agent into one running process."""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sonde.errors import SondeError

from . import jvm_attach, ptrace_inject
from .cpython import Runtime
from .hotspot import Jvm, is_up
from .process import RunningProcess, tracer_of
from .remote_exec import RemoteScript, script_that_loads

# How long the main thread has to run the script that loads the agent (3.14+).
SCRIPT_S = 0.1
# Outcomes of ptrace after which the process is as it was, without the agent.
_UNTOUCHED = (ptrace_inject.NO_SAFE_MOMENT, ptrace_inject.NOT_PERMITTED)
# From the agent's first step in the target to its first word.
STEER_S = 2.0
# A process is looked at again after this long without a safe moment in it.
LOOK_ANEW_MS = 250
# How long it may wait for the GIL.
GIL_S = 5.0


class ProcessExitedError(SondeError):
    """The process exited meanwhile."""


class Entry:
    """Attaching to one process, in a thread of its own: others need not wait for it.

    `hear_recorder` takes what the recorder reports of the process. When `over` is true either
    the agent is at work or `why_not` says why it is not.
    """

    def __init__(self, process: RunningProcess, socket_path: str, wake: Callable[[], None]) -> None:
        self.process = process
        self.by = ""
        self.injection: ptrace_inject.Injection | None = None
        self.why_not: str | None = None
        self.gone = False
        self.over = self.already = False
        """Another recording has it."""
        self._inject_timeout = ptrace_inject.InjectTimeout(LOOK_ANEW_MS)
        self._ended = False
        self._socket_path = socket_path
        self._words: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._wake = wake
        self._thread = threading.Thread(target=self._run, name=f"enter-{process.pid}")
        self._thread.start()

    def hear_recorder(self, words: dict[str, Any]) -> None:
        self._words.put(words)

    def end(self) -> None:
        """No further try; waits for one under way, in whose middle the target cannot be left."""
        self._ended = True
        self._inject_timeout.end()
        self._words.put({"exited": self.process.pid})
        self._thread.join()

    def facts(self) -> dict[str, Any]:
        """How the agent was injected, and how long that stopped the target."""
        facts: dict[str, Any] = {"by": self.by or "nothing"}
        if self.injection is not None:
            facts |= {"tries": self.injection.tries, "stopped_ns": self.injection.stopped_ns}
        return facts

    # ---- in its own thread

    def _run(self) -> None:
        try:
            runtime = self.process.runtime
            if isinstance(runtime, Jvm):
                self.why_not = self._into_jvm(runtime)
            else:
                self.why_not = self._into_cpython()
        except SondeError as error:
            self.why_not, self.gone = str(error), isinstance(error, ProcessExitedError)
        except OSError as error:  # of /proc, which a process that exits takes away
            self.gone = not os.path.exists(f"/proc/{self.process.pid}/exe")
            self.why_not = f"it cannot be read: {(error.strerror or str(error)).lower()}"
        finally:
            self.over = True  # before who waits for it looks
            self._wake()

    def _into_cpython(self) -> str | None:
        """By ptrace, or by the interpreter's own way where it has one and ptrace found none.

        In this order, because a script runs as the program's own code: its trace function sees it,
        and the exception of a signal's handler that happens to run inside it is lost.
        """
        why_not = self._by_ptrace()
        untouched = self.injection is None or self.injection.outcome in _UNTOUCHED
        if why_not is not None and untouched and not self._ended and self._by_script():
            why_not = None
        return why_not or self._hear_agent()

    def _into_jvm(self, jvm: Jvm) -> str | None:
        """By its attach protocol, or by ptrace where that would show in the program's output."""
        ways = [self._by_protocol, self._by_ptrace]
        if jvm_attach.why_not(jvm) or not jvm_attach.is_silent(jvm):
            ways.reverse()
        reasons: list[str] = []
        for way in ways:
            why_not = way() or self._hear_agent()
            if why_not is None or self.already:
                return why_not
            reasons.append(why_not)
        return "; ".join(dict.fromkeys(reasons))

    def _by_protocol(self) -> str | None:
        process = self.process
        assert isinstance(process.runtime, Jvm)
        try:
            jvm_attach.load(process.pid, process.runtime, process.agent, self._socket_path)
        except jvm_attach.RefusedError as refused:
            return str(refused)
        self.by = "attach protocol"
        return None if self._expect(STEER_S, "steered") else "its agent does not respond"

    def _by_script(self) -> bool:
        """The interpreter's own way in, where it has one."""
        process = self.process
        assert isinstance(process.runtime, Runtime)
        script = RemoteScript(process.pid, process.runtime)
        path = os.path.join(os.path.dirname(self._socket_path), f"script-{process.pid}.py")
        if script.refusal is not None or not ptrace_inject.sees(process.pid, process.agent):
            return False
        try:
            with open(path, "w") as f:
                f.write(script_that_loads(str(process.agent), self._socket_path))
            came = script.request(path) and bool(self._expect(SCRIPT_S, "steered"))
            if not came and script.refusal is None:
                script.withdraw()
                came = bool(self._expect(SCRIPT_S / 4, "steered"))  # it may just have begun
        except OSError:
            return False
        finally:
            with contextlib.suppress(OSError):
                os.unlink(path)
        if came:
            self.by = "remote debugging"
        return came

    def _by_ptrace(self) -> str | None:
        """Has one of its threads load the agent: None if that worked, or why it did not."""
        process = self.process
        tracer = tracer_of(process.pid)
        if tracer is not None:
            return f"{tracer} already traces it"
        if isinstance(process.runtime, Jvm) and not is_up(process.pid):
            return "its JVM has not started yet"
        self.injection = done = self._inject()
        if done.outcome == ptrace_inject.GONE:
            raise ProcessExitedError(
                f"process {process.pid} exited before sonde could attach to it"
            )
        if done.why_not is not None:
            return done.why_not
        if done.returned == errno.EALREADY:
            self.already = True
            return "it is already being recorded"
        if done.returned:
            return f"its agent could not start a thread: {os.strerror(done.returned).lower()}"
        self.by = "ptrace"
        if not self._expect(STEER_S, "steered", "admitted"):
            return "its agent does not respond"
        return None

    def _inject(self) -> ptrace_inject.Injection:
        """Until a safe moment is found; a program that comes up loads libraries meanwhile."""
        process, tries, stopped = self.process, 0, 0
        until = time.monotonic() + ptrace_inject.TIMEOUT_MS / 1000
        while True:
            done = ptrace_inject.inject(
                process.pid,
                process.runtime,
                process.agent,
                "sonde_agent_attach",
                self._socket_path,
                self._inject_timeout,
            )
            tries, stopped = tries + done.tries, stopped + done.stopped_ns
            over = self._ended or time.monotonic() > until
            if done.outcome != ptrace_inject.NO_SAFE_MOMENT or over:
                return replace(done, tries=tries, stopped_ns=stopped)

    def _hear_agent(self) -> str | None:
        """Waits until the agent has begun, which takes the GIL; or why it has not."""
        answer = self._expect(GIL_S, "admitted", "refused")
        if not answer:
            held = "its GIL" if isinstance(self.process.runtime, Runtime) else "the agent"
            return f"the program did not release {held} for {GIL_S:.0f} s"
        refused: str | None = answer.get("refused")
        return refused

    def _expect(self, seconds: float, *words: str) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                answer = self._words.get(timeout=left)
            except queue.Empty:
                break
            if any(word in answer for word in words):
                return answer
            if "exited" in answer:
                raise ProcessExitedError(
                    f"process {self.process.pid} exited before it could be recorded"
                )
        return {}
