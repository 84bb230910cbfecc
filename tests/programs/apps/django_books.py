"""A Django site whose views spend their time in the ORM, in regular expressions and in their own
code; it answers until /stop."""

import re
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection, models
from django.http import JsonResponse
from django.urls import path

settings.configure(
    DEBUG=False,
    SECRET_KEY="a test",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
)
django.setup()
ROWS = 20_000


class Book(models.Model):
    title = models.TextField()

    class Meta:
        app_label = "books"


def fill():
    with connection.schema_editor() as editor:
        editor.create_model(Book)
    Book.objects.bulk_create(Book(title=f"On the {n}th day") for n in range(ROWS))


def books(request):
    return JsonResponse({"count": Book.objects.filter(title__contains="9th day").count()})


def slow_slug(title):
    words = []
    for word in re.sub("[^a-z0-9 ]", "", title.lower()).split():
        for i in range(2_000):
            words[i:] = [word]
    return "-".join(words[:10])


def slugs(request):
    return JsonResponse({"slugs": [slow_slug(f"On the {n}th Day!") for n in range(12)]})


class Quiet(WSGIRequestHandler):
    def log_message(self, *words):
        pass


urlpatterns = [path("books", books), path("slugs", slugs), path("stop", lambda _: stop())]


def stop():
    global serving
    serving = False
    return JsonResponse({})


if __name__ == "__main__":
    fill()
    serving = True
    with make_server(
        "127.0.0.1", int(sys.argv[1]), get_wsgi_application(), handler_class=Quiet
    ) as server:
        while serving:
            server.handle_request()
