# CI and people call these targets and nothing else. Each one does the set-up it needs; a second run takes seconds.
# Paths are relative, so a checkout in a folder with spaces works, and so does `make -j`.

PYTHON ?= python3
PYTEST_ARGS ?=
VENV = .venv/bin
TOOLCHAIN = PYTHONPATH=tools $(PYTHON) -m toolchain
PLAIN = not plane and not live and not engine and not bench

.DEFAULT_GOAL = help
.PHONY: help setup venv tools schemas demo test test-all test-engine engine check golden docs lint format lock bench clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: tools ## Make .venv, build the pinned cue and vela (once; a few minutes)

venv:
	@$(TOOLCHAIN) venv

tools: venv
	@$(VENV)/python -m toolchain ensure cue vela

schemas: venv ## Fetch the published API schemas that tests check rendered objects against
	@$(VENV)/python -m toolchain schemas >/dev/null

demo: setup ## Compose and render the fleet for three environments with the real vela
	@$(VENV)/python -m sailplan.demo

test: setup schemas ## Run every test that needs neither cluster, engine nor benchmark
	@$(VENV)/python -m pytest -n auto -m "$(PLAIN)" $(PYTEST_ARGS)

test-all: ## Run every test, one group after the other
	@$(MAKE) test
	@$(MAKE) test-engine
	@$(MAKE) test-plane
	@$(MAKE) test-live

engine: venv ## Install the pinned vLLM for a CPU, whose code some tests ask (once; 1 GB to fetch, 3 GB on disk)
	@$(VENV)/python -m toolchain.engine ensure

test-engine: setup engine ## Run the tests that need the engine's own code
	@$(VENV)/python -m pytest -m engine $(PYTEST_ARGS)

check: lint setup ## Lint, types, and `sailplan check --render` over everything committed
	@$(VENV)/sailplan check --render

golden: setup ## Write anew what is generated and committed: schemas, composed Applications
	@$(VENV)/sailplan schema --write
	@$(VENV)/sailplan compose --write $(notdir $(wildcard applications/*))

docs: setup ## Run every shell block of the README
	@$(VENV)/python -m pytest tests/transcripts $(PYTEST_ARGS)

lint: venv ## ruff and mypy
	@$(VENV)/ruff check .
	@$(VENV)/mypy

format: venv ## Let ruff rewrite what it can
	@$(VENV)/ruff check --fix .
	@$(VENV)/ruff format .

bench: setup ## Print the ratios of tests/bench
	@$(VENV)/python -m pytest -m bench -s -p no:xdist $(PYTEST_ARGS)

lock: venv ## Pin the Python packages anew (needs the network)
	@$(VENV)/python -m toolchain lock

clean: ## Remove .venv and what tools left; built tools stay in the cache
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find tools tests -name __pycache__ -type d -prune -exec rm -rf {} +

include make/plane.mk
include make/live.mk
