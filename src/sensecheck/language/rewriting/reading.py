"""A shallow reading of one English sentence: who, the finite verb, and the rest. It says so when it cannot
read one.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from sensecheck.language.rewriting.clause import Clause, in_lower_case
from sensecheck.language.rewriting.lexicon import Lexicon, listed, table_of
from sensecheck.language.rewriting.plain import is_safe_adverb, plainly

# One alternative per class of character, none nested: linear on any input. A title, an initial and an abbreviation such
# as "U.S." keep their full stop, a number its commas, a time of day its colon.
_TITLE = r"(?:Mrs?|Ms|Dr|St|Jr|Sr|Prof|Gen|Sen|Rev|Lt|Col|Capt|Mt|Bros|Inc|Ltd|Co|No|vs|etc)\.(?!\w)"
_TOKEN = re.compile(
    rf"{_TITLE}|[A-Z]\.(?=\s[A-Z])|(?:[A-Z]\.){{2,8}}(?!\w)|\d{{1,3}}(?:,\d{{3}})+(?!\d)(?:\.\d+)?|\d+:\d+"
    r"|[^\W_]+(?:[-'’.&–][^\W_]+)*(?:(?<=s)['’](?=\s\w)|(?<=in)['’](?=\x22))?|[^\s\w]|_+"
)
_ABBREVIATED = re.compile(r"(?:[A-Z]\.){2}$")
_FOOTNOTE = re.compile(r"\[(?:citation needed|\d{1,3})\]|(?<=\.):\d{1,4}")
_OPENS_QUOTE = re.compile(r"(?<!\w)'(?=\w)")
_CLOSES_QUOTE = re.compile(r"(?<=\w)'(?!\w)")
_FINAL = ".!?…,;:\"'”’ "
_PLAIN_WORD = re.compile(r"(?:[\w'’.&–-]*[^\W_][\w'’.,:&–-]*|[,'’%$£€°\"“”/_()])$")
_COMPARED = frozenset(table_of("compared"))
_OPENERS = listed("determiners", "pronouns", "prepositions", "adverbs", "numbers", "openers")
_AUXILIARIES = listed("be", "have", "modals", "do")
_JOINS_NOUNS = listed("prepositions", "conjunctions", "determiners", "numbers", "be") | {",", "not"}
_JOINS_CLAUSES = (listed("conjunctions") | {"whether"}) - {"and", "or", "but"}
MAX_WORDS = 80
MAX_RELATIVE = 9
"""A relative further on belongs to no subject."""


_SHORT_WITHOUT_MARK = listed("written without its apostrophe") | {"cannot"}


def tokens_of(text: str) -> list[str]:
    """Words and marks, final punctuation left off, n't and 's split from the auxiliary they hang on."""
    words: list[str] = []
    text = _without_quotes(text)
    if "[" in text or ".:" in text:
        text = _FOOTNOTE.sub("", text)
    whole = text.strip()
    ended = whole if _ABBREVIATED.search(whole) else whole.rstrip(_FINAL)
    if '"' in whole[len(ended) :] and ended.count('"') % 2:
        ended += '"'
    if "'" in whole[len(ended) :] and len(_OPENS_QUOTE.findall(ended)) > len(_CLOSES_QUOTE.findall(ended)):
        ended += "'"
    for token in _TOKEN.findall(ended):
        if "'" in token or "’" in token or token.lower() in _SHORT_WITHOUT_MARK:
            words += _uncontracted(token, first=not words)
        else:
            words.append(token)
    if words.count("'") == 1 and not whole[len(ended) :].startswith(("'", "’")):
        words.remove("'")  # "won't'": it closes what was never opened
    words = _with_is(words)
    lower = in_lower_case(words[:3])
    if lower[:2] == ["no", "one"]:
        words[:2] = ["nobody"]
    if lower[1:] in (["is", "been"], ["is", "got"], ["is", "had"]):
        words[1] = "has"  # "she's been"
    return words


def _with_is(words: list[str]) -> list[str]:
    """ "My sister's a nurse": my sister is a nurse."""
    for i, word in enumerate(words[:4]):
        if word.endswith(("'s", "’s")) and words[i + 1 : i + 2] and words[i + 1] in ("a", "an", "the", "not"):
            return [*words[:i], word[:-2], "is", *words[i + 1 :]]
    return words


def _without_quotes(text: str) -> str:
    """ "It rained." said of the whole sentence: it rained."""
    whole = text.strip()
    if whole[:1] in ('"', "“") and len(whole) > 2 and not any(mark in whole[1:].rstrip(_FINAL) for mark in '"“”'):
        return whole[1:].rstrip('"” .') + "."
    return text


def _uncontracted(token: str, first: bool) -> list[str]:
    lower = token.lower().replace("’", "'")
    if lower == "won't":
        return ["will", "not"]
    if lower in listed("written without its apostrophe"):
        return [{"cant": "can", "wont": "will"}.get(lower, token[:-2]), "not"]
    if lower in ("can't", "cannot"):
        return [token[:3], "not"]
    if lower == "n't":
        return ["not"]  # "is n't"
    if lower.endswith("n't"):
        return [token[:-3], "not"]
    if first and lower in listed("contracted with is"):
        return [token[:-2], "is"]
    for ending, auxiliary in (("'ve", "have"), ("'ll", "will"), ("'m", "am"), ("'re", "are")):
        if lower.endswith(ending) and lower.removesuffix(ending) in listed("pronouns"):
            return [token[: -len(ending)], auxiliary]
    return [token]


_COMMON_ENDINGS = (
    "tions",
    "ments",
    "ings",
    "ers",
    "ors",
    "ists",
    "ities",
    "ages",
    "ances",
    "ences",
    "tion",
    "ment",
    "ness",
    "ity",
    "ism",
)


_OWN = frozenset(("his", "her", "himself", "herself"))
_CAPITAL_VERBS = frozenset(word.capitalize() for word in _AUXILIARIES)
_ADJECTIVE_ENDINGS = ("al", "ous", "ive", "ic", "able", "ible", "ful", "less", "ary")


def _goes_on_as_noun(after: list[str], lexicon: Lexicon) -> bool:
    """ "Capital goods", not "Montreal has"."""
    if not after or not after[0].isalpha() or after[0][:1].isupper():
        return False
    return lexicon.is_noun(after[0]) and lexicon.base_of(after[0], "third", "past", "base") is None


def _in_running_words(words: list[str]) -> bool:
    """ "Miller Mountain lies in a valley", not "Man Sleeping On Bench"."""
    return sum(word.islower() for word in words) > 2


def lower_first(words: list[str], lexicon: Lexicon) -> list[str]:
    """The first word without its capital, unless it looks like a name."""
    if not words or words[0] == "I":
        return words
    lower = words[0].lower()
    second = words[1] if words[1:] else ""
    if lower == "the" and second.lower() in listed("keeps its article"):
        return words
    if (
        second.lower() in listed("always with a capital")
        and lexicon.describes(lower)
        and lower not in listed("before a language")
    ):
        return [lower, *words[1:]]  # "ordinary French citizens"
    if lower in listed("hedges", "adverbs") or (lower in listed("safe adverbs") and lower.endswith("ly")):
        return [lower, *words[1:]]  # "nearly 60 percent"
    # "Old Trafford", "District 6"
    named = lower not in _OPENERS and (second[:1].isupper() or (second.isdigit() and lower not in lexicon.plural_forms))
    several = lower in lexicon.plural_forms and lower not in lexicon.mass and not lexicon.is_person(lower)
    owns = several and not _OWN.isdisjoint(words[2:]) and second in lexicon.verb_of["past"]  # "Gates sold his house"
    one = lower in lexicon.plural_forms and second in ("is", "was", "has")
    titled = second in _CAPITAL_VERBS or owns or (one and (several or not listed("of works").isdisjoint(words)))
    if titled:  # "We Were Soldiers", "Fans was released"
        return words
    titled = named and (lower not in lexicon.people or not lexicon.is_plural(lower)) and _in_running_words(words)
    if lower in listed("always with a capital") or (named and lower not in lexicon.people) or titled:
        return words
    ending = lower.endswith(_COMMON_ENDINGS) and lower not in listed("names that end like words")
    plain = second.islower() and second not in _AUXILIARIES and second not in listed("prepositions", "determiners")
    past = plain and lexicon.base_of(lower, "past", "participle") is not None  # "managed care"
    acted_on = lower.endswith("ed") and (past or second in lexicon.verb_of["ing"])  # "automated sewing systems"
    before_a_noun = lower.endswith((*_ADJECTIVE_ENDINGS, "ed")) and _goes_on_as_noun(words[1:2], lexicon)
    of_several = second == "of" and lower in listed("many of them")
    joined = "-" in lower and words[0].partition("-")[2].islower() and second.islower()  # "flat-bottomed boats"
    compared = lower.endswith("er") and second.islower() and lexicon.describes(lower[:-2])  # "slower growth"
    of_a_noun = lower.endswith(("'s", "’s")) and lexicon.is_noun(lower[:-2]) and lower[:-2] in lexicon.nouns
    if before_a_noun or of_a_noun or of_several or acted_on or compared or joined:
        return [lower, *words[1:]]
    if ending and not (words[1:2] and words[1][:1].isupper()):
        return [lower, *words[1:]]
    common_word = (
        lower in _OPENERS
        or lower in lexicon.nouns
        or (lower in lexicon.mass and not named)
        or _known_adjective(words, lexicon)
        or lower in lexicon.verb_of["ing"]
    )
    return [lower if common_word else words[0], *words[1:]]


def _capital_in_doubt(first: str, words: list[str], lexicon: Lexicon) -> bool:
    """Whether the first word, which was written `first` and is now the first of `words`, may have its capital from a
    name or title: "King of the Corner", "All Rise", "Separation is her third film"; or, still with it, only from being
    first: "Apparel suppliers".
    """
    speaks = listed("pronouns") - {"this", "that"}
    if not first[:1].isupper() or len(words) < 2 or first == "I" or first.lower() in speaks:
        return False
    lower, second = words[0].lower(), words[1]
    if words[0][:1].isupper():
        return _may_be_common(words, lexicon)
    capital = second[:1].isupper() and second != "I" and second.lower() not in listed("always with a capital", "titles")
    of_a_work = not listed("of works").isdisjoint(in_lower_case(words))
    if lower == "the":
        return capital and of_a_work and _is_short_title(words, lexicon)
    if lower in _OPENERS:
        return capital and not second.isupper() and not second.endswith(_OF_A_NATION)
    several = lower in lexicon.plural_forms
    if several and not of_a_work:
        return False
    if _leads_to_a_capital(words):
        return True
    acts = lexicon.base_of(second, "third", "past") is not None and second not in lexicon.nouns
    if acts and lower in lexicon.nouns and any(word[:1].isupper() and word != "I" for word in words[1:]):
        return True  # "Fox ended The Bell"
    return of_a_work and not several and (lower in lexicon.nouns or lower in lexicon.mass) and second in _AUXILIARIES


_OF_A_NATION = ("ian", "ians", "ean", "eans", "ican", "icans", "ish", "ese")


def _may_be_common(words: list[str], lexicon: Lexicon) -> bool:
    """ "Apparel suppliers": nothing tells that the first word is a name but its capital."""
    word = words[0]
    known = word.lower() in listed("always with a capital", "first names", "titles") or word.endswith(_OF_A_NATION)
    if known or word.isupper() or word.endswith(("'s", "’s")):
        return False
    if words[1] in lexicon.verb_of["ing"] or (
        word.endswith("s") and len(word) > 4 and words[1] in listed("verbs of several")
    ):
        return True  # "Coupon collecting", "Trenches were"
    if words[1] == "of" or (word.lower() in lexicon.forms and words[1][:1].islower()):
        return True  # "Misuse of words"
    return words[1] in lexicon.nouns and _goes_on_as_noun(words[1:2], lexicon)


def _is_short_title(words: list[str], lexicon: Lexicon) -> bool:
    """ "The Doctor was directed", "The Best of Ann Lee", not "The Moon film"."""
    end = next((i for i, word in enumerate(words) if i and not word[:1].isupper()), len(words))
    after = words[end] if end < len(words) else ""
    return end < 4 and (after in ("of", "and", *_AUXILIARIES) or lexicon.base_of(after, "third", "past") is not None)


def _leads_to_a_capital(words: list[str]) -> bool:
    """ "King of the Corner", "Sex and the Single Girl": nothing but small words stands between."""
    following = next((i for i, word in enumerate(words) if i and word not in listed("joins a title")), 0)
    return following > 1 and words[following][:1].isupper() and words[following] != "I"


def _lacks_article(words: list[str], lexicon: Lexicon) -> bool:
    """ "Woman is holding a child": its writer meant "a woman"."""
    first, second, third = (*words[:3], "", "", "")[:3]
    if first in listed("bare groups") and second == "of":
        return True
    if first in lexicon.adjectives and second in lexicon.people and third in ("is", "was", "has"):
        return not lexicon.is_plural(second)
    living = first in lexicon.people or first in lexicon.animals
    if not living or first in listed("pronouns") or first == "police":
        return False
    verbs = lexicon.verb_of
    if second in lexicon.plural_forms and not _AUXILIARIES.isdisjoint(words[2:]):
        return False  # "Guard reports will follow"
    after_a_subject = second in listed("after a bare subject") or second in verbs["ing"] or second in verbs["third"]
    return after_a_subject and not lexicon.is_plural(first)


def _subject_head(words: list[str], lexicon: Lexicon) -> str:
    """The noun before the first preposition, participle, relative or comma; of "a group of men" that is
    men.
    """
    phrase: list[str] = []
    if " ".join(words[:2]).lower() in _COMPARED:
        words = words[2:]
    for i, word in enumerate(words):
        lower = word.lower()
        ends = lower in (",", "not") or (i and lower in listed("relatives"))
        if lower == "of" and phrase and phrase[-1].lower() in listed("measures", "parts of a number"):
            phrase = []
        elif ends or (phrase and _hangs_on(phrase[-1], lower, lexicon)):
            break
        else:
            phrase.append(word)
    nouns = (w for w in reversed(phrase) if lexicon.is_noun(w.lower()) or w.lower() in listed("pronouns"))
    names = (w for w in reversed(phrase) if w[:1].isalnum() and (_ends_name(w) or w.endswith("ing")))
    return next(nouns, "") or next(names, "") or (phrase[-1] if phrase and words[0].lower() in _STANDS_ALONE else "")


_STANDS_ALONE = listed("parts of a number") | {"the"}


def _known_adjective(words: list[str], lexicon: Lexicon) -> bool:
    """ "Rocky roads", not "Rocky is"."""
    return lexicon.describes(words[0].lower()) and not (words[1:2] and words[1] in _AUXILIARIES)


def _hangs_on(noun: str, lower: str, lexicon: Lexicon) -> bool:
    """ "in" or "wearing" after a man: what follows is no longer the noun."""
    return lower in listed("prepositions") or (lower in lexicon.verb_of["ing"] and lexicon.is_noun(noun.lower()))


_MANY_OF_A_NATION = ("ians", "icans", "exans", "omans", "ermans")
_ONE_PLACE = {"new", "university"}


def _subject_plural(words: list[str], head: str, lexicon: Lexicon) -> bool:
    lower = in_lower_case(words)
    first = lower[0] if lower else ""
    if "and" not in lower and all(w[:1].isupper() for w in words):
        return words[-1].endswith(_MANY_OF_A_NATION) and not _ONE_PLACE.intersection(lower)  # else a name
    if " ".join(lower[:2]) in _COMPARED or lower[:2] == ["a", "few"]:
        return True
    if first in listed("pronouns") and len(lower) == 1:
        return first in listed("plural pronouns")
    if "and" in lower:
        return True
    if first in listed("numbers", "plural determiners") or first.isdigit():
        return first not in ("some", "all") or lexicon.is_plural(head.lower())
    return first not in listed("singular determiners") and lexicon.is_plural(head.lower())


def _is_phrase(words: list[str], lexicon: Lexicon) -> bool:
    """May these words be a subject? It must hold a noun or pronoun and no sign of another clause."""
    if not words or len(words) > 14:
        return False
    lower = in_lower_case(words)
    if "," in lower and listed("conjunctions").isdisjoint(lower):
        return False
    if not _JOINS_CLAUSES.isdisjoint(lower) or _says_when(lower):
        return False
    if (
        lower[0] in listed("conjunctions", "question words")
        or (lower[1:2] == [","] and not _lists_names(words, lower))
        or not listed("relatives").isdisjoint(words[1:])
    ):
        return False
    if not listed("marks of another clause", "modals").isdisjoint(lower) or _begins_again(words, lexicon):
        return False
    if (
        lower[-1] in ("to", "sure", "certain")
        or "sure" in lower
        or "never" in lower[:-1]
        or not listed("question words").isdisjoint(lower[1:])
    ):
        return False  # "Ann wanted to", "the pilots understood what"
    return (
        any(lexicon.is_noun(w) or w in listed("pronouns") or _ends_name(w) for w in [*lower, *words[1:]])
        or (lower[0] == "the" or (len(words) == 1 and lower[0] in listed("parts of a number")))
        or (len(words) < 5 and lower[0].endswith("ing"))
        or (len(words) == 1 and words[0][:1].isupper() and "-" in words[0])
    )


def _lists_names(words: list[str], lower: list[str]) -> bool:
    """ "BBC, ITV and RTE"."""
    return "and" in lower and all(w[:1].isupper() or w in (",", "and", "the") for w in words)


def _says_when(lower: list[str]) -> bool:
    """ "A minute after the bell": when something happened, not what."""
    times = (i for i, word in enumerate(lower[:-1]) if lower[i + 1] in ("after", "before"))
    return any(lower[i] in listed("names of a time", "how soon") for i in times)


_BEGINS_AGAIN = listed("begins a noun phrase")


def _begins_again(words: list[str], lexicon: Lexicon) -> bool:
    """ "The way the islands": a second noun phrase that nothing joins to the first is the subject of another clause."""
    for before, word in itertools.pairwise(words):
        if word.lower() in _BEGINS_AGAIN and before.lower() not in _JOINS_NOUNS:
            verb = before in lexicon.verb_of["ing"] or before in lexicon.verb_of["past"] or before in lexicon.forms
            if not verb or before in lexicon.nouns:
                return True
    return False


def _finite(words: list[str], lower: list[str], lexicon: Lexicon) -> int | None:
    """Where a simple finite verb stands, if one is sure enough."""
    for i in range(1, len(words)):
        # A capital is part of a name: "Chapel Steps".
        when = lower[i] == "last" and lower[i + 1 : i + 2] and lower[i + 1] in listed("names of a time")
        if not when and not words[i][:1].isupper() and lexicon.base_of(lower[i], "third", "base", "past"):
            end = i
            while end > 1 and _is_adverb(lower[end - 1]):
                end -= 1
            before = lower[end - 1]
            ends_subject = _ends_name(words[end - 1]) or _may_end_subject(lower, i, before, lexicon)
            if ends_subject and _is_finite(words, lower, i, end, lexicon):
                return i
    return None


_ADVERBS = listed("adverbs", "safe adverbs", "hedges")


def _is_adverb(word: str) -> bool:
    return word in _ADVERBS or is_safe_adverb(word)


def _ends_name(word: str) -> bool:
    return word[:1].isupper() or word[:1].isdigit() or word in ('"', "”")


def _is_noun_here(words: list[str], lower: list[str], i: int, lexicon: Lexicon) -> bool:
    """ "The research reports were lost": another verb follows before the clause ends, so that this is none."""
    behind = i + 2 if lower[i + 1 : i + 2] in (["all"], ["both"], ["also"], ["then"]) else i + 1
    acted = (
        lower[behind : behind + 1] and lower[behind] in lexicon.verb_of["past"] and lower[behind] not in lexicon.nouns
    )
    if lower[i + 1 : i + 2] == [","] and lexicon.is_noun(lower[i]) and lower[i] in lexicon.verb_of["third"]:
        return True  # "with housing searches, choices of schools"
    if behind == i + 2 and acted and lower[i] in lexicon.verb_of["third"]:
        return True  # "my results all came"
    if lower[i + 1 : i + 2] and (lower[i + 1] in listed("determiners", "object pronouns") or lower[i + 1] == "to"):
        return False
    if lower[i] in lexicon.verb_of["third"] and lower[i + 1 : i + 2] and lower[i + 1] in lexicon.verb_of["past"]:
        return lower[i + 1] not in lexicon.nouns  # "no major changes occurred"
    if lexicon.base_of(lower[i], "base", "third", "past") in listed("takes that"):
        return False
    for word in lower[i + 1 :]:
        if word in listed("conjunctions", "relatives", "question words", "pronouns") or word in (
            ",",
            "after",
            "before",
        ):
            return False
        if word in _AUXILIARIES:
            return True
    return False


def _may_end_subject(lower: list[str], i: int, before: str, lexicon: Lexicon) -> bool:
    after_in_color = before in lexicon.colors and i >= 2 and lower[i - 2] == "in"
    if not (lexicon.is_noun(before) or before in listed("pronouns") or after_in_color):
        return False
    if lower[i] in listed("prepositions"):
        return lower[i] in lexicon.verb_of["third"] and lower[i] not in listed("relatives")
    return lower[i] not in listed("relatives")


def _is_finite(words: list[str], lower: list[str], i: int, end: int, lexicon: Lexicon) -> bool:
    before = lower[end - 1]
    plural = _subject_plural(words[:end], _subject_head(words[:end], lexicon), lexicon)
    of_one = i > 2 and lower[i - 2] in ("a", "an") and lower[i] in lexicon.verb_of["base"]
    if of_one or _is_noun_here(words, lower, i, lexicon):
        return False  # "having a water fight"
    gerund = lower[0] in lexicon.verb_of["ing"] and lower[0] not in lexicon.nouns and lower[i] not in lexicon.nouns
    if (gerund or not plural) and lower[i] in lexicon.verb_of["third"]:
        # "the dog walks" but "two dog walks": a noun reading needs a verb later on
        return lower[i] not in lexicon.nouns or listed("be", "have").isdisjoint(lower[i + 1 :])
    if lower[i] in lexicon.verb_of["base"] and "to" not in lower[:i]:
        many_before = lexicon.is_plural(before)
        if plural and (many_before or "and" in lower[:i] or lower[i] not in lexicon.nouns):
            return True
        if before in listed("collectives", "takes a base form") or (many_before and "of" in lower[:i]):
            return True
    return _is_past(words, i, end, lexicon)


def _is_past(words: list[str], i: int, end: int, lexicon: Lexicon) -> bool:
    """A past form after a noun may be a participle ("a man dressed in blue"): asked of verbs where both differ, or
    where an object or place follows and nothing else can be the verb.
    """
    word, after = words[i].lower(), words[i + 1] if i + 1 < len(words) else ""
    base = lexicon.verb_of["past"].get(word)
    if base is None:
        return False
    certain = words[0].lower() in listed("surely a subject") and end == 1  # "he"
    follows = after.lower()
    if base in listed("verbs of one form"):
        return (certain and words[0].lower() in ("he", "she", "it")) or (end == 1 and words[0][:1].isupper())
    if base in listed("takes an act") and _is_adverb(follows) and words[i + 2 : i + 3]:
        after, follows = words[i + 2], words[i + 2].lower()  # "started slowly moving"
    forms = lexicon.forms[base]
    certain = certain or end < i  # "jobs never held"
    if forms.past != forms.participle or not after or certain:
        return True
    if follows in listed("prepositions") and _acts_later(words[i + 1 :], names=words[0][:1].isupper()):
        return False  # "the papers contained on a form were approved"
    if follows in listed("determiners", "numbers", "after a past form") or _ends_name(after):
        return True
    if follows == "by" and " ".join(words[i + 2 : i + 4]).lower() in listed("by how much"):
        return True
    if follows == "by" and words[i + 2 : i + 3] and (words[i + 2] in ("about", "around") or words[i + 2][0].isdigit()):
        return True
    if follows == "by" and words[i + 2 : i + 3] and words[i + 2].lower() in lexicon.verb_of["ing"]:
        return all(map(_ends_name, words[:end]))
    if base in listed("acted on by nobody"):
        return True  # "people lived in"
    if follows == "by" or word in listed("participles of a state"):
        return False
    if follows not in listed("prepositions", "conjunctions", "adverbs") and lexicon.is_noun(words[i - 1].lower()):
        acts = follows in lexicon.verb_of["ing"] and base in listed("takes an act")  # "started playing"
        return acts or (follows not in lexicon.verb_of["ing"] and not follows.endswith("ly"))  # an object
    # A name, or something certain, has come to its verb; "a man" may go on.
    named = all(_ends_name(word) or word in listed("parts of a name") for word in words[1:end]) and (
        end > 1 or _ends_name(words[0])
    )
    named = named or (words[0][:1].isupper() and words[0] != "I" and end > 1)
    return named or words[0].lower() in listed("opens a certain subject") or words[0].endswith(("'s", "’s"))


def _acts_later(words: list[str], names: bool) -> bool:
    """Whether an auxiliary follows before another clause begins; of someone by name, "and" may begin one."""
    for word in in_lower_case(words):
        if word in _OPENS_ANOTHER or (names and word == "and"):
            return False
        if word in _AUXILIARIES:
            return True
    return False


_OPENS_ANOTHER = listed("relatives", "question words", "pronouns", "conjunctions") - {"and", "or"} | {
    ",",
    "before",
    "after",
    "to",
}


def read(text: str, lexicon: Lexicon) -> Clause:
    """Read a sentence, or say that it is unreadable."""
    words = lower_first(tokens_of(text.lower() if text.isupper() else text), lexicon)
    if _lacks_article(words, lexicon):
        words = ["a", *words]
    said = _with_small_article(plainly(words, lexicon))
    clause = None if _is_no_sentence(text, said) else _read(said, in_lower_case(said), lexicon)
    as_written = tokens_of(text)
    tokens = lower_first(as_written, lexicon)
    in_doubt = bool(tokens) and _capital_in_doubt(as_written[0], tokens, lexicon)
    if clause is None:
        return Clause("unreadable", lexicon, tokens=tuple(tokens), capital_in_doubt=in_doubt)
    in_doubt = in_doubt and said[0] == tokens[0]  # inside a sentence a capital is one
    return clause.but(tokens=tuple(tokens), shortened=clause.shortened or said != words, capital_in_doubt=in_doubt)


def _with_small_article(words: list[str]) -> list[str]:
    """ "However, The Beatles sang": the Beatles sang."""
    kept = len(words) > 1 and words[1].lower() in listed("keeps its article")
    return [words[0].lower(), *words[1:]] if words[:1] in (["The"], ["A"], ["An"]) and not kept else words


def _is_no_sentence(text: str, words: list[str]) -> bool:
    if not words or len(words) > MAX_WORDS or is_question(text) or _JOINED_TO_A_WORD.search(text):
        return True
    return not all(map(_PLAIN_WORD.match, words))


def is_question(text: str) -> bool:
    """It says nothing that could follow or be contradicted."""
    return text.rstrip(" \"'”’.!").endswith("?") or _TAG.search(text) is not None


_JOINED_TO_A_WORD = re.compile(r"\w\(\w")
"""A clause of a law, 808(2): a mark of a word, and none of a sentence."""
_TAG = re.compile(r"n['’]?t (?:i|you|he|she|it|we|they)\W{0,3}$", re.IGNORECASE)


def _read(words: list[str], lower: list[str], lexicon: Lexicon) -> Clause | None:
    if _opens_otherwise(words, lower, lexicon):
        return None
    if lower[0] == "there" and len(words) > 2 and lower[1] in listed("be") and lower[1] != "am":
        return _read_existential(words, lower, lexicon)
    if not listed("relatives").isdisjoint(lower[1:MAX_RELATIVE]):
        clause = _read_with_relative(words, lower, lexicon)
        if clause is not None:
            return clause
    auxiliary_position = next((i for i, w in enumerate(words) if i and w in _AUXILIARIES), None)
    verb_position = _finite(words, lower, lexicon)
    if auxiliary_position is not None and (verb_position is None or auxiliary_position <= verb_position):
        return _read_auxiliary(words, lower, auxiliary_position, lexicon)
    if verb_position is not None and _is_phrase(words[:verb_position], lexicon):
        return _read_simple(words, lower, verb_position, lexicon)
    return _read_fragment(words, lower, lexicon)


def _read_with_relative(words: list[str], lower: list[str], lexicon: Lexicon) -> Clause | None:
    """ "People who read are happy": the auxiliary behind the verb of the relative clause, if nothing else opens between
    the two.
    """
    start = next(i for i, word in enumerate(lower) if i and word in listed("relatives"))
    verbs = [i for i in range(start + 1, len(words)) if lower[i] in _AUXILIARIES or _is_verb(lower[i], lexicon)]
    if not verbs or not _is_phrase(words[:start], lexicon) or lower[start - 1] in listed("prepositions"):
        return None
    if any(i for i in range(1, start) if lower[i] in _AUXILIARIES or _is_verb(lower[i], lexicon)):
        return None
    for i in range(verbs[0] + 1, len(words)):
        if lower[i] in listed("conjunctions", "relatives", "question words") or lower[i] == ",":
            return None
        if lower[i] in _AUXILIARIES and lower[i - 1] not in _AUXILIARIES and i > verbs[0] + 1:
            return _with_auxiliary(words, lower, i, words[:start], lexicon)
    return None


def _opens_otherwise(words: list[str], lower: list[str], lexicon: Lexicon) -> bool:
    """With no subject: "When …", "In the park …", "Run …"."""
    first = lower[0]
    if first in listed("prepositions") and " ".join(lower[:2]) not in _COMPARED:
        return True
    if first in listed("conjunctions"):
        return True
    if first not in lexicon.forms or first in lexicon.nouns:
        return False
    after = listed("determiners", "pronouns", "object pronouns", "prepositions", "conjunctions", "adverbs") - {"of"}
    return lower[1:2] == [] or lower[1] in after


def _read_existential(words: list[str], lower: list[str], lexicon: Lexicon) -> Clause | None:
    start = 3 if lower[2:3] == ["not"] else 2
    if lower[start : start + 2] == ["no", "longer"]:
        return None
    while lower[start : start + 1] and lower[start] in listed("adverbs after there is"):
        start += 1
    end = start + 1
    while end < len(words) and not _ends_noun_phrase(lower, end, lexicon):
        end += 1
    head = _subject_head(words[start:end], lexicon)
    if not head:
        return None
    return Clause(
        "existential", lexicon, tuple(words[start:end]), lower[1], rest=tuple(words[end:]), head=head,
        plural=lower[1] in listed("plural be"), past=lower[1] in listed("past be"),
        negated=lower[2] == "not" or lower[start] == "no",
    )  # fmt: skip


def _ends_noun_phrase(lower: list[str], i: int, lexicon: Lexicon) -> bool:
    """At a participle, a relative or a phrase of place."""
    if lower[i] in listed("relatives", "after the noun of there is", "participles of a state"):
        return True
    return lower[i] in lexicon.verb_of["ing"] and lexicon.is_noun(lower[i - 1])


def _read_auxiliary(words: list[str], lower: list[str], position: int, lexicon: Lexicon) -> Clause | None:
    subject, adverbs = _adverbs_parted(words[:position])
    if adverbs[:1] == ["never"] and lower[position] in listed("have") and _is_phrase(subject, lexicon):
        after = lower[position + 1 : position + 2]
        if after and after[0] not in lexicon.verb_of["participle"]:
            return _read_simple(words, lower, position, lexicon)  # "we never had a book"
    if not _all_safe(adverbs, lower):
        return None  # "the shops mostly have", "you probably are"
    if not _is_phrase(subject, lexicon):
        return None
    return _with_auxiliary(words, lower, position, subject, lexicon, adverbs)


def _with_auxiliary(
    words: list[str],
    lower: list[str],
    position: int,
    noun_phrase: list[str],
    lexicon: Lexicon,
    left: Sequence[str] = (),
) -> Clause | None:
    """`noun_phrase`: the part of the subject that says what it is about."""
    auxiliary, after, adverbs = lower[position], lower[position + 1 :], list(left)
    subject = words[: position - len(left)]
    denied = after[:1] in (["not"], ["never"])
    if after[:1] == ["never"]:
        adverbs.append("never")  # what never was was not
    start = position + 2 if denied else position + 1
    while len(words) > start + 1 and not denied and _may_go(lower, start, lexicon):
        adverbs.append(lower[start])
        start += 1
    rest = tuple(words[start:])
    head = _subject_head(noun_phrase, lexicon)
    if not rest or not head:
        return None
    negated = after[0] in ("not", "never") or lower[0] in listed("no subject")
    plural = _subject_plural(noun_phrase, head, lexicon)
    clause = Clause(
        "", lexicon, tuple(subject), auxiliary, rest=rest, plural=plural, head=head, negated=negated,
        shortened=bool(adverbs),
    )  # fmt: skip
    if auxiliary in listed("be"):
        return _read_be(clause)
    if auxiliary in listed("have"):
        return _read_have(clause)
    if auxiliary in listed("modals"):
        return clause.but(kind="modal")
    if not negated or clause.first not in lexicon.forms:
        return None
    return clause.but(kind="do", verb=clause.first, rest=clause.thing, past=auxiliary == "did")


def _may_go(lower: list[str], i: int, lexicon: Lexicon) -> bool:
    """ "is also a nurse", "has quickly run": the adverb is not all that is said, nor does it measure an adjective."""
    if lower[i + 1] in ("located", "situated", "based") or (lower[i] == "only" and lower[i - 1] in listed("modals")):
        return False  # "centrally located", "can only"
    return _all_safe([lower[i]], lower) and lower[i + 1] not in listed("conjunctions", "prepositions")


def _read_be(clause: Clause) -> Clause | None:
    # "you are" says nothing about number; every other form of be does
    plural = clause.auxiliary in listed("plural be") and (clause.determiner != "you" or len(clause.subject) > 1)
    clause = clause.but(kind="copular", plural=plural, past=clause.auxiliary in listed("past be"))
    verb = clause.lexicon.verb_of["ing"].get(clause.first)
    third = clause.first in clause.lexicon.verb_of["third"]
    if third and clause.first not in clause.lexicon.nouns and not clause.lexicon.describes(clause.first):
        return None  # "is sits"
    quality = clause.first in listed("qualities in ing") and _has_no_object(clause)
    if verb is not None and not quality and (clause.first not in clause.lexicon.nouns or clause.thing):
        return clause.but(kind="progressive", verb=verb, rest=clause.thing)
    return clause


def _has_no_object(clause: Clause) -> bool:
    """ "was exciting when we came", not "was exciting the crowd"."""
    after = clause.lower_rest[1] if clause.thing else ""
    return not after or after in listed("prepositions", "conjunctions") or after == "when"


def _has_described_thing(clause: Clause) -> bool:
    """ "we have limited space", not "we have limited it"."""
    after = clause.lower_rest[1] if clause.thing else ""
    a_thing = after in clause.lexicon.nouns and after not in listed("names of a time", "prepositions")
    return a_thing and clause.lexicon.describes(clause.first)


def _read_have(clause: Clause) -> Clause | None:
    if clause.auxiliary == "have" and clause.determiner in ("a", "an") and "and" not in clause.subject:
        plural = any(clause.lexicon.is_plural(word) for word in in_lower_case(clause.subject))
        if not plural and clause.noun not in listed("collectives"):
            return None  # "a girl have"
    # "a woman in a hat and gloves has": the verb knows the number
    many = clause.auxiliary == "have" and clause.determiner not in ("i", "you")
    clause = clause.but(past=clause.auxiliary == "had", plural=many or (clause.plural and clause.auxiliary == "had"))
    participles = clause.lexicon.verb_of["participle"]
    taken = clause.first in participles and not _has_described_thing(clause)
    if taken or clause.first in listed("before a participle"):
        return clause.but(kind="perfect")
    parted = clause.first not in clause.lexicon.nouns and clause.thing and clause.lower_rest[1] in participles
    if parted and (clause.first.endswith("ly") or clause.first in listed("adverbs", "safe adverbs")):
        return clause.but(kind="perfect")  # "has nearly doubled"
    if clause.negated and clause.first.endswith("ed") and clause.first not in clause.lexicon.nouns:
        return clause.but(kind="perfect")
    if clause.negated and clause.determiner not in listed("no subject"):
        return clause.but(kind="do", verb="have", auxiliary=clause.does)  # "has never a word for us"
    return clause.but(kind="simple", verb="have", auxiliary="")


def _read_simple(words: list[str], lower: list[str], position: int, lexicon: Lexicon) -> Clause | None:
    subject, adverbs = _adverbs_parted(words[:position])
    form, forms = lower[position], lexicon.verb_of
    head = _subject_head(subject, lexicon)
    never = adverbs[:1] == ["never"]
    adverbs = adverbs[1:] if never else adverbs
    if not head or not _all_safe(adverbs, lower):
        return None
    plural = _subject_plural(subject, head, lexicon)
    past = form in forms["past"] and form not in forms["third"]
    if form in forms["base"]:  # "they put" may be of now, "he put" is not, and "saw" is hardly of a saw
        now = plural or lower[0] in ("i", "you")
        if past and now and lower[0] in listed("pronouns") and form not in listed("rather a past form"):
            return None  # "I quit": of now or not
        past = past and (not now or form in listed("rather a past form"))
    if form in forms["third"] and not past:
        plural = False  # "keeping goats makes you strong"
    if form in forms["base"] and not past:
        plural = plural or lower[0] not in ("i", "you")  # "a couple eat": the verb knows the number
    verb = (lexicon.base_of(form, "past") if past else lexicon.base_of(form, "third", "base", "past")) or ""
    if never and any(a == "and" and b in forms["past"] for a, b in itertools.pairwise(lower[position:])):
        return None  # "never came and joined"
    if never:  # what never happened did not happen
        does = "did" if past else "do" if plural or lower[0] in ("i", "you") else "does"
        return Clause(
            "do", lexicon, tuple(subject), does, verb,
            tuple(words[position + 1 :]), plural=plural, past=past, head=head, negated=True, shortened=True,
        )  # fmt: skip
    return Clause(
        "simple", lexicon, tuple(subject), verb=verb,
        rest=tuple(words[position + 1 :]), plural=plural, past=past, head=head,
        negated=lower[0] in listed("no subject"), shortened=bool(adverbs),
    )  # fmt: skip


def _all_safe(adverbs: list[str], lower: list[str]) -> bool:
    """ "only pays" is "pays", but "only pays if asked" is not "pays if asked"."""
    if not _CONDITIONS.isdisjoint(lower) and not listed("of a condition").isdisjoint(adverbs):
        return False
    return all(map(is_safe_adverb, adverbs))


_CONDITIONS = listed("opens a clause") | {"to", "for"}


def _adverbs_parted(subject: list[str]) -> tuple[list[str], list[str]]:
    """ "he also": he, also."""
    end = len(subject)
    while end > 1 and _is_adverb(subject[end - 1]):
        end -= 1
    if subject[end - 1].lower() in listed("prepositions"):  # "the girls of now"
        end = len(subject)
    return subject[:end], subject[end:]


def _read_fragment(words: list[str], lower: list[str], lexicon: Lexicon) -> Clause | None:
    """ "A dog jumping through hoops": a noun phrase and a participle, read as if "is" stood between them."""
    for i in range(1, len(words)):
        verb = lexicon.verb_of["ing"].get(lower[i]) if words[i][:1].islower() else None
        if verb is not None and lexicon.is_noun(lower[i - 1]) and _is_phrase(words[:i], lexicon):
            head = _subject_head(words[:i], lexicon)
            if verb == "be" or lower[0] == "somewhat" or (i > 1 and lower[i - 1] in listed("part of a sport")):
                return None  # "one of them being", "a person ice skating"
            if not head or _has_another_verb(lower, i, lexicon):
                return None
            plural = _subject_plural(words[:i], head, lexicon)
            return Clause(
                "progressive", lexicon, tuple(words[:i]), "are" if plural else "is", verb, tuple(words[i + 1 :]),
                plural=plural, head=head, fragment=True, negated=not listed("negatives").isdisjoint(lower[:i]),
            )  # fmt: skip
    return _read_noun_phrase(words, lower, lexicon)


def _has_another_verb(lower: list[str], i: int, lexicon: Lexicon) -> bool:
    """May the participle at i hang on another verb, or on a noun too far away?"""
    nouns, forms = lexicon.nouns, lexicon.verb_of
    if lower[i - 1] in forms["past"] and lower[i - 1] not in nouns:
        return True  # "a man just finished cutting": the verb is the word before
    if any(w in forms["third"] and w not in nouns for w in lower[i + 1 :]):
        return True
    if any(_is_done_by_itself(w, lexicon) for w in lower[1:i]):
        return True  # "bakers slept in a housing block": no participle of what is slept
    return sum(w in listed("prepositions") and w != "of" for w in lower[1:i]) > 1


def _is_done_by_itself(word: str, lexicon: Lexicon) -> bool:
    base = lexicon.verb_of["past"].get(word)
    named = word in lexicon.nouns or lexicon.describes(word) or word in listed("participles of a state")
    return base is not None and base not in lexicon.transitive and not named


_NO_PART_OF_A_NOUN_PHRASE = listed("conjunctions", "relatives", "be", "modals") - {"and"}
_PARTS_OF_A_NOUN_PHRASE = listed("determiners", "prepositions", "numbers") | {"and", ","}


def _read_noun_phrase(words: list[str], lower: list[str], lexicon: Lexicon) -> Clause | None:
    """ "A naked man in a bar": read as if "There is" stood before it."""
    first = lower[0]
    indefinite = first in listed("opens a noun phrase", "numbers") or first in lexicon.plural_forms
    if not indefinite or any(w in _NO_PART_OF_A_NOUN_PHRASE or _is_verb(w, lexicon) for w in lower):
        return None
    there_is = ["there", "is" if first in ("a", "an") else "are"]
    clause = _read_existential([*there_is, *words], [*there_is, *lower], lexicon)
    if clause is None or (clause.first and clause.first not in listed("prepositions") and clause.first != "next"):
        return None
    if any(_may_be_a_verb(w.lower(), lexicon) for w in clause.subject):
        return None
    return clause.but(fragment=True)


def _is_verb(word: str, lexicon: Lexicon) -> bool:
    if word in lexicon.nouns or word in lexicon.adjectives or word in listed("prepositions"):
        return False
    return lexicon.base_of(word, "third", "base", "past", "ing", "participle") is not None


def _may_be_a_verb(word: str, lexicon: Lexicon) -> bool:
    known = word in _PARTS_OF_A_NOUN_PHRASE or word in lexicon.nouns or lexicon.describes(word)
    return not known and word.endswith(("s", "ing", "ed"))
