"""ACCENT, event commonsense (Ghazarian et al., ACL 2023): what a response says happens, held against what is known to happen.

A response and its history become event tuples, head, relation and tail in the words of ATOMIC (:mod:`.tuples`), by one of three
extractors: :mod:`.rules` over a parse, :mod:`.t5` over a sequence-to-sequence model, :mod:`.keywords` over the graph itself.
:mod:`.events` writes events in one way, so that those of a dialogue and those of the graph can be compared.
"""

from __future__ import annotations
