"""The words the sentence rules know: the built-in lexicon, widened by WordNet where the machine has it.

`english.txt` is the vocabulary of everyday scenes, `prose.txt` what reports, encyclopedias and talk say beside it;
`grammar.txt` has the small word classes that rules ask for by name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from sensecheck.language import morphology
from sensecheck.language.rewriting.wordnet import WordNet, find_wordnet

Sections = dict[str, list[str]]


def read_data(name: str) -> str:
    """A data file that stands beside this module."""
    return resources.files("sensecheck.language.rewriting").joinpath(name).read_text("utf-8")


def sections_of(text: str) -> Sections:
    """[section] → its lines, without remarks and blank ones."""
    sections: Sections = defaultdict(list)
    name = ""
    for raw in text.splitlines():
        line = raw.split("#", 1)[0].strip()
        if line.startswith("["):
            name = line.strip("[]")
        elif line:
            sections[name].append(line)
    return sections


def _words(lines: list[str]) -> list[str]:
    return [word.replace("_", " ") for line in lines for word in line.split()]


def _entries(lines: list[str]) -> list[str]:
    return [entry.strip() for line in lines for entry in line.split(";") if entry.strip()]


def _pairs(lines: list[str], sign: str | None = None) -> Iterator[tuple[str, str]]:
    """The two sides of each entry, which a sign or a space parts; "_" stands for a space inside a side."""
    for entry in _entries(lines):
        left, right = entry.split(sign)
        yield left.strip().replace("_", " "), right.strip().replace("_", " ")


_GRAMMAR = dict(sections_of(read_data("grammar.txt")))


@cache
def listed(*names: str) -> frozenset[str]:
    """The words of a class of grammar.txt, or of several; of a table, its left sides."""
    lists = {name: _GRAMMAR[name] for name in names}
    return frozenset().union(*(table_of(name) if "=" in lines[0] else _words(lines) for name, lines in lists.items()))


@cache
def table_of(name: str) -> dict[str, str]:
    """A section of grammar.txt whose entries are pairs: "he = him; she = her"."""
    return dict(_pairs(_GRAMMAR[name], "="))


@cache
def said(name: str) -> tuple[str, ...]:
    """A section of grammar.txt whose entries are phrases that rules say, in their order: "in fact; indeed"."""
    return tuple(_entries(_GRAMMAR[name]))


NUMBERS = {word: int(value) for word, value in table_of("numbers").items()}
_CLOSED_CLASSES = listed(
    "determiners", "prepositions", "conjunctions", "relatives", "adverbs", "be", "have", "modals", "numbers"
)


@dataclass(eq=False)
class Lexicon:
    """Words by what the rules may do with them. Forms are lower case."""

    forms: dict[str, morphology.VerbForms] = field(default_factory=dict)
    """base → its forms"""
    verb_of: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    """form name (third, ing, past, participle, base) → form → base"""
    transitive: set[str] = field(default_factory=set)
    animate_acts: set[str] = field(default_factory=set)
    nouns: dict[str, str] = field(default_factory=dict)
    """singular or plural form → singular"""
    plurals: dict[str, str] = field(default_factory=dict)
    """singular → plural"""
    plural_forms: set[str] = field(default_factory=set)
    people: set[str] = field(default_factory=set)
    animals: set[str] = field(default_factory=set)
    places: set[str] = field(default_factory=set)
    mass: set[str] = field(default_factory=set)
    adjectives: set[str] = field(default_factory=set)
    colors: set[str] = field(default_factory=set)
    exclusive: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    exclusive_acts: dict[str, list[str]] = field(default_factory=dict)
    opposites: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    opposite_verbs: dict[str, str] = field(default_factory=dict)
    counterparts: dict[str, str] = field(default_factory=dict)
    synonyms: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    verb_synonyms: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    phrases: list[tuple[str, str]] = field(default_factory=list)
    kinds: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    wider_verbs: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    fixed: set[str] = field(default_factory=set)
    wordnet: WordNet | None = None

    def add_verb(self, base: str, past: str | None = None, participle: str | None = None) -> None:
        if base not in self.forms:
            self.forms[base] = forms = morphology.verb_forms(base, past, participle)
            for name, form in forms._asdict().items():
                self.verb_of[name].setdefault(form, base)

    def add_noun(self, entry: str) -> str:
        singular, _, plural = entry.partition("/")
        plural = plural or morphology.plural(singular)
        self.nouns.setdefault(singular, singular)
        self.nouns.setdefault(plural, singular)
        self.plurals.setdefault(singular, plural)
        self.plural_forms.add(plural)
        return singular

    def is_plural(self, noun: str) -> bool:
        if noun in self.plural_forms:
            return True
        return noun not in self.nouns and noun.endswith("s") and not noun.endswith(("ss", "us", "is"))

    def is_noun(self, word: str) -> bool:
        """Known as a noun, or not known as anything else."""
        if word in self.nouns:
            return True
        if word in _CLOSED_CLASSES or self.describes(word):
            return False
        return word.isalpha() and not word.endswith(("ing", "ly"))

    def describes(self, word: str) -> bool:
        return word in self.adjectives or word in self.colors

    def is_person(self, word: str) -> bool:
        return self.nouns.get(word) in self.people

    def is_animal(self, word: str) -> bool:
        return self.nouns.get(word) in self.animals

    def base_of(self, form: str, *names: str) -> str | None:
        """The verb whose form this is, of the named forms only; regular forms of unknown verbs are not
        guessed.
        """
        return next((self.verb_of[name][form] for name in names if form in self.verb_of[name]), None)

    def noun_phrase_end(self, words: list[str] | tuple[str, ...]) -> int:
        """How many words from the start make a noun phrase with determiner, adjectives and a noun; 0 if they do
        not.
        """
        lower = [w.lower() for w in words]
        start = int(bool(lower) and lower[0] in listed("determiners", "numbers"))
        noun_seen = 0
        for i, word in enumerate(lower[start:], start):
            if word in _PHRASE_ENDS or (noun_seen and word in self.verb_of["ing"]):
                break
            if self.is_noun(word):
                noun_seen = i + 1
            elif noun_seen or not (self.describes(word) or word in NUMBERS):
                break
        return noun_seen


_PHRASE_ENDS = listed("prepositions", "conjunctions", "relatives", "determiners") | {","}


def _add_verbs(lexicon: Lexicon, sections: Sections) -> None:
    for entry in _entries(sections["irregular verbs"]):
        lexicon.add_verb(*entry.split())
    for section in ("transitive verbs", "verbs", "animate verbs"):
        for word in _words(sections[section]):
            lexicon.add_verb(word)
    lexicon.transitive = set(_words(sections["transitive verbs"]))
    lexicon.animate_acts = set(_words(sections["animate verbs"]))


def _add_nouns_and_adjectives(lexicon: Lexicon, sections: Sections) -> None:
    things: set[str] = set()
    groups = {"people": lexicon.people, "animals": lexicon.animals, "things": things, "places": lexicon.places}
    for section, group in groups.items():
        group.update(lexicon.add_noun(entry) for entry in _words(sections[section]))
    lexicon.adjectives = set(_words(sections["adjectives"]))
    lexicon.colors = set(_words(sections["colors"]))
    lexicon.mass = set(_words(sections["mass nouns"]))
    lexicon.fixed = set(_words(sections["never plural swaps"]))


def _add_opposites(lexicon: Lexicon, sections: Sections) -> None:
    for line in sections["exclusive"]:
        words = line.split()
        for word in words:
            lexicon.exclusive[word] += [other for other in words if other != word]
    for line in sections["exclusive acts"]:
        verbs, acts = line.split(":", 1)
        lexicon.exclusive_acts.update(dict.fromkeys(verbs.split(), _entries([acts])))
    for left, right in _pairs(sections["opposites"]):
        for a, b in ((left, right), (right, left)):
            if b not in lexicon.opposites[a]:
                lexicon.opposites[a].append(b)
    for left, right in _pairs(sections["opposite verbs"]):
        for a, b in ((left, right), (right, left)):
            lexicon.add_verb(a)
            lexicon.opposite_verbs.setdefault(a, b)
    for left, right in _pairs(sections["counterparts"]):
        lexicon.counterparts.setdefault(left, right)
        lexicon.counterparts.setdefault(right, left)
    for left, right in _pairs(sections["one-way counterparts"]):
        lexicon.counterparts.setdefault(left, right)


def _add_synonyms(lexicon: Lexicon, sections: Sections) -> None:
    for section, table in (("synonyms", lexicon.synonyms), ("kinds", lexicon.kinds)):
        for left, right in _pairs(sections[section], ">"):
            table[left].append(right)
            if left in lexicon.plurals and not right.startswith("a "):
                table[lexicon.plurals[left]].append(morphology.plural_phrase(right, lexicon.plurals))
    for section, table in (("synonymous verbs", lexicon.verb_synonyms), ("wider verbs", lexicon.wider_verbs)):
        for left, right in _pairs(sections[section], ">"):
            table[left].append(right)
            lexicon.add_verb(left)
            lexicon.add_verb(right.split()[0])
    for entry in _entries(sections["phrases"]):
        both_ways = "=" in entry
        [(left, right)] = _pairs([entry], "=" if both_ways else ">")
        lexicon.phrases += [(left, right), (right, left)] if both_ways else [(left, right)]


def load(text: str, wordnet: WordNet | None = None) -> Lexicon:
    """Read a lexicon in the format of english.txt."""
    sections, lexicon = sections_of(text), Lexicon(wordnet=wordnet)
    for add in (_add_verbs, _add_nouns_and_adjectives, _add_opposites, _add_synonyms):
        add(lexicon, sections)
    return lexicon


@cache
def everyday() -> Lexicon:
    """The words of everyday scenes alone, as the small model learned them: other words would be another model."""
    return load(read_data("english.txt"))


@cache
def english(use_wordnet: bool = False) -> Lexicon:
    """The built-in lexicon; with `use_wordnet`, widened by the WordNet of nltk_data or of Debian, if there
    is one.
    """
    text = read_data("english.txt") + read_data("prose.txt")
    return load(text, find_wordnet() if use_wordnet else None)
