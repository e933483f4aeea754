"""Every error that tacit raises on purpose, as one tree; each message is one sentence that says what is wrong and what to do.

TacitError
├── InputError           what the caller gave cannot be used (exit status 2)
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
├── ServiceError         a service that failed, or something at its address that is none
│   └── ServiceUnavailable  no answer, or one that it is too busy, for longer than the client would wait
└── MissingExtra         an optional dependency is not installed
"""

from __future__ import annotations


class TacitError(Exception):
    """Root of the tree; ``except TacitError`` catches everything that tacit raises on purpose."""

    exit_status = 1


class InputError(TacitError):
    """What the caller gave (an argument, a file's content, a query) cannot be used."""

    exit_status = 2


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


class ServiceError(TacitError):
    """A service failed on a request, or what answers at its address is no service."""


class ServiceUnavailable(ServiceError):
    """A service does not answer, or stays too busy for longer than the client would wait."""


class MissingExtra(TacitError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; run: pip install 'tacit-kg[{extra}]'")
