"""Sentences for Larkhaven's queries, by two verbalisers: the demo of `faithful`.

Both turn SQL into a sentence by rules that read the query, the same 152 queries for both. They are wrong
only where their rules are wrong, so each sentence's verdict is known by construction (`faithful`, and
`fault` with the reason):

- A loses what is inconvenient: a second condition, a "not", the direction of a superlative, the upper end
  of a range, the number of a top list; and it calls every average a total;
- B says it all, except that "more than n" becomes "at least n" when it counts groups, and that the best one
  among some becomes the best one of all.
"""

from __future__ import annotations

import re

import questions
import world

PER_KIND = 8

PLURAL = {
    "station": "stations",
    "line": "lines",
    "ticket": "tickets",
    "museum": "museums",
    "exhibition": "exhibitions",
    "artist": "artists",
}
REACHED = {  # how the first table of a join hangs on the last
    ("exhibition", "museum"): "held at a museum",
    ("station", "line"): "on a line",
    ("line", "station"): "that stop at a station",
    ("artist", "exhibition"): "shown in an exhibition",
    ("exhibition", "artist"): "with works by an artist",
}
FUNCTIONS = {"avg": "average", "max": "maximum", "min": "minimum", "sum": "total"}
NUMBERS = {"1": "one", "2": "two", "3": "three", "4": "four", "5": "five"}


class Verbaliser:
    """Reads the query shapes of questions.Grammar. `fault` is set by the rule that went wrong, if one did."""

    openers: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.words = {(t.name, c.name): c.words for t in world.build().values() for c in t.columns}
        self.fault: str | None = None

    def sentence(self, sql: str, number: int) -> str:
        self.fault = None
        body = self.read(sql)
        opener = self.openers[number % len(self.openers)]
        return f"{opener} {body}{'?' if opener.startswith('What') else '.'}"

    # -- pieces

    def column(self, table: str, name: str) -> str:
        words = self.words[table, name]
        return f"number of {words}" if words.endswith("s") and not words.startswith("number") else words

    def condition(self, table: str, text: str) -> str:
        """`daily_passengers > 5000` -> `whose number of daily passengers is more than 5000`"""
        if match := re.fullmatch(r"(\w+) BETWEEN (\S+) AND (\S+)", text):
            return f"whose {self.column(table, match[1])} is {self.between(match[2], match[3])}"
        match = re.fullmatch(r"(\w+) (!=|=|>|<) (.+)", text)
        assert match, text
        name, sign, value = self.column(table, match[1]), match[2], match[3].strip("'")
        if match[1] in ("name", "title"):
            return f"named {value}"
        if sign == "!=":
            return f"whose {name} {self.negated('is not', 'is')} {value}"
        year = "year" in match[1]
        said = {
            "=": "is",
            ">": "is later than" if year else "is more than",
            "<": "is earlier than" if year else "is less than",
        }
        return f"whose {name} {said[sign]} {value}"

    def conditions(self, table: str, text: str) -> str:
        if match := re.fullmatch(r"(\w+ = (?:'[^']*'|\d+)) (AND|OR) (.+)", text):
            return self.both(self.condition(table, match[1]), match[2], self.condition(table, match[3]))
        return self.condition(table, text)

    def named(self, table: str, column: str) -> str:
        if column in ("name", "title"):
            return f"the {column}s of the {PLURAL[table]}"
        return f"the {self.column(table, column)} of the {PLURAL[table]}"

    # -- whole queries

    def read(self, sql: str) -> str:
        for word in ("INTERSECT", "EXCEPT"):
            if f" {word} " in sql:
                first, second = (self._half(part) for part in sql.split(f" {word} "))
                return f"{first[0]} {first[1]} {self.joined(word)} {second[1]}"
        if " NOT IN " in sql:
            return self._absence(sql)
        if " JOIN " in sql:
            return self._join(sql)
        if "(SELECT avg" in sql:
            match = re.fullmatch(r"SELECT (\w+) FROM (\w+) WHERE (\w+) ([<>]) \(SELECT .*\)", sql)
            assert match
            side = "above" if match[4] == ">" else "below"
            key = self.column(match[2], match[3])
            return f"{self.named(match[2], match[1])} whose {key} is {side} the average"
        if " GROUP BY " in sql:
            return self._group(sql)
        return self._plain(sql)

    def _half(self, sql: str) -> tuple[str, str]:
        match = re.fullmatch(r"SELECT (\w+) FROM (\w+) WHERE (.+)", sql)
        assert match
        return (
            f"the {self.column(match[2], match[1])} shared by {PLURAL[match[2]]}",
            self.condition(match[2], match[3]),
        )

    def _plain(self, sql: str) -> str:
        match = re.fullmatch(r"SELECT (.+?) FROM (\w+)(?: WHERE (.+?))?(?: ORDER BY (\w+) (\w+) LIMIT (\d+))?", sql)
        assert match, sql
        what, table, where, key, direction, limit = match.groups()
        things = PLURAL[table]
        tail = f" {self.conditions(table, where)}" if where else ""
        if what == "count(*)":
            return f"the number of {things}{tail}"
        if distinct := re.fullmatch(r"count\(DISTINCT (\w+)\)", what):
            return f"the number of different values of {self.column(table, distinct[1])} among the {things}"
        if call := re.fullmatch(r"(\w+)\((\w+)\)", what):
            return f"the {self.function(call[1])} {self.column(table, call[2])} of the {things}{tail}"
        if key:
            best = f"the {self.extreme(direction)} {self.column(table, key)}"
            if limit == "1":
                return f"the {what} of the {table}{self.among(tail)} that has {best}"
            return f"the {what}s of the{self.how_many(limit)} {things}{tail} with {best}"
        if tail.startswith(" named"):
            return f"the {self.column(table, what)} of the {table}{tail}"
        return f"{self.named(table, what)}{tail}"

    def _group(self, sql: str) -> str:
        match = re.fullmatch(
            r"SELECT (\w+)(?:, (count|avg)\((\*|\w+)\))? FROM (\w+) GROUP BY \w+"
            r"(?: HAVING count\(\*\) > (\d+))?(?: ORDER BY count\(\*\) (\w+) LIMIT 1)?",
            sql,
        )
        assert match, sql
        column, call, of, table, more, direction = match.groups()
        each, things = self.column(table, column), PLURAL[table]
        if more:
            return f"each {each} that has {self.more_than(NUMBERS[more])} {table if more == '1' else things}"
        if direction:
            return f"the {each} with {'the most' if direction == 'DESC' else 'the fewest'} {things}"
        if call == "count":
            return f"the number of {things} for each {each}"
        return f"the {self.function('avg')} {self.column(table, of)} of the {things} for each {each}"

    def _join(self, sql: str) -> str:
        match = re.fullmatch(r"SELECT (.+?) FROM (\w+) AS T1 (.+) WHERE T\d\.(\w+) = '(.*)'", sql)
        assert match, sql
        what, first, path, column, value = match.groups()
        last = re.findall(r"JOIN (\w+) AS", path)[-1]
        if last == "opening_hours":
            reach = f"that have opening hours on {value}"
        else:
            reach = f"{REACHED[first, last]} {self.condition(last, f'{column} = {value}')}"
        if what == "count(*)":
            return f"the number of {PLURAL[first]} {reach}"
        return f"{self.named(first, what.removeprefix('T1.'))} {reach}"

    def _absence(self, sql: str) -> str:
        match = re.fullmatch(r"SELECT (\w+) FROM (\w+) WHERE \w+ NOT IN \(SELECT (.+)\)", sql)
        assert match, sql
        what, table, inner = match.groups()
        value = re.search(r"= '(.*)'", inner)
        if "FROM exhibition" in inner:
            lack = "an exhibition" + (f" whose theme is {value[1]}" if value else "")
        elif "FROM opening_hours" in inner:
            assert value
            lack = f"opening hours on {value[1]}"
        elif "FROM display" in inner:
            lack = "a display in any exhibition"
        else:
            assert value
            lack = f"a stop of the line {value[1]}"
        return f"{self.named(table, what)} that {self.negated('do not have', 'have')} {lack}"

    # -- what a verbaliser may get wrong; here it is right

    def negated(self, right: str, wrong: str) -> str:
        return right

    def both(self, first: str, word: str, second: str) -> str:
        return f"{first} {word.lower()} {second}"

    def between(self, low: str, high: str) -> str:
        return f"between {low} and {high}"

    def joined(self, word: str) -> str:
        return "as well as by some" if word == "INTERSECT" else "but not by any"

    def function(self, name: str) -> str:
        return FUNCTIONS[name]

    def extreme(self, direction: str) -> str:
        return "highest" if direction == "DESC" else "lowest"

    def how_many(self, limit: str) -> str:
        return f" {NUMBERS[limit]}"

    def among(self, tail: str) -> str:
        return tail

    def more_than(self, number: str) -> str:
        return f"more than {number}"


class VerbaliserA(Verbaliser):
    openers = ("Find", "Show", "Give me")

    def negated(self, right: str, wrong: str) -> str:
        self.fault = "the negation is gone"
        return wrong

    def both(self, first: str, word: str, second: str) -> str:
        if word == "AND":
            self.fault = "the second condition is gone"
            return first
        self.fault = "or became and"
        return f"{first} and {second}"

    def between(self, low: str, high: str) -> str:
        self.fault = "the upper end of the range is gone"
        return f"at least {low}"

    def joined(self, word: str) -> str:
        if word == "EXCEPT":
            self.fault = "except became and"
        return "as well as by some"

    def function(self, name: str) -> str:
        if name == "avg":
            self.fault = "the average became a total"
        return FUNCTIONS["sum" if name == "avg" else name]

    def extreme(self, direction: str) -> str:
        if direction == "ASC":
            self.fault = "the lowest became the highest"
        return "highest"

    def how_many(self, limit: str) -> str:
        self.fault = self.fault or "the number of the top list is gone"
        return ""


class VerbaliserB(Verbaliser):
    openers = ("List", "Return", "Please tell me")

    def more_than(self, number: str) -> str:
        self.fault = "more than became at least"
        return f"at least {number}"

    def among(self, tail: str) -> str:
        if tail:
            self.fault = "the condition is gone"
        return ""


def queries() -> list[questions.Pair]:
    """Eight different queries of every kind, from another draw of the grammar than the parsers' questions."""
    taken: dict[str, list[questions.Pair]] = {kind: [] for kind in questions.KINDS}
    for pair in questions.stream(world.SEED + 5):
        mine = taken[pair.question_type]
        if len(mine) < PER_KIND and pair.sql not in {p.sql for p in mine}:
            mine.append(pair)
        if all(len(pairs) == PER_KIND for pairs in taken.values()):
            break
    return [pair for kind in questions.KINDS for pair in taken[kind]]


def files() -> dict[str, str]:
    pairs = queries()
    out = {}
    for system, verbaliser in (("a", VerbaliserA()), ("b", VerbaliserB())):
        rows = []
        for number, pair in enumerate(pairs, 1):
            sentence = verbaliser.sentence(pair.sql, number)
            rows.append(
                {
                    "id": f"s{number:03d}",
                    "system": system.upper(),
                    "db_id": pair.db,
                    "query": pair.sql,
                    "sentence": sentence,
                    "question_type": pair.question_type,
                    "faithful": verbaliser.fault is None,
                    "fault": verbaliser.fault,
                }
            )
        out[f"sentences_{system}.jsonl"] = world.jsonl(rows)
    return out
