"""Sources of the known tails of a head: the graph, its nearest heads, and a COMET.

:mod:`.source` defines the interface and the chain of sources; :mod:`.table` holds a graph's events as arrays and :mod:`.vectors`
their embeddings; :mod:`.lookup` looks tails up in the graph; :mod:`.comet` generates them by a language model, and
:mod:`.journal` stores what was generated.
"""

from __future__ import annotations
