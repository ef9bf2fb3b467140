"""A door to one API server: asyncio over HTTPS, objects are plain dicts."""

from __future__ import annotations

import base64
import binascii
import json
import ssl
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import yaml

from .errors import Refused, RunnerError, Unreachable

Object = dict[str, Any]

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
_WATCH_SECONDS = 240


class Client:
    """Talks to the API server that a kubeconfig names.

    Args:
        kubeconfig: file.
        context: of it; "" is the current one.

    Raises:
        RunnerError: there is no such file or context, or it has neither a token nor a certificate.
    """

    def __init__(self, kubeconfig: Path, context: str = "") -> None:
        server, verify, headers = _read(kubeconfig, context)
        limits = httpx.Limits(max_connections=64)
        self._http = httpx.AsyncClient(
            base_url=server, verify=verify, headers=headers, timeout=60, limits=limits, trust_env=False
        )

    async def get(self, path: str) -> Object:
        """Return what is at a path.

        Raises:
            Refused: nothing is (status 404), or the server does not want to.
            Unreachable: the server does not answer.
        """
        return await self._ask("GET", path)

    async def patch(self, path: str, body: Object, kind: str = MERGE) -> Object:
        """Merge a patch into an object; return the result."""
        return await self._ask("PATCH", path, json.dumps(body), {"Content-Type": kind})

    async def delete(self, path: str, uid: str = "", grace: int | None = None) -> bool:
        """Delete an object, of this uid only where one is given; tell whether it was there."""
        body: Object = {} if grace is None else {"gracePeriodSeconds": grace}
        if uid:
            body["preconditions"] = {"uid": uid}
        try:
            await self._ask("DELETE", path, json.dumps(body), {"Content-Type": "application/json"})
        except Refused as error:
            if error.status not in (404, 409):
                raise
            return False
        return True

    async def watch(self, path: str) -> AsyncIterator[list[Object] | tuple[str, Object]]:
        """Give all objects of a path, then each change as (type, object); a list again whenever some may be missed.

        Ends when the server ends the watch; call it again then.
        """
        found = await self.get(path)
        yield list(found["items"])
        version = found["metadata"]["resourceVersion"]
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(_WATCH_SECONDS)}
        try:
            async with self._http.stream("GET", path, params=query, timeout=_WATCH_SECONDS + 60) as answer:
                if answer.status_code != 200:
                    raise Refused(f"watch {path}: {answer.status_code}", answer.status_code)
                async for line in answer.aiter_lines():
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        return
                    yield event["type"], event["object"]
        except (httpx.HTTPError, ValueError) as error:
            raise Unreachable(f"{self._http.base_url}: {error!r}") from error

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def _ask(
        self, method: str, path: str, body: str | None = None, headers: Mapping[str, str] | None = None
    ) -> Object:
        try:
            answer = await self._http.request(method, path, content=body, headers=headers)
            data = answer.json()
        except httpx.HTTPError as error:
            raise Unreachable(f"{self._http.base_url} does not answer: {error!r}", "does the plane run?") from error
        except ValueError:
            data = {}
        if answer.status_code >= 400:
            said = data.get("message", answer.text[:300])
            raise Refused(f"{method} {path}: {answer.status_code} {said}", answer.status_code)
        return dict(data)


def _read(kubeconfig: Path, context: str) -> tuple[str, ssl.SSLContext, dict[str, str]]:
    """Server, what proves it, and what proves us."""
    try:
        data = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        chosen = _named(data, "contexts", context or data["current-context"])["context"]
        cluster = _named(data, "clusters", chosen["cluster"])["cluster"]
        user = _named(data, "users", chosen["user"])["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        verify = ssl.create_default_context(cadata=authority)
        if "client-certificate-data" in user:
            _certificate(verify, user)
        headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
        if not headers and "client-certificate-data" not in user:
            raise RunnerError(f"{kubeconfig}: its user has neither a token nor a certificate")
        return _address(str(cluster["server"])), verify, headers
    except (
        OSError, yaml.YAMLError, KeyError, TypeError, StopIteration, binascii.Error, ValueError, httpx.InvalidURL
    ) as error:  # fmt: skip
        raise RunnerError(f"cannot use kubeconfig {kubeconfig}: {error!r}", "`make plane` writes one") from error


def _address(server: str) -> str:
    """A server's address, when it is one that can be asked."""
    url = httpx.URL(server)
    if url.scheme not in ("http", "https") or not url.host or not 0 <= (url.port or 0) <= 65535:
        raise ValueError(f"server {server!r} is no https://HOST:PORT")
    return server


def _named(data: Any, kind: str, name: str) -> Any:
    return next(one for one in data[kind] if one["name"] == name)


def _certificate(verify: ssl.SSLContext, user: Mapping[str, str]) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(base64.b64decode(user["client-certificate-data"]) + b"\n")
        file.write(base64.b64decode(user["client-key-data"]))
        file.flush()
        verify.load_cert_chain(file.name)
