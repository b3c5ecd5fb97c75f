"""Taking back out of what a server says the secrets that were sent to it."""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from sensecheck.network.address import is_secret

MASK = "***"
_IN_ANSWERS = 8
"""Letters that a secret must have to be taken out of answers too: a password like `1` would change the answers."""
_IN_WORDS = 4
"""Letters from which on a secret is taken out inside longer words of a message."""


class Secrets:
    """What was sent and must not be told, in every form in which a server may send it back."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: frozenset[str] = frozenset()
        self._pattern: re.Pattern[str] | None = None
        self._long: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        new = {secret for secret in secrets if secret.strip() and secret not in self._known}
        if not new:
            return
        with self._lock:
            known = self._known | new
            # The longest first, so that no part of one is left where a shorter one ends.
            forms = sorted({form for secret in known for form in _forms(secret)}, key=len, reverse=True)
            spelled = (re.escape(form) if len(form) >= _IN_WORDS else rf"\b{re.escape(form)}\b" for form in forms)
            self._pattern = re.compile("|".join(spelled), re.IGNORECASE)
            self._long = tuple(form for form in forms if len(form) >= _IN_ANSWERS)
            self._known = known

    def add_headers(self, headers: Mapping[str, str]) -> None:
        self.add(part for name, value in headers.items() if is_secret(name) for part in _credentials(value))

    @property
    def longest(self) -> int:
        return max(map(len, self._long), default=_IN_ANSWERS)

    @property
    def any_in_answers(self) -> bool:
        return bool(self._long)

    def out_of(self, message: str) -> str:
        """A message without any secret."""
        return message if self._pattern is None else self._pattern.sub(MASK, message)

    def out_of_answer(self, text: str) -> str:
        """An answer without secrets that cannot stand there by chance."""
        for form in self._long:
            if form in text:
                text = text.replace(form, MASK)
        return text


def _forms(secret: str) -> set[str]:
    raw = secret.encode("utf-8", "surrogateescape")
    quoted = {quote(raw, safe=""), quote(raw), quote_plus(raw)}
    encoded = {base64.b64encode(raw).decode("ascii"), base64.urlsafe_b64encode(raw).decode("ascii")}
    forms = {secret, *quoted, *encoded, *(text.rstrip("=") for text in encoded), html.escape(secret)}
    forms |= {re.sub("%..", lambda code: code[0].lower(), text) for text in quoted}
    forms |= {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for text in forms for ascii_only in (True, False)}
    return {form for text in forms for form in (text, text.replace("/", "\\/")) if form}


def _credentials(value: str) -> Iterator[str]:
    """A header's value, what follows the scheme in it, and what that spells in base64."""
    scheme, _, rest = value.partition(" ")
    yield value
    if not rest:
        return
    yield rest.strip()
    if scheme.lower() == "basic":
        try:
            user_and_password = base64.b64decode(rest, validate=True).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            return
        yield user_and_password
        yield from user_and_password.split(":", 1)


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


def secrets_in(value: Any, hidden: bool = False) -> Iterator[str]:
    """The texts that `without_secrets` masks."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from secrets_in(inner, hidden or is_secret(str(name)))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from secrets_in(inner, hidden)
    elif hidden and isinstance(value, str):
        yield value
