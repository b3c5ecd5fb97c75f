"""Where queries run: SQLite, DuckDB, Oxigraph, SQL servers, a SPARQL endpoint. Bounded, killable, read-only."""

from .cache import ResultCache
from .cached import Store, answers, limit_notes
from .embedded import Databases, Graph
from .endpoint import Endpoint
from .limits import Limits
from .outcomes import Answer, EndpointDeadError, Failure, Outcome, Reason, Request, Term
from .pool import StoreError
from .servers.address import is_server
from .servers.connected import THE_SERVERS, ConnectedDatabases
from .servers.databases import ServerDatabases
from .sparql_gate import STANDARD_PREFIXES, WIKIDATA_PREFIXES
from .sql_store import SqlStore

__all__ = [
    "STANDARD_PREFIXES",
    "THE_SERVERS",
    "WIKIDATA_PREFIXES",
    "Answer",
    "ConnectedDatabases",
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
    "ServerDatabases",
    "SqlStore",
    "Store",
    "StoreError",
    "Term",
    "answers",
    "is_server",
    "limit_notes",
]
