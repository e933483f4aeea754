"""The model card that travels with a coherence checkpoint, and its licence note; its numbers come from the header."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..coherence.checkpoint import EXPECTATION, parts_of

_CARD = """\
# A checkpoint of the metric coherence

How likely a response is the one that people gave: a graph of associations between the terms of neighbouring turns, a response
selection head over a frozen sentence encoder, and the weights of both beside {others}. Nobody's rating was used.

    tacit score DIALOGUES --metrics coherence{option}

| | |
|---|---|
| digest | `{digest}` |
| encoder | {encoder}, content `{signature}` |
{model}| left out of the data | {left} |
| associations | {edges:,} `FollowedBy` edges between {terms:,} words and pairs of words |
| seed | {seed} |
| command | `{command}` |
| licence | {licence} |

## What the parts tell

Area under the ROC curve of each part alone on {contrasts:,} held-out responses: true ones against random ones and near copies of
recent turns. "Elsewhere": asked about a corpus that it was not trained on. Weights are of the log-odds; the bias is {bias:.3f}.

| part | area | elsewhere | weight |
|---|---|---|---|
{rows}

## Data

{files}

| corpus | dialogues (pairs of turns) learnt from | weighed on |
|---|---|---|
{corpora}
"""


def card(header: Mapping[str, Any], digest: str, *, path: str | None) -> str:
    """Return the card of a checkpoint.

    Args:
        header: what its ``coherence.json`` says.
        digest: its digest; path: what the folder is called, None for the one that ships.
    """
    facts = header["facts"]
    parts = parts_of(header)
    weights = header["weights"]["+".join(parts)]
    areas, elsewhere = facts["areas"], facts["areas of parts trained without the corpus"]
    files = [
        f"- `{file['file']}`: {file['dialogues']:,} dialogues" + (f", sha256 `{file['sha256']}`" if file["sha256"] else "")
        for file in facts.get("data", ())
    ]
    left = [f"{number:,} {reason}" for reason, number in facts.get("left out", {}).items() if number]
    encoder = header["encoder"]
    return _CARD.format(
        option=_options(path, header) if path else "", digest=digest,
        encoder=encoder["id"] or "all-MiniLM-L6-v2", signature=encoder["signature"],
        left=", ".join(left) or "none", edges=facts["edges"], terms=facts["terms"], seed=facts["seed"],
        command=facts.get("command", "tacit train coherence"), licence=facts.get("licence") or "that of its data",
        contrasts=facts["contrasts"], bias=weights["bias"], files="\n".join(files) or "Not told.",
        rows="\n".join(_part(part, areas, elsewhere, weights) for part in parts),
        others="similarity, repetition and expectation" if EXPECTATION in parts else "similarity and repetition",
        model=_language_model(header["language_model"]) if EXPECTATION in parts else "",
        corpora="\n".join(_corpus(name, sizes) for name, sizes in facts["corpora"].items()),
    )  # fmt: skip


def _language_model(model: Mapping[str, Any]) -> str:
    return f"| language model | {model['id'] or model['name']}, content `{model['digest']}` |\n"


def _options(path: str, header: Mapping[str, Any]) -> str:
    local = EXPECTATION in parts_of(header) and not header["language_model"]["id"]
    return f" --option coherence.checkpoint={path}" + (" --option coherence.language_model=MODEL" if local else "")


def _part(name: str, areas: Mapping[str, float], elsewhere: Mapping[str, float] | None, weights: Mapping[str, float]) -> str:
    far = f"{elsewhere[name]:.3f}" if elsewhere and name != EXPECTATION else ""
    return f"| {name} | {areas[name]:.3f} | {far} | {weights[name]:+.3f} |"


def _corpus(name: str, sizes: Mapping[str, Mapping[str, int]]) -> str:
    told = (f"{sizes[what]['dialogues']:,} ({sizes[what]['pairs']:,})" for what in ("learnt from", "weighed on"))
    return " | ".join([f"| {name}", *told]) + " |"
