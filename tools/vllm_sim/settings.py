"""What one simulated engine is: from the arguments that a container gets, and the simulator's own environment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sailplan.engineflags import Engine, read

from .arguments import parse
from .errors import Unusable

FLAGS = Path(__file__).resolve().parents[2] / "catalog" / "engine-flags" / "vllm-0.25.0.json"
"""The flags of the engine that this stands in for; VLLM_SIM_FLAGS names another file."""

VERSION = "0.25.0"
_EVERYWHERE = ("", "0.0.0.0", "::", "[::]", "None")


@dataclass(frozen=True, slots=True)
class Settings:
    """One simulated engine.

    Attributes:
        model: repository or path, as given.
        names: served names; the first is the one in metrics.
        adapters: path by name.
        max_loras: adapters in one batch, 0 without `--enable-lora`.
        host, port: where it listens.
        max_model_len: tokens of prompt and answer together.
        max_num_seqs: requests that run at once; more wait.
        prefix_caching: whether the prefix cache counts.
        shutdown_timeout: seconds that requests in flight get after SIGTERM; 0 aborts them, as the engine does.
        keys: what clients must show on /v1; empty when anybody may come in.
        kv_tokens: tokens that the KV cache holds.
        first_token_seconds, token_seconds: pace of an answer.
        load_seconds: until it listens.
        seed: of embeddings and filler words.
        instance: tells one pod's answers from another's.
    """

    model: str
    names: tuple[str, ...]
    adapters: Mapping[str, str] = field(default_factory=dict)
    max_loras: int = 0
    host: str = "127.0.0.1"
    port: int = 8000
    max_model_len: int = 32768
    max_num_seqs: int = 256
    prefix_caching: bool = True
    shutdown_timeout: int = 0
    keys: tuple[str, ...] = ()
    kv_tokens: int = 262144
    first_token_seconds: float = 0.02
    token_seconds: float = 0.005
    load_seconds: float = 0.0
    seed: int = 0
    instance: str = ""

    @property
    def name(self) -> str:
        """The served name that metrics carry."""
        return self.names[0]


def settings(arguments: Sequence[str], environment: Mapping[str, str]) -> Settings:
    """Read arguments and environment.

    Raises:
        Unusable: the engine would not start like this, or a variable of ours makes no sense.
    """
    engine = _engine(environment)
    model, values = parse(arguments, engine)
    if not model:
        raise Unusable("error: no model is named; it is the first argument")
    _refuse_at_boot(values, engine)
    length = values.get("--max-model-len", 32768)
    max_len = length if isinstance(length, int) and length > 0 else 32768
    given = str(values.get("--host") or "")
    port = int(values.get("--port", 8000))
    host = environment.get("VLLM_SIM_HOST", "127.0.0.1") if given in _EVERYWHERE else given
    keys = [*values.get("--api-key", ()), *filter(None, [environment.get("VLLM_API_KEY")])]
    return Settings(
        model=model,
        names=tuple(values.get("--served-model-name", ())) or (model,),
        adapters=_adapters(values),
        max_loras=int(values.get("--max-loras", 1)) if values.get("--enable-lora") else 0,
        host=host,
        port=port,
        max_model_len=max_len,
        max_num_seqs=int(values.get("--max-num-seqs", 256)),
        prefix_caching=bool(values.get("--enable-prefix-caching", True)),
        shutdown_timeout=int(values.get("--shutdown-timeout", 0)),
        keys=tuple(keys),
        kv_tokens=_whole(environment, "VLLM_SIM_KV_TOKENS", 8 * max_len, least=1),
        first_token_seconds=_seconds(environment, "VLLM_SIM_FIRST_TOKEN_SECONDS", 0.02),
        token_seconds=_seconds(environment, "VLLM_SIM_TOKEN_SECONDS", 0.005),
        load_seconds=_seconds(environment, "VLLM_SIM_LOAD_SECONDS", 0.0),
        seed=_whole(environment, "VLLM_SIM_SEED", 0),
        instance=environment.get("POD_NAME") or f"{host}:{port}",
    )


def _engine(environment: Mapping[str, str]) -> Engine:
    path = Path(environment.get("VLLM_SIM_FLAGS") or FLAGS)
    engine = read(path)
    if engine is None:
        raise Unusable(f"error: {path} is not there, or is no list of flags", 1)
    return engine


def _refuse_at_boot(values: Mapping[str, Any], engine: Engine) -> None:
    """Refuse what passes the engine's parser and stops it later."""
    for flag, known in engine.values.items():
        value = values.get(flag)
        if isinstance(value, str) and value not in known:
            raise Unusable(f"{flag}: unknown value {value!r}; one of {', '.join(known)}", 1)
    if values.get("--enable-auto-tool-choice") and not values.get("--tool-call-parser"):
        raise Unusable("error: --enable-auto-tool-choice requires --tool-call-parser")
    for flag, least in (("--max-num-seqs", 1), ("--max-loras", 1), ("--tensor-parallel-size", 1), ("--port", 1)):
        if int(values.get(flag, least)) < least:
            raise Unusable(f"{flag}: {values[flag]} is below {least}", 1)
    if int(values.get("--port", 1)) > 65535:
        raise Unusable(f"--port: {values['--port']} is no port", 1)
    share = float(values.get("--gpu-memory-utilization", 1))
    if not 0 < share <= 1:
        raise Unusable(f"--gpu-memory-utilization: {share} is not above 0 and at most 1", 1)
    if values.get("--lora-modules") and not values.get("--enable-lora"):
        raise Unusable("--lora-modules needs --enable-lora", 1)


def _adapters(values: Mapping[str, Any]) -> dict[str, str]:
    """Adapters from `name=path` or from JSON, as the flag takes both."""
    found: dict[str, str] = {}
    for word in values.get("--lora-modules", ()):
        try:
            row = json.loads(word) if word.startswith("{") else None
            name, path = (row["name"], row["path"]) if row else word.split("=", 1)
        except (ValueError, KeyError, TypeError):
            raise Unusable(
                f"error: argument --lora-modules: {word!r} is neither name=path nor JSON with both"
            ) from None
        if not name or not path:
            raise Unusable(f"error: argument --lora-modules: {word!r} has no name or no path")
        found[str(name)] = str(path)
    return found


def _seconds(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(name) or str(default)
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise Unusable(f"error: {name}: {text!r} is no number of seconds")
    return value


def _whole(environment: Mapping[str, str], name: str, default: int, least: int = 0) -> int:
    text = environment.get(name) or str(default)
    if not text.isdecimal() or int(text) < least:
        raise Unusable(f"error: {name}: {text!r} is no whole number from {least} on")
    return int(text)
