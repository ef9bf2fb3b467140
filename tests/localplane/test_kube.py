"""The door to an API server, against a small server that answers like one."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localplane import kube, pki
from localplane.errors import ApiError, NotReady, PlaneError


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: list[tuple[str, str, str, str]]

    def log_message(self, *_: Any) -> None: ...

    def _answer(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size).decode()
        self.seen.append((self.command, self.path, self.headers["Content-Type"], body))
        code, data = self._find()
        text = json.dumps(data).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_PATCH = do_DELETE = _answer

    def _find(self) -> tuple[int, Any]:
        if self.headers["Authorization"] != "Bearer secret":
            return 401, {"message": "Unauthorized", "reason": "Unauthorized"}
        if self.path == "/apis/apps/v1":
            rows = [("deployments", "Deployment", True), ("deployments/scale", "Scale", True)]
            return 200, {"resources": [{"name": n, "kind": k, "namespaced": s} for n, k, s in rows]}
        if self.path == "/api/v1":
            return 200, {"resources": [{"name": "nodes", "kind": "Node", "namespaced": False}]}
        if self.path.partition("?")[0].endswith("/missing"):
            return 404, {"message": 'deployments "missing" not found', "reason": "NotFound"}
        if "labelSelector" in self.path:
            return 200, {"items": [{"metadata": {"name": "a"}}]}
        return 200, {"metadata": {"name": "x"}}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path, list[tuple[str, str, str, str]]]]:
    pki.ensure(tmp_path)
    handler = type("H", (Handler,), {"seen": []})
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    web.socket = context.wrap_socket(web.socket, server_side=True)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    yield f"https://127.0.0.1:{web.server_port}", tmp_path / "ca.crt", handler.seen  # type: ignore[attr-defined]
    web.shutdown()
    web.server_close()


def test_apply_is_server_side_strict_and_forced(server: Any) -> None:
    client = kube.Client(server[0], server[1], "secret")
    item = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "llm"}}
    client.apply(item, dry_run=True)
    method, path, content, body = server[2][-1]
    assert (method, content) == ("PATCH", "application/apply-patch+yaml")
    assert path.startswith("/apis/apps/v1/namespaces/llm/deployments/d?fieldManager=localplane&force=true")
    assert "fieldValidation=Strict" in path
    assert "dryRun=All" in path
    assert json.loads(body) == item


def test_paths_know_plurals_namespaces_and_parts(server: Any) -> None:
    client = kube.Client(server[0], server[1], "secret")
    client.patch("apps/v1", "Deployment", "d", {}, "llm", part="scale")
    assert server[2][-1][1] == "/apis/apps/v1/namespaces/llm/deployments/d/scale"
    client.patch("v1", "Node", "n", {}, part="status")
    assert server[2][-1][1] == "/api/v1/nodes/n/status"
    assert client.list("apps/v1", "Deployment", labels="a=b")[0]["kind"] == "Deployment"
    assert client.delete("apps/v1", "Deployment", "d", "llm", grace=0)
    assert "gracePeriodSeconds=0" in server[2][-1][1]


def test_what_is_not_there(server: Any) -> None:
    client = kube.Client(server[0], server[1], "secret")
    assert client.find("apps/v1", "Deployment", "missing", "llm") is None
    assert not client.delete("apps/v1", "Deployment", "missing", "llm")
    with pytest.raises(ApiError, match="not found") as caught:
        client.get("apps/v1", "Deployment", "missing", "llm")
    assert (caught.value.status, caught.value.reason) == (404, "NotFound")
    with pytest.raises(ApiError, match="knows no apps/v1 Wish"):
        client.get("apps/v1", "Wish", "x")


def test_a_wrong_token_is_an_error_not_a_wait(server: Any) -> None:
    client = kube.Client(server[0], server[1], "wrong")
    with pytest.raises(ApiError, match="401 Unauthorized"):
        client.list("apps/v1", "Deployment")
    assert not client.ready()


def test_a_server_that_is_gone_is_not_ready(server: Any) -> None:
    client = kube.Client("https://127.0.0.1:1", server[1], "secret")
    with pytest.raises(NotReady, match="does not answer"):
        client.request("GET", "/readyz")
    with pytest.raises(NotReady, match=r"not within 0 s: the server: https://127.0.0.1:1 does not answer"):
        kube.wait("the server", lambda: client.request("GET", "/readyz"), 0.1, every=0.05)


def test_another_authority_is_refused(server: Any, tmp_path: Path) -> None:
    pki.ensure(tmp_path / "other")
    client = kube.Client(server[0], tmp_path / "other" / "ca.crt", "secret")
    with pytest.raises(NotReady, match="CERTIFICATE_VERIFY_FAILED"):
        client.request("GET", "/readyz")


def test_a_closed_client_asks_nothing(server: Any) -> None:
    client = kube.Client(server[0], server[1], "secret")
    client.close()
    with pytest.raises(PlaneError, match="being stopped"):
        client.request("GET", "/readyz")


def test_keys_are_made_once_and_private(tmp_path: Path) -> None:
    pki.ensure(tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    pki.ensure(tmp_path)
    assert before == {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert all(file.stat().st_mode & 0o077 == 0 for file in tmp_path.iterdir())


def test_conditions() -> None:
    item = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    assert kube.condition(item, "Ready") == "False"
    assert kube.condition(item, "Other") == ""
    assert kube.condition({}, "Ready") == ""
