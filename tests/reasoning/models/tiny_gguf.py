"""A GGUF file made by the tests themselves from a tiny Llama: the real format without a download."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}  # fmt: skip


def save_tiny_gguf(folder: Path, file: Path) -> Path:
    """Write the Llama that transformers saved in ``folder`` as ``file``; return the file."""
    from gguf import GGUFWriter
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder)
    config = model.config
    writer = GGUFWriter(str(file), "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_vocab_size(config.vocab_size)
    _add_tokenizer(writer, json.loads((folder / "tokenizer.json").read_text(encoding="utf-8")), config)
    for name, tensor in model.state_dict().items():
        array = tensor.numpy()
        if "q_proj" in name or "k_proj" in name:  # GGUF has the halves of the rotary embedding side by side
            heads = config.num_attention_heads if "q_proj" in name else config.num_key_value_heads
            array = array.reshape(heads, 2, -1, array.shape[1]).swapaxes(1, 2).reshape(array.shape).copy()
        writer.add_tensor(_name(name), array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def _add_tokenizer(writer: Any, saved: dict[str, Any], config: Any) -> None:
    vocabulary = saved["model"]["vocab"] | {added["content"]: added["id"] for added in saved["added_tokens"]}
    special = {added["content"] for added in saved["added_tokens"]}
    tokens = sorted(vocabulary, key=lambda token: int(vocabulary[token]))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token in special else 1 for token in tokens])
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in saved["model"]["merges"]])
    writer.add_bos_token_id(config.bos_token_id)
    writer.add_eos_token_id(config.eos_token_id)


def _name(name: str) -> str:
    """The name of a tensor in GGUF."""
    whole = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}
    if name in whole:
        return whole[name]
    if name == "lm_head.weight":
        return "output.weight"
    _, _, layer, suffix = name.split(".", 3)
    return f"blk.{layer}.{NAMES[suffix.removesuffix('.weight')]}.weight"
