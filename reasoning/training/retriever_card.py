"""The card and the licence that travel with a trained tail retriever; its numbers were measured when it was made."""

from __future__ import annotations

from ..accent.scorers.compact import Compact

_SHOWN = ("triples", "heads", "tails", "data", "steps", "batch_size", "seed", "held_out", "graph")

_CARD = """\
# Tail retriever

Which tails follow an event under a relation of ATOMIC, from sentence embeddings alone. The metric `accent` asks it beside the
graph, and `tacit score-tuples --scorer retriever` alone. Two towers of one hidden layer (512) turn a head and a tail, with their
relation, into 128 numbers; the 500 tails of the pool whose numbers lie nearest to the head's are what the model expects. A tail's
*closeness* is the cosine with the closest of them, its *match* the cosine of head's and tail's numbers. The triples lie beside
the towers; their *support* for a head and a tail is the mutual information of the two under a kernel density, untrained.

| | |
|---|---|
| learnt from | {triples:,} triples of {heads:,} heads ({sources}), graph `{graph}`, digest of the triples `{data}` |
| relations | {relations} |
| kept | {kept:,} triples with {tails:,} distinct tails; {texts:,} texts in {parts} bytes each (product quantisation) |
| encoder | {encoder} (`{signature}`), frozen |
| command | `tacit train retriever GRAPH --output FOLDER --steps {steps} --batch-size {batch_size} --seed {seed}` |
| held out | {held_out:,} triples of 2% of the heads: mean reciprocal rank of the right tail among 200 is {rank_text} |
| size | {size:.1f} MB |
| digest | `{digest}` |
| licence | CC BY 4.0, as ATOMIC's (see LICENSE) |

Training is symmetric InfoNCE over batches of one relation, with dropout 0.2 and temperature 0.05.

## What it is not

It repeats what crowd workers thought typical of people, stereotypes among it, and knows only short English phrases about everyday
life. A high score says that such a tail is usual, not that it is true or right.

## Data

ATOMIC (Sap et al., AAAI 2019) and ATOMIC-2020 (Hwang et al., AAAI 2021), Allen Institute for AI, CC BY 4.0.
"""

LICENSE = """\
This model is licensed under the Creative Commons Attribution 4.0 International Licence (CC BY 4.0).
The text of the licence: https://creativecommons.org/licenses/by/4.0/legalcode

It was trained on, and holds phrases of, ATOMIC (Maarten Sap, Ronan Le Bras, Emily Allaway, Chandra Bhagavatula,
Nicholas Lourie, Hannah Rashkin, Brendan Roof, Noah A. Smith and Yejin Choi, AAAI 2019) and ATOMIC-2020 (Jena D. Hwang,
Chandra Bhagavatula, Ronan Le Bras, Jeff Da, Keisuke Sakaguchi, Antoine Bosselut and Yejin Choi, AAAI 2021), which are
available under CC BY 4.0. The phrases were put in one wording; nothing else about them was changed.
"""


def card(model: Compact, size: int) -> str:
    """Return the card of a model whose file has ``size`` bytes."""
    facts = dict(model.facts)
    measured = facts["mean_reciprocal_rank"]
    return _CARD.format(
        **{name: facts[name] for name in _SHOWN},
        sources=", ".join(facts["sources"]), relations=", ".join(model.relations), parts=len(model.kept.books),
        texts=len(model.texts), kept=sum(map(len, model.triples)),
        encoder=model.encoder[0], signature=model.encoder[1], size=size / 1e6, digest=model.digest,
        rank_text="not measured, since there are too few" if measured is None else f"{measured:.3f}",
    )  # fmt: skip
