# Real parts under traffic (tools/drill): KEDA, Prometheus, Envoy AI Gateway, Envoy, the real engine.

.PHONY: live-tools test-live

# Says what is missing and how to get it: Prometheus comes from Debian's package or from SAILPLAN_PROMETHEUS.
live-tools: plane-tools
	@$(VENV)/python -m toolchain ensure prometheus envoy keda-operator keda-adapter aigw

test-live: live-tools engine ## Run every drill and test its figures (real KEDA, Envoy AI Gateway and vLLM)
	@$(VENV)/python -m pytest -m live -p no:xdist -s $(PYTEST_ARGS) tests/live
