"""A sentence's opposite, as a clause: what says the same as that contradicts the sentence."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from sensecheck.language.rewriting.clause import Clause, in_lower_case
from sensecheck.language.rewriting.lexicon import listed, table_of


def may_be_so(clause: Clause) -> bool:
    """It may be so and it may not: both can be true."""
    return clause.auxiliary in ("might", "may")


_ANY = table_of("under a denial")
_SOME = {any_: some for some, any_ in _ANY.items()}


def affirmation(clause: Clause) -> Clause | None:
    """The clause without its "not"; None where other words need it: "did not move until noon"."""
    at_all = clause.lower_rest[-2:] == ["at", "all"]
    rest = list(clause.rest[:-2] if at_all else clause.rest)
    if (
        clause.partial
        or not clause.denied_by_not
        or may_be_so(clause)
        or not listed("needs a denial").isdisjoint(in_lower_case(rest))
    ):
        return None
    rest = [_SOME.get(word, word) for word in rest]
    kind = "simple" if clause.kind == "do" else clause.kind
    auxiliary = "" if clause.kind == "do" else clause.auxiliary
    if not rest and kind != "simple":
        return None
    return clause.but(kind=kind, auxiliary=auxiliary, rest=tuple(rest), negated=False, shortened=False)


def denial(clause: Clause) -> Clause | None:
    """The clause with "not", where that contradicts it."""
    if (
        clause.first == "only"
        or clause.verb in listed("hardly denied")
        or clause.universal
        or clause.partial
        or may_be_so(clause)
        or clause.kind in ("existential", "unreadable")
    ):
        return None
    denied = clause.but(rest=tuple(_under_a_denial(clause.rest)), negated=True, shortened=False)
    if clause.kind != "simple":
        return denied
    return None if clause.coordinated else denied.but(kind="do", auxiliary=clause.does)


def _under_a_denial(words: Sequence[str]) -> Iterator[str]:
    """ "took her somewhere": did not take her anywhere; "some 30 plays" are about 30."""
    for word, after in itertools.pairwise([*words, ""]):
        yield word if after[:1].isdigit() else _ANY.get(word, word)
