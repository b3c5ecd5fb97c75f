"""Where a server's databases are: an address such as `postgresql://reader@host/{db_id}`, taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from sensecheck.network.address import public_address
from sensecheck.stores.pool import StoreError

NAME = "{db_id}"
"""What stands in an address for the name of a database as records give it."""
ENGINES = {
    "postgresql": "postgresql", "postgres": "postgresql", "mysql": "mysql", "mariadb": "mysql",
}  # fmt: skip
"""Schemes of addresses, each with the engine that answers there."""
_PORTS = {"postgresql": 5432, "mysql": 3306}
# What may stand behind `?`: none of it can switch off a bound, or send a query elsewhere.
_OPTIONS = {
    "postgresql": {
        "schema", "host", "service", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "channel_binding",
        "gssencmode", "krbsrvname", "target_session_attrs",
    },
    "mysql": {
        "unix_socket", "ssl_ca", "ssl_cert", "ssl_key", "ssl_verify_cert", "ssl_verify_identity", "defaults_file",
    },
}  # fmt: skip
_FORMS = "postgresql://user@host/database, or mysql://user@host/{db_id} for one database per db_id"


def is_server(place: object) -> bool:
    """Whether this names databases on a server, not a file.

    >>> is_server("postgresql://localhost/shop"), is_server("shop.sqlite")
    (True, False)
    """
    return isinstance(place, str) and re.match(r"[a-z][a-z0-9+]*://", place, re.I) is not None


@dataclass(frozen=True)
class ServerAddress:
    """An address taken apart. Its password is never part of `public`, nor of how it prints."""

    engine: str
    public: str
    """The address as it may be told: without user and password."""
    host: str
    port: int | None
    user: str
    password: str = field(repr=False)
    database: str
    """May hold NAME; "" where the address names none."""
    schema: str
    """PostgreSQL: the schema that is looked in, may hold NAME; "" for what the role looks in."""
    options: dict[str, str]

    @classmethod
    def read(cls, url: str) -> ServerAddress:
        shown = public_address(url)
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise StoreError(f"database {shown}: expected an address like {_FORMS}") from None
        if "@" in parts.path + parts.query + parts.fragment:
            # A password that holds one of these signs ends the server's name for whoever reads the address.
            end = url.rpartition("@")[2]
            raise StoreError(
                f"database {parts.scheme}://…@{end}: expected an address like {_FORMS}; within a user, a password or a "
                "name write / as %2F, ? as %3F, # as %23 and @ as %40"
            )
        if port == 0:
            raise StoreError(f"database {shown}: expected a port from 1 to 65535, or none")
        engine = ENGINES.get(parts.scheme.lower())
        if engine is None:
            raise StoreError(
                f"database {shown}: expected a file, a folder, or an address like {_FORMS}; any other engine is asked "
                "through --connect"
            )
        written, _, place = parts.netloc.rpartition("@")
        user, _, password = map(unquote, written.partition(":"))
        database = unquote(parts.path.removeprefix("/"))
        given = parse_qsl(parts.query, keep_blank_values=True)
        options = dict(given)
        if len(given) > len(options):
            raise StoreError(f"database {shown}: expected each option behind ? once")
        unknown = sorted(set(options) - _OPTIONS[engine])
        if unknown or parts.fragment:
            known = ", ".join(sorted(_OPTIONS[engine]))
            told = f"?{unknown[0]}=" if unknown else "#"
            raise StoreError(f"database {shown}: {told} is not known here; expected any of {known}")
        schema = options.pop("schema", "")
        if "/" in database or (database + schema).count(NAME) > 1:
            raise StoreError(f"database {shown}: expected an address like {_FORMS}, with {NAME} in one place")
        if engine == "mysql":
            default_host = "" if "unix_socket" in options or "defaults_file" in options else "localhost"
        else:
            default_host = options.pop("host", "")
        if place and default_host not in ("", "localhost"):
            raise StoreError(f"database {shown}: expected the host once, not behind ? too")
        host = _host_of(place) if place else default_host
        return cls(engine, shown, host, port, user, password, database, schema, options)

    @property
    def several(self) -> bool:
        """Whether each db_id has a database or schema of its own."""
        return not self.database or NAME in self.database or NAME in self.schema

    @property
    def by_schema(self) -> bool:
        """Whether names are those of schemas in one database."""
        return NAME in self.schema

    def content(self) -> str:
        """Where the databases are, for a signature: the address without user, password and options.

        >>> ServerAddress.read("postgres://me:pw@Host/{db_id}?sslmode=require").content()
        'postgresql://host:5432/{db_id}'
        """
        host = f"[{self.host}]" if ":" in self.host else self.host or "localhost"
        at = self.options.get("unix_socket") or f"{host}:{self.port or _PORTS[self.engine]}"
        schema = f"?schema={self.schema}" if self.schema else ""
        return f"{self.engine}://{at}/{self.database or NAME}{schema}"

    def named(self, name: str) -> str:
        """The database or schema that goes by a name of records, where each has one."""
        pattern = (self.schema if self.by_schema else self.database) or NAME
        return pattern.replace(NAME, name)

    def name_of(self, place: str) -> str | None:
        """The name of records for a database or schema; None where it is none of this address."""
        before, _, after = ((self.schema if self.by_schema else self.database) or NAME).partition(NAME)
        fits = place.startswith(before) and place.endswith(after) and len(place) > len(before) + len(after)
        return place[len(before) : len(place) - len(after)] if fits else None


def _host_of(place: str) -> str:
    """The host that stands before a port: a name in small letters, an IPv6 address without its brackets, or the folder
    of a socket as it is.

    >>> [_host_of(place) for place in ("DB.Example:5433", "[::1]:1", "%2Fvar%2FRun")]
    ['db.example', '::1', '/var/Run']
    """
    host = unquote(place.partition("]")[0].removeprefix("[") if place.startswith("[") else place.partition(":")[0])
    return host if host.startswith("/") else host.lower()
