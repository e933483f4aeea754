"""Tails that a COMET says: remembered where it was asked before, generated where not; or what any COMET said of old."""

from __future__ import annotations

from collections.abc import Sequence

from ....graph.errors import TacitError
from ..events import head_form
from .comet import Comet, Generated, as_known
from .memory import Memory
from .source import Found, Query


class CometTails:
    """What one COMET says. Only queries that it was never asked go through the model."""

    def __init__(self, comet: Comet, memory: Memory | None, *, remember: bool = True) -> None:
        """Ask ``comet``; with ``remember`` its answers are written to ``memory``, which is read in any case."""
        self.comet = comet
        self.memory = memory
        self.remember = remember and memory is not None
        self.signature = f"comet:{comet.signature}"

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return the model's tails for each query; of a model that fails nothing, with a note that says so."""
        asked = [Query(head_form(query.head), query.relation) for query in queries]
        answers = self._remembered(asked)
        unseen = [query for query in dict.fromkeys(asked) if query not in answers]
        note = self._generate(unseen, answers) if unseen else ""
        fresh = set(unseen)
        found = [as_known(query, answers.get(key, ()), self.comet.source) for query, key in zip(queries, asked, strict=True)]
        return [one._replace(note=note) if key in fresh else one for one, key in zip(found, asked, strict=True)]

    def _remembered(self, queries: Sequence[Query]) -> dict[Query, Sequence[Generated]]:
        if self.memory is None:
            return {}
        self.memory.refresh()
        said = {query: self.memory.recall(query, self.comet.source) for query in queries}
        return {query: tails for query, tails in said.items() if tails is not None}

    def _generate(self, queries: Sequence[Query], answers: dict[Query, Sequence[Generated]]) -> str:
        """Ask the model, and write down what it says; return a note where either failed, since a score must not end with it."""
        try:
            generated = self.comet.generate(queries)
        except Exception as error:  # torch's and the model's own errors, of many kinds
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            return f"the COMET {self.comet.files.given} failed ({reason}), so the graph alone answers"
        answers.update(zip(queries, generated, strict=True))
        if self.remember and self.memory is not None:
            try:
                self.memory.keep(queries, generated, self.comet.source)
            except (TacitError, OSError) as error:
                return f"what the COMET generated could not be kept: {error}"
        return ""


class AbsentComet:
    """Stands for a COMET that cannot be opened: knows nothing, and says why."""

    signature = "comet:absent"

    def __init__(self, reason: str) -> None:
        self._note = f"no COMET could be asked, so the graph alone answers: {reason}"

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return nothing for each query, with the reason."""
        return [Found(note=self._note) for _ in queries]


class LearntTails:
    """What any COMET said of old and a journal still holds, as it was when this was opened."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._sources = memory.sources()
        self.signature = f"learnt:{memory.digest}" if memory.digest else ""

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return what the models said of each query, one model after the other by name."""
        return [
            Found(tuple(
                tail
                for source in self._sources
                for tail in as_known(query, self._memory.recall(query, source) or (), source).tails
            ))
            for query in queries
        ]  # fmt: skip
