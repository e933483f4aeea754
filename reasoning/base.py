"""What a metric returns: a score with its evidence and its signature, and the protocol and base class of metrics.

Evidence has one schema for all metrics: pieces, each with its share of the score and what it was computed from (a mention in
the response, one in the history, a path of assertions between them). ``to_dict`` gives plain values for JSON, and ``from_dict``
reads them back without loss.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from ..graph.errors import PluginError
from ..graph.item import Item
from ..graph.loading import rare_cycle_search
from ..graph.model import Path
from ..graph.schema import Json, Nullable, shape
from .text.linking import Mention
from .text.text_check import reason_not_judged

if TYPE_CHECKING:
    from .reference import Reference

ItemLike = Item | tuple[Sequence[str], str] | tuple[Sequence[str], str, Sequence[str]]
"""An item, or a tuple of its history, its response and, optionally, its references."""

_SPECIAL = "|\\"  # escaped in the parts of a signature


@dataclass(frozen=True, slots=True)
class Signature:
    """What a score depends on besides the text: two runs with equal signatures give equal scores.

    Attributes:
        metric: the metric's name.
        parts: names and values in order, e.g. ``(("graph", "8f0c…"), ("pipeline", "…"), ("hops", "6"))``.
        version: version of the metric's rules.
    """

    metric: str
    parts: tuple[tuple[str, str], ...]
    version: int

    def __str__(self) -> str:
        """Return ``metric|name:value|…|v:version``; bars, backslashes and colons in names are escaped with a backslash."""
        parts = (f"{_escaped(name, _SPECIAL + ':')}:{_escaped(value, _SPECIAL)}" for name, value in self.parts)
        return "|".join([_escaped(self.metric, _SPECIAL), *parts, f"v:{self.version}"])

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Parse a signature that ``str`` wrote.

        Signatures of older versions, which escaped nothing, can be parsed too: a bar that is not followed by a name and a colon
        belongs to the value before it, and a backslash that escapes nothing is a plain character.

        Raises:
            ValueError: ``text`` is not a signature.
        """
        metric, *fields = _split(text, "|")
        parts: list[str] = []
        for part in fields:
            if len(_split(part, ":")) > 1 or not parts:
                parts.append(part)
            else:
                parts[-1] += f"|{part}"
        *named, last = [_split(part, ":") for part in parts] or [[""]]
        if not metric or last[0] != "v" or any(len(part) < 2 for part in (*named, last)):
            raise ValueError(f"{text!r} is not a signature")
        pairs = tuple((_unescaped(name), _unescaped(":".join(value))) for name, *value in named)
        return cls(_unescaped(metric), pairs, int(last[1]))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """In JSON a signature is its text."""
        from pydantic_core import core_schema as make

        parse = make.no_info_after_validator_function(cls.from_text, make.str_schema())
        return make.json_or_python_schema(
            parse, make.union_schema([make.is_instance_schema(cls), parse]), serialization=make.to_string_ser_schema()
        )


def _escaped(text: str, special: str) -> str:
    """Return ``text`` with a backslash before each ``special`` character; the backslash must be one of them."""
    return "".join(f"\\{character}" if character in special else character for character in text)


def _unescaped(text: str) -> str:
    return re.sub(r"\\([\\|:])", r"\1", text)


def _split(text: str, separator: str) -> list[str]:
    """Split ``text`` at each ``separator`` that is not escaped by a backslash."""
    parts, start, index = [], 0, 0
    while index < len(text):
        if text[index] == separator:
            parts.append(text[start:index])
            start = index + 1
        index += 2 if text[index] == "\\" else 1
    return [*parts, text[start:]]


@shape("kind", "name", "value", "share", "response", "turn", "history", "hops", "path", "asserted", "rests_on")
@dataclass(frozen=True, slots=True)
class Piece(Json):
    """One piece of the evidence for a score.

    Attributes:
        kind: ``concept`` for a concept of the response, ``feature`` for an input of a model, ``base`` for a model's output
            without any input, ``triple`` for a chain of assertions between history and response, ``part`` for a number that the
            score is computed from, without a share, ``parallel`` for another assertion between the ends of the path above it,
            without a share too; metrics define others of their own.
        value: the piece's own value; share: its part of the score (shares add up to the score).
        name: a label for pieces without a position in a text, e.g. ``one-hop triples``.
        response: the mention in the response.
        turn: index of the history turn, from 0; history: the mention in that turn. None when there is none.
        hops: length of the shortest path between the two mentions; None when there is none.
        path: that path, the strongest, from the history's concept to the response's; None when not requested or none exists.
        asserted: whether the path's assertions are in the graph; false for assertions predicted by a model and for those that
            were not looked up.
        rests_on: the pieces that this one is computed from, strongest first.
    """

    kind: str
    value: Nullable
    share: Nullable
    response: Mention | None = None
    turn: int | None = None
    history: Mention | None = None
    hops: int | None = None
    path: Path | None = None
    name: str = ""
    rests_on: tuple[Piece, ...] = ()
    asserted: bool = True


@dataclass(frozen=True, slots=True)
class Evidence(Json):
    """The pieces that a score is computed from, and a note, e.g. why the metric cannot judge; the note is empty otherwise."""

    pieces: tuple[Piece, ...] = ()
    note: str = ""


@shape("value", "percentile", "evidence", "signature")
@dataclass(frozen=True, slots=True)
class Score(Json):
    """A metric's score of one response: ``value`` in the metric's range, its ``evidence`` and its ``signature``.

    A value of NaN means that the metric cannot judge this response; the evidence's note says why.

    Attributes:
        percentile: share of the human responses of a reference corpus with this value or a lower one, 0..100; None when there
            is no reference distribution for this metric with these options, or no value. The signature names the reference, and
            its graph when that is another one. See :mod:`tacit.reasoning.reference`.
    """

    value: Nullable
    evidence: Evidence
    signature: Signature
    percentile: float | None = None

    def _repr_html_(self) -> str:
        """Return the score with its evidence and its signature, for notebooks."""
        from html import escape

        from .explanation import explain

        return f"<pre>{escape(explain(self))}</pre>"


@runtime_checkable
class Metric(Protocol):
    """A dialogue metric: deterministic, with the same scores one by one and in batches of any size and order.

    Scores that a neural model computes may differ by up to 1e-5 with the batch, since its rounding depends on the batch's size.
    """

    @property
    def name(self) -> str:
        """Name for :func:`tacit.reasoning.load_metric`."""

    @property
    def signature(self) -> Signature:
        """Signature of every score of this metric."""

    def score(self, history: Sequence[str], response: str, references: Sequence[str] = (), *, explain: bool = False) -> Score:
        """Score ``response`` after the turns of ``history`` (oldest first); ``explain`` adds evidence that costs extra time.

        ``references`` are human responses to the same history; metrics that need none ignore them.

        Raises:
            InputError: the history or the references are not a sequence of texts, or the response is not a text.
        """

    def score_batch(self, items: Sequence[ItemLike], *, explain: bool = False) -> list[Score]:
        """Score many items, or tuples ``(history, response[, references])``; each as :meth:`score` does."""


class BatchScoring(ABC):
    """Base class of metrics that score in batches; a single response is a batch of one.

    Attributes:
        batch_size: default batch size of a stream; affects speed only. Large batches suit encoders, which group texts of one
            length; small ones let slow metrics report progress more often.
        reads_english: the metric interprets English; a response that is not an English sentence (:mod:`.text.text_check`) has no
            score.
        plugin: distribution and version that the metric comes from, part of its signature; empty for tacit's own.
    """

    batch_size: int = 1024
    reads_english: bool = False
    plugin: str = ""

    _own: Signature
    _referred: tuple[Signature, Reference | None] | None = None

    @property
    def signature(self) -> Signature:
        """Signature of every score: the metric's own, and the reference for percentiles where there is one."""
        return self._with_reference()[0]

    @signature.setter
    def signature(self, own: Signature) -> None:
        self._own, self._referred = own, None

    @property
    def reference(self) -> Reference | None:
        """The reference distribution for percentiles, of another graph when there is none of this one; None without any."""
        return self._with_reference()[1]

    def own_signature(self) -> Signature:
        """Return the signature without the reference; metrics that read files to compute it override this method."""
        return self._own

    def _with_reference(self) -> tuple[Signature, Reference | None]:
        """Return the signature that names the reference, and the reference; both are computed once."""
        if self._referred is None:
            from .reference import find_reference

            own = self.own_signature()
            if self.plugin:
                own = Signature(own.metric, (*own.parts, ("plugin", self.plugin)), own.version)
            match = find_reference(own)
            if match is None:
                self._referred = (own, None)
            else:
                reference, name = match
                self._referred = (Signature(own.metric, (*own.parts, ("reference", name)), own.version), reference)
        return self._referred

    def score(self, history: Sequence[str], response: str, references: Sequence[str] = (), *, explain: bool = False) -> Score:
        """Score one response; see :class:`Metric`."""
        return self.score_batch([(history, response, references)], explain=explain)[0]

    def score_batch(self, items: Sequence[ItemLike], *, explain: bool = False) -> list[Score]:
        """Score many responses; see :class:`Metric`."""
        checked = [item if isinstance(item, Item) else Item(*item) for item in items]
        reasons = [reason_not_judged(item.history, item.response) if self.reads_english else "" for item in checked]
        readable = [item for item, reason in zip(checked, reasons, strict=True) if not reason]
        with rare_cycle_search():
            scored = self.score_checked(readable, explain) if readable else []
        if self.plugin:
            scored = self._of_plugin(scored, len(readable))
        remaining = iter(scored)
        scores = [no_score(reason, self.signature) if reason else next(remaining) for reason in reasons]
        reference = self.reference
        if reference is None:
            return scores
        return [
            score
            if isnan(score.value)
            else Score(score.value, score.evidence, score.signature, reference.percentile(score.value))
            for score in scores
        ]

    def _of_plugin(self, results: Sequence[Any], number: int) -> list[Score]:
        """Check a plugin's scores and return them with the signature that names the plugin.

        Raises:
            PluginError: they are not scores, or not one for each item.
        """
        if len(results) != number or not all(isinstance(score, Score) for score in results):
            kinds = ", ".join(sorted({type(score).__name__ for score in results}))
            raise PluginError(f"it returns {len(results)} results ({kinds}) for {number} items; it must return one Score an item")
        return [replace(score, signature=self.signature) for score in results]

    @abstractmethod
    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
        """Return one score for each item, in order."""


def no_score(reason: str, signature: Signature) -> Score:
    """Return the score of a response that a metric cannot judge: NaN, with ``reason`` as the note."""
    return Score(nan, Evidence(note=reason), signature)
