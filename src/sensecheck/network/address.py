"""Where a server is: what may be written down of an address, and what may only be sent."""

from __future__ import annotations

import base64
import re
from urllib.parse import quote, unquote, unquote_plus, urlsplit

# Parameters of an address (and headers) that say who asks, not what is asked.
_SECRET = re.compile(
    r"key|token|secret|passw|pwd|auth|credential|sig(nature)?$|user|login|session|cookie", re.IGNORECASE
)
_USER_INFO = re.compile(r"//[^/?#]*@")
_HTTP = re.compile(r"https?://[^\s'\"<>`]+", re.IGNORECASE)
# What a request line may hold as it stands: everything that is printed in ASCII, but no space.
_AS_IT_STANDS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


def is_secret(name: str) -> bool:
    """Whether what goes by this name (a parameter, a header, a setting) is nobody's business."""
    return _SECRET.search(name) is not None


def _parameters(query: str) -> list[tuple[str, str, str, str]]:
    """The parameters of a query: the mark before each, the whole of it, its name and its value, all to the letter."""
    parts = ["&", *re.split("([&;])", query)]
    found = []
    for mark, written in zip(parts[::2], parts[1::2], strict=True):
        name, _, value = written.partition("=")
        found.append((mark, written, name, value))
    return found


def _says_who(name: str, value: str) -> bool:
    return bool(value) and (is_secret(unquote_plus(name)) or _USER_INFO.search(unquote_plus(value)) is not None)


def public_address(url: str) -> str:
    """The address without user, password and secret parameters; where there are none, the address to the letter.

    >>> public_address("https://me:pw@Example.org/sparql?default-graph-uri=urn:g&api_key=1")
    'https://Example.org/sparql?default-graph-uri=urn:g'
    >>> public_address("http://me:p/w@localhost:8890")
    'http://localhost:8890'
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return _guessed(url)
    host, query = parts.netloc.rpartition("@")[2], _public_query(parts.query)
    fragment = _public_query(parts.fragment)
    if (host, query, fragment) == (parts.netloc, parts.query, parts.fragment):
        return url
    return parts._replace(netloc=host, query=query, fragment=fragment).geturl()


def _public_query(query: str) -> str:
    kept = [mark + written for mark, written, name, value in _parameters(query) if not _says_who(name, value)]
    return "".join(kept)[1:]


def _guessed(url: str) -> str:
    """What looks public in an address that is none: a password may hold any sign."""
    scheme, mark, rest = url.partition("//")
    rest = re.split("[?#]", rest.rpartition("@")[2])[0]
    return scheme + mark + re.sub(r":[^/]*[^/\d][^/]*", ":…", rest, count=1)


def public_text(text: str) -> str:
    """The text with every http address in it made public.

    >>> public_text("no data in 'http://me:pw@localhost/sparql'")
    "no data in 'http://localhost/sparql'"
    """
    return _HTTP.sub(lambda match: public_address(match[0]), text) if "://" in text else text


class Address:
    """An http(s) address taken apart: what is sent, and the secrets in it. Raises ValueError where it is none."""

    def __init__(self, url: str) -> None:
        self.public = public_address(url)
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("not an http address")
        self.secure = parts.scheme == "https"
        self.host = parts.hostname
        named = self.host if self.host.isascii() else self.host.encode("idna").decode("ascii")
        named = f"[{named}]" if ":" in named else named
        self.port = parts.port or (443 if self.secure else 80)
        self.host_header = named if parts.port in (None, 443 if self.secure else 80) else f"{named}:{parts.port}"
        self.path, self.query = parts.path, parts.query
        self.authorization: str | None = None
        self.secrets: list[str] = []
        for *_, name, value in _parameters(parts.query):
            if _says_who(name, value):
                self.secrets += [value, unquote_plus(value)]
        if "@" in parts.netloc:
            written = parts.netloc.rpartition("@")[0]
            user, _, password = map(unquote, written.partition(":"))
            self.authorization = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
            self.secrets += [written, user, password, f"{user}:{password}"]

    @property
    def target(self) -> str:
        """What a request line says."""
        query = f"?{self.query}" if self.query else ""
        return quote((self.path or "/") + query, safe=_AS_IT_STANDS)

    def __repr__(self) -> str:
        return f"Address({self.public!r})"
