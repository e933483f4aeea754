"""The relation table: every relation of ConceptNet 5.7 and ATOMIC-2020 with its meaning, symmetry and a sentence template.

Relations are the datasets' own names. A name that both datasets use (``AtLocation``, ``Causes`` …) is one relation here,
because it is one relationship type in the graph. ConceptNet's negations and the rare leftovers of Open Mind Common Sense are
listed too, since official files hold them. A graph may hold relations beyond this table (``dbpedia_…``, RDF predicates):
they are verbalised by their name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from .errors import InputError
from .model import Assertion
from .names import check_relation, text_of

Dataset = Literal["conceptnet", "atomic2020"]

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation.

    Attributes:
        name: as the datasets write it and as the graph's relationship type is called.
        meaning: one line; A is the head, B the tail.
        template: a sentence with ``{head}`` and ``{tail}``.
        symmetric: whether B relates to A whenever A relates to B.
        datasets: which of ``conceptnet`` and ``atomic2020`` use the name.
    """

    name: str
    meaning: str
    template: str
    symmetric: bool = False
    datasets: tuple[Dataset, ...] = ("conceptnet",)


_CONCEPTNET = """
RelatedTo*                 | A and B are related in some way                        | {head} is related to {tail}
FormOf                     | A is an inflected form of B                            | {head} is a form of {tail}
IsA                        | A is a kind of B                                       | {head} is a kind of {tail}
InstanceOf                 | A is an instance of B                                  | {head} is an instance of {tail}
PartOf                     | A is a part of B                                       | {head} is a part of {tail}
HasA                       | B belongs to A, or is a part of it                     | {head} has {tail}
UsedFor                    | the purpose of A is B                                  | {head} is used for {tail}
CapableOf                  | A can do B                                             | {head} can {tail}
AtLocation                 | B is a typical place for A                             | {head} is found at {tail}
Causes                     | A brings about B                                       | {head} causes {tail}
HasSubevent                | B happens as a part of A                               | {tail} happens during {head}
HasFirstSubevent           | A begins with B                                        | {head} begins with {tail}
HasLastSubevent            | A ends with B                                          | {head} ends with {tail}
HasPrerequisite            | B has to happen before A                               | {head} requires {tail}
HasProperty                | A can be described as B                                | {head} is {tail}
MotivatedByGoal            | someone does A to reach B                              | the goal of {head} is {tail}
ObstructedBy               | B stands in the way of A                               | {head} is obstructed by {tail}
Desires                    | A wants B                                              | {head} wants {tail}
CreatedBy                  | B makes A                                              | {head} is created by {tail}
Synonym*                   | A and B mean much the same                             | {head} means the same as {tail}
Antonym*                   | A and B are opposites in a relevant way                | {head} is the opposite of {tail}
DistinctFrom*              | A and B are distinct members of one set                | {head} is not {tail}
DerivedFrom                | A is a word or phrase that holds B                     | the word {head} comes from {tail}
SymbolOf                   | A stands for B                                         | {head} is a symbol of {tail}
DefinedAs                  | B explains A                                           | {head} is defined as {tail}
MannerOf                   | A is one way of doing B                                | {head} is a way of {tail}
Entails                    | whoever does A does B                                  | {head} entails {tail}
LocatedNear*               | A and B are typically near each other                  | {head} is near {tail}
HasContext                 | A is a word of the field B                             | {head} is said in the context of {tail}
SimilarTo*                 | A resembles B                                          | {head} is similar to {tail}
EtymologicallyRelatedTo*   | A and B have a common origin                           | the words {head} and {tail} share an origin
EtymologicallyDerivedFrom  | the word A comes from the word B                       | the word {head} is derived from {tail}
CausesDesire               | A makes someone want B                                 | {head} makes one want {tail}
MadeOf                     | A is made of B                                         | {head} is made of {tail}
ReceivesAction             | B can be done to A                                     | {head} can be {tail}
ExternalURL                | B is a web address about A                             | {head} is described at {tail}
DesireOf                   | A is wanted by B                                       | {head} is a desire of {tail}
InheritsFrom               | A takes its properties from B                          | {head} inherits from {tail}
LocationOfAction           | B is where A is done                                   | {head} is done at {tail}
HasPainCharacter           | the pain of A feels like B                             | {head} hurts in the manner {tail}
HasPainIntensity           | the pain of A is as strong as B                        | {head} hurts with intensity {tail}
NotIsA                     | A is no kind of B                                      | {head} is not a kind of {tail}
NotHasA                    | A has no B                                             | {head} does not have {tail}
NotUsedFor                 | the purpose of A is not B                              | {head} is not used for {tail}
NotCapableOf               | A cannot do B                                          | {head} cannot {tail}
NotHasProperty             | A cannot be described as B                             | {head} is not {tail}
NotCauses                  | A does not bring about B                               | {head} does not cause {tail}
NotDesires                 | A does not want B                                      | {head} does not want {tail}
NotMadeOf                  | A is not made of B                                     | {head} is not made of {tail}
"""

_ATOMIC = """
xIntent      | why PersonX does A                                     | {head}, because PersonX intended {tail}
xNeed        | what PersonX must do before A                          | before {head}, PersonX needed {tail}
xAttr        | how PersonX is seen for A                              | {head}, so PersonX is seen as {tail}
xEffect      | what happens to PersonX after A                        | {head}; as a result, PersonX {tail}
xReact       | how PersonX feels after A                              | {head}; as a result, PersonX feels {tail}
xWant        | what PersonX wants after A                             | {head}; as a result, PersonX wants {tail}
oEffect      | what happens to others after A                         | {head}; as a result, others {tail}
oReact       | how others feel after A                                | {head}; as a result, others feel {tail}
oWant        | what others want after A                               | {head}; as a result, others want {tail}
isAfter      | A happens after B                                      | {head}, after {tail}
isBefore     | A happens before B                                     | {head}, before {tail}
HasSubEvent  | B happens as a part of A                               | {head} includes {tail}
HinderedBy   | B can keep A from happening                            | {head} can be hindered by {tail}
Causes       | A brings about B                                       | {head} causes {tail}
xReason      | B gives a cause for A                                  | {head} because {tail}
isFilledBy   | B can stand in the blank of A                          | the blank in {head} can be filled by {tail}
ObjectUse    | people use A for B                                     | {head} is used for {tail}
MadeUpOf     | A consists of B                                        | {head} is made up of {tail}
HasProperty  | A can be described as B                                | {head} is {tail}
AtLocation   | B is a typical place for A                             | {head} is found at {tail}
CapableOf    | A can do B                                             | {head} can {tail}
Desires      | A wants B                                              | {head} wants {tail}
NotDesires   | A does not want B                                      | {head} does not want {tail}
"""


def _read(table: str, dataset: Dataset) -> dict[str, Relation]:
    """Return the relations of a table whose lines are ``name | meaning | template``, a star behind symmetric names."""
    relations = {}
    for line in table.strip().splitlines():
        name, meaning, template = (part.strip() for part in line.split(" | "))
        symmetric = name.endswith("*")
        name = name.rstrip("*")
        relations[name] = Relation(name, meaning, template, symmetric, (dataset,))
    return relations


def _merge(conceptnet: dict[str, Relation], atomic: dict[str, Relation]) -> dict[str, Relation]:
    """Return both tables as one; a shared name keeps ConceptNet's row and names both datasets."""
    shared: tuple[Dataset, ...] = ("conceptnet", "atomic2020")
    merged = conceptnet | {name: row for name, row in atomic.items() if name not in conceptnet}
    return {
        name: Relation(
            name, row.meaning, row.template, row.symmetric, shared if name in conceptnet and name in atomic else row.datasets
        )
        for name, row in merged.items()
    }


RELATIONS: Mapping[str, Relation] = MappingProxyType(_merge(_read(_CONCEPTNET, "conceptnet"), _read(_ATOMIC, "atomic2020")))
"""Every known relation by name, ConceptNet's first."""

CONCEPTNET_RELATIONS: tuple[str, ...] = tuple(name for name, row in RELATIONS.items() if "conceptnet" in row.datasets)
"""Names that ConceptNet 5.7 files use; ``/r/dbpedia/*`` comes on top."""

ATOMIC_RELATIONS: tuple[str, ...] = tuple(_read(_ATOMIC, "atomic2020"))
"""The 23 relations of ATOMIC-2020: social, then about events, then about things."""


def verbalise(assertion: Assertion) -> str:
    """Return ``assertion`` as an English phrase, e.g. ``knife is used for cut``.

    A relation outside the table is spelt out from its name: ``dbpedia_knownFor`` reads ``head dbpedia known for tail``.
    """
    head, tail = text_of(assertion.head), text_of(assertion.tail)
    relation = RELATIONS.get(assertion.relation)
    if relation is None:
        words = _WORD_START.sub(" ", assertion.relation).replace("_", " ").lower()
        return f"{head} {words} {tail}"
    # One pass over the template, so that braces inside a text stay text.
    return relation.template.format(head=head, tail=tail)


def check_known(names: Collection[str], known: Collection[str] = ()) -> None:
    """Check that each of ``names`` is a relation of one of the datasets, or one of ``known``; ``dbpedia_…`` is always one.

    Raises:
        InputError: one is not.
    """
    for name in names:
        check_relation(name)
        if name in RELATIONS or name in known or name.startswith("dbpedia"):
            continue
        same = [other for other in (*RELATIONS, *sorted(known)) if other.lower() == name.lower()]
        if not same:
            from difflib import get_close_matches

            same = get_close_matches(name, [*RELATIONS, *sorted(known)], 1)
        hint = f"did you mean {same[0]}" if same else "tacit info shows a graph's relations"
        raise InputError(f"{name} is no relation that is known here; {hint}")
