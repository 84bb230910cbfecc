"""The tools over the Model Context Protocol, on standard input and output."""

from __future__ import annotations

import asyncio
import sys
import traceback
from typing import TYPE_CHECKING, Any

from sonde.errors import SondeError
from sonde.mcp_server.tools import INSTRUCTIONS, TOOLS

if TYPE_CHECKING:
    from sonde.mcp_server.folder import Folder


def serve(folder: Folder, version: str) -> None:
    """Until the client closes our input."""
    asyncio.run(_serve(folder, version))


async def _serve(folder: Folder, version: str) -> None:
    from mcp import types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    tools = {tool.name: tool for tool in TOOLS}
    # One question at a time: recordings are kept in memory, and share what is computed of them.
    alone = asyncio.Lock()

    async def list_tools(_: Any, __: Any) -> Any:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=tool.schema,
                    annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
                )
                for tool in TOOLS
            ]
        )

    async def call_tool(_: Any, asked: Any) -> Any:
        failed = True
        tool = tools.get(asked.name)
        if tool is None:
            text = f"no tool {asked.name!r:.80}; the tools are: {', '.join(tools)}"
        else:
            try:
                async with alone:
                    text = await asyncio.to_thread(tool.call, folder, asked.arguments or {})
                failed = False
            except (SondeError, OSError, MemoryError) as error:
                text = str(error) or "not enough memory"
            except Exception as error:
                # The client's log has the rest; a server that ends would help nobody.
                traceback.print_exc(file=sys.stderr)
                text = f"sonde failed: {type(error).__name__}: {error}"
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], is_error=failed
        )

    server = Server(
        "sonde",
        version=version,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
