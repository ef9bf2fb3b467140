"""A small door to an API server: plain HTTPS and JSON, objects are plain dicts."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from .errors import ApiError, NotReady, PlaneError

Object = dict[str, Any]

MANAGER = "localplane"
"""Name under which the plane's own set-up is written into `managedFields`."""

_MERGE = "application/merge-patch+json"
_APPLY = "application/apply-patch+yaml"


class Client:
    """Talks to one API server. Safe to use from several threads: each has a connection of its own.

    Args:
        server: address, for instance "https://127.0.0.1:20001".
        authority: file with the certificate that signed the server's.
        token: bearer token.
    """

    def __init__(self, server: str, authority: Path, token: str) -> None:
        self.server = server
        self._host = urlsplit(server).netloc
        self._authority = authority
        self._token = token
        self._local = threading.local()
        self._closed = False
        self._plurals: dict[tuple[str, str], tuple[str, bool]] = {}

    def get(self, api: str, kind: str, name: str, namespace: str = "") -> Object:
        """Return one object.

        Raises:
            ApiError: there is none (status 404), or the server refuses.
            NotReady: the server cannot be reached.
        """
        return self.request("GET", self._path(api, kind, namespace, name))

    def find(self, api: str, kind: str, name: str, namespace: str = "") -> Object | None:
        """Return one object, None when there is none."""
        try:
            return self.get(api, kind, name, namespace)
        except ApiError as error:
            if error.status != 404:
                raise
            return None

    def list(self, api: str, kind: str, namespace: str = "", labels: str = "") -> list[Object]:
        """Return all objects of a kind, of one namespace or of all, narrowed by a label selector."""
        query = {"labelSelector": labels} if labels else {}
        found = self.request("GET", self._path(api, kind, namespace), query=query)
        return [{"apiVersion": api, "kind": kind, **item} for item in found["items"]]

    def apply(self, item: Mapping[str, Any], *, manager: str = MANAGER, dry_run: bool = False) -> Object:
        """Create an object or bring it to what is given (server-side apply); return it as the server has it now.

        Args:
            item: with apiVersion, kind and metadata.name; metadata.namespace "default" where none is given.
            manager: the field manager; conflicts with others are won.
            dry_run: let the server do everything but keep it.
        """
        meta = item["metadata"]
        path = self._path(item["apiVersion"], item["kind"], meta.get("namespace", "default"), meta["name"])
        query = {"fieldManager": manager, "force": "true", "fieldValidation": "Strict"}
        if dry_run:
            query["dryRun"] = "All"
        return self.request("PATCH", path, item, query=query, content=_APPLY)

    def patch(self, api: str, kind: str, name: str, body: Any, namespace: str = "", part: str = "") -> Object:
        """Merge a patch into an object, or into a part of it ("status", "scale"); return the result."""
        path = self._path(api, kind, namespace, name) + (f"/{part}" if part else "")
        return self.request("PATCH", path, body, content=_MERGE)

    def delete(self, api: str, kind: str, name: str, namespace: str = "", grace: int | None = None) -> bool:
        """Delete an object; tell whether it was there. `grace` 0 does not wait for a kubelet."""
        query = {"propagationPolicy": "Background"} | ({} if grace is None else {"gracePeriodSeconds": str(grace)})
        try:
            self.request("DELETE", self._path(api, kind, namespace, name), query=query)
        except ApiError as error:
            if error.status != 404:
                raise
            return False
        return True

    def close(self) -> None:
        """Refuse every further request, so that threads that wait for the server give up."""
        self._closed = True

    def ready(self) -> bool:
        """Tell whether the server answers and says that it is ready."""
        try:
            self.request("GET", "/readyz")
        except (ApiError, NotReady):
            return False
        return True

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        content: str = "application/json",
    ) -> Object:
        """Send one request and return the answer, {} when it is not JSON.

        Raises:
            ApiError: the server answered with an error.
            NotReady: the server cannot be reached.
        """
        if self._closed:
            raise PlaneError(f"{self.server}: the plane is being stopped")
        target = f"{path}?{urlencode(query)}" if query else path
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", "Content-Type": content}
        text = None if body is None else json.dumps(body)
        try:
            answer, status = self._send(method, target, text, headers)
        except OSError as error:
            raise NotReady(f"{self.server} does not answer: {error}", "`make plane-status` shows what runs") from error
        try:
            data = json.loads(answer) if answer else {}
        except ValueError:
            data = {}
        if status >= 400:
            said = data.get("message") or answer.decode(errors="replace")[:500]
            raise ApiError(f"{method} {path}: {status} {said}", status, str(data.get("reason", "")))
        return data if isinstance(data, dict) else {}

    def _send(self, method: str, target: str, text: str | None, headers: dict[str, str]) -> tuple[bytes, int]:
        """Send over this thread's connection; once more over a new one when the server has closed it meanwhile."""
        for attempt in (1, 2):
            connection = self._connection(new=attempt == 2)
            try:
                connection.request(method, target, text, headers)
                answer = connection.getresponse()
                return answer.read(), answer.status
            except (http.client.HTTPException, OSError) as error:
                connection.close()
                self._local.connection = None
                if attempt == 2 or isinstance(error, ConnectionRefusedError | TimeoutError):
                    raise error if isinstance(error, OSError) else OSError(repr(error)) from error
        raise AssertionError("not reached")

    def _connection(self, *, new: bool) -> http.client.HTTPSConnection:
        held: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
        if held is None or new:
            context = ssl.create_default_context(cafile=str(self._authority))
            held = http.client.HTTPSConnection(self._host, timeout=60, context=context)
            self._local.connection = held
        return held

    def _path(self, api: str, kind: str, namespace: str = "", name: str = "") -> str:
        plural, namespaced = self._resource(api, kind)
        parts = ["api" if "/" not in api else "apis", api]
        if namespaced and namespace:
            parts += ["namespaces", quote(namespace)]
        parts.append(plural)
        if name:
            parts.append(quote(name))
        return "/" + "/".join(parts)

    def _resource(self, api: str, kind: str) -> tuple[str, bool]:
        """Return a kind's plural name and whether its objects live in namespaces, as the server says."""
        if (api, kind) not in self._plurals:
            root = "/api/" if "/" not in api else "/apis/"
            for row in self.request("GET", root + api)["resources"]:
                if "/" not in row["name"]:
                    self._plurals[(api, row["kind"])] = (row["name"], row["namespaced"])
        if (api, kind) not in self._plurals:
            raise ApiError(f"{self.server} knows no {api} {kind}", 404, "NotFound")
        return self._plurals[(api, kind)]


def wait(what: str, check: Callable[[], Any], seconds: float, every: float = 0.2) -> Any:
    """Call `check` until it returns something true, and return that.

    Args:
        what: for the error, as in "node gpu-1 is ready".
        check: may raise NotReady, which counts as not yet true.
        seconds: how long to try.
        every: seconds between two tries.

    Raises:
        NotReady: it did not come true; the last NotReady of `check` tells why.
    """
    deadline = time.monotonic() + seconds
    last = ""
    while True:
        try:
            result = check()
            if result:
                return result
        except NotReady as error:
            last = f": {error.message}"
        if time.monotonic() > deadline:
            raise NotReady(f"not within {seconds:.0f} s: {what}{last}")
        time.sleep(every)


def condition(item: Mapping[str, Any], kind: str) -> str:
    """Return the status of an object's condition ("True", "False", "Unknown"), "" when it has none of that type."""
    conditions: Iterable[Mapping[str, Any]] = item.get("status", {}).get("conditions") or []
    return next((str(one["status"]) for one in conditions if one["type"] == kind), "")
