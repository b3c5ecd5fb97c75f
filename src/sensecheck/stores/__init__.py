"""Where queries run: SQLite, DuckDB, Oxigraph, a SPARQL endpoint. Bounded, killable, read-only."""

from .cache import ResultCache
from .cached import Store, answers, limit_notes
from .embedded import Databases, Graph
from .endpoint import Endpoint
from .limits import Limits
from .outcomes import Answer, EndpointDeadError, Failure, Outcome, Reason, Request, Term
from .pool import StoreError
from .sparql_gate import STANDARD_PREFIXES, WIKIDATA_PREFIXES

__all__ = [
    "STANDARD_PREFIXES",
    "WIKIDATA_PREFIXES",
    "Answer",
    "Databases",
    "Endpoint",
    "EndpointDeadError",
    "Failure",
    "Graph",
    "Limits",
    "Outcome",
    "Reason",
    "Request",
    "ResultCache",
    "Store",
    "StoreError",
    "Term",
    "answers",
    "limit_notes",
]
