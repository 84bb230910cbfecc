"""A server of uvicorn that checks with each request that nothing of asyncio has changed.

Arguments: the loop (`asyncio` or `uvloop`), and `debug` for the loop's debug mode. Prints its PID
and port, and when its input ends how many requests there were and what was wrong.
"""

import asyncio
import contextvars
import json
import logging
import os
import sys
import threading

import uvicorn

logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # debug mode names slow steps
request = contextvars.ContextVar("request", default="")
debug = "debug" in sys.argv
wrong: set[str] = set()
answered = 0


async def part(path: str) -> None:
    if request.get() != path:
        wrong.add("a new task has another context")
    request.set("of its own")
    await asyncio.sleep(0)


async def app(scope, receive, send):
    global answered
    if scope["type"] != "http":
        return
    path = scope["path"]
    if request.get() != "":
        wrong.add("a request has the context of another one")
    request.set(path)
    loop = asyncio.get_running_loop()
    await asyncio.gather(part(path), part(path))
    await asyncio.sleep(0.001)
    if request.get() != path:
        wrong.add("the context is lost")
    if loop.get_debug() != debug or asyncio.get_running_loop() is not loop:
        wrong.add("debug mode, or the loop")
    n = int(path[1:])
    body = json.dumps({"pid": os.getpid(), "total": sum(i * i for i in range(n))}).encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
    answered += 1


async def serve() -> None:
    config = uvicorn.Config(app, port=0, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    print(os.getpid(), server.servers[0].sockets[0].getsockname()[1], flush=True)

    def wait_for_end() -> None:
        sys.stdin.read()
        server.should_exit = True

    threading.Thread(target=wait_for_end, daemon=True).start()
    await serving


if "uvloop" in sys.argv:
    import uvloop

    uvloop.install()
asyncio.run(serve(), debug=debug or None)
print(answered > 0, sorted(wrong))
