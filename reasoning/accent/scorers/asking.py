"""What a language model reads when it is asked whether an inference is plausible: a task, eight judged examples, the inference.

An instruction-tuned model is asked by its own chat template; one without a template reads a transcript. The examples were
written for this purpose; none is from ATOMIC or a judgement set.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from ....graph.errors import ModelError
from ...continuation import Continuation
from ...likelihood import CausalModel
from ..readings import Reading, reading, written

_TASK = "You judge whether inferences about everyday events are plausible, as a matter of common sense. Answer Yes or No."
_ANSWERS = ("Yes", "No")
EXAMPLES = (
    (("PersonX burns the toast", "xReact", "annoyed"), "Yes"),
    (("PersonX goes to the dentist", "xNeed", "to make an appointment"), "Yes"),
    (("PersonX breaks PersonX's leg", "xReact", "great"), "No"),
    (("PersonX plants a tree", "HinderedBy", "PersonX's uncle plays chess"), "No"),
    (("PersonX tells PersonY that the flight is late", "oWant", "to wait at the airport"), "Yes"),
    (("PersonX helps PersonY move house", "xAttr", "lazy"), "No"),
    (("PersonX never studies", "xEffect", "fails the exam"), "Yes"),
    (("PersonX thanks PersonY for the gift", "oEffect", "loses a job"), "No"),
)
_HERE = "<the inference>"


class Template(NamedTuple):
    """What stands before and after an inference in what the model reads, and the words that it may answer."""

    before: str
    after: str
    answers: tuple[str, ...]


class Asking:
    """A causal language model, and how it is asked."""

    def __init__(self, causal: CausalModel) -> None:
        """Ask ``causal``."""
        self.causal = causal

    def rows(self, inferences: Sequence[Reading]) -> list[list[int]]:
        """Return the tokens of each inference up to the answer; names of special tokens within it are text."""
        after = self.special(self.template.after)
        return [[*row, *after] for row in self.causal.tokens([written(*one) for one in inferences])]

    @cached_property
    def continuation(self) -> Continuation:
        """The model, with the task and the examples read.

        Raises:
            ModelError: it reads too few tokens, or its chat template is of no use.
        """
        beginning = self.special(self.template.before)
        if not self._chats:
            beginning = [self.causal.begin, *beginning]
        return Continuation(self.causal, beginning)

    @cached_property
    def template(self) -> Template:
        """The model's own, or that of a transcript."""
        if not self._chats:
            examples = "".join(f"{written(*reading(*one))}\nAnswer: {answer}\n\n" for one, answer in EXAMPLES)
            return Template(f"{_TASK}\n\n{examples}", "\nAnswer:", tuple(f" {answer}" for answer in _ANSWERS))
        before, found, after = self._chat().partition(_HERE)
        if not found or _HERE in after:
            raise ModelError(f"the chat template of {self.causal.files.given!r} changes what it is given; give another model")
        return Template(before, after, _ANSWERS)

    def special(self, text: str) -> list[int]:
        """Return the tokens of a template's own words, in which names of special tokens stand for them."""
        ids: list[int] = self.causal.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return ids

    @property
    def _chats(self) -> bool:
        return bool(getattr(self.causal.tokenizer, "chat_template", None))

    def _chat(self) -> str:
        """The conversation up to the answer, by the model's template; some have no place for a system's words."""
        said = [
            {"role": role, "content": text}
            for one, answer in EXAMPLES
            for role, text in (("user", written(*reading(*one))), ("assistant", answer))
        ]
        said.append({"role": "user", "content": _HERE})
        system = [{"role": "system", "content": _TASK}]
        plain = [{"role": "user", "content": f"{_TASK}\n\n{said[0]['content']}"}]
        for messages in (system + said, plain + said[1:]):
            try:
                return str(self.causal.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
            except Exception as error:  # jinja's own, by what the template objects to
                reason = str(error) or type(error).__name__
        raise ModelError(f"the chat template of {self.causal.files.given!r} fails ({reason}); give another model")
