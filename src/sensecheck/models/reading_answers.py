"""From what a language model said to one of a few labels, or to the reason why there is none to be read.

In order of trust:
1. what is marked as the answer: a field of JSON, `<answer>`, `\\boxed{}`, "Answer: …", a line that is a label and
   nothing else, a label at the very start. Of several the last one counts: models change their minds.
2. labels in running words, where they name a single one. Those that are denied ("not a contradiction") or only weighed
   ("whether it is an entailment") name none; where all but one are denied, that one is left.

Which words stand for a label is a `Vocabulary`, and nothing is read that is not in it.

A strict reader takes the first alone, of fewer marks, and only where all of them name the same label: whoever explains
an answer at length quotes others, and words such as "right" begin sentences that decide nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, log
from typing import Protocol

from sensecheck.models.said import CUT_SHORT, TOOL, Said, Unreadable, answer_of, cleaned

_HEAD, _TAIL = 4_000, 16_000
"""Characters at the start and at the end that are looked at: in between, an answer is only explained."""


@dataclass(frozen=True)
class Reading:
    """A label, or why there is none. `scores`: the log-probability of each label, where tokens told theirs."""

    label: int | None
    why: Unreadable | None = None
    scores: tuple[float, ...] | None = None


class Reads(Protocol):
    """A rule by which answers are read; `name` tells it from others, for signatures."""

    name: str

    def __call__(self, said: Said) -> Reading: ...


@dataclass(frozen=True)
class Vocabulary:
    """The words that stand for labels."""

    name: str
    names: Sequence[tuple[str, int]]
    """patterns of lower-case words that stand for a label wherever they are said; at one place the first counts"""
    labels: int
    """how many there are"""
    bare: Mapping[str, int] = field(default_factory=dict)
    """words that stand for one only in the place of an answer: yes, (B), 2"""
    starts: Sequence[str] = ()
    """the labels as tokens spell them, for log-probabilities"""
    choices: tuple[str, ...] = ()
    """what a server may hold answers to; empty where the prompt asks for other words"""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        # Letters of other scripts may touch a word: 答案是neutral。
        return re.compile("|".join(f"(?P<n{i}>(?<![a-z])(?:{p})(?![a-z]))" for i, (p, _) in enumerate(self.names)))

    @cached_property
    def bare_pattern(self) -> re.Pattern[str]:
        words = "|".join(sorted(map(re.escape, self.bare), key=len, reverse=True)) or r"(?!)"
        return re.compile(rf"(?<![a-z0-9_])({words})(?![a-z0-9_]|\.[0-9])")

    def label_of(self, match: re.Match[str]) -> int:
        assert match.lastgroup is not None
        return self.names[int(match.lastgroup[1:])][1]


# ---- labels in running words ------------------------------------------------------------------------------------

_CLAUSE = re.compile(
    r"[.!?;:,\n()\"“”。！？；：，、→⇒—–|]|->|\s-\s"
    r"|(?<![a-z])(?:but|rather|so|and|yet|which|while|because|since|therefore|hence|thus|sondern|aber|also|sino|pero|mais|mas|ma|però|maar|utan|men|ale|lecz|ama|а|но"
    r")(?![a-z])|而是|所以"
)
_DENIES = re.compile(
    r"(?<![^\W\d_])(?:not|no|non|never|neither|nor|without|cannot|nicht|keine?[nrms]?|weder|noch|pas|ni|né|nem|não|sin"
    r"|aucune?|ninguna?|nessuna?|не|ни|inte|ikke|niet|geen|nie|tampoco|nemmeno|ليس"
    r"|incorrect|wrong|nothing|hardly|far from)(?![^\W\d_])"
    r"|[a-z]n['’]t(?![a-z])|不是|没有|并非|不"
)
_NO_DENIAL = re.compile(r"(?:no|without(?: a)?) (?:doubt|question)|not (?:only|just|merely)")
_DENIED_WORDS = 8
"""A denial reaches so many words far within its clause."""
_DENIED_AFTER = re.compile(
    r"[\"'*_)\]]*\s*(?:label\s+)?(?:(?:is|does|do|was|can|could|would)\s+(?:be\s+)?"
    r"(?:not(?![a-z])|ruled out|excluded|wrong|incorrect|impossible|too strong)"
    r"|(?:is|does|was|ca|could|would)n['’]t(?![a-z])|cannot(?![a-z])|değil|नहीं|ではな|でな|じゃな|[이가은는] ?아니)"
)
_WEIGHED = re.compile(r"(?<![a-z])(?:whether|if|unless|between|such as|instead of|rather than|as opposed to)(?![a-z])")
_WEIGHED_AFTER = re.compile(r"[\"'*_)\]]*(?:\?|\s+(?:would|means?|requires?|if|when|otherwise)(?![a-z]))")
_WINDOW = 160
"""Characters before a word in which its clause is looked for."""
_CONCLUDES = re.compile(
    r"(?<![a-z])(?:therefore|thus|hence|so|overall|conclu\w+|in short|final\w*|rather|actually|i think|i'd go with"
    r")(?![a-z])"
)
_REVISES = re.compile(
    r"(?<![a-z])(?:wait|hold on|scratch that|on second thoughts?|on reflection"
    r"|let me (?:reconsider|correct|rethink|revise)|correction"
    r"|i was wrong|i made a mistake|my mistake|i take (?:it|that) back|changed? my mind"
    r"|(?:(?<=\. )|(?<=\n))(?:no(?=[,.:;—–])|(?:actually|sorry|oops|hmm+)(?=[,.:;—– ])))(?![a-z])"
)
"""What a model says before it takes back its answer; a cue in the middle of a sentence is none."""
_SENTENCE = re.compile(r"[.!?。！？\n]+")


@dataclass
class _Mentions:
    firm: set[int] = field(default_factory=set)
    denied: set[int] = field(default_factory=set)
    weighed: set[int] = field(default_factory=set)

    def named(self, labels: int) -> set[int]:
        """The labels that are said; where all but one are denied, the one that is left."""
        if self.firm:
            return self.firm
        left = set(range(labels)) - self.denied
        return left if len(left) == 1 and not self.weighed else set()


def _mentions(text: str, words: Vocabulary) -> _Mentions:
    found = _Mentions()
    for match in words.pattern.finditer(text):
        label = words.label_of(match)
        before = text[max(0, match.start() - _WINDOW) : match.start()]
        after = text[match.end() : match.end() + _WINDOW]
        clause = before[max((m.end() for m in _CLAUSE.finditer(before)), default=0) :]
        # "Cannot say if it is an entailment": phrases are told in full, and what follows is what cannot be said.
        if _WEIGHED.search(clause) or (" " not in match[0] and _WEIGHED_AFTER.match(after)):
            found.weighed.add(label)
        elif _is_denied(clause) or _DENIED_AFTER.match(after):
            found.denied.add(label)
        else:
            found.firm.add(label)
    return found


def _is_denied(clause: str) -> bool:
    clause = _NO_DENIAL.sub(" ", clause)
    last = max((match.end() for match in _DENIES.finditer(clause)), default=None)
    return last is not None and len(clause[last:].split()) <= _DENIED_WORDS


# ---- what is marked as the answer -------------------------------------------------------------------------------

_FIELDS = (
    "label|answer|final_answer|relation|relationship|classification|class|prediction|verdict|result|output|judge?ment"
    "|category|choice|decision|inference|nli_label|response"
)
_JSON = re.compile(
    rf"[\"'](?:{_FIELDS})[\"']\s{{0,20}}:\s{{0,20}}"
    r"(?:\[\s{0,20})?(?:\"(?P<a>[^\"\n]{0,200})\"|'(?P<b>[^'\n]{0,200})'|(?P<c>null|true|false|-?[0-9]{1,9}(?![0-9.])))"
)
_LIST = re.compile(r"\s*\[\s{0,20}[\"'](?P<a>[^\"'\n]{0,200})[\"']\s{0,20}\]\s*")
_TAGS = "answer|label|final_answer|final|output|result|classification|verdict|prediction|response|relation"
_XML = re.compile(rf"<(?P<tag>{_TAGS})>(?P<a>[^<]{{0,200}})</(?P=tag)>")
_BOXED = re.compile(r"\\boxed\s?\{(?:\s*\\[a-z]{1,12}\s?\{)?(?P<a>[^{}]{0,200})\}")
_IS = (
    r"(?:\s{0,4}[*_]{1,3})?\s{0,4}(?:[:=→：—]|->|(?:is|would be|should be|lautet|ist|est|es|è|é)(?![a-z])\s{0,2}:?"
    r"|是|为|は|[은는])[\s*_:]{0,8}"
)
_CUE = re.compile(
    r"(?<![a-z_<])(?:answer|label|verdict|conclusion|relation(?:ship)?|classification|prediction|output|result"
    r"|judge?ment|choice|decision|in (?:one|a single) word|on balance|overall|in short|antwort|réponse|respuesta"
    r"|resposta|risposta|antwoord|ответ|答案|回答|答え|정답|답)"
    rf"(?:\s(?:for|of|between)\s[^:\n.]{{0,80}}?)?{_IS}"
)
_SURE_CUE = re.compile(
    r"(?<![a-z_<])(?:(?:(?:final|overall)\s)?(?:verdict|label|judge?ment|decision|conclusion)|final answer)"
    r"(?:\s{0,4}[*_]{1,3})?\s{0,4}(?:[:=→：—]|->|is(?![a-z])\s{0,2}:?)[\s*_:]{0,8}"
    r"|(?:^|\n)[#*_\s]{0,12}answer(?:\s{0,4}[*_]{1,3})?\s{0,4}[:=：][\s*_:]{0,8}"
)
"""What alone says that the answer follows, to a strict reader: a result or a prediction may be what is talked about."""
_HEADING = re.compile(
    r"(?:^|\n)[#*_\s]{0,12}(?:the\s|my\s|final\s|correct\s){0,3}(?:answer|label|verdict|conclusion|classification)"
    r"[*_:\s]{0,8}\n"
)
_SHORT_CUE = re.compile(r"(?:^|\n)\s{0,8}a\s?:\s?")
_VALUE_END = re.compile(r"\n|[.!?](?=\s|$|[*_\"')])|。")
_MARKS = re.compile(r"[\W_]{0,60}")
_AROUND = " \t\r\n*_#>\"'`“”‘’.!()[]"
_SURE_FIELD = re.compile(r"label|(?:final_)?answer|verdict|judge?ment|decision")
_FOLLOWS = re.compile(r"[*_\"'`’”)\]}\s]{0,8}(?:$|[.\n:;(|}\]—–。]|-\s|\s-|<)")
_GOES_ON = re.compile(r"[*_\"'`’”)]{0,8}\s?,")
_HAS_PART = re.compile(r"[\"'*_\s]{0,4}[:=]")
_OWN_QUESTION = re.compile(r"\n[\s*#]{0,8}premise[*\s]{0,4}:")
_FENCE = re.compile(r"```[a-z]{0,10}\n?")


@dataclass(frozen=True)
class _Commitment:
    """A place where a model says what its answer is."""

    at: int
    named: frozenset[int]
    word: int = -1
    """where the word stands that names it"""


class AnswerReader:
    """Reads answers by a vocabulary. `strict`: only what is marked as the answer counts, no running words, and nothing
    where two marks name different labels.
    """

    VERSION = 1

    def __init__(self, words: Vocabulary, *, strict: bool = False) -> None:
        self.words, self.strict = words, strict
        self.name = f"{words.name}-{self.VERSION}"
        self.choices = words.choices

    def __call__(self, said: Said) -> Reading:
        answer = answer_of(said)
        if isinstance(answer, Unreadable):
            return Reading(None, answer)
        alone = self.words.pattern.fullmatch(answer.strip().lower())
        if alone is not None and not said.tokens:
            return Reading(self.words.label_of(alone))
        seen = cleaned(answer if len(answer) <= _HEAD + _TAIL else f"{answer[:_HEAD]}\n{answer[-_TAIL:]}")
        text = _FENCE.sub("\n", seen.lower())
        if not text.strip():
            return Reading(None, Unreadable.EMPTY)
        found = self._read(text, said.finish == CUT_SHORT)
        if found.named and len(found.named) == 1:
            (label,) = found.named
            return Reading(label, None, self._scores(said, text, found.word))
        # A model that says what it will call, and calls it, was not asked for words.
        called = said.finish == TOOL and found.why is Unreadable.NONE
        return Reading(None, Unreadable.TOOL if called else found.why)

    def _read(self, text: str, cut_short: bool) -> _Found:
        own_question = _OWN_QUESTION.search(text)
        if own_question is not None:
            # A model that was not taught to stop goes on with a question of its own; what it said before is the answer.
            before = self._read(text[: own_question.start()], False)
            if len(before.named) == 1:
                return before
        marked = self._marked(text)
        if marked is not None and marked.named:
            return self._revised(text, marked) or _Found(marked.named, Unreadable.SEVERAL, marked.word)
        if cut_short:
            return _Found(why=Unreadable.CUT_OFF)
        if marked is not None:
            return _Found(why=Unreadable.NONE)
        if _REFUSES.search(text[:400]):
            return _Found(why=Unreadable.REFUSED)
        if self.strict:
            return _Found(why=Unreadable.REFUSED if _REFUSES_LOOSELY.search(text[:400]) else Unreadable.NONE)
        mentions = _mentions(text, self.words)
        named = mentions.named(self.words.labels)
        if len(named) > 1:
            sentences = [s for s in _SENTENCE.split(text) if s.strip()]
            last = _mentions(sentences[-1], self.words).named(self.words.labels)
            named = last if len(last) == 1 and _CONCLUDES.search(sentences[-1]) else named
        if named:
            first = next((m.start() for m in self.words.pattern.finditer(text) if self.words.label_of(m) in named), -1)
            return _Found(frozenset(named), Unreadable.SEVERAL, first)
        if _REFUSES_LOOSELY.search(text[:400]):
            return _Found(why=Unreadable.REFUSED)
        return _Found(why=Unreadable.SEVERAL if len(mentions.weighed) > 1 else Unreadable.NONE)

    def _revised(self, text: str, marked: _Commitment) -> _Found | None:
        """What is said after a change of mind: "Answer: entailment. Wait, no: contradiction."; None without one."""
        cue = max(_REVISES.finditer(text, max(marked.at, marked.word, 0)), key=lambda m: m.start(), default=None)
        if cue is None:
            return None
        said = _mentions(text[cue.end() :], self.words).firm - marked.named
        if not said:
            return None
        after = (m for m in self.words.pattern.finditer(text, cue.end()) if self.words.label_of(m) in said)
        return _Found(frozenset(said), Unreadable.SEVERAL, next((m.start() for m in after), -1))

    def _marked(self, text: str) -> _Commitment | None:
        """The last place that is marked as the answer and names a label; one that names none where only such are."""
        structured = list(self._structured(text))
        if self.strict:
            return self._agreed(text, structured)
        # What explains an answer within the same JSON is no second answer.
        after = max((text.rfind("}") if c.at >= 0 and text[c.at] in "\"'" else c.at for c in structured), default=-1)
        spoken = [c for c in (*self._cued(text), *self._alone(text), *self._first(text)) if c.at > after]
        telling = [c for c in (*structured, *spoken) if c.named]
        if telling:
            return max(telling, key=lambda c: c.at)
        return structured[-1] if structured else None

    def _agreed(self, text: str, structured: list[_Commitment]) -> _Commitment | None:
        """All places that are marked as the answer, as one."""
        within = range(text.find("{"), text.rfind("}") + 1) if structured else range(0)
        spoken = [c for c in (*self._cued(text), *self._alone(text)) if c.at not in within]
        telling = sorted((c for c in (*structured, *spoken) if c.named), key=lambda c: c.at)
        if telling:
            last = telling[-1]
            return _Commitment(last.at, frozenset[int]().union(*(c.named for c in telling)), last.word)
        return structured[-1] if structured else None

    def _structured(self, text: str) -> Iterator[_Commitment]:
        listed = _LIST.fullmatch(text)
        for match in (
            *_JSON.finditer(text),
            *_XML.finditer(text),
            *_BOXED.finditer(text),
            *([listed] if listed else ()),
        ):
            group = next((name for name in "abc" if match.groupdict().get(name) is not None), None)
            value, at = (match[group], match.start(group)) if group else ("", match.end())
            if self.strict and match.re is _JSON and not _SURE_FIELD.match(match[0], 1):
                continue
            named, word = self._whole(value) if self.strict else self._value(value)
            yield _Commitment(match.start(), named, at + word)

    def _cued(self, text: str) -> Iterator[_Commitment]:
        cues = [_CUE, _HEADING] if "a" in self.words.bare else [_CUE, _HEADING, _SHORT_CUE]
        cues = [_SURE_CUE, _HEADING] if self.strict else cues
        for match in (m for cue in cues for m in cue.finditer(text)):
            marks = _MARKS.match(text, match.end())
            assert marks is not None
            end = _VALUE_END.search(text, marks.end(), marks.end() + 300)
            # Marks before a value belong to it: "answer: (B)".
            value = text[match.end() : end.start() if end else marks.end() + 300]
            named, word = self._value(value)
            yield _Commitment(match.start(), named, match.end() + word)

    def _alone(self, text: str) -> Iterator[_Commitment]:
        """Lines that are a label and nothing else. Several that follow each other are a list."""
        start, group, group_at, word = 0, set[int](), -1, -1
        for line in [*text.split("\n"), "."]:
            bare = line.strip(" \t\r*_#>\"'`“”‘’.!()[]-•✅|~")
            match = self.words.pattern.fullmatch(bare) if bare else None
            label = self.words.label_of(match) if match else self.words.bare.get(bare)
            if label is not None:
                group.add(label)
                group_at, word = (start, start + line.find(bare)) if group_at < 0 else (group_at, word)
            elif line.strip() and group:
                yield _Commitment(group_at, frozenset(group), word)
                group, group_at = set(), -1
            start += len(line) + 1

    def _first(self, text: str) -> Iterator[_Commitment]:
        """A label at the very start, as far as something else follows than a sentence about it."""
        named, word = self._leading(text)
        if named and not self._is_a_list(text, named):
            yield _Commitment(max(word, 0), named, word)

    def _is_a_list(self, text: str, named: frozenset[int]) -> bool:
        """Whether each of several labels has its own part: "entailment: 0.2, neutral: 0.5"."""
        parts = (m for m in self.words.pattern.finditer(text) if _HAS_PART.match(text, m.end()))
        return any(self.words.label_of(match) not in named for match in parts)

    def _leading(self, text: str) -> tuple[frozenset[int], int]:
        """The label that a text begins with, and where."""
        marks = _MARKS.match(text)
        start = marks.end() if marks else 0
        match = self.words.pattern.match(text, start)
        if match is not None:
            label = self.words.label_of(match)
            if _FOLLOWS.match(text, match.end()):
                return frozenset((label,)), match.start()
            if _GOES_ON.match(text, match.end()):
                end = _VALUE_END.search(text, match.end())
                rest = text[match.end() : end.start() if end else match.end() + 300]
                if not _mentions(rest, self.words).firm - {label}:
                    return frozenset((label,)), match.start()
            return frozenset(), -1
        return self._bare(text, start)

    def _bare(self, text: str, start: int) -> tuple[frozenset[int], int]:
        option = _OPTION.match(text, start)
        match = self.words.bare_pattern.match(text, option.end() if option else start)
        if match is None or (len(match[1]) == 1 and not _AFTER_A_LETTER.match(text, match.end())):
            return frozenset(), -1
        labels = {self.words.bare[match[1]]}
        more = _OR.match(text, match.end())
        other = self.words.bare_pattern.match(text, more.end()) if more else None
        if other is not None:
            labels.add(self.words.bare[other[1]])
        elif (said := _mentions(text[match.end() : match.end() + 300], self.words).firm) and len(match[1]) > 1:
            # "Yes, it contradicts the premise": the label says more than the yes before it.
            return frozenset(said), match.start()
        return frozenset(labels), match.start()

    def _whole(self, text: str) -> tuple[frozenset[int], int]:
        """The label that a text is, and where."""
        match = self.words.pattern.fullmatch(bare := text.strip(_AROUND)) if text else None
        return (frozenset(), -1) if match is None else (frozenset((self.words.label_of(match),)), text.find(bare))

    def _value(self, text: str) -> tuple[frozenset[int], int]:
        """What a text in the place of an answer names, and where."""
        named, word = self._leading(text)
        mentions = _mentions(text, self.words)
        if named and (len(named) > 1 or self.words.pattern.match(text, word) or not mentions.firm):
            return named, word
        said = frozenset(mentions.named(self.words.labels)) or named
        first = next((m.start() for m in self.words.pattern.finditer(text) if self.words.label_of(m) in said), word)
        return said, first

    # -- log-probabilities ------------------------------------------------------------------------------------

    def _scores(self, said: Said, text: str, word: int) -> tuple[float, ...] | None:
        """The labels' log-probabilities at the token where the answer's word begins.

        A label that is not among the tokens told there is at most as likely as the least likely one of them.
        """
        if not said.tokens or word < 0 or not self.words.starts:
            return None
        joined = "".join(token for token, _ in said.tokens)
        base = joined.lower().rfind(text.strip())
        if base < 0:
            return None
        place = base + word - (len(text) - len(text.lstrip()))
        at = 0
        for token, others in said.tokens:
            if at + len(token) > place:
                return label_scores(others, self.words.starts, token[: place - at])
            at += len(token)
        return None


def label_scores(tokens: Mapping[str, float], starts: Sequence[str], before: str = "") -> tuple[float, ...] | None:
    """Log-probabilities of labels by those of the tokens that one of them begins with. `before`: what a token holds in
    front of the word, such as a quotation mark.

    >>> label_scores({"ent": -0.1, " neut": -3.0, "cat": -4.0}, ("entailment", "neutral", "contradiction"))
    (-0.1, -3.0, -4.0)
    """
    sums = [0.0] * len(starts)
    for token, logprob in tokens.items():
        start = token.removeprefix(before).strip(" \t\n*_\"'`({[▁Ġ").lower()
        meant = [i for i, label in enumerate(starts) if start and (label.startswith(start) or start.startswith(label))]
        if len(meant) == 1:
            sums[meant[0]] += exp(min(logprob, 0.0))
    if not any(sums) or len(tokens) < 2:
        return None
    least = max(min(tokens.values()), -100.0)
    return tuple(round(log(total), 6) if total else least for total in sums)


_OPTION = re.compile(r"(?:option|choice|class|label|answer)\s+[\W_]{0,4}")
_AFTER_A_LETTER = re.compile(r"[).:,;*_\]}\"'\s]{0,4}$|[).:,;*_\]}\"'](?![a-z])|\s[-–—(]|\n|\s(?:or|and)\s")
_OR = re.compile(r"[\W_]{0,4}(?:or|and|/|,)[\W_]{0,4}")


@dataclass(frozen=True)
class _Found:
    named: frozenset[int] = frozenset()
    why: Unreadable | None = None
    word: int = -1


# ---- refusals ---------------------------------------------------------------------------------------------------

_HELP = (
    "(?:help|assist|provide|answer|respond|discuss|engage|comply|fulfil|process|continue|judge violent|be able to help"
    "|offer|generate|participate|complete)"
)
_REFUSES = re.compile(
    rf"(?<![a-z])i\s(?:cannot|can['’]?t|can not|won['’]?t|will not)\s{_HELP}"
    rf"|(?<![a-z])(?:unable|not able) to {_HELP}|must decline|have to decline"
    r"|not comfortable (?:with|answering|discussing)"
    r"|(?:violates?|against) (?:our|my|the) (?:usage |content )?(?:policy|policies|guidelines)"
    r"|kann[^.\n]{0,60} nicht (?:helfen|beantworten|weiterhelfen)"
    r"|ne peux pas (?:vous |t['’])?(?:aider|répondre)|no puedo (?:ayudar|responder|asistir)"
    r"|não (?:posso|consigo) (?:ajudar|responder)|non posso (?:aiutar|rispondere)|не могу (?:помочь|ответить)"
    r"|(?:无法|不能|无法协助|没办法)(?:为您|帮|协助|回答|提供|处理)|(?:お応え|お答え|お手伝い)(?:でき|いたしかね)"
    r"|(?:도와드릴|답변할|답변드릴|도울) 수 없"
)
_REFUSES_LOOSELY = re.compile(
    r"(?:sorry|apologi[sz]e|as an ai)[^\n]{0,80}?(?:cannot|can['’]?t|unable|won['’]?t|not able)|may violate"
    r"|es tut mir leid|(?:je suis )?désolé|lo (?:siento|lamento)|desculpe|sinto muito|mi dispiace|извините|к сожалению"
    r"|对不起|抱歉|申し訳|죄송"
)
