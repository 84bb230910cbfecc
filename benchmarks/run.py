#!/usr/bin/env python3
"""What sonde costs and how right it is, measured beside other profilers on this machine.

    benchmarks/run.py                   the usual parts; wants a quiet machine
    benchmarks/run.py --quick           the same with few programs and short runs
    benchmarks/run.py --only overhead   one part: overhead overhead-rare ticks peers accuracy
                                        locks contended counting flow objects created
                                        memory-peers heap open disk recorder page attach top cycles
                                        hotspot hotspot-locks java-spans continuous fleet slower
                                        calls chained partial walks scale threads steal loops;
                                        and long ones: calls-versions calls-table agreement truth
                                        intervals
    benchmarks/run.py --write           write benchmarks/results and the pages made of it
    benchmarks/run.py --whole           `make evaluate`: every part, written into the page. What is
                                        measured is kept under build/, and the same call goes on
                                        from there after it was broken off

Prints Markdown tables. Each page of benchmarks/results describes the method of its parts.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from accuracy import (
    accuracy,
    agreement,
    calls,
    chained,
    created,
    partial,
    slower,
    steal,
    truths,
    walks,
)
from cost import (
    attach,
    continuous,
    counting,
    cycles,
    fleet_store,
    flow,
    heap,
    hotspot,
    hotspot_locks,
    intervals,
    java_spans,
    lock_activity,
    locks,
    loops,
    memory_peers,
    objects,
    opening,
    overhead,
    page,
    probes,
    recorder,
    scale,
    threads,
    ticks,
    top,
)
from cost.overhead import Plan
from harness import interpreters, kept, machine, packages, peers, source_state
from harness.packages import Environment
from harness.progress import say
from publish import evaluation
from publish.markdown import Section
from workloads import programs

PARTS = (
    "overhead",
    "overhead-rare",
    "ticks",
    "peers",
    "accuracy",
    "locks",
    "contended",
    "counting",
    "flow",
    "lock-activity",
    "probes",
    "objects",
    "created",
    "memory-peers",
    "heap",
    "open",
    "disk",
    "recorder",
    "page",
    "attach",
    "top",
    "cycles",
    "hotspot",
    "hotspot-locks",
    "java-spans",
    "continuous",
    "fleet",
    "slower",
    "calls",
    "chained",
    "partial",
    "walks",
    "scale",
    "threads",
    "steal",
    "loops",
)
# Long ones, and only when asked for.
APART = ("truth", "intervals", "agreement", "calls-versions", "calls-table")
KEPT = source_state.ROOT / "build" / "evaluate"
MAIN_VERSION = "3.12"
# What takes long is measured on so many interpreters; the rest on all. The last has a profiler of
# its own to compare with.
SEVERAL = (MAIN_VERSION, "3.14", "3.15")
REQUIREMENTS = ("django", "sqlglot", "pyinstrument")
QUICK_PROGRAMS = ["richards", "json", "deep"]
THREADED = ["threads", "handoff"]
VERSION_PROGRAMS = ["richards", "deltablue", "json", "raytrace"]


class Bench:
    """One run: what was asked for, and with what it is answered."""

    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.quick: bool = options.quick
        self.scratch = scratch
        found = interpreters.found()
        self.pythons = {v: p for v, p in found.items() if v in (options.versions or found)}
        if not self.pythons:
            sys.exit("none of these versions is here; `make pythons` fetches them")
        self._found = found
        self.chosen: list[str] | None = options.programs

    # Installed when a part first asks: not every part runs programs or peers.

    @cached_property
    def envs(self) -> dict[str, Environment]:
        say("packages for the programs")
        return {
            version: packages.environment(version, python, REQUIREMENTS)
            for version, python in self.pythons.items()
        }

    @cached_property
    def main(self) -> Environment:
        return self.envs.get(MAIN_VERSION) or next(iter(self.envs.values()))

    @cached_property
    def own(self) -> Environment:
        own = f"{sys.version_info[0]}.{sys.version_info[1]}"
        return packages.environment(own, sys.executable, REQUIREMENTS)

    @cached_property
    def _peers(self) -> tuple[peers.Tools, dict[str, str]]:
        say("packages of the peers")
        return packages.tools(self._found)

    @property
    def tools(self) -> peers.Tools:
        return self._peers[0]

    @property
    def missing(self) -> dict[str, str]:
        return self._peers[1]

    def programs(self, usual: list[str], quick: list[str]) -> list[str]:
        return self.chosen or (quick if self.quick else usual)

    def several(self) -> list[Environment]:
        """Interpreters for what takes long."""
        wanted = SEVERAL[:1] if self.quick else SEVERAL
        return [env for version, env in self.envs.items() if version in wanted] or [self.main]

    def overhead(self, section: Section) -> None:
        # Seconds a program at each rate. The slower the rate, the smaller what is looked for.
        plans = {1000: Plan(6 if self.quick else 30), 10_000: Plan(3 if self.quick else 10)}
        names = self.programs(list(programs.PROGRAMS), QUICK_PROGRAMS)
        overhead.of_sonde(section, self.main, names, plans)
        names = self.programs(VERSION_PROGRAMS, QUICK_PROGRAMS)
        seconds = 3 if self.quick else 12
        overhead.of_parts(
            section, self.main, names, {rate: Plan(seconds) for rate in (1000, 10_000)}
        )
        if not self.quick:
            overhead.of_versions(section, list(self.envs.values()), names, Plan(10))

    def overhead_rare(self, section: Section) -> None:
        names = self.programs(list(programs.PROGRAMS), QUICK_PROGRAMS)
        overhead.of_sonde(section, self.main, names, {100: Plan(6 if self.quick else 45)})

    def ticks(self, section: Section) -> None:
        names = self.programs(list(programs.SHORT), ["richards", "json"])
        known = [name for name in names if name in programs.SHORT]
        ticks.report(section, self.main, known, 5 if self.quick else 10, self.scratch)

    def peers(self, section: Section) -> None:
        names = self.programs(list(overhead.PEER_PROGRAMS), ["richards"])
        plan = Plan(3, 2) if self.quick else Plan(6, 6)
        overhead.of_peers(section, self.envs, self.tools, dict(self.missing), plan, 1000, names)

    def accuracy(self, section: Section) -> None:
        names = self.programs(list(accuracy.PROGRAMS), ["richards"])
        envs = (
            self.envs
            if not self.quick
            else {version: env for version, env in self.envs.items() if version in ("3.12", "3.15")}
        )
        seconds = 0.7 if self.quick else 1.5
        rates = [10_000] if self.quick else list(accuracy.RATES)
        accuracy.report(section, envs, self.tools, seconds, self.scratch, names, rates)

    def locks(self, section: Section) -> None:
        names = self.programs([n for n in programs.PROGRAMS if n not in THREADED], QUICK_PROGRAMS)
        locks.report(section, list(self.envs.values()), self.main, names, self.quick)

    def contended(self, section: Section) -> None:
        locks.report_contended(section, list(self.envs.values()), self.main, self.quick)

    def counting(self, section: Section) -> None:
        names = self.programs([*VERSION_PROGRAMS, "threads", "handoff"], QUICK_PROGRAMS)
        counting.report(section, self.main, names, Plan(3 if self.quick else 40))

    def flow(self, section: Section) -> None:
        names = self.programs(list(flow.PROGRAMS), ["richards", "deltablue"])
        seconds = 0.2 if self.quick else 1.0
        flow.report(section, self.several(), names, seconds, self.scratch)

    def lock_activity(self, section: Section) -> None:
        names = self.programs(list(lock_activity.PROGRAMS), ["json", "logging"])
        seconds = 0.1 if self.quick else 0.4
        lock_activity.report(section, self.several(), names, seconds, self.scratch)

    def probes(self, section: Section) -> None:
        names = self.programs(list(probes.PROGRAMS), ["richards"])
        envs = [env for env in self.several() if env.version != "3.11"]
        probes.report(section, envs, names, 0.1 if self.quick else 0.4, self.scratch)

    def objects(self, section: Section) -> None:
        names = self.programs(list(objects.PROGRAMS), ["richards", "json_loads"])
        for env in self.envs.values():
            packages.add(env, objects.PACKAGES)
        objects.report(section, list(self.envs.values()), names, Plan(3 if self.quick else 20))

    def created(self, section: Section) -> None:
        names = self.programs(list(created.PROGRAMS), ["deltablue"])
        seconds = 3 if self.quick else 60
        created.report(section, list(self.envs.values()), names, seconds, self.scratch)

    def memory_peers(self, section: Section) -> None:
        names = self.programs(list(memory_peers.PROGRAMS), ["json_loads"])
        packages.add(self.main, memory_peers.PACKAGES)
        memory_peers.report(section, self.main, names, 2 if self.quick else 5, self.scratch)

    def heap(self, section: Section) -> None:
        for env in self.envs.values():
            packages.add(env, heap.PACKAGES)
        heap.report(section, list(self.envs.values()), 2 if self.quick else 5, self.scratch)

    def open(self, section: Section) -> None:
        opening.of_opening(section, self.scratch, opening.SAMPLES)

    def disk(self, section: Section) -> None:
        names = self.programs(["richards", "json", "raytrace"], ["richards"])
        opening.of_disk(section, self.main, names, 4 if self.quick else 6, self.scratch)

    def recorder(self, section: Section) -> None:
        recorder.report(section, self.own, 2 if self.quick else 5)

    def page(self, section: Section) -> None:
        page.report(section, self.scratch, 100_000 if self.quick else page.SAMPLES)

    def attach(self, section: Section) -> None:
        attach.report(
            section, list(self.envs.values()), self.main, self.tools.get("py-spy"), self.quick
        )

    def top(self, section: Section) -> None:
        top.report(section, self.main, self.tools.get("py-spy"), self.quick)

    def cycles(self, section: Section) -> None:
        cycles.report(section, list(self.envs.values()), self.quick)

    def hotspot(self, section: Section) -> None:
        hotspot.report(section, self.quick)

    def hotspot_locks(self, section: Section) -> None:
        hotspot_locks.report(section, self.quick)

    def java_spans(self, section: Section) -> None:
        java_spans.report(section, self.quick)

    def continuous(self, section: Section) -> None:
        continuous.report(section, self.main, 30 if self.quick else 1200, self.scratch)

    def fleet(self, section: Section) -> None:
        fleet_store.report(section, self.main, self.scratch, self.quick)

    def slower(self, section: Section) -> None:
        names = self.programs(list(slower.PROGRAMS), ["deltablue"])
        plan = slower.QUICK if self.quick else slower.Plan()
        slower.report(section, self.main, names, plan, self.scratch)

    def calls(self, section: Section) -> None:
        names = self.programs(list(programs.PYPERFORMANCE), ["richards", "deltablue"])
        plan, seconds = (Plan(3), 3) if self.quick else (Plan(20), 30)
        cost = calls.by_slices(plan)
        calls.of_programs(section, self.main, names, cost, seconds, self.scratch)

    def calls_versions(self, section: Section) -> None:
        names = self.programs(list(programs.PYPERFORMANCE), ["richards", "deltablue"])
        seconds = 3 if self.quick else 30
        cost = calls.by_rounds(seconds / 3, self.scratch)
        for env in self.envs.values():
            if env is not self.main:
                calls.of_programs(section, env, names, cost, seconds, self.scratch, goals=False)

    def calls_table(self, section: Section) -> None:
        names = self.programs(list(programs.BRANCHED), ["richards"])
        cost = calls.by_rounds(1 if self.quick else 6, self.scratch)
        seconds = 0.7 if self.quick else 1.5
        for env in self.several():
            calls.of_parameters(section, env, names, cost, seconds, self.scratch)

    def agreement(self, section: Section) -> None:
        names = self.programs(list(programs.BRANCHED), ["richards", "json"])
        seconds, times = (0.5, 2) if self.quick else (1.0, 4)
        envs = self.several()
        agreement.report(section, envs, self.tools, names, seconds, times, self.scratch)

    def truth(self, section: Section) -> None:
        envs = self.several() if self.quick else list(self.envs.values())
        seconds, times = (0.5, 1) if self.quick else (2.0, 2)
        truths.report(section, envs, self.tools, seconds, times, self.scratch)

    def intervals(self, section: Section) -> None:
        names = self.programs(VERSION_PROGRAMS, ["richards"])
        intervals.report(section, self.several(), names, Plan(2) if self.quick else Plan(4))

    def chained(self, section: Section) -> None:
        names = self.programs(["richards", "deltablue", "json", "raytrace", "deep"], ["richards"])
        seconds, times = (1.0, 2) if self.quick else (4.0, 3)
        chained.report(section, self.main, names, seconds, times, self.scratch)

    def partial(self, section: Section) -> None:
        names = self.programs(list(programs.PROGRAMS), ["richards", "sqlglot"])
        partial.report(section, self.main, names, 1.5 if self.quick else 4.0, self.scratch)

    def walks(self, section: Section) -> None:
        names = self.programs(
            ["richards", "deltablue", "raytrace", "json", "deepcopy", "deep"], ["deep"]
        )
        envs = list(self.envs.values())
        seconds = 1.0 if self.quick else 6.0
        walks.report(section, envs, names, seconds, self.scratch)
        walks.report_java(section, 3 * seconds, self.scratch)

    def scale(self, section: Section) -> None:
        scale.report(section, self.scratch, self.quick)

    def threads(self, section: Section) -> None:
        plan = threads.QUICK if self.quick else threads.Plan()
        threads.report(section, self.main, plan, self.scratch)

    def steal(self, section: Section) -> None:
        steal.report(section, self.scratch, self.quick)

    def loops(self, section: Section) -> None:
        envs = self.several()
        for env in envs:
            packages.add(env, loops.PACKAGES)
        plan = loops.Plan(4, 0.3) if self.quick else loops.Plan(12, 1.0)
        loops.report(section, envs, plan, [env for v, env in self.envs.items() if v in SEVERAL])


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )

    def listed(text: str) -> list[str]:
        return [part for part in text.split(",") if part]

    parser.add_argument("--only", metavar="PARTS", type=listed, help="comma-separated")
    parser.add_argument("--programs", metavar="NAMES", type=listed, help="comma-separated")
    parser.add_argument("--versions", metavar="LIST", type=listed, help="such as 3.12,3.15")
    parser.add_argument("--quick", action="store_true", help="short runs of few programs")
    parser.add_argument(
        "--write", action="store_true", help="update benchmarks/results and the pages made from it"
    )
    parser.add_argument(
        "--whole", action="store_true", help="every part, kept under build/ and written"
    )
    chosen = parser.parse_args()
    for given, known in ((chosen.only, PARTS + APART), (chosen.programs, tuple(programs.PROGRAMS))):
        if wrong := set(given or ()) - set(known):
            parser.error(f"{', '.join(sorted(wrong))}: not one of {', '.join(known)}")
    return chosen


def main() -> None:
    chosen = options()
    # In the background of a shell it is ignored, and by all that we start: peers end on it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if chosen.whole:
        kept.into(KEPT / (source_state.fingerprint() + ("-quick" if chosen.quick else "")))
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(chosen, Path(scratch))
        about = machine.describe(bench.pythons)
        if chosen.quick:
            about += " A short run of few programs (`--quick`)."
        print(about, end="\n\n")
        failed: list[str] = []
        for name in chosen.only or ((*PARTS, *APART) if chosen.whole else PARTS):
            try:
                answer = kept.result(
                    "parts", name, *(chosen.programs or ()), *(chosen.versions or ()),
                    measure=lambda name=name: _measured(bench, name, about),
                )  # fmt: skip
            except Exception as error:
                if not chosen.whole:
                    raise
                # The other parts take hours, and this one is measured by the next call.
                say(f"{name} failed: {type(error).__name__}: {error}")
                failed.append(name)
                continue
            section = Section.of_json(answer["section"])
            print(f"## {name}\n\n{section.text()}", flush=True)
            if chosen.write or chosen.whole:
                evaluation.put(section, answer["about"])
    if failed:
        sys.exit(f"not measured: {', '.join(failed)}")


def _measured(bench: Bench, name: str, about: str) -> dict[str, Any]:
    part: Callable[[Section], None] = getattr(bench, name.replace("-", "_"))
    section = Section(name)
    began = time.monotonic()
    part(section)
    say(f"{name}: {(time.monotonic() - began) / 60:.1f} minutes")
    return {"section": section.to_json(), "about": about}


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("broken off: with --whole the same call goes on from here")
