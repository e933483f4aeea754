"""The metric ACCENT (Ghazarian et al., ACL 2023): event commonsense of a response.

:mod:`.metric` scores a response. An extractor (:mod:`.extractors`) finds event tuples (head, relation, tail) in the response and
the turn before it; a tuple scorer (:mod:`.scorers`) rates how plausible each tuple is, by the tails known for its head
(:mod:`.tails`) or by a model. :mod:`.events` normalises the wording of events, so that events of a dialogue can be compared
with events of the graph, and :mod:`.verbalise` writes tuples as sentences.
"""

from __future__ import annotations
