"""Where a server is: what may be written down of an address, and what may only be sent."""

from __future__ import annotations

import base64
import os
import re
from urllib.parse import quote, unquote, unquote_plus, urlsplit

from sensecheck.inputs.errors import InputError
from sensecheck.inputs.reasons import Reason

# Words in the names of parameters and settings that say who asks, not what is asked.
_SECRET_WORDS = (
    "key|token|secret|password|passwd|passwort|passphrase|passcode|pass|pwd|pw|oauth|auth|authorization|authentication"
    "|bearer|jwt|access|code|otp|totp|pin|signature|sig|sas|credential|cred|cookie|session|sessid|sid"
)
_NAME_WORDS = "user|login"
_BESIDE_THEM = "api|app|id|my|client|private|refresh|shared|subscription|name|uid|x"
# Words may be glued together (`apikey`, `accesstoken`), but only known ones: `monkey` and `keyword` are no keys.
_SECRET = re.compile(f"(?:{_BESIDE_THEM}|{_NAME_WORDS})*(?:{_SECRET_WORDS})s?(?:{_SECRET_WORDS}|{_BESIDE_THEM})*s?")
_NAME = re.compile(f"(?:{_BESIDE_THEM})*(?:{_NAME_WORDS})s?(?:{_BESIDE_THEM})*")
_UNMISTAKABLE = re.compile("passw|secret|credential|apikey|api_key")
_LETTERS = re.compile("[a-z]+")
_CAMEL_CASE = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LONGEST_WORD = 60
"""Letters; a longer one is no name, and may take a pattern long."""
# Headers have names of their own.
_SECRET_HEADER = re.compile("key|token|secret|passw|auth|cookie|credential|session|jwt|bearer|signature")
_PUBLIC_HEADERS = frozenset(("user-agent", "accept", "accept-encoding", "accept-language", "content-type", "host"))
_USER_INFO = re.compile(r"//([^/?#]*)@")
# Addresses in a text: with a scheme, or somebody's name and password before a host with its port or path. Each part is
# bounded, so that no text takes long.
_ADDRESS = re.compile(
    r"https?://[^\s'\"<>`]+"
    r"|(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}://[^\s'\"<>`]+"
    r"|(?<![\w.%+~-])[\w.%+~-]{1,100}:(?:(?!//)[^\s'\"<>`@]){1,200}@[\w.-]{1,255}(?::\d|/)[^\s'\"<>`]*",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]{0,200})\}")
_SCHEME = re.compile("https?:/*|[a-z][a-z0-9+.-]*://|//", re.IGNORECASE)
# What a request line may hold as it stands: everything that is printed in ASCII, but no space.
_AS_IT_STANDS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


def _words(name: str) -> set[str]:
    words = {*_LETTERS.findall(name.lower()), *(word.lower() for word in _CAMEL_CASE.findall(name))}
    return {word for word in words if len(word) <= _LONGEST_WORD}


def is_key(name: str) -> bool:
    """Whether what goes by this name (a parameter, a setting) opens something: a password, a key, a token.

    >>> [is_key(name) for name in ("apiKey", "sas-token", "keyword", "user")]
    [True, True, False, False]
    """
    return any(_SECRET.fullmatch(word) for word in _words(name)) or bool(_UNMISTAKABLE.search(name.lower()))


def is_secret(name: str) -> bool:
    """Whether what goes by this name (a parameter, a setting) is nobody's business: a key, or who asks."""
    if name.lower() in _PUBLIC_HEADERS:
        return False
    return is_key(name) or any(_NAME.fullmatch(word) for word in _words(name))


def is_secret_header(name: str) -> bool:
    """
    >>> is_secret_header("X-Auth-Token"), is_secret_header("User-Agent")
    (True, False)
    """
    return name.lower() not in _PUBLIC_HEADERS and bool(_SECRET_HEADER.search(name.lower()))


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
    if not parts.netloc and "@" in url:
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
    """What looks public in an address that is none: a password may hold any sign.

    >>> _guessed("bob:pw@host:80/sparql?graph=g&key=1")
    'host:80/sparql?graph=g'
    """
    start = _SCHEME.match(url)
    scheme = start[0] if start else ""
    host, *query = re.split("([?#])", url[len(scheme) :].rpartition("@")[2])
    shown = scheme + re.sub(r":[^/]*[^/\d][^/]*", ":…", host, count=1)
    for mark, part in zip(query[::2], query[1::2], strict=True):
        public = _public_query(part)
        shown += mark + public if public else ""
    return shown


def public_text(text: str) -> str:
    """The text with every address in it made public.

    >>> public_text("no data in 'http://me:pw@localhost/sparql'")
    "no data in 'http://localhost/sparql'"
    """
    return _ADDRESS.sub(lambda match: public_address(match[0]), text) if "://" in text or "@" in text else text


def with_variables(url: str) -> str:
    """The address with what stands in it for a secret, `${NAME}`, put in from the environment of this process.

    >>> os.environ["WORD"] = "a/b"
    >>> with_variables("https://me:${WORD}@example.org/sparql")
    'https://me:a%2Fb@example.org/sparql'
    """
    if "${" not in url:
        return url
    if "${" in public_address(url):
        raise InputError(
            f"{public_address(url)!r}: ${{NAME}} may stand for a user, a password or a key in an address, and for "
            "nothing else",
            reason=Reason.BAD_OPTION,
        )

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if not found:
            raise InputError(
                f"{public_address(url)!r}: the environment has no variable {match[1]}, which the address asks for",
                reason=Reason.BAD_OPTION,
            )
        return quote(found, safe="")

    return _VARIABLE.sub(value, url)


def holds_secrets(text: str) -> bool:
    """Whether an address in the text holds a password or key itself, and not only the variable of one.

    >>> holds_secrets("https://me:pw@example.org"), holds_secrets("https://me:${PW}@example.org")
    (True, False)
    """
    if public_text(text) == text:
        return False
    try:
        return not all("${" in secret for secret in Address(text).secrets)
    except ValueError:
        return True


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
        self.names: list[str] = []
        """who asks: not to be told, but no word that could not stand in an answer"""
        for *_, name, value in _parameters(parts.query):
            if not _says_who(name, value):
                continue
            if is_key(unquote_plus(name)):
                self.secrets += [value, unquote_plus(value)]
            elif is_secret(unquote_plus(name)):
                self.names += [value, unquote_plus(value)]
            else:
                for user_info in _USER_INFO.findall(unquote_plus(value)):
                    self._add_user_info(user_info)
        if "@" in parts.netloc:
            written = parts.netloc.rpartition("@")[0]
            user, _, password = map(unquote, written.partition(":"))
            self.authorization = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
            self._add_user_info(written)

    def _add_user_info(self, written: str) -> None:
        user, _, password = map(unquote, written.partition(":"))
        if password:
            self.secrets += [written, password, f"{user}:{password}"]
            self.names.append(user)
        else:
            # A user without a password is known by the name alone: that is what a key looks like.
            self.secrets += [written, user]
            self.names.append(f"{user}:")

    @property
    def target(self) -> str:
        """What a request line says."""
        query = f"?{self.query}" if self.query else ""
        return quote((self.path or "/") + query, safe=_AS_IT_STANDS)

    def __repr__(self) -> str:
        return f"Address({self.public!r})"
