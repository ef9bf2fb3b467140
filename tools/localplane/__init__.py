"""A real control plane on this machine, without containers: a KubeVela hub and the clusters it delivers to.

What is real: API servers with Pod Security and the real CRDs, controllers, the scheduler, KubeVela with cluster-gateway
and its admission webhooks, clusters joined by `vela cluster join`. What is pretended, by KWOK: nodes, kubelets (pods
never run), and the status that controllers would write that are not here (KEDA, gateways, External Secrets ...; see
stages/README.md).

    python -m localplane up        from `make plane`
    python -m localplane status    what runs, since when, how much memory
    python -m localplane stop      everything ends; what the plane holds stays
    python -m localplane reset     everything is forgotten

In tests: `Plane("name", root)`, then `up()`, `clusters["staging"].client`, `clusters["staging"].simulation`,
`hub.vela(...)`.
"""

from .errors import ApiError, ComponentDied, NotReady, PlaneError
from .kube import Client, condition, wait
from .plane import Plane

__all__ = ["ApiError", "Client", "ComponentDied", "NotReady", "Plane", "PlaneError", "condition", "wait"]
