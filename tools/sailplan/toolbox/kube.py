"""The only door to API servers: the hub that KUBECONFIG names, and the clusters joined to it.

Clusters are reached through the hub's cluster-gateway, as KubeVela reaches them: one kubeconfig is enough, and what we
ask is allowed and answered as it is for KubeVela itself. Objects are plain dicts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from sailplan.errors import ClusterError

Object = dict[str, Any]

LOCAL = "local"
"""KubeVela's name for the hub itself."""

_GATEWAY = "/apis/cluster.core.oam.dev/v1alpha1/clustergateways/{}/proxy"
_APPLY = "application/apply-patch+yaml"
_TIMEOUT = 30.0
"""Seconds for one request."""


class Refused(ClusterError):
    """An API server answered, and said no.

    Attributes:
        status: HTTP status code.
        reason: `NotFound`, `Conflict`, `Invalid` ...; "" when the server gave none.
    """

    def __init__(self, message: str, hint: str = "", status: int = 0, reason: str = "") -> None:
        super().__init__(message, hint)
        self.status = status
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Resource:
    """How an API server calls a kind: its name in paths, and whether its objects live in namespaces."""

    plural: str
    namespaced: bool


class Cluster:
    """One API server.

    Args:
        client: the hub's `kubernetes.client.ApiClient`.
        name: as KubeVela calls it; `local` is the hub.
    """

    def __init__(self, client: Any, name: str = LOCAL) -> None:
        self.name = name
        self._client = client
        self._prefix = "" if name == LOCAL else _GATEWAY.format(quote(name))
        self._resources: dict[str, dict[str, Resource]] = {}

    def __str__(self) -> str:
        return "the hub" if self.name == LOCAL else f"cluster {self.name}"

    def joined(self, name: str) -> Cluster:
        """A cluster that is joined to this hub."""
        return self if name == self.name else Cluster(self._client, name)

    def find(self, api: str, kind: str, name: str, namespace: str = "") -> Object | None:
        """An object; None when it, or its kind, does not exist."""
        try:
            return self.request("GET", self._path(api, kind, namespace, name))
        except Refused as error:
            if error.status == 404:
                return None
            raise

    def list(self, api: str, kind: str, namespace: str = "", labels: str = "") -> list[Object]:
        """The objects of a kind, in one namespace or in all; none when the kind does not exist.

        Args:
            api: `apps/v1`, or `v1`.
            kind: `Deployment`.
            namespace: all of them when empty.
            labels: a selector, `app=web,tier!=db`.
        """
        try:
            query = {"labelSelector": labels} if labels else {}
            found = self.request("GET", self._path(api, kind, namespace), query)["items"]
        except Refused as error:
            if error.status == 404:
                return []
            raise
        return [{"apiVersion": api, "kind": kind, **item} for item in found]

    def create(self, item: Mapping[str, Any], dry_run: bool = False) -> Object:
        """Create an object; with `dry_run` the server does everything but keep it."""
        metadata = item["metadata"]
        path = self._path(item["apiVersion"], item["kind"], metadata.get("namespace", ""))
        return self.request("POST", path, _query(dry_run), item)

    def replace(self, item: Mapping[str, Any], dry_run: bool = False) -> Object:
        """Put an object in the place of the one it was read from; a change in between makes the server refuse."""
        return self.request("PUT", self._path_of(item), _query(dry_run), item)

    def apply(self, item: Mapping[str, Any], manager: str, dry_run: bool = False) -> Object:
        """Server-side apply under a field manager's name, over the claims of others."""
        query = {**_query(dry_run), "fieldManager": manager, "force": "true"}
        return self.request("PATCH", self._path_of(item), query, item, _APPLY)

    def version(self) -> str:
        """Version of Kubernetes, `v1.34.1`."""
        return str(self.request("GET", "/version").get("gitVersion", ""))

    def serves(self, api: str, kind: str) -> bool:
        """Whether the API server knows a kind."""
        try:
            self._resource(api, kind)
        except Refused:
            return False
        return True

    def request(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: Any = None, content: str = ""
    ) -> Object:
        """One request; the answer's JSON.

        Raises:
            Refused: the server said no.
            ClusterError: it does not answer, or what it answers is no JSON.
        """
        target = f"{self._client.configuration.host}{self._prefix}{path}" + (f"?{urlencode(query)}" if query else "")
        status, text = self._send(method, target, body, content or "application/json")
        try:
            answer = json.loads(text) if text else {}
        except ValueError:
            answer = {"message": text[:300]}
        if status >= 400:
            raise self._refusal(method, path, status, answer)
        if not isinstance(answer, dict):
            raise ClusterError(f"{self} answered {method} {path} with something that is no object")
        return answer

    def _send(self, method: str, url: str, body: Any, content: str) -> tuple[int, str]:
        import urllib3

        headers = {"Accept": "application/json", "Content-Type": content}
        for setting in self._client.configuration.auth_settings().values():
            headers[setting["key"]] = setting["value"]
        data = None if body is None else json.dumps(body)
        pool = self._client.rest_client.pool_manager
        try:
            answer = pool.request(method, url, headers=headers, body=data, timeout=_TIMEOUT, retries=2)
        except urllib3.exceptions.HTTPError as error:
            where = self._client.configuration.host
            raise ClusterError(f"{self} does not answer at {where}: {_cause(error)}", _HINT) from error
        return int(answer.status), answer.data.decode("utf-8", "replace")

    def _refusal(self, method: str, path: str, status: int, answer: Mapping[str, Any]) -> ClusterError:
        said = str(answer.get("message") or f"status {status}")
        if self._prefix and (status >= 502 or "error trying to reach" in said or "connect: " in said):
            return ClusterError(f"{self} does not answer: {said}", "`vela cluster list` shows what is joined")
        if self._prefix and said.startswith("no such cluster"):
            return ClusterError(f"{self} is not joined to the hub", f"vela cluster join KUBECONFIG --name {self.name}")
        hint = {401: "the kubeconfig's credentials are not accepted", 403: "the kubeconfig's user may not do this"}
        return Refused(
            f"{self} refused {method} {path}: {said}", hint.get(status, ""), status, answer.get("reason", "")
        )

    def _path_of(self, item: Mapping[str, Any]) -> str:
        metadata = item["metadata"]
        return self._path(item["apiVersion"], item["kind"], metadata.get("namespace", ""), metadata["name"])

    def _path(self, api: str, kind: str, namespace: str = "", name: str = "") -> str:
        resource = self._resource(api, kind)
        parts = [_root(api)]
        if resource.namespaced and namespace:
            parts += ["namespaces", quote(namespace)]
        return "/".join([*parts, resource.plural, *([quote(name)] if name else [])])

    def _resource(self, api: str, kind: str) -> Resource:
        if api not in self._resources:
            rows = self.request("GET", _root(api)).get("resources", [])
            self._resources[api] = {
                row["kind"]: Resource(row["name"], row["namespaced"]) for row in rows if "/" not in row["name"]
            }
        found = self._resources[api].get(kind)
        if found is None:
            raise Refused(f"{self} knows no kind {kind} in {api}", status=404, reason="NotFound")
        return found


_HINT = "KUBECONFIG names the hub; `make plane` starts one on this machine"


def hub(context: str = "") -> Cluster:
    """The cluster that KUBECONFIG (or ~/.kube/config, or the pod we run in) names.

    Args:
        context: of the kubeconfig; its current one without it.

    Raises:
        ClusterError: there is no kubeconfig, or it is not one.
    """
    # Half a second to import, so only commands that ask a cluster pay for it.
    from kubernetes import client, config
    from kubernetes.config.config_exception import ConfigException

    made = client.Configuration()
    loader: Any = config
    try:
        try:
            loader.load_kube_config(context=context or None, client_configuration=made)
        except ConfigException:
            if context:
                raise
            loader.load_incluster_config(client_configuration=made)
    except (ConfigException, OSError, ValueError) as error:
        said = f"context {context}: {error}" if context else "no kubeconfig that says where the hub is"
        raise ClusterError(said, _HINT) from error
    return Cluster(client.ApiClient(made))


def _root(api: str) -> str:
    return f"/apis/{api}" if "/" in api else f"/api/{api}"


def _query(dry_run: bool) -> dict[str, str]:
    return {"dryRun": "All"} if dry_run else {}


def _cause(error: BaseException) -> str:
    reason = getattr(error, "reason", None)
    inner = getattr(reason, "__cause__", None) or reason or error
    return str(getattr(inner, "strerror", None) or inner)
