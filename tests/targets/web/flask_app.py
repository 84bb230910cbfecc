"""Flask: endpoints of each kind. SPANS=1 adds the middleware."""

import os
import time

from flask import Blueprint, Flask, Response, abort

app = Flask(__name__)


def burn(seconds=0.03):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


@app.get("/books/<int:number>")
def book(number):
    burn()
    return {"number": number}


shelves = Blueprint("shelves", __name__, url_prefix="/shelves/<shelf>")


@shelves.get("/books")
def books(shelf):
    return [shelf]


app.register_blueprint(shelves)


@app.get("/stream")
def stream():
    def chunks():
        for i in range(3):
            burn(0.01)
            yield f"chunk {i}\n"

    return Response(chunks())


@app.get("/teapot")
def teapot():
    abort(418)


@app.get("/fails")
def fails():
    raise RuntimeError("on purpose")


if os.environ.get("SPANS"):
    from sonde.plugins.flask import init_app

    init_app(app)
