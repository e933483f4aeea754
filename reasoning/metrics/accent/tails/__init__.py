"""Where the known tails of a head come from: the graph, a COMET, or nowhere.

:mod:`.source` says what a tail source is and asks several in turn; :mod:`.table` holds a graph's events as arrays and
:mod:`.vectors` their embeddings; :mod:`.lookup` answers from the graph, :mod:`.comet` from a language model, whose answers
:mod:`.journal` keeps.
"""

from __future__ import annotations
