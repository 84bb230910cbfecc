"""What a recording says in words and single numbers: its target and its quality."""

from __future__ import annotations

from typing import Any, NamedTuple

from sonde.recording.read.decode import Damaged

# Others calculate with these, so a value of another type (None: not known) counts as absent;
# anything else is shown as it stands.
_NUMBERS = {
    "quality": {
        "rate_asked",
        "rate_achieved",
        "taken",
        "lost",
        "undecodable",
        "undecodable_waits",
        "truncated",
        "agent_cpu_ns",
        "events_lost",
    },
    "target": {"pid", "cpus", "rate", "started", "duration_ns"},
}
_LISTS = {"argv"}
_COUNTS = {"refused"}
_REASONS = {"not_entered"}


class Facts:
    """Merged in the order of the blocks, so the last value of a key wins."""

    def __init__(self) -> None:
        self.target: dict[str, Any] = {}
        self.quality: dict[str, Any] = {}

    def merge(self, newer: dict[str, dict[str, Any]]) -> None:
        for subject, known in (("target", self.target), ("quality", self.quality)):
            for key, fact in newer.get(subject, {}).items():
                if _fits(subject, key, fact):
                    known[key] = fact

    def copy(self) -> Facts:
        copied = Facts()
        copied.target, copied.quality = dict(self.target), dict(self.quality)
        return copied


def check_facts(value: Any) -> dict[str, dict[str, Any]]:
    """What a block of facts says, if it is one."""
    if not isinstance(value, dict):
        raise Damaged
    if not all(isinstance(value.get(subject, {}), dict) for subject in ("target", "quality")):
        raise Damaged
    return value


class SampleTotals(NamedTuple):
    """What a writer counted of the samples it wrote: enough to judge a recording without them."""

    rows: int
    running_ns: int
    without_stack: int
    last_ns: int


def read_totals(facts: list[dict[str, Any]]) -> SampleTotals | None:
    """The last ones stated, if they are some."""
    stated = [entry["totals"] for entry in facts if "totals" in entry]
    match stated[-1:]:
        case [{"samples": dict(counts)}]:
            values = [counts.get(name) for name in SampleTotals._fields]
            known = [value for value in values if type(value) is int and 0 <= value < 2**62]
            return SampleTotals(*known) if len(known) == len(values) else None
    return None


def _fits(subject: str, key: str, fact: Any) -> bool:
    if key in _NUMBERS[subject]:
        return _is_number(fact)
    if key in _LISTS:
        return isinstance(fact, list) and all(isinstance(item, str) for item in fact)
    if key in _COUNTS:
        return isinstance(fact, dict) and all(isinstance(count, int) for count in fact.values())
    if key in _REASONS:
        return isinstance(fact, dict) and all(isinstance(why, str) for why in fact.values())
    return True


def _is_number(fact: Any) -> bool:
    return isinstance(fact, (int, float)) and not isinstance(fact, bool)
