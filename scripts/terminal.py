#!/usr/bin/env python3
"""docs/images/terminal.svg: a session in a terminal, from the recording to the web UI.

A shell runs in a pseudo-terminal and gets the commands key by key; the image shows what its screen
showed, and at the end the web UI, taken in chromium. CSS alone animates it. Where nothing may move,
it is a still image of the report.
"""

from __future__ import annotations

import base64
import os
import pty
import re
import select
import shutil
import signal
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fcntl import ioctl
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

import pyte

import page

ROOT = Path(__file__).resolve().parent.parent
IMAGE = ROOT / "docs" / "images" / "terminal.svg"
PROGRAM = ROOT / "examples" / "webshop.py"
COLUMNS, ROWS = 80, 48

COMMANDS = (
    "sonde run -o shop.sonde webshop.py",
    "sonde report shop.sonde",
    "clear",
    "sonde view shop.sonde --html shop.html",
)
PAGE = "shop.html"
VIEW = "flame"
STILL = 1
"""The command whose end is the still image."""

PROMPT = "$ "
KEY_S = 0.045
"""Between two keys."""
LONGEST_S = 1.2
"""A longer pause without output is shortened to this."""
READ_S = {1: 8.0, 3: 6.0}
"""Time to read what a command has printed; a second for others."""
TIMEOUT_S = 120

WIDTH, HEIGHT, FONT, MARGIN, BAR = 8.4, 18, 14, 14, 30
BACKGROUND, FOREGROUND = "#1b1f27", "#d7dae0"
COLOURS = {
    "default": FOREGROUND,
    "brightblack": "#8b929e",
    "red": "#e5707a",
    "green": "#8fc77f",
    "brown": "#e0b96a",
    "blue": "#6cb2f0",
    "magenta": "#c98bdb",
    "cyan": "#5fbfc4",
}

WORDS = re.compile(r"\S+(?: \S+)*")

Style = tuple[str, bool]
Row = tuple[tuple[int, str, Style], ...]
"""Runs of one style each: where one begins, its text, its style."""


@dataclass(frozen=True)
class Screen:
    """The screen from a moment on."""

    at: float
    rows: tuple[Row, ...]


def row_of(line: dict[int, pyte.screens.Char]) -> Row:
    cells = [(column, line[column]) for column in range(COLUMNS)]
    runs = []
    for style, group in groupby(cells, key=lambda cell: (cell[1].fg, cell[1].bold)):
        run = list(group)
        text = "".join(char.data for _, char in run)
        # Blanks are places, not text: fonts differ in their width.
        runs += [(run[0][0] + words.start(), words[0], style) for words in WORDS.finditer(text)]
    return tuple(runs)


class Session:
    """A shell in a pseudo-terminal, and what its screen showed when."""

    def __init__(self, folder: Path) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.ByteStream(self.screen)
        self.screens: list[Screen] = []
        self.still = 0
        self.now = 0.0
        """On the image's clock, which shortens pauses."""
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            path = f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"
            shell = {"PATH": path, "TERM": "xterm-256color", "HOME": str(folder), "PS1": PROMPT}
            shell |= {"LANG": "C.UTF-8", "PAGER": "cat"}
            os.chdir(folder)
            os.execve("/bin/bash", ["bash", "--noprofile", "--norc", "-i"], shell)
        ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def read(self, timeout: float) -> bool:
        """Whatever comes within this time, onto the screen."""
        began = time.monotonic()
        if not select.select([self.terminal], [], [], timeout)[0]:
            self.now += min(timeout, LONGEST_S)
            return False
        # pyte knows no dim text.
        data = os.read(self.terminal, 65536).replace(b"\x1b[2m", b"\x1b[90m")
        self.stream.feed(data)
        self.now += min(time.monotonic() - began, LONGEST_S)
        self.take()
        return True

    def take(self) -> None:
        rows = tuple(row_of(self.screen.buffer[row]) for row in range(ROWS))
        if not self.screens or self.screens[-1].rows != rows:
            self.screens.append(Screen(self.now, rows))

    def prompted(self) -> bool:
        cursor = self.screen.cursor
        return cursor.x == len(PROMPT) and self.screen.display[cursor.y].startswith(PROMPT)

    def wait(self) -> None:
        """Until the shell asks for the next command, and nothing more comes."""
        end = time.monotonic() + TIMEOUT_S
        while self.read(0.3 if self.prompted() else TIMEOUT_S) or not self.prompted():
            if time.monotonic() > end:
                raise SystemExit("the session in the terminal does not end")

    def type(self, command: str) -> None:
        for key in command:
            os.write(self.terminal, key.encode())
            while not self.read(KEY_S):
                pass
            self.now = self.screens[-1].at + KEY_S
        os.write(self.terminal, b"\r")

    def play(self) -> None:
        self.wait()
        for number, command in enumerate(COMMANDS):
            self.type(command)
            self.wait()
            if number == STILL:
                self.still = len(self.screens) - 1
            self.now = self.screens[-1].at + READ_S.get(number, 1.0)
        self.screens.append(Screen(self.now, self.screens[-1].rows))

    def end(self) -> None:
        os.kill(self.pid, signal.SIGHUP)
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


@dataclass(frozen=True)
class Shown:
    """A row's text for a part of the time."""

    row: int
    text: Row
    start: float
    end: float
    still: bool


def periods(screens: list[Screen], still: int) -> Iterator[Shown]:
    for row in range(ROWS):
        index = 0
        while index < len(screens) - 1:
            last = index
            while (
                last + 1 < len(screens) - 1
                and screens[last + 1].rows[row] == screens[index].rows[row]
            ):
                last += 1
            if text := screens[index].rows[row]:
                begins, ends = screens[index].at, screens[last + 1].at
                yield Shown(row, text, begins, ends, index <= still <= last)
            index = last + 1


def svg_of(screens: list[Screen], still: int, web: bytes) -> str:
    """The screens one after the other, and below the last one the web UI, as a JPEG."""
    whole = screens[-1].at
    width = 2 * MARGIN + COLUMNS * WIDTH
    height = BAR + MARGIN + ROWS * HEIGHT
    shown = list(periods(screens, still))
    # Rows that come and go together share an animation.
    names: dict[tuple[float, float], str] = {}
    rows = []
    for period in shown:
        name = names.setdefault((period.start, period.end), f"t{len(names)}")
        y = BAR + HEIGHT * (period.row + 0.75)
        texts = "".join(
            f'<text x="{MARGIN + column * WIDTH:.1f}" y="{y:g}" '
            f'textLength="{len(text) * WIDTH:.1f}"{attributes(style)}>{escape(text)}</text>'
            for column, text, style in period.text
        )
        rows.append(f'<g class="{name}{" still" if period.still else ""}">{texts}</g>')
    last = screens[-2]
    names[last.at, whole] = "web"
    top = BAR + HEIGHT * sum(map(bool, last.rows)) + MARGIN
    rows.append(
        f'<g class="web"><image x="{MARGIN}" y="{top}" width="{COLUMNS * WIDTH:g}" '
        f'height="{height - top - MARGIN:g}" preserveAspectRatio="xMidYMin meet" '
        f'href="data:image/jpeg;base64,{base64.b64encode(web).decode()}"/></g>'
    )
    frames = "\n".join(
        f"@keyframes {name} {{ {keys(start, end, whole)} }}\n"
        f".{name} {{ animation: {name} {whole:.2f}s step-end infinite; }}"
        for (start, end), name in names.items()
    )
    words = "A terminal: sonde records a program, reports its findings, and writes its web page."
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">
<title>{escape(words)}</title>
<style>
svg {{
  font: {FONT}px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  fill: {FOREGROUND};
}}
g {{ visibility: hidden; }}
.still {{ visibility: visible; }}
@media (prefers-reduced-motion: no-preference) {{
{frames}
}}
</style>
<rect width="{width:g}" height="{height:g}" rx="8" fill="{BACKGROUND}"/>
<circle cx="20" cy="15" r="5" fill="#e5707a"/>
<circle cx="38" cy="15" r="5" fill="#e0b96a"/>
<circle cx="56" cy="15" r="5" fill="#8fc77f"/>
{chr(10).join(rows)}
</svg>
"""


def attributes(style: Style) -> str:
    colour, bold = style
    fill = COLOURS.get(colour, f"#{colour}" if len(colour) == 6 else FOREGROUND)
    return (f' fill="{fill}"' if fill != FOREGROUND else "") + (
        ' font-weight="bold"' if bold else ""
    )


def keys(start: float, end: float, whole: float) -> str:
    """Keyframes of something that is visible from start to end."""
    first, last = 100 * start / whole, 100 * end / whole
    begins = "" if not first else "0% { visibility: hidden } "
    ends = "" if last >= 100 else f" {last:.3f}%, 100% {{ visibility: hidden }}"
    return f"{begins}{first:.3f}% {{ visibility: visible }}{ends}"


def main() -> None:
    browser = page.browser()
    if browser is None:
        sys.exit("the image of the web UI needs chromium; as root: apt-get install chromium")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy2(PROGRAM, folder)
        session = Session(folder)
        try:
            session.play()
        finally:
            session.end()
        web = folder / "web.jpg"
        page.run(
            "node", "pictures/screen.mjs", str(folder / PAGE), VIEW, str(web), SONDE_BROWSER=browser
        )
        IMAGE.write_text(svg_of(session.screens, session.still, web.read_bytes()))
    print(f"{IMAGE.relative_to(ROOT)}: {IMAGE.stat().st_size / 1024:.0f} KiB", file=sys.stderr)


if __name__ == "__main__":
    main()
