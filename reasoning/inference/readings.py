"""Which relations of the graph answer which question, and in which direction.

``xEffect`` from a cause to its effect answers "What is the cause?" when it is read backwards: whatever has the target's event as
its effect. ``HinderedBy`` answers "What is the prerequisite?" when it is negated: that the hindrance is absent. Relations have
the names of the table of events (:mod:`tacit.reasoning.metrics.accent.tails.event_table`), in which ConceptNet's
``HasPrerequisite``, ``MotivatedByGoal`` and ``HasSubevent`` are ``xNeed``, ``xIntent`` and ``HasSubEvent``, and ``isBefore`` is
also ``isAfter`` of the inverse; answers show the edge as the graph has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ...graph.questions import Question


class Reading(NamedTuple):
    """A relation that answers a question."""

    relation: str  # its name
    backwards: bool = False  # it is read from its tail to its head
    negated: bool = False  # the answer is that the tail is not so
    concepts: bool = False  # it joins concepts of ConceptNet, not events


READINGS: Mapping[Question, tuple[Reading, ...]] = MappingProxyType(
    {
        Question.CAUSE: (
            Reading("xReason"), Reading("Causes", backwards=True), Reading("xEffect", backwards=True), Reading("isAfter"),
            Reading("Causes", backwards=True, concepts=True),
        ),
        Question.SUBSEQUENT: (
            Reading("xEffect"), Reading("oEffect"), Reading("xWant"), Reading("oWant"), Reading("isBefore"),
            Reading("isAfter", backwards=True), Reading("HasSubEvent"),
        ),
        Question.PREREQUISITE: (Reading("xNeed"), Reading("HinderedBy", negated=True)),
        Question.MOTIVATION: (Reading("xIntent"), Reading("Desires", concepts=True)),
        Question.REACTION: (Reading("oReact"), Reading("xReact")),
    }
)  # fmt: skip
"""The readings of each question, the most direct ones first."""

AGAINST: Mapping[Question, tuple[Reading, ...]] = MappingProxyType(
    {
        Question.CAUSE: (Reading("HinderedBy"), Reading("NotCauses", backwards=True, concepts=True)),
        Question.SUBSEQUENT: (Reading("HinderedBy"), Reading("NotDesires", concepts=True)),
        Question.PREREQUISITE: (Reading("HinderedBy"),),
        Question.MOTIVATION: (Reading("HinderedBy"), Reading("NotDesires", concepts=True)),
        Question.REACTION: (),
    }
)  # fmt: skip
"""The readings that speak against an answer: what the graph says keeps the event from happening, or is not wanted."""
