"""What people leave unsaid or say otherwise when they speak, rule by rule: told, and still seen where it is wrong."""

from __future__ import annotations

import pytest

from sensecheck.faithful import Checker
from sensecheck.faithful.matching.dates import period_words
from sensecheck.faithful.schema import Schema, from_create_table
from sensecheck.language.numbers import find_numbers
from sensecheck.language.tokens import tokenize

BAKERY = """
    CREATE TABLE loaf (loaf_id INTEGER, lf_nm TEXT, flour TEXT, price REAL, weight_g INTEGER, baked_dt DATE, organic TEXT);
    CREATE TABLE baker (baker_id INTEGER, firm TEXT, town TEXT, phone TEXT, hired DATE, wage INTEGER);
    CREATE TABLE person (person_id INTEGER, first_name TEXT, last_name TEXT, town TEXT);
"""


def schema() -> Schema:
    return from_create_table(BAKERY)


CHECKER = Checker("sql", schemas=schema())
FORMS = Checker("logic2text")


def faults(query: str, sentence: str) -> list[str]:
    checker = FORMS if "{" in query else CHECKER
    return [finding.rule for finding in checker.check(query, sentence).faults()]


def test_short_forms_of_names_are_spelled_out() -> None:
    columns = schema().tables["loaf"].columns
    assert columns["lf_nm"].natural.words == ("loaf", "name")
    assert columns["baked_dt"].natural.words == ("baked", "date")


def test_labels_are_names_or_else_the_first_text() -> None:
    tables = schema().tables
    assert {name: [label.text for label in t.labels] for name, t in tables.items()} == {
        "loaf": ["loaf name"],
        "baker": ["firm"],
        "person": ["first_name", "last_name"],
    }


@pytest.mark.parametrize(
    ("query", "sentence", "expected"),
    [
        # The row is asked for, its name goes unsaid; but not one name beside another, nor anything else of the row.
        ("SELECT firm FROM baker WHERE town = 'Graz'", "Who have we got over in Graz?", []),
        ("SELECT firm FROM baker WHERE town = 'Graz'", "Suppliers from Graz.", []),
        ("SELECT phone FROM baker WHERE town = 'Graz'", "Who have we got over in Graz?", ["column_untold_select"]),
        ("SELECT first_name, last_name FROM person", "What are the last names of the persons?", ["column_untold_select"]),
        # A column by its kind, or by words that nothing else explains.
        ("SELECT avg(price) FROM loaf WHERE flour = 'rye'", "What does a rye one go for on average?", []),
        ("SELECT firm, phone FROM baker", "Who are they and where do I ring?", []),
        ("SELECT firm, wage FROM baker", "Who are they, and what do they stuff in their pockets?", []),
        # … unless they name a column in its place.
        ("SELECT firm, wage FROM baker", "Who are they, and which town do they hang out in?", ["column_swapped"]),
        # Yes and no.
        ("SELECT lf_nm FROM loaf WHERE organic = 'yes'", "Which loaves have we got that nobody sprayed?", ["value_missing", "negation_added"]),
        ("SELECT lf_nm FROM loaf WHERE organic = 'yes'", "Which loaves have we got from the hippy fields?", []),
        # Denials that turn a comparison round.
        ("SELECT lf_nm FROM loaf WHERE price <= 5", "Which loaves don't go above 5?", []),
        ("SELECT lf_nm FROM loaf WHERE price >= 5", "Which loaves don't go above 5?", ["comparison_opposite"]),
        ("SELECT lf_nm FROM loaf WHERE price < 5", "Which loaves don't go above 5?", ["comparison_inclusive"]),
        ("SELECT lf_nm FROM loaf WHERE weight_g < 500", "Which loaves don't even make 500 grams?", []),
        ("SELECT lf_nm FROM loaf WHERE weight_g > 500", "Which loaves don't even make 500 grams?", ["comparison_opposite"]),
        # Talk that denies nothing, and denials too many.
        ("SELECT firm FROM baker", "I can't remember the firms, what are they called?", []),
        ("SELECT firm FROM baker WHERE town = 'Graz'", "Firms from Graz, isn't it? I don't have all day.", []),
        ("SELECT firm FROM baker WHERE town != 'Graz'", "Which firms are not those that are not from Graz?", ["negation_surplus"]),
        ("SELECT lf_nm FROM loaf WHERE price != 0", "Which loaves don't cost a penny?", ["nothing_denied"]),
        ("SELECT lf_nm FROM loaf WHERE price = 0", "Which loaves don't cost a penny?", []),
        # Periods, limits behind their number, money by its notes.
        ("SELECT firm FROM baker WHERE hired < '2015-03-01'", "Which firms did we hire before March 2015?", []),
        ("SELECT firm FROM baker WHERE hired < '2015-03-01'", "Which firms did we hire before May 2015?", ["value_partial", "number_added"]),
        ("SELECT lf_nm FROM loaf WHERE price < 10", "Which loaves are under a tenner?", []),
        ("SELECT lf_nm FROM loaf WHERE weight_g <= 300", "Which loaves weigh 300 tops?", []),
        ("SELECT lf_nm FROM loaf WHERE weight_g >= 300", "Which loaves weigh 300 tops?", ["comparison_opposite"]),
        # Two values at once; a part of a column is not the column.
        ("SELECT firm FROM baker WHERE town = 'Graz' AND town = 'Linz'", "Firms from Graz and Linz", ["fixed_twice"]),
        ("SELECT firm FROM baker WHERE town = 'Graz' OR town = 'Linz'", "Firms from Graz and Linz", []),
        ("SELECT firm FROM baker WHERE substr(town, 1, 1) = 'G' AND substr(town, 2, 1) = 'r'", "Firms from a town with G and then r", []),
    ],
)  # fmt: skip
def test_question(query: str, sentence: str, expected: list[str]) -> None:
    assert faults(query, sentence) == expected


@pytest.mark.parametrize(
    ("form", "sentence", "expected"),
    [
        ("all_greater_eq { all_rows ; pulse ; 84 } = true", "Nobody has a pulse lower than 84.", []),
        ("all_less_eq { all_rows ; pulse ; 84 } = true", "Nobody has a pulse lower than 84.", ["comparison_opposite"]),
        ("eq { hop { argmax { all_rows ; age } ; name } ; ann } = true", "Nobody is older than Ann.", []),
        ("eq { hop { argmin { all_rows ; age } ; name } ; ann } = true", "Nobody is older than Ann.", ["extreme_opposite"]),
        ("eq { hop { argmax { all_rows ; depth } ; cave } ; pit } = true", "No other cave is as deep as the pit.", []),
        ("eq { hop { argmin { all_rows ; depth } ; cave } ; pit } = true", "No other cave is as deep as the pit.", ["extreme_opposite"]),
        ("most_eq { all_rows ; open ; yes } = true", "More often than not they are open.", []),
        ("most_eq { all_rows ; open ; yes } = true", "All of them are open.", ["most_missing"]),
        ("all_eq { all_rows ; bar ; yes } = true", "There isn't a boat without a bar.", []),
        ("eq { hop { nth_argmax { all_rows ; age ; 3 } ; name } ; ann } = true", "Only two are older than Ann, so she is the third oldest.", []),
    ],
)  # fmt: skip
def test_description(form: str, sentence: str, expected: list[str]) -> None:
    assert faults(form, sentence) == expected


@pytest.mark.parametrize(
    ("value", "text", "said"),
    [
        ("2015-03-01", "before March 2015", True),
        ("2015-03-31", "until the end of March 2015", True),
        ("2015-04-01", "after March 2015", True),
        ("2015-02-28", "before March 2015", True),
        ("2016-02-29", "in February 2016", True),
        ("2015-05-01", "before March 2015", False),
        ("2015-03-01", "on the 12th of March 2015", False),
        ("2023-12-31", "in 2023", True),
        ("2022-12-31", "from 2023 on", True),
        ("2023-06-30", "in 2023", False),
        ("2019-12-25", "on Christmas Day 2019", True),
        ("2019-12-24", "on Christmas Day 2019", True),  # before that day
        ("2019-12-31", "on Christmas Day 2019", False),
        ("no date", "in 2023", False),
        ("", "", False),
    ],
)
def test_period(value: str, text: str, said: bool) -> None:
    tokens = tokenize(text)
    years = [(int(n.value), n.first) for n in find_numbers(tokens) if n.value > 1000]
    assert (period_words(value, [token.low for token in tokens], years) is not None) is said


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("between a hundred and two hundred", [100, 200]),
        ("two hundred and five", [205]),
        ("a hundred and two thousand", [100, 2000]),
        ("in her fifties", [50]),
        ("the eighty-first and the eightieth", [81, 80]),
        ("a tenner or a fiver", [10, 5]),
    ],
)
def test_numbers(text: str, values: list[float]) -> None:
    assert [number.value for number in find_numbers(tokenize(text))] == values


@pytest.mark.parametrize(
    "talk", ["not more than 5 ", "nobody as many as so much ", "isn't it? ", "no other than than ", "not even five ", "none . ",
             "most to least ", "5 max ", "half an hour and a half ", "than not older than 3 "],
)  # fmt: skip
def test_hostile_talk(talk: str) -> None:
    """Thousands of denials and comparisons are read to the end: nothing is given up as too much."""
    query = "SELECT lf_nm FROM loaf WHERE price > 5 AND weight_g < 3 AND organic != 'none' ORDER BY price"
    form = "eq { hop { nth_argmax { filter_greater { all_rows ; age ; 5 } ; age ; 3 } ; name } ; ann } = true"
    for checker, text in ((CHECKER, query), (FORMS, form)):
        verdict = checker.check(text, talk * 1500)
        assert verdict.consistent is not None and verdict.reason is None
