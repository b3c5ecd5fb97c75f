"""What still follows when the end of a sentence is left out: "it opened in 1998, when I was six": it opened in 1998; it
opened.

What contradicts the shorter sentence contradicts the whole, so every rule may work on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sensecheck.language.rewriting.clause import Clause
from sensecheck.language.rewriting.lexicon import listed
from sensecheck.language.rewriting.plain import is_year

_CLOSED = listed("prepositions", "determiners", "conjunctions", "relatives", "be", "have", "modals", "no last word")
_NEW_CLAUSE = listed("determiners", "pronouns", "be", "have", "modals", "do")


def shorter(clause: Clause) -> Iterator[Clause]:
    """The clause without its end: the shortest, the longest, then those between."""
    if clause.negated or clause.kind in ("unreadable", "existential") or not clause.rest:
        return
    rest, lower = clause.rest, clause.lower_rest
    ends = [end for end in range(1, len(rest)) if _may_go(clause, end) and _may_end(clause, end)]
    for end in ends[:1] + ends[:1:-1] if ends else ():
        if _NOTHING_GOES.isdisjoint(lower[:end]) and _SUBJECT_KEEPS.isdisjoint(clause.lower[: len(clause.subject)]):
            yield clause.but(rest=rest[:end], shortened=True)


_NOTHING_GOES = listed("negatives", "nothing may go behind")
_SUBJECT_KEEPS = listed("negatives") | {"if", "whether", "unless"}


_NOTHING_WEAKER = listed("negatives", "no weaker word")


def may_be_weakened(clause: Clause) -> bool:
    """Nothing stands in it under which a weaker word would say more: not, few, only, if, than."""
    return not clause.negated and _NOTHING_WEAKER.isdisjoint(clause.lower)


def subject_may_be_weakened(clause: Clause) -> bool:
    """ "Rome is larger than Pisa": something is. What the predicate says of it, and of how many, does not matter."""
    subject = clause.lower[: len(clause.subject)]
    return not clause.negated and _NOTHING_WEAKER.isdisjoint(subject) and _DENIALS.isdisjoint(clause.lower)


_DENIALS = listed("negatives") - {"no"}


def _may_end(clause: Clause, end: int) -> bool:
    """Are the words before it whole?"""
    kept, lower, lexicon = clause.rest[:end], clause.lower_rest[:end], clause.lexicon
    last = lower[-1]
    if last in _CLOSED or last.endswith("ly") or kept.count('"') % 2:
        return False
    if clause.kind in ("copular", "perfect", "modal") and end == 1:
        return lexicon.describes(last) or last in lexicon.verb_of["participle"]
    if (
        end > 1
        and last in lexicon.verb_of["participle"]
        and last not in lexicon.nouns
        and last not in lexicon.adjectives
    ):
        return False  # "a film written"
    first = lower[0]
    if first in ("a", "an") and clause.kind == "copular" and end > 1 and _is_adjective(last, clause):
        return False
    return clause.kind == "copular" or clause.verb not in listed("verbs that need their end") or end > 2


def _is_adjective(word: str, clause: Clause) -> bool:
    if word in clause.lexicon.nouns:
        return False
    return clause.lexicon.describes(word) or word.endswith(
        ("ous", "ful", "al", "ic", "ive", "able", "ible", "ary", "less", "ish", "ed", "an")
    )


_MAY_GO = listed("opens what may go")


def _may_go(clause: Clause, end: int) -> bool:
    """May everything from here on be left out?"""
    lower, lexicon = clause.lower_rest, clause.lexicon
    word, before = lower[end], lower[end - 1]
    after = lower[end + 1] if end + 1 < len(lower) else ""
    if not after:
        return False
    opens_more = word in ("when", "after", "before") or not {word, f"{word} {after}"}.isdisjoint(_MAY_GO)
    if "that" in lower[: min(end, 4)] or ("that" in lower[:end] and opens_more):
        return False  # it may belong to what was said
    if word == ",":
        return _opens_more(clause, end + 1)
    if not {word, f"{word} {after}"}.isdisjoint(_MAY_GO):
        return True
    if word in ("who", "which") and before != "," and not _is_adjective(before, clause):
        return lexicon.is_noun(before) and before not in lexicon.forms
    if word == "and":
        return "," not in lower[:end] and _second_may_go(clause, end)
    if word in ("when", "after", "before") and after in _NEW_CLAUSE:
        return clause.past and clause.verb not in listed("asks") and clause.kind != "modal"
    if word == "by" and after in lexicon.verb_of["ing"]:
        return clause.kind != "copular" or end > 1
    if word == "that" and (
        after in _AUXILIARIES or after in lexicon.verb_of["past"] or after in lexicon.verb_of["third"]
    ):
        return _brings_in(clause, end)
    if word in listed("before a time") and is_time(clause.lower_rest[end + 1 :]):
        return True
    if clause.kind == "copular" and end == 1 and _base(clause) in lexicon.transitive:
        return word in listed("after a participle") and _base(clause) not in listed("verbs that need their end")
    if clause.kind == "copular" and lower[0] in ("a", "an", "the") and word in lexicon.verb_of["participle"]:
        return after in listed("prepositions") and not _is_adjective(before, clause)
    return False


_AUXILIARIES = listed("be", "have", "modals", "do")


def _brings_in(clause: Clause, end: int) -> bool:
    """ "a dog that barks", "winds that blow": what is told of them may go."""
    before = clause.lower_rest[end - 1]
    if before not in clause.lexicon.nouns or before in clause.lexicon.forms:
        return False
    start = end - 1
    while start and (clause.lexicon.describes(clause.lower_rest[start - 1])):
        start -= 1
    determiner = clause.lower_rest[start - 1] if start else ""
    return determiner in ("a", "an", "some") or (
        clause.lexicon.is_plural(before) and determiner in listed("prepositions")
    )


def _base(clause: Clause) -> str:
    return clause.lexicon.verb_of["participle"].get(clause.first, "")


def _opens_more(clause: Clause, start: int) -> bool:
    word = clause.lower_rest[start]
    if clause.lower_rest[start - 2] in clause.lexicon.adjectives or "between" in clause.lower_rest:
        return False
    if word == "and":
        return "," not in clause.lower_rest[max(0, start - 6) : start - 1]
    named = clause.rest[start][:1].isupper() and clause.rest[start - 2][:1].isupper()
    return (
        named
        or word in listed("goes on behind a comma", "prepositions", "pronouns", "articles")
        or (word in clause.lexicon.verb_of["ing"] and word not in clause.lexicon.nouns)
    )


def _second_may_go(clause: Clause, position: int) -> bool:
    """ "and the dog", "and he left", "and left": not "black and white", nor what two do together."""
    lower, lexicon = clause.lower_rest, clause.lexicon
    before, after = lower[position - 1], lower[position + 1]
    if not listed("takes two together").isdisjoint(lower[:position]) or clause.verb in listed("takes two together"):
        return False
    if _is_adjective(before, clause) or before.isdigit() or after.isdigit():
        return False
    if after in _NEW_CLAUSE:
        return True
    return (
        clause.kind == "simple"
        and clause.form_of(clause.verb) in lexicon.verb_of["past"]
        and (after in lexicon.verb_of["past"] and after not in lexicon.nouns)
    )


def is_time(words: Sequence[str]) -> bool:
    """Nothing but a time: a year, a date, "the last two years"."""
    if len(words) == 1 and is_year(words[0]):
        return True
    timely = all(word.isdigit() or word in listed("words of time") for word in words)
    return timely and any(word in listed("names of a time") for word in words)
