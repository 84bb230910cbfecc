"""What a tool may be given, and the check of what it was given."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sonde.errors import UsageError

Kind = Literal["string", "integer", "number", "boolean"]
_MEANINGS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: Kind
    description: str
    default: Any = None
    required: bool = False
    choices: Sequence[str] = ()
    low: float | None = None
    high: float | None = None

    def schema(self) -> dict[str, Any]:
        """As JSON Schema."""
        found: dict[str, Any] = {"type": self.kind, "description": self.description}
        if self.choices:
            found["enum"] = list(self.choices)
        if self.default is not None:
            found["default"] = self.default
        if self.low is not None:
            found["minimum"] = self.low
        if self.high is not None:
            found["maximum"] = self.high
        return found

    def check(self, value: Any) -> Any:
        if not self._is_of_kind(value):
            raise self._wrong(value, _MEANINGS[self.kind])
        if self.choices and value not in self.choices:
            raise self._wrong(value, f"one of: {', '.join(self.choices)}")
        if self.low is not None and value < self.low:
            raise self._wrong(value, f"at least {self.low:g}")
        if self.high is not None and value > self.high:
            raise self._wrong(value, f"at most {self.high:g}")
        return value

    def _is_of_kind(self, value: Any) -> bool:
        if self.kind == "string":
            return isinstance(value, str)
        if self.kind == "boolean":
            return isinstance(value, bool)
        if isinstance(value, bool):
            return False
        if self.kind == "integer":
            return isinstance(value, int)
        return isinstance(value, int | float) and math.isfinite(value)

    def _wrong(self, value: Any, valid: str) -> UsageError:
        return UsageError(f"invalid {self.name} {value!r:.80}; give {valid}")


def schema_of(parameters: Sequence[Parameter]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {one.name: one.schema() for one in parameters},
        "required": [one.name for one in parameters if one.required],
        "additionalProperties": False,
    }


def checked(tool: str, parameters: Sequence[Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """By parameter its value; UsageError says in one sentence what is wrong. null is not given."""
    known = {one.name: one for one in parameters}
    for name in given:
        if name not in known:
            raise UsageError(
                f"{tool} has no argument {name!r:.80}; its arguments are: {', '.join(known)}"
            )
    values: dict[str, Any] = {}
    for name, parameter in known.items():
        value = given.get(name)
        if value is None and parameter.required:
            raise UsageError(f"{tool} needs the argument {name}: {parameter.description}")
        values[name] = parameter.default if value is None else parameter.check(value)
    return values
