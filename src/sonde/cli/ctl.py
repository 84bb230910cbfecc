"""`sonde ctl`: steer a recording that is under way."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sonde.cli._last_words import all_of
from sonde.errors import SondeError, UsageError

if TYPE_CHECKING:
    from sonde.record.control_client import Orders

VERBS = {
    "status": "what is recorded, where to, and how well",
    "stop": "pause: nothing is captured, and the time counts for nobody",
    "start": "go on",
    "mark": "TEXT: note this moment",
    "rate": "HZ: samples per second of CPU time from now on",
    "what": "LIST: capture this from now on, of cpu, locks, waits",
    "flush": "write what is buffered",
    "rotate": "begin the next part (--mode continuous)",
    "dump": "FILE: write the last seconds (--mode wrap)",
    "hot": "what is hot, and was all along (--budget, --mode wrap)",
    "detach": "end the recording; the program goes on",
}


def ctl(
    session: Annotated[
        str,
        typer.Argument(metavar="PID|SOCKET", help="A process that is recorded, or its socket."),
    ],
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND...]", help="A prompt opens if there is none."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
) -> None:
    """Steer a recording that is under way.

    \b
    Commands:
      status      what is recorded, where to, and how well
      stop        pause: nothing is captured, and the time counts for nobody
      start       go on
      mark TEXT   note this moment
      rate HZ     samples per second of CPU time from now on
      what LIST   capture this from now on, of cpu, locks, waits
      flush       write what is buffered, and say how large the file is
      rotate      begin the next part of a session in mode continuous
      dump FILE   write the last seconds of a session in mode wrap
      hot         what is hot, and was all along (--budget, --mode wrap)
      detach      end the recording; the program goes on

    \b
    Example:
      sonde ctl 4711 status
      sonde ctl 4711 rate 100
      sonde ctl 4711
    """
    from sonde.record.control_client import Orders, socket_of

    order = order_of(command) if command else None
    path = socket_of(session)
    with Orders(path) as orders:
        if order is not None:
            _tell(order, orders.give(order), as_json)
            return
        _converse(orders, as_json)


def order_of(words: list[str]) -> dict[str, Any]:
    """What a command says, as the session wants to hear it."""
    verb, *rest = words
    if verb not in VERBS:
        raise UsageError(f"there is no command {verb!r}; the commands are {', '.join(VERBS)}")
    takes = VERBS[verb].partition(":")[0] if ":" in VERBS[verb] and VERBS[verb][0].isupper() else ""
    if takes and not rest:
        raise UsageError(f"{verb} takes a {takes}")
    if rest and not takes:
        raise UsageError(f"{verb} takes nothing, not {' '.join(rest)!r}")
    text = " ".join(rest)
    if verb == "mark":
        return {"do": verb, "text": text}
    if verb == "rate":
        if not text.isdecimal():
            raise UsageError(f"rate takes a whole number of samples a second, not {text!r}")
        return {"do": verb, "hz": int(text)}
    if verb == "what":
        return {"do": verb, "list": [kind.strip() for kind in text.split(",") if kind.strip()]}
    if verb == "dump":
        return {"do": verb, "file": os.path.abspath(text)}  # its own folder is another one
    return {"do": verb}


def _tell(order: dict[str, Any], answer: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(answer, separators=(",", ":")))
        return
    for line in _words(order, answer):
        print(line)


def _words(order: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    verb = order["do"]
    if verb == "status":
        return _status(answer)
    if verb == "rate":
        return [f"{answer['rate']:,} samples per second of CPU time from now on"]
    if verb == "what":
        return [f"captured from now on: {', '.join(answer['what'])}"]
    if verb == "flush":
        return [f"{answer['size']:,} bytes written"]
    if verb == "rotate":
        return [f"goes on in {answer['path']}"]
    if verb == "dump":
        return [f"dumped to {answer['path']}"]
    if verb == "hot":
        return _hot(answer)
    if verb == "detach":
        return [f"ended; read it with: sonde report {all_of(answer['mode'], answer['path'])}"]
    return [{"stop": "paused", "start": "recording", "mark": "marked"}[verb]]


def _hot(answer: dict[str, Any]) -> list[str]:
    total = answer["total_ns"]
    functions = answer["functions"]

    def name(number: int) -> str:
        name, file, line, _ = functions[number]
        where = f" ({os.path.basename(file)}:{line})" if line else ""
        return "".join(c if c.isprintable() else "?" for c in f"{name}{where}")

    lines = [f"{total / 1e9:.2f} s of CPU time in {answer['for_ns'] / 1e9:.1f} s"]
    lines += [
        f"{row['own_ns'] / total:7.1%}  {name(row['function'])}" for row in answer["hot"] if total
    ]
    lines.append("newly called, as samples find it:")
    lines += [
        f"{edge['activations']:>7,}  {name(edge['caller'])} line {edge['line']} → "
        f"{name(edge['callee'])}"
        for edge in answer["hot_edges"]
    ]
    return lines


def _status(answer: dict[str, Any]) -> list[str]:
    quality = answer["quality"]
    pids = answer["processes"]
    paused = answer["paused_ns"] / 1e9
    told = [
        ("State", answer["state"] + (f", {paused:.1f} s paused in all" if paused else "")),
        ("For", f"{answer['duration_ns'] / 1e9:.1f} s"),
        ("Processes", ", ".join(map(str, pids)) or "none yet"),
        ("Captures", f"{', '.join(answer['what'])} at {answer['rate']:,} samples a second"),
        ("Sampler", str(quality["sampler"])),
        ("Samples", f"{quality.get('taken', 0):,}, {quality.get('lost', 0):,} lost"),
        _where(answer),
    ]
    return [f"{label:<11}{text}" for label, text in told]


def _where(answer: dict[str, Any]) -> tuple[str, str]:
    size = f"{answer['size']:,} bytes"
    if answer["mode"] == "wrap":
        return "Memory", f"{size}, written to {answer['path']} at the end"
    part = f", part {answer['part']}" if answer["mode"] == "continuous" else ""
    return "File", f"{answer['path']}, {size}{part}"


# ---- the prompt


def _converse(orders: Orders, as_json: bool) -> None:
    _complete()
    asks = sys.stdin.isatty()
    if asks:
        print(f"{', '.join(VERBS)}; help tells more.")
    while True:
        try:
            words = input("sonde> " if asks else "").split()
        except EOFError:
            if asks:
                print()
            return
        if not words:
            continue
        if words[0] in ("quit", "exit", "q"):
            return
        if words[0] == "help":
            for verb, text in VERBS.items():
                print(f"{verb:<8}{text}")
            continue
        try:
            order = order_of(words)
        except UsageError as error:
            print(f"sonde: {error}", file=sys.stderr)
            continue
        try:
            _tell(order, orders.give(order), as_json)
        except SondeError as error:
            print(f"sonde: {error}", file=sys.stderr)
            if "is over" in str(error):
                raise SystemExit(error.code) from None
        if order["do"] == "detach":
            return
        sys.stdout.flush()


def _complete() -> None:
    """Tab knows the commands, and what `what` takes."""
    try:
        import readline
    except ImportError:  # a Python built without it still has a prompt
        return
    from sonde.record.recorder.options import KINDS

    def candidates(text: str, state: int) -> str | None:
        before = readline.get_line_buffer()[: readline.get_begidx()].split()
        known = [*VERBS, "help", "quit"] if not before else list(KINDS) * (before[0] == "what")
        found = [word for word in known if word.startswith(text)]
        return found[state] if state < len(found) else None

    readline.set_completer(candidates)
    readline.set_completer_delims(" ,")
    readline.parse_and_bind("tab: complete")
