"""The process that is watched: where its recording comes from, and how it ends.

A process that somebody records already is watched through that recording. Any other is entered, as
by `sonde attach`, and its recording is a temporary one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from typing import TYPE_CHECKING

from sonde.errors import SondeError
from sonde.record.system.procfs import is_alive
from sonde.record.targets import session_registry
from sonde.recording.follow import Follower
from sonde.views.live import HISTORY_NS, Live, live

if TYPE_CHECKING:
    from sonde.record.attach import Attach

MAX_SIZE = 64 << 20
"""A temporary recording that has grown to this begins again, so that hours of watching do not fill
a disk."""
# All rings have reported what happened before this much of the recorder's last words: the last
# drain and those words are not the same moment, and a handler takes a while.
SETTLED_NS = 20_000_000
WHOLE_NS = 100_000_000
SILENCE_S = 2.0


class Watched:
    """One process from when it is looked at until it is left."""

    def __init__(self, pid: int, what: list[str], rate: int) -> None:
        self.pid = pid
        self.rate = rate
        self.what = what
        self.ended = ""
        """Why nothing more will come."""
        self._attach: Attach | None = None
        self._folder = ""
        self._entered = 0
        self._grew = time.monotonic()
        session = session_registry.find(pid)
        if session is not None:
            if not session.path:
                raise SondeError(
                    f"process {pid} is being recorded in mode wrap, which has no file to read; end "
                    f"that recording with: sonde ctl {pid} stop"
                )
            self.path = session.path
            self.what = session.what
            self._follower = Follower(session.path)
        else:
            self.path = self._enter()

    @property
    def own(self) -> bool:
        """Whether the recording is ours."""
        return bool(self._folder)

    @property
    def asked_to_end(self) -> bool:
        return self._attach is not None and self._attach.asked_to_end

    def _enter(self) -> str:
        from sonde.record.attach import Attach
        from sonde.record.recorder.options.options import Options
        from sonde.record.targets.process import inspect_process

        process = inspect_process(self.pid)
        self._folder = self._folder or tempfile.mkdtemp(prefix="sonde-top-")
        self._entered += 1
        path = os.path.join(self._folder, f"top-{self._entered}.sonde")
        try:
            self._attach = Attach(
                process,
                Options(
                    path=path,
                    program=process.program,
                    argv=process.argv,
                    pid=process.pid,
                    what=self.what,
                    rate=self.rate,
                    attached=True,
                    place=process.place(),
                ),
            )
            self._follower = Follower(path)
        except BaseException:
            if self._entered == 1:
                self.close()
            raise
        return path

    def poll(self) -> bool:
        """Reads what was recorded since; whether there was anything."""
        if self.ended:
            return False
        before = self._follower.size
        came = self._follower.poll()
        if self._attach is not None:
            came |= self._look_for_end(self._attach)
        elif self._follower.size > before and not self._follower.ended:
            self._grew = time.monotonic()
        elif self._follower.ended or time.monotonic() > self._grew + SILENCE_S:
            came |= self._look_elsewhere()
        if self.own and not self.ended and self._follower.size > MAX_SIZE:
            self._begin_anew()
        return came

    def _look_for_end(self, attach: Attach) -> bool:
        try:
            done = attach.over()
        except SondeError as error:
            self.ended = str(error)
            return False
        if done is None:
            return False
        self.ended = f"process {self.pid} has exited"
        if done.get("note") == "the target replaced its program":
            self.ended = f"process {self.pid} now runs another program"
        return self._follower.poll()

    def _look_elsewhere(self) -> bool:
        """Nothing more comes from this file; its recorder may have begun another one.

        A recorder says something four times a second, unless it was killed.
        """
        session = session_registry.find(self.pid)
        if session is None or not is_alive(self.pid):
            self.ended = self._why_no_more()
        elif session.path != self.path:
            self._follower.close()
            self.path, self._follower = session.path, Follower(session.path)
            self._grew = time.monotonic()
            return self._follower.poll()
        elif self._follower.ended and time.monotonic() > self._grew + SILENCE_S:
            self.ended = self._why_no_more()
        return False

    def _why_no_more(self) -> str:
        if is_alive(self.pid):
            return f"the recording of process {self.pid} ended"
        return f"process {self.pid} has exited"

    def _begin_anew(self) -> None:
        assert self._attach is not None
        old, path = self._follower, self.path
        try:
            self._attach.stop()
            self.path = self._enter()
        except SondeError as error:
            self.ended = str(error)
            return
        old.close()
        os.unlink(path)

    # ---- what is seen

    @property
    def end_ns(self) -> int:
        """Until when everything is known."""
        if self._follower.ended:
            return self._follower.written_ns
        return max(0, (self._follower.written_ns - SETTLED_NS) // WHOLE_NS * WHOLE_NS)

    def look(self, window_ns: int, *, process: int | None = None, by_line: bool = False) -> Live:
        """The last part of the recording."""
        end = self.end_ns
        start = max(0, end - window_ns, self._follower.kept_from_ns)
        minute = max(0, end - max(window_ns, HISTORY_NS))
        self._seen = self._follower.recording(minute, start)
        return live(self._seen, start, end, process=process, by_line=by_line)

    def look_again(self, seen: Live, *, process: int | None, by_line: bool) -> Live:
        """The window of the last look, seen otherwise."""
        return live(self._seen, seen.start_ns, seen.end_ns, process=process, by_line=by_line)

    # ---- the end

    def close(self) -> None:
        """Leaves the process, if it was entered, and takes the temporary recording away."""
        try:
            if self._attach is not None:
                self._attach.stop()
        except SondeError as error:  # the recorder has exited, and the agent leaves by itself
            self.ended = self.ended or str(error)
        finally:
            if follower := getattr(self, "_follower", None):
                follower.close()
                del self._follower
            if self._folder:
                shutil.rmtree(self._folder, ignore_errors=True)
