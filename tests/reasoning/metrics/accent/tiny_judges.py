"""Tiny causal models of several kinds that can be asked about tuples, with a chat template or without."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.reasoning.models.tiny_causal import SENTENCES, save_tiny_causal

CHAT = (
    "{{ bos_token }}{% for message in messages %}<|turn|>{{ message.role }}\n{{ message.content }}{{ eos_token }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)
KINDS: dict[str, dict[str, Any]] = {
    "gpt2": {},
    "llama": {"kind": "llama"},
    "gemma2": {"kind": "gemma2", "final_logit_softcapping": 2.0, "query_pre_attn_scalar": 16, "sliding_window": 64},
}


def save_judge(folder: Path, *, template: str = "", positions: int = 4096, more: Sequence[str] = (), **options: Any) -> Path:
    """A tiny model that has words for yes and no and the words of ``more``, with a chat template where one is given."""
    from transformers import AutoTokenizer

    save_tiny_causal(folder, sentences=[*SENTENCES, *["Yes No", ": Yes", ": No"] * 4, *more], positions=positions, **options)
    if template:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        tokenizer.chat_template = template
        tokenizer.save_pretrained(folder)
    return folder
