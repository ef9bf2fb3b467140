"""A small model hub on loopback: what `hf download` and `model_info` ask for, and faults on demand.

Small files are served directly, large ones (`*.safetensors`, `*.bin`) by a redirect with the checksum as ETag and with
the headers that offer a Xet transfer, as the public hub does. It runs in threads of the test's own process.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

CHUNK = 16 * 1024


@dataclass(frozen=True)
class Request:
    """One request as it came in."""

    method: str
    path: str
    range: str
    authorization: str


@dataclass
class Hub:
    """What the hub holds, how it misbehaves, and what it was asked. Faults go by file name."""

    address: str = ""
    repos: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """`owner/name@revision` to its files."""
    token: str = ""
    """When set, every request must carry it."""
    unlisted: set[str] = field(default_factory=set)
    """Left out of the listing that the download follows, though the repository's own listing has them."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Sizes that the repository's listing says instead of the true ones."""
    short: set[str] = field(default_factory=set)
    """Served with their last byte missing, and a Content-Length that fits."""
    breaks: dict[str, list[int]] = field(default_factory=dict)
    """The connection is cut after so many bytes of the answer, once for each number."""
    hold: dict[str, int] = field(default_factory=dict)
    """The answer stops after so many bytes until `release` is set; `held` tells that it got there."""
    held: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)
    pace: float = 0.0
    """Seconds between two chunks."""
    log: list[Request] = field(default_factory=list)

    def fetched(self, name: str) -> list[Request]:
        """The requests for a file's content."""
        return [r for r in self.log if r.method == "GET" and r.path.startswith("/cdn/" if large(name) else "/")
                and r.path.endswith(f"/{name}") and not r.path.startswith("/api/")
                and ("/resolve/" not in r.path or not large(name))]  # fmt: skip


@contextmanager
def serve() -> Iterator[Hub]:
    """A hub on a free port of 127.0.0.1, gone when the block ends, however it ends."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"hub": hub}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        hub.release.set()
        server.shutdown()
        server.server_close()
        thread.join(5)


def large(name: str) -> bool:
    """Whether the hub keeps this file apart, known by its checksum."""
    return name.endswith((".safetensors", ".bin"))


def etag(name: str, content: bytes) -> str:
    return hashlib.sha256(content).hexdigest() if large(name) else hashlib.sha1(content).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Answers of the hub; `hub` is set by `serve`."""

    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def do_CONNECT(self) -> None:
        """A client that takes this for a proxy to somewhere else."""
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        url = urlsplit(self.path)
        path = unquote(url.path)
        self.hub.log.append(
            Request(self.command, path, self.headers.get("Range", ""), self.headers.get("Authorization", ""))
        )
        if self.hub.token and self.headers.get("Authorization") != f"Bearer {self.hub.token}":
            self._json({"error": "Invalid credentials"}, 401, {"X-Error-Code": "GatedRepo"})
            return
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "models"] and len(parts) >= 6:
            self._api("/".join(parts[2:4]), parts[4], parts[5], parse_qs(url.query))
        elif len(parts) >= 5 and parts[2] == "resolve":
            self._file("/".join(parts[:2]), parts[3], "/".join(parts[4:]), direct=False)
        elif parts[0] == "cdn" and len(parts) >= 5:
            self._file("/".join(parts[1:3]), parts[3], "/".join(parts[4:]), direct=True)
        else:
            self._missing("EntryNotFound")

    def _api(self, repo: str, what: str, revision: str, query: dict[str, list[str]]) -> None:
        files = self.hub.repos.get(f"{repo}@{revision}")
        if files is None:
            self._missing("RepoNotFound")
        elif what == "tree":
            self._json([_entry(n, c) for n, c in files.items() if n not in self.hub.unlisted])
        else:
            with_sizes = "blobs" in query
            siblings = [{"rfilename": n, **(self._size(n, c) if with_sizes else {})} for n, c in files.items()]
            self._json(
                {"id": repo, "modelId": repo, "sha": revision, "siblings": siblings, "private": False, "tags": []}
            )

    def _size(self, name: str, content: bytes) -> dict[str, object]:
        size = self.hub.sizes.get(name, len(content))
        lfs = {"lfs": {"sha256": etag(name, content), "size": size, "pointerSize": 134}} if large(name) else {}
        return {"size": size, "blobId": hashlib.sha1(content).hexdigest(), **lfs}

    def _file(self, repo: str, revision: str, name: str, *, direct: bool) -> None:
        content = self.hub.repos.get(f"{repo}@{revision}", {}).get(name)
        if content is None:
            self._missing("EntryNotFound")
            return
        headers = {"ETag": f'"{etag(name, content)}"', "X-Repo-Commit": revision, "Accept-Ranges": "bytes"}
        if large(name) and not direct:
            headers |= {"X-Linked-Etag": f'"{etag(name, content)}"', "X-Linked-Size": str(len(content)),
                        "X-Xet-Hash": etag(name, content), "Location": f"/cdn/{repo}/{revision}/{name}",
                        "Link": f'<{self.hub.address}/xet-read-token>; rel="xet-auth"'}  # fmt: skip
            self._head(302, 0, headers)
            return
        self._content(name, content, headers)

    def _content(self, name: str, content: bytes, headers: dict[str, str]) -> None:
        body, status = content[:-1] if name in self.hub.short and self.command == "GET" else content, 200
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes="):
            start = int(wanted.removeprefix("bytes=").split("-")[0])
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
            body, status = body[start:], 206
        self._head(status, len(body), headers)
        if self.command == "GET":
            self._send(name, body)

    def _send(self, name: str, body: bytes) -> None:
        cut = self.hub.breaks[name].pop(0) if self.hub.breaks.get(name) else None
        stop = self.hub.hold.pop(name, None)
        for at in range(0, len(body), CHUNK):
            if cut is not None and at >= cut:
                self.close_connection = True
                return
            if stop is not None and at >= stop:
                self.hub.held.set()
                self.hub.release.wait(30)
            if self.hub.pace:
                time.sleep(self.hub.pace)
            try:
                self.wfile.write(body[at : at + CHUNK])
            except OSError:  # the client was killed, as some tests do
                self.close_connection = True
                return

    def _json(self, value: object, status: int = 200, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(value).encode()
        self._head(status, len(body), {"Content-Type": "application/json", **(headers or {})})
        if self.command == "GET":
            self.wfile.write(body)

    def _missing(self, code: str) -> None:
        self._json({"error": code}, 404, {"X-Error-Code": code})

    def _head(self, status: int, length: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(length)}.items():
            self.send_header(key, value)
        self.end_headers()


def _entry(name: str, content: bytes) -> dict[str, object]:
    lfs = {"lfs": {"oid": etag(name, content), "size": len(content), "pointerSize": 134}} if large(name) else {}
    return {"type": "file", "path": name, "size": len(content), "oid": hashlib.sha1(content).hexdigest(), **lfs}
