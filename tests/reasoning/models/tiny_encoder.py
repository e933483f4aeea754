"""A tiny BERT-like encoder with random weights, made and saved by the tests: the real file formats without a download."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.reasoning.models.tiny_causal import SENTENCES

MODULES = "sentence_transformers.models."
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def save_tiny_encoder(
    folder: Path, *, modes: Sequence[str] = (), width: int = 16, positions: int = 64, length: int | None = None, seed: int = 0
) -> Path:
    """Save an encoder whose words are those of :data:`SENTENCES` and single letters; return the folder.

    ``modes`` are ways of pooling to write down as sentence-transformers does (``mean``, ``cls`` …); none leaves that out.
    """
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast  # type: ignore[attr-defined]

    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    words = [*dict.fromkeys(" ".join(SENTENCES).split()), *letters, *(f"##{letter}" for letter in letters)]
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(dict.fromkeys([*SPECIAL, *words])) + "\n", encoding="utf-8")
    tokenizer = BertTokenizerFast(str(vocabulary), model_max_length=positions)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=width, num_hidden_layers=2, num_attention_heads=2, intermediate_size=2 * width,
        max_position_embeddings=positions, initializer_range=0.5,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = BertModel(config, add_pooling_layer=False)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    if modes:
        steps = [
            {"idx": index, "name": str(index), "path": f"{index}_{kind}" if index else "", "type": MODULES + kind}
            for index, kind in enumerate(("Transformer", "Pooling", "Normalize"))
        ]
        (folder / "modules.json").write_text(json.dumps(steps), encoding="utf-8")
        (folder / "sentence_bert_config.json").write_text(
            json.dumps({"max_seq_length": length or positions, "do_lower_case": False}), encoding="utf-8"
        )
        (folder / "1_Pooling").mkdir(exist_ok=True)
        pooling = {"word_embedding_dimension": width} | {
            f"pooling_mode_{key}": mode in modes
            for mode, key in (("mean", "mean_tokens"), ("cls", "cls_token"), ("max", "max_tokens"), ("lasttoken", "lasttoken"))
        }
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")
    return folder
