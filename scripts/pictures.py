#!/usr/bin/env python3
"""Make the pictures of the documentation anew, from recordings of examples/checkout.py.

Those of reports show what the reports print, character by character; only the frame around it is
drawn. Those of the page are taken in chromium.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

import demo
import page
import sonde
import terminal
from sonde.reports import summary
from sonde.reports.stacks import tree
from sonde.top.app import Top
from sonde.top.watched import Watched

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
COLUMNS = 80
TOP_S = 2.0


def console() -> Console:
    nowhere = open("/dev/null", "w")  # noqa: SIM115
    return Console(
        record=True, width=COLUMNS, file=nowhere, force_terminal=True, highlight=False, markup=False
    )


def frame() -> str:
    """Rich's, without the fonts it would load from the network."""
    return re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def draw(name: str, command: str, render: Any) -> None:
    out = console()
    render(out)
    picture = out.export_svg(title=command, code_format=frame(), unique_id=f"sonde-{name}")
    path = IMAGES / f"{name}.svg"
    path.write_text("\n".join(line.rstrip() for line in picture.splitlines()) + "\n")
    print(path.relative_to(ROOT))


def of_reports() -> None:
    # Reports name the file as it was opened.
    os.chdir(demo.RECORDING.parent)
    path = demo.RECORDING.name
    recording = sonde.open(path)
    draw(
        "summary",
        f"sonde report {path}",
        lambda out: summary.render(recording.summary(), out, path=path),
    )
    draw(
        "tree",
        f"sonde report {path} tree --merge-lines --top 24",
        lambda out: tree.render(recording.tree(merge_lines=True, top=24), out),
    )
    os.chdir(ROOT)


def of_top(program: Path) -> None:
    """What `sonde top` shows of the program while it runs."""
    command = [sys.executable, str(program)]
    target = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=program.parent)
    time.sleep(0.5)  # until it works

    async def take() -> str:
        watched = Watched(target.pid, ["cpu", "locks"], 1000)
        try:
            app = Top(watched, 15)
            async with app.run_test(size=(COLUMNS, 24)) as pilot:
                await pilot.pause(TOP_S)
                return app.export_screenshot(title=f"sonde top {target.pid}")
        finally:
            watched.close()

    here = Path.cwd()
    os.chdir(program.parent)  # so that its paths are short
    picture = asyncio.run(take())
    os.chdir(here)
    target.kill()
    target.wait()
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    path = IMAGES / "top.svg"
    path.write_text("\n".join(line.rstrip() for line in picture.splitlines()) + "\n")
    print(path.relative_to(ROOT))


HOSTS = ("web-1", "web-2", "web-3")
ROUNDS = 4


def stocked(folder: Path, program: Path) -> Path:
    """A store of some hosts; those of the later rounds run the repaired version."""
    store = folder / "store"
    for number in range(ROUNDS):
        repaired = number >= ROUNDS // 2
        files = [folder / f"{host}-{number}.sonde" for host in HOSTS]
        with ThreadPoolExecutor() as pool:
            # All at once, as hosts do.
            for file in files:
                pool.submit(demo.record, file, program, *["--repaired"] * repaired)
        for host, file in zip(HOSTS, files, strict=True):
            labels = ["service=shop", f"version=1.{int(repaired)}", f"host={host}"]
            told = [word for label in labels for word in ("--label", label)]
            demo.sonde("fleet", "add", store, file, *told)
    return store


@contextlib.contextmanager
def served(store: Path) -> Iterator[str]:
    """Where the page of a store is."""
    command = [str(demo.SONDE), "view", store.name, "--no-open"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=store.parent)
    try:
        assert server.stderr is not None
        found = re.search(r"http://\S+", server.stderr.readline())
        assert found is not None
        yield found[0]
    finally:
        server.terminate()
        server.wait()


def of_the_page(program: Path) -> None:
    browser = page.browser()
    if browser is None:
        sys.exit("pictures of the page need chromium; as root: apt-get install chromium")
    demo.sonde("view", demo.RECORDING, demo.REPAIRED, "--html", demo.PAGE, "--with-source")
    with tempfile.TemporaryDirectory() as folder, served(stocked(Path(folder), program)) as url:
        page.run(
            "node",
            "pictures/take.mjs",
            str(ROOT / demo.PAGE),
            url,
            str(IMAGES),
            SONDE_BROWSER=browser,
        )


def main() -> None:
    os.chdir(ROOT)
    IMAGES.mkdir(parents=True, exist_ok=True)
    demo.RECORDING.parent.mkdir(exist_ok=True)
    # Where this clone lies is nobody's business, and pages show paths.
    shop = Path(tempfile.gettempdir()) / "shop"
    shop.mkdir(exist_ok=True)
    program = Path(shutil.copy2(demo.PROGRAM, shop))
    demo.record(demo.RECORDING, program)
    demo.record(demo.REPAIRED, program, "--repaired")
    of_top(program)
    of_reports()
    of_the_page(program)
    shutil.rmtree(shop)
    terminal.main()


if __name__ == "__main__":
    main()
