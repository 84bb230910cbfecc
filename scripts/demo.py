#!/usr/bin/env python3
"""Records a program everybody has, under a little load, and looks at it from every side.

The program is Python's own `python -m http.server`, serving the standard library's source over the
loopback interface to six clients for three seconds.
"""

from __future__ import annotations

import http.client
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SONDE = ROOT / ".venv" / "bin" / "sonde"
RECORDING = Path("build") / "demo.sonde"

SERVED = os.path.dirname(os.__file__)
PAGES = ("/", "/encodings/", "/difflib.py", "/", "/asyncio/")
CLIENTS = 6
SECONDS = 3.0
START_S = 20.0


def say(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as tried:
        return int(tried.getsockname()[1])


def wait_for(port: int, server: subprocess.Popen[str]) -> None:
    patience = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            if server.poll() is not None or time.monotonic() > patience:
                raise SystemExit("the server did not start") from None
            time.sleep(0.05)


def load(port: int) -> int:
    """Asks for pages until the time is over, each client over one connection; how many it got."""
    until = time.monotonic() + SECONDS
    answered = [0] * CLIENTS

    def client(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=START_S)
        while time.monotonic() < until:
            connection.request("GET", PAGES[(answered[number] + number) % len(PAGES)])
            connection.getresponse().read()
            answered[number] += 1
            time.sleep(0.005)
        connection.close()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(answered)


def record() -> None:
    port = free_port()
    target = ["-m", "http.server", "--protocol", "HTTP/1.1", "--bind", "127.0.0.1"]
    command = ["sonde", "run", "-o", str(RECORDING), "--what", "cpu,waits", *target]
    command += ["--directory", SERVED, str(port)]
    print(f"$ {shlex.join(command)}", flush=True)
    # The server writes a line per request to stderr; sonde's own words are found among them.
    with tempfile.TemporaryFile("w+") as words:
        server = subprocess.Popen(
            [SONDE, *command[1:]], stdout=subprocess.DEVNULL, stderr=words, text=True
        )
        try:
            wait_for(port, server)
            pages = load(port)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()
        words.seek(0)
        said = [line for line in words if line.startswith("sonde: ")]
    print(f"{pages} pages were served to {CLIENTS} clients in {SECONDS:.0f} s.")
    print("".join(said), end="", flush=True)
    if not RECORDING.exists():
        raise SystemExit(1)


def show(*arguments: str) -> None:
    print(f"$ {shlex.join(['sonde', 'report', str(RECORDING), *arguments])}", flush=True)
    shown = subprocess.run([SONDE, "report", RECORDING, *arguments], check=False)
    if shown.returncode:
        raise SystemExit(shown.returncode)


def main() -> None:
    os.chdir(ROOT)
    RECORDING.parent.mkdir(exist_ok=True)
    say("1. Run a program under sonde: Python's own web server, asked by six clients")
    record()
    say("2. The summary: what ran, what stands out, how sure that is")
    show()
    say("3. The tree: where the CPU time goes, by who called whom")
    show("tree", "--merge-lines", "--top", "30")
    say("4. The lines: the source that costs most")
    show("lines", "--top", "8")
    say("5. The waiting: where threads stand still, and for how long")
    show("tree", "--waiting", "--merge-lines", "--top", "14")
    say("6. The quality: how far these figures can be trusted")
    show("quality")
    say("What to try next")
    for command, answers in (
        (f"sonde report {RECORDING} tree --wall", "running and waiting in one tree"),
        (f"sonde export {RECORDING} --to firefox", "for the Firefox Profiler"),
        ("sonde run YOUR_SCRIPT.py", "your own program"),
        ("sonde doctor", "what works on this machine"),
    ):
        print(f"  {command:<42}  {answers}")
    print(f"sonde is in {SONDE.parent}.")


if __name__ == "__main__":
    main()
