"""Every error that tacit raises on purpose, as one tree; each message is one sentence that says what is wrong and what to do.

TacitError
├── InputError           what the caller gave cannot be used (exit status 2)
│   ├── UnknownName      a text that names no concept or event of the graph
│   ├── QueryRefused     a Cypher text that may do more than read the graph
│   └── QueryInvalid     a Cypher text that the engine cannot understand
├── GraphError           the store, or what it holds
│   ├── GraphNotFound    nothing there (exit status 2)
│   ├── GraphBusy        another process writes to it
│   ├── GraphUnavailable the server does not answer, or no longer
│   └── QueryTimeout     a query passed its time limit and was stopped
├── DamagedInput         a file that was to be scored or judged ends early: it was cut, or its checksum is wrong
├── LoadError            a file that cannot be read as what it is said to be
├── FetchError           a download that did not succeed
├── ModelError           a pipeline or model that cannot be opened or used
├── PluginError          a metric or tuple scorer of another distribution that cannot be used
├── ServiceError         a service that failed, or something at its address that is none
│   └── ServiceUnavailable  no answer, or one that it is too busy, for longer than the client would wait
└── MissingExtra         an optional dependency is not installed
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


class TacitError(Exception):
    """Root of the tree; ``except TacitError`` catches everything that tacit raises on purpose."""

    exit_status = 1


class InputError(TacitError):
    """What the caller gave (an argument, a file's content, a query) cannot be used."""

    exit_status = 2


class UnknownName(InputError):
    """A text names no concept, or no event, of the graph."""


class QueryRefused(InputError):
    """A Cypher text holds something other than reading the graph."""


class QueryInvalid(InputError):
    """A Cypher text that the engine cannot parse, bind or evaluate."""


class GraphError(TacitError):
    """The store failed, or holds something that tacit cannot work with."""


class GraphNotFound(GraphError):
    """There is no graph at the path or URL."""

    exit_status = 2


class GraphBusy(GraphError):
    """Another process is writing to the graph."""


class GraphUnavailable(GraphError):
    """The database server does not answer, refuses the credentials, or went away."""


class QueryTimeout(GraphError):
    """A query passed its time limit and was stopped."""


class DamagedInput(TacitError):
    """A file ends early, cut or with a wrong checksum; what was read before may have been used."""


class LoadError(TacitError):
    """A file cannot be read as the format that it is said to be in."""

    exit_status = 2


class FetchError(TacitError):
    """A download did not succeed or did not match its published checksum."""


class ModelError(TacitError):
    """A language pipeline or a model cannot be opened or used."""


class PluginError(TacitError):
    """A metric or tuple scorer of another distribution cannot be imported, opened or used."""


class ServiceError(TacitError):
    """A service failed on a request, or what answers at its address is no service."""


class ServiceUnavailable(ServiceError):
    """A service does not answer, or stays too busy for longer than the client would wait."""


CPU_TORCH = "pip install torch --index-url https://download.pytorch.org/whl/cpu"
_INCLUDED = {"neural": {"minilm", "gguf"}}  # an extra, and those that bring all of it


class MissingExtra(TacitError):
    """Optional dependencies are not installed; the sentence names one command that installs all that was asked for.

    Attributes:
        packages: what is not installed; extras: the optional dependencies of tacit-kg that bring it.
    """

    def __init__(self, packages: str | Sequence[str], extras: str | Sequence[str]) -> None:
        """Say that ``packages`` are missing, which ``extras`` bring."""
        self.packages = (packages,) if isinstance(packages, str) else tuple(dict.fromkeys(packages))
        wanted = {extras} if isinstance(extras, str) else set(extras)
        self.extras = tuple(sorted(extra for extra in wanted if not _INCLUDED.get(extra, set()) & wanted))
        missing = f"{', '.join(self.packages)} {'is' if len(self.packages) == 1 else 'are'} not installed"
        hint = f" (on Linux without a GPU, run this first: {CPU_TORCH})" if self._brings_cuda() else ""
        super().__init__(f"{missing}; run: pip install 'tacit-kg[{','.join(self.extras)}]'{hint}")

    def _brings_cuda(self) -> bool:
        """Whether pip would bring torch with CUDA along, several gigabytes that a machine without a GPU has no use for."""
        return sys.platform == "linux" and "torch" in self.packages

    @classmethod
    def together(cls, errors: Sequence[MissingExtra]) -> MissingExtra:
        """Return what several errors say as one."""
        return cls([name for error in errors for name in error.packages], [name for error in errors for name in error.extras])


def reason_of(error: BaseException) -> str:
    """Return the first line of an error's message, or the name of its type where it has none."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
