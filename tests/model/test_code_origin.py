"""Which code is the program's own, by names and files as recordings have them."""

from __future__ import annotations

from typing import Any

import pytest

from sonde.model.code_origin import CodeOrigin, CodePlace


def is_own(file: str, name: str = "f", runtime: str = "cpython", **known: Any) -> bool:
    place = CodePlace(name, file, runtime)
    places = [place, CodePlace("loads", "/opt/shop/lib/python3.12/json/__init__.py", "cpython")]
    return CodeOrigin(places, **known).is_own(place)


@pytest.mark.parametrize(
    "file",
    [
        "/srv/shop/app.py",
        "app.py",
        # Installed with pip install -e: used from where it is.
        "/home/ann/python3.12-port/src/shop/models.py",
        "/srv/shop/lib/money.py",
        "/srv/python3.12/app.py",
        "/srv/shop.pyz/shop/app.py",
        "<stdin>",
        "<python-input-3>",
        "<ipython-input-1-0b1f>",
        "/tmp/ipykernel_81/372.py",
        # A script of the program's own may be anywhere.
        "/opt/shop/bin/report.py",
    ],
)
def test_own_code(file: str) -> None:
    assert is_own(file)


@pytest.mark.parametrize(
    "file",
    [
        "",
        "<built-in>",
        "<frozen importlib._bootstrap>",
        "<string>",
        "<attrs generated init shop.Basket>",
        "/usr/lib/python3.12/threading.py",
        "/usr/lib64/python3.11/json/decoder.py",
        "/opt/free/lib/python3.13t/asyncio/base_events.py",
        "/usr/lib/python312.zip/threading.py",
        "/usr/lib/python3/dist-packages/yaml/__init__.py",
        "/srv/shop/.venv/lib/python3.12/site-packages/django/db/models/query.py",
        "/home/ann/.local/lib/python3.12/site-packages/shop_client.py",
        "/srv/eggs/pillow-2.0-py3.12.egg/PIL/Image.py",
        "/usr/lib/x86_64-linux-gnu/libpq.so.5",
    ],
)
def test_libraries(file: str) -> None:
    assert not is_own(file)


def test_commands_of_an_environment_are_not_the_programs() -> None:
    assert not is_own("/opt/shop/bin/gunicorn", "<module>")
    assert is_own("/usr/local/bin/rota", "<module>"), "of no environment that was seen"
    assert is_own("/opt/shop/bin/rota", "main"), "it has code of its own"


def test_an_interpreter_where_it_was_built_has_its_library_beside_it() -> None:
    known = {"executables": ["/home/ann/cpython/python"]}
    assert not is_own("/home/ann/cpython/Lib/threading.py", **known)
    assert is_own("/home/ann/cpython/demo.py", **known)


def test_code_given_with_an_option_is_the_programs() -> None:
    assert is_own("<string>", given=True)


def test_names_of_what_could_not_be_seen_are_no_code() -> None:
    assert not is_own("", "[undecodable]")
    assert not is_own("<built-in>", "[C2 compiler]", "hotspot")


@pytest.mark.parametrize(
    ("name", "file", "own"),
    [
        ("com.shop.Till.pay", "com/shop/Till.java", True),
        ("Shares.main", "Shares.java", True),
        ("java.util.Arrays.sort", "java/util/Arrays.java", False),
        ("com.sun.net.httpserver.Filter.doFilter", "com/sun/net/httpserver/Filter.java", False),
        ("scala.collection.immutable.List.map", "scala/collection/immutable/List.scala", False),
        ("javassist.Loader.run", "javassist/Loader.java", True),
        ("memset (libc.so.6)", "<built-in>", False),
    ],
)
def test_java(name: str, file: str, own: bool) -> None:
    assert is_own(file, name, "hotspot") == own


def test_source_names_all_of_the_programs_own_code() -> None:
    known = {"source": ("shop", "/srv/tools")}
    packages = "/venv/lib/python3.12/site-packages"
    assert is_own(f"{packages}/shop/models.py", **known)
    assert is_own(f"{packages}/shop.py", **known)
    assert is_own("/home/ann/src/shop/models.py", **known)
    assert is_own("/srv/tools/rota.py", **known)
    assert not is_own(f"{packages}/vendor/shop/models.py", **known)
    assert not is_own("/srv/tools2/rota.py", **known)
    assert not is_own("/home/ann/src/shopping/models.py", **known)
    assert is_own("shop/Till.java", "shop.Till.pay", "hotspot", **known)
    assert not is_own("com/shop/Till.java", "com.shop.Till.pay", "hotspot", **known)


def test_source_by_dotted_name() -> None:
    known = {"source": ("shop.till",)}
    assert is_own("/srv/shop/till/drawer.py", **known)
    assert is_own("/srv/shop/till.py", **known)
    assert not is_own("/srv/shop/models.py", **known)


def test_source_by_a_folder_of_the_working_directory(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    known = {"source": ("./src",)}
    assert is_own(f"{tmp_path}/src/shop.py", **known)
    assert not is_own(f"{tmp_path}/tests/src/shop.py", **known)
