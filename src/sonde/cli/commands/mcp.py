"""`sonde mcp`: recordings for language models."""

from __future__ import annotations

import sys
from typing import Annotated

import typer


def mcp(
    directory: Annotated[
        str,
        typer.Argument(
            metavar="[DIR]",
            help="Serve the recordings in DIR [default: the working directory]",
            show_default=False,
        ),
    ] = ".",
) -> None:
    """Serve recordings over the Model Context Protocol, on standard input and output.

    A client, such as an assistant or an editor, starts this command. It reads nothing outside of
    DIR.

    \b
    Examples:
      sonde mcp
      sonde mcp ~/profiles
    """
    from sonde import __version__
    from sonde.mcp_server.folder import Folder
    from sonde.optional_packages import check

    check("mcp", needed_by="sonde mcp needs", extra="mcp")
    folder = Folder(directory)
    if sys.stdin.isatty():
        print(
            f"sonde: serving {folder.path}; a client usually starts this command: enter "
            "JSON-RPC messages, or press Ctrl-D to end",
            file=sys.stderr,
        )
    from sonde.mcp_server.server import serve

    serve(folder, __version__)
