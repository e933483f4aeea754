"""Sources of the known tails of a head: the graph, its nearest heads, and a COMET.

:mod:`.sources` holds the sources and finds the assertion behind a tail; their interface is in :mod:`..scorers.base`;
:mod:`.event_table` holds a graph's events; :mod:`.comet` generates tails by a language model, :mod:`.tail_cache` stores them.
"""

from __future__ import annotations
