"""The model card that is written beside a trained commonsense regressor: what it is, made from what, and how well it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..commonsense.regressor import Regressor
from ..evaluation import Correlation
from ..evaluation.correlation import spelt

_WORDS = {
    "one_hop": "one-hop {count} between history and response, `log1p`",
    "two_hop": "two-hop {count} between history and response, `log1p`",
    "length": "words of the response, `log1p`",
    "response_loss": "loss of the response alone, nats per token",
    "dialogue_loss": "loss of history and response, nats per token",
}

_CARD = """\
# {title}

{what}

| | |
|---|---|
| features | {features} |
| networks | {members} with {hidden}, {activation}; the score is their mean |
| score | {lowest:g} to {highest:g}, higher is better |
| learnt from | {judgements:,} {kind} of {conversations:,} conversations |
| licence of the data | {licence} |
| graph | `{graph}` |
| pipeline | `{pipeline}` |
| language model | {language_model} |
| command | `{command}` |
| seed | {seed} |
| versions | {versions} |
| digest | `{digest}` |

## Use

```python
from tacit.reasoning import load_metric

metric = load_metric("commonsense", graph=graph{path}{more})
```

It may score over another graph than it was trained on; the counts are then other counts, and the signature names the graph.
`tacit score --explain` gives exact Shapley values over {background} background responses that are kept in the file.

## Scores

{scores}

## Data

{data}
{remarks}
Zhou, Gopalakrishnan, Hedayatnia, Kim, Pujara, Ren, Liu and Hakkani-Tur (2021): *Commonsense-Focused Dialogues for Response
Generation: An Empirical Study*, SIGDIAL.
"""

_RATED = """\
A regressor for the metric `commonsense` of tacit: it was fitted to ratings of dialogue responses, and says how a response would
be rated."""

_CONTRASTED = """\
A regressor for the metric `commonsense` of tacit: it was fitted to dialogues that nobody rated. After each history stands the
response that was given there (1), and then one from another conversation (0), so a score says how far the triples between the
two, for a response of this length, look like those of a response in its own place. No opinion of people was learnt from."""


def card(model: Regressor, *, path: str, extra: str = "") -> str:
    """Return the card of a trained model as Markdown.

    Args:
        model: with the facts that training gave it and the digest of its file.
        path: what the card calls the model's file or folder; empty for the one that ships.
        extra: Markdown that follows the scores.
    """
    facts = model.facts
    count, contrast = facts.get("count") or "", facts.get("contrast")
    hidden = [weights.shape[2] for weights in model.weights[:-1]]
    language_model = facts.get("language_model")
    return _CARD.format(
        title=f"commonsense, {model.variant}",
        what=_CONTRASTED if contrast else _RATED,
        features="; ".join(f"`{name}`: {_WORDS[name].format(count=count)}" for name in model.features),
        members=len(model.weights[0]),
        hidden=f"{' and '.join(str(width) for width in hidden)} hidden neurons" if hidden else "no hidden neurons",
        activation=model.activation, lowest=model.lowest, highest=model.highest,
        judgements=facts["judgements"], kind="responses, half of them in their own place," if contrast else "ratings",
        conversations=facts["conversations"], licence=facts.get("licence") or "not stated", graph=facts.get("graph") or "none",
        pipeline=facts.get("pipeline") or "none", language_model=f"`{language_model['signature']}`" if language_model else "none",
        command=facts.get("command", "tacit train commonsense"), seed=facts["seed"],
        versions=", ".join(f"{name} {number}" for name, number in sorted(facts["versions"].items())), digest=model.digest,
        path=f', model="{path}"' if path else "",
        more=', language_model="…"' if language_model and not language_model["id"] else "", background=len(model.background),
        scores="\n".join(_scores(facts)) + (f"\n\n{extra}" if extra else ""),
        data="\n".join(_data(facts.get("data", []))), remarks=_remarks(facts),
    )  # fmt: skip


def plan_in_words(plan: Mapping[str, Any]) -> str:
    """Return how a model was measured, e.g. ``10-fold cross-validation, conversations kept together``."""
    if "folds" in plan:
        how = f"{plan['folds']}-fold cross-validation"
    else:
        shares = "/".join(f"{share:g}" for share in plan["shares"])
        how = f"{plan['rounds']} random splits into {shares}, predictions of a response averaged"
    return f"{how}, conversations kept together"


def _scores(facts: Mapping[str, Any]) -> list[str]:
    """Return the table of what was measured."""
    lines = [
        f"On responses that the model at hand did not see: {plan_in_words(facts['plan'])}; in brackets 95% bootstrap",
        f"intervals from {facts['resamples']:,} resamples. The model in this file is fitted to everything.",
        "", "| data set | n | Pearson | Spearman |", "|---|---|---|---|",
    ]  # fmt: skip
    for row in facts["scores"]:
        values = [Correlation(**row[kind]) for kind in ("pearson", "spearman")]
        lines.append(f"| {row['dataset']} | {row['n']:,} | {' | '.join(spelt(value) or '–' for value in values)} |")
    return lines


def _data(files: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"- `{file['file']}`, {file['judgements']:,} items, sha256 `{file['sha256']}`" for file in files] or ["- not stated"]


def _remarks(facts: Mapping[str, Any]) -> str:
    return f"\n{facts['remarks']}\n" if facts.get("remarks") else ""
