"""A FastAPI application: coroutines, threads of the pool, streams and a child process."""

import asyncio
import os
import threading
import time
import warnings

from fastapi import FastAPI, HTTPException
from fastapi.responses import PlainTextResponse, StreamingResponse
from pydantic import BaseModel

app = FastAPI()
till = threading.Lock()


class Basket(BaseModel):
    total: int
    pid: int


def price_basket(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


@app.get("/loop")
async def loop():
    return {"loop": type(asyncio.get_running_loop()).__module__}


@app.get("/basket/{n}")
async def basket(n: int) -> Basket:
    return Basket(total=price_basket(n), pid=os.getpid())


@app.get("/pay/{n}")
def pay(n: int) -> Basket:
    """Runs in a thread of the pool, one at a time."""
    with till:
        total = price_basket(n)
        time.sleep(0.002)
    return Basket(total=total, pid=os.getpid())


@app.get("/rows/{n}")
async def rows(n: int):
    async def lines():
        for i in range(n):
            yield f"{i * i}\n"
            if i % 50 == 0:
                await asyncio.sleep(0)

    return StreamingResponse(lines(), media_type="text/plain")


@app.get("/slow/{seconds}")
async def slow(seconds: float) -> PlainTextResponse:
    print("slow begins", flush=True)
    await asyncio.sleep(seconds)
    return PlainTextResponse("slow\n")


@app.get("/process")
async def process() -> PlainTextResponse:
    started = await asyncio.create_subprocess_exec(
        "sh", "-c", "cat; exit 3", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await started.communicate(b"through a process")
    return PlainTextResponse(f"{out.decode()} {started.returncode}\n")


@app.get("/warn")
async def warn() -> PlainTextResponse:
    warnings.warn("of the site", UserWarning, stacklevel=1)
    print("printed by the site", flush=True)
    return PlainTextResponse("warned\n")


@app.get("/fail")
async def fail():
    raise HTTPException(418, "of the site")
