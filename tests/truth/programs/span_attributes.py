"""Spans that are renamed, have attributes, and continue in other threads; with a segment boundary
within one if a folder is given."""

import sys
import threading
import time

import sonde


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def elsewhere(span):
    with span.part("worker"):
        burn(0.2)


def run(session):
    with sonde.span("GET") as request:
        request.set("status", 200)
        request.set("text", "a=b\u00e9")
        thread = threading.Thread(target=elsewhere, args=(request,))
        thread.start()
        thread.join()
        request.set("status", 500)
        request.rename("GET /books/{id}")
    with sonde.span("plain"):
        burn(0.1)
    with sonde.span("long") as long:
        long.set("before", "1")
        burn(0.1)
        if session:
            session.rotate()
        burn(0.1)
        long.set("after", "2")
        long.rename("renamed")


if len(sys.argv) > 1:
    with sonde.record(sys.argv[1], mode="continuous") as session:
        run(session)
else:
    run(None)
