"""Writes a tiny random model and adapters for it; runs in the engine's environment, needs no network.

    PYTHON tinymodel.py FOLDER                  makes FOLDER/model, FOLDER/rank8, FOLDER/rank32
    PYTHON tinymodel.py FOLDER PATH=RANK ...    makes FOLDER/model, and an adapter of a rank at each path

The context window is long (131072) because rendered argument lists ask for that of real models; weights do not grow
with it.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

numpy = importlib.import_module("numpy")
tokenizers = importlib.import_module("tokenizers")
save_file = importlib.import_module("safetensors.numpy").save_file

LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD, INNER, CONTEXT = 2, 64, 4, 2, 32, 128, 131072
ROWS = {"q_proj": HEADS * HEAD, "k_proj": KV_HEADS * HEAD, "v_proj": KV_HEADS * HEAD}


def main() -> None:
    """Write what the command line asks for."""
    folder = Path(sys.argv[1])
    (folder / "model").mkdir(parents=True)
    words = write_tokenizer(folder / "model")
    write_model(folder / "model", words)
    for word in sys.argv[2:] or [f"{folder / f'rank{rank}'}={rank}" for rank in (8, 32)]:
        path, _, rank = word.rpartition("=")
        write_adapter(Path(path), int(rank))


def write_tokenizer(folder: Path) -> int:
    """Train on a few sentences; return the size of the vocabulary, a multiple of 64."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=384,
        special_tokens=["<unk>", "<s>", "</s>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(
        ["ships sail when the wind blows", "select name from ships where id = 1"] * 20, trainer
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    chat = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: "
    dump(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "<s>",
            "eos_token": "</s>",
            "unk_token": "<unk>",
            "model_max_length": CONTEXT,
            "chat_template": chat,
        },
    )
    size: int = tokenizer.get_vocab_size()
    return -(-size // 64) * 64


def write_model(folder: Path, words: int) -> None:
    """Write a configuration and random weights for a vocabulary of so many words."""
    dump(
        folder / "config.json",
        {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": HIDDEN,
            "intermediate_size": INNER,
            "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS,
            "num_key_value_heads": KV_HEADS,
            "head_dim": HEAD,
            "max_position_embeddings": CONTEXT,
            "vocab_size": words,
            "tie_word_embeddings": False,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "torch_dtype": "bfloat16",
        },
    )
    random = numpy.random.default_rng(0)

    def weights(*shape: int) -> Any:
        return (random.standard_normal(shape) * 0.05).astype(numpy.float32)

    ones = numpy.ones(HIDDEN, numpy.float32)
    tensors = {"model.embed_tokens.weight": weights(words, HIDDEN), "lm_head.weight": weights(words, HIDDEN)}
    tensors["model.norm.weight"] = ones
    for layer in range(LAYERS):
        at = f"model.layers.{layer}."
        tensors |= {f"{at}self_attn.{name}.weight": weights(rows, HIDDEN) for name, rows in ROWS.items()}
        tensors[f"{at}self_attn.o_proj.weight"] = weights(HIDDEN, HEADS * HEAD)
        tensors[f"{at}mlp.gate_proj.weight"] = weights(INNER, HIDDEN)
        tensors[f"{at}mlp.up_proj.weight"] = weights(INNER, HIDDEN)
        tensors[f"{at}mlp.down_proj.weight"] = weights(HIDDEN, INNER)
        tensors[f"{at}input_layernorm.weight"] = tensors[f"{at}post_attention_layernorm.weight"] = ones
    save_file(tensors, str(folder / "model.safetensors"), metadata={"format": "pt"})


def write_adapter(folder: Path, rank: int) -> None:
    """Write a random adapter of a rank."""
    folder.mkdir(parents=True)
    random = numpy.random.default_rng(rank)
    tensors = {}
    for layer in range(LAYERS):
        for name in ("q_proj", "v_proj"):
            at = f"base_model.model.model.layers.{layer}.self_attn.{name}."
            tensors[f"{at}lora_A.weight"] = random.standard_normal((rank, HIDDEN)).astype(numpy.float32)
            tensors[f"{at}lora_B.weight"] = random.standard_normal((ROWS[name], rank)).astype(numpy.float32)
    save_file(tensors, str(folder / "adapter_model.safetensors"), metadata={"format": "pt"})
    dump(
        folder / "adapter_config.json",
        {
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": "tiny",
            "r": rank,
            "lora_alpha": 2 * rank,
            "lora_dropout": 0.0,
            "bias": "none",
            "target_modules": ["q_proj", "v_proj"],
        },
    )


def dump(path: Path, document: dict[str, Any]) -> None:
    """Write JSON."""
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
