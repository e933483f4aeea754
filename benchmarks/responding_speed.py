"""How fast responses are sampled and perplexity is measured, beside the bare model in transformers.

    python benchmarks/responding_speed.py DIALOGUES.jsonl[.gz] --model ID|FOLDER|GGUF [--histories N] [--samples N] [--rounds N]

``tacit respond`` is compared with ``generate`` of transformers: nucleus .9, at most 40 tokens, 16 texts at a time, sorted by
length, on prompts of the same tokens; tokens a second count, since the two draw other responses. ``generate`` gives other samples
in other batches; tacit's are the same in every batch. ``tacit perplexity`` is compared with the model reading the same texts, one
by one and 16 at a time sorted by length, with logits of the responses' tokens alone. Processor time of one thread; medians over
rounds in which all take turns.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
from tacit.loaders import Dialogue, read_dialogues
from tacit.reasoning.models.batching import padded
from tacit.reasoning.models.causal_lm import CausalModel
from tacit.reasoning.response import open_responder
from tacit.reasoning.response.responder import Responder, Turn, _prompt, encode_turns
from threadpoolctl import threadpool_limits

BATCH, MOST = 16, 40


def turns_of(path: Path, number: int) -> list[Turn]:
    """Return the middle turn of each of the first ``number`` dialogues, with its history."""
    rows = (row for row in read_dialogues(path) if isinstance(row, Dialogue) and len(row.turns) > 1)
    return [Turn(row.turns[: len(row.turns) // 2], row.turns[len(row.turns) // 2]) for row in islice(rows, number)]


def generated(model: CausalModel, turns: list[Turn], samples: int) -> int:
    """Sample by transformers' generate; return the number of tokens."""
    import torch

    torch.manual_seed(0)
    prompts = sorted(
        (model.begin, *row) for row in model.tokens([_prompt(turn.history) for turn in turns]) for _ in range(samples)
    )
    prompts.sort(key=len)
    count = 0
    for start in range(0, len(prompts), BATCH):
        batch = prompts[start : start + BATCH]
        reversed_rows, reversed_mask = padded([row[::-1] for row in batch], model.end)
        ids, mask = (torch.from_numpy(array[:, ::-1].copy()) for array in (reversed_rows, reversed_mask.astype(np.int64)))
        with torch.inference_mode():
            output = model.model.generate(
                input_ids=ids, attention_mask=mask, do_sample=True, top_p=0.9, top_k=0, temperature=1.0, max_new_tokens=MOST,
                tokenizer=model.tokenizer, stop_strings=["\n"], pad_token_id=model.end,
            )  # fmt: skip
        count += int((output[:, ids.shape[1] :] != model.end).sum())
    return count


def sampled(responder: Responder, turns: list[Turn], samples: int) -> int:
    """Sample by tacit; return the number of tokens, the line break or end of each response included."""
    texts = [text for row in responder.respond([turn.history for turn in turns], samples) for text in row]
    lengths = (len(ids) for ids in responder.model.tokens([f" {text}" for text in texts]))
    return sum(min(MOST, length + 1) for length in lengths)


def read_bare(model: CausalModel, turns: list[Turn], batch: int) -> int:
    """Read the turns by the model alone, with logits of the responses' tokens; return their number."""
    import torch

    rows = sorted(encode_turns(model, turns), key=lambda row: len(row[0]))
    for start in range(0, len(rows), batch):
        rows_of_batch = rows[start : start + batch]
        ids, mask = (torch.from_numpy(array) for array in padded([ids for ids, _ in rows_of_batch], model.end))
        with torch.inference_mode():
            states = model.body(input_ids=ids, attention_mask=mask.long())[0]
            model.head(
                torch.cat([row[begin - 1 : len(ids) - 1] for row, (ids, begin) in zip(states, rows_of_batch, strict=True)])
            )
    return sum(len(ids) - begin for ids, begin in rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dialogues", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--histories", type=int, default=64)
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    turns = turns_of(arguments.dialogues, arguments.histories)
    responder = open_responder(arguments.model, max_tokens=MOST, batch_size=BATCH)
    model = responder.model
    works: dict[str, Callable[[], int]] = {
        "generate of transformers": lambda: generated(model, turns, arguments.samples),
        "tacit respond": lambda: sampled(responder, turns, arguments.samples),
        "bare model, one by one": lambda: read_bare(model, turns, 1),
        "bare model, 16 at a time": lambda: read_bare(model, turns, BATCH),
        "tacit perplexity": lambda: len(responder.perplexity(turns).tokens) and read_tokens(model, turns),
    }
    seconds: dict[str, list[float]] = {name: [] for name in works}
    tokens: dict[str, list[int]] = {name: [] for name in works}
    with threadpool_limits(1):
        import torch

        torch.set_num_threads(1)
        for _ in range(arguments.rounds):
            for name, work in works.items():
                start = time.process_time()
                tokens[name].append(work())
                seconds[name].append(time.process_time() - start)
    print(f"{model.signature}, {len(turns)} histories, {arguments.samples} samples, {arguments.rounds} rounds\n")
    print("| | tokens | processor s | tokens a second | ratio to the first of its kind |\n|---|---:|---:|---:|---:|")
    reference = {name: list(works)[0 if index < 2 else 2] for index, name in enumerate(works)}
    rates = {name: statistics.median(np.array(tokens[name]) / np.array(seconds[name])) for name in works}
    for name in works:
        ratio = rates[name] / rates[reference[name]]
        print(f"| {name} | {tokens[name][0]:,} | {statistics.median(seconds[name]):.1f} | {rates[name]:,.0f} | {ratio:.2f} |")


def read_tokens(model: CausalModel, turns: list[Turn]) -> int:
    """Return the number of tokens whose likelihood the perplexity is of."""
    return sum(len(ids) - begin for ids, begin in encode_turns(model, turns))


if __name__ == "__main__":
    main()
