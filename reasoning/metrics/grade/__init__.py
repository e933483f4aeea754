"""The metric ``grade`` (Huang et al., EMNLP 2020): how coherent a response is, from its text and from a graph of its topics.

Keywords of history and response become the nodes of a dialogue graph whose edges are hops in the knowledge graph; a graph
attention network reads it beside a sentence encoder. Modules that need torch are imported when a metric is made or trained.
"""

from __future__ import annotations
