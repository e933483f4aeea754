"""The card that travels with a probe of a language model; its numbers were measured when it was made."""

from __future__ import annotations

from ..accent.scorers.probe import Probe

_TOLD = ("layers", "tuples", "heads", "plausible", "data", "penalty", "auc", "best", "seed", "variants")

_CARD = """\
# A probe of {name}

Whether people call an event tuple plausible, by what a layer of a language model makes of it. `tacit score-tuples` and the
metric `accent` take it with the model that it was trained on, and with no other:

    tacit score-tuples TUPLES.jsonl --graph GRAPH --scorer llm-probe --model MODEL{option}

| | |
|---|---|
| language model | `{model}`; not part of this folder |
| layer | {layer} of {layers}; what lies above is not run |
| learnt from | {tuples:,} judged tuples of {heads:,} heads, {plausible:.0%} of them plausible{left_out}; digest `{data}` |
| by | ridge regression within relations, penalty {penalty:g} for each tuple; Platt's scaling |
| agreement | AUC {auc:.3f} {interval} on heads that were not learnt from, the mean of the relations', weighted by tuples |
| command | `{command}` |
| seed | {seed} |
| size | {width:,} weights |
| digest | `{digest}` |
| licence of the data | {licence} |

Of {variants} layers and penalties the best has {best:.3f}; taken is its layer, with the heaviest penalty within a standard error
of that. Tuples of one head stay together.

## What it is not

It says how likely people like those who judged are to call a tuple plausible: a matter of what is usual, not of what is true or
right. It knows what the language model knows, its prejudices among it.

## Data

{files}
{remarks}"""


def card(probe: Probe, *, path: str | None, remarks: str = "") -> str:
    """Return the card of a probe.

    Args:
        path: what its folder is called, None for the one that ships; remarks: Markdown that follows the data.
    """
    facts = probe.facts
    files = [f"- `{file['file']}`, {file['tuples']:,} tuples, sha256 `{file['sha256']}`" for file in facts.get("files", ())]
    left = facts["left_out"]
    return _CARD.format(
        **{name: facts[name] for name in _TOLD},
        name=probe.model.rpartition("@")[0], model=probe.model, layer=probe.layer, width=probe.weights.size, digest=probe.digest,
        interval=facts["interval"], option=f" --probe {path}" if path else "", command=facts.get("command", "not stated"),
        left_out=f" ({left:,} more were said twice, or judged both ways)" if left else "",
        licence=facts.get("licence") or "not stated", files="\n".join(files) or "- not stated",
        remarks=f"\n{remarks}\n" if remarks else "",
    )  # fmt: skip
