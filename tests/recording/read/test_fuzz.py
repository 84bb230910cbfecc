"""A thousand bad files: each opens or is refused in a sentence, in little memory.

With `--soak` a hundred thousand. The inputs are the same in every run. SONDE_FUZZ_INPUTS asks for
another number of them, and SONDE_FUZZ_SEED for others.
"""

from __future__ import annotations

import os
import resource
import signal
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NoReturn

import numpy as np
import pytest

from recording.made import idle, program, unfinished, written
from recording.read.mutations import Mutator
from sonde.recording.reader import RecordingError, read_bytes
from sonde.recording.tables import Recording
from sonde.recording.write.writer import Writer

SEED = int(os.environ.get("SONDE_FUZZ_SEED", "1"))
SHARES = 8
# An input takes about a millisecond; this tells a hang from a slow machine.
HANG_SECONDS = 30
# The reader's allowance for a small file is 64 MiB of rows, which it holds a few times over.
MEMORY_BYTES = 512 << 20


def short(writer: Writer) -> None:
    program(writer, flushes=2)


def wide(writer: Writer) -> None:
    """Values of every width, and times that go back and forth."""
    writer.append("processes", 2**32 - 1, 0, "cpython", "", "", [""], -(2**60))
    writer.append("threads", 0, 2**32 - 1, "é" * 300)
    writer.append("functions", "", "", -(2**31))
    writer.append("contexts", -1, 0, 2**31 - 1)
    for number in range(60):
        writer.append("samples", 0, (-1) ** number << number, 0, 1 << number % 57, number % 3)
        if number % 20 == 19:
            writer.flush()
    writer.close({})


def assert_sound(recording: Recording) -> None:
    """What views rely on."""
    threads, functions = recording.threads, recording.functions
    contexts, samples, marks = recording.contexts, recording.samples, recording.marks
    for table in (threads, functions, contexts, samples, marks):
        assert len({len(column) for column in vars(table).values()}) == 1
    for rows, low, high in (
        (samples.context, -1, len(contexts)),
        (samples.thread, 0, len(threads)),
        (samples.state, 0, 3),
        (contexts.function, 0, len(functions)),
        (contexts.parent, -1, np.arange(len(contexts))),
        (threads.process, 0, len(recording.processes)),
        (marks.thread, -1, len(threads)),
    ):
        assert ((rows >= low) & (rows < high)).all()
    assert all(isinstance(process.pid, int) for process in recording.processes)
    "\n".join(threads.name + functions.name + functions.file + marks.text).encode()
    for key in ("taken", "undecodable", "missing_samples", "damaged_blocks"):
        assert recording.quality[key] >= 0 or key in ("taken", "undecodable")
    assert recording.target["duration_ns"] >= 0
    repr((recording.target, recording.quality, recording.warnings)).encode()


def hang(_signal: int, _frame: object) -> NoReturn:
    raise AssertionError(f"an input took longer than {HANG_SECONDS} s")


def fuzz(seed: int, inputs: int) -> Counter[str]:
    """Runs in a process of its own, so that its memory can be measured and limited."""
    bases = [written(write) for write in (short, unfinished, idle, wide)]
    mutator = Mutator(bases, seed)
    outcomes: Counter[str] = Counter()
    signal.signal(signal.SIGALRM, hang)
    for base in bases:
        assert_sound(read_bytes(base))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    # A runaway ends in a MemoryError here and not in the machine's swap.
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, hard))
    for number in range(inputs):
        data = mutator.next()
        signal.setitimer(signal.ITIMER_REAL, HANG_SECONDS)
        try:
            recording = read_bytes(data)
            assert_sound(recording)
            outcomes["whole" if not recording.warnings else "partly"] += 1
        except RecordingError as error:
            if "too large for this machine's memory" in str(error):
                raise AssertionError(f"seed {seed}, input {number}: {error}") from error
            outcomes["refused"] += 1
        except BaseException as error:
            raise AssertionError(f"seed {seed}, input {number}: {error!r}") from error
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    assert grown < MEMORY_BYTES, f"seed {seed}: grew by {grown >> 20} MiB"
    return outcomes


@pytest.mark.timeout(1800)
def test_mutated_recordings_open_or_are_refused(request):
    few = "100000" if request.config.getoption("soak") else "1000"
    inputs = int(os.environ.get("SONDE_FUZZ_INPUTS", few))
    # Spawned: a fork would inherit this process's peak of memory.
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        seeds = [SEED * 1000 + share for share in range(SHARES)]
        outcomes = sum(pool.map(fuzz, seeds, [inputs // SHARES] * SHARES), Counter[str]())
    assert outcomes.total() == inputs // SHARES * SHARES
    # All three ways are taken often: otherwise the mutations would not reach the deep code.
    assert min(outcomes["whole"], outcomes["partly"], outcomes["refused"]) > inputs // 200
