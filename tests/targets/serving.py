"""A server of threads that answers with what it computed; it prints its port and its pid."""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

lock = threading.Lock()
answered = 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):  # noqa: N802
        global answered
        total = sum(i * i for i in range(int(self.path[1:])))
        with lock:
            answered += 1
        body = json.dumps({"total": total, "pid": os.getpid()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(os.getpid(), server.server_address[1], flush=True)
sys.stdin.read()
server.shutdown()
print(json.dumps({"answered": answered}))
