"""A shallow reading of one English sentence: who, the finite verb, and the rest. It says so when it cannot
read one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from sensecheck.language import morphology
from sensecheck.language.rewriting.lexicon import (
    ADVERBS,
    BE,
    COLLECTIVES,
    CONJUNCTIONS,
    DETERMINERS,
    HAVE,
    MODALS,
    NEGATIVES,
    NUMBERS,
    PREPOSITIONS,
    PRONOUNS,
    RELATIVES,
    Lexicon,
    one_of,
)

# One alternative per class of character, none nested: linear on any input.
_TOKEN = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*|[^\s\w]|_+")
_CLOSING = re.compile(r" ([,;:.!?%)\]”])")
_OPENING = re.compile(r"([(\[“$#]) ")
_QUOTED = re.compile(r'" ([^"]*) "')
_FINAL = ".!?…\"'”’ "
MAX_WORDS = 60


def tokens_of(text: str) -> list[str]:
    """Words and marks, final punctuation left off, n't and 's split from the auxiliary they hang on."""
    words: list[str] = []
    for token in _TOKEN.findall(text.strip().rstrip(_FINAL)):
        lower = token.lower().replace("’", "'")
        if lower.endswith("n't") and lower not in ("can't", "won't"):
            words += [token[:-3], "not"]
        elif lower == "can't":
            words += [token[:-2], "not"]
        elif lower == "won't":
            words += ["will", "not"]
        elif lower == "cannot":
            words += [token[:3], "not"]
        elif lower in ("there's", "he's", "she's", "it's") and not words:
            words += [token[:-2], "is"]
        elif lower in ("they're", "we're", "you're"):
            words += [token[:-3], "are"]
        elif lower == "i'm":
            words += ["I", "am"]
        else:
            words.append(token)
    if [w.lower() for w in words[:2]] == ["no", "one"]:
        words[:2] = ["nobody"]
    return words


def sentence(words: list[str]) -> str:
    """Words as a sentence: capital, marks where they belong, full stop, a and an by the next word's sound."""
    written: list[str] = []
    for i, word in enumerate(words):
        if word.lower() in ("a", "an") and i + 1 < len(words):
            article = morphology.indefinite_article(words[i + 1])
            word = article.capitalize() if word[:1].isupper() else article
        written.append(word)
    if written.count('"') % 2:
        written.append('"')  # the closing one went with the final punctuation
    text = _OPENING.sub(r"\1", _CLOSING.sub(r"\1", " ".join(written))).replace(" / ", "/")
    text = _QUOTED.sub(r'"\1"', text).strip()
    return text[:1].upper() + text[1:] + "." if text else ""


@dataclass(frozen=True)
class Clause:
    """`subject` `auxiliary` `verb` `rest`: any of the last three may be empty.

    kind: existential (there is …; the noun phrase is in `subject`), progressive, copular, perfect, modal,
    simple, do (does not …), or unreadable.
    """

    kind: str
    subject: tuple[str, ...] = ()
    auxiliary: str = ""
    verb: str | None = None
    """base form of the main verb, None after a copula"""
    rest: tuple[str, ...] = ()
    plural: bool = False
    past: bool = False
    negated: bool = False
    fragment: bool = False
    """the auxiliary was not in the text: "A dog jumping through hoops" """
    head: str = ""
    """the noun the subject is about, as written"""

    @property
    def determiner(self) -> str:
        return self.subject[0].lower() if self.subject else ""

    @property
    def be(self) -> str:
        if self.subject and self.subject[0].lower() == "i":
            return "was" if self.past else "am"
        if self.past:
            return "were" if self.plural else "was"
        return "are" if self.plural else "is"

    def but(self, **changes: object) -> Clause:
        return replace(self, **changes)  # type: ignore[arg-type]


UNREADABLE = Clause("unreadable")
COMPARED = (["more", "than"], ["fewer", "than"], ["at", "least"], ["at", "most"], ["less", "than"])


def lower_first(words: list[str], lexicon: Lexicon) -> list[str]:
    """The first word without its capital, unless it looks like a name."""
    if not words or words[0] == "I":
        return words
    lower = words[0].lower()
    common_word = (
        lower in DETERMINERS or lower in PRONOUNS or lower in NUMBERS or lower in lexicon.nouns
        or lower in lexicon.adjectives or lower in lexicon.colors or lower in PREPOSITIONS or lower in ADVERBS
        or lower in lexicon.verb_of["ing"] or lower in ("there", "none", "nothing", "here", "more", "fewer", "less")
    )  # fmt: skip
    return [lower if common_word else words[0], *words[1:]]


def with_article(words: list[str], lexicon: Lexicon) -> list[str]:
    """ "Woman is holding a child" as its writer meant it: "a woman"."""
    if (
        words and words[0] in lexicon.people | lexicon.animals and words[0] not in PRONOUNS and words[0] != "police"
    ) and (
        len(words) > 1
        and not lexicon.is_plural(words[0])
        and (
            words[1] in ("is", "was", "has", "in", "with", "on")
            or words[1] in lexicon.verb_of["ing"]
            or words[1] in lexicon.verb_of["third"]
        )
    ):
        return ["a", *words]
    adjective_and_person = words[:1] and words[0] in lexicon.adjectives and words[1:2] and words[1] in lexicon.people
    if adjective_and_person and len(words) > 2 and not lexicon.is_plural(words[1]) and words[2] in ("is", "was", "has"):
        return ["a", *words]
    if words[:2] in (["group", "of"], ["bunch", "of"], ["couple", "of"]):
        return ["a", *words]
    return words


def _subject_head(words: list[str], lexicon: Lexicon) -> str:
    """The noun before the first preposition, participle, relative or comma; of "a group of men" that is
    men.
    """
    phrase: list[str] = []
    if [w.lower() for w in words[:2]] in COMPARED:
        words = words[2:]
    for i, word in enumerate(words):
        lower = word.lower()
        if (
            lower == "of"
            and phrase
            and phrase[-1].lower() in one_of("group couple pair bunch lot lots crowd number team")
        ):
            phrase = []
            continue
        if (lower in RELATIVES and i > 0) or lower in (",", "not"):
            break
        if lower in PREPOSITIONS and phrase:
            break
        if i > 0 and lower in lexicon.verb_of["ing"] and phrase and lexicon.is_noun(phrase[-1].lower()):
            break
        phrase.append(word)
    nouns = [w for w in phrase if lexicon.is_noun(w.lower()) or w.lower() in PRONOUNS]
    return nouns[-1] if nouns else ""


def _subject_plural(words: list[str], head: str, lexicon: Lexicon) -> bool:
    lower = [w.lower() for w in words]
    if not lower:
        return False
    if all(w[:1].isupper() for w in words) and "and" not in lower:
        return False  # a name
    if lower[:2] in COMPARED:
        return True
    if lower[0] in PRONOUNS and len(lower) == 1:
        return PRONOUNS[lower[0]]
    if "and" in lower:
        return True
    if (
        lower[0] in NUMBERS
        or lower[0] in ("several", "many", "few", "both", "some", "these", "those", "all")
        or lower[0].isdigit()
    ):
        return lexicon.is_plural(head.lower()) or lower[0] not in ("some", "all")
    if lower[0] in ("a", "an", "one", "another", "every", "each", "this", "that"):
        return False
    return lexicon.is_plural(head.lower())


def _is_phrase(words: list[str], lexicon: Lexicon) -> bool:
    """May these words be a subject? It must hold a noun or pronoun and no sign of another clause."""
    if not words or len(words) > 14:
        return False
    lower = [w.lower() for w in words]
    if lower[0] in CONJUNCTIONS or lower[0] in ("what", "where", "how", "why", "if"):
        return False
    if any(w in (";", ":", "(", ")", '"', "“") or w in MODALS for w in lower):
        return False
    if any(w in RELATIVES for w in lower[1:]):
        return False
    return any(lexicon.is_noun(w) or w in PRONOUNS for w in lower)


def _finite(words: list[str], lower: list[str], lexicon: Lexicon) -> int | None:
    """Where a simple finite verb stands, if one is sure enough."""
    for i in range(1, len(words)):
        if words[i][:1].isupper():
            continue  # part of a name: "Chapel Steps"
        before = lower[i - 1]
        if before in ADVERBS and i >= 2:
            before = lower[i - 2]
        after_in_color = before in lexicon.colors and i >= 2 and lower[i - 2] == "in"
        if not (lexicon.is_noun(before) or before in PRONOUNS or after_in_color):
            continue
        if lower[i] in RELATIVES or (lower[i] in PREPOSITIONS and lower[i] not in lexicon.verb_of["third"]):
            continue
        head = _subject_head(words[:i], lexicon)
        plural = _subject_plural(words[:i], head, lexicon)
        after = lower[i + 1] if i + 1 < len(words) else ""
        if not plural and lower[i] in lexicon.verb_of["third"]:
            # "the dog walks" but "two dog walks": a noun reading needs a verb later on
            if any(w in BE or w in HAVE for w in lower[i + 1 :]) and lower[i] in lexicon.nouns:
                continue
            return i
        if plural and lower[i] in lexicon.verb_of["base"] and lexicon.is_plural(before):
            return i
        if plural and "and" in lower[:i] and lower[i] in lexicon.verb_of["base"]:
            return i
        if (before in COLLECTIVES and lower[i] in lexicon.verb_of["base"]) or (
            lexicon.is_plural(before) and lower[i] in lexicon.verb_of["base"] and "of" in lower[:i]
        ):
            return i
        if before in ("i", "they", "we", "you") and lower[i] in lexicon.verb_of["base"]:
            return i
        # A past form after a noun may be a participle ("a man dressed in blue"): asked of verbs where both
        # differ,
        # or where an object or place follows and nothing else can be the verb.
        base = lexicon.verb_of["past"].get(lower[i])
        if base is not None and base not in ("read", "hurt", "put", "set", "cut", "hit"):
            forms = lexicon.forms[base]
            if forms.past != forms.participle or (
                after in DETERMINERS or after in ("to", "at", "into", "through", "up", "down") or after == ""
            ):
                return i
    return None


def read(text: str, lexicon: Lexicon) -> Clause:
    """Read a sentence, or say that it is unreadable."""
    words = with_article(lower_first(tokens_of(text.lower() if text.isupper() else text), lexicon), lexicon)
    if not words or len(words) > MAX_WORDS or text.strip().endswith("?") or re.search(r"[.!?]\s+[A-Z]", text):
        return UNREADABLE
    if any(not re.match(r"[\w,'’-]+$", w) for w in words):
        return UNREADABLE
    lower = [w.lower() for w in words]
    if (
        lower[0] in CONJUNCTIONS
        or (lower[0] in PREPOSITIONS and lower[:2] not in COMPARED)
        or (lower[0] in lexicon.verb_of["base"] and lower[0] not in lexicon.nouns)
    ):
        return UNREADABLE
    if lower[0] == "there" and len(words) > 2 and lower[1] in BE and lower[1] != "am":
        return _read_existential(words, lower, lexicon)
    auxiliary_position = next(
        (i for i, w in enumerate(lower) if i and (w in BE or w in HAVE or w in MODALS or w in ("do", "does", "did"))),
        None,
    )
    verb_position = _finite(words, lower, lexicon)
    if auxiliary_position is not None and (verb_position is None or auxiliary_position <= verb_position):
        return _read_auxiliary(words, lower, auxiliary_position, lexicon)
    if verb_position is not None and _is_phrase(words[:verb_position], lexicon):
        return _read_simple(words, lower, verb_position, lexicon)
    return _read_fragment(words, lower, lexicon)


def _read_existential(words: list[str], lower: list[str], lexicon: Lexicon) -> Clause:
    auxiliary, rest = lower[1], words[2:]
    negated = False
    if rest and rest[0].lower() == "not":
        negated, rest = True, rest[1:]
    while rest and rest[0].lower() in ("currently", "also", "now", "still"):
        rest = rest[1:]
    if not rest:
        return UNREADABLE
    lower_rest = [w.lower() for w in rest]
    # where the noun phrase ends: at a participle, a relative or the last word
    end = len(rest)
    for i in range(1, len(rest)):
        if (
            (lower_rest[i] in lexicon.verb_of["ing"] and lexicon.is_noun(lower_rest[i - 1]))
            or lower_rest[i] in RELATIVES
            or lower_rest[i]
            in one_of(
                "on in at near by out outside inside with wearing being , next behind under present here standing"
            )
        ):
            end = i
            break
    subject = rest[:end]
    head = _subject_head(subject, lexicon)
    if not head:
        return UNREADABLE
    return Clause(
        "existential", tuple(subject), auxiliary, None, tuple(rest[end:]), plural=BE[auxiliary],
        past=auxiliary in ("was", "were"), negated=negated or lower_rest[0] == "no", head=head,
    )  # fmt: skip


def _read_auxiliary(words: list[str], lower: list[str], position: int, lexicon: Lexicon) -> Clause:
    subject, auxiliary, rest = words[:position], lower[position], words[position + 1 :]
    if not _is_phrase(subject, lexicon) or not rest:
        return UNREADABLE
    head = _subject_head(subject, lexicon)
    if not head:
        return UNREADABLE
    plural = _subject_plural(subject, head, lexicon)
    negated = rest[0].lower() in ("not", "never") or lower[0] in one_of("no nobody none nothing neither")
    if rest[0].lower() in ("not",):
        rest = rest[1:]
    if not rest:
        return UNREADABLE
    first = rest[0].lower()
    clause = Clause("", tuple(subject), auxiliary, plural=plural, head=head, negated=negated)
    if auxiliary in BE:
        # "you are" says nothing about number; every other form of be does
        clause = clause.but(plural=BE[auxiliary] and lower[0] != "you", past=auxiliary in ("was", "were"))
        verb = lexicon.verb_of["ing"].get(first)
        if verb is not None and (first not in lexicon.nouns or len(rest) > 1):
            return clause.but(kind="progressive", verb=verb, rest=tuple(rest[1:]))
        return clause.but(kind="copular", rest=tuple(rest))
    if auxiliary in HAVE:
        # "a woman in a hat and gloves has": the verb knows the number
        clause = clause.but(past=auxiliary == "had", rest=tuple(rest), plural=plural and auxiliary != "has")
        perfect = lexicon.base_of(first, "participle") is not None or first in (
            "been",
            "just",
            "already",
            "never",
        )
        return clause.but(kind="perfect") if perfect else clause.but(kind="simple", verb="have", auxiliary="")
    if auxiliary in MODALS:
        return clause.but(kind="modal", rest=tuple(rest))
    if not negated or first not in lexicon.forms:
        return UNREADABLE
    return clause.but(kind="do", verb=first, rest=tuple(rest[1:]), past=auxiliary == "did")


def _read_simple(words: list[str], lower: list[str], position: int, lexicon: Lexicon) -> Clause:
    subject = words[:position]
    if subject and subject[-1].lower() in ADVERBS:
        return UNREADABLE
    head = _subject_head(subject, lexicon)
    if not head:
        return UNREADABLE
    plural = _subject_plural(subject, head, lexicon)
    verb = lexicon.base_of(lower[position], "third", "base", "past")
    assert verb is not None
    if lower[position] in lexicon.verb_of["base"] and lower[position] not in lexicon.verb_of["past"]:
        plural = plural or subject[0].lower() not in ("i", "you")  # "a couple eat": the verb knows the number
    past = (
        lower[position] in lexicon.verb_of["past"]
        and lower[position] not in lexicon.verb_of["base"]
        and lower[position] not in lexicon.verb_of["third"]
    )
    return Clause(
        "simple", tuple(subject), "", verb, tuple(words[position + 1 :]), plural=plural, past=past, head=head,
        negated=lower[0] in ("no", "nobody", "none", "nothing", "neither"),
    )  # fmt: skip


def _read_fragment(words: list[str], lower: list[str], lexicon: Lexicon) -> Clause:
    """ "A dog jumping through hoops": a noun phrase and a participle, read as if "is" stood between them."""
    for i in range(1, len(words)):
        verb = lexicon.verb_of["ing"].get(lower[i]) if words[i][:1].islower() else None
        if verb is not None and lexicon.is_noun(lower[i - 1]) and _is_phrase(words[:i], lexicon):
            if lower[i - 1] in lexicon.verb_of["past"] and lower[i - 1] not in lexicon.nouns:
                return UNREADABLE  # "a man just finished cutting": the verb is the word before
            if any(w in lexicon.verb_of["third"] and w not in lexicon.nouns for w in lower[i + 1 :]):
                return UNREADABLE
            head = _subject_head(words[:i], lexicon)
            if not head or sum(w in PREPOSITIONS and w != "of" for w in lower[1:i]) > 1:
                return UNREADABLE
            plural = _subject_plural(words[:i], head, lexicon)
            return Clause(
                "progressive", tuple(words[:i]), "are" if plural else "is", verb, tuple(words[i + 1 :]),
                plural=plural, head=head, fragment=True, negated=any(w in NEGATIVES for w in lower[:i]),
            )  # fmt: skip
    return _read_noun_phrase(words, lower, lexicon)


def _read_noun_phrase(words: list[str], lower: list[str], lexicon: Lexicon) -> Clause:
    """ "A naked man in a bar": read as if "There is" stood before it."""
    indefinite = (
        lower[0] in ("a", "an", "some", "several", "many") or lower[0] in NUMBERS or lower[0] in lexicon.plural_forms
    )
    verbs = ("third", "base", "past", "ing", "participle")
    if not indefinite or any(
        w not in lexicon.nouns and w not in lexicon.adjectives and w not in PREPOSITIONS and lexicon.base_of(w, *verbs)
        for w in lower
    ):
        return UNREADABLE
    if any((w in CONJUNCTIONS and w != "and") or w in RELATIVES or w in BE or w in MODALS for w in lower):
        return UNREADABLE
    plural = lower[0] not in ("a", "an")
    clause = _read_existential(
        ["there", "are" if plural else "is", *words], ["there", "are" if plural else "is", *lower], lexicon
    )
    word_lists = (
        lexicon.nouns,
        lexicon.adjectives,
        lexicon.colors,
        NUMBERS,
        DETERMINERS,
        PREPOSITIONS,
        {"and": 0, ",": 0},
    )
    if any(
        not any(w.lower() in listed for listed in word_lists) and w.lower().endswith(("s", "ing", "ed"))
        for w in clause.subject
    ):
        return UNREADABLE
    if clause.kind == "unreadable" or (
        clause.rest and clause.rest[0].lower() not in PREPOSITIONS and clause.rest[0].lower() != "next"
    ):
        return UNREADABLE
    return clause.but(fragment=True)
