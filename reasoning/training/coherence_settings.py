"""How coherence is trained: what a user may choose, and the two choices that were measured (docs/coherence-figures.md)."""

from __future__ import annotations

from dataclasses import dataclass, field

from .associations import EDGES, TERMS
from .towers import HeadSettings
from .weighing import COPIES

MAX_PAIRS = 200_000


@dataclass(frozen=True)
class Settings:
    """How coherence is trained.

    Attributes:
        terms, edges: sizes of the graph of associations.
        max_pairs: pairs of turns that the head learns from; of more, a random choice.
        head: how the head is trained.
        copies: near copies of recent turns for each true response, where the parts are weighed.
        heard: held-out dialogues in all that the parts are weighed on where a language model is asked, which takes its time.
        average: associations are averaged over all pairs of terms; else the strongest edge to each term counts.
        elsewhere: half of the weighing is done with parts that have not seen the corpus, where there are several.
    """

    terms: int = TERMS
    edges: int = EDGES
    max_pairs: int = MAX_PAIRS
    head: HeadSettings = field(default_factory=HeadSettings)
    copies: float = COPIES
    heard: int = 300
    average: bool = False
    elsewhere: bool = True


#: What was chosen on talk like the training's, and what on talk of other kinds (docs/coherence-figures.md).
FOR_SAME = Settings(
    head=HeadSettings(width=256, epochs=6, batch=512, rate=1.5e-3, own_turns=True, hidden=1024), average=True, elsewhere=False
)
FOR_OTHER = Settings()
