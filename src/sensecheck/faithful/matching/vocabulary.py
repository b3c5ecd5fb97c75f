"""The lexicon, compiled for look-up: phrases that signal something, gradable words, synonyms, words for values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from sensecheck.faithful.facts import Name
from sensecheck.inputs.errors import shown
from sensecheck.language import lexicon as lexicons
from sensecheck.language.lexicon import ANYTHING, TEXT, WORD, LexiconError, overlay
from sensecheck.language.morphology import root, stem
from sensecheck.language.tokens import tokenize

FILES = (
    "operators", "adjectives", "irregular_degrees", "attributes", "synonyms", "columns", "values", "guards", "wordings",
    "tellings", "flags",
)  # fmt: skip

_WAYS = {
    "up": 1, "down": -1, "time_up": 1, "time_down": -1, "age_up": 1, "age_down": -1, "good": 1, "bad": -1, "quick": 1,
    "slow": -1,
}  # fmt: skip
"""Classes of gradable words, and which end of their own scale they point to."""

_SCALES = {
    **dict.fromkeys(("age_up", "age_down"), ("age", "time")),
    **dict.fromkeys(("quick", "slow"), ("speed", "duration")),
}
"""Classes of gradable words → the kind of column that runs their way, and the kind that runs the other way."""

_ATTRIBUTES = ("time", "sequence", "age", "rank", "duration", "speed", "adverse")
_CALENDAR = frozenset(("date", "day", "month", "on", "time", "year"))
_NUMBERS = frozenset(("count", "num", "number", "total"))
_STEMMED = ("generic", "amounts", "measured", "named", "dated", "nouns", "units")
KINDS: dict[str, Any] = {
    "signals": {"": [WORD]},
    **{key: {"": [WORD]} for key in _WAYS},
    "comparative": {"": [WORD, ANYTHING]},
    "superlative": {"": [WORD, ANYTHING]},
    "extremes": {"": [WORD]},
    **{key: {"words": [WORD]} for key in _ATTRIBUTES},
    "groups": [[WORD]],
    "abbreviations": {"": WORD},
    **{key: [WORD] for key in (*_STEMMED, "yes", "no")},
    "codes": {"": [WORD]},
    "places": {"": [WORD]},
    "opposites": {"": [WORD]},
    "guards": {"": [TEXT]},
    "tellings": {"": {"columns": [WORD], "words": [TEXT]}},
    "flags": {"": {"columns": [WORD], "yes": [TEXT], "no": [TEXT]}},
}
"""What each key of a lexicon holds."""

Phrase = tuple[tuple[str, ...], tuple[str, ...]]  # keys, signals


class WordInfo(NamedTuple):
    """Look-ups of one word."""

    phrases: tuple[Phrase, ...]  # phrases of several words that may begin with it, longest first
    seconds: frozenset[str]  # their second words
    second_stems: frozenset[str]  # the stems of second words that may be inflected
    alone: Phrase | None  # the phrase that it is of its own
    gradable: str  # the stem of the gradable word it is a degree of
    degree: bool  # a comparative or superlative, or the word that makes one
    negative: bool  # a contraction with not
    root: str  # shared with its derivations, from four letters on
    telling: bool  # any of these but the root: it may give a signal, or tell of a column


class Tellings(NamedTuple):
    """What tells of a kind of column without its name."""

    words: frozenset[str]
    stems: frozenset[str]
    phrases: tuple[tuple[str, ...], ...]  # of several words
    openings: frozenset[str]  # the first words of those phrases, or their stems


class Flag(NamedTuple):
    """What tells that the column of a yes or no holds, and that it does not."""

    yes: Tellings
    no: Tellings


class Vocabulary:
    """Everything the matching asks of the lexicon."""

    def __init__(self, lexicon: Mapping[str, Any]) -> None:
        self.known: dict[str, WordInfo] = {}
        self.phrases: dict[str, list[Phrase]] = {}
        self.extremes = {f"extreme {word}": word for word in lexicon["extremes"]}  # kind of phrase → gradable word
        extremes = {f"extreme {word}": forms for word, forms in lexicon["extremes"].items()}
        self._compile_phrases({**lexicon["signals"], **extremes})
        self.classes: dict[str, str] = {}
        self.about_stems: dict[str, frozenset[str]] = {}  # stem of a gradable word → what it speaks of
        for kind in _WAYS:
            for word, about in lexicon.get(kind, {}).items():
                self.classes[word] = kind
                self.about_stems[stem(word)] = _stems(about)
        self.comparatives: dict[str, str] = {w: v[0] for w, v in lexicon["comparative"].items()}
        self.superlatives: dict[str, str] = {w: v[0] for w, v in lexicon["superlative"].items()}
        for adjective in self.classes:
            for comparative, superlative in _degrees(adjective):
                self.comparatives.setdefault(comparative, adjective)
                self.superlatives.setdefault(superlative, adjective)
        self.long_superlatives: dict[str, list[tuple[str, str]]] = {}  # first letter → (superlative, its base)
        for superlative, base in self.superlatives.items():
            if len(superlative) >= 6:
                self.long_superlatives.setdefault(superlative[0], []).append((superlative, base))
        self.attributes = {kind: _stems(lexicon[kind]["words"]) for kind in _ATTRIBUTES}
        stems_by_word: dict[str, set[str]] = {}
        for group in lexicon["groups"]:
            # The first word is the one that names things; the others may stand for it.
            stems = [stem(w) for w in group if " " not in w]
            stems_by_word.setdefault(stems[0], set()).update(stems[1:])
            for other in stems[1:]:
                stems_by_word.setdefault(other, set()).add(stems[0])
        self.synonyms: dict[str, frozenset[str]] = {word: frozenset(others) for word, others in stems_by_word.items()}
        self.abbreviations: dict[str, str] = dict(lexicon["abbreviations"])
        self.generic, self.amounts, self.measured, self.named, self.dated, self.nouns, self.units = (
            _stems(lexicon[key]) for key in _STEMMED
        )
        self.codes: dict[str, tuple[tuple[str, ...], ...]] = {
            value: tuple(tuple(t.stem for t in tokenize(form)) for form in forms)
            for value, forms in lexicon["codes"].items()
        }
        self.tellings = [
            (_stems(kind["columns"]), [_keys(form) for form in kind["words"]]) for kind in lexicon["tellings"].values()
        ]
        self.flags = [
            (
                [_stems(column.split("_")) for column in kind["columns"]],
                [_keys(form) for form in kind["yes"]],
                [_keys(form) for form in kind["no"]],
            )
            for kind in lexicon["flags"].values()
        ]
        self.opposites: dict[str, frozenset[str]] = {}  # what is said by denying each word
        for one, others in lexicon["opposites"].items():
            self.opposites[stem(one)] = self.opposites.get(stem(one), frozenset()) | _stems(others)
            for other in others:
                self.opposites[stem(other)] = self.opposites.get(stem(other), frozenset()) | {stem(one)}
        self.places: dict[str, tuple[tuple[str, ...], ...]] = _both_ways(lexicon["places"])
        self.guards: dict[str, frozenset[str]] = {name: frozenset(words) for name, words in lexicon["guards"].items()}
        self.yes = frozenset(lexicon["yes"])
        self.no = frozenset(lexicon["no"])
        # A phrase of several words says nothing of its words elsewhere: not of the light in `from light to heavy`.
        self.operator_words = frozenset(
            word
            for forms in lexicon["signals"].values()
            for form in forms
            for word in form.split()
            if " " not in form or word in self.guards["talk"]
        )

    def _compile_phrases(self, signals: Mapping[str, list[str]]) -> None:
        signals_by_keys: dict[tuple[str, ...], list[str]] = {}
        for signal, forms in signals.items():
            for form in forms:
                if form == "n't":
                    continue  # contractions are seen by their ending
                signals_by_keys.setdefault(_keys(form), []).append(signal)
        for keys, names in signals_by_keys.items():
            self.phrases.setdefault(keys[0], []).append((keys, tuple(dict.fromkeys(names))))
        for phrases in self.phrases.values():
            phrases.sort(key=lambda p: -len(p[0]))

    def word(self, low: str) -> WordInfo:
        """What the lexicon knows of a word, looked up once a word."""
        info = self.known.get(low)
        if info is None:
            if len(self.known) > 200_000:
                self.known.clear()
            key = stem(low)
            phrases = sorted(self.phrases.get(low, []) + self.phrases.get("~" + key, []), key=lambda p: -len(p[0]))
            base = self.superlatives.get(low) or self.comparatives.get(low)
            gradable = stem(base) if base is not None else key if low in self.classes else ""
            degree = low in self.superlatives or low in self.comparatives or low in ("more", "less", "most", "least")
            if not degree and len(low) >= 6 and low.endswith(("est", "er")):
                # A gradable word that no list has: steepest, steeper (than). Which way it points is not known.
                degree = low not in self.guards["not_superlative"]
            negative = low.endswith("n't") or low == "cannot" or low in self.guards["contracted"]
            telling = bool(phrases or gradable) or degree or negative
            derived = root(low) if len(low) >= 4 else ""
            several = tuple(phrase for phrase in phrases if len(phrase[0]) > 1)
            alone = next((phrase for phrase in phrases if len(phrase[0]) == 1), None)
            seconds = frozenset(phrase[0][1] for phrase in several)
            stems = frozenset(key[1:] for key in seconds if key[0] == "~")
            info = self.known[low] = WordInfo(
                several, seconds, stems, alone, gradable, degree, negative, derived, telling
            )
        return info

    def kinds_of(self, name: Name) -> frozenset[str]:
        """Which kinds of attribute (time, age, rank, duration, speed) a column name speaks of."""
        return _kinds(self, name)

    def tellings_of(self, name: Name) -> Tellings:
        """What tells of columns of the kinds that a name is of."""
        return _tellings(self, name)

    def flag_of(self, name: Name) -> Flag:
        """What tells of either side of a yes or no that a name is of."""
        return _flag(self, name)

    def points(self, adjective: str, name: Name) -> int:
        """Which way a gradable word points on a column: 1 to the large end, -1 to the small, 0 cannot tell."""
        kind, kinds = self.classes.get(adjective, ""), self.kinds_of(name)
        way = _WAYS.get(kind, 0)
        if kind in ("up", "down"):
            if "rank" in kinds and adjective in self.guards["unranked"]:
                return 0
            # In office for longest: since the earliest date.
            since = adjective in ("long", "short") and "time" in kinds and "duration" not in kinds
            return -way if since and self.guards["time_spans"].isdisjoint(name.words) else way
        if kind in ("time_up", "time_down"):
            if "age" in kinds:
                return -way if adjective in self.guards["new"] else 0
            return way if kinds & {"time", "sequence"} and "rank" not in kinds else 0
        if kind in ("good", "bad"):
            return 0 if kinds & {"rank", "duration", "time", "adverse"} or not name.words else way
        along, against = _SCALES.get(kind, ("", ""))
        return way if along in kinds else -way if against in kinds else 0


def _keys(form: str) -> tuple[str, ...]:
    """What the words of a phrase are looked up by: themselves, or ~ and the stem of all their inflections."""
    return tuple("~" + stem(w[1:]) if w.startswith("~") else w for w in form.replace("%", " % ").split())


def _stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem(word) for word in words)


@lru_cache(maxsize=65_536)
def _kinds(vocabulary: Vocabulary, name: Name) -> frozenset[str]:
    stems = frozenset(name.stems)
    kinds = {kind for kind, words in vocabulary.attributes.items() if stems & words}
    if len(name.words) > 1 and name.words[-1] in ("on", "at"):
        kinds.add("time")  # raised on
    if name.words[:1] and name.words[0] in _NUMBERS:
        kinds.discard("time")  # a number of moves
    if "start" in stems and "time" in kinds and stems & _CALENDAR:
        kinds.discard("rank")  # the year of a start, not the place on a grid
    return frozenset(kinds)


@lru_cache(maxsize=65_536)
def _tellings(vocabulary: Vocabulary, name: Name) -> Tellings:
    stems = frozenset((*name.stems, *(stem(vocabulary.abbreviations.get(word, word)) for word in name.words)))
    return _told_by([keys for columns, phrases in vocabulary.tellings if stems & columns for keys in phrases])


@lru_cache(maxsize=65_536)
def _flag(vocabulary: Vocabulary, name: Name) -> Flag:
    stems = frozenset(name.stems)
    kinds = [(yes, no) for columns, yes, no in vocabulary.flags if any(column <= stems for column in columns)]
    return Flag(_told_by([k for yes, _ in kinds for k in yes]), _told_by([k for _, no in kinds for k in no]))


def _told_by(forms: list[tuple[str, ...]]) -> Tellings:
    single = [keys[0] for keys in forms if len(keys) == 1]
    return Tellings(
        frozenset(key for key in single if key[0] != "~"),
        frozenset(key[1:] for key in single if key[0] == "~"),
        tuple(keys for keys in forms if len(keys) > 1),
        frozenset(keys[0].lstrip("~") for keys in forms if len(keys) > 1),
    )


def _degrees(adjective: str) -> list[tuple[str, str]]:
    """Comparative and superlative by spelling."""
    if adjective.endswith("e"):
        return [(adjective + "r", adjective + "st")]
    if adjective.endswith("y"):
        return [(adjective[:-1] + "ier", adjective[:-1] + "iest")]
    doubled = adjective + adjective[-1]
    return [(adjective + "er", adjective + "est"), (doubled + "er", doubled + "est")]


def _both_ways(places: Mapping[str, list[str]]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Every way of saying a place, from any of them."""
    keys_by_form: dict[str, set[tuple[str, ...]]] = {}
    for place, forms in places.items():
        all_forms = [place, *forms]
        keys = [tuple(t.stem for t in tokenize(form) if t.kind != "sign") for form in all_forms]
        for form, key in zip(all_forms, keys, strict=True):
            keys_by_form.setdefault(" ".join(key), set()).update(k for k in keys if k != key)
            keys_by_form.setdefault(form, set()).update(k for k in keys if k != key)
    return {form: tuple(sorted(keys)) for form, keys in keys_by_form.items()}


def load_vocabulary(*additions: str | Path) -> Vocabulary:
    """The shipped lexicon with the user's own files laid over it. A file that was edited is read again."""
    contents = []
    for path in additions:
        contents.append((str(path), lexicons.lexicon_bytes(path)))
        _own_lexicon(*contents[-1])
    return _compiled(tuple(contents))


@lru_cache(maxsize=8)
def _compiled(additions: tuple[tuple[str, bytes], ...]) -> Vocabulary:
    lexicon: dict[str, Any] = {}
    for name in FILES:
        lexicon = overlay(lexicon, lexicons.read_package_lexicon("sensecheck.faithful", "lexicon", f"{name}.json"))
    for path, content in additions:
        lexicon = overlay(lexicon, _own_lexicon(path, content))
    return Vocabulary(lexicon)


@lru_cache(maxsize=8)
def _own_lexicon(path: str, content: bytes) -> dict[str, Any]:
    """A lexicon of the user's own, checked."""
    lexicon = lexicons.lexicon_in(content, path)
    lexicons.check_kinds(lexicon, KINDS, path)
    _check_groups(lexicon, path)
    return lexicon


def _check_groups(lexicon: Mapping[str, Any], path: str) -> None:
    """A group is looked up by the first of its single words."""
    for number, group in enumerate(lexicon.get("groups", ()), 1):
        if not any(" " not in word for word in group):
            expected = "a list with at least one single word"
            raise LexiconError(path=path, field=f"groups[{number}]", expected=expected, got=shown(group, 60))
