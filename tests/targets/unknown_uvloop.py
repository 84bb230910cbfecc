"""An event loop that calls itself uvloop, and is none that anybody knows."""

import asyncio
import sys
import types

module = types.ModuleType("uvloop.loop")
sys.modules["uvloop.loop"] = module


async def main() -> str:
    await asyncio.sleep(0.01)
    return "done"


print(asyncio.run(main()))
