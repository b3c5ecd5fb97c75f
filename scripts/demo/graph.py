"""Larkhaven as a knowledge graph: the town of world.py in N-Triples, under a namespace of our own."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from dataclasses import dataclass, field

import world

NS = "https://larkhaven.example/"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
XSD = "http://www.w3.org/2001/XMLSchema#"

STATION_FACILITIES = ["ticket machine", "lift", "toilets", "bicycle racks", "kiosk", "waiting room"]
MUSEUM_FACILITIES = ["lift", "toilets", "cafe", "shop", "cloakroom", "garden", "library"]

Literal = int | float | bool


def local(label: str) -> str:
    """'Town Hall' -> 'Town_Hall': a local name that needs no escape in SPARQL."""
    return re.sub(r"\W+", "_", label)


@dataclass
class Graph:
    """Triples by predicate, both ways. Entities are local names; every one has a label and a class."""

    forward: dict[str, dict[str, list[str | Literal]]] = field(default_factory=lambda: defaultdict(dict))
    backward: dict[str, dict[str | Literal, list[str]]] = field(default_factory=lambda: defaultdict(dict))
    labels: dict[str, str] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)

    def entity(self, class_: str, label: str, name: str | None = None) -> str:
        name = name or local(label)
        # "Glassworks" is a district and a station, "Orchard End" too: what comes second carries its class
        if name in self.classes and self.classes[name] != class_:
            name = f"{name}_{class_}"
        self.labels[name], self.classes[name] = label, class_
        return name

    def add(self, subject: str, predicate: str, value: str | Literal) -> None:
        values = self.forward[predicate].setdefault(subject, [])
        if value not in values:
            values.append(value)
            self.backward[predicate].setdefault(value, []).append(subject)

    def objects(self, subject: str, predicate: str) -> list[str | Literal]:
        return self.forward[predicate].get(subject, [])

    def subjects(self, predicate: str, value: str | Literal) -> list[str]:
        return self.backward[predicate].get(value, [])

    def members(self, class_: str) -> list[str]:
        return [name for name, c in self.classes.items() if c == class_]

    def ntriples(self) -> str:
        lines = [f'<{NS}{name}> <{LABEL}> "{label}"@en .' for name, label in self.labels.items()]
        lines += [f"<{NS}{name}> <{RDF_TYPE}> <{NS}{class_}> ." for name, class_ in self.classes.items()]
        for predicate, subjects in self.forward.items():
            for subject, values in subjects.items():
                lines += [f"<{NS}{subject}> <{NS}{predicate}> {_term(value)} ." for value in values]
        return "\n".join(sorted(lines)) + "\n"


def _term(value: str | Literal) -> str:
    if isinstance(value, bool):
        return f'"{str(value).lower()}"^^<{XSD}boolean>'
    if isinstance(value, int):
        return f'"{value}"^^<{XSD}integer>'
    if isinstance(value, float):
        return f'"{value}"^^<{XSD}decimal>'
    return f"<{NS}{value}>"


def build() -> Graph:
    tables = world.build()
    g = Graph()

    def rows(table: str) -> list[dict[str, str | int | float]]:
        names = [c.name for c in tables[table].columns]
        return [dict(zip(names, row, strict=True)) for row in tables[table].rows]

    station = {r["station_id"]: g.entity("Station", str(r["name"])) for r in rows("station")}
    district = {d: g.entity("District", d) for d in world.DISTRICTS}
    for r in rows("station"):
        s = station[r["station_id"]]
        g.add(s, "inDistrict", district[str(r["district"])])
        g.add(s, "fareZone", int(r["zone"]))
        g.add(s, "openedYear", int(r["opened_year"]))
        g.add(s, "dailyPassengers", int(r["daily_passengers"]))
        g.add(s, "platforms", int(r["platforms"]))
        g.add(s, "stepFree", r["step_free"] == "yes")

    line = {r["line_id"]: g.entity("Line", str(r["name"])) for r in rows("line")}
    for r in rows("line"):
        name = line[r["line_id"]]
        g.add(name, "mode", g.entity("Mode", str(r["mode"])))
        g.add(name, "colour", g.entity("Colour", str(r["colour"])))
        g.add(name, "operatedBy", g.entity("Operator", str(r["operator"])))
        g.add(name, "headwayMinutes", int(r["headway_minutes"]))
        g.add(name, "fleetSize", int(r["fleet_size"]))
        g.add(name, "openedYear", int(r["opened_year"]))
    previous: dict[object, str] = {}
    for r in rows("stop"):
        here = station[r["station_id"]]
        g.add(line[r["line_id"]], "callsAt", here)
        if before := previous.get(r["line_id"]):
            g.add(before, "nextTo", here)
            g.add(here, "nextTo", before)
        previous[r["line_id"]] = here

    by_label = {g.labels[s]: s for s in station.values()}
    museum = {r["museum_id"]: g.entity("Museum", str(r["name"])) for r in rows("museum")}
    for r in rows("museum"):
        m = museum[r["museum_id"]]
        g.add(m, "museumKind", g.entity("Kind", str(r["kind"])))
        g.add(m, "inDistrict", district[str(r["district"])])
        g.add(m, "nearestStation", by_label[str(r["nearest_station"])])
        g.add(m, "openedYear", int(r["opened_year"]))
        g.add(m, "adultPrice", float(r["adult_price"]))
        g.add(m, "annualVisitors", int(r["annual_visitors"]))
    for r in rows("opening_hours"):
        g.add(museum[r["museum_id"]], "opensOn", g.entity("Day", str(r["day"])))

    show = {r["exhibition_id"]: g.entity("Exhibition", str(r["title"])) for r in rows("exhibition")}
    for r in rows("exhibition"):
        x = show[r["exhibition_id"]]
        g.add(x, "heldAt", museum[r["museum_id"]])
        g.add(x, "theme", g.entity("Theme", str(r["theme"])))
        g.add(x, "startYear", int(r["start_year"]))
        g.add(x, "works", int(r["num_works"]))
    artist = {r["artist_id"]: g.entity("Artist", str(r["name"])) for r in rows("artist")}
    for r in rows("artist"):
        a = artist[r["artist_id"]]
        g.add(a, "fromCountry", g.entity("Country", str(r["country"])))
        g.add(a, "birthYear", int(r["birth_year"]))
        g.add(a, "style", g.entity("Style", str(r["style"])))
    for r in rows("display"):
        x, a = show[r["exhibition_id"]], artist[r["artist_id"]]
        g.add(x, "showsArtist", a)
        g.add(a, "exhibitedAt", str(g.objects(x, "heldAt")[0]))

    for r in rows("ticket"):
        t = g.entity("Ticket", str(r["name"]))
        g.add(t, "category", g.entity("Category", str(r["category"])))
        g.add(t, "price", float(r["price"]))
        g.add(t, "validHours", int(r["valid_hours"]))
        g.add(t, "zones", int(r["zones"]))

    rng = random.Random(world.SEED + 2)
    for place in (*station.values(), *museum.values()):
        offers = STATION_FACILITIES if g.classes[place] == "Station" else MUSEUM_FACILITIES
        for offer in sorted(rng.sample(offers, rng.randrange(0, 5))):
            g.add(place, "hasFacility", g.entity("Facility", offer))
    return g


def files() -> dict[str, str]:
    return {"kg.nt": build().ntriples()}
