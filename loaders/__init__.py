"""Readers of files as typed rows: ConceptNet, ATOMIC, RDF, triples, vectors, dialogues, judgements, CICERO, CIDER; and downloads.

Names are imported on first use, so that ``import tacit.loaders`` is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph.lazy import lazy_names

if TYPE_CHECKING:
    from ..graph.item import Item, ItemError
    from ..graph.questions import Instance
    from .atomic2020 import read_atomic
    from .cicero import Candidates, read_answered, read_candidates, read_cicero
    from .cider import MarkedDialogue, MarkedTriplet, Span, read_cider
    from .conceptnet import read_conceptnet
    from .dialogues import Dialogue, read_dialogues, read_items
    from .download import Source, all_sources, fetch, find_source
    from .generation_inputs import Context, History, Targets, read_contexts, read_histories, read_targets
    from .judgements import Judgement, JudgementError, read_judgements
    from .mapping import Mapping, open_mapping, shipped_mappings
    from .numberbatch import Vector, read_numberbatch
    from .rdf import read_rdf
    from .rdf_export import write_rdf, write_result_rdf
    from .reader import Reader, Reject, Report
    from .treebank import read_paragraphs
    from .triples import read_triples
    from .tuples import HumanTuple, JudgedTuple, TupleRow, read_event_tuples, read_judged_tuples
    from .vectors import Vectors, build_vectors, open_vectors

_MODULES = {
    "..graph.item": "Item ItemError",
    "..graph.questions": "Instance",
    ".atomic2020": "read_atomic",
    ".cicero": "Candidates read_answered read_candidates read_cicero",
    ".cider": "MarkedDialogue MarkedTriplet Span read_cider",
    ".conceptnet": "read_conceptnet",
    ".dialogues": "Dialogue read_dialogues read_items",
    ".download": "Source all_sources fetch find_source",
    ".generation_inputs": "Context History Targets read_contexts read_histories read_targets",
    ".judgements": "Judgement JudgementError read_judgements",
    ".mapping": "Mapping open_mapping shipped_mappings",
    ".rdf": "read_rdf",
    ".rdf_export": "write_rdf write_result_rdf",
    ".reader": "Reader Reject Report",
    ".treebank": "read_paragraphs",
    ".triples": "read_triples",
    ".tuples": "HumanTuple JudgedTuple TupleRow read_event_tuples read_judged_tuples",
    ".numberbatch": "Vector read_numberbatch",
    ".vectors": "Vectors build_vectors open_vectors",
}  # fmt: skip

__all__ = [
    "Candidates", "Context", "Dialogue", "History", "HumanTuple", "Instance", "Item", "ItemError", "JudgedTuple",
    "Judgement", "JudgementError", "Mapping", "MarkedDialogue", "MarkedTriplet", "Reader", "Reject",
    "Report", "Source", "Span", "Targets", "TupleRow", "Vector", "Vectors", "all_sources", "build_vectors", "fetch",
    "find_source", "open_mapping", "open_vectors", "read_answered", "read_atomic", "read_candidates", "read_cicero",
    "read_cider", "read_conceptnet", "read_contexts", "read_dialogues", "read_event_tuples", "read_histories", "read_items",
    "read_judged_tuples", "read_judgements", "read_numberbatch", "read_paragraphs", "read_rdf", "read_targets", "read_triples",
    "shipped_mappings", "write_rdf", "write_result_rdf",
]  # fmt: skip
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
