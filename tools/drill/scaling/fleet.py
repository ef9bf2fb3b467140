"""The pods that are there, and the metrics that each of them serves. One small server stands for all of them.

Prometheus finds them as it finds pods in a cluster: one target a ready pod, labelled with namespace, pod and Service.
What a target serves is in the engine's or the edge's own words, and carries their labels only.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import defaultdict
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from drill.scaling.load import Gauges, Load, idle
from drill.scaling.stand import Key
from drill.scaling.watch import Object
from localplane import condition


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod that serves: where it is, its Service, when it was made, and the name of its model ("" of an edge)."""

    namespace: str
    name: str
    service: str
    made: str
    model: str


_UNDER_WAY = "inference_api_in_flight_requests"


class Fleet:
    """Which pods serve, and under which load. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pods: dict[Key, dict[str, Pod]] = defaultdict(dict)
        self._loads: dict[Key, Load] = {}
        self._hidden: set[Key] = set()

    def seen(self, item: Object, there: bool) -> None:
        """Take in a pod as it is now (a watch calls this)."""
        labels = item["metadata"].get("labels", {})
        if labels.get("app.kubernetes.io/component") not in ("inference", "edge"):
            return
        meta = item["metadata"]
        key = (meta["namespace"], labels["app.kubernetes.io/name"])
        serves = there and "deletionTimestamp" not in meta and condition(item, "Ready") == "True"
        with self._lock:
            if serves:
                made = Pod(key[0], meta["name"], key[1], meta["creationTimestamp"], _model(item))
                self._pods[key].setdefault(meta["name"], made)
            else:
                self._pods[key].pop(meta["name"], None)

    def put(self, key: Key, load: Load) -> None:
        """Put a workload under a load, from now on."""
        with self._lock:
            self._loads[key] = load

    def hide(self, key: Key, hidden: bool = True) -> None:
        """Let the metrics of a workload vanish, or come back; its pods go on."""
        with self._lock:
            (self._hidden.add if hidden else self._hidden.discard)(key)

    def gauges(self, key: Key) -> list[Gauges]:
        """What the pods of a workload report now, the oldest first; [] when none serves."""
        with self._lock:
            return [one for _, one in self._reports(key)]

    def targets(self) -> list[dict[str, object]]:
        """Targets as Prometheus' HTTP discovery takes them."""
        with self._lock:
            shown = [pod for key, pods in self._pods.items() if key not in self._hidden for pod in pods.values()]
        return [
            {
                "namespace": pod.namespace,
                "pod": pod.name,
                "service": pod.service,
                "__metrics_path__": f"/pods/{pod.namespace}/{pod.name}",
            }
            for pod in shown
        ]

    def page(self, namespace: str, name: str) -> str | None:
        """Metrics page of a pod; None when no such pod serves."""
        with self._lock:
            for key, pods in self._pods.items():
                if key[0] == namespace and name in pods and key not in self._hidden:
                    found = {pod.name: one for pod, one in self._reports(key)}
                    return _page(pods[name].model, found[name])
        return None

    def _reports(self, key: Key) -> list[tuple[Pod, Gauges]]:
        pods = sorted(self._pods[key].values(), key=lambda pod: (pod.made, pod.name))
        return list(zip(pods, self._loads.get(key, idle)(len(pods)), strict=True)) if pods else []


def _model(item: Object) -> str:
    """Return the name that the engine's own arguments give the model; "" where there is no engine."""
    args = item["spec"]["containers"][0].get("args", [])
    return str(args[args.index("--served-model-name") + 1]) if "--served-model-name" in args else ""


def _page(model: str, gauges: Gauges) -> str:
    """Write metrics under the names and with the labels of vLLM 0.25, or of an edge."""
    if not model:
        return f"# TYPE {_UNDER_WAY} gauge\n{_UNDER_WAY} {float(gauges.running)}\n"
    labels = f'{{engine="0",model_name="{model}"}}'
    rows = {
        "num_requests_running": gauges.running,
        "num_requests_waiting": gauges.waiting,
        "kv_cache_usage_perc": gauges.kv,
    }
    return "".join(f"# TYPE vllm:{name} gauge\nvllm:{name}{labels} {float(value)}\n" for name, value in rows.items())


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing when a Prometheus that died no longer wants its answer; anything else is said as ever."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class Server:
    """Serves the fleet's targets and pages on loopback until it is stopped."""

    def __init__(self, fleet: Fleet, port: int) -> None:
        self._address = f"127.0.0.1:{port}"
        self._http = _Http(("127.0.0.1", port), self._handler(fleet))
        self._thread = threading.Thread(target=self._http.serve_forever, name="metrics of pods", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(timeout=10)

    def _handler(self, fleet: Fleet) -> type[BaseHTTPRequestHandler]:
        address = self._address

        class Handler(BaseHTTPRequestHandler):
            """Answers /targets and /pods/NAMESPACE/POD."""

            protocol_version = "HTTP/1.1"  # connections stay open: a look a second and pod

            def do_GET(self) -> None:
                _, kind, *rest = self.path.partition("?")[0].split("/")
                if kind == "targets":
                    rows = [{"targets": [address], "labels": labels} for labels in fleet.targets()]
                    self._answer(json.dumps(rows), "application/json")
                elif kind == "pods" and len(rest) == 2 and (page := fleet.page(*rest)) is not None:
                    self._answer(page, "text/plain; version=0.0.4")
                else:
                    self._answer("no such pod\n", "text/plain", 404)

            def _answer(self, text: str, kind: str, status: int = 200) -> None:
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        return Handler
