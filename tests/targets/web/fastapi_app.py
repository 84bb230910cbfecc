"""FastAPI: endpoints of each kind, each with work of its own. SPANS=1 adds the middleware."""

import asyncio
import contextlib
import os
import threading
import time

from fastapi import APIRouter, FastAPI, HTTPException, WebSocket
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

app = FastAPI()
request_part = contextlib.nullcontext
if os.environ.get("SPANS"):
    from sonde.plugins.asgi import SpanMiddleware, request_part

    app.add_middleware(SpanMiddleware)


@app.middleware("http")
async def outer(request, call_next):
    """A BaseHTTPMiddleware: what is below it runs in a task of its own."""
    response = await call_next(request)
    response.headers["x-outer"] = "yes"
    return response


def burn(seconds=0.03):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


@app.get("/async/{number}")
async def in_the_loop(number: int):
    burn()
    await asyncio.sleep(0)
    return {"number": number}


@app.get("/sync/{number}")
def in_a_thread(number: int):
    burn()
    return {"number": number, "main": threading.current_thread() is threading.main_thread()}


router = APIRouter(prefix="/shelves/{shelf}")


@router.get("/books/{book}")
async def book(shelf: str, book: int):
    return [shelf, book]


app.include_router(router, prefix="/api")


@app.get("/stream")
async def stream():
    async def chunks():
        with request_part("stream"):
            for i in range(3):
                burn(0.01)
                yield f"chunk {i}\n"

    return StreamingResponse(chunks())


@app.get("/teapot")
async def teapot():
    raise HTTPException(418)


@app.get("/fails")
async def fails():
    raise RuntimeError("on purpose")


@app.websocket("/ws/{room}")
async def echo(socket: WebSocket, room: str):
    await socket.accept()
    for _ in range(2):
        await socket.send_text(f"{room}: {await socket.receive_text()}")
    await socket.close()


async def thing(request):
    return PlainTextResponse(request.path_params["name"])


app.mount("/mounted", Starlette(routes=[Route("/things/{name}", thing)]))
