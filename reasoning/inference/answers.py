"""Answers to CICERO's questions about a turn, from the graph: each with the edge or the model that it comes from.

The turn's events (the extractor ``rules`` of ACCENT) are looked up under the relations that answer the question (:mod:`.lookup`).
The first source with an answer counts: the event itself in any wording; where they are given, events near it by an encoder, and
a COMET; then events with similar words. A model of ``tacit train cicero`` may add one more answer. A turn for which none of them
has any gets no answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from ...graph.cypher_store import claim_query
from ...graph.errors import InputError
from ...graph.model import FoundPath, Path
from ...graph.open import GraphLike
from ...graph.protocol import KnowledgeGraph
from ...graph.questions import QUESTIONS, Question, question_of, without_speaker
from ...graph.schema import Json, shape
from ..base import Signature
from ..metrics.accent.events import FEELINGS, OF_OTHERS, head_form, normalise
from ..metrics.accent.scorers.base import Query, TailSource
from ..metrics.accent.tails.sources import Provenance
from ..metrics.accent.verbalise import statement
from ..registry import over_graph
from .emotions import emotion_of
from .lookup import ANSWER_PATTERNS, EventLookup, Hit, RelationPattern
from .trained import TrainedModel, open_trained

if TYPE_CHECKING:
    from ..metrics.accent.extractors.rules import RuleExtractor, StatedEvent

VERSION = 1
DEFAULT_LIMIT = 3
DEFAULT_NEAREST = 3
_NOTEBOOK_WIDTH = 800

SPEAKER, LISTENER, SOMEONE = "the speaker", "the listener", "someone"
_PEOPLE = {"1": SPEAKER, "0": LISTENER}
_PERSON = re.compile(r"Person[XYZ]")


@shape(
    "text", "event", "relation", "origin", "likeness", "emotion", "backwards", "negated", "edge", "parameters",
    optional=("emotion", "edge", "parameters"),
)  # fmt: skip
@dataclass(frozen=True, slots=True)
class Answer(Json):
    """One answer to a question about a turn.

    Attributes:
        text: in English, with "the speaker" (of the turn) and "the listener".
        event: the event of the turn that was looked up, e.g. ``PersonX buys a ticket``.
        relation: that answers, under the name of the edge; backwards: read from tail to head; negated: the answer is that the
            tail is not so.
        origin: ``graph`` (the event itself), ``nearest`` (an event like it), ``comet`` (generated), or ``model`` (written by
            one of ``tacit train cicero``; it has no event and no relation).
        likeness: of the event that the edge is about to the turn's, in 0..1; 1 when they are the same.
        emotion: one of :data:`.emotions.EMOTIONS`, for reactions that name one; else empty.
        edge: the graph's own assertion; None for a generated answer.
    """

    text: str
    event: str
    relation: str
    origin: str
    likeness: float
    emotion: str = ""
    backwards: bool = False
    negated: bool = False
    edge: FoundPath | None = None

    @property
    def parameters(self) -> dict[str, str] | None:
        """Parameters of :func:`tacit.graph.cypher_store.claim_query` that find the edge; None where there is none."""
        if self.edge is None:
            return None
        [row] = self.edge.assertions
        return {"head": row.head, "relation": row.relation, "tail": row.tail}


@shape()
@dataclass(frozen=True, slots=True)
class TurnAnswers(Json):
    """The answers about one turn.

    Attributes:
        turn: index of the turn, from 0; text: the turn, without the letter of its speaker.
        events: of the turn, worded as heads of ATOMIC.
        answers: by question, best first; an empty list where the graph has no edge.
        query: Cypher that finds the edge of an answer, with its ``parameters``.
        signature: under which the answers are reproducible.
    """

    turn: int
    text: str
    events: tuple[str, ...]
    answers: dict[Question, tuple[Answer, ...]]
    query: str = field(default="", repr=False)
    signature: str = ""

    def svg(self, width: int = 960) -> str:
        """Return the picture: the turn in the middle, and a branch of answers for each question; see
        :func:`tacit.reasoning.draw_turns`.

        Args:
            width: in pixels, 240..2,400.

        Raises:
            InputError: ``width`` is out of range.
        """
        from ..explanation.turn_picture import draw_turns

        return draw_turns([self], width=width)

    def _repr_svg_(self) -> str:
        """Return the picture, for notebooks, as wide as the output of a cell usually is."""
        return self.svg(_NOTEBOOK_WIDTH)


@shape("turn", "text", "events", "answers", "query", "signature", "svg", optional=("svg",))
class DrawnTurnAnswers(TurnAnswers):
    """The JSON of the answers about a turn with their picture."""


class DialogueAnswers(list[TurnAnswers]):
    """The answers about the turns of one dialogue, in order; notebooks show them as a picture."""

    def svg(self, width: int = 960) -> str:
        """Return one picture of the first twelve turns, one below the other; ``width`` in pixels, 240..2,400.

        Raises:
            InputError: ``width`` is out of range, or there is no turn.
        """
        from ..explanation.turn_picture import draw_turns

        return draw_turns(self, width=width)

    def _repr_svg_(self) -> str | None:
        """Return the picture, for notebooks; None without a turn."""
        return self.svg(_NOTEBOOK_WIDTH) if self else None


class Inference:
    """Answers the five questions over one graph; :func:`load_inference` opens it."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        extractor: RuleExtractor,
        lookup: EventLookup,
        *,
        nearest: int = DEFAULT_NEAREST,
        near: TailSource | None = None,
        comet: TailSource | None = None,
        writer: TrainedModel | None = None,
    ) -> None:
        """Answer from ``graph``; ``near`` and ``comet`` are asked where it has nothing on an event, before events like it by
        words.

        With a ``writer`` each question gets one more answer, whatever the graph has.
        """
        if nearest < 0:
            raise InputError(f"nearest must be >= 0, not {nearest}")
        self.graph = graph
        self.extractor = extractor
        self.lookup = lookup
        self.provenance = Provenance(graph)
        self.nearest = nearest
        self.writer = writer
        self._sources = tuple(source for source in (near, comet) if source is not None)
        self.signature = Signature(
            "infer",
            (
                ("graph", graph.manifest().digest),
                ("extractor", extractor.signature),
                ("nearest", str(nearest)),
                *((("sources", ",".join(source.signature for source in self._sources)),) if self._sources else ()),
                *((("model", writer.signature),) if writer is not None else ()),
            ),
            VERSION,
        )

    def answer(
        self,
        dialogue: Sequence[str],
        target: int | None = None,
        questions: Sequence[Question | str] = QUESTIONS,
        *,
        limit: int = DEFAULT_LIMIT,
    ) -> DialogueAnswers:
        """Return the answers about every turn of a dialogue, or about one.

        Args:
            dialogue: the turns, oldest first, with or without the letter of their speaker.
            target: index of the turn from 0, negative from the end; None: every turn.
            questions: which, by name or word for word.
            limit: most answers to each question, best first.

        Raises:
            InputError: the dialogue is a text, or has no such turn; a question is unknown; ``limit`` is negative.
        """
        turns = _turns(dialogue)
        asked_questions = [question_of(str(question)) for question in questions]
        if limit < 0:
            raise InputError(f"limit must be >= 0, not {limit}")
        if target is not None and not -len(turns) <= target < len(turns):
            raise InputError(f"there is no turn {target}; the dialogue has {len(turns)}, from 0")
        indices = range(len(turns)) if target is None else [target % len(turns)]
        texts = [without_speaker(turns[index]) for index in indices]
        query, signature = claim_query().text, str(self.signature)
        result = DialogueAnswers()
        written = self._written(turns, texts, asked_questions)
        for index, text, events in zip(indices, texts, self.extractor.events_batch(texts), strict=True):
            answers = {question: (*self.answers_to(events, question, limit), *next(written)) for question in asked_questions}
            result.append(TurnAnswers(index, text, tuple(event.text for event in events), answers, query, signature))
        return result

    def _written(
        self, turns: Sequence[str], texts: Sequence[str], asked_questions: Sequence[Question]
    ) -> Iterator[tuple[Answer, ...]]:
        """Yield what the writer answers to each question about each turn, nothing without a writer."""
        if self.writer is None:
            yield from [()] * (len(texts) * len(asked_questions))
            return
        questions = [(question, text, turns) for text in texts for question in asked_questions]
        for (question, *_), text in zip(questions, self.writer.answer(questions), strict=True):
            emotion = emotion_of(text) if question is Question.REACTION else None
            yield (Answer(text, "", "", "model", 1.0, emotion=emotion or ""),) if text else ()

    def answers_to(self, events: Sequence[StatedEvent], question: Question, limit: int = DEFAULT_LIMIT) -> Iterator[Answer]:
        """Yield the best answers about some events: of the events themselves, then of like ones; relations take turns."""
        ranked = []
        for number, event in enumerate(events):
            for order, pattern in enumerate(ANSWER_PATTERNS[question]):
                for rank, hit in enumerate(self.hits(event, pattern)):
                    person = 0 if question is not Question.REACTION else listener_rank(event, pattern)
                    ranked.append(((person, -hit.likeness, rank, number, order), event, pattern, hit))
        ranked.sort(key=lambda row: row[0])
        seen: set[str] = set()
        for _, event, pattern, hit in ranked:
            if len(seen) == limit:
                return
            answer = self._answer(event, pattern, hit)
            key = answer.emotion or answer.text
            if answer.text and key not in seen:
                seen.add(key)
                yield answer

    def hits(self, event: StatedEvent, pattern: RelationPattern) -> list[Hit]:
        """Return the answers of the first source that has any for an event under a relation."""
        if pattern.concepts:
            return self.lookup.of_concepts(phrases_of(event), pattern)
        if result := self.lookup.exact_hits(event.text, pattern):
            return result
        if not pattern.backwards:
            for source in self._sources:
                [known] = source.find([Query(event.text, pattern.relation)])
                if known.tails:
                    return [Hit(tail.text, tail, None, tail.likeness) for tail in known.tails]
        return self.lookup.near(event.text, pattern, self.nearest) if self.nearest else []

    def path_of(self, hit: Hit, pattern: RelationPattern) -> Path | None:
        """Return the edge behind an answer; None where a model generated it."""
        return self.provenance.path(hit.tail, pattern.relation) if hit.tail is not None else hit.path

    def _answer(self, event: StatedEvent, pattern: RelationPattern, hit: Hit) -> Answer:
        path = self.path_of(hit, pattern)
        relation = pattern.relation if path is None else path.assertions[0].relation
        backwards = pattern.backwards if path is None or hit.tail is None else _is_backwards(path, pattern, relation)
        emotion = emotion_of(hit.text) if pattern.relation in ("xReact", "oReact") else None
        return Answer(
            text=hit.text if _is_phrase(hit) else worded(hit.text, pattern, event),
            event=event.text,
            relation=relation,
            origin="graph" if hit.tail is None else str(hit.tail.origin),
            likeness=hit.likeness,
            emotion=emotion or "",
            backwards=backwards,
            negated=pattern.negated,
            edge=None if path is None else FoundPath(path.nodes, path.assertions),
        )


def _is_phrase(hit: Hit) -> bool:
    """Whether the answer is a term of ConceptNet, which may be a noun or an adjective and is not worded as an event."""
    return hit.tail is None or hit.tail.source == "conceptnet"


def _is_backwards(path: Path, pattern: RelationPattern, relation: str) -> bool:
    """Whether an edge is read from its tail to its head; ``isBefore`` is stored as ``isAfter`` of the inverse."""
    return pattern.backwards != (relation != pattern.relation and path.assertions[0].head != path.nodes[0])


def listener_rank(event: StatedEvent, pattern: RelationPattern) -> int:
    """Return 0 where the reaction is the listener's, 1 where it may be, 2 where it is the speaker's."""
    first = event.people[0] if event.people else ""
    if first not in _PEOPLE:
        return 1
    return 0 if (first == "0") != (pattern.relation in OF_OTHERS) else 2


def phrases_of(event: StatedEvent) -> list[str]:
    """Return the phrases under which ConceptNet may hold an event: its words without persons, shortened, then its subject."""
    words = [word for word in head_form(event.text).split() if not _PERSON.match(word) and word not in ("a", "an", "the")]
    phrases = [" ".join(words[:size]) for size in range(min(len(words), 5), 1, -1)]
    return [*phrases, *([event.subject] if event.subject else [])]


def worded(text: str, pattern: RelationPattern, event: StatedEvent) -> str:
    """Return an answer in English: a tail as a statement with the turn's participants, negated where it is read so."""
    clause = pattern.backwards or text.startswith("Person")  # a clause with a subject keeps its words
    form = normalise(text) if clause else statement(text, pattern.relation)
    if pattern.relation in FEELINGS and not pattern.backwards:
        form = form.replace(" is ", " feels ", 1) if form.startswith("Person") else form
    names = dict(zip(("PersonX", "PersonY", "PersonZ"), (_PEOPLE.get(who, who) for who in event.people), strict=False))
    names.setdefault("PersonX", SPEAKER)
    names.setdefault("PersonY", LISTENER if names["PersonX"] != LISTENER else SPEAKER)
    worded_form = _PERSON.sub(lambda match: names.get(match[0], SOMEONE), form)
    return f"it is not so that {worded_form}" if pattern.negated and worded_form else worded_form


def _turns(dialogue: Any) -> tuple[str, ...]:
    from ..filtering import check_turns

    turns = check_turns(dialogue)
    if not turns:
        raise InputError("the dialogue has no turn; give at least one")
    return turns


def load_inference(
    graph: GraphLike,
    *,
    nearest: int = DEFAULT_NEAREST,
    encoder: Any = None,
    threshold: float = 0.7,
    comet: str | FilePath | Any | None = None,
    model: str | FilePath | TrainedModel | None = None,
    pipeline: Any = None,
    device: str | None = None,
    progress: Any = None,
) -> Inference:
    """Return what answers the five questions over ``graph``, a path, a URL or an open graph.

    A graph that is opened here is closed when the result is no longer referenced.

    Args:
        nearest: number of near events to ask where the graph has nothing on the event itself; 0 asks none.
        encoder: folder or id of a sentence encoder, or ``default``, that finds near events by meaning; None: by words alone.
            threshold: lowest cosine, in -1..1, of such an event.
        comet: a COMET's folder or id, asked where the graph and near events have nothing; None asks none.
        model: a folder of ``tacit train cicero --task generate``, which adds an answer to each question; None adds none.
        pipeline: a spaCy pipeline with a parser; device: where models run, as torch names it.
        progress: called with the name of what is computed once per graph, and the amount done since the last call.

    Raises:
        GraphNotFound: there is no graph.
        InputError: an option is out of range.
        ModelError: a model cannot be opened.
        MissingExtra: torch or transformers is not installed.
    """
    from ..metrics.accent.extractors.rules import make
    from ..metrics.accent.scorers.resources import ScorerResources
    from ..metrics.accent.tails.sources import CometTails, NearestTails

    def make_inference(graph: KnowledgeGraph) -> Inference:
        writer = model if model is None or isinstance(model, TrainedModel) else open_trained(model, device=device)
        if writer is not None:
            writer.check_task("generate")
        named = None if encoder == "default" else encoder
        resources = ScorerResources(graph, encoder=named, device=device, progress=progress)
        lookup = EventLookup(graph, resources.table)
        near = None
        if encoder is not None and nearest:
            near = NearestTails(lookup.tails, resources.vectors, limit=nearest, threshold=threshold)
        tails = None if comet is None else CometTails(resources.comet(comet), resources.memory)
        return Inference(graph, make(pipeline=pipeline), lookup, nearest=nearest, near=near, comet=tails, writer=writer)

    return over_graph(graph, make_inference)
