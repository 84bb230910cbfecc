"""Starting a recorder process and talking with it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import socket
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sonde._version import version
from sonde.errors import SondeError, UsageError

from .recorder.control.agent_socket import AgentSocket
from .recorder.options.options import Options, online_memory
from .recorder.options.segment_storage import rescue
from .targets.session_registry import RECORDER

# On a machine that is busy enough an interpreter takes this long to come up.
START_S = 60.0
FINISH_S = 30.0


class RecorderKilledError(SondeError):
    """Somebody killed it, or the kernel did for lack of memory: not its own doing."""


class RecorderHandle:
    """A recorder process started by us."""

    socket_path: str
    path: str
    session: str

    def __init__(
        self,
        options: Options,
        *,
        timeout_s: float | None = None,
        listening: AgentSocket | None = None,
    ) -> None:
        """Waits until it is ready; a SondeError says why it cannot be.

        With `timeout_s` not longer than that: then `ready` is false, and `listening`, where agents
        introduce themselves, must be ours.
        """
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        config = {
            "path": os.path.abspath(options.path),
            "program": options.program,
            "argv": options.argv,
            "pid": options.pid,
            "what": options.what,
            "rate": options.rate,
            "sampler": options.sampler,
            "stacks": options.stacks,
            "children": options.children,
            "calls": asdict(options.calls),
            "probes": [probe.to_config() for probe in options.probes],
            "flow": asdict(options.flow),
            "lock_sampling": asdict(options.lock_sampling),
            "steps": asdict(options.steps) if options.steps else None,
            "attached": options.attached,
            "place": options.place,
            "mode": options.mode.to_config(),
            "budget": options.budget,
            "online": online_memory(options),
            "session": options.session,
            "memory": options.memory,
            "slots": options.slots,
            "ring_size": options.ring_size,
            "sonde": version(),
            "listening": listening.to_config() if listening else None,
        }
        self._socket = ours
        self._done: dict[str, Any] | None = None
        self._memory = options.memory or []
        self._mode = options.mode.name
        environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _program(), str(its.fileno()), json.dumps(config)],
            pass_fds=[its.fileno(), *self._memory, *([listening.fileno()] if listening else [])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the target
        )
        its.close()
        self._listening = listening
        self.ready = False
        if listening:
            listening.close()  # a recorder that dies is to be noticed at once
            self.socket_path = listening.path
        if timeout_s is None or select.select([ours], [], [], timeout_s)[0]:
            self._hear(START_S)

    @property
    def pid(self) -> int:
        return self._process.pid

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, command: str, /, **arguments: Any) -> None:
        """One that others have ended hears no more, and has said all there is."""
        try:
            self._socket.send(json.dumps({"do": command, **arguments}).encode())
        except OSError:
            if self._heard_end():
                return
            raise self._gone() from None

    def ask(self, command: str, /, **arguments: Any) -> dict[str, Any] | None:
        """Says something and waits for the answer; what else it says meanwhile is passed over.

        A recorder that others have ended does not answer: None.
        """
        self.send(command, answered=True, **arguments)
        while self._done is None:
            heard = self._hear(FINISH_S)
            if heard.get("did") != command:
                continue
            if "refused" in heard:
                raise (UsageError if heard["code"] == UsageError.code else SondeError)(
                    heard["refused"]
                )
            answer: dict[str, Any] = heard["answer"]
            return answer
        return None

    def hear(self) -> dict[str, Any]:
        """The next thing it says; after `done` there is no other."""
        answer = self._done or self._hear(FINISH_S)
        if "done" in answer:
            self._end()
        return answer

    def finished(self) -> dict[str, Any]:
        """Waits until the file is closed; what the recording says about itself."""
        try:
            while self._done is None:
                self._hear(FINISH_S)
            return self._done
        finally:
            self._end()

    def _hear(self, timeout: float) -> dict[str, Any]:
        self._socket.settimeout(timeout)
        try:
            message = self._socket.recv(1 << 20)
        except TimeoutError:
            self._process.kill()
            self._process.wait()
            self._remove_folder()
            late = "" if self.ready else "; the program ran unrecorded"
            raise SondeError(f"the recorder did not respond within {timeout:.0f} s{late}") from None
        except OSError:
            message = b""
        if not message:
            raise self._gone()
        answer: dict[str, Any] = json.loads(message)
        if "error" in answer:
            self._end()
            raise SondeError(answer["error"])
        if "ready" in answer:
            self.ready = True
            self.socket_path = answer["ready"]
            self.path = answer["path"]
            self.session = answer["session"]
        if "done" in answer:
            self._done = answer
        return answer

    def _heard_end(self) -> bool:
        """Its last word may lie unread in the socket; a SondeError if that states why it ended."""
        with contextlib.suppress(ValueError):
            while self._done is None and select.select([self._socket], [], [], 0)[0]:
                self._hear(FINISH_S)
        return self._done is not None

    def _remove_folder(self) -> None:
        """Who is killed leaves the socket's folder behind."""
        if self._listening:
            shutil.rmtree(self._listening.folder, ignore_errors=True)

    def _gone(self) -> SondeError:
        code = self._process.wait()
        self._remove_folder()
        if reason := self._left_behind():
            return SondeError(reason)
        kept = self._kept()
        if code < 0:
            return RecorderKilledError(f"the recorder was killed by signal {-code}{kept}")
        return SondeError(f"the recorder exited with code {code}{kept}")

    def _kept(self) -> str:
        """What is left of the recording, as the end of a sentence."""
        path = getattr(self, "path", None)
        if path is None:
            return ""
        if self._mode == "wrap":
            try:
                if not rescue(self._memory, path):
                    return ""
            except SondeError as error:
                return f"; {error}"
        return f"; {path} has the data recorded until then"

    def _left_behind(self) -> str | None:
        """Why it went, if it said so: its last word may still lie unread in the socket."""
        self._socket.setblocking(False)
        with contextlib.suppress(OSError):
            while message := self._socket.recv(1 << 20):
                reason: str | None = json.loads(message).get("error")
                if reason:
                    return reason
        return None

    def _end(self) -> None:
        self._socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(FINISH_S)


def _program() -> str:
    """What the recorder runs: isolated from the target's variables, but with our own modules."""
    source = str(Path(__file__).resolve().parents[2])
    others = [path for path in sys.path if path and path != source and os.path.isdir(path)]
    return f"""
import sys
sys.path.insert(0, {source!r})
sys.path += [path for path in {others!r} if path not in sys.path]
try:
    from {RECORDER} import main
except ImportError as error:
    import json, socket
    words = {{"error": f"the recorder cannot start: {{error}}"}}
    socket.socket(fileno=int(sys.argv[1])).send(json.dumps(words).encode())
    sys.exit(1)
sys.exit(main())
"""
