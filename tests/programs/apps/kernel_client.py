"""Starts an ipykernel by the command in its arguments and talks to it, as a notebook does.

A line of JSON for each thing that happened. Between cells it waits for a line of its input.
"""

import json
import pathlib
import sys
import time

from jupyter_client import KernelManager
from jupyter_client.kernelspec import KernelSpec

TIMEOUT_S = 60

CELLS = [
    "def compute(n):\n    return sum(i * i % 7 for i in range(n))\n",
    "import threading\n"
    "threads = [threading.Thread(target=compute, args=(300000,)) for _ in range(2)]\n"
    "[thread.start() for thread in threads], [thread.join() for thread in threads]\n"
    "print('threads are over')",
    "compute(500000)",
    "import sys; print('to stderr', file=sys.stderr); 1 / 0",
    "!echo from a shell",
    "await __import__('asyncio').sleep(0.05, 'awaited')",
]
BEGUN = pathlib.Path("begun")
# Each is interrupted: in a call of the system, and in Python code. A file says that this is where
# the main thread is by now: an exception within print, or what it calls, may get lost.
SAYS = f"import threading, time; threading.Timer(0.5, open, ['{BEGUN}', 'w']).start()\n"
ENDLESS = [SAYS + "time.sleep(1000)", SAYS + "while True: compute(1000)"]


class Manager(KernelManager):
    kernel_spec = KernelSpec(argv=[*sys.argv[1:], "-f", "{connection_file}"], display_name="test")


def tell(what, **facts):
    print(json.dumps({"what": what, **facts}), flush=True)


def wait_until_begun():
    end = time.monotonic() + TIMEOUT_S
    while not BEGUN.exists():
        assert time.monotonic() < end, "it never begins"
        time.sleep(0.01)
    BEGUN.unlink()


def execute(client, code, interrupt=None):
    """What a cell showed, in the order in which it did."""
    number, shown = client.execute(code), []
    if interrupt is not None:
        wait_until_begun()
        interrupt()
    while True:
        message = client.get_iopub_msg(timeout=TIMEOUT_S)
        if message["parent_header"].get("msg_id") != number:
            continue
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            shown.append([content["name"], content["text"]])
        elif kind == "execute_result":
            shown.append(["result", content["data"]["text/plain"]])
        elif kind == "error":
            shown.append(["error", content["ename"], content["evalue"]])
        elif kind == "status" and content["execution_state"] == "idle":
            break
    while (reply := client.get_shell_msg(timeout=TIMEOUT_S))["parent_header"]["msg_id"] != number:
        pass
    return [*shown, reply["content"]["status"], reply["content"]["execution_count"]]


def main():
    manager = Manager()
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=TIMEOUT_S)
    tell("ready", shown=execute(client, "import os; os.getpid()"))
    sys.stdin.readline()
    for cell in CELLS:
        tell("cell", shown=execute(client, cell))
    for cell in ENDLESS:
        tell("interrupted", shown=execute(client, cell, manager.interrupt_kernel))
    tell("after", shown=execute(client, "compute(100000)"))
    sys.stdin.readline()
    client.shutdown()
    code = manager.provisioner.process.wait(TIMEOUT_S)
    tell("over", code=code)
    client.stop_channels()
    manager.cleanup_resources()


main()
