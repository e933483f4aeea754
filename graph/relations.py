"""The relation table: every relation of ConceptNet 5.7 and ATOMIC-2020 with its meaning, where A is the head and B the tail.

Relations have the datasets' own names. A name that both datasets use (``AtLocation``, ``Causes`` …) is one relation, because it
is one relationship type in the graph. ConceptNet's negations and the rare relations left from Open Mind Common Sense are
included, since the official files contain them. A graph may contain other relations (``dbpedia_…``, RDF predicates), and a
mapping may add some with their meaning (:class:`AddedRelation`), which the graph's manifest keeps.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from .errors import InputError, did_you_mean
from .names import check_relation

if TYPE_CHECKING:
    from .protocol import KnowledgeGraph

_CONCEPTNET = """
RelatedTo                 | A and B are related in some way
FormOf                    | A is an inflected form of B
IsA                       | A is a kind of B
InstanceOf                | A is an instance of B
PartOf                    | A is a part of B
HasA                      | B belongs to A, or is a part of it
UsedFor                   | the purpose of A is B
CapableOf                 | A can do B
AtLocation                | B is a typical place for A
Causes                    | A brings about B
HasSubevent               | B happens as a part of A
HasFirstSubevent          | A begins with B
HasLastSubevent           | A ends with B
HasPrerequisite           | B has to happen before A
HasProperty               | A can be described as B
MotivatedByGoal           | someone does A to reach B
ObstructedBy              | B stands in the way of A
Desires                   | A wants B
CreatedBy                 | B makes A
Synonym                   | A and B mean much the same
Antonym                   | A and B are opposites in a relevant way
DistinctFrom              | A and B are distinct members of one set
DerivedFrom               | A is a word or phrase that holds B
SymbolOf                  | A stands for B
DefinedAs                 | B explains A
MannerOf                  | A is one way of doing B
Entails                   | whoever does A does B
LocatedNear               | A and B are typically near each other
HasContext                | A is a word of the field B
SimilarTo                 | A resembles B
EtymologicallyRelatedTo   | A and B have a common origin
EtymologicallyDerivedFrom | the word A comes from the word B
CausesDesire              | A makes someone want B
MadeOf                    | A is made of B
ReceivesAction            | B can be done to A
ExternalURL               | B is a web address about A
DesireOf                  | A is wanted by B
InheritsFrom              | A takes its properties from B
LocationOfAction          | B is where A is done
HasPainCharacter          | the pain of A feels like B
HasPainIntensity          | the pain of A is as strong as B
NotIsA                    | A is not a kind of B
NotHasA                   | A has no B
NotUsedFor                | the purpose of A is not B
NotCapableOf              | A cannot do B
NotHasProperty            | A cannot be described as B
NotCauses                 | A does not bring about B
NotDesires                | A does not want B
NotMadeOf                 | A is not made of B
"""

_ATOMIC = """
xIntent      | why PersonX does A
xNeed        | what PersonX must do before A
xAttr        | how PersonX is seen for A
xEffect      | what happens to PersonX after A
xReact       | how PersonX feels after A
xWant        | what PersonX wants after A
oEffect      | what happens to others after A
oReact       | how others feel after A
oWant        | what others want after A
isAfter      | A happens after B
isBefore     | A happens before B
HasSubEvent  | B happens as a part of A
HinderedBy   | B can keep A from happening
Causes       | A brings about B
xReason      | B gives a cause for A
isFilledBy   | B can stand in the blank of A
ObjectUse    | people use A for B
MadeUpOf     | A consists of B
HasProperty  | A can be described as B
AtLocation   | B is a typical place for A
CapableOf    | A can do B
Desires      | A wants B
NotDesires   | A does not want B
"""


def _meanings(table: str) -> dict[str, str]:
    """Return name and meaning of each line."""
    pairs = (line.split(" | ") for line in table.strip().splitlines())
    return {name.strip(): meaning.strip() for name, meaning in pairs}


RELATIONS: Mapping[str, str] = MappingProxyType(_meanings(_CONCEPTNET) | _meanings(_ATOMIC))
"""Every known relation with its meaning, ConceptNet's first."""

ATOMIC_RELATIONS: tuple[str, ...] = tuple(_meanings(_ATOMIC))
"""The 23 relations of ATOMIC-2020: social, then about events, then about things."""


SOCIAL_RELATIONS = frozenset(ATOMIC_RELATIONS) - frozenset(_meanings(_CONCEPTNET))
"""The relations that ATOMIC-2020 alone has; they join events."""


@dataclass(frozen=True, slots=True)
class AddedRelation:
    """A relation that is not in the table, as a mapping adds it.

    Attributes:
        name: well-formed (:func:`tacit.graph.names.check_relation`).
        meaning: where A is the head and B the tail, as in the table.
        symmetric: A and B can be exchanged; then the head is the one whose URI sorts first.
        inverse: name under which a file may give the same with head and tail exchanged; empty when there is none.
    """

    name: str
    meaning: str
    symmetric: bool = False
    inverse: str = ""


def relations_of(graph: KnowledgeGraph) -> set[str]:
    """Return the names of the relations that ``graph`` contains or that a mapping added to it."""
    return {*graph.counts().relations, *graph.manifest().relations}


def check_known(names: Collection[str], known: Collection[str] = ()) -> None:
    """Check that each of ``names`` is a relation of the table, one of ``known``, or begins with ``dbpedia``.

    Raises:
        InputError: one is not.
    """
    for name in names:
        check_relation(name)
        if name in RELATIONS or name in known or name.startswith("dbpedia"):
            continue
        case_variants = [relation for relation in (*RELATIONS, *sorted(known)) if relation.lower() == name.lower()]
        advice = f"did you mean {case_variants[0]}?" if case_variants else "tacit info GRAPH lists a graph's relations"
        raise InputError(f"unknown relation {name}; {did_you_mean(name, case_variants or [*RELATIONS, *sorted(known)], advice)}")
