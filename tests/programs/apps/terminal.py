"""A terminal for a full-screen application: types, resizes itself, and says what it saw as JSON.

Once the application is ready it waits for a line of its input.
"""

import fcntl
import json
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

TIMEOUT_S = 60
shown = ""


def resize(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))


def read(fd):
    global shown
    if select.select([fd], [], [], 0.05)[0]:
        shown += os.read(fd, 65536).decode(errors="replace")


def said():
    path = pathlib.Path("said")
    return path.read_text() if path.exists() else ""


def until(fd, pattern):
    """Something that the application has said, or that it showed last."""
    end = time.monotonic() + TIMEOUT_S
    while not (found := re.search(pattern, said()) or re.search(pattern, shown[-200:])):
        assert time.monotonic() < end, f"{pattern} never comes: {shown[-2000:]!r}"
        read(fd)
    return found.group()


def own_terminal():
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def main():
    ours, its = pty.openpty()
    resize(ours, 24, 80)
    before = termios.tcgetattr(its)
    # An application believes these variables before it asks the terminal for its size.
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        sys.argv[1:], stdin=its, stdout=its, stderr=its, env=env, preexec_fn=own_terminal
    )
    saw = [until(ours, "size=80x24"), until(ours, "is ready")]
    print("ready", flush=True)
    sys.stdin.readline()
    os.write(ours, b"c")
    saw.append(until(ours, r"counted=\d+"))
    resize(ours, 30, 100)
    saw.append(until(ours, "size=100x30"))
    os.write(ours, b"\x1b[B\x1b[Bq")
    saw.append(until(ours, r"result \w+(?=\s)"))
    while process.poll() is None:
        read(ours)
    facts = {
        "saw": saw,
        "code": process.returncode,
        "restored": termios.tcgetattr(its) == before,
        "other screen": shown.count("\x1b[?1049h") - shown.count("\x1b[?1049l"),
        "mouse": shown.count("\x1b[?1000h") - shown.count("\x1b[?1000l"),
        "errors": re.findall("Traceback|Error|Warning", shown),
    }
    print(json.dumps(facts), flush=True)


main()
