"""The model card that stands beside a GRADE checkpoint: what it is, learnt from what and how, and how well it ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..grade.checkpoint import Checkpoint

_CARD = """\
# GRADE

A checkpoint of the metric `grade` of tacit: how coherent a response is with its history, in (0, 1), by a network that reads the
texts and the graph of their topics. It learnt to rank true responses above false ones; no opinion of people was learnt from.

| | |
|---|---|
| learnt from | {pairs:,} pairs of context and response in {dialogues:,} dialogues; {dev_pairs:,} held out for development |
| false responses | {negatives} |
| licence of the data | {licence} |
| utterance branch | {utterance} |
| graph branch | {branch} |
| knowledge graph | `{graph}` |
| sentence encoder | {encoder} |
| concept vectors | `{vectors}` |
| pipeline | `{pipeline}` |
| keywords | {mean:g} a turn; {none:.1%} of the turns have none |
| training | {recipe} |
| best after | step {best_step:,} |
| command | `{command}` |
| versions | {versions} |
| digest | `{{digest}}` |

## Use

```python
from tacit.reasoning import load_metric

metric = load_metric("grade", graph=graph, model="{path}")
```

## How well it ranks

On the development pairs, margin ranking loss {loss:.4f}; a true response scores higher than the first false one in {first:.1%} of
the pairs, than the second in {second:.1%}; without seeing the context, in {blind_first:.1%} and {blind_second:.1%}.

## Data

{data}

Huang, Ye, Qin, Lin and Liang (2020): *GRADE: Automatic Graph-Enhanced Coherence Metric for Evaluating Open-Domain Dialogue
Systems*, EMNLP.
"""

_UTTERANCE = {"frozen": "frozen encoder, every turn by itself", "tuned": "encoder trained along (in `encoder/`)"}
_NEGATIVES = {
    "hard": "one like the true one in words (BM25), one like it in meaning (embeddings)",
    "random": "two at random",
}


def card(checkpoint: Checkpoint, *, path: str) -> str:
    """Return the card of a checkpoint as Markdown, with ``{digest}`` where that goes; ``path`` is what it calls its folder."""
    facts, config = checkpoint.facts, checkpoint.model.config
    limits = ", ".join(str(limit) for limit in config.limits)
    around = f"{limits} neighbours by weight" if config.limits else "no neighbours"
    attention = "hop attention" if config.hop_attention else "plain attention"
    branch = (
        f"{config.layers} layers, {config.heads} heads, {attention}, width {config.hidden}; {around}; edges: {config.profile}"
    )
    return _CARD.format(
        pairs=facts["pairs"], dialogues=facts["dialogues"], dev_pairs=facts["dev_pairs"],
        negatives=_NEGATIVES[facts["negatives"]],
        licence=facts.get("licence") or "not stated", branch=branch if config.graph else "none",
        utterance=_UTTERANCE[config.utterance],
        graph=facts["graph"], encoder=_encoder(checkpoint), vectors=checkpoint.vectors, pipeline=facts["pipeline"],
        **facts["keywords"], recipe=", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in facts["recipe"].items()),
        best_step=facts["best_step"], command=facts.get("command", "tacit train grade"),
        versions=", ".join(f"{name} {number}" for name, number in sorted(facts["versions"].items())), path=path,
        loss=facts["dev"]["dev_loss"], first=facts["dev"]["dev_wins_1"], second=facts["dev"]["dev_wins_2"],
        blind_first=facts["blind"]["dev_wins_1"], blind_second=facts["blind"]["dev_wins_2"],
        data="\n".join(_data(facts.get("data", []))),
    )  # fmt: skip


def _encoder(checkpoint: Checkpoint) -> str:
    named = f"`{checkpoint.encoder_id}`, " if checkpoint.encoder_id else ""
    return f"{named}`{checkpoint.encoder}`"


def _data(files: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"- `{file['file']}`, {file['dialogues']:,} dialogues, sha256 `{file['sha256']}`" for file in files] or [
        "- not stated"
    ]
