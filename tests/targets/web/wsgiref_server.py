"""Serves django_app by the standard library: wsgiref_server PORT."""

import sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django_app import application


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Handler(WSGIRequestHandler):
    def log_message(self, *words):
        pass


make_server("127.0.0.1", int(sys.argv[1]), application, Server, Handler).serve_forever()
