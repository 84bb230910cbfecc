"""What a verb that records says when it is done."""

from __future__ import annotations

import os
import shlex
from typing import Any

from sonde.units import size_words

UNSEEN = (
    "the command started neither CPython 3.11 to 3.15 nor a JVM 17 or newer; "
    "run `sonde doctor` to see what can be recorded"
)


def closing_message(
    done: dict[str, Any], of: str = "", nothing: str = "", unseen: str = UNSEEN
) -> str:
    """Of a finished recorder's answer; `nothing` is why there may be no sample in it, `unseen` why
    there may be no file."""
    quality = done["done"]
    path = _shown(str(done["path"]))
    if not os.path.exists(path):
        return f"nothing was recorded: {done.get('trouble') or unseen}"
    if quality.get("without_timers"):
        nothing = "the kernel refuses perf events and CPU timers; run `sonde doctor` for advice"
    if not quality.get("taken"):
        why = done.get("trouble") or nothing or "the program used hardly any CPU time"
        return f"{path} has no samples: {why}"
    lost = quality.get("events_lost", 0)
    words = f"{quality['taken']:,} sample{'s' if quality['taken'] != 1 else ''}{of}" + (
        f", {lost:,} lost" if lost else ""
    )
    if quality.get("why_no_calls"):
        words += f", but {quality['why_no_calls']}"
    if quality.get("why_no_objects"):
        words += f", but no allocations: {quality['why_no_objects']}"
    if quality.get("why_no_flow"):
        words += f", but no call flow: {quality['why_no_flow']}"
    if quality.get("why_no_lock_activity"):
        words += f", but no uncontended acquisitions: {quality['why_no_lock_activity']}"
    every = all_of(done["mode"]["name"], path)
    return f"recorded {words}{_how_it_went(done)}; read it with: sonde report {every}"


def typed(path: str) -> str:
    """As a shell takes it back."""
    if path.isprintable():
        return shlex.quote(path)
    escaped = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b"'\\" else f"\\x{byte:02x}"
        for byte in os.fsencode(path)
    )
    return f"$'{escaped}'"


def _how_it_went(done: dict[str, Any]) -> str:
    mode, words = done["mode"], ""
    if done.get("note") == "size limit reached":
        words += f", until the file reached its limit of {size_words(mode['limit'])}"
    if mode["name"] == "continuous":
        words += f" in {done['parts']} segment{'s' if done['parts'] > 1 else ''}"
    if mode["name"] == "wrap":
        words += ", of which the last seconds were kept"
        if len(done["dumps"]) > 1:
            words += f", and {len(done['dumps']) - 1} written earlier"
    if outage := done["done"].get("disk_refused_ns"):
        words += f" ({outage / 1e9:.1f} s could not be written)"
    if gaps := done["done"].get("recorder_restarts"):
        words += f", by {gaps + 1} successive recorders"
    return words


def all_of(mode: str, path: str) -> str:
    """The pattern of all segments of a session, of which this is the last, as typed in a shell."""
    return typed(path) if mode != "continuous" else f"'{segments_of(path)}'"


def segments_of(path: str) -> str:
    return f"{path.removesuffix('.sonde').rpartition('.')[0]}.*.sonde"


def recording_of(done: dict[str, Any]) -> str | None:
    """What to read: a file, or the pattern of all segments; None: nothing was recorded."""
    path = _shown(str(done["path"]))
    if not os.path.exists(path):
        return None
    return segments_of(path) if done["mode"]["name"] == "continuous" else path


def _shown(path: str) -> str:
    short = os.path.relpath(path)
    return path if len(short) > len(path) else short
