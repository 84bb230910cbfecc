"""sonde: where time goes, which code held each contended lock, and how accurate the numbers are.

    import sonde

    with sonde.record("out.sonde") as session:
        work()
        session.mark("warm")

    recording = sonde.open("out.sonde")
    print(recording.flat(top=5).rows)

A program under `sonde run` or `sonde attach` can say where it is: `sonde.mark("warm")`,
`with sonde.span("checkout"):`, `sonde.pause()`, `sonde.resume()`; unrecorded these do nothing.

Nothing is imported before it is used: a program that only records never loads what analyses.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers know the name; importing typing would cost more than sonde
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

    from sonde._inside import mark, pause, resume, span
    from sonde.opened import OpenedRecording
    from sonde.record.own_counters import ThreadCounters as thread_counters  # noqa: N813
    from sonde.record.session import Session as record  # noqa: N813
    from sonde.views.selecting.span_filter import SpanAttribute

    __version__: str

__all__ = [
    "SpanAttribute", "__version__", "mark", "open", "pause", "record", "resume", "span",
    "thread_counters",
]  # fmt: skip

_INSIDE = ("mark", "pause", "resume", "span")


def open(path: str | PathLike[str]) -> OpenedRecording:  # noqa: A001
    """Read a recording: its tables, and the views on them as methods."""
    from sonde.opened import OpenedRecording
    from sonde.views.stacks.chained_samples import open_recording

    return OpenedRecording(open_recording(path))


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext sonde` calls."""
    from sonde.plugins.ipython.magics import load

    load(shell)


def __getattr__(name: str) -> Any:
    if name == "record":
        # The package is itself what is called: `sonde.record(...)`, see its first lines.
        import importlib

        return importlib.import_module("sonde.record")
    if name in _INSIDE:
        from sonde import _inside

        globals().update({known: getattr(_inside, known) for known in _INSIDE})
        return globals()[name]
    if name == "thread_counters":
        from sonde.record.own_counters import ThreadCounters

        return ThreadCounters
    if name == "SpanAttribute":
        from sonde.views.selecting.span_filter import SpanAttribute

        return SpanAttribute
    if name == "__version__":
        from sonde._version import version

        return version()
    raise AttributeError(f"module 'sonde' has no attribute {name!r}")
