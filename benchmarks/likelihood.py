"""Speed of the likelihoods of dialogues: tokens a second, compared with the bare forward pass over the same padded batches.

    python benchmarks/likelihood.py [--model FOLDER] [--dialogues N] [--batch-tokens N,...] [--stretches N] [--threads N] [--json]

Without --model a GPT-2 of 4 layers of 256 with random weights and a vocabulary of 8,000 is made; the dialogues are drawn from
made-up words with the lengths of real ones. "Bare forward" runs the model alone over batches that are tokenised and padded before
the measurement; "losses" goes from texts to numbers; "one by one" runs one dialogue at a time. The stretches of the three
alternate; rates are medians over them, and count the tokens of the texts, not the padding. Rates are by processor time of all
threads, so that other work on the machine does not count; the ratio is also given by the wall clock.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tacit.reasoning.models.causal_lm import CausalModel, open_causal

WORDS = 20_000
VOCABULARY = 8_000
END = "<|endoftext|>"


def made_dialogues(count: int, seed: int = 7) -> list[list[str]]:
    """Return dialogues of 2 to 6 turns of about 12 words, drawn from made-up words by Zipf's law."""
    random = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnoprstuvwy"))
    words = ["".join(random.choice(letters, length)) for length in random.integers(2, 9, WORDS)]
    dialogues = []
    for _ in range(count):
        sizes = 1 + random.poisson(11, random.integers(2, 7))
        dialogues.append([" ".join(words[rank] for rank in random.zipf(1.3, size) % WORDS) for size in sizes])
    return dialogues


def save_model(folder: Path, dialogues: list[list[str]]) -> Path:
    """Save a model with random weights and a byte-level tokenizer trained on ``dialogues``."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator((turn for turns in dialogues for turn in turns), vocab_size=VOCABULARY, special_tokens=[END])
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=bpe._tokenizer, eos_token=END, bos_token=END
    )
    torch.manual_seed(0)
    sizes = GPT2Config(
        vocab_size=len(tokenizer), n_positions=1024, n_embd=256, n_layer=4, n_head=4, bos_token_id=0, eos_token_id=0
    )
    GPT2LMHeadModel(sizes).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def padded_batches(model: CausalModel, dialogues: list[list[str]]) -> list[tuple[Any, Any]]:
    """The batches that ``losses`` runs, tokenised and padded: identifiers and masks."""
    import torch

    tokens = model._tokens(turn for turns in dialogues for turn in turns)
    sequences = [model._cut(model._joined([tokens[turn] for turn in turns]), 1) for turns in dialogues]
    batches = []
    for batch in model._batches(list(dict.fromkeys(sequences))):
        rows = [torch.tensor(sequence.ids) for sequence in batch]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=0)
        lengths = torch.tensor([len(row) for row in rows])
        batches.append((ids, (torch.arange(ids.shape[1]) < lengths[:, None]).long()))
    return batches


def forward(model: CausalModel, batches: list[tuple[Any, Any]]) -> None:
    """The bare forward over all batches."""
    import torch

    with torch.inference_mode():
        for ids, mask in batches:
            model.model(input_ids=ids, attention_mask=mask, use_cache=False)


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Return the processor time and the wall time of a call, in seconds."""
    processor, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - processor, time.perf_counter() - wall


def measure(model: CausalModel, dialogues: list[list[str]], stretches: int) -> dict[str, Any]:
    """Return the medians of the three tasks over the same dialogues, after one round to warm up."""
    batches = padded_batches(model, dialogues)
    tokens = sum(int(mask.sum()) for _, mask in batches)
    sample = dialogues[: max(1, len(dialogues) // 8)]
    sample_tokens = sum(int(mask.sum()) for _, mask in padded_batches(model, sample))
    tasks: dict[str, tuple[Callable[[], object], int]] = {
        "bare forward": (lambda: forward(model, batches), tokens),
        "losses": (lambda: model.losses(dialogues), tokens),
        "one by one": (lambda: [model.losses([turns]) for turns in sample], sample_tokens),
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in tasks}
    for stretch in range(stretches + 1):
        for name, (work, _) in tasks.items():
            elapsed = seconds(work)
            if stretch:
                times[name].append(elapsed)
    rates = {name: count / statistics.median(elapsed for elapsed, _ in times[name]) for name, (_, count) in tasks.items()}
    pairs = list(zip(times["bare forward"], times["losses"], strict=True))
    ratios = [bare[0] / ours[0] for bare, ours in pairs]
    padding = 1 - tokens / sum(ids.numel() for ids, _ in batches)
    return {
        "batch tokens": model.batch_tokens,
        "padding": padding,
        **{f"tokens/s, {name}": rate for name, rate in rates.items()},
        "losses / bare forward": statistics.median(ratios),
        "lowest of these": min(ratios),
        "the same by wall clock": statistics.median(bare[1] / ours[1] for bare, ours in pairs),
        "losses / one by one": rates["losses"] / rates["one by one"],
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a folder or an id; by default a model is made")
    parser.add_argument("--dialogues", type=int, default=150)
    parser.add_argument("--batch-tokens", default="512,1024,2048,4096")
    parser.add_argument("--stretches", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    import torch

    torch.set_num_threads(arguments.threads)
    dialogues = made_dialogues(arguments.dialogues)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        model = arguments.model or save_model(Path(folder), dialogues)
        for batch_tokens in map(int, arguments.batch_tokens.split(",")):
            rows.append(measure(open_causal(model, batch_tokens=batch_tokens), dialogues, arguments.stretches))
    if arguments.json:
        print(json.dumps(rows))
        return
    print(f"{len(dialogues):,} dialogues, {arguments.threads} thread(s), medians of {arguments.stretches} stretches")
    for name in rows[0]:
        values = (
            f"{row[name]:14,.2f}" if isinstance(row[name], float) and row[name] < 100 else f"{row[name]:14,.0f}" for row in rows
        )
        print(f"{name:24}" + "".join(values))


if __name__ == "__main__":
    main()
