"""Following objects: against a small API server that breaks off in the middle."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from drill.scaling import keys
from drill.scaling.watch import Watch


def item(uid: str, replicas: int) -> dict[str, Any]:
    return {"metadata": {"uid": uid}, "spec": {"replicas": replicas}}


class Served:
    """What the server has: lists, one a reading, and after each list the events that follow it."""

    def __init__(self) -> None:
        self.lists = [[item("a", 1), item("b", 1)], [item("a", 3)]]
        self.events = [[("MODIFIED", item("a", 2))], [("MODIFIED", item("a", 4)), ("DELETED", item("a", 4))]]
        self.asked: list[str] = []
        self.hold = threading.Event()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Served, str, Path]]:
    have = Served()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            have.asked.append(self.headers["Authorization"])
            self.send_response(200)
            if "watch=true" not in self.path:
                found = have.lists.pop(0) if have.lists else []
                self._whole({"metadata": {"resourceVersion": "7"}, "items": found})
                return
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for kind, found in have.events.pop(0):
                line = json.dumps({"type": kind, "object": found}).encode() + b"\n"
                for half in (line[:5], line[5:]):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(half), half))
                    self.wfile.flush()
            if not have.events:
                have.hold.wait(60)  # quiet from now on
            self.wfile.write(b"0\r\n\r\n")
            self.close_connection = True

        def _whole(self, data: Any) -> None:
            body = json.dumps(data).encode()
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    keys.make(tmp_path / "keys")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "keys" / "tls.crt", tmp_path / "keys" / "tls.key")
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    http.socket = context.wrap_socket(http.socket, server_side=True)
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    yield have, f"https://127.0.0.1:{http.server_port}", tmp_path / "keys" / "ca.crt"
    have.hold.set()
    http.shutdown()
    http.server_close()
    thread.join(timeout=30)


def test_no_change_is_missed_over_a_break(served: tuple[Served, str, Path]) -> None:
    have, address, authority = served
    seen: list[tuple[str, int, bool]] = []
    watch = Watch(address, authority, "token", "/apis/x", lambda one, there: seen.append(_row(one, there)))
    watch.start()
    wanted = [
        ("a", 1, True), ("b", 1, True), ("a", 2, True),  # the list, a change, then the server breaks off
        ("b", 1, False), ("a", 3, True), ("a", 4, True), ("a", 4, False),  # b went unseen; the list tells
    ]  # fmt: skip
    deadline = time.monotonic() + 60
    while len(seen) < len(wanted) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert seen == wanted
    assert set(have.asked) == {"Bearer token"}
    watch.stop()
    assert not [one for one in threading.enumerate() if one.name == "watch /apis/x"]


def _row(one: dict[str, Any], there: bool) -> tuple[str, int, bool]:
    return one["metadata"]["uid"], one["spec"]["replicas"], there
