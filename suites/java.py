"""Java libraries and a server under load, with and without sonde.

H2 and Lucene check their own results and print `right`. Tomcat answers clients that know the right
answers. What is compared is output, exit codes and failed requests.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pythons
from suites import modes
from suites.comparison import Difference, verdict
from suites.modes import Recordings
from suites.outcomes import Outcome

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests" / "targets" / "java_programs"
LIBRARIES = (("h2", "Database"), ("lucene", "Search"))
SECONDS = 5
TIMEOUT_S = 180
# The default, all that is recorded of a JVM, and attached.
MODES = ("cpu,locks", "cpu,locks,objects,threads", "attached")


def class_path(library: str, program: str, into: Path) -> str:
    """Compiles a program against the jars of a library."""
    import jars
    from java import class_path as joined
    from java import compiled

    found = jars.jars(library)
    if not found:
        raise pythons.Unavailable(f"{library} is not on this machine; `make jars` fetches it")
    return str(joined(compiled(SOURCES / f"{program}.java", into / library, found), *found))


def start(mode: str, words: Sequence[str], scratch: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        modes.command(mode, list(words), scratch / "recording.sonde"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=scratch,
        env=modes.environment(scratch),
    )


def run_program(mode: str, words: Sequence[str], recordings: Recordings) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="suite-") as name:
        scratch = Path(name)
        process = start(mode, words, scratch)
        try:
            with modes.attaching(mode, process, scratch, recordings):
                out, _ = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return Outcome("timeout")
        recordings.note_run(mode, scratch / "recording.sonde")
    if process.returncode != 0:
        return Outcome("crash", f"exit code {process.returncode}: {out[-2000:]!r}")
    if out != b"right\n":
        return Outcome("failed", out.decode(errors="replace"))
    return Outcome("passed")


def run_server(mode: str, words: Sequence[str], recordings: Recordings) -> Outcome:
    from serving import Load

    with tempfile.TemporaryDirectory(prefix="suite-") as name:
        scratch = Path(name)
        process = start(mode, [*words, str(scratch)], scratch)
        assert process.stdout is not None
        port = int(process.stdout.readline() or b"0")
        load = Load(port, new_every=20)
        try:
            with modes.attaching(mode, process, scratch, recordings):
                time.sleep(SECONDS)
        finally:
            load.end()
        try:
            out, _ = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return Outcome("timeout")
        recordings.note_run(mode, scratch / "recording.sonde")
    if process.returncode != 0 or out != b"over\n":
        return Outcome("crash", f"exit code {process.returncode}: {out[-2000:]!r}")
    if load.failed or not load.answered:
        return Outcome("failed", "\n".join(load.failed[:5]) or "no request was answered")
    return Outcome("passed")


def compare(
    asked_modes: Sequence[str] | None, times: int
) -> Iterator[tuple[Difference, Recordings]]:
    """Each program on each JDK in each mode, several times. Raises Unavailable without jars."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]
    from java import all_jdks

    with tempfile.TemporaryDirectory(prefix="suites-java-") as name:
        into = Path(name)
        programs = [(p, class_path(lib, p, into)) for lib, p in LIBRARIES]
        web = class_path("tomcat", "Web", into)
        for jdk in all_jdks():
            version = f"jdk{jdk.major}"
            start_words = [jdk.java, "-Xmx256m", "-cp"]
            cases = [
                (program, run_program, [*start_words, path, program, str(SECONDS)])
                for program, path in programs
            ]
            cases.append(("Web", run_server, [*start_words, web, "Web"]))
            for case, run, words in cases:
                for mode in asked_modes or MODES:
                    difference = Difference("java", version, mode, "java", case)
                    recordings = Recordings()
                    for _ in range(times):
                        difference.plain.append(run(modes.PLAIN, words, recordings).kind)
                        outcome = run(mode, words, recordings)
                        difference.recorded.append(outcome.kind)
                        if outcome.kind != "passed":
                            difference.why = outcome.why
                    difference.verdict = verdict(difference)
                    yield difference, recordings
