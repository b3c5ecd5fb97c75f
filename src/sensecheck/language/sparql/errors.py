"""What can be wrong with a SPARQL text before it is run."""

from __future__ import annotations


class SparqlError(ValueError):
    """A query that could not be read. `position` is the offset in the text."""

    def __init__(self, message: str, text: str = "", position: int = 0) -> None:
        self.position = position
        if text:
            line = text.count("\n", 0, position) + 1
            column = position - (text.rfind("\n", 0, position) + 1) + 1
            near = text[position : position + 24].split("\n")[0] or "the end of the query"
            message = f"{message} at line {line}, column {column}, near {near!r}"
        super().__init__(message)


class SparqlSyntaxError(SparqlError):
    """The text is no SPARQL 1.1 query."""


class UnknownPrefixError(SparqlError):
    """A prefix that the query does not declare and the caller does not supply."""

    def __init__(self, prefix: str, text: str = "", position: int = 0) -> None:
        self.prefix = prefix
        super().__init__(f"prefix {prefix}: is not declared", text, position)


class UpdateError(SparqlError):
    """The text is an update (INSERT, DELETE, LOAD, DROP …), not a query."""


class TooDeepError(SparqlError):
    """The query nests deeper, or chains more parts, than any engine should be asked to follow."""
