"""Prompts of a causal language model in its chat template, and a yes-or-no question about replies to a text.

The prompt of the question is the text, a reply, and the question, in the model's chat template where it has one. Replies to one
text share its reading, and texts that begin alike share the reading of their beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import ModelError, reason_of
from .causal_lm import CausalModel
from .packed import PackedReader

_YES, _NO = ("yes", "Yes"), ("no", "No")
PLACEHOLDER = "<the text>"
"""Stands for the text that differs from prompt to prompt."""

Message = dict[str, str]
_REPLY_TOKENS = 160


class Template(NamedTuple):
    """A prompt before and after the text that differs."""

    before: str
    after: str


def chats(causal: CausalModel) -> bool:
    """Return whether the model's tokenizer has a chat template."""
    return bool(getattr(causal.tokenizer, "chat_template", None))


def chat_template(causal: CausalModel, *conversations: Sequence[Message]) -> Template:
    """Return the first conversation, with :data:`PLACEHOLDER` in it, that the model's chat template can render."""
    reason = ""
    for messages in conversations:
        try:
            whole = str(causal.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
        except Exception as error:  # jinja's own errors, and those that the template raises
            reason = reason_of(error)
            continue
        before, found, after = whole.partition(PLACEHOLDER)
        if not found or PLACEHOLDER in after:
            raise ModelError(f"the chat template of {causal.files.requested!r} changes its messages; give another model")
        return Template(before, after)
    raise ModelError(f"the chat template of {causal.files.requested!r} fails ({reason}); give another model")


def template_tokens(causal: CausalModel, template: Template) -> tuple[list[int], list[int]]:
    """Return the token ids of both parts, in which names of special tokens stand for those tokens; without a chat template the
    first part begins with the model's first token."""
    before, after = (causal.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"] for text in template)
    return ([] if chats(causal) else [causal.begin]) + before, after


class States(NamedTuple):
    """What the language model computes where its answer would stand."""

    hidden: NDArray[np.float32]  # hidden states of layers, float32, shape (replies, layers, width)
    margins: NDArray[np.float64]  # log-odds of yes against no in nats, shape (replies,); NaN when they were not asked for
    gains: NDArray[np.float64]  # nats per token by which texts make replies likelier, shape (replies,); NaN when not asked for


class YesNoPrompt:
    """The prompt with one question."""

    def __init__(self, causal: CausalModel, question: str, text_tokens: int) -> None:
        """Ask ``causal``, which reads the last ``text_tokens`` tokens of a text and the first 160 of a reply."""
        self.causal = causal
        self._reader = PackedReader(causal)
        self._question = question
        self._text_tokens = text_tokens

    def read_replies(
        self, replies: Sequence[tuple[str, str]], layers: Sequence[int], *, margins: bool = False, without: str | None = None
    ) -> States:
        """Return the model's states at ``layers`` (from 1, the one nearest to the input) for replies to texts; equal ones are
        read once.

        Args:
            replies: text and reply, which begins with the white space that separates it from its text.
            layers: their numbers.
            margins: add the log-odds of yes.
            without: add gains: the mean log-likelihood of a reply's tokens after its text, less that after ``without``, a text
                without context. Gains and margins need all layers.
        """
        if not replies:
            return States(np.empty((0, len(layers), 0), np.float32), np.empty(0), np.empty(0))
        distinct = list(dict.fromkeys(replies))
        number = {text: index for index, text in enumerate(dict.fromkeys(text for text, _ in distinct))}
        prefixes = [row[-self._text_tokens :] for row in self.causal.tokens(list(number))]
        tokens = [row[:_REPLY_TOKENS] for row in self.causal.tokens([reply for _, reply in distinct])]
        start, after = template_tokens(self.causal, self.template)
        rows = [(number[text], [*row, *after]) for (text, _), row in zip(distinct, tokens, strict=True)]
        targets: list[int] = []
        if without is not None:
            alone = list(dict.fromkeys(tuple(row) for row in tokens if row))
            targets = [len(row) for row in (*tokens, *alone)]
            rows += [(len(prefixes), list(row)) for row in alone]
            prefixes += self.causal.tokens([without])
        yes, no = self.answers if margins else ((), ())
        ends = self._reader.ends(start, prefixes, rows, layers, [*yes, *no], targets)
        odds = gains = np.full(len(distinct), np.nan)
        if margins:
            logits = ends.logits[: len(distinct)]
            odds = np.logaddexp.reduce(logits[:, : len(yes)], axis=1) - np.logaddexp.reduce(logits[:, len(yes) :], axis=1)
        if without is not None:
            losses, losses_alone = ends.losses[: len(distinct)].tolist(), ends.losses[len(distinct) :].tolist()
            loss_alone = dict(zip(alone, losses_alone, strict=True))
            gains = np.array([
                (loss_alone[tuple(row)] - loss) / len(row) if row else 0.0 for row, loss in zip(tokens, losses, strict=True)
            ])  # fmt: skip
        index_of = {reply: index for index, reply in enumerate(distinct)}
        back = [index_of[reply] for reply in replies]
        return States(ends.states[back], odds[back], gains[back])

    @cached_property
    def answers(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The tokens with which the answers yes and no begin."""
        space = "" if chats(self.causal) else " "
        yes, no = (
            tuple(dict.fromkeys(row[0] for row in self.causal.tokens([space + word for word in words]))) for words in (_YES, _NO)
        )
        if set(yes) & set(no):
            raise ModelError(
                f"the tokenizer of {self.causal.files.requested!r} gives yes and no the same first token; give another model"
            )
        return yes, no

    @cached_property
    def template(self) -> Template:
        """The prompt around the text and its reply: by the model's chat template, or as plain text."""
        question = f"\n\n{self._question}"
        if not chats(self.causal):
            return Template("", f"{question}\nAnswer:")
        return chat_template(self.causal, [{"role": "user", "content": f"{PLACEHOLDER}{question}"}])
