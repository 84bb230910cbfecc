"""`sonde view`: a recording on a page, in the browser or in one file; or a store."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from sonde.cli.shared.heap_views import ALLOCATED_IN, is_heap
from sonde.cli.shared.heap_views import opened as heap_of
from sonde.cli.shared.newest_recording import newest
from sonde.cli.shared.output_files import STDOUT, not_over, opened
from sonde.cli.shared.progress import working
from sonde.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sonde.web.bundle import Bundle
    from sonde.web.heap import HeapPage
    from sonde.web.server import Server
    from sonde.web.shown import Shown

MAX_PORT = 65535


def view(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="A recording or a heap snapshot; or a store: a folder, or s3://bucket/name "
            "[default: the newest recording of the working directory]",
            show_default=False,
        ),
    ] = None,
    file2: Annotated[
        str | None,
        typer.Argument(metavar="FILE2", help="A second recording, to compare with the first."),
    ] = None,
    html: Annotated[
        str | None,
        typer.Option(
            "--html",
            metavar="OUT",
            help="Write the web UI with the data to one file that works offline, - for stdout.",
        ),
    ] = None,
    port: Annotated[
        str | None,
        typer.Option("--port", metavar="N", help="Serve on port N [default: a free one]"),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option("--host", metavar="ADDR", help="Serve on this address [default: 127.0.0.1]"),
    ] = None,
    expose: Annotated[
        bool,
        typer.Option(
            "--expose",
            help="Allow a --host that other machines can reach; traffic is not encrypted.",
        ),
    ] = False,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Print the URL without opening a browser.")
    ] = False,
    with_source: Annotated[
        bool,
        typer.Option("--with-source", help="Include the program's source in the --html file."),
    ] = False,
    allocated_in: Annotated[
        str | None,
        typer.Option(
            ALLOCATED_IN,
            metavar="RECORDING",
            help="With a heap snapshot: show where this recording of the process sampled the "
            "allocation of objects.",
        ),
    ] = None,
) -> None:
    """Open a recording, a heap or a store in the web UI, or write an HTML file.

    sonde serves the web UI until Ctrl-C, to this machine only, at a URL with a secret token.

    \b
    Examples:
      sonde view
      sonde view app.sonde
      sonde view before.sonde after.sonde
      sonde view app.sonde --html app.html --with-source
      sonde view heap.sonde
      sonde view heap.sonde --allocated-in app.sonde
      sonde view profiles/
    """
    if html is not None and (port is not None or host is not None or expose):
        raise UsageError(
            "--html writes a file instead of serving it; leave out --port, --host and --expose"
        )
    if with_source and html is None:
        raise UsageError("--with-source needs --html OUT; the served web UI always has the source")
    number = _port(port)
    file = file or newest()
    files = [file] if file2 is None else [file, file2]
    store = any(map(is_store, files))
    # Not by name: an address may hold a secret.
    if store and len(files) > 1:
        raise UsageError(
            "a store cannot be compared; give one store, and compare inside the web UI"
        )
    if store and html is not None:
        raise UsageError("--html does not support stores; leave it out, or give a recording")
    read_files = files if allocated_in is None else [*files, allocated_in]
    for name in read_files if html is not None else []:
        not_over(name, html or "", "--html")
    if allocated_in is not None and not is_heap(files):
        raise UsageError(f"{ALLOCATED_IN} applies to heap snapshots only; give one as FILE")

    from sonde.web.page import built

    built()  # If there is none, say so before a long read.
    shown: Shown
    if is_heap(files):
        if len(files) > 1:
            raise UsageError("the web UI shows one heap; compare two with: sonde heap diff")
        if with_source:
            raise UsageError("--with-source does not apply to heap snapshots")
        shown = page = _heap(file, allocated_in)
        if html is not None:
            _write(page.html, html)
            return
    elif store:
        shown = _opened(file)
    else:
        from sonde.web.shown import Recordings

        bundles = _read(files, sources=html is None or with_source)
        if html is not None:
            from sonde.web.html import html as one_file

            _write(lambda: one_file(bundles), html)
            return
        shown = Recordings(bundles)

    from sonde.web.server import LOOPBACK, Server

    with Server(shown, host or LOOPBACK, number, exposed=expose) as server:
        _serve(server, browse=not no_open)


def is_store(name: str) -> bool:
    """Whether it names a place for many recordings: a folder, or an address."""
    return "://" in name or os.path.isdir(name)


def _opened(store: str) -> Shown:
    from sonde import optional_packages

    optional_packages.check("pyarrow", "ibis", "duckdb")
    from sonde.fleet.store.location import located
    from sonde.web.store import StoreParts

    with working("opening the store"):
        return StoreParts(located(store))


def _read(files: list[str], *, sources: bool) -> list[Bundle]:
    from sonde.views.stacks.chained_samples import open_recording
    from sonde.web.bundle import Bundle

    bundles = []
    for name in files:
        with working(f"reading {name}"):
            recording = open_recording(name)
        for warning in recording.warnings:
            print(f"sonde: {warning}", file=sys.stderr)
        bundles.append(Bundle(recording, sources=sources))
    return bundles


def _port(text: str | None) -> int:
    if text is None:
        return 0
    if not (text.isascii() and text.isdecimal() and 0 < int(text) <= MAX_PORT):
        raise UsageError(f"invalid --port {text!r}; give a number from 1 to {MAX_PORT}")
    return int(text)


def _heap(file: str, allocated_in: str | None) -> HeapPage:
    from sonde.recording.reader import read
    from sonde.views.heap.allocations import check_same_process
    from sonde.web.heap import HeapPage

    with working(f"reading {file}"):
        graph = heap_of(file)
        recording = None if allocated_in is None else read(allocated_in)
        if recording is not None:
            check_same_process(graph.snapshot, recording)
        page = HeapPage(graph, recording)
        page.meta  # noqa: B018 # what takes long, before a browser waits for it
    for warning in graph.snapshot.warnings:
        print(f"sonde: {warning}", file=sys.stderr)
    return page


def _write(make: Callable[[], bytes], out: str) -> None:
    if out == STDOUT and sys.stdout.isatty():
        raise UsageError("stdout is a terminal; give a file with --html OUT")
    with working(f"writing {out}"), opened(out) as stream:
        stream.write(make())
    if out != STDOUT:
        print(f"sonde: wrote {out}", file=sys.stderr)


def _serve(server: Server, *, browse: bool) -> None:
    name = server.shown.name
    print(
        f"sonde: serving {name} at {server.url} (press Ctrl-C to stop)", file=sys.stderr, flush=True
    )
    try:
        if browse:
            _open(server)
        server.serve_forever()
    except KeyboardInterrupt:
        # What a terminal shows as ^C stands alone on its line.
        if sys.stderr.isatty():
            print(file=sys.stderr)


def _open(server: Server) -> None:
    """In a browser with a window; one of the terminal's own would take the terminal away."""
    windowed = sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("BROWSER")
    if not windowed and not os.environ.get("WAYLAND_DISPLAY"):
        print("sonde: no display found; open the URL in a browser", file=sys.stderr)
        return
    import threading
    import webbrowser

    # Some browsers keep their caller waiting until they are closed, and the page must be served
    # meanwhile.
    threading.Thread(
        target=webbrowser.open, args=(server.one_time_url(),), daemon=True, name="open browser"
    ).start()
