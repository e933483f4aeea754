"""Where the known tails of a head come from: the graph, heads of the graph that are like it, a COMET, or nowhere.

:mod:`.source` says what a tail source is; :mod:`.table` holds a graph's events as arrays, :mod:`.vectors` their embeddings and
:mod:`.nearest` finds heads among them; :mod:`.lookup` answers from the graph, :mod:`.comet` from a language model (of either
kind of :mod:`.writers`) whose answers :mod:`.journal` keeps, and :mod:`.chain` asks them one after the other.
"""

from __future__ import annotations
