"""Class files with inserted calls: the JVM verifies them, and runs on them."""

from __future__ import annotations

import re
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

import jars
from java import Jdk, all_jdks, class_path
from launching import TARGETS, TESTS, TIMEOUT_S, clean_environment
from sanitizing import runtime

SOURCES = TARGETS / "java_rewriting"
TARGET = "java/lang/SondeCalls"
# HotSpot executes its constructor in a way of its own, and nothing may be inserted into it.
ROOT_CLASS = "java/lang/Object"
# Changed class files per real one, which the sanitizers watch.
DAMAGED = 20


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def rewriter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runtime()
    program = tmp_path_factory.mktemp("rewriter") / "rewrite_classes"
    native = TESTS.parent / "native"
    run(
        *("gcc", "-std=gnu17", "-O1", "-g", "-fsanitize=address,undefined"),
        *("-fno-sanitize-recover=all", f"-I{native}", f"-I{TESTS / 'native'}"),
        *sorted((native / "hotspot" / "rewrite").glob("*.c")),
        native / "hotspot" / "lock_activity" / "lock_places.c",
        *(TESTS / "native" / "rewrite_classes.c", "-o", program),
    )
    return program


@pytest.fixture(scope="module", params=all_jdks(), ids=str)
def jdk(request: pytest.FixtureRequest) -> Jdk:
    found: Jdk = request.param
    return found


@pytest.fixture(scope="module")
def helpers(jdk: Jdk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, and below java.base the class that is called."""
    into = tmp_path_factory.mktemp("helpers")
    javac = jdk.home / "bin" / "javac"
    run(javac, "-d", into, SOURCES / "LinkClasses.java")
    base = SOURCES / "java.base"
    patched = f"--patch-module=java.base={base}"
    run(javac, patched, "-d", into / "java.base", base / f"{TARGET}.java")
    return into


def rewritten(rewriter: Path, classes: Path, names: Sequence[str], into: Path) -> dict[str, int]:
    """How many classes and methods there were and were rewritten, and why others were not."""
    into.mkdir(exist_ok=True)
    paths = into.parent / "paths"
    paths.write_text("".join(f"{name}.class\n" for name in names))
    lines = run(rewriter, TARGET, paths, into, str(DAMAGED), cwd=classes).splitlines()
    return {what: int(count) for count, what in (line.split(" ", 1) for line in lines)}


def names_in(folder: Path) -> list[str]:
    found = (path.relative_to(folder).with_suffix("") for path in folder.rglob("*.class"))
    return sorted(
        path.as_posix()
        for path in found
        if path.stem not in ("module-info", "package-info") and "META-INF" not in path.parts
    )


def linked(jdk: Jdk, helpers: Path, into: Path, names: Sequence[str], *options: str) -> None:
    """Fails unless the JVM accepts all of them but a few that need libraries that are not there."""
    wanted = into.parent / "names"
    wanted.write_text("".join(f"{name}\n".replace("/", ".") for name in names))
    verify = ("-Xverify:all", "-Xshare:off", *options)
    *refused, last = run(jdk.java, *verify, "LinkClasses", wanted).splitlines()
    # The JVM says on its standard output that the option is deprecated.
    assert [line for line in refused if "warning" not in line] == []
    count = re.match(r"(\d+) linked, (\d+) absent", last)
    assert count, last
    assert int(count[1]) > 0.9 * len(names), last


def test_a_jvm_runs_on_a_rewritten_java_base(
    rewriter: Path, jdk: Jdk, helpers: Path, tmp_path: Path
) -> None:
    modules = jdk.home / "lib" / "modules"
    run(
        *(jdk.home / "bin" / "jimage", "extract", "--dir", tmp_path),
        *("--include", "regex:/java.base/.*", modules),
    )
    classes = tmp_path / "java.base"
    names = [name for name in names_in(classes) if name != ROOT_CLASS]
    into = tmp_path / "rewritten"
    counts = rewritten(rewriter, classes, names, into)
    assert counts == {
        "classes": len(names),
        "methods": counts["methods"],
        "rewritten": counts["methods"],
        "places": counts["places"],
    }
    assert counts["places"] > 1000  # where locks are acquired and released
    target = into / f"{TARGET}.class"
    target.write_bytes((helpers / "java.base" / f"{TARGET}.class").read_bytes())
    linked(
        jdk,
        helpers,
        into,
        names,
        f"--patch-module=java.base={into}",
        f"-Djava.class.path={helpers}",
    )


@pytest.mark.parametrize(
    "library",
    [
        name if name == "h2" else pytest.param(name, marks=pytest.mark.soak)
        for name in jars.PACKAGES
    ],
)
def test_rewritten_libraries_are_verified(
    library: str, rewriter: Path, jdk: Jdk, helpers: Path, tmp_path: Path
) -> None:
    found = jars.jars(library)
    if not found:
        pytest.skip(f"{library} is not on this machine; `make jars` fetches it")
    classes = tmp_path / "classes"
    for jar in found:
        with zipfile.ZipFile(jar) as archive:
            archive.extractall(classes)
    names = names_in(classes)
    into = tmp_path / "rewritten"
    counts = rewritten(rewriter, classes, names, into)
    assert counts["rewritten"] > 0.999 * counts["methods"], counts
    patched = f"--patch-module=java.base={helpers / 'java.base'}"
    linked(
        jdk, helpers, into, names, patched, f"-Djava.class.path={class_path(into, helpers, *found)}"
    )
