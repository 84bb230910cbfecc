"""The command: `python -m suites`, or `make suites`."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "scripts")]

import pythons  # noqa: E402
from suites import comparison, cpython, java, known, modes, packages  # noqa: E402
from suites.comparison import Difference  # noqa: E402
from suites.execution import Limits, run_module  # noqa: E402
from suites.outcomes import Outcome  # noqa: E402
from suites.subjects import Missing, Prepared, Suite  # noqa: E402

SUITES: list[Suite] = [cpython.SUITE, *packages.SUITES]
BUILD = ROOT / "build" / "suites"


def parse() -> argparse.Namespace:
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
    asked = parser.parse_args()
    if unknown := set(asked.suites or ()) - set(names):
        parser.error(f"no suite {', '.join(unknown)}; there are {', '.join(names)}")
    return asked


class Run:
    """One call of the command."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked = asked
        self.limits = Limits(asked.case_limit, asked.module_limit)
        self.known = known.load()
        self.rows: list[dict[str, Any]] = []
        self.differences: list[Difference] = []
        self.missing: list[str] = []
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        self.result = BUILD / f"result-{name}.json"
        self.logs = BUILD / f"logs-{name}"

    def module(self, suite: Suite, version: str, prepared: Prepared, module: str) -> None:
        plain = self.plain(suite, version, prepared, module)
        print(f"{suite.name} {version} {module}: {summary(plain)}", flush=True)
        for mode in self.asked.what or modes.MODES:
            began = time.monotonic()
            logs = self.logs / f"{suite.name}-{version}-{safe(module)}-{safe(mode)}.txt"
            recorded = self.chosen(run_module(prepared, module, mode, self.limits, (), logs))
            found = [
                Difference(suite.name, version, mode, module, case)
                for case in comparison.differing(plain, recorded)
            ]
            for difference in found:
                self.judge(difference, plain, recorded, prepared)
            for case in recorded:
                if entry := known.find(self.known, suite.name, version, mode, case):
                    entry.met = True
            bad = [d for d in found if d.verdict == "difference" and not d.known]
            self.differences += found
            self.rows.append(
                {
                    "suite": suite.name,
                    "version": version,
                    "module": module,
                    "mode": mode,
                    "seconds": round(time.monotonic() - began, 1),
                    "outcomes": Counter(outcome.kind for outcome in recorded.values()),
                    "different": len(bad),
                    "known": sum(1 for d in found if d.known),
                    "flaky": sum(1 for d in found if d.verdict in ("flaky", "once")),
                }
            )
            took = time.monotonic() - began
            print(f"    {mode:<18}{took:6.0f} s  {summary(recorded)}", flush=True)
            for difference in found:
                show(difference)
            self.write()

    def plain(
        self, suite: Suite, version: str, prepared: Prepared, module: str
    ) -> dict[str, Outcome]:
        kept = BUILD / "plain" / f"{suite.name}-{version}-{safe(module)}.json"
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
        entry = known.find(self.known, difference.suite, difference.version, mode, case)
        if entry and difference.verdict != "flaky":
            entry.occurred = True
            difference.known = entry.reason

    def java(self) -> None:
        for case in java.compare(self.asked.what, self.asked.times):
            print(
                f"java {case.version} {case.case} {case.mode}: {'/'.join(case.recorded)}",
                flush=True,
            )
            entry = known.find(self.known, "java", case.version, case.mode, case.case)
            if entry:
                entry.met = True
                entry.occurred |= case.verdict in ("difference", "once")
                case.known = entry.reason if entry.occurred else ""
            if case.verdict != "equal":
                self.differences.append(case)
                show(case)
            self.rows.append(
                {
                    "suite": "java",
                    "version": case.version,
                    "module": case.case,
                    "mode": case.mode,
                    "outcomes": Counter(case.recorded),
                    "different": int(case.verdict == "difference" and not case.known),
                    "known": int(bool(case.known)),
                    "flaky": int(case.verdict in ("flaky", "once")),
                }
            )
            self.write()

    def write(self) -> None:
        self.result.parent.mkdir(parents=True, exist_ok=True)
        answer = {
            "modules": self.rows,
            "differences": [difference.to_json() for difference in self.differences],
            "stale": [f"{e.suite}: {e.cases}" for e in self.known if e.stale],
            "missing": self.missing,
        }
        self.result.write_text(json.dumps(answer, indent=1) + "\n")
        (BUILD.parent / "suites.json").write_text(self.result.read_text())

    def finish(self) -> int:
        print(
            f"\n{'suite':<20}{'Python':<8}{'mode':<18}{'cases':>7}{'differ':>8}{'known':>7}{'flaky':>7}"
        )
        totals: dict[tuple[str, str, str], Counter[str]] = {}
        for row in self.rows:
            total = totals.setdefault((row["suite"], row["version"], row["mode"]), Counter())
            total["cases"] += sum(row["outcomes"].values())
            for column in ("different", "known", "flaky"):
                total[column] += row[column]
        for (suite, version, mode), total in totals.items():
            counts = (
                f"{total['cases']:>7}{total['different']:>8}{total['known']:>7}{total['flaky']:>7}"
            )
            print(f"{suite:<20}{version:<8}{mode:<18}{counts}")
        for text in self.missing:
            print(f"not run: {text}")
        stale = [entry for entry in self.known if entry.stale]
        for entry in stale:
            print(
                f"stale: {entry.cases} of {entry.suite} did not differ; remove it from known.toml"
            )
        bad = [d for d in self.differences if d.verdict == "difference" and not d.known]
        for difference in bad:
            show(difference)
        print(f"{len(bad)} differences, {len(stale)} stale entries; details in {self.result}")
        return 1 if bad or stale else 0


def safe(name: str) -> str:
    return name.replace("/", ".").replace(":", "-")


def summary(outcomes: Mapping[str, Outcome]) -> str:
    counts = Counter(outcome.kind for outcome in outcomes.values())
    return ", ".join(f"{count} {kind}" for kind, count in counts.most_common())


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
                    raise Missing("no such interpreter; run `make pythons`")
                prepared = suite.prepare(version, here[version])
            except Missing as reason:
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
                    run.module(suite, version, prepared, module)
    if not asked.list and (not asked.suites or "java" in asked.suites):
        try:
            run.java()
        except Missing as reason:
            run.missing.append(f"java: {reason}")
    return 0 if asked.list else run.finish()


if __name__ == "__main__":
    sys.exit(main())
