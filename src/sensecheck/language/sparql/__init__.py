"""Reading and comparing SPARQL 1.1 queries, as models write them."""

from .algebra import normal_form, same_query, triple_count
from .errors import SparqlError, SparqlSyntaxError, TooDeepError, UnknownPrefixError, UpdateError
from .grammar import Parsed, parse
from .tree import Query

__all__ = [
    "Parsed",
    "Query",
    "SparqlError",
    "SparqlSyntaxError",
    "TooDeepError",
    "UnknownPrefixError",
    "UpdateError",
    "normal_form",
    "parse",
    "same_query",
    "triple_count",
]
