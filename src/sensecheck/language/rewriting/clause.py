"""A sentence as the rules see it: who, the finite verb and the rest, what can be asked of them, and how a clause is
put back into words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from sensecheck.language.morphology import indefinite_article
from sensecheck.language.rewriting.lexicon import Lexicon, listed

_CLOSING = re.compile(r" ([,;:.!?%)\]”])")
_OPENING = re.compile(r"([(\[“$£€#]) ")
_ARTICLES = ("a", "an", "A", "An", "AN")
_MARKS = frozenset(",;:.!?%)]”([“$£€#\"/'")
_QUOTED = re.compile(r'" ([^"]*) "')
_QUOTED_ONCE = re.compile(r"(?<!\w)' ([^']*?) '(?!\w)")
_ENDINGS_OF_THINGS = (
    "tion",
    "sion",
    "ment",
    "nes",
    "ness",
    "ity",
    "itie",
    "ty",
    "tie",
    "ance",
    "ence",
    "ism",
    "ship",
    "ure",
    "logy",
    "logie",
    "sis",
)
LONGEST_SCENE = 16
"""Words: what is longer is told, and not seen."""
_NEVER_LAST = (",", ";", ":")
_SMALL_WORDS = listed("prepositions", "be", "have")
_CLAUSE_SIGNS = listed("conjunctions", "relatives") | {",", ";", ":"}


def written(words: Sequence[str]) -> str:
    """Words as a sentence: capital, marks where they belong, full stop, a and an by the next word's sound."""
    said = list(words)
    while said and said[-1] in _NEVER_LAST:
        said.pop()  # what stood behind it was left out
    for i, word in enumerate(said[:-1]):
        if (word in _ARTICLES[:2] or (word in _ARTICLES and i == 0)) and not (
            said[i + 1].isupper() and len(said[i + 1]) > 1
        ):  # "a US", "an NBA"
            article = indefinite_article(said[i + 1])
            said[i] = article.capitalize() if word[:1].isupper() else article
    if said.count("'") == 1 and _opens_quote(said, said.index("'")):
        said.append("'")
    if said.count('"') % 2:
        said.append('"')  # the closing one went with the final punctuation
    text = " ".join(said).strip()
    if not _MARKS.isdisjoint(text):
        text = _OPENING.sub(r"\1", _CLOSING.sub(r"\1", text)).replace(" / ", "/")
        text = _QUOTED.sub(r'"\1"', text)
        text = _QUOTED_ONCE.sub(r"'\1'", text).strip()
    text = text.replace(" can not ", " cannot ")
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".") if text else ""


def _opens_quote(said: Sequence[str], i: int) -> bool:
    """Not the mark of what is left out, as in "Dancin'"."""
    of_a_word = i and said[i - 1].endswith(("in", "s")) and said[i - 1].lower() not in _SMALL_WORDS
    return i + 1 < len(said) and not of_a_word


def in_lower_case(words: Iterable[str]) -> list[str]:
    return [word.lower() for word in words]


@dataclass(frozen=True)
class Clause:
    """`subject` `auxiliary` `verb` `rest`: any of the last three may be empty.

    kind: existential (there is …; the noun phrase is in `subject`), progressive, copular, perfect, modal,
    simple, do (does not …), or unreadable.
    """

    kind: str
    lexicon: Lexicon = field(repr=False)
    subject: tuple[str, ...] = ()
    auxiliary: str = ""
    verb: str = ""
    """base form of the main verb, empty after a copula"""
    rest: tuple[str, ...] = ()
    plural: bool = False
    past: bool = False
    negated: bool = False
    fragment: bool = False
    """the auxiliary was not in the text: "A dog jumping through hoops" """
    head: str = ""
    """the noun the subject is about, as written"""
    tokens: tuple[str, ...] = ()
    """the words of the whole sentence, as they came"""
    capital_in_doubt: bool = False
    """whether the first word is part of a name, and so keeps its capital anywhere, cannot be told"""
    shortened: bool = False
    """the sentence says more: what is said here follows from it, not the other way round"""

    def but(self, **changes: object) -> Clause:
        return replace(self, **changes)  # type: ignore[arg-type]

    def say(self, template: str, **parts: str | Sequence[str]) -> str:
        """A sentence by a template: "{subject} {be} no longer {ing} {rest}". The slots are `parts`, or attributes of
        the clause.
        """
        words: list[str] = []
        for piece in template.split():
            if piece[0] == "{":
                name = piece[1:-1]
                part = parts[name] if name in parts else getattr(self, name)
                words += part.split() if isinstance(part, str) else part
            else:
                words.append(piece)
        return written(words)

    def say_each(self, phrases: Iterable[str], template: str, **parts: str | Sequence[str]) -> Iterator[str]:
        """A sentence for each of some phrases, which stand in the slot {each} of the template."""
        return (self.say(template, each=phrase, **parts) for phrase in phrases)

    # -- its words ---------------------------------------------------------------------------------------------

    @cached_property
    def words(self) -> list[str]:
        """The clause as written, fragment completed."""
        subject, rest = self.subject, self.rest
        if self.kind == "unreadable":
            return list(self.tokens)
        if self.kind == "existential":
            negation = ["not"] if self.negated and self.determiner != "no" else []
            return ["there", self.auxiliary, *negation, *subject, *rest]
        if self.kind == "simple":
            return [*subject, self.finite, *rest]
        verb = [self.ing if self.kind == "progressive" else self.verb] if self.verb else []
        negation = ["not"] if self.kind == "do" or (self.negated and self.denied_by_not) else []
        return [*subject, self.auxiliary, *negation, *verb, *rest]

    @cached_property
    def lower(self) -> list[str]:
        return in_lower_case(self.words)

    def at(self, i: int) -> str:
        """A word in lower case by its place; nothing before the first and behind the last."""
        return self.lower[i] if 0 <= i < len(self.lower) else ""

    def with_words(self, start: int, end: int, new: str) -> str:
        """The sentence with new words in the place of some."""
        return written([*self.words[:start], *new.split(), *self.words[end:]])

    def keeps_its_name(self, statement: str) -> bool:
        """A first word whose capital is in doubt stands first, or not at all."""
        if not self.capital_in_doubt:
            return True
        first, second = self.tokens[:2]
        alone = first.lower() not in listed("determiners", "prepositions")
        return (f" {first} " if alone else f" {first} {second}") not in statement

    @property
    def predicate(self) -> list[str]:
        """What stands after the subject."""
        return self.words[len(self.subject) :]

    @cached_property
    def lower_rest(self) -> list[str]:
        return in_lower_case(self.rest)

    @cached_property
    def first(self) -> str:
        """The first word of the rest."""
        return self.rest[0].lower() if self.rest else ""

    @property
    def thing(self) -> tuple[str, ...]:
        """The rest without its first word."""
        return self.rest[1:]

    @cached_property
    def determiner(self) -> str:
        return self.subject[0].lower() if self.subject else ""

    @cached_property
    def noun(self) -> str:
        return self.head.lower()

    # -- its forms ---------------------------------------------------------------------------------------------

    @property
    def be(self) -> str:
        if self.determiner == "i":
            return "was" if self.past else "am"
        if self.past:
            return "were" if self.plural else "was"
        return "are" if self.plural else "is"

    def form_of(self, verb: str) -> str:
        """A verb's finite form for this subject and tense."""
        if verb == "be":
            return self.be
        forms = self.lexicon.forms[verb]
        if self.past:
            return forms.past
        return verb if self._takes_base else forms.third

    @property
    def _takes_base(self) -> bool:
        return self.plural or self.determiner in ("i", "you")

    @property
    def finite(self) -> str:
        return self.form_of(self.verb)

    @property
    def ing(self) -> str:
        return self.lexicon.forms[self.verb].ing

    @property
    def has(self) -> str:
        return self.form_of("have")

    @property
    def have(self) -> str:
        """has or have by number alone, whoever the subject is."""
        return "have" if self.plural else "has"

    @property
    def does(self) -> str:
        if self.past:
            return "did"
        return "do" if self._takes_base else "does"

    @property
    def who(self) -> str:
        return "who" if self.human else "that"

    # -- what it is about --------------------------------------------------------------------------------------

    @cached_property
    def human(self) -> bool:
        if self.head[:1].isupper():
            return self.named_person
        a_title = self.capital_in_doubt and not self.plural and not self.counted
        of_a_company = self.noun in listed("of people") and any(word[:1].isupper() for word in self.subject[1:])
        if a_title or of_a_company:
            return False
        if self.noun in listed("human pronouns"):
            return True
        return self.lexicon.is_person(self.noun) and self.noun not in listed("not human")

    @cached_property
    def named(self) -> bool:
        """The subject is a name, and nothing else."""
        return all(word[:1].isupper() for word in self.subject) and self.determiner != "i"

    @cached_property
    def named_person(self) -> bool:
        """A name that begins as people's do; any other may be anything: a town, a book, a company."""
        if not 1 < len(self.subject) < 5 or not all(word[:1].isupper() for word in self.subject[1:]):
            return False
        if not listed("no last name").isdisjoint(in_lower_case(self.subject)):
            return False
        a_thing = not listed("no persons").isdisjoint(self.lower_rest[1:4])
        if self.kind == "copular" and self.first in listed("articles") and a_thing:
            return False  # "Howard Sings Ballads is an album"
        return self.determiner in listed("first names", "titles")

    @cached_property
    def of_a_thing(self) -> bool:
        """About neither people nor animals, as far as the noun tells."""
        if self.human or self.animal or self.head[:1].isupper() or self.noun in listed("pronouns", "of people"):
            return False
        singular = self.lexicon.nouns.get(self.noun)
        return singular is not None or self.noun.removesuffix("s").endswith(_ENDINGS_OF_THINGS)

    @property
    def may_be_seen(self) -> bool:
        """ "a dog can be seen", not "a reason can be seen"."""
        opening = [self.lexicon.nouns.get(word, word) for word in in_lower_case(self.subject[:3])]
        abstract = self.lexicon.nouns.get(self.noun, self.noun) in listed("never seen")
        abstract = abstract or self.noun.removesuffix("s").endswith(_ENDINGS_OF_THINGS)
        named = '"' not in self.words and any(word[:1].isupper() for word in self.words[1:])
        known = self.noun in self.lexicon.nouns or self.noun in self.lexicon.plural_forms or self.animate
        return known and not (named or abstract) and listed("never seen").isdisjoint(opening)

    @property
    def can(self) -> str:
        return "could" if self.past else "can"

    @property
    def of_a_scene(self) -> bool:
        """Of someone or something in view, not of what somebody does in general: "a man eats", not "he eats"."""
        return not (self.named or self.determiner in listed("pronouns") or (self.plural and not self.counted))

    @property
    def in_view(self) -> bool:
        """Of a scene as it is now: words of many senses have their everyday one."""
        named = '"' not in self.words and any(word[:1].isupper() for word in self.words)
        told = self.counted or self.fragment or self.plural or self.kind in ("existential", "progressive", "unreadable")
        return self.of_a_scene and told and not self.past and not named and len(self.words) <= LONGEST_SCENE

    @property
    def of_all(self) -> bool:
        """Of all of a kind: "children like toys", which says nothing of people; not of some in view."""
        in_view = self.kind in ("progressive", "existential") or self.past
        return self.plural and not self.counted and self.noun not in listed("pronouns") and not in_view

    @property
    def counted(self) -> bool:
        return self.determiner in listed("determiners", "numbers") or self.determiner.isdigit()

    @cached_property
    def animal(self) -> bool:
        return self.head[:1].islower() and self.lexicon.is_animal(self.noun)

    @property
    def animate(self) -> bool:
        return self.human or self.animal

    @cached_property
    def indefinite(self) -> bool:
        """A subject that brings someone new into the scene: a man, two men, people."""
        first = self.determiner
        if first in ("a", "an") and all(word[:1].isupper() for word in self.subject[1:]):
            return False  # "A Quiet Boy"
        if first in listed("indefinite", "numbers") or first.isdigit():
            named = first not in listed("indefinite") and self.subject[1:2] != () and self.subject[1][:1].isupper()
            return not named  # "21 Moons"
        if first in listed("determiners", "pronouns"):
            return False
        return self.plural and (first in self.lexicon.nouns or self.lexicon.describes(first))

    @cached_property
    def single(self) -> bool:
        """One noun phrase, not "a man and his dog"."""
        return _CLAUSE_SIGNS.isdisjoint(in_lower_case(self.subject))

    @property
    def partial(self) -> bool:
        """Some people do and some do not: neither contradicts the other."""
        lower = in_lower_case(self.subject)
        of_several = len(lower) > 2 and lower[1] == "of" and (self.counted or lower[0] in listed("many of them"))
        of_a_number = lower[1:3] in (
            ["lot", "of"],
            ["number", "of"],
            ["third", "of"],
            ["quarter", "of"],
            ["half", "of"],
        )
        return self.determiner in listed("partial") or of_several or of_a_number or self._is_share

    @property
    def _is_share(self) -> bool:
        """ "20% of them", "100,000 people": others may do otherwise."""
        if " ".join(in_lower_case(self.subject[:2])) in listed("compared"):
            return True
        share = len(self.subject) > 1 and self.subject[1].lower() in ("%", "percent", "hundred", "thousand", "million")
        return share or (self.determiner[:1].isdigit() and len(self.determiner) > 2)

    @property
    def counts_one(self) -> bool:
        """ "a bridge", not "a water" or "a supervision"."""
        if self.noun in self.lexicon.mass:
            return False
        return self.noun in self.lexicon.nouns or not self.noun.endswith(_ENDINGS_OF_THINGS)

    @property
    def acted_on(self) -> bool:
        """ "two nurses carried": nothing can be put between the noun and what hangs on its participle."""
        last = self.subject[-1].lower() if len(self.subject) > 1 else ""
        named = last in self.lexicon.nouns or last in self.lexicon.adjectives
        return last in self.lexicon.verb_of["participle"] and not named

    @property
    def universal(self) -> bool:
        return self.determiner in listed("universal") or self.noun in listed("everyone")

    @property
    def denied_by_not(self) -> bool:
        """Not by its subject ("nobody") nor by "never"."""
        return self.determiner not in listed("no subject") and self.rest[:1] != ("never",)

    @property
    def stative(self) -> bool:
        return self.verb in listed("stative verbs") or (self.verb == "come" and self.first == "from")

    @property
    def momentary(self) -> bool:
        """ "is running at the moment": the simple present would not go with it."""
        rest = self.lower_rest
        return rest[-2:] in (["the", "moment"], ["right", "now"]) or rest[-1:] in (["now"], ["currently"])

    @property
    def had(self) -> bool:
        """ "with long hair": something one has, not company."""
        rest, lexicon = self.lower_rest, self.lexicon
        if rest[:1] != ["with"] or len(rest) == 1 or rest[1] in listed("possessives"):
            return False
        return not any(word in listed("pronouns") or lexicon.is_person(word) for word in rest[1:])

    @cached_property
    def coordinated(self) -> bool:
        """A second verb hangs on the same subject ("sits and reads"): changing the first one's form would break
        it.
        """
        rest = self.lower_rest
        return any(word in listed("joining") and self._verb_at(rest, i + 1) for i, word in enumerate(rest[:-1]))

    def _verb_at(self, rest: list[str], start: int) -> bool:
        if rest[start] in listed("be") or rest[start] in ("has", "have"):
            return True
        following = [w for w in rest[start : start + 2] if w not in listed("before a second verb")]
        forms: tuple[str, ...] = ("past",) if self.kind == "simple" and self.past else ("third", "base", "past")
        if self.kind not in ("simple", "do"):
            forms = ("third", "ing", "base", "past")
        if not following or not self.lexicon.base_of(following[0], *forms):
            return False
        return following[0] not in self.lexicon.nouns or following[0] in self.lexicon.verb_of["ing"]
