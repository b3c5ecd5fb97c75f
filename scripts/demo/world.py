"""Larkhaven: a small harbour town with trams, buses, a ferry and more museums than it needs.

Everything the demo shows is about this one made-up town. This module invents it, from one seed and so
byte for byte the same in every run, as two SQLite databases: `larkhaven_transit` and `larkhaven_museums`.
What is asked about the town is in questions.py.
"""

from __future__ import annotations

import gzip
import io
import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

SEED = 1907  # the year the first tram ran in Larkhaven
OUT = Path(__file__).resolve().parents[2] / "src" / "sensecheck" / "demo"

TRANSIT, MUSEUMS = "larkhaven_transit", "larkhaven_museums"
Row = tuple[str | int | float, ...]

# -------------------------------------------------------------------------------------------- the town

DISTRICTS = ["Old Port", "Lark Hill", "Saltmarsh", "Weavers Row", "Northbank", "Glassworks", "Orchard End"]

STATION_NAMES = [
    "Harbour Gate", "Fishmarket", "Customs House", "Lantern Quay", "Ropewalk", "Town Hall",
    "Lark Hill Top", "Observatory", "Chapel Steps", "Cooper Street", "Weavers Bridge", "Mill Lane",
    "Dyers Yard", "Saltmarsh Pier", "Heron Reach", "Tidewater", "Northbank Central", "Botanic Garden",
    "University", "Furnace Road", "Glassworks", "Kiln Corner", "Orchard End", "Cider Press",
    "Beekeepers Green",
    "Lighthouse Point", "Ferry Landing", "Quarry Bank",
]  # fmt: skip
STATION_DISTRICTS = [
    "Old Port", "Old Port", "Old Port", "Old Port", "Old Port", "Weavers Row",
    "Lark Hill", "Lark Hill", "Lark Hill", "Weavers Row", "Weavers Row", "Weavers Row",
    "Weavers Row", "Saltmarsh", "Saltmarsh", "Saltmarsh", "Northbank", "Northbank",
    "Northbank", "Glassworks", "Glassworks", "Glassworks", "Orchard End", "Orchard End", "Orchard End",
    "Saltmarsh", "Northbank", "Lark Hill",
]  # fmt: skip

LINES: list[Row] = [
    # line_id, name, mode, colour, operator, headway_minutes, fleet_size, opened_year
    (1, "Harbour Loop", "tram", "red", "Larkhaven Tramways", 6, 14, 1907),
    (2, "Hill Line", "tram", "green", "Larkhaven Tramways", 8, 10, 1912),
    (3, "Crosstown", "tram", "blue", "Larkhaven Tramways", 10, 12, 1954),
    (4, "Marsh Runner", "bus", "yellow", "Saltmarsh Omnibus", 15, 6, 1962),
    (5, "Orchard Link", "bus", "orange", "Saltmarsh Omnibus", 20, 5, 1971),
    (6, "University Shuttle", "bus", "purple", "Northbank Transit", 12, 7, 1988),
    (7, "Night Owl", "bus", "black", "Northbank Transit", 30, 4, 1996),
    (8, "Bay Ferry", "ferry", "white", "Heron Ferries", 40, 2, 1931),
    (9, "Museum Mile", "tram", "gold", "Larkhaven Tramways", 12, 5, 2004),
]

ROUTES: dict[str, list[str]] = {
    "Harbour Loop": ["Harbour Gate", "Fishmarket", "Customs House", "Lantern Quay", "Ropewalk", "Town Hall"],
    "Hill Line": ["Town Hall", "Chapel Steps", "Quarry Bank", "Observatory", "Lark Hill Top"],
    "Crosstown": [
        "Saltmarsh Pier", "Harbour Gate", "Town Hall", "Cooper Street", "Weavers Bridge", "Furnace Road",
        "Northbank Central",
    ],
    "Marsh Runner": ["Fishmarket", "Saltmarsh Pier", "Tidewater", "Heron Reach", "Lighthouse Point"],
    "Orchard Link": ["Weavers Bridge", "Mill Lane", "Cider Press", "Beekeepers Green", "Orchard End"],
    "University Shuttle": ["Northbank Central", "University", "Botanic Garden", "Kiln Corner", "Glassworks"],
    "Night Owl": ["Town Hall", "Dyers Yard", "Mill Lane", "Furnace Road", "University", "Northbank Central"],
    "Bay Ferry": ["Lantern Quay", "Ferry Landing", "Lighthouse Point"],
    "Museum Mile": [
        "Harbour Gate", "Ropewalk", "Weavers Bridge", "Dyers Yard", "Glassworks", "Botanic Garden",
    ],
}  # fmt: skip

TICKETS: list[Row] = [
    # ticket_id, name, category, price, valid_hours, zones
    (1, "Single", "adult", 2.5, 1, 1),
    (2, "Long Single", "adult", 3.5, 2, 3),
    (3, "Child Single", "child", 1.0, 1, 1),
    (4, "Child Long Single", "child", 1.5, 2, 3),
    (5, "Day Pass", "adult", 7.0, 24, 3),
    (6, "Child Day Pass", "child", 3.0, 24, 3),
    (7, "Weekend Pass", "adult", 11.0, 48, 3),
    (8, "Family Day", "family", 15.0, 24, 3),
    (9, "Student Week", "student", 14.0, 168, 2),
    (10, "Student Month", "student", 42.0, 720, 3),
    (11, "Week Pass", "adult", 24.0, 168, 3),
    (12, "Month Pass", "adult", 78.0, 720, 3),
    (13, "Senior Day", "senior", 4.0, 24, 3),
    (14, "Senior Month", "senior", 36.0, 720, 3),
    (15, "Ferry Return", "adult", 6.0, 24, 1),
    (16, "Museum Mile Pass", "visitor", 19.0, 72, 2),
    (17, "Bay Explorer", "visitor", 27.0, 72, 3),
]

MUSEUM_PLACES: list[tuple[str, str, str]] = [
    # name, kind, nearest station (the district follows from it)
    ("Museum of Tides", "maritime", "Lantern Quay"),
    ("Larkhaven Gallery", "art", "Town Hall"),
    ("Tram Depot Museum", "transport", "Ropewalk"),
    ("House of Herons", "natural history", "Heron Reach"),
    ("Glass Museum", "craft", "Glassworks"),
    ("Weavers Museum", "craft", "Weavers Bridge"),
    ("Lighthouse Museum", "maritime", "Lighthouse Point"),
    ("Observatory Museum", "science", "Observatory"),
    ("Cider Museum", "local history", "Cider Press"),
    ("Museum of Modern Print", "art", "Dyers Yard"),
    ("University Museum", "science", "University"),
    ("Customs Museum", "local history", "Customs House"),
    ("Botanic Collection", "natural history", "Botanic Garden"),
    ("Northbank Contemporary", "art", "Northbank Central"),
    ("Salt Museum", "local history", "Saltmarsh Pier"),
    ("Puppet Theatre Museum", "craft", "Chapel Steps"),
]

ARTIST_COUNTRIES = {
    "Norway": [("Ingrid", "Solberg"), ("Tor", "Haugland"), ("Astrid", "Vinje"), ("Leif", "Brekke")],
    "Portugal": [("Marta", "Queiroz"), ("Rui", "Valadares"), ("Ines", "Fonte"), ("Duarte", "Leal")],
    "Japan": [("Haruki", "Onoda"), ("Mio", "Tachibana"), ("Kenji", "Arakida"), ("Sora", "Minase")],
    "Ghana": [("Kofi", "Asamoah"), ("Abena", "Darko"), ("Yaw", "Ofosu")],
    "Ireland": [("Niamh", "Corrigan"), ("Declan", "Rafferty"), ("Orla", "Keane"), ("Fergal", "Moran")],
    "Chile": [("Paloma", "Riquelme"), ("Andres", "Lillo"), ("Catalina", "Vidal")],
    "Poland": [("Zofia", "Wilczek"), ("Marek", "Lisowski"), ("Halina", "Dudek")],
    "India": [("Meera", "Kulkarni"), ("Arjun", "Bhatia"), ("Lata", "Sengupta")],
    "Canada": [("Claire", "Boudreau"), ("Owen", "Whitlock"), ("Simone", "Tremblay")],
    "Greece": [("Eleni", "Markou"), ("Nikos", "Stavridis"), ("Daphne", "Kallas")],
}
STYLES = ["realism", "abstraction", "printmaking", "sculpture", "photography", "textile art", "glass art"]

THEMES = ["ships", "light", "gardens", "machines", "birds", "weather", "colour", "journeys", "memory"]
EXHIBITION_TITLES = [
    "Salt and Silence", "The Red Tram", "Forty Lanterns", "Nets and Knots", "Wings over Saltmarsh",
    "Signals at Sea", "Blue Hours", "The Weaver Sings", "Molten", "A Century of Rails", "Paper Harbours",
    "The Patient Garden", "Storm Glass", "Orchards in Winter", "Small Gods of the Shore", "Clockwork Summer",
    "Letters from the Ferry", "Night Buses", "The Shape of Rain", "Threads of Gold", "Cranes", "Low Tide",
    "The Astronomer at Home", "Seeds", "Cider and Song", "Customs and Contraband", "The Long Platform",
    "Feather and Stone", "Maps of Nowhere", "Green Rooms", "Kiln Stories", "After the Flood", "Invisible Ink",
    "Strings Attached", "Brass and Steam", "The Quiet Machine", "Herring Days", "Furnace Light",
    "Portraits in Transit", "Northern Lamps",
]  # fmt: skip

DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


@dataclass(frozen=True)
class Column:
    name: str
    type: str  # Spider's words: "text" or "number"
    words: str  # how a person says it


@dataclass(frozen=True)
class Table:
    db: str
    name: str
    words: str
    columns: tuple[Column, ...]
    rows: list[Row] = field(hash=False)
    foreign: tuple[tuple[str, str, str], ...] = ()  # (column, other table, other column)

    def values(self, column: str) -> list[str | int | float]:
        at = [c.name for c in self.columns].index(column)
        return [row[at] for row in self.rows]


def _columns(spec: str) -> tuple[Column, ...]:
    """'opened_year:number:opening year; ...' -> Columns; without the third part, the name's own words."""
    columns = []
    for part in spec.split(";"):
        name, type_, *words = (piece.strip() for piece in part.split(":"))
        columns.append(Column(name, type_, words[0] if words else name.replace("_", " ")))
    return tuple(columns)


def build() -> dict[str, Table]:
    """Every table of the town, by name. Table names are unique over the two databases."""
    rng = random.Random(SEED)

    stations: list[Row] = []
    opened = {name: 1905 + rng.randrange(0, 110) for name in STATION_NAMES}
    for line in sorted(LINES, key=lambda row: -int(row[7])):  # a station is no younger than its oldest line
        for stop in ROUTES[str(line[1])]:
            opened[stop] = min(opened[stop], int(line[7])) if rng.random() < 0.75 else int(line[7])
    for i, (name, district) in enumerate(zip(STATION_NAMES, STATION_DISTRICTS, strict=True), 1):
        central = district in ("Old Port", "Weavers Row", "Northbank")
        zone = 1 if district in ("Old Port", "Weavers Row") else 2 if district in ("Lark Hill", "Northbank") else 3
        passengers = rng.randrange(60, 240) * (100 if central else 30)
        platforms = rng.choice([1, 2, 2, 2, 3, 4]) if central else rng.choice([1, 1, 2])
        step_free = "yes" if rng.random() < 0.6 else "no"
        stations.append((i, name, district, zone, opened[name], passengers, platforms, step_free))
    station_id = {str(row[1]): row[0] for row in stations}
    district_of = {str(row[1]): row[2] for row in stations}

    stops: list[Row] = []
    for line in LINES:
        minutes = 0
        for position, stop in enumerate(ROUTES[str(line[1])], 1):
            stops.append((line[0], station_id[stop], position, minutes))
            minutes += rng.randrange(2, 7) if line[2] != "ferry" else rng.randrange(12, 21)

    museums: list[Row] = []
    for i, (name, kind, near) in enumerate(MUSEUM_PLACES, 1):
        year = rng.randrange(1870, 2016)
        price = rng.choice([0.0, 4.0, 5.0, 6.0, 7.5, 8.0, 9.0, 10.0, 12.0])
        visitors = rng.randrange(6, 190) * 1000
        museums.append((i, name, kind, district_of[near], near, year, price, visitors))

    artists: list[Row] = []
    for country, names in ARTIST_COUNTRIES.items():
        for first, last in names:
            style = rng.choice(STYLES)
            artists.append((len(artists) + 1, f"{first} {last}", country, rng.randrange(1888, 1996), style))

    exhibitions: list[Row] = []
    for i, title in enumerate(EXHIBITION_TITLES, 1):
        # The salt museum has no show at all: "museums without exhibitions" must have an answer.
        museum = rng.choice([m for m in museums if m[1] != "Salt Museum"])
        works, year = rng.randrange(12, 160), rng.randrange(2015, 2027)
        exhibitions.append((i, title, museum[0], rng.choice(THEMES), year, works))

    displays: list[Row] = []
    for show in exhibitions:
        for artist in sorted(rng.sample(artists[:-2], rng.randrange(1, 5)), key=lambda a: int(a[0])):
            displays.append((show[0], artist[0], rng.randrange(1, 25)))

    hours: list[Row] = []
    for museum in museums:
        closed = {"Monday"} if rng.random() < 0.7 else {rng.choice(DAYS[:3]), "Monday"}
        opens = rng.choice([9, 10, 10, 11])
        for day in DAYS:
            if day not in closed:
                late = 21 if day == "Thursday" and museum[2] == "art" else rng.choice([17, 18])
                hours.append((museum[0], day, opens, late))

    tables = [
        Table(
            TRANSIT, "station", "station",
            _columns(
                "station_id:number; name:text; district:text; zone:number:fare zone;"
                "opened_year:number:opening year;"
                "daily_passengers:number; platforms:number; step_free:text"
            ),
            stations,
        ),
        Table(
            TRANSIT, "line", "line",
            _columns(
                "line_id:number; name:text; mode:text; colour:text; operator:text;"
                "headway_minutes:number:headway;"
                "fleet_size:number; opened_year:number:opening year"
            ),
            LINES,
        ),
        Table(
            TRANSIT, "stop", "stop",
            _columns("line_id:number; station_id:number; position:number; minutes:number:minutes from start"),
            stops,
            (("line_id", "line", "line_id"), ("station_id", "station", "station_id")),
        ),
        Table(
            TRANSIT, "ticket", "ticket",
            _columns(
                "ticket_id:number; name:text; category:text; price:number; valid_hours:number;"
                "zones:number"
            ),
            TICKETS,
        ),
        Table(
            MUSEUMS, "museum", "museum",
            _columns(
                "museum_id:number; name:text; kind:text; district:text; nearest_station:text;"
                "opened_year:number:opening year; adult_price:number; annual_visitors:number"
            ),
            museums,
        ),
        Table(
            MUSEUMS, "exhibition", "exhibition",
            _columns(
                "exhibition_id:number; title:text; museum_id:number; theme:text; start_year:number;"
                "num_works:number:number of works"
            ),
            exhibitions,
            (("museum_id", "museum", "museum_id"),),
        ),
        Table(
            MUSEUMS, "artist", "artist",
            _columns("artist_id:number; name:text; country:text; birth_year:number; style:text"),
            artists,
        ),
        Table(
            MUSEUMS, "display", "display",
            _columns("exhibition_id:number; artist_id:number; works_shown:number"),
            displays,
            (("exhibition_id", "exhibition", "exhibition_id"), ("artist_id", "artist", "artist_id")),
        ),
        Table(
            MUSEUMS, "opening_hours", "opening hours",
            _columns("museum_id:number; day:text; opens:number:opening hour; closes:number:closing hour"),
            hours,
            (("museum_id", "museum", "museum_id"),),
        ),
    ]  # fmt: skip
    return {table.name: table for table in tables}


# ------------------------------------------------------------------------------------------- the files


def literal(value: str | int | float) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(int(value)) if float(value).is_integer() else str(value)


def sql_dump(db: str, tables: dict[str, Table]) -> str:
    """The database as SQL text, written here so that no version of sqlite3 can change a byte."""
    lines = [f"-- {db}: a made-up town, generated by scripts/demo/world.py", "BEGIN TRANSACTION;"]
    for table in tables.values():
        if table.db != db:
            continue
        parts = [f"{c.name} {'TEXT' if c.type == 'text' else 'NUMERIC'} NOT NULL" for c in table.columns]
        if table.columns[0].name == f"{table.name}_id":
            parts[0] = f"{table.columns[0].name} INTEGER PRIMARY KEY"
        parts += [f"FOREIGN KEY ({a}) REFERENCES {other}({b})" for a, other, b in table.foreign]
        lines.append(f"CREATE TABLE {table.name} ({', '.join(parts)});")
        for row in table.rows:
            lines.append(f"INSERT INTO {table.name} VALUES ({', '.join(literal(v) for v in row)});")
    lines.append("COMMIT;")
    return "\n".join(lines) + "\n"


def tables_json(tables: dict[str, Table]) -> str:
    """Both schemas the way Spider's tables.json writes them."""
    schemas = []
    for db in (TRANSIT, MUSEUMS):
        mine = [t for t in tables.values() if t.db == db]
        flat = [(i, c) for i, t in enumerate(mine) for c in t.columns]
        at = {(mine[i].name, c.name): n for n, (i, c) in enumerate(flat, 1)}
        schemas.append(
            {
                "db_id": db,
                "table_names": [t.words for t in mine],
                "table_names_original": [t.name for t in mine],
                "column_names": [[-1, "*"]] + [[i, c.words] for i, c in flat],
                "column_names_original": [[-1, "*"]] + [[i, c.name] for i, c in flat],
                "column_types": ["text"] + [c.type for _, c in flat],
                "primary_keys": [at[t.name, f"{t.name}_id"] for t in mine if (t.name, f"{t.name}_id") in at],
                "foreign_keys": [[at[t.name, a], at[other, b]] for t in mine for a, other, b in t.foreign],
            }
        )
    return json.dumps(schemas, indent=1) + "\n"


def save(out: Path, name: str, text: str) -> None:
    """Writes one file of the demo; a name that ends in .gz is packed, with no date inside."""
    raw = text.encode()
    if name.endswith(".gz"):
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9, mtime=0) as stream:
            stream.write(raw)
        raw = packed.getvalue()
    out.mkdir(parents=True, exist_ok=True)
    (out / name).write_bytes(raw)
    print(f"{name}: {len(text.splitlines())} lines, {len(raw)} bytes")


def jsonl(rows: Iterable[Mapping[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)


def files() -> dict[str, str]:
    tables = build()
    return {
        f"{TRANSIT}.sql": sql_dump(TRANSIT, tables),
        f"{MUSEUMS}.sql": sql_dump(MUSEUMS, tables),
        "tables.json": tables_json(tables),
    }
