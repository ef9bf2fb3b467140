"""Runs the drain hook beside a stand-in for the engine's metrics, in a network of its own: the hook asks port 8000.

Started by test_drain.py inside `unshare --net`: one case comes as JSON on stdin, what happened goes as JSON to stdout.
"""

from __future__ import annotations

import fcntl
import json
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STUCK = 30.0


class Engine(ThreadingHTTPServer):
    """Gives `answers` one after the other, the last one from then on. A text is a body, or one of the words below."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, answers: list[str]) -> None:
        super().__init__(("127.0.0.1", 8000), Metrics)
        self.answers, self.asked = answers, 0

    def server_bind(self) -> None:
        """Without asking for this host's name, which takes a while where no name server can be reached."""
        socketserver.TCPServer.server_bind(self)


class Metrics(BaseHTTPRequestHandler):
    server: Engine

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        assert self.path == "/metrics"
        answer = self.server.answers[min(self.server.asked, len(self.server.answers) - 1)]
        self.server.asked += 1
        if answer.startswith("slow "):
            time.sleep(1.2)
            answer = answer.removeprefix("slow ")
        match answer:
            case "gone":
                self._gone()
            case "404":
                self.send_error(404)
            case "stuck":
                time.sleep(STUCK)
            case "drops":
                self._drops()
            case "half":
                # Cut off inside the very line that matters.
                self._send('vllm:num_requests_running{model_name="m"} 1.0\nvllm:num_requests_running{model', 100_000)
            case _:
                self._send(answer, len(answer))

    def _gone(self) -> None:
        """The server ends; this answer is cut off."""
        self.server.socket.close()
        threading.Thread(target=self.server.shutdown, daemon=True).start()

    def _drops(self) -> None:
        self._send("", 100_000)
        for _ in range(int(STUCK / 0.1)):
            time.sleep(0.1)
            self.wfile.write(b"#")

    def _send(self, text: str, length: int) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(text.encode())


def loopback_up() -> None:
    """A new network has a loopback that is down."""
    get, put, up = 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        name, flags = struct.unpack("16sh", fcntl.ioctl(s, get, struct.pack("16sh", b"lo", 0)))
        fcntl.ioctl(s, put, struct.pack("16sh", name, flags | up))


def main() -> None:
    case = json.load(sys.stdin)
    loopback_up()
    engine = Engine(case["answers"]) if case["answers"] else None
    if engine:
        threading.Thread(target=engine.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    started = time.monotonic()
    command = [sys.executable, *case["arguments"]]
    hook = subprocess.run(command, capture_output=True, text=True, timeout=STUCK, check=False)
    seconds = time.monotonic() - started
    result = {"seconds": seconds, "code": hook.returncode, "said": hook.stdout + hook.stderr}
    json.dump({**result, "asked": engine.asked if engine else 0}, sys.stdout)


if __name__ == "__main__":
    main()
