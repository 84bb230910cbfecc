"""A web service with FastAPI that answers slowly now and then: one handler blocks the event loop.

Needs `pip install fastapi uvicorn`. Starts six customers in a second process, who ask for orders;
one of them asks for all orders now and then. `--repaired` renders these in a thread.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import statistics
import sys
import threading
import time

ORDERS = [
    {"order": n, "lines": [{"article": f"article {n + i}", "pieces": i} for i in range(1, 9)]}
    for n in range(2_000)
]
CUSTOMERS = 6
SECONDS = 4.0


def render(orders: list[dict[str, object]]) -> bytes:
    return json.dumps(orders, indent=1).encode()


def service(*, repaired: bool) -> object:
    from fastapi import FastAPI, Response

    app = FastAPI()

    @app.get("/order/{number}")
    async def order(number: int) -> dict[str, object]:
        await asyncio.sleep(0.002)  # as long as a database takes
        return ORDERS[number]

    @app.get("/orders")
    async def orders() -> Response:
        if repaired:
            body = await asyncio.to_thread(render, ORDERS)
        else:
            body = render(ORDERS)
        return Response(body, media_type="application/json")

    return app


async def serve() -> None:
    import uvicorn

    app = service(repaired="--repaired" in sys.argv)
    server = uvicorn.Server(uvicorn.Config(app, port=0, loop="asyncio", log_level="warning"))
    serving = asyncio.create_task(server.serve(), name="server")
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    customers = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--customers", str(port)
    )
    await customers.wait()
    server.should_exit = True
    await serving


def customer(port: int, number: int, took: list[float]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    end = time.monotonic() + SECONDS
    while (began := time.monotonic()) < end:
        wants_all = number == 0
        connection.request("GET", "/orders" if wants_all else f"/order/{number}")
        connection.getresponse().read()
        if wants_all:
            time.sleep(0.2)
        else:
            took.append(time.monotonic() - began)
            time.sleep(0.02)


def ask(port: int) -> None:
    took: list[float] = []
    threads = [
        threading.Thread(target=customer, args=(port, number, took)) for number in range(CUSTOMERS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    slow = statistics.quantiles(took, n=20)[-1]
    print(
        f"{len(took)} orders; half of them took less than {statistics.median(took) * 1e3:.0f} ms, "
        f"one in 20 more than {slow * 1e3:.0f} ms"
    )


if __name__ == "__main__":
    if "--customers" in sys.argv:
        ask(int(sys.argv[-1]))
    else:
        asyncio.run(serve())
