"""One word or phrase by another, and the exceptions (`exceptions.txt`): where that is not English, or says something
else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sensecheck.language.rewriting.clause import Clause
from sensecheck.language.rewriting.lexicon import listed, read_data, sections_of


@dataclass
class Swap:
    """A word of a clause, another in its place, and what exceptions may ask of the two."""

    clause: Clause
    old: str
    new: str
    before: str
    after: str
    position: int = 0
    """where `old` stands among the clause's words; of no meaning for the main verb"""

    def __getattr__(self, name: str) -> Any:
        """What is no fact of the two words is one of their clause: its verb, whether it is human."""
        return getattr(self.clause, name)

    @property
    def width(self) -> int:
        return self.old.count(" ") + 1

    @property
    def ending(self) -> str:
        """The last word of what is replaced."""
        return self.old.rpartition(" ")[2]

    @property
    def two_before(self) -> str:
        return self.clause.at(self.position - 2)

    @property
    def attributive(self) -> bool:
        """It stands before a noun."""
        return self.after in self.clause.lexicon.nouns

    @property
    def in_predicate(self) -> bool:
        return self.clause.kind == "copular" and self.position > len(self.clause.subject)

    @property
    def in_subject(self) -> bool:
        start = 2 if self.clause.kind == "existential" else 0  # "there is"
        return self.position < start + len(self.clause.subject)

    @property
    def the_subject(self) -> bool:
        return self.old == self.clause.noun

    @property
    def in_compound(self) -> bool:
        return in_compound(self.clause, self.position, self.width)

    @property
    def before_compound(self) -> bool:
        return in_compound(self.clause, self.position + self.width)

    @property
    def has_object(self) -> bool:
        """The verb does: no preposition, conjunction or adverb follows it."""
        return self.after != "" and self.after not in _NO_OBJECT

    @property
    def repeated(self) -> bool:
        return self.clause.lower.count(self.old) > 1

    @property
    def said_already(self) -> bool:
        return self.new in self.clause.lower

    @property
    def tail_said_already(self) -> bool:
        """What follows a new verb ("have fun playing") stands in the sentence."""
        return not set(self.new.split()[1:]).isdisjoint(set(self.clause.lower_rest) - {"the", "a"})

    @property
    def new_is_phrase(self) -> bool:
        return " " in self.new

    @property
    def new_is_long(self) -> bool:
        return self.new.count(" ") > 1

    @property
    def new_is_plural(self) -> bool:
        return self.clause.lexicon.is_plural(self.new.rpartition(" ")[2])

    def is_a(self, word: str, word_class: str) -> bool:
        """Whether a word belongs to a class of the lexicon, or to a list of grammar.txt."""
        test = _CLASSES.get(word_class)
        return test(self, word) if test else word in listed(word_class)


_NO_OBJECT = listed("prepositions", "conjunctions", "no object")
_CLASSES: dict[str, Callable[[Swap, str], bool]] = {
    "nouns": lambda swap, word: word in swap.clause.lexicon.nouns,
    "noun-like": lambda swap, word: swap.clause.lexicon.is_noun(word),
    "verbs": lambda swap, word: word in swap.clause.lexicon.forms,
    "verb forms": lambda swap, word: _is_verb_form(swap, word),
    "adjectives": lambda swap, word: word in swap.clause.lexicon.adjectives,
    "colors": lambda swap, word: word in swap.clause.lexicon.colors,
    "places": lambda swap, word: word in swap.clause.lexicon.places,
    "people": lambda swap, word: swap.clause.lexicon.is_person(word),
    "animals": lambda swap, word: swap.clause.lexicon.is_animal(word),
}


def _is_verb_form(swap: Swap, word: str) -> bool:
    return swap.clause.lexicon.base_of(word, "base", "third", "past") is not None


def in_compound(clause: Clause, position: int, width: int = 1) -> bool:
    """Is the word there part of a longer name ("ice cream", "soccer ball", "police man")? Then leave it."""
    lexicon, word, before = clause.lexicon, clause.lower[position], clause.at(position - 1)
    after = clause.at(position + width)
    behind_subject = clause.kind == "unreadable" or position + width <= len(clause.subject)
    if _begins_name(after, clause) or (
        not behind_subject and clause.lexicon.is_plural(after) and _of_many(after, clause)
    ):
        return True
    behind_verb = before in lexicon.forms and (clause.kind == "unreadable" or position - 1 == len(clause.subject))
    if before in lexicon.nouns and word in lexicon.nouns and not behind_verb:
        return True
    return word in lexicon.fixed


def _of_many(after: str, clause: Clause) -> bool:
    """ "child rates": behind the verb of the clause no other one is finite, unless another clause begins."""
    return after in clause.lexicon.verb_of["third"] and listed("relatives", "conjunctions").isdisjoint(
        clause.lower_rest
    )


def _begins_name(after: str, clause: Clause) -> bool:
    lexicon = clause.lexicon
    if after in lexicon.verb_of["third"]:
        return False
    if after in lexicon.nouns and after not in listed("prepositions"):
        return True
    verb = after in listed("be") or after in lexicon.forms or after in lexicon.verb_of["past"]
    return not verb and lexicon.is_noun(after)


Condition = Callable[[Swap], bool]


@dataclass(frozen=True)
class Proviso:
    """A line of exceptions.txt: when all conditions hold, `old` stays, or `instead` is said for it."""

    news: frozenset[str]
    """the new words it is about; empty: all"""
    conditions: tuple[Condition, ...]
    instead: str

    def applies(self, swap: Swap) -> bool:
        return (not self.news or swap.new in self.news) and all(holds(swap) for holds in self.conditions)


def _condition(text: str) -> Condition:
    """ "after not: a an @nouns" asks a word, "not attributive" a fact; "-" is the missing word."""
    name, colon, words = text.partition(":")
    parts = name.split()
    wanted = "not" not in parts
    attribute = "_".join(part for part in parts if part != "not")
    if not colon:
        return lambda swap: getattr(swap, attribute) is wanted
    plain = frozenset("" if w == "-" else w.replace("_", " ") for w in words.split() if w[0] != "@")
    classes = [w[1:].replace("_", " ") for w in words.split() if w[0] == "@"]

    def holds(swap: Swap) -> bool:
        word: str = getattr(swap, attribute)
        return (word in plain or any(swap.is_a(word, name) for name in classes)) is wanted

    return holds


def _exception(line: str) -> tuple[list[str], Proviso]:
    """The words that a line is about ("*" is any), and what it says of them."""
    rule, _, instead = line.partition("=>")
    words, _, conditions = rule.partition("|")
    olds, _, news = (side.strip() for side in words.partition(">"))
    tests = tuple(_condition(text) for text in conditions.split(";") if text.strip())
    spaced = [word.replace("_", " ") for word in olds.split()]
    return spaced, Proviso(frozenset(w.replace("_", " ") for w in news.split()), tests, instead.strip())


@cache
def provisos(section: str) -> dict[str, list[Proviso]]:
    """word → the provisos to be asked for it, in the order of the file; "*" → those of any other word."""
    lines = [_exception(line) for line in sections_of(read_data("exceptions.txt"))[section]]
    words = {old for olds, _ in lines for old in olds}
    return {word: [found for olds, found in lines if word in olds or "*" in olds] for word in words | {"*"}}


def allowed(section: str, swap: Swap) -> bool:
    """Whether no exception keeps the word; the new one may be changed for a better one."""
    by_word = provisos(section)
    for proviso in by_word.get(swap.old) or by_word["*"]:
        if proviso.applies(swap):
            if not proviso.instead:
                return False
            swap.new = proviso.instead
    return True


def swaps(section: str, clause: Clause, table: Mapping[str, Sequence[str]]) -> Iterator[Swap]:
    """For each word, or pair or triple of words, that a table has an entry for: what may stand in its place."""
    words, lower = clause.words, clause.lower
    for i in range(len(words)):
        for width in (3, 2, 1):
            old = " ".join(lower[i : i + width])
            # A name keeps its words.
            if old in table and i + width <= len(words) and not any(w[:1].isupper() for w in words[i : i + width]):
                for new in table[old]:
                    swap = Swap(clause, old, new, clause.at(i - 1), clause.at(i + width), i)
                    if allowed(section, swap):
                        yield swap


def spliced(swap: Swap) -> str:
    """The sentence with the new word in the old one's place."""
    return swap.clause.with_words(swap.position, swap.position + swap.width, swap.new)
