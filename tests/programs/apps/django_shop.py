"""A Django site in one file, with a database, templates, a lock and things that take long."""

import os
import threading
import time
import warnings

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.http import HttpResponse, JsonResponse
from django.template import Context, Template
from django.urls import path

settings.configure(
    DEBUG=False,
    SECRET_KEY="a test",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "shop.db"}},
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
)
django.setup()
till = threading.Lock()
page = Template("{% for row in rows %}<li>{{ row }}</li>{% endfor %}")


def price_basket(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def basket(request, n):
    return JsonResponse({"total": price_basket(n), "pid": os.getpid()})


def pay(request, n):
    """One at a time."""
    with till:
        total = price_basket(n)
        time.sleep(0.002)
    return JsonResponse({"total": total, "pid": os.getpid()})


def rows(request, n):
    with connection.cursor() as cursor:
        cursor.execute(
            "with recursive t(i) as (select 1 union all select i + 1 from t where i < %s) "
            "select i * i from t",
            [n],
        )
        text = page.render(Context({"rows": [row for (row,) in cursor.fetchall()]}))
    return HttpResponse(text)


def slow(request, seconds):
    print("slow begins", flush=True)
    time.sleep(seconds)
    return HttpResponse("slow\n")


def warn(request):
    warnings.warn("of the site", UserWarning, stacklevel=1)
    print("printed by the site", flush=True)
    return HttpResponse("warned\n")


def fail(request):
    raise ValueError("of the site")


urlpatterns = [
    path("basket/<int:n>", basket),
    path("pay/<int:n>", pay),
    path("rows/<int:n>", rows),
    path("slow/<int:seconds>", slow),
    path("warn", warn),
    path("fail", fail),
]
application = get_wsgi_application()
