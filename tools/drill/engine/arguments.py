"""From the arguments that a component renders to those that a processor can run. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

GPU_ONLY = {
    "--quantization": ("fp8",),
    "--kv-cache-dtype": ("fp8",),
    "--kv-offloading-size": (),
    "--kv-offloading-backend": (),
    "--tensor-parallel-size": (),
    "--pipeline-parallel-size": (),
    "--load-format": ("runai_streamer",),
    "--model-loader-extra-config": (),
}
"""Flags with a value that no processor runs: any value, or those named."""

LOOKED_UP = ("--tool-call-parser", "--reasoning-parser", "--load-format", "--quantization", "--dtype")
"""Flags whose values the parser takes and only a boot proves."""

_MODELS = "/models"


@dataclass(frozen=True)
class Fitted:
    """Arguments for a processor.

    Attributes:
        args: the rendered ones, less `dropped`, with paths below another folder.
        dropped: what was left out, as words.
        served: name of the base model.
        adapters: path of each adapter, by its name.
        model: path of the base model.
        rank: the largest rank that adapters may have.
    """

    args: tuple[str, ...]
    dropped: tuple[str, ...]
    served: str
    adapters: dict[str, str]
    model: str
    rank: int


def fit(args: Sequence[str], folder: str) -> Fitted:
    """Fit rendered arguments to a processor.

    Args:
        args: of the engine's container; the model stands first.
        folder: what stands in place of /models.
    """
    kept: list[str] = []
    dropped: list[str] = []
    adapters: dict[str, str] = {}
    values: dict[str, str] = {}
    for flag, words in groups([_below(word, folder) for word in args[1:]]):
        values[flag] = words[0] if words else ""
        gone = flag in GPU_ONLY and (not GPU_ONLY[flag] or values[flag] in GPU_ONLY[flag])
        (dropped if gone else kept).extend([flag, *words])
        if flag == "--lora-modules":
            adapters = {name: path for name, _, path in (word.partition("=") for word in words)}
    model = _below(args[0], folder)
    rank = int(values.get("--max-lora-rank", "16"))
    served = values.get("--served-model-name", model)
    return Fitted((model, *kept), tuple(dropped), served, adapters, model, rank)


def groups(args: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each flag with its values; `--flag=value` is taken apart."""
    words = list(args)
    while words:
        flag, equals, value = words.pop(0).partition("=")
        values = [value] if equals else []
        while not equals and words and not words[0].startswith("--"):
            values.append(words.pop(0))
        yield flag, values


def _below(word: str, folder: str) -> str:
    """Put paths below another folder: the model's own, and those of adapters behind an equals sign."""
    if word == _MODELS or word.startswith(f"{_MODELS}/"):
        return folder + word.removeprefix(_MODELS)
    return word.replace(f"={_MODELS}/", f"={folder}/")
