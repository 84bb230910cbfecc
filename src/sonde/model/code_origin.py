"""Which functions are the program's own code, and which are a library's.

Decided by names and files alone, as a recording has them: it is read on other machines, too, and
after the program was deleted.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from sonde.row_values import BUILT_IN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PACKAGES = ("site-packages", "dist-packages")
_STANDARD = re.compile(r"(.*)/lib(?:64)?/(?:python3\.\d+t?|python3\d+t?\.zip)/")
"""The standard library lives in a folder such as /usr/lib/python3.12, or in one file."""
_PACKED = re.compile(r"\.(?:egg|whl)/|\.so(?:\.\d+)*$")
"""Packages that are used without being installed; and native code."""
_TYPED = ("<stdin>", "<console>", "<python-input-", "<ipython-input-", "<doctest ")
"""What Python calls code that was typed in."""
GIVEN = "<string>"
"""The file of code of `python -c`; and of what the standard library composes and executes."""
_PLATFORM = (
    "java.", "javax.", "jdk.", "sun.", "com.sun.",
    # The libraries of the JVM's other languages, which no program in them can do without.
    "kotlin.", "kotlinx.", "scala.", "groovy.", "org.codehaus.groovy.", "clojure.",
)  # fmt: skip


class CodePlace(NamedTuple):
    """What is known of where a function was defined."""

    name: str
    file: str
    runtime: str


class CodeOrigin:
    """Of the functions of one recording.

    `source` names packages and folders; if there are any, only what is in them is the program's
    own. `executables` are those of the processes: an interpreter that was not installed has its
    library beside it. `given` is whether a process ran `python -c`.
    """

    def __init__(
        self,
        places: Iterable[CodePlace],
        *,
        source: Sequence[str] = (),
        executables: Iterable[str] = (),
        given: bool = False,
    ) -> None:
        self._source = [Source(entry) for entry in source]
        self._beside = tuple(
            {f"{os.path.dirname(path)}/Lib/" for path in executables if path.startswith("/")}
        )
        self._given = given
        self._launchers = _launchers(places)

    def is_own(self, place: CodePlace) -> bool:
        name, file, runtime = place
        if file == BUILT_IN or name.startswith("["):
            return False
        if runtime == "hotspot":
            if self._source:
                return any(source.has_class(name) for source in self._source)
            return not is_java_platform(name)
        if not file or file.startswith("<"):
            return file.startswith(_TYPED) or (self._given and file == GIVEN)
        if self._source:
            return any(source.has_file(file) for source in self._source)
        if file in self._launchers or file.startswith(self._beside):
            return False
        return not (in_packages(file) or _STANDARD.match(file) or _PACKED.search(file))


class Source:
    """A folder, or a package by its dotted name, whose code is the program's own."""

    def __init__(self, entry: str) -> None:
        self._folder = os.path.abspath(os.path.expanduser(entry))
        is_path = "/" in entry or entry.startswith((".", "~"))
        self._package = "" if is_path else entry
        self._words = () if is_path else tuple(entry.split("."))

    def has_class(self, name: str) -> bool:
        """Whether a method's class is in the package, or is the one of that name."""
        return bool(self._package) and name.startswith((f"{self._package}.", f"{self._package}$"))

    def has_file(self, file: str) -> bool:
        if "/." in file:  # a script that was given as ../app.py
            file = os.path.normpath(file)
        if file == self._folder or file.startswith(f"{self._folder}/"):
            return True
        words = self._words
        if not words:
            return False
        parts = file.removesuffix(".py").split("/")
        # Of installed packages the name begins right below the folder they are all in: other
        # packages may have one of the same name inside.
        begins = [i + 1 for i, part in enumerate(parts) if part in PACKAGES]
        places = begins[-1:] or range(len(parts))
        return any(tuple(parts[i : i + len(words)]) == words for i in places)


def is_java_platform(name: str) -> bool:
    """Whether a class belongs to the JDK or to the library of one of the JVM's other languages."""
    return name.startswith(_PLATFORM)


def in_packages(file: str) -> bool:
    """Whether a file was installed as part of a package."""
    return any(f"/{folder}/" in file for folder in PACKAGES)


def _launchers(places: Iterable[CodePlace]) -> set[str]:
    """Commands such as bin/gunicorn of an environment, which import a library and call it.

    They have nothing but a module's body.
    """
    names: dict[str, set[str]] = defaultdict(set)
    prefixes = set()
    for name, file, _ in places:
        if found := _STANDARD.match(file):
            prefixes.add(f"{found[1]}/bin")
        elif file.startswith("/") and "." not in os.path.basename(file):
            names[file].add(name)
    return {
        file
        for file, known in names.items()
        if known == {"<module>"} and os.path.dirname(file) in prefixes
    }
