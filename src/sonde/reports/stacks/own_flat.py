"""The program's own functions as a table, with the library functions that they called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from sonde.reports.layout.names import label, library_name, place, printable
from sonde.reports.layout.page import line
from sonde.reports.stacks.flat import TOP
from sonde.views.selecting.formatting import count, measured, percent
from sonde.views.stacks.own_flat import OwnRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from sonde.views.selecting.profile import Function
    from sonde.views.stacks.flat import Flat, FlatRow
    from sonde.views.stacks.own_flat import LibraryCall

CALLS = 3
"""Library functions listed below a function, ..."""
SMALL = 0.01
"""... if they have this share of the total."""
MIN_PLACE = 12
_NUMBERS = 9 + 8 + 10 + 8 + 2


def render(result: Flat, out: Console, *, top: int | None = None) -> None:
    shown = result.rows[: top or TOP]
    table(shown, result.total_ns, out, unit=result.unit, calls=CALLS)
    left = len(result.rows) - len(shown)
    if left > 0:
        line(out, (f"{'…':>9} {count(left, 'more function')} of yours", "dim"))
    text = "→ library function that the one above called, with all that it called itself"
    line(out, (text, "dim"))


def table(
    rows: Sequence[FlatRow], total_ns: int, out: Console, *, unit: str = "ns", calls: int = 0
) -> None:
    """Functions with their time; `calls`: so many library functions below each.

    Without these the name has the one that most of a function's time is in.
    """
    width = out.width - _NUMBERS
    line(out, (f"{'self':>9}{'':8}{'total':>10}{'':8}  function", "bold"))
    for row in rows:
        function = row.function
        name = function.name if calls else full_name(row)
        line(
            out,
            f"{measured(row.self_ns, unit):>9}",
            (f"{_share(row.self_ns, total_ns):>8}", "cyan"),
            f"{measured(row.total_ns, unit):>10}",
            (f"{_share(row.total_ns, total_ns):>8}", "cyan"),
            "  ",
            _labelled(name, function, width),
        )
        for call in row.calls[:calls] if isinstance(row, OwnRow) else []:
            if call.self_ns >= SMALL * total_ns:
                line(
                    out,
                    f"{measured(call.self_ns, unit):>9}",
                    (f"{_share(call.self_ns, total_ns):>8}", "cyan"),
                    f"{'':18}    → ",
                    _labelled(_name(call), call.function, width - 4),
                )


def full_name(row: FlatRow) -> str:
    """`books → QuerySet.count` if most of the time of `books` is in that call."""
    call = row.main_call if isinstance(row, OwnRow) else None
    return f"{row.function.name} → {_name(call)}" if call else row.function.name


def _labelled(name: str, function: Function, width: int) -> str:
    """The name as far as there is room, and then the place, of which the file's name suffices."""
    room = max(width - cell_len(printable(name)) - 2, MIN_PLACE)
    return label(name, place(function.file, function.line, room), width)


def _share(part: int, total: int) -> str:
    return percent(part / total, 1) if total else ""


def _name(call: LibraryCall) -> str:
    return library_name(call.function.name, call.function.file)
