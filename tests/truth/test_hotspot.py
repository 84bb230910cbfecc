"""Java programs whose true profile is known, on every JDK found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from java import Jdk, compiled
from launching import Run, must_run
from shared import run_folder

from truth.bounds import compare
from truth.conftest import ATTEMPTS, RATE
from truth.stacks import Stacks, marked_lines

Get = Callable[[str], "JavaTruth"]

PROGRAMS = Path(__file__).resolve().parent / "hotspot"
CPU_SECONDS = "1.5"
# Of the samples of Java threads: 0.1 to 0.4 % were seen.
UNWALKED = 0.01
# While the machine starts, before its first thread runs Java: about twenty at this rate.
STARTING = 30


def few(taken: int) -> float:
    return UNWALKED * taken + STARTING


# Around the reading of a thread's own clock.
SLACK_NS = 3 * 1_000_000_000 // RATE


@dataclass(frozen=True)
class JavaTruth:
    run: Run

    @cached_property
    def stacks(self) -> Stacks:
        return Stacks(self.run.recording)

    def wrong(self, truth: str, measured: dict[str, int]) -> list[str]:
        """Parts of the main thread whose share is not what the program told."""
        recording = self.run.recording
        samples = recording.samples
        of_main = samples.thread == recording.threads.name.index("main")
        weight = samples.weight[of_main]
        unseen = weight[samples.context[of_main] < 0].sum() / weight.sum()
        assert unseen < UNWALKED
        return compare(self.run.told[truth], measured, samples.weight, unseen=float(unseen))


@pytest.fixture(scope="session")
def truth(jdk: Jdk, keep: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Get:
    """The truth program of that name, recorded at the first call."""
    classes = compiled(PROGRAMS, run_folder(tmp_path_factory) / "java-truth")
    done: dict[str, JavaTruth] = {}

    def get(name: str) -> JavaTruth:
        if name not in done:
            path = keep(f"{name}-{jdk}")
            command = [jdk.java, "-Xmx256m", "-cp", classes, name, CPU_SECONDS]
            for _ in range(ATTEMPTS):
                run = must_run(path, command, "--rate", str(RATE))
                # Where others took the processor, signals come too late for a stack.
                quality = run.recording.quality
                if not quality["lost"] and quality["undecodable"] <= few(quality["taken"]):
                    break
            done[name] = JavaTruth(run)
        return done[name]

    return get


def test_methods_get_their_share(truth: Get) -> None:
    it = truth("Shares")
    measured = it.stacks.split_by_child("Shares.turn")
    assert not it.wrong("by_method", measured)


def test_lines_get_their_share(truth: Get) -> None:
    it = truth("Shares")
    lines = marked_lines(PROGRAMS / "Shares.java", "// line: ")
    measured = it.stacks.split(
        lambda frame: lines.get(frame.line) if frame.code.name == "Shares.lines" else None
    )
    assert not it.wrong("by_line", measured)


def test_lambdas_are_named_after_their_source_and_get_their_share(truth: Get) -> None:
    it = truth("Shares")
    names = set(it.run.told["by_lambda"]["spent"])
    measured = it.stacks.split(
        lambda frame: (name := frame.code.name.rpartition(".")[2]) in names and name or None
    )
    assert not it.wrong("by_lambda", measured)
    # No addresses, no counters: the next run has the same names.
    odd = [name for name in it.run.recording.functions.name if "/0x" in name or "Lambda$1" in name]
    assert not odd


def test_inlined_methods_are_frames_of_their_own(truth: Get) -> None:
    it = truth("Shares")
    total = it.stacks.split(lambda f: "all" if f.code.name == "Shares.inlined" else None)["all"]
    inside = it.stacks.split(
        lambda f: f.code.name if f.code.name in ("Shares.middle", "Shares.little") else None
    )
    # What is left is the loop itself.
    assert sum(inside.values()) > 0.5 * total
    for context in it.stacks:
        if it.stacks.frame[context].code.name == "Shares.little":
            caller = it.stacks.frame[it.stacks.parent[context]].code.name
            assert caller == "Shares.middle", it.stacks.show(context)


def test_what_compilers_replace_gets_its_share(truth: Get) -> None:
    """Routines in place of methods: no frames of their own, registers pushed, room made."""
    it = truth("Intrinsics")
    assert not it.wrong("by_part", it.stacks.split_by_child("Intrinsics.turn"))


# Each is called by one part only, itself or by others of that part; classes that are initialised
# on the way call them, too.
PART_OF = {
    **{f"Intrinsics.{part}": part for part in ("comparing", "multiplying", "hashing", "encoding")},
    "java.lang.String.compareTo": "comparing",
    "java.math.BigInteger.": "multiplying",
    "java.util.zip.": "hashing",
    "sun.security.provider.": "hashing",
    "java.lang.String.getBytes": "encoding",
    "java.lang.String.encode": "encoding",
}


def part_of(name: str) -> str:
    return next((part for begins, part in PART_OF.items() if name.startswith(begins)), "")


def test_nobody_is_called_by_who_never_calls_it(truth: Get) -> None:
    """A routine's room is full of what earlier calls left there."""
    it = truth("Intrinsics")
    inside = it.stacks.below(lambda frame: frame.code.name == "Intrinsics.turn")
    met = set()
    for context in it.stacks:
        if not inside[context] or it.stacks.parent[context] < 0:
            continue
        caller = part_of(it.stacks.frame[it.stacks.parent[context]].code.name)
        called = part_of(it.stacks.frame[context].code.name)
        assert not caller or not called or caller == called, it.stacks.show(context)
        met.add((caller, called))
    assert {("comparing", "comparing"), ("multiplying", "multiplying")} <= met


def test_recursion_has_its_depth(truth: Get) -> None:
    it = truth("Deep")
    assert it.run.recording.quality["truncated"] == 0
    depths: dict[int, int] = {}
    for context in it.stacks:
        if it.stacks.count[context] and it.stacks.frame[context].code.name == "Told.mix":
            names = [frame.code.name for frame in it.stacks.path(context)]
            depth = names.count("Deep.down")
            depths[depth] = depths.get(depth, 0) + int(it.stacks.count[context])
    assert set(depths) == {it.run.told["depth"]}


def test_unloaded_classes_get_no_more_than_their_time(truth: Get) -> None:
    """Each lives for a few samples: a sample under another's name shows as too much time."""
    it = truth("Generated")
    # How many it makes depends on the machine's speed; 25 at a time are unloaded.
    assert it.run.told["unloaded"] >= 49
    spent = {int(number): ns for number, ns in it.run.told["spent"].items()}
    owner = [-1] * len(it.stacks.parent)
    for context in it.stacks:
        name = it.stacks.frame[context].code.name
        if name.startswith("Made"):
            owner[context] = int(name[4:8])
            assert name in (f"{name[:8]}.work{name[4:8]}", f"{name[:8]}.leaf{name[4:8]}")
        elif it.stacks.parent[context] >= 0:
            owner[context] = owner[it.stacks.parent[context]]
    seen: dict[int, int] = {}
    samples = it.run.recording.samples
    for context, weight in zip(samples.context.tolist(), samples.weight.tolist(), strict=True):
        number = owner[context] if context >= 0 else -1
        if number >= 0:
            # The first sample of one also counts for the time before it began.
            seen[number] = seen[number] + weight if number in seen else 0
    assert len(seen) > len(spent) / 2
    period = 1_000_000_000 // RATE
    assert not {n: (ns, spent[n]) for n, ns in seen.items() if ns > spent[n] + period}
    unnamed = it.stacks.split(lambda f: "it" if f.code.name.startswith("[method of") else None)
    assert sum(unnamed.values()) < 0.01 * int(samples.weight.sum())


def test_every_thread_gets_its_time_and_its_name(truth: Get) -> None:
    it = truth("Threads")
    recording = it.run.recording
    samples = recording.samples
    rows = {name: row for row, name in enumerate(recording.threads.name)}
    inside = it.stacks.below(lambda frame: frame.code.name == "Threads.work")
    for number, spent in it.run.told["spent"].items():
        mine = samples.thread == rows[f"worker number {number}"]
        weight, context = samples.weight[mine], samples.context[mine]
        # Where the walker fails, and where the machine compiles or deoptimizes for the thread.
        without = int(weight[~inside[context]].sum())
        sampled = int(weight[inside[context]].sum())
        # The first sample inside also counts for the time before it.
        before = int(weight[inside[context].argmax()])
        assert spent - without - SLACK_NS < sampled < spent + before + SLACK_NS, number
        names = {it.stacks.path(c)[0].code.name for c in set(context.tolist()) if c >= 0}
        assert names <= {"java.lang.Thread.run", "java.lang.Thread.exit", *OWN_WORK}, number


OWN_WORK = {"[thread outside of Java]", "[no Java frames]", "[thread ends]", "[deoptimization]"}


@pytest.mark.parametrize("program", ["Shares", "Intrinsics", "Deep", "Generated", "Threads"])
def test_every_sample_is_accounted_for(truth: Get, program: str) -> None:
    quality = truth(program).run.recording.quality
    unwalked = {key: n for key, n in quality.items() if key.startswith("unwalked_")}
    assert quality["lost"] == 0
    # Walks that ended in the guard.
    assert quality["faults"] <= 0.0005 * quality["taken"]
    assert quality["undecodable"] <= few(quality["taken"]), unwalked
    # The few others came too late for a stack, or were the last before the VM ended.
    assert quality["undecodable"] - sum(unwalked.values()) <= 0.002 * quality["taken"]


def test_the_virtual_machines_own_work_is_named(truth: Get) -> None:
    it = truth("Shares")
    roots = {
        it.stacks.frame[context].code.name for context in it.stacks if it.stacks.parent[context] < 0
    }
    assert {"[C2 compiler]", "[C1 compiler]"} <= roots
    pauses = it.run.recording.marks
    assert "GC pause" in pauses.text
    assert all(0 < ns < 10**10 for ns in pauses.duration_ns.tolist())
