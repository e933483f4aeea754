"""Sources of the known tails of a head: the graph, its nearest heads, and a COMET.

:mod:`.known_tails` defines the interface, :mod:`.sources` the sources; :mod:`.event_table` holds a graph's events as arrays,
:mod:`.event_store` reads them from a store, :mod:`.vector_cache` holds their embeddings; :mod:`.comet` generates tails by a
language model, :mod:`.journal` stores what was generated; :mod:`.provenance` finds the assertion behind a tail.
"""

from __future__ import annotations
