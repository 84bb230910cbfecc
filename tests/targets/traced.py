"""Spans of OpenTelemetry's own SDK. traced.py FILE PROCESSOR: records itself; prints the trace ids."""

import asyncio
import json
import sys
import time

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

import sonde

provider = TracerProvider()
if sys.argv[2] == "processor":
    from sonde.plugins.opentelemetry import SpanProcessor

    provider.add_span_processor(SpanProcessor())
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("tests")


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def checkout():
    with tracer.start_as_current_span("checkout") as span:
        burn(0.1)
        with sonde.span("payment"):
            burn(0.1)
        with tracer.start_as_current_span("parcel") as inner:
            inner.update_name("parcel sent")
            burn(0.1)
        return span.get_span_context()


@tracer.start_as_current_span("decorated")
def decorated():
    burn(0.1)


def by_hand():
    span = tracer.start_span("by hand")
    with trace.use_span(span):
        burn(0.1)
    span.end()


def fails():
    with tracer.start_as_current_span("fails"):
        raise ValueError("on purpose")


async def task(name, seconds):
    with tracer.start_as_current_span(name):
        for _ in range(5):
            burn(seconds / 5)
            await asyncio.sleep(0.001)


async def tasks():
    await asyncio.gather(task("red", 0.1), task("blue", 0.2))


def everything():
    first = checkout()
    second = checkout()
    decorated()
    by_hand()
    try:
        fails()
    except ValueError:
        pass
    asyncio.run(tasks())
    with sonde.span("alone"):
        burn(0.1)
    return [first, second]


everything()  # nobody records
with sonde.record(sys.argv[1]):
    found = everything()
print(json.dumps([[f"{one.trace_id:032x}", f"{one.span_id:016x}"] for one in found]))
