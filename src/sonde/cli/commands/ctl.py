"""`sonde ctl`: control a running recording."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sonde.cli.shared.closing_message import all_of
from sonde.errors import SondeError, UsageError, invalid

if TYPE_CHECKING:
    from sonde.record.control_client import ControlClient

VERBS = {
    "status": "show what is recorded, the file, and the quality",
    "pause": "pause the recording; the time until resume is not counted",
    "resume": "resume the recording",
    "stop": "end the recording; the program continues",
    "mark": "TEXT: mark this moment",
    "rate": "HZ: set the sampling rate",
    "what": "LIST: record only these kinds, of cpu, locks, waits",
    "flush": "write buffered data",
    "rotate": "start the next segment (--mode continuous)",
    "dump": "FILE: write the last seconds (--mode wrap)",
    "hot": "show the profile kept in memory (--budget, --mode wrap)",
    "probe": "add PROBE | list | remove NUMBER: values at lines (--probe, --what +probes)",
    "heap": "[FILE]: take a snapshot of the program's heap",
}
PROBE_VERBS = ("add", "list", "remove")
LOCAL = {"heap"}
"""Carried out here, not by the recorder."""
ALIASES = {"start": "resume", "detach": "stop"}


def ctl(
    session: Annotated[
        str,
        typer.Argument(metavar="PID|SOCKET", help="A recorded process, or the recording's socket."),
    ],
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[COMMAND...]", help="One of the commands above [default: open a prompt]"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
) -> None:
    """Control a running recording.

    \b
    Commands:
      status      show what is recorded, the file, and the quality
      pause       pause the recording; the time until resume is not counted
      resume      resume the recording (alias: start)
      stop        end the recording; the program continues (alias: detach)
      mark TEXT   mark this moment
      rate HZ     set the sampling rate, in samples per second of CPU time
      what LIST   record only these kinds, of cpu, locks, waits
      flush       write buffered data, and print the size of the file
      rotate      start the next segment (--mode continuous)
      dump FILE   write the last seconds to FILE (--mode wrap)
      hot         show the profile kept in memory (--budget, --mode wrap)
      heap [FILE] take a snapshot of the program's heap
      probe add 'FILE:LINE EXPRESSION [every N]'
                  record a value each time the line is reached
      probe list  show the probes, and how often their lines were reached
      probe remove NUMBER
                  remove a probe

    \b
    Example:
      sonde ctl 4711 status
      sonde ctl 4711 rate 100
      sonde ctl 4711
    """
    from sonde.record.control_client import ControlClient, socket_of

    order = order_of(command) if command else None
    path = socket_of(session)
    with ControlClient(path) as orders:
        if order is not None:
            _print_answer(order, _answer_to(orders, order, session), as_json)
            return
        _converse(orders, session, as_json)


def _answer_to(orders: ControlClient, order: dict[str, Any], session: str) -> dict[str, Any]:
    if order["do"] != "heap":
        return orders.give(order)
    from sonde.cli.shared import heap_taking

    pids = orders.give({"do": "status"})["processes"]
    pid = int(session) if session.isdecimal() and int(session) in pids else None
    if pid is None and len(pids) != 1:
        known = f"; give one of: {', '.join(map(str, pids))}" if pids else ""
        raise UsageError(f"heap is that of one process, and {len(pids)} are recorded{known}")
    return vars(heap_taking.take(pid or pids[0], order["file"]))


def order_of(words: list[str]) -> dict[str, Any]:
    """A command as the JSON request that the session expects."""
    verb, *rest = words
    verb = ALIASES.get(verb, verb)
    if verb not in VERBS:
        raise UsageError(invalid("command", verb, VERBS, "commands"))
    takes = VERBS[verb].partition(":")[0] if ":" in VERBS[verb] and VERBS[verb][0].isupper() else ""
    if verb == "probe":
        return _probe_order(rest)
    is_optional = VERBS[verb].startswith("[")
    if takes and not rest:
        raise UsageError(f"{verb} needs a {takes}")
    if rest and not takes and not is_optional:
        raise UsageError(f"{verb} takes no argument; leave out {' '.join(rest)!r}")
    text = " ".join(rest)
    if verb == "mark":
        return {"do": verb, "text": text}
    if verb == "rate":
        if not text.isdecimal():
            raise UsageError(f"invalid rate {text!r}; give a whole number of samples per second")
        return {"do": verb, "hz": int(text)}
    if verb == "what":
        return {"do": verb, "list": [kind.strip() for kind in text.split(",") if kind.strip()]}
    if verb == "heap":
        return {"do": verb, "file": text or None}
    if verb == "dump":
        return {"do": verb, "file": os.path.abspath(text)}  # its own folder is another one
    return {"do": verb}


def _probe_order(words: list[str]) -> dict[str, Any]:
    verb, *rest = words or ["list"]
    if verb not in PROBE_VERBS:
        raise UsageError(invalid("probe command", verb, PROBE_VERBS, "commands"))
    if verb == "list" and rest:
        raise UsageError(f"probe list takes no argument; leave out {' '.join(rest)!r}")
    if verb == "add":
        from sonde.record.recorder.options.probe_text import FORM, parse_probe

        text = " ".join(rest)
        if not text:
            raise UsageError(f"probe add needs a probe; give {FORM}")
        parse_probe(text, option="probe")
        return {"do": "probe", "verb": verb, "text": text}
    if verb == "remove":
        if len(rest) != 1 or not rest[0].isdecimal():
            raise UsageError("probe remove needs the number that probe list shows")
        return {"do": "probe", "verb": verb, "number": int(rest[0])}
    return {"do": "probe", "verb": verb}


def _print_answer(order: dict[str, Any], answer: dict[str, Any], as_json: bool) -> None:
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
        return [f"{answer['rate']:,} samples per second of CPU time"]
    if verb == "what":
        return [f"recording {', '.join(answer['what'])}"]
    if verb == "flush":
        return [f"{answer['size']:,} bytes written"]
    if verb == "rotate":
        return [f"continues in {answer['path']}"]
    if verb == "dump":
        return [f"wrote {answer['path']}"]
    if verb == "hot":
        return _hot(answer)
    if verb == "probe":
        return _probes(answer)
    if verb == "heap":
        from sonde.cli.shared.heap_taking import sentence
        from sonde.heap.capture import Captured

        return [sentence(Captured(**answer))]
    if verb == "stop":
        return [
            f"recording ended; read it with: sonde report {all_of(answer['mode'], answer['path'])}"
        ]
    return [{"pause": "paused", "resume": "recording", "mark": "marked"}[verb]]


def _probes(answer: dict[str, Any]) -> list[str]:
    if answer["verb"] == "add":
        return [f"probe {answer['number']} added"]
    if answer["verb"] == "remove":
        return [f"probe {answer['number']} removed"]
    lines = []
    for row in answer["probes"]:
        counts = f"{row['hits']:,} hits, {row['sampled']:,} values"
        counts += f", {row['lost']:,} lost" if row["lost"] else ""
        counts += f", {row['failed']:,} could not be read" if row["failed"] else ""
        why = f" ({row['trouble']})" if row["trouble"] else ""
        where = "" if row["places"] or why else " (no code with this line was loaded yet)"
        lines.append(f"{row['number']:>3}  {row['probe']}: {counts}{why}{where}")
    return lines or ["no probes"]


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
    lines.append("new call edges, as sampled:")
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
    entries = [
        ("State", answer["state"] + (f", {paused:.1f} s paused in total" if paused else "")),
        ("Duration", f"{answer['duration_ns'] / 1e9:.1f} s"),
        ("Processes", ", ".join(map(str, pids)) or "none yet"),
        ("Records", f"{', '.join(answer['what'])} at {answer['rate']:,} samples per second"),
        ("Sampler", str(quality["sampler"])),
        ("Samples", f"{quality.get('taken', 0):,}, {quality.get('lost', 0):,} lost"),
        _where(answer),
    ]
    return [f"{label:<11}{text}" for label, text in entries]


def _where(answer: dict[str, Any]) -> tuple[str, str]:
    size = f"{answer['size']:,} bytes"
    if answer["mode"] == "wrap":
        return "Memory", f"{size}, written to {answer['path']} at the end"
    part = f", segment {answer['part']}" if answer["mode"] == "continuous" else ""
    return "File", f"{answer['path']}, {size}{part}"


# ---- the prompt


def _converse(orders: ControlClient, session: str, as_json: bool) -> None:
    _complete()
    asks = sys.stdin.isatty()
    if asks:
        print(f"Commands: {', '.join(VERBS)}; help describes them.")
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
            _print_answer(order, _answer_to(orders, order, session), as_json)
        except SondeError as error:
            print(f"sonde: {error}", file=sys.stderr)
            if "is over" in str(error):
                raise SystemExit(error.code) from None
        if order["do"] == "stop":
            return
        sys.stdout.flush()


def _complete() -> None:
    """Tab knows the commands, and what `what` takes."""
    try:
        import readline
    except ImportError:  # a Python built without it still has a prompt
        return
    from sonde.record.recorder.options.options import KINDS

    def candidates(text: str, state: int) -> str | None:
        before = readline.get_line_buffer()[: readline.get_begidx()].split()
        known = (
            [*VERBS, *ALIASES, "help", "quit"]
            if not before
            else list(KINDS) * (before[0] == "what")
        )
        found = [word for word in known if word.startswith(text)]
        return found[state] if state < len(found) else None

    readline.set_completer(candidates)
    readline.set_completer_delims(" ,")
    readline.parse_and_bind("tab: complete")
