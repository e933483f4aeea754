"""Access to a Neo4j server: managed transactions with the driver's retries, and the server's errors as ``TacitError``.

In a cluster (``neo4j://``), reads go to any member and writes to the leader. Bookmarks make reads see what this connection wrote:
a member that lags behind waits for them. Reads create no bookmarks, so a process that only reads never waits for a bookmark that
a database restored from a backup cannot reach.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import neo4j
from neo4j.exceptions import (
    AuthError,
    ClientError,
    ConfigurationError,
    DriverError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
)

from ...cypher import Query, query
from ..errors import GraphError, GraphNotFound, GraphUnavailable, InputError

RETRY_SECONDS = 15.0
"""Default time for retries of a transaction."""
_RETRY_VARIABLE = "TACIT_NEO4J_RETRY_SECONDS"

Answer = TypeVar("Answer")


class Server:
    """A connection pool to one database of a server; thread-safe."""

    def __init__(self, address: str, user: str | None, password: str | None, database: str | None) -> None:
        """Connect to the server; TACIT_NEO4J_RETRY_SECONDS says how long a transaction is retried while it does not answer.

        Args:
            address: scheme, host and port.
            user, password: credentials; neither for a server without authentication.
            database: the database's name; None for the user's home database.
        """
        retry_seconds = _retry_seconds()
        self.database = database
        self._bookmark_manager = neo4j.GraphDatabase.bookmark_manager()
        self.url = f"{address}/{database}" if database else address
        auth = (user or "neo4j", password) if password is not None or user else None
        with self._errors("connecting"):
            with self._settings_errors():
                self.driver = neo4j.GraphDatabase.driver(
                    address,
                    auth=(auth[0], auth[1] or "") if auth else None,
                    notifications_min_severity="OFF",
                    max_transaction_retry_time=retry_seconds,
                    connection_acquisition_timeout=max(retry_seconds, 5.0),
                    connection_timeout=max(retry_seconds, 5.0),
                    user_agent="tacit",
                )
            try:
                self.driver.verify_connectivity()
                self.rows(query("manifest"))
            except BaseException as error:
                self.driver.close()
                if isinstance(error, UnicodeError):
                    raise InputError(
                        f"{self.url} is not a valid server address: its host name is invalid; check the URL"
                    ) from error
                raise

    def rows(self, query: Query, parameters: Mapping[str, Any] | None = None) -> list[Sequence[Any]]:
        """Return all rows of a reading query; retried while the server does not answer."""

        def work(transaction: neo4j.ManagedTransaction) -> list[Sequence[Any]]:
            return list(transaction.run(query.text, dict(parameters or {})).values())

        with self._errors(query.name), self._session(neo4j.READ_ACCESS, bookmarks=self.bookmarks) as session:
            return session.execute_read(work)

    def stream(self, query: Query, size: int) -> Iterator[list[Sequence[Any]]]:
        """Yield the rows of a reading query, ``size`` at a time, as the server produces them."""
        with (
            self._errors(query.name),
            self._session(neo4j.READ_ACCESS, bookmarks=self.bookmarks, fetch_size=min(size, 20_000)) as session,
        ):
            result = session.run(query.text)
            while records := result.fetch(size):
                yield [record.values() for record in records]

    def write(self, action: str, work: Callable[[neo4j.ManagedTransaction], Answer]) -> Answer:
        """Run ``work`` in one transaction, atomically; it may be called again when the server did not answer."""
        with self._errors(action), self._session(neo4j.WRITE_ACCESS, bookmark_manager=self._bookmark_manager) as session:
            return session.execute_write(work)

    @property
    def bookmarks(self) -> neo4j.Bookmarks:
        """Bookmarks of the last write, for queries that must see it."""
        return neo4j.Bookmarks.from_raw_values(self._bookmark_manager.get_bookmarks())

    def close(self) -> None:
        """Close every connection."""
        self.driver.close()

    def _session(self, mode: str, **settings: Any) -> neo4j.Session:
        return self.driver.session(
            database=self.database, default_access_mode=mode, initial_retry_delay=0.5, retry_delay_multiplier=1.5, **settings
        )

    @contextmanager
    def _errors(self, action: str) -> Iterator[None]:
        """Raise the driver's errors as ``TacitError``, without passwords."""
        try:
            yield
        except AuthError as error:
            raise GraphUnavailable(
                f"{self.url} refuses the user name or password; give them in the URL or as NEO4J_USERNAME and NEO4J_PASSWORD"
            ) from error
        except ConfigurationError as error:
            raise InputError(f"{self.url} is not a valid server address ({_one_line(error)}); check its scheme") from error
        except ClientError as error:
            if "DatabaseNotFound" in (error.code or ""):
                raise GraphNotFound(f"there is no such database as {self.url}; leave the name out for the default one") from error
            if "Security" in (error.code or ""):
                raise GraphUnavailable(
                    f"{self.url} does not permit this user to do that ({_one_line(error)}); give a user with the role for it"
                ) from error
            raise GraphError(f"{action} failed on {self.url} ({_one_line(error)})") from error
        except Neo4jError as error:
            if error.is_retryable():
                raise GraphUnavailable(f"{self.url} could not answer ({_one_line(error)}); try again later") from error
            raise GraphError(f"{action} failed on {self.url} ({_one_line(error)})") from error
        except (ServiceUnavailable, SessionExpired, OSError) as error:
            raise GraphUnavailable(
                f"{self.url} does not answer ({_one_line(error)}); check that the server runs there"
            ) from error
        except DriverError as error:
            raise GraphError(f"{action} failed on {self.url} ({_one_line(error)})") from error

    @contextmanager
    def _settings_errors(self) -> Iterator[None]:
        """Raise the driver's errors about an address or setting as :class:`InputError`."""
        try:
            yield
        except (TypeError, ValueError) as error:
            raise InputError(f"{self.url} is not a valid server address ({_one_line(error)}); check the URL") from error


def _retry_seconds() -> float:
    """Return the time for retries of a transaction, a finite number >= 0."""
    value = os.environ.get(_RETRY_VARIABLE) or RETRY_SECONDS
    with suppress(ValueError):
        if 0 <= (seconds := float(value)) < math.inf:
            return seconds
    raise InputError(f"{_RETRY_VARIABLE}={value} is not a number of seconds; give 0 or more")


def _one_line(error: Exception) -> str:
    text = str(error) if isinstance(error, DriverError) else getattr(error, "message", None) or str(error)
    return " ".join(text.split())[:200] or type(error).__name__
