"""Conversations about Larkhaven's knowledge graph, with gold SPARQL, gold answers and two parsers' queries.

A conversation walks from one thing to the next ("Which station is nearest to the Museum of Tides?" "Which
lines stop there?" "And at Town Hall?"). Gold answers are computed in Python from the graph, so that
running the gold query in a SPARQL engine checks both.

The two parsers read the text alone (and the conversation so far): each masks the names it finds, takes
the template it knows whose words are closest, and fills the names in. They differ in what they know, and
so they fail in different, systematic ways; nothing is random about them:

- A knows one wording a template, resolves "it" and "there" to the first name of the question before, puts
  the new name of an "And X?" in the first slot, forgets to say what class of thing it counts, hears "older"
  as a larger year, loses "not", and writes ORDER BY the way SQL does;
- B knows two wordings, looks for a name or an answer of the right class, further back if it must, and still
  takes "at least" for "more than" and "or" for "and".
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import graph
import world
from graph import NS, Graph

PREFIX = f"PREFIX lh: <{NS}> "
Answer = list[str] | list[int] | int | bool


@dataclass(frozen=True)
class Frame:
    """One thing that can be asked: how it is said, the SPARQL, and the answer straight from the graph."""

    key: str
    type: str
    slots: tuple[str, ...]
    wordings: tuple[str, ...]
    query: Callable[..., str]
    answer: Callable[..., Answer]
    pronoun: tuple[str, ...] = ()  # wordings that leave the first slot to the conversation
    after: str = "And {x}?"  # the elliptic follow-up, filling the last slot


def select(body: str, tail: str = "") -> str:
    return f"SELECT ?x WHERE {{ {body} }}{tail}"


def count(body: str) -> str:
    return f"SELECT (COUNT(DISTINCT ?x) AS ?n) WHERE {{ {body} }}"


def ask(body: str) -> str:
    return f"ASK {{ {body} }}"


def frames(g: Graph) -> dict[str, Frame]:
    def number(entity: str, predicate: str) -> float:
        value = g.objects(entity, predicate)[0]
        assert isinstance(value, int | float)
        return value

    def names(found: list[object]) -> list[str]:
        return [f"{NS}{name}" for name in sorted(set(map(str, found)))]

    def objects(predicate: str) -> Callable[..., Answer]:
        return lambda a: names(list(g.objects(a, predicate)))

    def subjects(predicate: str) -> Callable[..., Answer]:
        return lambda a: names(list(g.subjects(predicate, a)))

    def typed(class_: str, predicate: str, value: str) -> list[str]:
        return [s for s in g.subjects(predicate, value) if g.classes[s] == class_]

    def compared(class_: str, predicate: str, sign: int) -> Callable[..., Answer]:
        return lambda a: names(
            [x for x in g.members(class_) if sign * number(x, predicate) > sign * number(a, predicate)]
        )

    def compare(class_: str, predicate: str, sign: str) -> Callable[..., str]:
        return lambda a: select(
            f"?x a lh:{class_} ; lh:{predicate} ?n . lh:{a} lh:{predicate} ?m . FILTER(?n {sign} ?m)"
        )

    def top(found: list[str], predicate: str, sign: int) -> Answer:
        return names([max(found, key=lambda x: sign * number(x, predicate))])

    def per_district(least: int) -> Answer:
        return names([d for d in g.members("District") if len(typed("Station", "inDistrict", d)) >= least])

    having = "SELECT ?x WHERE {{ ?s a lh:Station ; lh:inDistrict ?x }} GROUP BY ?x HAVING (COUNT(?s) {sign} {n})"
    more_stations = (
        "SELECT ?x WHERE {{ {{ SELECT ?x (COUNT(?s) AS ?n) WHERE {{ ?x lh:callsAt ?s }} GROUP BY ?x }} "
        "{{ SELECT (COUNT(?t) AS ?m) WHERE {{ lh:{a} lh:callsAt ?t }} }} FILTER(?n > ?m) }}"
    )
    every = [
        # -- simple
        Frame(
            "line stations",
            "simple",
            ("Line",),
            (
                "Which stations does the {a} serve?",
                "Where does the {a} stop?",
                "Name every halt along the {a}.",
            ),
            lambda a: select(f"lh:{a} lh:callsAt ?x"),
            objects("callsAt"),
            ("Which stations does it serve?", "Where does that line stop?"),
            "And the {x}?",
        ),
        Frame(
            "line operator",
            "simple",
            ("Line",),
            ("Who operates the {a}?", "Which company runs the {a}?", "In whose hands is the {a}?"),
            lambda a: select(f"lh:{a} lh:operatedBy ?x"),
            objects("operatedBy"),
            ("Who operates it?", "Which company runs it?"),
            "And the {x}?",
        ),
        Frame(
            "station lines",
            "simple",
            ("Station",),
            ("Which lines stop at {a}?", "What can I board at {a}?", "Which services call at {a}?"),
            lambda a: select(f"?x lh:callsAt lh:{a}"),
            subjects("callsAt"),
            ("Which lines stop there?", "What can I board there?"),
            "And at {x}?",
        ),
        Frame(
            "station neighbours",
            "simple",
            ("Station",),
            ("Which stations are next to {a}?", "What comes right before or after {a}?"),
            lambda a: select(f"lh:{a} lh:nextTo ?x"),
            objects("nextTo"),
            ("Which stations are next to it?", "What comes right before or after that station?"),
            "And {x}?",
        ),
        Frame(
            "museum station",
            "simple",
            ("Museum",),
            (
                "Which station is nearest to the {a}?",
                "Where do I get off for the {a}?",
                "What is the closest stop to the {a}?",
            ),
            lambda a: select(f"lh:{a} lh:nearestStation ?x"),
            objects("nearestStation"),
            ("Which station is nearest to it?", "Where do I get off for that museum?"),
            "And to the {x}?",
        ),
        Frame(
            "museum kind",
            "simple",
            ("Museum",),
            ("What kind of museum is the {a}?", "What is the {a} about?"),
            lambda a: select(f"lh:{a} lh:museumKind ?x"),
            objects("museumKind"),
            ("What kind of museum is it?", "What is that museum about?"),
            "And the {x}?",
        ),
        Frame(
            "museum district",
            "simple",
            ("Museum",),
            ("Which district is the {a} in?", "In which part of town is the {a}?"),
            lambda a: select(f"lh:{a} lh:inDistrict ?x"),
            objects("inDistrict"),
            ("Which district is it in?", "In which part of town is that museum?"),
            "And the {x}?",
        ),
        Frame(
            "museum year",
            "simple",
            ("Museum",),
            (
                "When did the {a} open?",
                "In which year was the {a} founded?",
                "Since what year has the {a} been around?",
            ),
            lambda a: select(f"lh:{a} lh:openedYear ?x"),
            lambda a: [int(number(a, "openedYear"))],
            ("When did it open?", "In which year was that museum founded?"),
            "And the {x}?",
        ),
        Frame(
            "museum facilities",
            "simple",
            ("Museum",),
            ("Which facilities does the {a} offer?", "What is there for visitors at the {a}?"),
            lambda a: select(f"lh:{a} lh:hasFacility ?x"),
            objects("hasFacility"),
            ("Which facilities does it offer?", "What is there for visitors in that museum?"),
            "And the {x}?",
        ),
        Frame(
            "exhibition museum",
            "simple",
            ("Exhibition",),
            ("Which museum holds {a}?", "Where can I see {a}?", "Which house is home to {a}?"),
            lambda a: select(f"lh:{a} lh:heldAt ?x"),
            objects("heldAt"),
            ("Which museum holds it?", "Where can I see that exhibition?"),
        ),
        Frame(
            "exhibition artists",
            "simple",
            ("Exhibition",),
            ("Which artists are shown in {a}?", "Whose works are in {a}?", "Who takes part in {a}?"),
            lambda a: select(f"lh:{a} lh:showsArtist ?x"),
            objects("showsArtist"),
            ("Which artists are shown in it?", "Whose works are in that exhibition?"),
            "And in {x}?",
        ),
        Frame(
            "artist country",
            "simple",
            ("Artist",),
            ("Which country does {a} come from?", "Where is {a} from?", "What is the home country of {a}?"),
            lambda a: select(f"lh:{a} lh:fromCountry ?x"),
            objects("fromCountry"),
            ("Which country does this artist come from?", "Where is this artist from?"),
        ),
        Frame(
            "artist shows",
            "simple",
            ("Artist",),
            (
                "Which exhibitions show {a}?",
                "In which exhibitions can I find {a}?",
                "Which shows include {a}?",
            ),
            lambda a: select(f"?x lh:showsArtist lh:{a}"),
            subjects("showsArtist"),
            ("Which exhibitions show this artist?", "In which exhibitions can I find this artist?"),
        ),
        # -- count
        Frame(
            "count line stations",
            "count",
            ("Line",),
            ("How many stations does the {a} serve?", "How many stops does the {a} make?"),
            lambda a: count(f"lh:{a} lh:callsAt ?x"),
            lambda a: len(g.objects(a, "callsAt")),
            ("How many stations does it serve?", "How many stops does that line make?"),
            "And the {x}?",
        ),
        Frame(
            "count district stations",
            "count",
            ("District",),
            (
                "How many stations are there in {a}?",
                "How many stations does {a} have?",
                "What is the tally of stations for {a}?",
            ),
            lambda a: count(f"?x a lh:Station ; lh:inDistrict lh:{a}"),
            lambda a: len(typed("Station", "inDistrict", a)),
            ("How many stations are there in that district?", "How many stations does it have?"),
            "And in {x}?",
        ),
        Frame(
            "count district museums",
            "count",
            ("District",),
            ("How many museums are there in {a}?", "How many museums does {a} have?"),
            lambda a: count(f"?x a lh:Museum ; lh:inDistrict lh:{a}"),
            lambda a: len(typed("Museum", "inDistrict", a)),
            ("How many museums are there in that district?", "How many museums does it have?"),
            "And in {x}?",
        ),
        Frame(
            "count theme",
            "count",
            ("Theme",),
            ("How many exhibitions are about {a}?", "How many shows deal with {a}?"),
            lambda a: count(f"?x lh:theme lh:{a}"),
            lambda a: len(g.subjects("theme", a)),
            after="And about {x}?",
        ),
        Frame(
            "count artists",
            "count",
            ("Exhibition",),
            (
                "How many artists are shown in {a}?",
                "How many artists take part in {a}?",
                "What is the head count of {a}?",
            ),
            lambda a: count(f"lh:{a} lh:showsArtist ?x"),
            lambda a: len(g.objects(a, "showsArtist")),
            ("How many artists are shown in it?", "How many artists take part in that exhibition?"),
            "And in {x}?",
        ),
        Frame(
            "count country",
            "count",
            ("Country",),
            ("How many artists come from {a}?", "How many artists were born in {a}?"),
            lambda a: count(f"?x lh:fromCountry lh:{a}"),
            lambda a: len(g.subjects("fromCountry", a)),
            ("How many artists come from that country?", "How many artists come from there?"),
            "And from {x}?",
        ),
        # -- verification
        Frame(
            "calls at",
            "verification",
            ("Line", "Station"),
            (
                "Does the {a} stop at {b}?",
                "Can the {a} take me to {b}?",
                "Is the {a} any use for getting to {b}?",
            ),
            lambda a, b: ask(f"lh:{a} lh:callsAt lh:{b}"),
            lambda a, b: b in g.objects(a, "callsAt"),
            ("Does it stop at {b}?", "Can that line take me to {b}?"),
            "And at {x}?",
        ),
        Frame(
            "in district",
            "verification",
            ("Museum", "District"),
            (
                "Is the {a} in {b}?",
                "Does the {a} lie in {b}?",
                "Would a walk through {b} take me past the {a}?",
            ),
            lambda a, b: ask(f"lh:{a} lh:inDistrict lh:{b}"),
            lambda a, b: b in g.objects(a, "inDistrict"),
            ("Is it in {b}?", "Does that museum lie in {b}?"),
            "And in {x}?",
        ),
        Frame(
            "open on",
            "verification",
            ("Museum", "Day"),
            (
                "Is the {a} open on {b}?",
                "Can I visit the {a} on a {b}?",
                "Does the {a} receive visitors on a {b}?",
            ),
            lambda a, b: ask(f"lh:{a} lh:opensOn lh:{b}"),
            lambda a, b: b in g.objects(a, "opensOn"),
            ("Is it open on {b}?", "Can I visit that museum on a {b}?"),
            "And on {x}?",
        ),
        Frame(
            "shown in",
            "verification",
            ("Exhibition", "Artist"),
            ("Does {a} show {b}?", "Are there works by {b} in {a}?"),
            lambda a, b: ask(f"lh:{a} lh:showsArtist lh:{b}"),
            lambda a, b: b in g.objects(a, "showsArtist"),
            ("Does it show {b}?", "Are there works by {b} in that exhibition?"),
            "And {x}?",
        ),
        # -- comparative
        Frame(
            "busier",
            "comparative",
            ("Station",),
            (
                "Which stations are busier than {a}?",
                "Which stations have more passengers than {a}?",
                "Which stations draw a bigger crowd than {a}?",
            ),
            compare("Station", "dailyPassengers", ">"),
            compared("Station", "dailyPassengers", 1),
            ("Which stations are busier than that?", "Which stations have more passengers than that one?"),
            "And than {x}?",
        ),
        Frame(
            "older",
            "comparative",
            ("Museum",),
            (
                "Which museums are older than the {a}?",
                "Which museums opened before the {a}?",
                "Which museums can look back on a longer history than the {a}?",
            ),
            compare("Museum", "openedYear", "<"),
            compared("Museum", "openedYear", -1),
            ("Which museums are older than it?", "Which museums opened before that one?"),
            "And than the {x}?",
        ),
        Frame(
            "cheaper",
            "comparative",
            ("Museum",),
            (
                "Which museums are cheaper than the {a}?",
                "Which museums cost less than the {a}?",
                "Which museums are kinder to the purse than the {a}?",
            ),
            compare("Museum", "adultPrice", "<"),
            compared("Museum", "adultPrice", -1),
            ("Which museums are cheaper than it?", "Which museums cost less than that one?"),
            "And than the {x}?",
        ),
        Frame(
            "younger",
            "comparative",
            ("Artist",),
            ("Which artists are younger than {a}?", "Which artists were born after {a}?"),
            compare("Artist", "birthYear", ">"),
            compared("Artist", "birthYear", 1),
            ("Which artists are younger than this artist?", "Which artists were born after this one?"),
            "And than {x}?",
        ),
        Frame(
            "more stations",
            "comparative",
            ("Line",),
            ("Which lines serve more stations than the {a}?", "Which lines make more stops than the {a}?"),
            lambda a: more_stations.format(a=a),
            lambda a: names(
                [x for x in g.members("Line") if len(g.objects(x, "callsAt")) > len(g.objects(a, "callsAt"))]
            ),
            ("Which lines serve more stations than it?", "Which lines make more stops than that one?"),
            "And than the {x}?",
        ),
        # -- set operation
        Frame(
            "both lines",
            "set operation",
            ("Line", "Line"),
            (
                "Which stations are on both the {a} and the {b}?",
                "Where can I change from the {a} to the {b}?",
                "Which stations do the {a} and the {b} share?",
            ),
            lambda a, b: select(f"lh:{a} lh:callsAt ?x . lh:{b} lh:callsAt ?x"),
            lambda a, b: names([s for s in g.objects(a, "callsAt") if s in g.objects(b, "callsAt")]),
            ("Which stations does it share with the {b}?", "Where can I change from it to the {b}?"),
            "And to the {x}?",
        ),
        Frame(
            "either line",
            "set operation",
            ("Line", "Line"),
            ("Which stations are on the {a} or the {b}?", "What do the {a} and the {b} reach between them?"),
            lambda a, b: select(f"{{ lh:{a} lh:callsAt ?x }} UNION {{ lh:{b} lh:callsAt ?x }}"),
            lambda a, b: names([*g.objects(a, "callsAt"), *g.objects(b, "callsAt")]),
        ),
        Frame(
            "line but not",
            "set operation",
            ("Line", "Line"),
            (
                "Which stations are on the {a} but not on the {b}?",
                "Where does the {a} stop and the {b} does not?",
            ),
            lambda a, b: select(f"lh:{a} lh:callsAt ?x . FILTER NOT EXISTS {{ lh:{b} lh:callsAt ?x }}"),
            lambda a, b: names([s for s in g.objects(a, "callsAt") if s not in g.objects(b, "callsAt")]),
        ),
        Frame(
            "from but not",
            "set operation",
            ("Country", "Style"),
            (
                "Which artists from {a} do not work in {b}?",
                "Which artists come from {a} but are not known for {b}?",
            ),
            lambda a, b: select(f"?x lh:fromCountry lh:{a} . FILTER NOT EXISTS {{ ?x lh:style lh:{b} }}"),
            lambda a, b: names([x for x in g.subjects("fromCountry", a) if b not in g.objects(x, "style")]),
        ),
        Frame(
            "shared artists",
            "set operation",
            ("Exhibition", "Exhibition"),
            ("Which artists are shown in both {a} and {b}?", "Which artists do {a} and {b} share?"),
            lambda a, b: select(f"lh:{a} lh:showsArtist ?x . lh:{b} lh:showsArtist ?x"),
            lambda a, b: names([x for x in g.objects(a, "showsArtist") if x in g.objects(b, "showsArtist")]),
        ),
        Frame(
            "open but not",
            "set operation",
            ("Day", "Day"),
            (
                "Which museums are open on {a} but not on {b}?",
                "Which museums receive visitors on {a} and never on {b}?",
            ),
            lambda a, b: select(f"?x lh:opensOn lh:{a} . FILTER NOT EXISTS {{ ?x lh:opensOn lh:{b} }}"),
            lambda a, b: names([x for x in g.subjects("opensOn", a) if b not in g.objects(x, "opensOn")]),
        ),
        # -- superlative
        Frame(
            "busiest in",
            "superlative",
            ("District",),
            (
                "Which station in {a} is the busiest?",
                "Which station in {a} has the most passengers?",
                "Where in {a} is the crowd on the platform biggest?",
            ),
            lambda a: select(
                f"?x a lh:Station ; lh:inDistrict lh:{a} ; lh:dailyPassengers ?n",
                " ORDER BY DESC(?n) LIMIT 1",
            ),
            lambda a: top(typed("Station", "inDistrict", a), "dailyPassengers", 1),
            ("Which station there is the busiest?", "Which of its stations has the most passengers?"),
            "And in {x}?",
        ),
        Frame(
            "most visited",
            "superlative",
            ("Kind",),
            ("Which {a} museum has the most visitors?", "What is the most visited {a} museum?"),
            lambda a: select(f"?x lh:museumKind lh:{a} ; lh:annualVisitors ?n", " ORDER BY DESC(?n) LIMIT 1"),
            lambda a: top(g.subjects("museumKind", a), "annualVisitors", 1),
        ),
        Frame(
            "oldest of kind",
            "superlative",
            ("Kind",),
            ("Which {a} museum is the oldest?", "What is the oldest {a} museum?"),
            lambda a: select(f"?x lh:museumKind lh:{a} ; lh:openedYear ?n", " ORDER BY ASC(?n) LIMIT 1"),
            lambda a: top(g.subjects("museumKind", a), "openedYear", -1),
        ),
        # -- quantity
        Frame(
            "districts over",
            "quantity",
            ("Number",),
            ("Which districts have more than {a} stations?", "Which districts count over {a} stations?"),
            lambda a: having.format(sign=">", n=a),
            lambda a: per_district(int(a) + 1),
        ),
        Frame(
            "districts at least",
            "quantity",
            ("Number",),
            ("Which districts have at least {a} stations?", "Which districts have {a} stations or more?"),
            lambda a: having.format(sign=">=", n=a),
            lambda a: per_district(int(a)),
        ),
    ]
    return {f.key: f for f in every}


# --------------------------------------------------------------------------------------- conversations


@dataclass(frozen=True)
class Turn:
    conversation: str
    turn: int
    question: str
    frame: Frame
    slots: tuple[str, ...]
    phenomenon: str  # "none", "coreference" or "ellipsis"
    distance: int  # how many turns back the missing part was said; 0 when nothing is missing
    answer: Answer

    @property
    def gold(self) -> str:
        return PREFIX + self.frame.query(*self.slots)


class Talk:
    """Builds a conversation; `say` asks in full, `it` leaves the first slot out, `also` is elliptic."""

    def __init__(self, name: str, g: Graph, known: dict[str, Frame], rng: random.Random) -> None:
        self.name, self.g, self.known, self.rng = name, g, known, rng
        self.turns: list[Turn] = []

    def _add(self, text: str, frame: Frame, slots: tuple[str, ...], phenomenon: str, distance: int) -> Answer:
        answer = frame.answer(*slots)
        turn = len(self.turns) + 1
        self.turns.append(Turn(self.name, turn, text, frame, slots, phenomenon, distance, answer))
        return answer

    def _label(self, slot: str) -> str:
        return self.g.labels.get(slot, slot)

    def say(self, key: str, *slots: str) -> Answer:
        frame = self.known[key]
        wording = self.rng.choice(frame.wordings)
        text = wording.format(**dict(zip("ab", map(self._label, slots), strict=False)))
        return self._add(text, frame, slots, "none", 0)

    def it(self, key: str, *slots: str, back: int = 1) -> Answer:
        frame = self.known[key]
        # Far from its antecedent a bare "it" would be unfair: the second wording says "that museum".
        wording = self.rng.choice(frame.pronoun) if back == 1 else frame.pronoun[1]
        text = wording.format(b=self._label(slots[-1]))
        return self._add(text, frame, slots, "coreference", back)

    def also(self, new: str, back: int = 1) -> Answer:
        before = self.turns[-back]
        text = before.frame.after.format(x=self._label(new))
        if self.rng.random() < 0.3:
            text = re.sub(r"And (?:(?:at|in|on|to|from|about|than) )?", "What about ", text)
        return self._add(text, before.frame, (*before.slots[:-1], new), "ellipsis", back)


def only(answer: Answer) -> str:
    """The local name of a one-entity answer, to go on from."""
    assert isinstance(answer, list) and len(answer) == 1 and isinstance(answer[0], str)
    return answer[0].removeprefix(NS)


def conversations(g: Graph, rounds: int = 7) -> list[Turn]:
    known = frames(g)
    rng = random.Random(world.SEED + 3)
    of = {c: g.members(c) for c in sorted(set(g.classes.values()))}

    def two(class_: str) -> list[str]:
        return rng.sample(of[class_], 2)

    def line_tour(t: Talk) -> None:
        a, b = two("Line")
        s1, s2 = rng.choice(g.objects(a, "callsAt")), rng.choice(of["Station"])
        t.say(rng.choice(["line stations", "line operator"]), a)
        t.it("calls at", a, str(s1))
        t.also(s2)
        t.it("count line stations", a, back=3)
        t.say(rng.choice(["both lines", "line but not", "either line"]), a, b)
        t.say("line operator", b)
        t.also(a)

    def museum_tour(t: Talk) -> None:
        a, b = two("Museum")
        near = only(t.say("museum station", a))
        t.it("station lines", near)
        t.also(rng.choice(of["Station"]))
        t.it(rng.choice(["museum year", "museum kind", "museum district", "museum facilities"]), a, back=3)
        t.also(b)
        t.say(rng.choice(["older", "cheaper"]), b)
        t.it("open on", b, rng.choice(of["Day"]))

    def gallery_talk(t: Talk) -> None:
        a, b = two("Exhibition")
        house = only(t.say("exhibition museum", a))
        t.it(rng.choice(["museum kind", "museum station", "museum district"]), house)
        t.it("count artists", a, back=2)
        t.also(b)
        t.say("shared artists", a, b)
        t.say("shown in", b, rng.choice(of["Artist"]))

    def district_walk(t: Talk) -> None:
        a, b = two("District")
        t.say("count district stations", a)
        t.also(b)
        t.it("count district museums", b)
        t.say("busiest in", b)
        t.say(rng.choice(["districts over", "districts at least"]), str(rng.randrange(2, 5)))
        t.say("in district", rng.choice(of["Museum"]), a)

    def artist_talk(t: Talk) -> None:
        a, b = two("Artist")
        country = only(t.say("artist country", a))
        t.it("count country", country)
        t.it("artist shows", a, back=2)
        t.say("from but not", country, rng.choice(of["Style"]))
        t.say("younger", b)
        t.also(a)

    def day_plan(t: Talk) -> None:
        m, (day, other) = rng.choice(of["Museum"]), two("Day")
        t.say("open on", m, day)
        t.also(other)
        t.say("open but not", other, day)
        best = only(t.say(rng.choice(["most visited", "oldest of kind"]), rng.choice(of["Kind"])))
        t.it("museum station", best)
        t.say("count theme", rng.choice(of["Theme"]))

    def rush_hour(t: Talk) -> None:
        a, b = two("Station")
        t.say("busier", a)
        t.also(b)
        t.it("station neighbours", b)
        t.say("more stations", rng.choice(of["Line"]))

    plans = [line_tour, museum_tour, gallery_talk, district_walk, artist_talk, day_plan, rush_hour]
    turns: list[Turn] = []
    for number in range(rounds * len(plans)):
        talk = Talk(f"c{number + 1:02d}", g, known, rng)
        plans[number % len(plans)](talk)
        turns += talk.turns
    return turns


# ----------------------------------------------------------------------------------------- the parsers

MASKED = (
    "Station",
    "District",
    "Line",
    "Museum",
    "Exhibition",
    "Artist",
    "Country",
    "Style",
    "Theme",
    "Kind",
    "Day",
)
Parse = tuple[Frame, list[str]]


class TemplateParser:
    """Nearest known template by words, names masked; the two systems are two settings of it."""

    closest = 0.4  # below this overlap of words the parser has nothing to say

    def __init__(self, g: Graph, wordings: int, pronouns: int) -> None:
        self.g = g
        self.templates: list[tuple[Frame, str, Counter[str]]] = []
        for frame in frames(g).values():
            for text in frame.wordings[:wordings] + frame.pronoun[:pronouns]:
                self.templates.append((frame, text, self._bag(re.sub(r"\{[ab]\}", "#", text))))
        self.found: dict[str, list[str]] = {}  # label -> the entities it may name
        for name, label in g.labels.items():
            if g.classes[name] in MASKED:
                self.found.setdefault(label, []).append(name)
        longest_first = sorted(self.found, key=lambda label: (-len(label), label))
        self.names = re.compile(r"\b(?:" + "|".join(map(re.escape, longest_first)) + r")\b")
        self.begin()

    def begin(self) -> None:
        """A new conversation: forget the last one."""
        self.last: Parse | None = None
        self.history: list[tuple[list[str], Answer]] = []  # labels asked about, and the answer they got

    @staticmethod
    def _bag(masked: str) -> Counter[str]:
        return Counter(re.findall(r"#|\w+", masked.lower()))

    def read(self, question: str) -> str | None:
        labels = self.names.findall(question)
        masked = self.names.sub("#", question)
        if not labels and (number := re.search(r"\b\d+\b", question)):
            labels, masked = [number[0]], masked.replace(number[0], "#")
        parse = self._follow_up(masked, labels) or self._nearest(masked, labels)
        self.last = parse
        self.asked = labels
        return PREFIX + self.write(*parse) if parse else None

    def hear(self, answer: Answer) -> None:
        """The conversation goes on with the right answer, whatever the parser made of the question."""
        self.history.append((self.asked, answer))

    def _follow_up(self, masked: str, labels: list[str]) -> Parse | None:
        if not (self.last and labels and re.fullmatch(r"(?:And|What about)(?: \w+){0,2} #\?", masked)):
            return None
        frame, slots = self.last
        slots = list(slots)
        at = self.slot_to_replace(frame, labels[0])
        slots[at] = self._name(labels[0], frame.slots[at])
        return frame, slots

    def _nearest(self, masked: str, labels: list[str]) -> Parse | None:
        bag = self._bag(masked)
        best, found = self.closest, None
        for frame, text, words in self.templates:
            if text.count("{") != len(labels):
                continue
            overlap = (bag & words).total() / (bag | words).total()
            if overlap > best:
                best, found = overlap, (frame, text)
        if found is None:
            return None
        frame, text = found
        given = dict(zip(re.findall(r"\{([ab])\}", text), labels, strict=True))
        slots = []
        for letter, class_ in zip("ab", frame.slots, strict=False):
            if letter in given:
                slots.append(self._name(given[letter], class_))
            elif (missing := self.resolve(class_)) is not None:
                slots.append(missing)
            else:
                return None
        return frame, slots

    def _name(self, label: str, class_: str) -> str:
        names = self.found.get(label, [label])
        return next((n for n in names if self.g.classes.get(n) == class_), names[0])

    # -- what the two systems do differently

    def slot_to_replace(self, frame: Frame, label: str) -> int:
        raise NotImplementedError

    def resolve(self, class_: str) -> str | None:
        raise NotImplementedError

    def write(self, frame: Frame, slots: list[str]) -> str:
        raise NotImplementedError


class ParserA(TemplateParser):
    closest = 0.25  # A would rather guess

    def __init__(self, g: Graph) -> None:
        super().__init__(g, wordings=1, pronouns=2)

    def slot_to_replace(self, frame: Frame, label: str) -> int:
        return 0

    def resolve(self, class_: str) -> str | None:
        labels = self.history[-1][0] if self.history else []
        return self._name(labels[0], class_) if labels else None

    def write(self, frame: Frame, slots: list[str]) -> str:
        query = frame.query(*slots)
        if frame.type in ("count", "superlative"):
            query = re.sub(r"\?x a lh:\w+ ; ", "?x ", query)
        if frame.key in ("older", "cheaper"):
            query = query.replace("?n < ?m", "?n > ?m")
        query = re.sub(r" \. FILTER NOT EXISTS \{ (.*?) \}", r" . \1", query)
        return re.sub(r"ORDER BY (ASC|DESC)\(\?n\)", r"ORDER BY ?n \1", query)


class ParserB(TemplateParser):
    def __init__(self, g: Graph) -> None:
        super().__init__(g, wordings=2, pronouns=2)

    def slot_to_replace(self, frame: Frame, label: str) -> int:
        classes = {self.g.classes[name] for name in self.found.get(label, [])}
        fitting = [i for i, class_ in enumerate(frame.slots) if class_ in classes]
        return fitting[-1] if fitting else len(frame.slots) - 1

    def resolve(self, class_: str) -> str | None:
        for labels, answer in reversed(self.history):
            if isinstance(answer, list) and len(answer) == 1 and isinstance(answer[0], str):
                name = answer[0].removeprefix(NS)
                if self.g.classes[name] == class_:
                    return name
            for label in reversed(labels):
                for name in self.found.get(label, []):
                    if self.g.classes[name] == class_:
                        return name
        return None

    def write(self, frame: Frame, slots: list[str]) -> str:
        query = frame.query(*slots).replace(">=", ">")
        return re.sub(r"\{ (lh:\w+ lh:callsAt \?x) \} UNION \{ (.*?) \}", r"\1 . \2", query)


def records(turns: list[Turn], parser: TemplateParser) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for turn in turns:
        if turn.turn == 1:
            parser.begin()
        rows.append(
            {
                "id": f"{turn.conversation}-{turn.turn}",
                "conversation": turn.conversation,
                "turn": turn.turn,
                "question": turn.question,
                "question_type": turn.frame.type,
                "phenomenon": turn.phenomenon,
                "context_distance": turn.distance,
                "gold": turn.gold,
                "predicted": parser.read(turn.question),
                "answer": turn.answer,
            }
        )
        parser.hear(turn.answer)
    return rows


def files() -> dict[str, str]:
    g = graph.build()
    turns = conversations(g)
    parsers = {"a": ParserA(g), "b": ParserB(g)}
    return {f"sparql_{name}.jsonl.gz": world.jsonl(records(turns, parser)) for name, parser in parsers.items()}
