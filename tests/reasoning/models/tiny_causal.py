"""Tiny causal models and their tokenizers, made and saved by the tests themselves: the real file formats without a download."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

SENTENCES = (
    "i have a dog and it wants a bone",
    "the puppy is hungry , give it food",
    "what did you do at the weekend ?",
    "we went to the beach and swam in the sea",
    "that makes sense ! tell me more",
    "i don't understand what you are saying",
)
END = "<|endoftext|>"


def tiny_tokenizer(sentences: Sequence[str] = SENTENCES, *, size: int = 320, pad: bool = False, begin: str = END) -> Any:
    """A byte-level BPE tokenizer trained on ``sentences``, as GPT-2's: no pad token unless ``pad``."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    special = list(dict.fromkeys([END, begin, *(["<pad>"] if pad else [])]))
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(sentences, vocab_size=size, min_frequency=1, special_tokens=special)
    names = {"pad_token": "<pad>"} if pad else {}
    return PreTrainedTokenizerFast(tokenizer_object=bpe._tokenizer, eos_token=END, bos_token=begin, unk_token=END, **names)


def save_tiny_causal(
    folder: Path,
    *,
    sentences: Sequence[str] = SENTENCES,
    positions: int = 64,
    width: int = 32,
    layers: int = 2,
    kind: str = "gpt2",
    pad: bool = False,
    seed: int = 0,
    **settings: Any,
) -> Path:
    """Save a causal model with random weights and a tokenizer trained on ``sentences`` to ``folder``; return the folder.

    ``kind`` is ``gpt2``, ``llama`` (its own beginning-of-sequence token) or ``gemma2`` (does more to logits than its head).
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    tokenizer = tiny_tokenizer(sentences, pad=pad, begin=END if kind == "gpt2" else "<s>")
    sizes: dict[str, Any] = {"vocab_size": len(tokenizer), "bos_token_id": tokenizer.bos_token_id}
    sizes |= {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    if kind == "gpt2":
        sizes |= {"n_positions": positions, "n_embd": width, "n_layer": layers, "n_head": 2}
    else:
        sizes |= {"max_position_embeddings": positions, "hidden_size": width, "intermediate_size": 2 * width}
        sizes |= {"num_hidden_layers": layers, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": width // 2}
    sizes |= {"initializer_range": 0.5}  # far from uniform, so that every mistake shows
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **sizes | settings))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_tiny_encoder(folder: Path, *, sentences: Sequence[str] = SENTENCES, positions: int = 64, seed: int = 0) -> Path:
    """Save a RoBERTa of 2 layers of 32 with random weights and a tokenizer trained on ``sentences``; return the folder."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from tokenizers.processors import RobertaProcessing
    from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaModel

    special = ["<s>", "<pad>", "</s>"]
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(sentences, vocab_size=320, min_frequency=1, special_tokens=special)
    bpe._tokenizer.post_processor = RobertaProcessing(("</s>", 2), ("<s>", 0), True, False)
    names = dict(zip(("cls_token", "pad_token", "sep_token"), special, strict=True))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe._tokenizer, model_max_length=positions - 2, **names)
    sizes: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = RobertaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=positions, pad_token_id=1, initializer_range=0.5, **sizes
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = RobertaModel(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
