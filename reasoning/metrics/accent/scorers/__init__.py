"""How well the tail of an event tuple goes with its head and relation: scorers on one interface,
:class:`.tuplescore.TupleScorer`.

:mod:`.compatibility` is ACCENT's own (equation 1), over known tails; :mod:`.retriever` ranks all known tails of a relation by
a small model; :mod:`.likelihood` is a COMET's loss, :mod:`.kgbert` a classifier of triples, :mod:`.llmjudge` a language model
that is asked, :mod:`.llmprobe` what one holds within; :mod:`.plain` is the cosine of head and tail; :mod:`.blend` adds several
up without labels. :mod:`.opening` opens each by name.
"""

from __future__ import annotations
