"""Serves the page to the browser of whoever started it, and to nobody else.

Every program of this machine can reach a port on loopback, and so can every web site by way of the
browser. What shows the right one is a token in the address that only the starter's terminal and
browser have seen; everything without it gets 403, whatever it asks for. The Host header is looked
at too: a site whose name is made to lead to 127.0.0.1 is a stranger even with a stolen token.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from sonde.errors import SondeError, UsageError
from sonde.web.page import built, filled, policy
from sonde.web.shown import TEXT

if TYPE_CHECKING:
    from sonde.web.shown import Shown

LOOPBACK = "127.0.0.1"
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # The address holds the token: no other host learns where a visitor comes from.
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
QUIET_S = 60.0
"""A connection that says nothing for so long is closed."""


class Server(ThreadingHTTPServer):
    """What one `sonde view` shows."""

    daemon_threads = True
    # A port that another server still uses is refused, not shared.
    allow_reuse_port = False

    def __init__(self, shown: Shown, host: str, port: int, *, exposed: bool) -> None:
        """`exposed` allows a host that other machines can reach."""
        family, address = _address(host)
        if not (ipaddress.ip_address(address).is_loopback or exposed):
            raise UsageError(
                f"other machines can reach {host}; add --expose to allow it, or leave out --host"
            )
        self.address_family = family
        self.shown = shown
        self.exposed = exposed
        self.token = secrets.token_urlsafe(32)
        self.once: str | None = None
        self.visiting = threading.Lock()
        self.making = threading.Lock()
        page = built()
        self.page = filled(page, shown.tag).encode()
        self.policy = policy(page, connect="'self'") + "; frame-ancestors 'none'"
        try:
            super().__init__((address, port), Handler)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise SondeError(f"cannot serve on {host} port {port}: {reason}") from error
        name = f"[{address}]" if family == socket.AF_INET6 else address
        self.origin = f"http://{name}:{self.server_port}"

    @property
    def url(self) -> str:
        return f"{self.origin}/{self.token}/"

    def one_time_url(self) -> str:
        """Leads to the page once. A browser's arguments can be seen by every user of the machine,
        so they must not hold the token."""
        self.once = secrets.token_urlsafe(32)
        return f"{self.origin}/once/{self.once}"

    def visit(self, given: str) -> bool:
        """Whether this is the one visit; a wrong guess does not use it up."""
        with self.visiting:
            right = self.once is not None and _same(given, self.once)
            if right:
                self.once = None
            return right

    def knows_host(self, host: str | None) -> bool:
        if self.exposed:
            # Other machines may know this one by any name.
            return True
        port = self.server_port
        names = {self.origin.removeprefix("http://"), f"localhost:{port}", f"{LOOPBACK}:{port}"}
        if port == 80:
            # The one that browsers leave out.
            names |= {name.removesuffix(":80") for name in names}
        return host is not None and host.lower() in names

    def server_bind(self) -> None:
        """Without HTTPServer's question to the network for the name of the address."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """A browser that goes away in the middle is no event; anything else is said, once."""
        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError | TimeoutError):
            print(f"sonde: a request failed: {type(error).__name__}: {error}", file=sys.stderr)


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "sonde"
    sys_version = ""
    timeout = QUIET_S

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if not self.server.knows_host(self.headers.get("Host")):
            return self._refuse(403, "unknown host name")
        token, *rest = path.removeprefix("/").split("/")
        if token == "once":
            return self._redirect(rest)
        if not _same(token, self.server.token):
            return self._refuse(403, "the URL lacks the token that `sonde view` printed")
        if rest == [""]:
            return self._answer(self.server.page, "text/html; charset=utf-8")
        try:
            # One after the other: each may want most of the memory there is.
            with self.server.making:
                reply = self.server.shown.answer(rest, parse_qs(query))
        except SondeError as error:
            return self._refuse(400 if isinstance(error, UsageError) else 500, str(error))
        if reply is None:
            return self._refuse(404, "not found")
        return self._answer(reply.body, reply.kind, reply.code)

    do_HEAD = do_GET  # noqa: N815

    def _redirect(self, rest: list[str]) -> None:
        if not self.server.visit("/".join(rest)):
            return self._refuse(
                403, "this URL is valid for one visit only; open the one that `sonde view` printed"
            )
        return self._answer(b"", "text/plain", 303, {"Location": f"/{self.server.token}/"})

    def _refuse(self, code: int, why: str) -> None:
        self._answer(f"{why}\n".encode(), TEXT, code)

    def _answer(
        self, body: bytes, kind: str, code: int = 200, extra: dict[str, str] | None = None
    ) -> None:
        self.send_response(code)
        headers = {"Content-Type": kind, "Content-Length": str(len(body))} | HEADERS
        headers["Content-Security-Policy"] = self.server.policy
        for name, value in (headers | (extra or {})).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What http.server refuses by itself: no page of its own, which repeats the request."""
        del message, explain
        self.close_connection = True
        # It may come before anything of the request is known.
        self.command = getattr(self, "command", None) or "GET"
        self.request_version = "HTTP/1.1"
        self._refuse(code, "unknown request")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Quiet: the terminal belongs to the user."""


def _same(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), right.encode())


def _address(host: str) -> tuple[socket.AddressFamily, str]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise UsageError(f"invalid --host {host!r}; give an address of this machine") from None
    # The last word on what is bound is the address, not the name that led to it.
    found.sort(key=lambda info: info[0] != socket.AF_INET)
    return found[0][0], str(found[0][4][0]).partition("%")[0]
