"""From one sentence to many: run the rules, drop repeats, and pick so that no one rule fills the list."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, lru_cache
from importlib import import_module
from itertools import islice

from sensecheck.language.morphology import indefinite_article
from sensecheck.language.other_language import in_other_language
from sensecheck.language.rewriting.clause import Clause, in_lower_case
from sensecheck.language.rewriting.leaving_out import shorter
from sensecheck.language.rewriting.lexicon import Lexicon, english, listed
from sensecheck.language.rewriting.opposing import affirmation, denial
from sensecheck.language.rewriting.plain import is_safe_adverb
from sensecheck.language.rewriting.reading import is_question, read
from sensecheck.language.rewriting.rules import CONTRADICTS, EQUIVALENT, RULES, Rewrite, Rule

# Imported for their rules, which are listed in this order.
for _module in ("contradicting", "following", "turning", "subjects", "counting", "constructions"):
    import_module(f"sensecheck.language.rewriting.{_module}")

MAX_LETTERS = 2_000
OTHER_LANGUAGE = "the hypothesis is in another language, and the sentence rules are for English"
QUESTION = "the hypothesis is a question: nothing follows from it"
MAX_SHORTER = 3
_INCHES = re.compile(r"^[^\x22]*\d\x22[^\x22]*$")
"""A 10" record: a mark that opens or ends no quotation."""
OF_THE_OPPOSITE = (
    "contraction",
    "cleft",
    "among",
    "adjunct cleft",
    "modal",
    "what",
    "described",
    "identity",
    "object cleft",
    "emphasis",
)
"""Families of rules that say the same of a denied sentence too: made of a sentence's opposite, that contradicts it."""
INSERTED = {"adverb": "inserted", "emphasis": "inserted", "denying adverb": "inserted"}
"""Families whose rules put in a word, or a few, that say nothing of their own: "in fact", "by no means"."""
DENIED_TWICE = "denied twice"
"""The family of "it is not true that … not": a frame round a denial, for what would have too few."""
_DENIALS = listed("negatives") - {"without"}


def _key(text: str) -> str:
    return text.lower().translate(_NOTHING_NEW)


_NOTHING_NEW = str.maketrans("’", "'", ' \t\n.,!?"“”')
"""Two texts that differ in these alone are one."""


@lru_cache(maxsize=64)
def why_none(text: str) -> str | None:
    """Why no rule makes a statement of a text, where it is plainly of the text."""
    if in_other_language(text):
        return OTHER_LANGUAGE
    return QUESTION if is_question(text) else None


def _readings(text: str, lexicon: Lexicon) -> Iterator[Clause]:
    """The sentence as read, then without its end: what follows from that follows, and what contradicts it does too."""
    if len(text) > MAX_LETTERS or why_none(text) is not None or _INCHES.search(text) or _ATTRIBUTED.search(text):
        return  # a text that long is no sentence, and every rule would walk through it
    clause = _reading(text, lexicon)
    if _is_command(clause) or _slips(clause):
        return
    yield clause
    yield from islice(shorter(clause), MAX_SHORTER)


def _is_command(clause: Clause) -> bool:
    if clause.kind == "unreadable":
        return _asks(clause)
    if clause.tokens[0].lower() == "please":
        return True
    if clause.lower[:2] == ["you", clause.verb] and clause.tokens[0].lower() in ("yeah", "okay", "ok", "yes", "please"):
        return True
    if (
        clause.tokens[0].lower() in ("picture", "imagine", "consider")
        and clause.tokens[1] in clause.lexicon.verb_of["ing"]
    ):
        return True
    if _turns(clause):
        return True
    # "Simply turn the wheel fixed above": read as a sentence by what hangs on its object
    opened = is_safe_adverb(clause.tokens[0].lower())
    return (
        opened
        and len(clause.tokens) > 1
        and clause.tokens[1] in clause.lexicon.forms
        and clause.tokens[1] not in clause.lexicon.nouns
    )


_ATTRIBUTED = re.compile(
    r",['\"”]? (?:(?:he|she|they|i|we|the \w+|[a-z]\w+) (?:said|says|say|added|claimed|argued|wrote|explained)"
    r"|(?:said|says|added|claimed|wrote) (?:he|she|the \w+|[a-z]\w+))\W*$",
    re.IGNORECASE,
)
"""What somebody said: "It rains, she said"."""


def _turns(clause: Clause) -> bool:
    """ "Turn left at the lights", which nobody called Turn did."""
    first, second = (*in_lower_case(clause.tokens[:2]), "", "")[:2]
    acts = first in clause.lexicon.forms and not (clause.lexicon.is_person(first) or clause.lexicon.is_animal(first))
    return acts and second in listed("where to turn")


def _asks(clause: Clause) -> bool:
    """ "Say it again": nothing that could follow or be contradicted."""
    words = [word for word in clause.lower[:3] if not is_safe_adverb(word)] or [""]
    first = words[0]
    return first in ("please", "do", "let") or (first in clause.lexicon.forms and first not in clause.lexicon.nouns)


def _slips(clause: Clause) -> bool:
    """ "A mother an father": an "and" that lost its end would be read as an article."""
    tokens, nouns = clause.tokens, clause.lexicon.nouns
    if "an" not in tokens[1:-1]:
        return False
    i = tokens.index("an", 1)
    before, after = tokens[i - 1], tokens[i + 1] if i + 1 < len(tokens) else ""
    behind_a_noun = before in nouns or before[:1].isupper()
    return behind_a_noun and after[:1].isalpha() and indefinite_article(after) != "an" and not after.isupper()


@lru_cache(maxsize=64)
def _reading(text: str, lexicon: Lexicon) -> Clause:
    """Kept, since what follows and what contradicts are asked for one after the other."""
    return read(text, lexicon)


@cache
def _rules_for(kind: str, negated: bool, past: bool, positive: bool, half_denied: bool) -> list[Rule]:
    return [
        rule
        for rule in RULES
        if rule.positive is positive
        and kind in rule.kinds
        and rule.negated in (None, negated)
        and rule.past in (None, past)
        # Denying what is half denied already is seldom the opposite.
        and (rule.half_denied or not half_denied)
    ]


def _made_of(clause: Clause, positive: bool) -> Iterator[Rewrite]:
    other = None if positive else affirmation(clause) if clause.negated else denial(clause)
    half_denied = not clause.negated and not _DENIALS.isdisjoint(clause.lower)
    for rule in _rules_for(clause.kind, clause.negated, clause.past, positive, half_denied):
        yield from rule.rewrites(clause)
    if other is not None and not half_denied:
        # What says the same as the opposite contradicts as well.
        for rule in _rules_for(other.kind, other.negated, other.past, True, False):
            if rule.family in OF_THE_OPPOSITE:
                for made in rule.rewrites(other):
                    if made.relation == EQUIVALENT:
                        yield replace(made, rule=f"{rule.name}, denied", relation=CONTRADICTS)


def _sound(clause: Clause, positive: bool) -> Iterator[Rewrite]:
    return (made for made in _made_of(clause, positive) if clause.keeps_its_name(made.text))


class _Distinct:
    """Statements, none of them twice, and none that repeats the sentence."""

    def __init__(self, text: str) -> None:
        self._known = {"", _key(text)}
        self.found: list[Rewrite] = []

    def add(self, statements: Iterable[Rewrite]) -> None:
        for statement in statements:
            key = _key(statement.text)
            if key not in self._known:
                self._known.add(key)
                self.found.append(statement)


def rewrites(text: str, positive: bool, lexicon: Lexicon | None = None) -> list[Rewrite]:
    """Every distinct rewrite of a sentence, equivalents before consequences, in the order of the rules; then those of
    the sentence without its end.
    """
    distinct = _Distinct(text)
    for clause in _readings(text, lexicon or english()):
        distinct.add(_sound(clause, bool(positive)))
    return distinct.found


LAST_OF_REPORTS = frozenset(
    (
        "seen", "counterpart", "opposite", "opposite verb", "wider word", "how often", "tense", "aspect", "conjuncts",
        "no", "quantifier", "left out", "fronting", "existential", "passive", "phrase", "object cleft", "synonym",
        "number",
    )
)  # fmt: skip
"""Families that a misread sentence leads astray most often: of what is told in a report they come after the others."""


def pick(candidates: list[Rewrite], n: int, *, of_a_scene: bool = True) -> list[Rewrite]:
    """Up to n rewrites, taking the families of rules in turn. Of five, one at most is a sentence frame and one a word
    put in that says nothing of its own, three where there would be too few; they come last.
    """
    by_family: dict[str, list[Rewrite]] = {}
    for rewrite in candidates:
        by_family.setdefault(INSERTED.get(rewrite.family, rewrite.family), []).append(rewrite)
    at_most = -(-n // 5)
    frames = by_family.pop("frame", [])[:at_most]
    inserted = by_family.pop("inserted", [])
    denied_twice = by_family.pop(DENIED_TWICE, [])[:at_most]
    if "contraction" in by_family:
        by_family["contraction"] = by_family["contraction"][:at_most]
    chosen: list[Rewrite] = []
    queues = list(by_family.values())
    if not of_a_scene:
        queues = [by_family[family] for family in sorted(by_family, key=LAST_OF_REPORTS.__contains__)]
    while len(chosen) < n and any(queues):
        for queue in queues:
            if queue and len(chosen) < n:
                chosen.append(queue.pop(0))
    missing = n - len(chosen) - len(frames)
    chosen += inserted[: max(at_most, min(missing, 3 * at_most))]
    chosen += denied_twice[: max(0, n - len(chosen) - len(frames))]
    return (chosen + frames)[:n]


def rewrite(text: str, positive: bool, n: int = 5, lexicon: Lexicon | None = None) -> list[Rewrite]:
    """n different statements that follow from a sentence (positive) or contradict it; fewer where the rules
    have no more.
    """
    distinct = _Distinct(text)
    chosen: list[Rewrite] = []
    for clause in _readings(text, lexicon or english()):
        distinct.add(_sound(clause, bool(positive)))
        chosen = pick(distinct.found, n, of_a_scene=clause.in_view)
        if len(chosen) >= n:
            break
    return chosen
