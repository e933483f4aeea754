"""What a service allows: sizes, times and numbers, each with a default that suits one machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from ...graph.errors import InputError
from ...graph.item import LONGEST_TEXT


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits of a service.

    Attributes:
        body_bytes: most bytes of a request's body; bodies_bytes: of all bodies that are held at once.
        items: most items of one request; item_characters: most characters of one item, all its texts together. The longest single
            text is the library's, ``LONGEST_TEXT``.
        waiting_items: items that may wait to be scored; beyond them requests get 429.
        batch_items, batch_characters: most that is scored in one go; they change the speed and nothing else.
        request_seconds: most that a request may take; body_seconds: most that its body may take to come in.
        header_seconds: most that a connection may take to send a request's head; idle_seconds: most that it may be idle between
            two requests; header_bytes: most bytes of a head, and of trailers.
        lookup_limit: most rows of a question about the graph; waiting_lookups: such questions that may wait.
        cypher_rows, cypher_seconds: most that a query may ask for; cypher_threads: queries that run at once, with those
            that a Neo4j server has not ended in time; waiting_queries: that may wait.
        ready_seconds: how long an answer of the graph counts as proof that it is there; ping_seconds: how long it may take.
        connections: open connections beyond which a new one is closed; client_connections: the same for one client's address.
        shutdown_seconds: time for what runs to end once the service is told to stop.
        log_text: log the texts of requests too.
    """

    body_bytes: int = 8 << 20
    bodies_bytes: int = 128 << 20
    items: int = 1_000
    item_characters: int = 2 * LONGEST_TEXT
    waiting_items: int = 4_096
    batch_items: int = 64
    batch_characters: int = 20_000
    request_seconds: float = 60.0
    body_seconds: float = 10.0
    header_seconds: float = 5.0
    idle_seconds: float = 30.0
    header_bytes: int = 32 << 10
    lookup_limit: int = 1_000
    waiting_lookups: int = 256
    cypher_rows: int = 10_000
    cypher_seconds: float = 30.0
    cypher_threads: int = 2
    waiting_queries: int = 32
    ready_seconds: float = 1.0
    ping_seconds: float = 2.0
    connections: int = 4_096
    client_connections: int = 512
    shutdown_seconds: float = 30.0
    log_text: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, bool) and not value > 0:
                raise InputError(f"{field.name} = {value} is not possible; the limit must be > 0")

    @classmethod
    def of(cls, pairs: Sequence[str], *, log_text: bool = False) -> Self:
        """Return the settings that ``NAME=NUMBER`` texts ask for.

        Raises:
            InputError: a text has another form, or names no limit.
        """
        kinds = {name: type(value) for name, value in asdict(cls()).items() if name != "log_text"}
        given: dict[str, Any] = {}
        for pair in pairs:
            name, _, number = pair.partition("=")
            if name not in kinds:
                raise InputError(f"--limit {pair} is not a limit; choose from {', '.join(kinds)}")
            try:
                given[name] = kinds[name](number)
            except ValueError:
                raise InputError(f"--limit {pair} is not NAME=NUMBER, e.g. {name}={getattr(cls(), name)}") from None
        return cls(**given, log_text=log_text)

    def limits(self) -> dict[str, Any]:
        """The limits that a client has to know, as ``/v1/info`` gives them."""
        shown = (
            "body_bytes", "items", "item_characters", "waiting_items", "request_seconds", "lookup_limit", "cypher_rows",
            "cypher_seconds",
        )  # fmt: skip
        return {name: value for name, value in asdict(self).items() if name in shown}
