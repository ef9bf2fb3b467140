"""The command line: `python -m vllm_sim [serve] MODEL ARGUMENTS...`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence

from .errors import Unusable
from .settings import settings

_HELP = """\
usage: python -m vllm_sim [serve] MODEL [FLAG]...

Stands in for vLLM 0.25: takes its flags, refuses unknown ones, answers on its paths. Environment:

  VLLM_SIM_HOST                 address to listen on where no --host says one (127.0.0.1)
  VLLM_SIM_LOAD_SECONDS         until it listens (0)
  VLLM_SIM_FIRST_TOKEN_SECONDS  until the first token of an answer (0.02)
  VLLM_SIM_TOKEN_SECONDS        from one token to the next (0.005)
  VLLM_SIM_KV_TOKENS            tokens that the KV cache holds (8 sequences of full length)
  VLLM_SIM_SEED                 of embeddings and filler words (0)
  VLLM_SIM_FLAGS                file with the engine's flags (catalog/engine-flags of this checkout)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM; return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help"):
        print(_HELP, end="")
        return 0 if given else 2
    try:
        made = settings(given, os.environ)
        # Only now: a wrong argument should not wait for it.
        from .server import serve

        return asyncio.run(serve(made))
    except Unusable as error:
        print(f"vllm_sim: {error.message}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        return 130
