"""Defaults of options from the settings of the working directory (sonde.settings).

A key is an option's long name: `rate` for --rate. Keys directly in [tool.sonde], and variables such
as SONDE_RATE, are of what `run` and `attach` record; a table such as [tool.sonde.report], and
variables such as SONDE_REPORT_TOP, are of that verb. A variable overrides the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sonde.errors import UsageError, did_you_mean
from sonde.settings import PREFIX, SOURCE, Settings, load

RECORDING_VERBS = ("run", "attach")
EVERYWHERE = ("color", "no-pager")
"""Options of all verbs."""
ALL = "all"
NO_SETTINGS = ("help", "output", "force", "report", "open")
"""Options of a single call."""
TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")

FindVerb = Callable[[str], Any]
"""The command of a verb; None if there is none of that name."""


@dataclass(frozen=True)
class Default:
    """The value of an option, and where it comes from."""

    verb: str
    """ALL: of every verb."""
    option: str
    parameter: str
    value: Any
    origin: str


def defaults(settings: Settings, verb: str, find: FindVerb) -> list[Default]:
    """Of one verb; later ones override earlier ones of the same option."""
    _check_keys(settings, find)
    options = _options(find(verb))
    found: list[Default] = []
    everywhere = {name: options[name] for name in EVERYWHERE if name in options}
    general = options if verb in RECORDING_VERBS else everywhere
    of_file = {key: value for key, value in settings.table.items() if key in general}
    found += map(_of_all, _from_file(of_file, settings.table_name, verb, general))
    table = settings.table.get(verb, {})
    if isinstance(table, dict) and table:
        where = settings.table_name.replace("sonde]", f"sonde.{verb}]")
        for key in table:
            if key not in options:
                raise UsageError(
                    f"unknown setting {key!r}{did_you_mean(key, options)} in {where}; "
                    f"valid keys: {', '.join(options)}"
                )
        found += _from_file(table, where, verb, options)
    for prefix, those in ((PREFIX, general), (f"{PREFIX}{verb.upper()}_", options)):
        for option, parameter in those.items():
            name = prefix + option.upper().replace("-", "_")
            if name in settings.variables:
                value = _of_text(name, settings.variables[name], parameter)
                default = Default(verb, option, parameter.name, value, name)
                found.append(_of_all(default) if prefix == PREFIX else default)
    return found


def _of_all(default: Default) -> Default:
    return replace(default, verb=ALL) if default.option in EVERYWHERE else default


def by_parameter(found: Sequence[Default]) -> dict[str, Any]:
    """As the parser of the command line takes them."""
    return {default.parameter: default.value for default in found}


def with_origin(message: str, found: Sequence[Default]) -> str:
    """A message about an option says where its default comes from."""
    if message.startswith("no such option"):
        return message
    last = {default.option: default.origin for default in found}
    for option, origin in last.items():
        if re.search(rf"(?<![\w-])(--)?{re.escape(option)}(?![\w-])", message):
            return f"{message} (the default of --{option} is set in {origin})"
    return message


@dataclass(frozen=True)
class InUse:
    """The settings of the working directory, for the one who asks why."""

    file: str | None
    source: tuple[str, ...]
    rows: list[Default]
    problems: list[str]

    def to_json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "source": list(self.source),
            "options": [
                {"command": row.verb, "option": row.option, "value": row.value, "from": row.origin}
                for row in self.rows
            ],
            "problems": self.problems,
        }


def in_use(verbs: Sequence[str], find: FindVerb) -> InUse:
    """Those that hold, and what is wrong with others."""
    try:
        settings = load()
    except UsageError as error:
        return InUse(None, (), [], [str(error)])
    rows: dict[tuple[str, str], Default] = {}
    problems = _unused(settings, verbs, find)
    for verb in verbs:
        try:
            for row in defaults(settings, verb, find):
                rows[row.verb, row.option] = row
        except UsageError as error:
            if str(error) not in problems:
                problems.append(str(error))
    return InUse(settings.file, settings.source, list(rows.values()), problems)


def _unused(settings: Settings, verbs: Sequence[str], find: FindVerb) -> list[str]:
    """Variables that are spelled almost like a setting; others may be of anybody."""
    known = [f"{PREFIX}{SOURCE.upper()}", f"{PREFIX}PAGER"]
    for verb in verbs:
        names = [option.upper().replace("-", "_") for option in _options(find(verb))]
        known += [f"{PREFIX}{verb.upper()}_{name}" for name in names]
        known += [f"{PREFIX}{name}" for name in names if verb in RECORDING_VERBS]
    return [
        f"{name} is no setting{hint}"
        for name in sorted(set(settings.variables).difference(known))
        if (hint := did_you_mean(name, known))
    ]


def _check_keys(settings: Settings, find: FindVerb) -> None:
    general = [SOURCE, *_options(find(RECORDING_VERBS[0]))]
    for key, value in settings.table.items():
        if isinstance(value, dict):
            if find(key) is None or hasattr(find(key), "commands"):
                raise UsageError(
                    f"unknown table {key!r} in {settings.table_name}; a table has the name of a "
                    "command, such as report"
                )
        elif key not in general:
            raise UsageError(
                f"unknown setting {key!r}{did_you_mean(key, general)} in {settings.table_name}; "
                f"valid keys: {', '.join(general)}"
            )


def _options(command: Any) -> dict[str, Any]:
    """The parameters that settings may give, by the first long name of their option."""
    found = {}
    for parameter in getattr(command, "params", ()):
        names = [name[2:] for name in parameter.opts if name.startswith("--")]
        if parameter.param_type_name == "option" and names and names[0] not in NO_SETTINGS:
            found[names[0]] = parameter
    return found


def _from_file(
    table: Mapping[str, Any], where: str, verb: str, options: Mapping[str, Any]
) -> Iterator[Default]:
    for key, value in table.items():
        parameter = options[key]
        if parameter.is_flag:
            right = isinstance(value, bool)
            takes = "true or false"
        elif parameter.multiple:
            value = value if isinstance(value, list) else [value]  # noqa: PLW2901
            right = all(map(_is_plain, value))
            takes = "a text, or a list of texts"
        else:
            right = _is_plain(value)
            takes = "a text or a number"
        if not right:
            raise UsageError(f"invalid {key} in {where}; give {takes}")
        yield Default(verb, key, parameter.name, value, where)


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _of_text(name: str, text: str, parameter: Any) -> Any:
    if parameter.multiple:
        return [part.strip() for part in text.split(",") if part.strip()]
    if not parameter.is_flag:
        return text
    if text.lower() not in TRUE + FALSE:
        raise UsageError(f"invalid {name} {text!r}; give true or false")
    return text.lower() in TRUE
