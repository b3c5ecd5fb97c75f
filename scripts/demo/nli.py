"""Premise and hypothesis pairs about Larkhaven, for the demo of `robust`.

Facts come from world.py, scenes are written by hand. Each premise has an entailed, a neutral and a
contradicted hypothesis, and each pair says which reasoning it asks for (`phenomenon`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import world

PER_FAMILY = 6
LABELS = ("entailment", "neutral", "contradiction")
Triple = tuple[str, str, str, str, str]  # phenomenon, premise, entailed, neutral, contradicted

SCENES: list[tuple[str, str, str, str]] = [
    (
        "A woman with a red suitcase is waiting on the platform at Harbour Gate.",
        "Someone is waiting at Harbour Gate.",
        "The woman is going on holiday.",
        "The platform at Harbour Gate is empty.",
    ),
    (
        "Two children are drawing the stuffed heron in the House of Herons.",
        "Two children are looking at a bird.",
        "The children are brother and sister.",
        "The children are swimming in the harbour.",
    ),
    (
        "The conductor of the Hill Line is selling a ticket to an old man.",
        "A man is buying a ticket.",
        "The old man is on his way to the Observatory.",
        "The tram has no conductor.",
    ),
    (
        "A guide is showing a group of tourists around the Glass Museum.",
        "There are people in the Glass Museum.",
        "The tourists come from Japan.",
        "The Glass Museum is empty.",
    ),
    (
        "It is raining and everyone at Fishmarket is standing under the roof.",
        "The weather at Fishmarket is wet.",
        "The tram is late because of the rain.",
        "The sun is shining at Fishmarket.",
    ),
    (
        "A student is asleep on the last Night Owl bus.",
        "A person is sleeping on a bus.",
        "The student missed the right stop.",
        "The student is reading a newspaper.",
    ),
    (
        "All the lamps on Lantern Quay are lit tonight.",
        "Some lamps on Lantern Quay are lit.",
        "The lamps are new.",
        "Not a single lamp is lit on Lantern Quay.",
    ),
    (
        "The Bay Ferry left Lantern Quay without a single passenger.",
        "Nobody was travelling on the Bay Ferry.",
        "The ferry was late.",
        "The Bay Ferry was full of people.",
    ),
    (
        "Three painters are hanging a large canvas at Northbank Contemporary.",
        "At least two people are hanging a picture.",
        "The canvas is for sale.",
        "Only one painter is at work.",
    ),
    (
        "The lift at Town Hall is broken, so visitors have to take the stairs.",
        "The lift at Town Hall does not work.",
        "The lift will be repaired on Monday.",
        "Visitors can take the lift at Town Hall.",
    ),
    (
        "A boy dropped his ice cream on the steps of the Customs Museum.",
        "A boy had an ice cream.",
        "The boy is crying.",
        "The boy ate all of his ice cream.",
    ),
    (
        "Most of the seats on the Museum Mile tram are taken.",
        "Some seats on the tram are taken.",
        "The passengers are tourists.",
        "Every seat on the tram is free.",
    ),
    (
        "The puppeteer bows while the audience claps.",
        "People are clapping.",
        "The show was about a dragon.",
        "The audience is silent.",
    ),
    (
        "A cyclist is carrying her bicycle up Chapel Steps.",
        "A woman is going up some steps.",
        "The bicycle has a flat tyre.",
        "The cyclist is riding down the hill.",
    ),
]


def _museums(rng: random.Random, tables: dict[str, world.Table]) -> Iterator[Triple]:
    for _, name, _kind, district, near, *_ in rng.sample(tables["museum"].rows, PER_FAMILY):
        elsewhere = rng.choice([d for d in world.DISTRICTS if d != district])
        yield (
            "location",
            f"The {name} stands in {district}, next to {near} station.",
            f"The {name} is in {district}.",
            f"The {name} has a cafe.",
            f"The {name} is in {elsewhere}.",
        )
    for row in rng.sample(tables["museum"].rows, PER_FAMILY):
        name, year = row[1], int(row[5])
        later = rng.randrange(year + 5, min(year + 40, 2026))
        yield (
            "time",
            f"The {name} was founded in {year}.",
            f"The {name} already existed in {later}.",
            f"The {name} was founded by a sea captain.",
            f"The {name} was founded in {later}.",
        )


def _hours(rng: random.Random, tables: dict[str, world.Table]) -> Iterator[Triple]:
    open_on: dict[object, set[str]] = {}
    for museum_id, day, *_ in tables["opening_hours"].rows:
        open_on.setdefault(museum_id, set()).add(str(day))
    for row in rng.sample(tables["museum"].rows, PER_FAMILY):
        closed = next(d for d in world.DAYS if d not in open_on[row[0]])
        yield (
            "negation",
            f"The {row[1]} is closed on {closed}s.",
            f"Nobody can visit the {row[1]} on a {closed}.",
            f"The {row[1]} is crowded on Saturdays.",
            f"The {row[1]} is open every day of the week.",
        )


def _lines(rng: random.Random, tables: dict[str, world.Table]) -> Iterator[Triple]:
    modes = {"tram": "bus", "bus": "tram", "ferry": "bus"}
    for row in rng.sample(tables["line"].rows, PER_FAMILY):
        name, mode, colour, operator = row[1:5]
        station = rng.choice(world.ROUTES[str(name)])
        yield (
            "hypernym",
            f"A {colour} {mode} of the {name} has just stopped at {station}.",
            f"A vehicle has stopped at {station}.",
            f"The {mode} is full.",
            f"No {mode} has stopped at {station}.",
        )
        yield (
            "antonym",
            f"Every {name} service is a {mode} run by {operator}.",
            f"{operator} runs the {name}.",
            f"{operator} has many employees.",
            f"The {name} is a {modes[str(mode)]} service.",
        )
    for row in rng.sample(tables["line"].rows, PER_FAMILY):
        wait = int(row[5])
        yield (
            "number",
            f"On the {row[1]} there is a departure every {wait} minutes.",
            f"Nobody has to wait half a day for the {row[1]}.",
            f"The {row[1]} runs on Sundays.",
            f"The {row[1]} leaves only every {wait * 2} minutes.",
        )


def _stations(rng: random.Random, tables: dict[str, world.Table]) -> Iterator[Triple]:
    for row in rng.sample(tables["station"].rows, PER_FAMILY):
        name, people = row[1], int(row[5])
        half = people // 200 * 100
        yield (
            "number",
            f"About {people} people use {name} station every day.",
            f"More than {half} people use {name} station every day.",
            f"{name} station has a kiosk.",
            f"Fewer than {half} people use {name} station every day.",
        )
    for _ in range(PER_FAMILY):
        one, two = rng.sample(tables["station"].rows, 2)
        busy, quiet = (one, two) if int(one[5]) >= int(two[5]) else (two, one)
        yield (
            "comparison",
            f"{busy[1]} is a busier station than {quiet[1]}.",
            f"{quiet[1]} is a quieter station than {busy[1]}.",
            f"{busy[1]} is an older station than {quiet[1]}.",
            f"{quiet[1]} is a busier station than {busy[1]}.",
        )


def _tickets(rng: random.Random, tables: dict[str, world.Table]) -> Iterator[Triple]:
    for row in rng.sample(tables["ticket"].rows, PER_FAMILY):
        name, price, hours = row[1], world.literal(float(row[3])), int(row[4])
        valid = f"{hours} hours" if hours > 1 else "one hour"
        yield (
            "number",
            f"A {name} ticket costs {price} crowns and is valid for {valid}.",
            f"A {name} ticket costs less than {int(float(row[3])) + 5} crowns.",
            f"Many visitors buy a {name} ticket.",
            f"A {name} ticket is free of charge.",
        )


def _art(rng: random.Random, tables: dict[str, world.Table]) -> Iterator[Triple]:
    artists = {row[0]: row for row in tables["artist"].rows}
    museums = {row[0]: row for row in tables["museum"].rows}
    shown: dict[str | int | float, list[str | int | float]] = {}
    for show, artist, _ in tables["display"].rows:
        shown.setdefault(show, []).append(artist)
    with_two = [row for row in tables["exhibition"].rows if len(shown[row[0]]) >= 2]
    for row in rng.sample(with_two, PER_FAMILY):
        one, two = (artists[a][1] for a in shown[row[0]][:2])
        house = museums[row[2]][1]
        yield (
            "conjunction",
            f"The exhibition {row[1]} at the {house} shows works by {one} and {two}.",
            f"Works by {two} can be seen at the {house}.",
            f"{one} and {two} are old friends.",
            f"The exhibition {row[1]} shows no works by {one}.",
        )
    for row in rng.sample(tables["artist"].rows, PER_FAMILY):
        name, country, year, style = row[1:5]
        other = rng.choice([c for c in world.ARTIST_COUNTRIES if c != country])
        yield (
            "location",
            f"{name}, an artist known for {style}, was born in {country} in {year}.",
            f"{name} comes from {country}.",
            f"{name} has two children.",
            f"{name} was born in {other}.",
        )


def _polish(sentence: str) -> str:
    return re.sub(r"\b1 crowns\b", "1 crown", re.sub(r"\b([Aa]) (?=[aeio])", r"\1n ", sentence))


def triples() -> list[Triple]:
    rng = random.Random(world.SEED + 6)
    tables = world.build()
    every: list[Triple] = [("scene", *scene) for scene in SCENES]
    for family in (_museums, _hours, _lines, _stations, _tickets, _art):
        every += family(rng, tables)
    return every


def files() -> dict[str, str]:
    rows = []
    for number, (phenomenon, premise, *hypotheses) in enumerate(triples(), 1):
        for label, hypothesis in zip(LABELS, hypotheses, strict=True):
            rows.append(
                {
                    "id": f"n{number:03d}{label[0]}",
                    "premise": _polish(premise),
                    "hypothesis": _polish(hypothesis),
                    "label": label,
                    "phenomenon": phenomenon,
                }
            )
    return {"nli.jsonl": world.jsonl(rows)}
