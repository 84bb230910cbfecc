"""Running a command under sonde: the target must not notice, and neither must its caller."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import select
import shutil
import signal
import sys
from collections.abc import Callable
from typing import Any

from sonde.errors import CommandError, SondeError

from . import late_start
from .recorder.control.agent_socket import listen
from .recorder.options.options import Options, with_shared_memory
from .recorder_process import RecorderHandle
from .system import exit_status, native_libraries
from .system.group_witness import GroupWitness
from .targets.process import program_of

# Passed on when somebody sends them to us alone; those for our process group reach the target.
_FORWARDED = (
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGCONT,
    signal.SIGWINCH,
)
_WAITED = (*_FORWARDED, signal.SIGCHLD)
# The terminal sends SIGHUP to the leader of the session alone, which we may be.
_SENT_BY_THE_KERNEL = 128  # si_code SI_KERNEL

NOT_EXECUTABLE, NOT_FOUND = 126, 127

# How long a program waits for the recorder to be ready, or to say why it cannot record. One that
# is later than that finds it running.
READY_S = 3.0

# Options of an interpreter that name the program: a module, or its code.
WITH_VALUE = ("-m", "-c")

# What is sent to the waiting child first: 0 or 1, whether children are followed, or this.
_NO_AGENT = 2


def command_of(arguments: list[str]) -> list[str]:
    """The command behind `sonde run`: a script or -m goes to the interpreter sonde runs on."""
    first = arguments[0]
    if first in (*WITH_VALUE, "-") or first.endswith(".py"):
        return [sys.executable, *arguments]
    return arguments


def program_name(arguments: list[str]) -> str:
    """What to call the recording after: the script or module behind an interpreter."""
    return program_of(command_of(arguments))


def _why_not(program: str) -> CommandError:
    """Why a program cannot be run; only one named by its path can be there all the same."""
    if os.path.isdir(program):
        return CommandError(f"{program} is a directory; give a program", NOT_EXECUTABLE)
    if not os.path.isfile(program):
        return CommandError(f"no program {program!r} found", NOT_FOUND)
    if os.sep not in program:
        hint = f"to run a file in this directory, give ./{program}"
        return CommandError(f"no program {program!r} found; {hint}", NOT_FOUND)
    hint = "make it executable, or put its interpreter in front"
    return CommandError(f"{program} is not executable; {hint}", NOT_EXECUTABLE)


def check_command(arguments: list[str]) -> None:
    """Raises CommandError where there is nothing to run, before anything is recorded."""
    first = arguments[0]
    if first.endswith(".py") and not os.path.exists(first):
        raise CommandError(f"no script {first!r} found", NOT_FOUND)
    program = command_of(arguments)[0]
    if shutil.which(program) is None:
        raise _why_not(program)


class Launch:
    """One command, from fork to its end."""

    def __init__(self, arguments: list[str], make_options: Callable[[int], Options]) -> None:
        check_command(arguments)
        self._command = command_of(arguments)
        preload = str(native_libraries.preload())
        # The target waits in a child of ours until the recorder is up, but not for long: the
        # recording is named after its pid, and where no recorder can be had, nothing is run.
        go_read, go_write = os.pipe()
        fail_read, fail_write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self._become_target(go_read, go_write, fail_write, preload)
        os.close(go_read)
        os.close(fail_write)
        self._witness = GroupWitness(_FORWARDED)
        try:
            options = with_shared_memory(make_options(self.pid))
            listening = listen()
            late_start.write_config(listening.folder, options)
            self._recorder = RecorderHandle(options, timeout_s=READY_S, listening=listening)
            self._recorder.send("root", pid=self.pid)
        except BaseException:
            os.close(go_write)  # the child sees the end of the pipe and goes quietly
            os.waitpid(self.pid, 0)
            self._witness.end()
            raise
        how = _NO_AGENT if options.sampler == "remote" else int(options.children)
        message = f"{how}{self._recorder.socket_path}".encode()
        # From its first moment on: a Ctrl-C then is the program's. Threads of ours inherit it.
        signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED)
        os.write(go_write, message)
        os.close(go_write)
        with os.fdopen(fail_read, "rb") as f:  # ends when the target's program replaces ours
            self._failed = f.read()
        # Whoever looks at it from outside would have found our own interpreter until now.
        with contextlib.suppress(SondeError):  # a recorder that ended is reported at the end
            self._recorder.send("running")

    def _become_target(self, go_read: int, go_write: int, fail_write: int, preload: str) -> None:
        try:
            os.close(go_write)
            word = os.read(go_read, 4096).decode()
            if not word:
                os._exit(1)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):  # as Python found them
                signal.signal(number, signal.SIG_DFL)
            environment = dict(os.environ)
            if int(word[0]) != _NO_AGENT:
                users = environment.get("LD_PRELOAD")
                environment["LD_PRELOAD"] = preload if users is None else f"{preload}:{users}"
                environment["SONDE_SOCKET"] = word[1:]
                if word[0] == "0":
                    environment["SONDE_NO_CHILDREN"] = "1"
            os.execvpe(self._command[0], self._command, environment)
        except OSError as error:
            os.write(fail_write, f"{error.errno}".encode())
        finally:
            os._exit(NOT_EXECUTABLE)

    @property
    def recorder_pid(self) -> int:
        return self._recorder.pid

    def wait(self) -> tuple[int, dict[str, Any] | None, str | None]:
        """Until the target has exited: its wait status, what was recorded, or why it was not."""
        try:
            status = self._wait_for_target()
        finally:
            self._witness.end()
        text = exit_status.describe(status)
        done: dict[str, Any] | None = None
        trouble: str | None = None
        try:
            self._recorder.send("exit", pid=self.pid, text=text)
            done = self._recorder.finished()
        except SondeError as error:
            trouble = str(error)
        if self._failed:
            number = int(self._failed)
            if done is not None:
                # Nothing ran, so nothing is recorded.
                with contextlib.suppress(OSError):
                    os.unlink(self._recorder.path)
            code = NOT_FOUND if number == errno.ENOENT else NOT_EXECUTABLE
            why = os.strerror(number).lower()
            raise CommandError(f"cannot run {self._command[0]!r}: {why}", code)
        return status, done, trouble

    def release_signals(self) -> None:
        """For whatever is done after the recording, which a Ctrl-C is to end."""
        # One that came with the end of the target was meant for it.
        while signal.sigtimedwait(_FORWARDED, 0):
            pass
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _WAITED)

    def _wait_for_target(self) -> int:
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return status
            info = signal.sigwaitinfo(_WAITED)
            if info.si_signo == signal.SIGCHLD:
                continue
            to_group = self._witness.saw(info.si_signo)
            if to_group is None:
                to_group = info.si_code == _SENT_BY_THE_KERNEL
            if not to_group:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, info.si_signo)


def end_like(status: int) -> None:
    """Ends this process the way the target ended: same exit code, or death by the same signal."""
    if not os.WIFSIGNALED(status):
        sys.exit(os.waitstatus_to_exitcode(status))
    number = os.WTERMSIG(status)
    sys.stdout.flush()
    sys.stderr.flush()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one core file, the target's, is enough
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    with contextlib.suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    select.select([], [], [], 1.0)
    os._exit(128 + number)
