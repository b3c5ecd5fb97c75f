"""Finding in what a server says the secrets that were sent to it.

Messages are told without them, in whatever mixture of spellings they come: letters as they are or in the other case,
percent-encoded up to four times over, as HTML entities by name or number, as `\\uNNNN` or `\\xNN`; the whole in hex or
base64; in UTF-8 or Latin-1. A secret that is broken over lines, packed, or spelled in some other way is not found.
An answer that repeats a secret is no answer: nothing in it is changed, and nothing of it is kept.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import html
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from sensecheck.network.address import is_key, is_secret, is_secret_header

MASK = "***"
REPEATED = "the answer repeats a secret that was sent"
_IN_ANSWERS = 12
"""Letters that a secret must have to be looked for in answers too: a password like `1` stands in many right ones."""
_IN_WORDS = 4
"""Letters from which on a secret is taken out inside longer words of a message."""
_LONGEST_SPELLING = 12
"""Characters that a byte of a secret may take in a message."""


class Secrets:
    """What was sent and must not be told: keys, which open something, and names, which answers may hold."""

    def __init__(self, keys: Iterable[str] = (), names: Iterable[str] = ()) -> None:
        self._keys: frozenset[str] = frozenset()
        self._known: frozenset[str] = frozenset()
        self._pattern: re.Pattern[str] | None = None
        self._in_answers: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self.longest = _IN_ANSWERS
        """characters that a secret may take in a message"""
        self.add(keys, names)

    def add(self, keys: Iterable[str], names: Iterable[str] = ()) -> None:
        new_keys = {key for key in keys if key.strip() and key not in self._keys}
        new = new_keys | {name for name in names if name.strip() and name not in self._known}
        if not new:
            return
        with self._lock:
            all_keys, known = self._keys | new_keys, self._known | new
            written = {form for secret in known for form in _encoded(secret)}
            # The longest first, so that no part of one is left where a shorter one ends.
            self._pattern = re.compile(
                "|".join(_in_any_spelling(form) for form in sorted(written, key=len, reverse=True)), re.IGNORECASE
            )
            self.longest = _LONGEST_SPELLING * max(len(_bytes(form)) for form in written)
            long = (key for key in all_keys if len(key) >= _IN_ANSWERS)
            self._in_answers = tuple(sorted({form.lower() for key in long for form in _spellings(key)}))
            # Last: what is known is not added again, so by then it must be looked for.
            self._keys, self._known = all_keys, known

    def add_headers(self, headers: Mapping[str, str]) -> None:
        for name, value in headers.items():
            if is_secret_header(name) and value not in self._keys:
                self.add(*_credentials(name, value))

    def add_settings(self, settings: Any) -> None:
        found = list(_hidden_texts(settings))
        self.add((text for text, opens in found if opens), (text for text, opens in found if not opens))

    @property
    def any_in_answers(self) -> bool:
        return bool(self._in_answers)

    def out_of(self, message: str) -> str:
        """A message without any secret."""
        return message if self._pattern is None else self._pattern.sub(MASK, message)

    def out_of_bytes(self, message: bytes) -> str:
        """The same before it is known how the message is encoded."""
        return self.out_of(self.out_of(message.decode("latin-1")).encode("latin-1").decode("utf-8", "replace"))

    def are_repeated_in(self, text: str) -> bool:
        """Whether an answer holds a key that cannot stand there by chance."""
        lowered = text.lower()
        return any(form in lowered for form in self._in_answers)


def _bytes(text: str) -> bytes:
    """What is sent for a text. Half characters stand for bytes that were no UTF-8, or came out of JSON."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _encoded(secret: str) -> Iterator[str]:
    """The secret, and what stands for all of it."""
    yield secret
    raws = [_bytes(secret)]
    if not secret.isascii():
        yield raws[0].decode("latin-1")  # as it looks where a header or an unknown text is read
        with contextlib.suppress(UnicodeEncodeError):
            raws.append(secret.encode("latin-1"))
    for raw in raws:
        for text in (base64.b64encode(raw).decode("ascii"), base64.urlsafe_b64encode(raw).decode("ascii")):
            yield text
            yield text.rstrip("=")
        if len(raw) >= _IN_WORDS:
            yield raw.hex()


def _in_any_spelling(text: str) -> str:
    pattern = "".join(map(_sign_in_any_spelling, text))
    return pattern if len(text) >= _IN_WORDS else rf"(?<!\w){pattern}(?!\w)"


def _sign_in_any_spelling(sign: str) -> str:
    code = ord(sign)
    percent = "".join(f"%(?:25){{0,3}}{byte:02x}" for byte in _bytes(sign))
    units = sign.encode("utf-16-be", "surrogatepass")
    in_units = "".join(rf"\\{{1,4}}u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
    spellings = [re.escape(sign), percent, rf"&(?:amp;)?#(?:0{{0,2}}{code}|x0{{0,2}}{code:x});", in_units]
    if code < 256:
        spellings += [rf"\\{{1,4}}x{code:02x}", f"%(?:25){{0,3}}{code:02x}"]
    if sign in _ENTITIES:
        spellings.append(f"&(?:amp;)?{_ENTITIES[sign]};")
    if sign in "\"'/\\":
        spellings.append(rf"\\{{1,4}}{re.escape(sign)}")
    if sign == " ":
        spellings.append(r"\+")
    return f"(?:{'|'.join(spellings)})"


_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos", "/": "sol", "+": "plus", "=": "equals"}


def _spellings(key: str) -> set[str]:
    """What is looked for in answers, which may be large: each way of spelling by itself, and no mixtures."""
    forms: set[str] = set()
    for text in _encoded(key):
        raw = _bytes(text)
        quoted = {quote(raw, safe=""), quote(raw), quote_plus(raw)}
        forms |= {text, *quoted, *(quote(once, safe=safe) for once in quoted for safe in ("", "/")), html.escape(text)}
        forms |= {"".join(f"&#{ord(sign)};" for sign in text), "".join(f"&#x{ord(sign):x};" for sign in text)}
        forms |= {"".join(f"\\u{ord(sign):04x}" for sign in text), text.replace("/", "\\/")}
    return forms


def _credentials(name: str, value: str) -> tuple[list[str], list[str]]:
    """The keys and names in a header's value: all of it, what follows the scheme, and what that spells in base64."""
    keys: list[str] = [value]
    names: list[str] = []
    scheme, _, rest = value.partition(" ")
    if "cookie" in name.lower():
        keys += [cookie.partition("=")[2].strip() for cookie in value.split(";")]
    elif rest:
        keys.append(rest.strip())
        if scheme.lower() == "basic":
            try:
                user_and_password = base64.b64decode(rest, validate=True).decode("utf-8", "replace")
            except (binascii.Error, ValueError):
                return keys, names
            user, _, password = user_and_password.partition(":")
            if password:
                keys += [user_and_password, password]
                names.append(user)
            else:
                keys.append(user)  # known by the name alone: that is what a key looks like
    return keys, names


def without_secrets(value: Any, hidden: bool = False) -> Any:
    """Settings with every text under a secret name masked, at any depth.

    Numbers are no secrets: `max_completion_tokens` is a setting that answers depend on.

    >>> without_secrets({"max_tokens": 1, "headers": {"api_key": "1"}})
    {'max_tokens': 1, 'headers': {'api_key': '***'}}
    """
    if isinstance(value, Mapping):
        return {name: without_secrets(inner, hidden or is_secret(str(name))) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(inner, hidden) for inner in value]
    return MASK if hidden and isinstance(value, str) else value


def _hidden_texts(value: Any, hidden: bool = False, opens: bool = False) -> Iterator[tuple[str, bool]]:
    """The texts that `without_secrets` masks, each with whether it is a key."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _hidden_texts(inner, hidden or is_secret(str(name)), opens or is_key(str(name)))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _hidden_texts(inner, hidden, opens)
    elif hidden and isinstance(value, str):
        yield value, opens
