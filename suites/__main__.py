"""The command: `python -m suites`, or `make suites`."""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import hashlib
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "scripts")]

import pythons  # noqa: E402
from suites import comparison, cpython, java, known, modes, packages  # noqa: E402
from suites.comparison import Difference  # noqa: E402
from suites.execution import Limits, run_module  # noqa: E402
from suites.modes import Recordings  # noqa: E402
from suites.outcomes import PROCESS, Outcome  # noqa: E402
from suites.subjects import DRIVERS, Prepared, Suite  # noqa: E402

SUITES: list[Suite] = [cpython.SUITE, *packages.SUITES]
BUILD = ROOT / "build" / "suites"


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="suites", description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    names = [*(suite.name for suite in SUITES), "java"]
    add("--suites", nargs="*", metavar="NAME", help=f"of {', '.join(names)} [default: all]")
    add("--pythons", nargs="*", metavar="VERSION", help="such as 3.12 [default: all found]")
    add("--what", nargs="*", metavar="MODE", help=f"[default: {' '.join(modes.MODES)}]")
    add("--modules", nargs="*", metavar="PATTERN", help="such as '*test_signal' [default: all]")
    add("--cases", metavar="PATTERN", help="only cases that match, alone or in their modules")
    add("--times", type=int, default=3, help="repeat a differing case N times [default: 3]")
    add("--case-limit", type=float, default=60, help="seconds for one case [default: 60]")
    add("--module-limit", type=float, default=600, help="seconds for one module [default: 600]")
    add("--reuse-plain", action="store_true", help="keep outcomes without sonde of earlier runs")
    add("--list", action="store_true", help="print suites and modules, run nothing")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.suites or ()) - set(names):
        parser.error(f"no suite {', '.join(unknown)}; there are {', '.join(names)}")
    return asked


class Run:
    """One call of the command."""

    def __init__(
        self, asked: argparse.Namespace, build: Path = BUILD, known_file: Path = known.FILE
    ) -> None:
        self.asked = asked
        self.limits = Limits(asked.case_limit, asked.module_limit)
        self.known = known.KnownDifferences(known_file)
        self.rows: list[dict[str, Any]] = []
        self.differences: list[Difference] = []
        self.missing: list[str] = []
        self.build = build
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        self.result = build / f"result-{name}.json"
        self.logs = build / f"logs-{name}"

    def module(self, suite: str, version: str, prepared: Prepared, module: str) -> None:
        plain = self.plain(suite, version, prepared, module)
        print(f"{suite} {version} {module}: {summary(plain)}", flush=True)
        for mode in self.asked.what or modes.MODES:
            began = time.monotonic()
            logs = self.logs / f"{suite}-{version}-{safe(module)}-{safe(mode)}.txt"
            recordings = Recordings()
            recorded = self.chosen(
                run_module(prepared, module, mode, self.limits, (), logs, recordings)
            )
            found = [
                Difference(suite, version, mode, module, case)
                for case in comparison.differing(plain, recorded)
            ]
            for difference in found:
                self.judge(difference, plain, recorded, prepared)
            took = time.monotonic() - began
            print(f"    {mode:<18}{took:6.0f} s  {summary(recorded)}", flush=True)
            compared = comparison.comparable(plain, recorded)
            self.add(suite, version, mode, module, compared, found, recordings, took)

    def add(
        self,
        suite: str,
        version: str,
        mode: str,
        module: str,
        compared: Collection[str],
        found: Collection[Difference],
        recordings: Recordings,
        seconds: float,
    ) -> None:
        """Takes the result of one module in one mode."""
        self.known.note(suite, version, mode, compared, found)
        self.differences += found
        self.rows.append(
            {
                "suite": suite,
                "version": version,
                "module": module,
                "mode": mode,
                "seconds": round(seconds, 1),
                "cases": sum(1 for case in compared if case != PROCESS),
                "differ": sum(1 for d in found if is_bad(d)),
                "known": sum(1 for d in found if d.known),
                "flaky": sum(1 for d in found if d.verdict in ("flaky", "once") and not d.known),
                "recordings": recordings.made,
                "failed": recordings.failures.total(),
                "failures": recordings.failures,
            }
        )
        for difference in found:
            show(difference)
        for text, count in recordings.failures.items():
            print(f"        NOT RECORDED {count} times: {text}", flush=True)
        self.write()

    def plain(
        self, suite: str, version: str, prepared: Prepared, module: str
    ) -> dict[str, Outcome]:
        key = plain_key(prepared, module, self.limits)
        kept = self.build / "plain" / f"{suite}-{version}-{safe(module)}-{key}.json"
        if self.asked.reuse_plain and kept.exists():
            return self.chosen({k: Outcome(*v) for k, v in json.loads(kept.read_text()).items()})
        plain = run_module(prepared, module, modes.PLAIN, self.limits)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps({case: [o.kind, o.why] for case, o in plain.items()}))
        return self.chosen(plain)

    def chosen(self, outcomes: Mapping[str, Outcome]) -> dict[str, Outcome]:
        pattern = self.asked.cases or "*"
        return {case: o for case, o in outcomes.items() if fnmatch.fnmatchcase(case, pattern)}

    def judge(
        self,
        difference: Difference,
        plain: Mapping[str, Outcome],
        recorded: Mapping[str, Outcome],
        prepared: Prepared,
    ) -> None:
        case, mode = difference.case, difference.mode
        difference.plain.append(plain.get(case, comparison.ABSENT).kind)
        other = recorded.get(case, comparison.ABSENT)
        difference.recorded.append(other.kind)
        difference.why = other.why

        def again(run: str, cases: list[str]) -> Mapping[str, Outcome]:
            return run_module(prepared, difference.module, run, self.limits, set(cases))

        comparison.confirm(difference, mode, modes.PLAIN, again, self.asked.times)

    def java(self) -> None:
        for case, recordings in java.compare(self.asked.what, self.asked.times):
            runs = "/".join(case.recorded)
            print(f"java {case.version} {case.case} {case.mode}: {runs}", flush=True)
            found = [case] if case.verdict != "equal" else []
            place = (case.suite, case.version, case.mode, case.case)
            self.add(*place, [case.case], found, recordings, 0)

    def write(self) -> None:
        self.result.parent.mkdir(parents=True, exist_ok=True)
        answer = {
            "modules": self.rows,
            "differences": [difference.to_json() for difference in self.differences],
            "stale": [f"{e.suite}: {e.cases}" for e in self.stale()],
            "missing": self.missing,
        }
        self.result.write_text(json.dumps(answer, indent=1) + "\n")
        self.build.with_suffix(".json").write_text(self.result.read_text())

    def stale(self) -> list[known.Known]:
        """With --cases, those that would differ may not have been compared."""
        return [] if self.asked.cases else self.known.stale()

    def finish(self) -> int:
        columns = ("cases", "differ", "known", "flaky", "recordings", "failed")
        heads = "".join(f"{column:>12}" for column in columns)
        print(f"\n{'suite':<20}{'version':<8}{'mode':<18}{heads}")
        totals: dict[tuple[str, str, str], Counter[str]] = {}
        for row in self.rows:
            total = totals.setdefault((row["suite"], row["version"], row["mode"]), Counter())
            for column in columns:
                total[column] += row[column]
        for (suite, version, mode), total in totals.items():
            counts = "".join(f"{total[column]:>12}" for column in columns)
            print(f"{suite:<20}{version:<8}{mode:<18}{counts}")
        for text in self.missing:
            print(f"not run: {text}")
        stale = self.stale()
        for entry in stale:
            print(
                f"stale: {entry.cases} of {entry.suite} did not differ; remove it from known.toml"
            )
        bad = [d for d in self.differences if is_bad(d)]
        for difference in bad:
            show(difference)
        print(f"{len(bad)} differences, {len(stale)} stale entries; details in {self.result}")
        return 1 if bad or stale else 0


def is_bad(difference: Difference) -> bool:
    return difference.verdict == "difference" and not difference.known


def plain_key(prepared: Prepared, module: str, limits: Limits) -> str:
    """Changes with what the outcomes without sonde depend on: interpreter, tests and limits."""
    files = [Path(prepared.python).resolve(), *sorted(DRIVERS.glob("*.py"))]
    if prepared.installed:
        files.append(prepared.installed)
    versions = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    only = dataclasses.replace(
        prepared, modules=(module,), files={module: prepared.files.get(module, ())}
    )
    return hashlib.sha256(repr((only, limits, versions)).encode()).hexdigest()[:16]


def safe(name: str) -> str:
    return name.replace("/", ".").replace(":", "-")


def summary(outcomes: Mapping[str, Outcome]) -> str:
    counts = Counter(outcome.kind for case, outcome in outcomes.items() if case != PROCESS)
    texts = [f"{count} {kind}" for kind, count in counts.most_common()]
    ending = outcomes.get(PROCESS, Outcome("cut off")).kind
    return ", ".join(texts if ending == "passed" else [*texts, f"{PROCESS} {ending}"])


def show(difference: Difference) -> None:
    mark = "known" if difference.known else difference.verdict.upper()
    runs = f"plain {'/'.join(difference.plain)}; with sonde {'/'.join(difference.recorded)}"
    place = f"{difference.suite} {difference.version} {difference.mode}"
    print(f"        {mark}: {place} {difference.case}: {runs}", flush=True)


def main() -> int:
    asked = parse()
    # A shell starts a background command with SIGINT ignored, and tests would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    run = Run(asked)
    here = pythons.found()
    for version in asked.pythons or list(here):
        for suite in SUITES:
            if asked.suites and suite.name not in asked.suites:
                continue
            try:
                if version not in here:
                    raise pythons.Unavailable("no such interpreter; run `make pythons`")
                prepared = suite.prepare(version, here[version])
            except pythons.Unavailable as reason:
                run.missing.append(f"{suite.name} {version}: {reason}")
                print(f"not run: {run.missing[-1]}", flush=True)
                continue
            for module in prepared.modules:
                patterns = asked.modules or ["*"]
                if not any(fnmatch.fnmatchcase(module, pattern) for pattern in patterns):
                    continue
                if asked.list:
                    print(suite.name, version, module)
                else:
                    run.module(suite.name, version, prepared, module)
    if not asked.list and (not asked.suites or "java" in asked.suites):
        try:
            run.java()
        except pythons.Unavailable as reason:
            run.missing.append(f"java: {reason}")
    return 0 if asked.list else run.finish()


if __name__ == "__main__":
    sys.exit(main())
