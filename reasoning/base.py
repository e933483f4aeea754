"""What every metric gives back: a value, the evidence for it, and a signature under which it can be had again.

Evidence has one schema for all metrics: pieces, each with its share of the value, and what it rests on (a mention in the
response, one in the history, a path of assertions between them). ``to_dict`` gives plain values for JSON, and ``from_dict`` takes
them back: what was read equals what was written. It raises ``KeyError``, ``TypeError`` or ``ValueError`` for anything else.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from ..graph.errors import PluginError
from ..graph.item import Item
from ..graph.loading import rare_cycle_search
from ..graph.model import Assertion, Path
from .text.judgeable import why_not
from .text.linking import Mention

if TYPE_CHECKING:
    from .reference import Reference

ItemLike = Item | tuple[Sequence[str], str] | tuple[Sequence[str], str, Sequence[str]]
"""An item, or the history, the response and perhaps the references of one."""

_SIGNS = "|\\"

_RARE = ("license", "contributors", "head_sense", "tail_sense", "rank", "score")


@dataclass(frozen=True, slots=True)
class Signature:
    """What a score depends on besides the text: two runs with one signature give one number.

    Attributes:
        metric: the metric's name.
        parts: names and values in order, e.g. ``(("graph", "8f0c…"), ("pipeline", "…"), ("hops", "6"))``.
        version: of the metric's rules.
    """

    metric: str
    parts: tuple[tuple[str, str], ...]
    version: int

    def __str__(self) -> str:
        """Return ``metric|name:value|…|v:version``; a bar, a backslash, and a colon in a name, have a backslash before them."""
        parts = (f"{_escaped(name, _SIGNS + ':')}:{_escaped(value, _SIGNS)}" for name, value in self.parts)
        return "|".join([_escaped(self.metric, _SIGNS), *parts, f"v:{self.version}"])

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the signature that reads ``text``, as ``str`` writes it.

        Signatures of older versions, which escaped nothing, are read too: a bar that no name and colon follow belongs to the
        value before it, and a backslash stands for itself where it escapes nothing.

        Raises:
            ValueError: it is no signature.
        """
        metric, *words = _split(text, "|")
        parts: list[str] = []
        for word in words:
            if len(_split(word, ":")) > 1 or not parts:
                parts.append(word)
            else:
                parts[-1] += f"|{word}"
        *named, last = [_split(part, ":") for part in parts] or [[""]]
        if not metric or last[0] != "v" or any(len(part) < 2 for part in (*named, last)):
            raise ValueError(f"{text!r} is no signature")
        pairs = tuple((_unescaped(name), _unescaped(":".join(value))) for name, *value in named)
        return cls(_unescaped(metric), pairs, int(last[1]))


def _escaped(text: str, signs: str) -> str:
    """Return ``text`` with a backslash before each of ``signs``, of which the backslash must be one."""
    return "".join(f"\\{sign}" if sign in signs else sign for sign in text)


def _unescaped(text: str) -> str:
    return re.sub(r"\\([\\|:])", r"\1", text)


def _split(text: str, sign: str) -> list[str]:
    """Return the parts of ``text`` between those ``sign`` that have no backslash before them."""
    parts, start, place = [], 0, 0
    while place < len(text):
        if text[place] == sign:
            parts.append(text[start:place])
            start = place + 1
        place += 2 if text[place] == "\\" else 1
    return [*parts, text[start:]]


@dataclass(frozen=True, slots=True)
class Piece:
    """One reason for a score.

    Attributes:
        kind: what it is: ``concept`` for a concept of the response, ``feature`` for a number that a model reads, ``base`` for
            what it says when it knows nothing, ``triple`` for a chain of assertions between the two sides,
            ``part`` for a number that a value is worked out from, without a share; metrics name others of their own.
        value: what it is worth by itself; share: the part of the score that is due to it (shares add up to the value).
        name: what it is called, for pieces that are no place in a text, e.g. ``one-hop triples``.
        response: where it stands in the response.
        turn: index of the history turn that it was found in, from 0; history: where in that turn. None when there is none.
        hops: length of the shortest path between the two; None when there is none.
        path: that path, from the history's concept to the response's, its strongest; None when not asked for or none.
        asserted: whether the path's assertions stand in the graph as they are given; not what a model holds, nor what was not
            looked up.
        rests_on: the pieces that this one is made of, strongest first.
    """

    kind: str
    value: float
    share: float
    response: Mention | None = None
    turn: int | None = None
    history: Mention | None = None
    hops: int | None = None
    path: Path | None = None
    name: str = ""
    rests_on: tuple[Piece, ...] = ()
    asserted: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "kind": self.kind,
            "name": self.name,
            "value": self.value,
            "share": self.share,
            "response": self.response.to_dict() if self.response else None,
            "turn": self.turn,
            "history": self.history.to_dict() if self.history else None,
            "hops": self.hops,
            "path": path_to_dict(self.path) if self.path else None,
            "asserted": self.asserted,
            "rests_on": [piece.to_dict() for piece in self.rests_on],
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        """Take back what :meth:`to_dict` gave."""
        return cls(
            row["kind"],
            _number(row["value"]),
            _number(row["share"]),
            Mention(**row["response"]) if row["response"] is not None else None,
            row["turn"],
            Mention(**row["history"]) if row["history"] is not None else None,
            row["hops"],
            path_from_dict(row["path"]) if row["path"] is not None else None,
            row["name"],
            tuple(cls.from_dict(piece) for piece in row["rests_on"]),
            bool(row["asserted"]),
        )


@dataclass(frozen=True, slots=True)
class Evidence:
    """The pieces that a score is made of, and a note where the value does not speak for itself (empty otherwise)."""

    pieces: tuple[Piece, ...] = ()
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"pieces": [piece.to_dict() for piece in self.pieces], "note": self.note}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        """Take back what :meth:`to_dict` gave."""
        return cls(tuple(Piece.from_dict(piece) for piece in row["pieces"]), row["note"])


@dataclass(frozen=True, slots=True)
class Score:
    """A metric's judgement of one response: ``value`` in the metric's range, ``evidence`` for it, and its ``signature``.

    A value that is no number (NaN) means that the metric cannot judge this response; the evidence's note says why.

    Attributes:
        percentile: share of the true responses of a reference corpus with this value or a lower one, 0..100; None where there
            is no reference for the metric under this signature, or no value. The signature names the reference. See
            :mod:`tacit.reasoning.reference`.
    """

    value: float
    evidence: Evidence
    signature: Signature
    percentile: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; null where the metric cannot judge."""
        return {
            "value": None if isnan(self.value) else self.value,
            "percentile": self.percentile,
            "evidence": self.evidence.to_dict(),
            "signature": str(self.signature),
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        """Take back what :meth:`to_dict` gave; null, which JSON has for NaN, is NaN, and a row without evidence has none."""
        evidence = Evidence.from_dict(row["evidence"]) if "evidence" in row else Evidence()
        percentile = row.get("percentile")
        signature = Signature.from_text(row["signature"])
        return cls(_number(row["value"]), evidence, signature, None if percentile is None else float(percentile))


@runtime_checkable
class Metric(Protocol):
    """A dialogue metric: deterministic, and the same one by one as in batches of any size and order."""

    @property
    def name(self) -> str:
        """Name under which :func:`tacit.reasoning.load_metric` knows it."""

    @property
    def signature(self) -> Signature:
        """Signature of every score it gives."""

    def score(self, history: Sequence[str], response: str, references: Sequence[str] = (), *, explain: bool = False) -> Score:
        """Score ``response`` after the turns of ``history`` (oldest first); ``explain`` adds evidence that costs extra.

        ``references`` are responses of people at the same place; metrics that compare with none leave them aside.

        Raises:
            InputError: the history or the references are no sequence of texts, or the response is no text.
        """

    def score_batch(self, items: Sequence[ItemLike], *, explain: bool = False) -> list[Score]:
        """Score many items, or tuples ``(history, response[, references])``; each as :meth:`score` does."""


class BatchScoring(ABC):
    """Base of metrics that score in batches: one response is a batch of one.

    Attributes:
        together: items that a stream gives it at a time unless the caller says how many; it changes the speed and nothing else.
            An encoder gains from many, since it finds more texts of one length; slow metrics show their progress by batches.
        reads_english: it interprets English; a response that is not English, or no sentence (:mod:`.judgeable`), has no score.
        plugin: the distribution that it comes from and its version; empty for tacit's own. It stands in the signature.
    """

    together: int = 1024
    reads_english: bool = False
    plugin: str = ""

    _own: Signature
    _referred: tuple[Signature, Reference | None] | None = None

    @property
    def signature(self) -> Signature:
        """Signature of every score it gives: its own, and the reference that percentiles come from where there is one."""
        return self._with_reference()[0]

    @signature.setter
    def signature(self, own: Signature) -> None:
        self._own, self._referred = own, None

    @property
    def reference(self) -> Reference | None:
        """The distribution that percentiles come from; None where there is none for this metric, its options and its graph."""
        return self._with_reference()[1]

    def own_signature(self) -> Signature:
        """Return the signature without the reference, once; overridden by metrics that read files for it, as late as possible."""
        return self._own

    def _with_reference(self) -> tuple[Signature, Reference | None]:
        """Return the signature that names the reference, and the reference; both are worked out once."""
        if self._referred is None:
            from .reference import find_reference

            own = self.own_signature()
            if self.plugin:
                own = Signature(own.metric, (*own.parts, ("plugin", self.plugin)), own.version)
            found = find_reference(own.metric, str(own))
            parts = own.parts if found is None else (*own.parts, ("reference", found.label))
            self._referred = (Signature(own.metric, parts, own.version), found)
        return self._referred

    def score(self, history: Sequence[str], response: str, references: Sequence[str] = (), *, explain: bool = False) -> Score:
        """Score one response; see :class:`Metric`."""
        return self.score_batch([(history, response, references)], explain=explain)[0]

    def score_batch(self, items: Sequence[ItemLike], *, explain: bool = False) -> list[Score]:
        """Score many responses; see :class:`Metric`."""
        given = [item if isinstance(item, Item) else Item(*item) for item in items]
        reasons = [why_not(item.history, item.response) if self.reads_english else "" for item in given]
        readable = [item for item, reason in zip(given, reasons, strict=True) if not reason]
        with rare_cycle_search():
            scored = self.score_checked(readable, explain) if readable else []
        if self.plugin:
            scored = self._of_plugin(scored, len(readable))
        found = iter(scored)
        scores = [no_score(reason, self.signature) if reason else next(found) for reason in reasons]
        reference = self.reference
        if reference is None:
            return scores
        return [
            one if isnan(one.value) else Score(one.value, one.evidence, one.signature, reference.percentile(one.value))
            for one in scores
        ]

    def _of_plugin(self, given: Sequence[Any], wanted: int) -> list[Score]:
        """Return the scores of a plugin with the signature that names it.

        Raises:
            PluginError: they are no scores, or not as many as there are items.
        """
        if len(given) != wanted or not all(isinstance(score, Score) for score in given):
            kinds = ", ".join(sorted({type(score).__name__ for score in given}))
            raise PluginError(f"it gives {len(given)} results ({kinds}) for {wanted} items, where each must have one Score")
        return [replace(score, signature=self.signature) for score in given]

    @abstractmethod
    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
        """Return one score for each item, in order."""


def no_score(reason: str, signature: Signature) -> Score:
    """Return the score of a response that a metric cannot judge: NaN, with a note of the ``reason``."""
    return Score(nan, Evidence(note=reason), signature)


def path_to_dict(path: Path) -> dict[str, Any]:
    """Return a path as plain values: its nodes, one line for people, and its steps with direction and provenance.

    Of the provenance, source and dataset always stand there, the rest (licence, contributors, senses, rank) where it is known.
    """
    steps = [
        {
            "head": assertion.head,
            "relation": assertion.relation,
            "tail": assertion.tail,
            "direction": "forward" if assertion.head == start else "backward",
            "weight": assertion.weight,
            "source": assertion.source,
            "dataset": assertion.dataset,
            **{name: value for name in _RARE if (value := getattr(assertion, name)) not in ("", None)},
        }
        for start, assertion in zip(path.nodes, path.assertions, strict=False)
    ]
    return {"nodes": list(path.nodes), "text": path.text(), "steps": steps}


def path_from_dict(row: Mapping[str, Any]) -> Path:
    """Take back what :func:`path_to_dict` gave."""
    steps = [{name: value for name, value in step.items() if name != "direction"} for step in row["steps"]]
    return Path(tuple(row["nodes"]), tuple(Assertion(**step) for step in steps))


def _number(value: float | None) -> float:
    """A number as JSON gives it: null stands for NaN."""
    return nan if value is None else float(value)
