"""Tuple scorers: how plausible the tail of an event tuple is, given its head and relation.

:mod:`.base` defines the interface :class:`~.base.TupleScorer`. :mod:`.compatibility` holds ACCENT's equation 1 over known tails,
the cosine of head and tail as a baseline, and the unsupervised combination of several scorers; :mod:`.retriever` the scorers over
a compact retrieval model (:mod:`.compact`); :mod:`.kgbert` a triple classifier; :mod:`.language_models` scorers by a causal
language model, a probe of its states, and a COMET's likelihood. :mod:`.registry` opens scorers by name.
"""

from __future__ import annotations
