"""Training a COMET: a sequence-to-sequence model learns to write the tails of ``{head} {relation} [GEN]`` (Hwang et al., AAAI
2021).

It learns from what people said of the events of a graph; where they said that nothing follows, the graph keeps silent, so the
model does not learn to say "none".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.errors import InputError
from ..accent.tails.comet import GENERATE, MAX_LENGTH, missing_end
from ..extras import need
from ..models import find_model, open_model, quiet
from .resumable import NOTHING_TO_LEARN, Losses, Plan, Progress, check_output, digest_of, fit, write_model

Triple = tuple[str, str, str]

_IGNORED = -100

_CARD = """\
# {name}

A COMET: it writes tails of event commonsense for `{{head}} {{relation}} [GEN]`. Made by
`tacit train comet GRAPH --model {base} --steps {steps} --batch-size {batch} --rate {rate:g} --seed {seed}`.

| | |
|---|---|
| began as | {base} |
| learnt from | {triples:,} triples of {heads:,} heads, graph `{graph}`, digest of the triples `{digest}` |
| relations | {relations} |
| loss | {first:.3f} over the first tenth of the steps, {last:.3f} over the last; nats per token, on what it learnt from |
| licence | that of the model it began as, and of the graph's data (ATOMIC-2020: CC BY 4.0, Hwang et al., AAAI 2021) |

Use: `load_metric("accent", graph, comet="FOLDER")`, or `tacit score ... --option accent.comet=FOLDER`.
It says what crowd workers thought typical, stereotypes among it.
"""


def train_comet(
    triples: Sequence[Triple],
    model: str | Path,
    output: Path,
    plan: Plan,
    *,
    graph: str = "",
    device: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train a COMET and write it to the folder ``output`` with its card; a run that died is taken up at its last checkpoint.

    Args:
        triples: head, relation, tail; repetitions count once.
        model: the sequence-to-sequence model to begin with, a folder or an id of the hub.
        graph: digest of the graph, for the card.
        progress: told the step, the number of steps and the loss.

    Returns:
        Facts about the run: triples, mean losses of the first and last tenth of the steps, and the step that it began from.

    Raises:
        InputError: there are no triples, ``output`` holds something else, or the plan makes no sense.
        ModelError: the model cannot be opened.
    """
    plan.check()
    check_output(output)
    rows = sorted(dict.fromkeys(triples))
    if not rows:
        raise InputError(NOTHING_TO_LEARN)
    torch = need("torch", "neural")
    torch.manual_seed(plan.seed)
    opened, tokenizer = open_model("AutoModelForSeq2SeqLM", find_model(model), device=device, dtype="float32")
    relations = sorted({relation for _, relation, _ in rows})
    if tokenizer.add_tokens([token for token in (GENERATE, *relations) if len(tokenizer.tokenize(token)) > 1]):
        with quiet():
            opened.resize_token_embeddings(len(tokenizer))
    watch = Losses(plan, progress)
    digest = digest_of(rows)
    start = fit(opened, _loss(opened, tokenizer, rows), len(rows), plan, output, data=digest, progress=watch)
    base = Path(model).name if Path(model).is_dir() else str(model)
    card = _CARD.format(
        name=output.name, base=base, steps=plan.steps, batch=plan.batch_size, rate=plan.rate, seed=plan.seed, triples=len(rows),
        heads=len({head for head, _, _ in rows}), graph=graph or "not named", digest=digest, relations=", ".join(relations),
        first=watch.first, last=watch.last,
    )  # fmt: skip
    write_model(opened, tokenizer, card, output)
    return {"triples": len(rows), "relations": relations, "began_at": start, "first_loss": watch.first, "last_loss": watch.last}


def _loss(model: Any, tokenizer: Any, rows: Sequence[Triple]) -> Callable[[Sequence[int], np.random.Generator], Any]:
    """From the numbers of a batch to the loss of its tails."""

    end = missing_end(tokenizer)

    def encoded(**texts: list[str]) -> Any:
        return tokenizer(**texts, padding=True, truncation=True, max_length=MAX_LENGTH, return_tensors="pt", verbose=False)

    def loss(batch: Sequence[int], _: np.random.Generator) -> Any:
        given = encoded(text=[f"{rows[number][0]} {rows[number][1]} {GENERATE}" for number in batch])
        wanted = encoded(text_target=[rows[number][2] + end for number in batch])
        labels = wanted["input_ids"].masked_fill(wanted["attention_mask"] == 0, _IGNORED)
        parts = {name: given[name].to(model.device) for name in ("input_ids", "attention_mask")}
        return model(**parts, labels=labels.to(model.device)).loss

    return loss
