"""The server answers the one who started it, and nobody else."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from sonde.errors import SondeError, UsageError
from sonde.web import server as serving
from sonde.web.bundle import Bundle
from sonde.web.server import Server
from sonde.web.shown import Recordings
from web.made import everything

PAGE = (
    "<html><head><!--recordings--><style>b{}</style></head>"
    '<body><!--parts--><script type="module">let a</script></body></html>'
)


@pytest.fixture(autouse=True)
def page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "built", lambda: PAGE)


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return Bundle(everything().recording(), sources=True)


@pytest.fixture
def server(bundle: Bundle) -> Iterator[Server]:
    with Server(Recordings([bundle]), "127.0.0.1", 0, exposed=False) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


class Answer(NamedTuple):
    code: int
    headers: dict[str, str]
    body: bytes


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return Answer(answer.status, dict(answer.getheaders()), body)


def test_the_page_and_its_parts(server: Server, bundle: Bundle) -> None:
    page = ask(server, f"/{server.token}/")
    assert page.code == 200
    assert b'content="1"' in page.body
    for name in ("meta", "contexts", "samples", "waits"):
        assert ask(server, f"/{server.token}/r/0/{name}").body == bundle.part(name)


@pytest.mark.parametrize(
    "path",
    ["/", "//", "/favicon.ico", "/r/0/meta", "/wrong/", "/wrong/r/0/samples", "/once/", "/once/x",
     "/%00/", "/../", "http://evil.example", "//[", "?"],
)  # fmt: skip
def test_without_the_token_everything_is_refused(server: Server, path: str) -> None:
    assert ask(server, path).code == 403


def test_a_token_of_half_its_length_is_none(server: Server) -> None:
    assert ask(server, f"/{server.token[:-1]}/").code == 403
    assert ask(server, f"/{server.token}x/").code == 403


def test_tokens_are_not_guessed(bundle: Bundle) -> None:
    tokens = set()
    for _ in range(3):
        with Server(Recordings([bundle]), "127.0.0.1", 0, exposed=False) as made:
            tokens.add(made.token)
    assert len(tokens) == 3
    assert all(len(token) >= 43 for token in tokens)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", ""])
def test_a_name_made_to_lead_here_is_a_stranger(server: Server, host: str) -> None:
    assert ask(server, f"/{server.token}/", Host=host).code == 403


def test_localhost_is_no_stranger(server: Server) -> None:
    assert ask(server, f"/{server.token}/", Host=f"localhost:{server.server_port}").code == 200


@pytest.mark.parametrize(
    "path", ["x", "r/1/meta", "r/-1/meta", "r/0/sources", "r/0/__class__", "r/0/", "r/%C2%B2/meta"]
)
def test_what_is_not_there(server: Server, path: str) -> None:
    assert ask(server, f"/{server.token}/{path}").code == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "OPTIONS", "DELETE"])
def test_only_questions_are_answered(server: Server, method: str) -> None:
    answer = ask(server, f"/{server.token}/", method)
    assert answer.code == 501
    assert b"<" not in answer.body


def test_a_browser_may_run_nothing_else_and_keep_nothing(server: Server) -> None:
    for path in ("", "r/0/meta", "nothing"):
        headers = ask(server, f"/{server.token}/{path}").headers
        policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert policy["connect-src"] == "'self'"
        assert policy["script-src"].startswith("'sha256-")
        assert policy["style-src"].startswith("'sha256-")
        assert policy["frame-ancestors"] == "'none'"
        assert "unsafe" not in str(policy)
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "Access-Control-Allow-Origin" not in headers


def test_source_is_asked_for_one_file_at_a_time(server: Server) -> None:
    base = f"/{server.token}/r/0/source"
    for question in ("", "?file=", "?file=/etc/passwd", "?file=../../etc/passwd", "?file=%00"):
        assert ask(server, base + question).code == 204


def test_the_address_given_to_a_browser_is_good_once(server: Server) -> None:
    path = server.one_time_url().removeprefix(server.origin)
    assert server.token not in path
    assert ask(server, path + "x").code == 403
    first = ask(server, path)
    assert (first.code, first.headers["Location"]) == (303, f"/{server.token}/")
    assert ask(server, path).code == 403


@pytest.mark.parametrize(
    "line",
    [b"<script>alert(1)</script> / HTTP/9.9", b"GET /<script>alert(1)</script> HTTP/1.1",
     b"GET /\xff\xb2/ HTTP/1.1", b"GET", b"\0\0\0", b"GET / HTTP/1.1\r\nHost: <script>"],
)  # fmt: skip
def test_nonsense_is_answered_without_echo(server: Server, line: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as raw:
        raw.sendall(line + b"\r\n\r\n")
        answer = raw.recv(1 << 16)
    assert b" 40" in answer or b" 50" in answer
    assert b"script>" not in answer


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_other_machines_are_kept_out(bundle: Bundle, host: str) -> None:
    with pytest.raises(UsageError, match=r"--expose|--host"):
        Server(Recordings([bundle]), host or "*", 0, exposed=False)


def test_unless_told_otherwise(bundle: Bundle) -> None:
    with Server(Recordings([bundle]), "0.0.0.0", 0, exposed=True) as made:
        assert made.url.startswith("http://0.0.0.0:")
        assert made.knows_host("anything")


def test_a_port_that_is_taken(server: Server, bundle: Bundle) -> None:
    with pytest.raises(SondeError, match=r"cannot serve on 127.0.0.1 port \d+: address already"):
        Server(Recordings([bundle]), "127.0.0.1", server.server_port, exposed=False)


def test_many_at_once(server: Server, bundle: Bundle) -> None:
    answers: list[Any] = []
    threads = [
        threading.Thread(
            target=lambda: answers.append(ask(server, f"/{server.token}/r/0/samples").body)
        )
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [bundle.samples] * 8
