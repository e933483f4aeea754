"""Python clients of tacit's HTTP service, blocking and asyncio, which return the types of the library."""

from ..details import Completion, ConceptDetails, GraphDetails, MetricDetails, ServiceDetails
from .asynchronous import AsyncClient
from .blocking import Client
from .exchange import RetryPolicy

__all__ = [
    "AsyncClient", "Client", "Completion", "ConceptDetails", "GraphDetails", "MetricDetails", "RetryPolicy", "ServiceDetails",
]  # fmt: skip
