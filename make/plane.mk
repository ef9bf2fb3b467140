# A real KubeVela on this machine (tools/localplane). PLANE_NAME lets several live side by side.

PLANE_NAME ?= default
PLANE = $(VENV)/python -m localplane --name $(PLANE_NAME)

.PHONY: plane plane-pods plane-tools plane-status plane-stop plane-reset test-plane

plane-tools: setup
	@$(VENV)/python -m toolchain ensure kine kube-apiserver kube-controller-manager kube-scheduler kwok \
		vela-core cluster-gateway

plane: plane-tools ## Start a KubeVela hub and two clusters on loopback (builds them once: 15 minutes)
	@$(PLANE) up

plane-status: venv ## Show what runs of the plane, and how much memory it takes
	@$(PLANE) status

plane-stop: venv ## Stop the plane; what it holds stays
	@$(PLANE) stop

plane-reset: venv ## Stop the plane and forget what it holds
	@$(PLANE) reset

plane-pods: venv ## Run the pods of the plane's hub as processes that answer, until ^C
	@$(VENV)/python -m podrunner --plane $(PLANE_NAME)

# Two planes side by side, since most of a delivery is waiting; one that is kept for writing tests is used alone.
test-plane: plane-tools ## Run the tests that need the plane (they start their own)
	@$(VENV)/python -m pytest -m plane $(if $(SAILPLAN_TEST_PLANE),,-n 2 --dist loadfile --no-loadscope-reorder) \
		$(PYTEST_ARGS) tests/plane tests/podrunner
