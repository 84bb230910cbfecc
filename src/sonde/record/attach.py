"""Recording a process that already runs: the agent is put into it, and taken out at the end."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sonde.errors import SondeError

from . import inject, jvm_attach
from .debugging import RemoteScript, script_that_loads
from .handle import Options, RecorderHandle, RecorderKilledError
from .jvm import Jvm, is_up
from .process import RunningProcess, has_agent, tracer_of
from .runtime import Runtime

# How long the main thread has to run the script that loads the agent (3.14+).
SCRIPT_S = 0.1
# From the agent's first step in the target to its first word.
STEER_S = 2.0
# How long it may wait for the GIL.
GIL_S = 5.0
REMOTE_S = 10.0
# How long the agent of a recorder that was killed has to leave.
LEAVE_S = 5.0
MOST_RESTARTS = 100
# Numbers of parts that one recorder may use: the next begins behind them, whatever it had reached.
PARTS_A_RECORDER = 1 << 32

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Attach:
    """One process, from entering it to leaving it."""

    def __init__(self, process: RunningProcess, options: Options) -> None:
        self._process = process
        self._options = options
        self._restarts = 0
        self.entered_by = ""
        self._over = False
        self.injection: inject.Injection | None = None
        ours, self._wake = socket.socketpair()
        self._woken = ours
        self._before = {number: signal.getsignal(number) for number in _ENDS}
        for number in _ENDS:
            signal.signal(number, self._on_signal)
        self._recorder = RecorderHandle(options)
        try:
            self._recorder.say({"root": process.pid})
            self._enter()
        except BaseException:
            self._give_up()
            raise

    def wait(
        self, seconds: float | None, say: Callable[[str], None] = lambda _: None
    ) -> dict[str, Any]:
        """Until the time is over, somebody ends it, or the target exits: what was recorded.

        `say` is told what goes wrong, or right again, meanwhile.
        """
        end = None if seconds is None else time.monotonic() + seconds
        try:
            while True:
                left = None if end is None else max(end - time.monotonic(), 0)
                said = self._recorder.fileno()
                try:
                    ready, _, _ = select.select([self._woken.fileno(), said], [], [], left)
                    if said in ready:
                        done = self._hear(say)
                    elif ready and not self._ends():
                        self._recorder.say({"rotate": True})
                        continue
                    else:
                        self._recorder.say({"stop": True})
                        done = self._recorder.finished()
                except RecorderKilledError as error:
                    self._go_on(error, say)
                    continue
                if done is not None:
                    done["done"]["recorder_restarts"] = self._restarts
                    return done
        finally:
            self._restore_signals()

    def _hear(self, say: Callable[[str], None]) -> dict[str, Any] | None:
        """What the recorder has to say; not None if that is its last word."""
        answer = self._recorder.told()
        if "trouble" in answer and "done" not in answer:
            say(answer["trouble"])
        if "dumped" in answer:
            say(f"{answer['why']}: dumped into {answer['dumped']}")
        return answer if "done" in answer else None

    def _ends(self) -> bool:
        """Whether the signals that woke us want the recording to end; else, the next part."""
        numbers = self._woken.recv(64)
        rotates = self._options.mode.name == "continuous"
        return any(number != signal.SIGHUP or not rotates for number in numbers)

    def _go_on(self, error: RecorderKilledError, say: Callable[[str], None]) -> None:
        """A recorder that was killed is replaced; the session goes on in another part."""
        pid = self._process.pid
        if self._restarts >= MOST_RESTARTS or not os.path.exists(f"/proc/{pid}"):
            raise error
        self._restarts += 1
        say(f"{error}; another one takes its place")
        # Its agent takes itself out when the connection ends, and only then another one comes in.
        until = time.monotonic() + LEAVE_S
        while has_agent(pid) and time.monotonic() < until:
            time.sleep(0.005)
        session = {"id": self._recorder.session, "part": self._restarts * PARTS_A_RECORDER + 1}
        self._options = replace(self._options, session=session)
        self._recorder = RecorderHandle(self._options)
        self._recorder.say({"root": pid})
        self._enter()

    # ---- for those who do something else meanwhile

    @property
    def asked_to_end(self) -> bool:
        """Whether a signal came that ends recordings."""
        return not self._over and bool(select.select([self._woken], [], [], 0)[0])

    def over(self) -> dict[str, Any] | None:
        """What was recorded, if the target exited; None while it goes on."""
        if self._over or not select.select([self._recorder.fileno()], [], [], 0)[0]:
            return None
        answer = self._recorder.told()
        if "done" not in answer:
            return None
        self._restore_signals()
        return answer

    def stop(self) -> dict[str, Any]:
        """Leaves the target; nothing if it has been left already."""
        if self._over:
            return {}
        try:
            self._recorder.say({"stop": True})
            return self._recorder.finished()
        finally:
            self._restore_signals()

    # ---- entering

    def _enter(self) -> None:
        if isinstance(self._process.runtime, Jvm):
            self._enter_jvm(self._process.runtime)
            return
        if self._options.sampler == "remote":
            self._read_from_outside("--sampler remote was asked for")
            return
        why_not = None if self._by_script() else self._by_ptrace()
        if why_not is None:
            why_not = self._hear_agent()
        if why_not is not None:
            self._read_from_outside(why_not)
        self._recorder.say({"entered": self._entered()})

    def _enter_jvm(self, jvm: Jvm) -> None:
        """By its attach protocol, or by ptrace where that would show in the program's output."""
        ways = [self._by_protocol, self._by_ptrace]
        if jvm_attach.why_not(jvm) or not jvm_attach.is_silent(jvm):
            ways.reverse()
        reasons: list[str] = []
        for way in ways:
            why_not = way()
            if why_not is None:
                why_not = self._hear_agent()
                if why_not is None:
                    self._recorder.say({"entered": self._entered()})
                    return
            reasons.append(why_not)
        why = "; ".join(dict.fromkeys(reasons))
        raise SondeError(f"process {self._process.pid} cannot be recorded: {why}")

    def _by_protocol(self) -> str | None:
        process = self._process
        assert isinstance(process.runtime, Jvm)
        try:
            jvm_attach.load(process.pid, process.runtime, process.agent, self._recorder.socket_path)
        except jvm_attach.RefusedError as refused:
            return str(refused)
        self.entered_by = "attach protocol"
        return None if self._expect(STEER_S, "steered") else "the agent in it does not answer"

    def _entered(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"by": self.entered_by}
        if self.injection is not None:
            facts |= {"tries": self.injection.tries, "stopped_ns": self.injection.stopped_ns}
        return facts

    def _by_script(self) -> bool:
        """The interpreter's own way in, where it has one."""
        process = self._process
        assert isinstance(process.runtime, Runtime)
        script = RemoteScript(process.pid, process.runtime)
        folder = os.path.dirname(self._recorder.socket_path)
        path = os.path.join(folder, "script.py")
        if script.refusal is not None or not inject.sees(process.pid, process.agent):
            return False
        try:
            with open(path, "w") as f:
                f.write(script_that_loads(str(process.agent), self._recorder.socket_path))
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
            self.entered_by = "remote debugging"
        return came

    def _by_ptrace(self) -> str | None:
        """Has one of its threads load the agent: None if that worked, or why it did not."""
        process = self._process
        tracer = tracer_of(process.pid)
        if tracer is not None:
            return f"{tracer} traces it already"
        if isinstance(process.runtime, Jvm) and not is_up(process.pid):
            return "its JVM is not up yet"
        self.injection = done = inject.inject(
            process.pid,
            process.runtime,
            process.agent,
            "sonde_agent_attach",
            self._recorder.socket_path,
        )
        if done.outcome == inject.GONE:
            raise SondeError(f"process {process.pid} exited before it could be entered")
        if done.why_not is not None:
            return done.why_not
        if done.returned == errno.EALREADY:
            raise SondeError(f"process {process.pid} is being recorded already")
        if done.returned:
            return f"its agent has no thread: {os.strerror(done.returned).lower()}"
        self.entered_by = "ptrace"
        if not self._expect(STEER_S, "steered"):
            return "the agent in it does not answer"
        return None

    def _hear_agent(self) -> str | None:
        """Waits until the agent has begun, which takes the GIL; or why it has not."""
        answer = self._expect(GIL_S, "admitted", "refused")
        if not answer:
            held = "its GIL" if isinstance(self._process.runtime, Runtime) else "the agent"
            return f"the program did not let {held} go for {GIL_S:.0f} s"
        refused: str | None = answer.get("refused")
        return refused

    def _read_from_outside(self, why: str) -> None:
        self.entered_by = "nothing"
        self._recorder.say({"running": self._process.pid, "why": why})
        answer = self._expect(REMOTE_S, "admitted", "refused")
        if "admitted" not in answer:
            detail = answer.get("refused", "no interpreter was found in it")
            raise SondeError(f"process {self._process.pid} cannot be recorded: {why}; {detail}")

    def _expect(self, seconds: float, *words: str) -> dict[str, Any]:
        answer = self._recorder.expect(seconds, *words, "done")
        if "done" in answer:
            raise SondeError(f"process {self._process.pid} exited before it could be recorded")
        return answer

    # ---- ending

    def _on_signal(self, number: int, _: object) -> None:
        with contextlib.suppress(OSError):
            self._wake.send(bytes((number,)))

    def _give_up(self) -> None:
        with contextlib.suppress(SondeError, OSError):
            self._recorder.say({"stop": True})
            self._recorder.finished()
        self._restore_signals()

    def _restore_signals(self) -> None:
        self._over = True
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._wake.close()
        self._woken.close()
