"""The words the sentence rules know: the built-in lexicon, widened by WordNet where the machine has it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

from sensecheck.language import morphology
from sensecheck.language.rewriting.wordnet import WordNet, find_wordnet


@cache
def one_of(words: str) -> frozenset[str]:
    """The words of a string as a set."""
    return frozenset(words.split())


BE = {"is": False, "are": True, "was": False, "were": True, "am": False, "'s": False}
HAVE = {"has", "have", "had"}
MODALS = {"can", "could", "will", "would", "may", "might", "must", "should"}
DETERMINERS = one_of(
    "a an the some this that these those no every each all both several many few any another "
    "one most his her their its my our your only"
)
POSSESSIVES = {"his", "her", "their", "its", "my", "our", "your"}
PRONOUNS = {
    "he": False, "she": False, "it": False, "they": True, "we": True, "you": True, "i": False,
    "someone": False, "somebody": False, "everyone": False, "everybody": False, "nobody": False,
    "something": False, "nothing": False, "anyone": False, "this": False, "that": False, "these": True,
    "those": True, "everything": False,
}  # fmt: skip
PREPOSITIONS = one_of(
    "in on at near by with for to of from into onto through across over under behind beside "
    "between among along around down up off against towards toward inside outside during after "
    "before without about above below beneath underneath past out atop alongside amongst via "
    "like within upon as than"
)
CONJUNCTIONS = one_of("and or but while because so since when until if although where")
RELATIVES = {"who", "which", "that", "whose", "whom"}
ADVERBS = one_of(
    "just currently also all both very really still now already always often about almost "
    "happily quickly slowly quietly carefully together probably never not being upside well too "
    "only actually silently loudly outside inside each"
)
NUMBERS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "hundred": 100,
}  # fmt: skip
COLLECTIVES = one_of("couple family team crowd group band crew class audience choir army police bunch")
NEGATIVES = one_of("no not nobody none never nothing neither nowhere without n't cannot")


def _sections(text: str) -> dict[str, list[str]]:
    sections: dict[str, list[str]] = defaultdict(list)
    name = ""
    for raw in text.splitlines():
        line = raw.split("#", 1)[0].strip()
        if line.startswith("["):
            name = line.strip("[]")
        elif line:
            sections[name].append(line)
    return sections


def _entries(lines: list[str]) -> list[str]:
    return [entry.strip() for line in lines for entry in line.split(";") if entry.strip()]


@dataclass
class Lexicon:
    """Words by what the rules may do with them. Forms are lower case; a hyphen stands for a space inside an
    entry.
    """

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
        if base in self.forms:
            return
        forms = morphology.verb_forms(base, past, participle)
        self.forms[base] = forms
        for name, form in (
            ("base", base), ("third", forms.third), ("ing", forms.ing), ("past", forms.past),
            ("participle", forms.participle),
        ):  # fmt: skip
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
        closed_classes = (
            DETERMINERS, PREPOSITIONS, CONJUNCTIONS, RELATIVES, ADVERBS, BE, HAVE, MODALS, NUMBERS,
            self.adjectives, self.colors,
        )  # fmt: skip
        return (
            word.isalpha() and not any(word in words for words in closed_classes) and not word.endswith(("ing", "ly"))
        )

    def base_of(self, form: str, *names: str) -> str | None:
        """The verb whose form this is, of the named forms only; regular forms of unknown verbs are not
        guessed.
        """
        for name in names:
            base = self.verb_of[name].get(form)
            if base is not None:
                return base
        return None


def load(text: str, wordnet: WordNet | None = None) -> Lexicon:
    """Read a lexicon in the format of english.txt."""
    sections = _sections(text)
    lexicon = Lexicon(wordnet=wordnet)
    for entry in _entries(sections["irregular verbs"]):
        base, past, participle = entry.split()
        lexicon.add_verb(base, past, participle)
    for section in ("transitive verbs", "verbs", "animate verbs"):
        for word in " ".join(sections[section]).split():
            lexicon.add_verb(word)
    lexicon.transitive = set(" ".join(sections["transitive verbs"]).split())
    lexicon.animate_acts = set(" ".join(sections["animate verbs"]).split())
    for section, group in (("people", lexicon.people), ("animals", lexicon.animals), ("things", set()),
                           ("places", lexicon.places)):  # fmt: skip
        for entry in " ".join(sections[section]).split():
            group.add(lexicon.add_noun(entry))
    lexicon.adjectives = set(" ".join(sections["adjectives"]).split())
    lexicon.colors = set(" ".join(sections["colors"]).split())
    lexicon.mass = set(" ".join(sections["mass nouns"]).split())
    lexicon.fixed = set(" ".join(sections["never plural swaps"]).split())
    for line in sections["exclusive"]:
        words = line.split()
        for word in words:
            lexicon.exclusive[word] += [other for other in words if other != word]
    for line in sections["exclusive acts"]:
        verbs, acts = line.split(":", 1)
        for verb in verbs.split():
            lexicon.exclusive_acts[verb] = _entries([acts])
    for entry in _entries(sections["opposites"]):
        left, right = (word.replace("-", " ") if word.count("-") != 1 or word != "long-haired" else word
                       for word in entry.split())  # fmt: skip
        for a, b in ((left, right), (right, left)):
            if b not in lexicon.opposites[a]:
                lexicon.opposites[a].append(b)
    for entry in _entries(sections["opposite verbs"]):
        left, right = entry.split()
        lexicon.add_verb(left)
        lexicon.add_verb(right)
        lexicon.opposite_verbs.setdefault(left, right)
        lexicon.opposite_verbs.setdefault(right, left)
    for entry in _entries(sections["counterparts"]):
        left, right = (word.replace("-", " ") if word != "grown-up" else word for word in entry.split())
        lexicon.counterparts.setdefault(left, right)
        if " " not in right and right != "grown-up":
            lexicon.counterparts.setdefault(right, left)
    for section, table in (("synonyms", lexicon.synonyms), ("kinds", lexicon.kinds)):
        for entry in _entries(sections[section]):
            left, right = (side.strip() for side in entry.split(">"))
            table[left].append(right)
            if left in lexicon.plurals and right.split()[0] not in ("a", "several"):
                table[lexicon.plurals[left]].append(morphology.plural_phrase(right, lexicon.plurals))
    for entry in _entries(sections["synonymous verbs"]):
        left, right = (side.strip() for side in entry.split(">"))
        lexicon.verb_synonyms[left].append(right)
        lexicon.add_verb(left)
        lexicon.add_verb(right.split()[0])
    for entry in _entries(sections["wider verbs"]):
        left, right = (side.strip() for side in entry.split(">"))
        lexicon.wider_verbs[left].append(right)
        lexicon.add_verb(left)
        lexicon.add_verb(right.split()[0])
    for entry in _entries(sections["phrases"]):
        left, right = (side.strip() for side in entry.split("="))
        lexicon.phrases += [(left, right), (right, left)]
    return lexicon


@cache
def english(use_wordnet: bool = False) -> Lexicon:
    """The built-in lexicon; with `use_wordnet`, widened by the WordNet of nltk_data or of Debian, if there
    is one.
    """
    text = resources.files("sensecheck.language.rewriting").joinpath("english.txt").read_text("utf-8")
    return load(text, find_wordnet() if use_wordnet else None)
