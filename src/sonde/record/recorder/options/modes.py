"""Where a session keeps what it records: in one file, in a series of files, or in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from sonde.errors import UsageError, invalid
from sonde.units import is_size, parse_size, parse_time

from .dump_triggers import parse_threshold

MODES = ("normal", "continuous", "wrap")
DEFAULT_SECONDS = 30
DEFAULT_MEMORY = 64 << 20
# A segment has a head, a schema and the names of what it holds: below this it would be little else.
MIN_SEGMENT_BYTES = 16 << 10
MIN_SEGMENT_NS = 100_000_000


@dataclass(frozen=True)
class Mode:
    name: str = "normal"
    limit: int | None = None
    """normal: bytes after which the recording stops."""
    rotate_bytes: int | None = None
    rotate_ns: int | None = None
    keep: int | None = None
    """continuous: segments that are kept; wrap: dumps by threshold that are kept."""
    seconds_ns: int = DEFAULT_SECONDS * 10**9
    memory: int = DEFAULT_MEMORY
    dump_when: list[tuple[str, int]] = field(default_factory=list)
    """wrap: subjects and the times above which they make a dump."""
    dump_every_ns: int = DEFAULT_SECONDS * 10**9

    def to_config(self) -> dict[str, Any]:
        return asdict(self)


def parse_mode(
    mode: str = "normal",
    *,
    limit: str | int | None = None,
    rotate: str | Sequence[str] | None = None,
    keep: int | None = None,
    seconds: float | None = None,
    memory: str | int | None = None,
    dump_when: str | Sequence[str] | None = None,
    dump_every: float | None = None,
) -> Mode:
    """A mode and its options, as given; what does not belong to it is a wrong call."""
    if mode not in MODES:
        raise UsageError(invalid("mode", mode, MODES, "modes"))
    rotates, conditions = _listed(rotate), _listed(dump_when, ";")
    given = {
        "--limit": limit is not None,
        "--rotate": bool(rotates),
        "--keep": keep is not None,
        "--seconds": seconds is not None,
        "--memory": memory is not None,
        "--dump-when": bool(conditions),
        "--dump-every": dump_every is not None,
    }
    belongs = {
        "normal": {"--limit"},
        "continuous": {"--rotate", "--keep"},
        "wrap": {"--seconds", "--memory", "--dump-when", "--dump-every", "--keep"},
    }
    for option, there in given.items():
        if there and option not in belongs[mode]:
            of = " or ".join(name for name in MODES if option in belongs[name])
            raise UsageError(f"{option} needs --mode {of}, not {mode}")
    if keep is not None and keep < 1:
        raise UsageError(f"invalid --keep {keep}; give at least 1 file")
    by_size = [parse_size("--rotate", text) for text in rotates if is_size(text)]
    by_time = [parse_time("--rotate", text) for text in rotates if not is_size(text)]
    if len(by_size) > 1 or len(by_time) > 1:
        raise UsageError("--rotate accepts at most one size and one time")
    if by_size and by_size[0] < MIN_SEGMENT_BYTES:
        raise UsageError(f"--rotate needs a size of at least {MIN_SEGMENT_BYTES >> 10}KiB")
    if by_time and by_time[0] < MIN_SEGMENT_NS:
        raise UsageError("--rotate needs a time of at least 100ms")
    seconds_ns = parse_time("--seconds", DEFAULT_SECONDS if seconds is None else seconds)
    size = DEFAULT_MEMORY if memory is None else parse_size("--memory", memory)
    if size < 1 << 20:
        raise UsageError(f"invalid --memory {memory!r}; give a size of at least 1MiB")
    return Mode(
        name=mode,
        limit=None if limit is None else parse_size("--limit", limit),
        rotate_bytes=by_size[0] if by_size else None,
        rotate_ns=by_time[0] if by_time else None,
        keep=keep,
        seconds_ns=seconds_ns,
        memory=size,
        dump_when=[parse_threshold(text) for text in conditions],
        dump_every_ns=(
            seconds_ns if dump_every is None else parse_time("--dump-every", dump_every)
        ),
    )


def _listed(value: str | Sequence[str] | None, separator: str = ",") -> list[str]:
    texts = [value] if isinstance(value, str) else list(value or ())
    return [part.strip() for text in texts for part in text.split(separator) if part.strip()]
