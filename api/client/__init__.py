"""The way in for programs that are elsewhere: tacit's service asked over HTTP, with the answers that the library would give."""

from .asynchronous import AsyncClient
from .blocking import Client
from .calls import Completion, ConceptDetails, GraphDetails, MetricDetails, ServiceDetails
from .exchange import Patience

__all__ = ["AsyncClient", "Client", "Completion", "ConceptDetails", "GraphDetails", "MetricDetails", "Patience", "ServiceDetails"]
