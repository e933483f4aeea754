"""Metrics for DeepEval (``pip install 'tacit-kg[deepeval]'``): :class:`TacitConversationalMetric` and :class:`TacitMetric`.

DeepEval sends usage data to its makers unless ``DEEPEVAL_TELEMETRY_OPT_OUT=1`` is set; this module sends nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from ...graph.errors import InputError, MissingExtra
from .response_scorer import MetricResult, ResponseScorer, in_words, metadata_of

try:
    from deepeval.metrics import BaseConversationalMetric, BaseMetric
    from deepeval.test_case import ConversationalTestCase, LLMTestCase
except ModuleNotFoundError as error:
    raise MissingExtra("deepeval", "deepeval") from error

if TYPE_CHECKING:
    from ...graph.open import GraphLike

Turns = Literal["last", "all"]


class _Tacit:
    """What both metrics share: their arguments, and how results become score, reason and success.

    DeepEval measures with copies of a metric, which it makes from the attributes that have the names of the constructor's
    arguments; ``judge`` is one of them, so that all copies share the metrics and the graph that were opened once.

    Attributes:
        score: the value of the first metric, or the mean of several turns; None when it cannot judge. A metric without a score
            has ``skipped`` set: DeepEval leaves it out of the results.
        score_breakdown: the value of every metric.
        reason: the evidence in words, or why there is no score.
        success: whether the score reaches ``threshold``; None without a threshold or a score.
        details: percentile and signature of each scored response; as JSON also in ``verbose_logs``.
    """

    score: float | None
    score_breakdown: dict[str, float | None]
    reason: str
    success: bool | None
    skipped: bool
    error: str | None
    verbose_logs: str | None
    details: list[dict[str, Any]]

    def __init__(
        self,
        metrics: str | Sequence[str] | None = None,
        *,
        graph: GraphLike | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        threshold: float | None = None,
        judge: ResponseScorer | None = None,
    ) -> None:
        """Check the arguments, those of :class:`ResponseScorer`; metrics and graph are opened by the first test case.

        Args:
            judge: an open scorer to use instead of one made from the other arguments.

        Raises:
            InputError: an argument is invalid.
        """
        self.judge = judge or ResponseScorer(metrics, graph=graph, options=options, threshold=threshold)
        self.threshold = self.judge.threshold
        self.async_mode, self.include_reason, self.verbose_mode = True, True, False
        self._clear()

    @property
    def __name__(self) -> str:
        return f"tacit {self.judge.headline}"

    def is_successful(self) -> bool | None:
        """Return whether the score reaches the threshold; None without a threshold or a score, False after an error."""
        if self.threshold is not None and self.error is not None:
            self.success = False
        return self.success

    def _clear(self) -> None:
        """Forget the previous test case."""
        self.score = self.success = self.error = self.verbose_logs = None
        self.score_breakdown, self.reason, self.skipped, self.details = {}, "", False, []

    def _take(self, scored: Sequence[tuple[str, Sequence[MetricResult]]]) -> float | None:
        """Store the results of the responses, each with a label that is empty when there is only one, and return the score."""
        self._clear()
        values = [results[0].value for _, results in scored if results[0].value is not None]
        self.score = fmean(values) if values else None
        self.score_breakdown = {
            f"{label} {result.metric}".strip(): result.value for label, results in scored for result in results
        }
        self.reason = "\n".join(f"{label}: {in_words(results)}" if label else in_words(results) for label, results in scored)
        self.details = [({"turn": label} if label else {}) | metadata_of(results) for label, results in scored]
        self.verbose_logs = "\n".join(json.dumps(detail, ensure_ascii=False) for detail in self.details)
        self.skipped = self.score is None
        if self.score is not None:
            self.success = self.judge.passes(self.score)
        return self.score


class TacitConversationalMetric(_Tacit, BaseConversationalMetric):  # type: ignore[misc,unused-ignore]
    """Scores replies of the assistant in a conversation; each ``Turn`` is a turn of the history.

    With ``turns="last"`` the assistant's last reply is scored against the turns before it. With ``turns="all"`` every reply that
    has a turn before it is, and the score is the mean of those that the first metric can judge.
    """

    def __init__(
        self,
        metrics: str | Sequence[str] | None = None,
        *,
        graph: GraphLike | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        threshold: float | None = None,
        turns: Turns = "last",
        judge: ResponseScorer | None = None,
    ) -> None:
        """See :class:`_Tacit`; ``turns``: score the last reply, or all.

        Raises:
            InputError: an argument is invalid.
        """
        if turns not in ("last", "all"):
            raise InputError(f"turns is {turns!r}; give 'last' or 'all'")
        super().__init__(metrics, graph=graph, options=options, threshold=threshold, judge=judge)
        self.turns = turns

    def measure(self, test_case: ConversationalTestCase, *_args: Any, **_options: Any) -> float | None:
        """Score the conversation and return the score; None when no reply can be judged.

        Raises:
            InputError: no turn of the assistant has a turn before it.
        """
        texts = [turn.content for turn in test_case.turns]
        replies = [index for index, turn in enumerate(test_case.turns) if index and turn.role == "assistant"]
        if not replies:
            raise InputError("the conversation has no reply: no turn of the assistant has a turn before it; add one")
        if self.turns == "last":
            return self._take([("", self.judge(texts[: replies[-1]], texts[replies[-1]]))])
        return self._take([(f"turn {index + 1}", self.judge(texts[:index], texts[index])) for index in replies])

    async def a_measure(self, test_case: ConversationalTestCase, *_args: Any, **_options: Any) -> float | None:
        """Score as :meth:`measure` does, in a thread."""
        return await asyncio.to_thread(self.measure, test_case)


class TacitMetric(_Tacit, BaseMetric):  # type: ignore[misc,unused-ignore]
    """Scores ``actual_output`` as a response to ``input``; ``expected_output`` is the reference of metrics that need one."""

    def measure(self, test_case: LLMTestCase, *_args: Any, **_options: Any) -> float | None:
        """Score the test case and return the score; None when the response cannot be judged.

        Raises:
            InputError: there is no ``actual_output``.
        """
        if test_case.actual_output is None:
            raise InputError("the test case has no actual_output, which is the response to score; set it")
        references = [test_case.expected_output] if test_case.expected_output else []
        return self._take([("", self.judge([test_case.input], test_case.actual_output, references))])

    async def a_measure(self, test_case: LLMTestCase, *_args: Any, **_options: Any) -> float | None:
        """Score as :meth:`measure` does, in a thread."""
        return await asyncio.to_thread(self.measure, test_case)
