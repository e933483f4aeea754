"""A tiny T5 and its tokenizer, made and saved by the tests themselves: the real file formats without a download."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

SPECIAL = ("<pad>", "</s>", "<unk>")


def tiny_t5_tokenizer(sentences: Sequence[str]) -> Any:
    """A tokenizer of whole words of ``sentences`` that closes every text with ``</s>``, as T5's does."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    split = pre_tokenizers.Metaspace()
    words = dict.fromkeys(word for text in sentences for word, _ in split.pre_tokenize_str(text))
    vocabulary = {word: index for index, word in enumerate([*SPECIAL, *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = split
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")


def save_tiny_t5(folder: Path, sentences: Sequence[str], *, width: int = 32, layers: int = 2, seed: int = 0) -> Path:
    """Save a T5 with random weights and a tokenizer of the words of ``sentences`` to ``folder``; return the folder."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    tokenizer = tiny_t5_tokenizer(sentences)
    config = T5Config(  # type: ignore[call-arg]
        vocab_size=len(tokenizer), d_model=width, d_kv=16, d_ff=2 * width, num_layers=layers, num_heads=2, dropout_rate=0.0,
        pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = T5ForConditionalGeneration(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
