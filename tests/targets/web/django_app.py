"""Django, as WSGI (`application`) and ASGI (`asgi`). SPANS=1 adds the middleware."""

import asyncio
import os
import time

import django
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application
from django.http import Http404, HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import include, path

settings.configure(
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    MIDDLEWARE=["sonde.plugins.django.SpanMiddleware"] if os.environ.get("SPANS") else [],
    SECRET_KEY="no secret",
    LOGGING_CONFIG=None,
)
django.setup()


def burn(seconds=0.03):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def book(request, number):
    burn()
    return JsonResponse({"number": number})


async def article(request, number):
    burn()
    await asyncio.sleep(0)
    return JsonResponse({"number": number})


def shelf_book(request, shelf, number):
    return JsonResponse([shelf, number], safe=False)


def stream(request):
    return StreamingHttpResponse(f"chunk {i}\n" for i in range(3))


def teapot(request):
    return HttpResponse("short and stout", status=418)


def missing(request):
    raise Http404("on purpose")


def fails(request):
    raise RuntimeError("on purpose")


urlpatterns = [
    path("books/<int:number>/", book),
    path("articles/<int:number>/", article),
    path("shelves/<slug:shelf>/", include([path("books/<int:number>/", shelf_book)])),
    path("stream", stream),
    path("teapot", teapot),
    path("missing", missing),
    path("fails", fails),
]

application = get_wsgi_application()
asgi = get_asgi_application()
