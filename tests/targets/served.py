"""What gunicorn (`wsgi`) and uvicorn (`asgi`) serve: /N is answered with a sum and who made it."""

import json
import os


def compute(n):
    return sum(i * i for i in range(n))


def answer(path):
    return json.dumps({"total": compute(int(path[1:])), "pid": os.getpid()}).encode()


def wsgi(environ, start_response):
    body = answer(environ["PATH_INFO"])
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]


async def asgi(scope, receive, send):
    if scope["type"] != "http":
        return
    body = answer(scope["path"])
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
