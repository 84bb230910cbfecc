"""Imports of ui/src: no circle between files or folders, and none upward between its rooms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from test_layers import Imports, circles

SOURCE = Path(__file__).parents[1] / "ui" / "src"

ROOMS = ("data", "profile", "elements", "shell", "views", "page", "store", "heap")
"""Of ui/src, lowest first; above them is main.ts, which lies in no room."""

LARGEST_FOLDER = 15
"""Files of one subject: a folder with more has two."""

# Types count, too: `import type`, `export … from`, `import("…")` and styles.
IMPORT = re.compile(r"""\b(?:from|import)\s*\(?\s*["'](\.[^"']*)["']""")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def targets(file: Path, source: Path) -> Iterator[str]:
    """What a file imports of the others, by its path below `source`."""
    for match in IMPORT.finditer(COMMENT.sub("", file.read_text())):
        path = file.parent / match[1]
        for found in (path.with_name(f"{path.name}.ts"), path / "index.ts", path):
            if found.is_file():
                yield found.resolve().relative_to(source.resolve()).as_posix()
                break
        else:
            raise AssertionError(f"{file}: nothing is found for {match[1]!r}")


def graph(source: Path) -> Imports:
    imports: Imports = {path.relative_to(source).as_posix(): set() for path in files(source)}
    for name, tos in imports.items():
        if name.endswith(".ts"):
            tos |= set(targets(source / name, source)) - {name}
    return imports


def files(source: Path) -> list[Path]:
    return sorted(path for path in source.rglob("*") if path.is_file())


def folders(imports: Imports) -> Imports:
    """The same between folders; a folder and the folders in it are different ones."""
    found: Imports = {}
    for name, tos in imports.items():
        folder = str(PurePosixPath(name).parent)
        from_ = found.setdefault(folder, set())
        from_ |= {str(PurePosixPath(to).parent) for to in tos} - {folder}
    return found


def height(name: str) -> int:
    room, inside, _ = name.partition("/")
    return ROOMS.index(room) if inside else len(ROOMS)


def upward(imports: Imports) -> list[tuple[str, str]]:
    return sorted(
        (name, to) for name, tos in imports.items() for to in tos if height(to) > height(name)
    )


def written(folder: Path, texts: dict[str, str]) -> Imports:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return graph(folder)


def test_no_files_import_each_other() -> None:
    assert circles(graph(SOURCE)) == []


def test_no_folders_import_each_other() -> None:
    assert circles(folders(graph(SOURCE))) == []


def test_no_room_imports_from_one_above_it() -> None:
    assert upward(graph(SOURCE)) == []


def test_every_folder_has_its_place_in_the_order() -> None:
    assert {path.name for path in SOURCE.iterdir() if path.is_dir()} == set(ROOMS)


def test_no_folder_has_two_subjects() -> None:
    found = [str(path.parent.relative_to(SOURCE)) for path in files(SOURCE)]
    assert {folder for folder in found if found.count(folder) > LARGEST_FOLDER} == set()


@pytest.mark.parametrize(
    "line",
    [
        'import { b } from "./b";',
        'import type { B } from "./b";',
        'import {\n  b,\n  type B,\n} from "./b";',
        'export * from "./b";',
        'type B = import("./b").B;',
        'import "./b";',
    ],
)
def test_circles_are_found_however_a_file_is_imported(tmp_path: Path, line: str) -> None:
    imports = written(
        tmp_path,
        {
            "data/a.ts": f"{line}\n",
            "data/b.ts": 'import { c } from "../profile";\n',
            "profile/index.ts": 'import { a } from "../data/a";\n// from "../data/d"\n',
            "data/d.ts": 'import { a } from "./a";\n',
        },
    )
    assert circles(imports) == [("data/a.ts", "data/b.ts", "profile/index.ts")]


def test_circles_of_folders_are_found(tmp_path: Path) -> None:
    imports = written(
        tmp_path,
        {
            "views/tree/a.ts": 'import { b } from "../flame/b";\n',
            "views/tree/d.ts": "",
            "views/flame/b.ts": "",
            "views/flame/c.ts": 'import { d } from "../tree/d";\n',
        },
    )
    assert circles(imports) == []
    assert circles(folders(imports)) == [("views/flame", "views/tree")]


def test_imports_upward_are_found(tmp_path: Path) -> None:
    imports = written(
        tmp_path,
        {
            "main.ts": 'import { page } from "./page/page";\n',
            "page/page.ts": 'import type { App } from "../shell/app";\nimport "./page.css";\n',
            "page/page.css": "",
            "shell/app.ts": 'import type { View } from "../views/tree/tree";\n',
            "views/tree/tree.ts": 'import { main } from "../../main";\n',
        },
    )
    assert upward(imports) == [
        ("shell/app.ts", "views/tree/tree.ts"),
        ("views/tree/tree.ts", "main.ts"),
    ]
