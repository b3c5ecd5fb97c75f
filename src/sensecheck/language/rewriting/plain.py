"""What a sentence plainly says: linking words, openings, asides and second sentences taken off, before it is read.

All of it works on lists of words, and each step keeps what follows from the sentence: "However, in 1998 the club, a
small one, also moved (to York); it stayed." plainly says "the club moved in 1998".
"""

from __future__ import annotations

import itertools

from sensecheck.language.rewriting.clause import in_lower_case
from sensecheck.language.rewriting.lexicon import Lexicon, listed

_AUXILIARIES = listed("be", "have", "modals", "do")
_CONDITIONS = listed("conditions of a sentence")
MAX_OPENING = 16


def plainly(words: list[str], lexicon: Lexicon) -> list[str]:
    """The words without what can go; an opening that says when or where stands at the end."""
    words = _one_statement(_without_parentheses(words))
    while (shorter := _without_link(words)) is not words:
        words = shorter  # "well, I mean, …"
    return _without_aside(_opening_moved(words, lexicon), lexicon)


def is_safe_adverb(word: str) -> bool:
    """What is said with it is so without it: also, quickly; not: hardly, allegedly."""
    if word in listed("safe adverbs"):
        return True
    return word.endswith("ly") and len(word) > 5 and word.islower() and word not in listed("no safe adverbs", "hedges")


def _without_parentheses(words: list[str]) -> list[str]:
    if "(" not in words or words.count("(") != words.count(")") or '"' in words:
        return words
    kept: list[str] = []
    depth = 0
    for word in words:
        depth += word == "("
        if not depth:
            kept.append(word)
        depth -= word == ")"
        if depth < 0:
            return words
    return kept


def _one_statement(words: list[str]) -> list[str]:
    """The first of two sentences, or of two that a semicolon or a dash parts; not where one is the condition of the
    other.
    """
    opened = words[0].lower() in _OPENS if words else False
    start = words.index(",") + 1 if opened and "," in words else 1
    found = (i for i in range(1, len(words)) if _ends_statement(words, i) and (i >= start or words[i] in _ENDS))
    end = next(found, len(words))
    if end == len(words) or not _CONDITIONS.isdisjoint(in_lower_case(words[:end])):
        return words
    if words[end] in (",", "and") and not {"if", "unless"}.isdisjoint(in_lower_case(words[end:])):
        return words  # "we would win and they would lose if it rained"
    first = words.index(",") if "," in words[:end] else end
    last_of_several = (words[end - 1], words[end]) == (",", "and") or words[end : end + 2] == [",", "and"]
    if last_of_several and not _AUXILIARIES.isdisjoint(in_lower_case(words[first:end])):
        end = first  # "it is dull, all is made of paper, and …": the first of three
    return words[: end - (words[end - 1] == ",")]


_ENDS = listed("ends a statement")
_OPENS = listed("opens a phrase of time or place", "opens a clause") | {"according", "following", "like", "unlike"}


def _ends_statement(words: list[str], i: int) -> bool:
    if words[i] == "." and (len(words[i - 1]) == 1 or not words[i + 1 : i + 2] or not words[i + 1][:1].isupper()):
        return False
    if words[i] in _ENDS:
        return words[i + 1 : i + 2] not in ([","], ["and"], ["or"])  # "AM-, FM- and TV"
    after = in_lower_case(words[i + 1 : i + 3])
    if words[i] == "," and len(after) == 2 and after[0] in ("but", "so") and i > 2:
        return True
    joins = words[i] == "," or words[i] in ("and", "but")
    if not joins or len(after) < 2 or i < 3:
        return False
    if after[0] in listed("determiners") and words[i] != ",":
        return any(word.lower() in _BE for word in words[i + 3 : i + 5])
    pronouns = listed("surely subjects of a clause") if words[i] == "but" else {"he", "she", "they", "we", "i"}
    if after[0] in pronouns and words[i] != ",":
        return True
    before = in_lower_case(words[:i])
    that = before.index("that") if "that" in before[:-1] else -1
    if words[i] == "," and that >= 0 and before[that + 1] in _OPENS:
        return False  # "she thought that by singing, she would help"
    if words[i] == "," and after[0] in ("he", "she", "they", "we", "i"):
        return True
    if after[0] in ("that", "this") and words[i] == ",":
        return after[1] in _BE
    return after[0] in listed("surely subjects of a clause") and after[1] in _VERBS_OF_CLAUSES


_BE = listed("be")
_VERBS_OF_CLAUSES = _AUXILIARIES | {"also", "never", "just", "still"}


def _without_link(words: list[str]) -> list[str]:
    """ "However, it rained": it rained."""
    for width in (4, 3, 2, 1):
        link = " ".join(in_lower_case(words[:width]))
        if link in listed("links with a comma") and words[width : width + 1] == [","]:
            return words[width + 1 :]
    if len(words) > 2 and words[0].lower() in listed("links") and words[1] != ",":
        return words[1:]
    return words


def _opening_moved(words: list[str], lexicon: Lexicon) -> list[str]:
    """ "In 1998, it opened": it opened in 1998; "When it rains, we read": we read when it rains."""
    lower = in_lower_case(words[: MAX_OPENING + 2])
    first = lower[0] if lower else ""
    if first == "in" and len(words) > 4 and is_year(words[1]) and words[2] != ",":
        return [*words[2:], *words[:2]] if words[2].lower() not in listed("prepositions", "conjunctions") else words
    opens = listed("opens a phrase of time or place", "opens a clause")
    if first in opens and "," not in lower:
        words = _with_comma(words, lower, lexicon)
        lower = in_lower_case(words[: MAX_OPENING + 2])
    if first not in opens or "," not in lower:
        return words
    end = lower.index(",")
    # "In London, England, it rained"; "On May 8, 1945, it ended"
    if end + 2 < len(lower) and lower[end + 2] == "," and (words[end + 1][:1].isupper() or words[end + 1].isdigit()):
        end += 2
    opening, after = words[:end], words[end + 1 :]
    if end < 2 or len(after) < 2 or after[0].lower() in listed("conjunctions", "opens a phrase of time or place"):
        return words
    short = end < 5 and _AUXILIARIES.isdisjoint(lower[:end])  # "after the war"
    if "," in after[:-1] and first in listed("opens a clause") and not short:
        return words  # which of the commas ends it is anybody's guess
    place = _place_of_opening(in_lower_case(after), lexicon, after_a_condition=first in ("if", "unless"))
    if after[0].lower() in ("he", "she", "they") and any(_may_be_one(word, lexicon) for word in opening[1:]):
        return words  # "when the mayor arrived, he": he, before the mayor, would be another
    if not place or (lower[1] in lexicon.verb_of["ing"] and "that" in after) or lower[end - 1] in listed("measured"):
        return words
    return [*after[:place], first, *opening[1:], *after[place:]]


_BEGINS = frozenset(("i", "we", "he", "she", "they"))


def _may_be_one(word: str, lexicon: Lexicon) -> bool:
    named = word[:1].isupper() and word.lower() not in listed("names of a time") and word != "I"
    return named or lexicon.is_person(word.lower())


def _place_of_opening(told: list[str], lexicon: Lexicon, *, after_a_condition: bool) -> int:
    """Behind which words an opening may be said, so that it is still said of the main verb; 0 where that is unsure."""
    if "according" in told:
        return 0
    if "that" in told[2:]:
        that = told.index("that", 2)
        before = told[that - 1]
        if before in _BE:
            return 0
        if not _SAYING.isdisjoint(lexicon.base_of(word, "third", "past", "base", "participle") for word in told[:that]):
            return 0 if after_a_condition else that
    said = next((i for i, word in enumerate(told) if lexicon.base_of(word, "third", "past") in _SAYING), len(told))
    if not _BEGINS.isdisjoint(told[said + 1 :]):
        return 0  # "he announced he will run"
    for i, (mark, after) in enumerate(itertools.pairwise(told)):
        acted = mark == "," and after in _TELLS_MORE and any(_may_be_finite(word, lexicon) for word in told[:i])
        if acted and after in ("and", "or"):
            clause_follows = told[i + 2 : i + 3] and (_may_be_finite(told[i + 2], lexicon) or told[i + 2] in _BEGINS)
            return i if clause_follows else 0  # else the second of two things
        if acted:
            return i
    return len(told)


_SAYING = listed("says something", "takes that", "asks") | {"recognise", "recognize", "find", "argue"}


_TELLS_MORE = listed("relatives", "conjunctions") | {"when", "after", "before"}
_NO_OPENING_ENDS = listed("prepositions", "conjunctions", "relatives", "determiners") | _AUXILIARIES | {"not"}


def _with_comma(words: list[str], lower: list[str], lexicon: Lexicon) -> list[str]:
    """ "If it rains we read": where the opening ends though no comma says so, by the next subject."""
    for i in range(2, len(lower) - 1):
        before, after = lower[i - 1], lower[i + 1]
        begins = lower[i] in _BEGINS or (lower[i] in ("you", "it", "there") and after in _AUXILIARIES)
        verb = before in lexicon.forms or lexicon.base_of(before, "third", "past", "ing") is not None
        if begins and before not in _NO_OPENING_ENDS and (before in lexicon.nouns or not verb):
            own = lexicon.base_of(after, "base", "third", "past") is not None or after in _AUXILIARIES
            if own and not (lower[0] in listed("opens a clause") and i < 4):
                return [*words[:i], ",", *words[i:]]
    return words


def _may_be_finite(word: str, lexicon: Lexicon) -> bool:
    return word in _AUXILIARIES or lexicon.base_of(word, "third", "past") is not None


def is_year(word: str) -> bool:
    return len(word) == 4 and word.isdigit() and word[0] in "12"


def _without_aside(words: list[str], lexicon: Lexicon) -> list[str]:
    """ "Ann, a nurse, sings": Ann sings. Only where the verb stands behind the second comma."""
    if words.count(",") < 2:
        return words
    start = words.index(",")
    if not 1 <= start <= 8 or words[0].lower() in listed("opens a phrase of time or place", "opens a clause"):
        return words
    end = words.index(",", start + 1)
    inside = words[start + 1].lower()
    an_aside = inside in listed("opens an aside") or inside in lexicon.verb_of["participle"]
    if not an_aside or end + 2 >= len(words) or end == start + 1:
        return words
    after = next((word.lower() for word in words[end + 1 :] if not is_safe_adverb(word.lower())), "")
    if after in _AUXILIARIES or lexicon.base_of(after, "third", "past"):
        return [*words[:start], *words[end + 1 :]]
    return words
