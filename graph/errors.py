"""The errors that tacit raises on purpose, as one tree; each message is one sentence with what is wrong and what to do.

TacitError
├── InputError           an argument, a file's content or a query is invalid (exit status 2)
│   ├── UnknownName      a text that is not a concept or event of the graph
│   ├── QueryRefused     a Cypher query that may do more than read the graph
│   └── QueryInvalid     a Cypher query that the engine cannot parse, bind or evaluate
├── GraphError           a failure of the store, or damaged data in it
│   ├── GraphNotFound    there is no graph (exit status 2)
│   ├── GraphBusy        another process is writing to it
│   ├── GraphUnavailable the server does not answer, or the connection was lost
│   └── QueryTimeout     a query exceeded its time limit and was stopped
├── DamagedInput         an input file ends early: it was truncated, or its checksum is wrong
├── LoadError            a file is not in the expected format
├── FetchError           a failed download
├── ModelError           a pipeline or model that cannot be opened or used
├── PluginError          a metric or tuple scorer of another distribution that cannot be used
├── ServiceError         a service failed, or what answers at its address is not a tacit service
│   └── ServiceUnavailable  no answer, or too busy, for longer than the client's time limit
└── MissingExtra         an optional dependency is not installed
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence


class TacitError(Exception):
    """Root of the tree; ``except TacitError`` catches everything that tacit raises on purpose."""

    exit_status = 1


class InputError(TacitError):
    """An argument, a file's content or a query is invalid."""

    exit_status = 2


class UnknownName(InputError):
    """A text is not a concept, or not an event, of the graph."""


class QueryRefused(InputError):
    """A Cypher query does something other than read the graph."""


class QueryInvalid(InputError):
    """A Cypher query that the engine cannot parse, bind or evaluate."""


class GraphError(TacitError):
    """The store failed, or its data is damaged."""


class GraphNotFound(GraphError):
    """There is no graph at the path or URL."""

    exit_status = 2


class GraphBusy(GraphError):
    """Another process is writing to the graph."""


class GraphUnavailable(GraphError):
    """The database server does not answer, refuses the credentials, or the connection was lost."""


class QueryTimeout(GraphError):
    """A query exceeded its time limit and was stopped."""


class DamagedInput(TacitError):
    """An input file ends early, truncated or with a wrong checksum; what was read before may have been used."""


class LoadError(TacitError):
    """A file is not in the expected format."""

    exit_status = 2


class FetchError(TacitError):
    """A download failed or does not match its published checksum."""


class ModelError(TacitError):
    """A language pipeline or a model cannot be opened or used."""


class PluginError(TacitError):
    """A metric or tuple scorer of another distribution cannot be imported, opened or used."""


class ServiceError(TacitError):
    """A service failed on a request, or what answers at its address is not a tacit service."""


class ServiceUnavailable(ServiceError):
    """A service does not answer, or stays too busy, for longer than the client's time limit."""


CPU_TORCH = "pip install torch --index-url https://download.pytorch.org/whl/cpu"
"""Command that installs torch without CUDA."""
_INCLUDED = {"neural": {"minilm", "gguf"}}
"""An extra, and the extras that include it."""


class MissingExtra(TacitError):
    """Optional dependencies are not installed; the message has one command that installs all of them.

    Attributes:
        packages: the packages that are not installed.
        extras: the optional dependencies of tacit-kg that contain them.
    """

    def __init__(self, packages: str | Sequence[str], extras: str | Sequence[str]) -> None:
        """Make the message for missing ``packages``, which ``extras`` contain."""
        self.packages = (packages,) if isinstance(packages, str) else tuple(dict.fromkeys(packages))
        names = {extras} if isinstance(extras, str) else set(extras)
        self.extras = tuple(sorted(extra for extra in names if not _INCLUDED.get(extra, set()) & names))
        missing = f"{', '.join(self.packages)} {'is' if len(self.packages) == 1 else 'are'} not installed"
        hint = f" (on Linux without a GPU, run this first: {CPU_TORCH})" if self._brings_cuda() else ""
        super().__init__(f"{missing}; run: pip install 'tacit-kg[{','.join(self.extras)}]'{hint}")

    def _brings_cuda(self) -> bool:
        """Return whether pip would install torch with CUDA, several gigabytes that are useless without a GPU."""
        return sys.platform == "linux" and "torch" in self.packages

    @classmethod
    def combined(cls, errors: Sequence[MissingExtra]) -> MissingExtra:
        """Return several errors as one."""
        return cls([name for error in errors for name in error.packages], [name for error in errors for name in error.extras])


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return the advice for an unknown name: the one of ``known`` that is spelt alike, or ``otherwise``."""
    from difflib import get_close_matches

    matches = get_close_matches(name[:100], list(known), 1)
    return f"did you mean {matches[0]}?" if matches else otherwise


def reason_of(error: BaseException) -> str:
    """Return the first line of an error's message, or the name of its type where it has none."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
