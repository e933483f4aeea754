"""The shapes of the public API's answers, written down from its documentation, and a comparison of an answer with them.

A shape is a type, a value that is expected, a list with the shape of its elements, or a dictionary with the shapes of its fields;
fields whose names end in ``?`` may be missing.
"""

from __future__ import annotations

from typing import Any

TERM = {"@id": str, "@type": "Node", "label": str, "language": str, "term": str, "sense_label?": str}
SOURCE = {"@id": str, "@type": "Source", "contributor?": str, "activity?": str, "process?": str}
EDGE = {
    "@id": str, "@type": "Edge", "dataset": str, "end": TERM, "license": str,
    "rel": {"@id": str, "@type": "Relation", "label": str}, "sources": [SOURCE], "start": TERM, "surfaceText": (str, None),
    "weight": float,
}  # fmt: skip
VIEW = {
    "@id": str, "@type": "PartialCollectionView", "firstPage": str, "paginatedProperty": "edges", "comment?": str,
    "nextPage?": str, "previousPage?": str,
}  # fmt: skip
ANSWER = {"@context": ["http://api.conceptnet.io/ld/conceptnet5.7/context.ld.json"], "version": str}
EDGES = {**ANSWER, "@id": str, "edges": [EDGE], "view?": VIEW}
FEATURE = {"@id": str, "edges": [{**EDGE, "other": TERM}], "feature": {"rel": str, "start?": str, "end?": str, "node?": str},
           "symmetric": bool, "view?": VIEW}  # fmt: skip
FEATURES = {**ANSWER, **TERM, "features": [FEATURE]}
RELATED = {**ANSWER, "@id": str, "related": [{"@id": str, "weight": float}]}
RELATEDNESS = {**ANSWER, "@id": str, "value": float}
URI = {**ANSWER, "@id": str}
ERROR = {"status": int, "details": str}


def differences(value: Any, shape: Any, location: str = "") -> list[str]:
    """Return where ``value`` has not the shape, as sentences."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return [f"{location} is not an object"]
        fields = {name.removesuffix("?"): name for name in shape}
        differences_found = [f"{location} has a field {name} of its own" for name in value if name not in fields]
        differences_found += [
            f"{location} has no {name}" for name, written in fields.items() if written == name and name not in value
        ]
        return differences_found + [
            difference
            for name in value
            if name in fields
            for difference in differences(value[name], shape[fields[name]], f"{location}.{name}")
        ]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{location} is not a list"]
        return [
            difference for number, part in enumerate(value) for difference in differences(part, shape[0], f"{location}[{number}]")
        ]
    if isinstance(shape, tuple):
        return [] if any(not differences(value, difference) for difference in shape) else [f"{location} is {value!r}"]
    if isinstance(shape, type):
        return [] if type(value) is shape else [f"{location} is {value!r}, not {shape.__name__}"]
    return [] if value == shape else [f"{location} is {value!r}, not {shape!r}"]
