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
    CREATE TABLE invoice (invoice_id INTEGER, buyer TEXT, amount REAL, paid TEXT, posted TEXT, printed_on DATE);
    CREATE TABLE stall (stall_no INTEGER, market TEXT, shelf TEXT, size_sqm INTEGER, heated TEXT, part_time TEXT);
    CREATE TABLE inn (inn_no INTEGER, owner TEXT, beds INTEGER, dogs_allowed TEXT);
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
        "invoice": ["buyer"],
        "stall": ["market"],
        "inn": ["owner"],
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
        ("SELECT lf_nm FROM loaf WHERE organic = 'yes'", "Which loaves have we got that nobody sprayed?", []),
        ("SELECT lf_nm FROM loaf WHERE organic = 'no'", "Which loaves haven't got no organic in them?", []),
        # What is told after the question is of nothing in it; what goes on with it is.
        ("SELECT firm FROM baker WHERE town = 'Graz'", "Who have we got over in Graz? My hip won't stand for the drive.", []),
        ("SELECT firm FROM baker WHERE town = 'Graz'", "Who have we got over in Graz? Not pointing fingers", []),
        ("SELECT firm FROM baker WHERE town = 'Graz'", "They all ask, don't they - who have we got in Graz?", []),
        ("SELECT firm FROM baker WHERE town = 'Graz'", "Who have we got in Graz? Only those without a van.", ["negation_added"]),
        # Once denied by two words.
        ("SELECT firm FROM baker WHERE baker_id NOT IN (SELECT baker_id FROM loaf)", "Which bakers did nobody never take a loaf from?", []),
        # From a day on; one that is no number; more or less that compares nothing.
        ("SELECT firm FROM baker WHERE hired >= '2024-01-01'", "Who did we take on from New Year's Day 2024 on?", []),
        ("SELECT firm FROM baker WHERE hired < '2024-01-01'", "Who did we take on from New Year's Day 2024 on?", ["comparison_missing"]),
        ("SELECT avg(price) FROM loaf", "What does one pay on average for one loaf, more or less?", []),
        ("SELECT firm FROM baker ORDER BY hired ASC LIMIT 1", "Which firm's been with us longest?", []),
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
        # Yes and no by their opposites, and by what is still to do.
        ("SELECT count(*) FROM invoice WHERE paid = 'no'", "How many invoices are outstanding?", []),
        ("SELECT count(*) FROM invoice WHERE paid = 'yes'", "How many invoices are outstanding?", ["value_missing"]),
        ("SELECT count(*) FROM invoice WHERE paid != 'no'", "How many invoices are outstanding?", ["value_missing"]),
        ("SELECT count(*) FROM invoice WHERE posted = 'no'", "How many invoices are still lying about?", []),
        ("SELECT count(*) FROM invoice WHERE posted = 'yes'", "How many invoices are still lying about?", ["value_missing"]),
        ("SELECT market FROM stall WHERE part_time = 'yes'", "Which stalls are there half the week?", []),
        # Each of them once.
        ("SELECT DISTINCT town FROM person", "Which towns do they come from? Dont repeat urself.", []),
        ("SELECT DISTINCT town FROM person", "Towns of the persons, and don't give me any of them twice.", []),
        ("SELECT DISTINCT town FROM person", "Which towns do they not come from?", ["negation_added"]),
        # The same denial once more; a denial of other columns; no denial.
        ("SELECT market FROM stall WHERE heated = 'no'", "Nothing heated: which stalls are there that aren't?", []),
        ("SELECT phone FROM baker", "Just the phone of each baker, not the wages.", []),
        ("SELECT phone FROM baker", "The phone of each baker that does not have wages.", ["negation_added"]),
        ("SELECT firm FROM baker WHERE town = 'Graz'", "Who in Graz can I meet outside?", []),
        # As many as were named.
        ("SELECT firm FROM baker WHERE town = 'Graz' OR town = 'Linz'", "Firms from Graz or Linz, the two of them", []),
        ("SELECT firm FROM baker WHERE town = 'Graz' OR town = 'Linz'", "Firms from Graz or Linz, the five of them", ["number_added"]),
        # Turns of phrase for extremes, and how long since.
        ("SELECT max(amount) FROM invoice", "What's the high score among the invoices?", []),
        ("SELECT min(amount) FROM invoice", "What's the high score among the invoices?", ["extreme_opposite"]),
        ("SELECT firm FROM baker ORDER BY hired ASC LIMIT 1", "Which firm has been with us the longest?", []),
        ("SELECT firm FROM baker ORDER BY hired DESC LIMIT 1", "Which firm has been with us the longest?", ["extreme_opposite"]),
        ("SELECT firm FROM baker ORDER BY hired ASC", "The firms, longest serving first", []),
        ("SELECT firm FROM baker ORDER BY hired DESC", "The firms, longest serving first", ["order_opposite"]),
        # Sizes by their units, shares of time, limits before their number.
        ("SELECT market FROM stall ORDER BY size_sqm ASC LIMIT 1", "Smallest stall, which is it?", []),
        ("SELECT market FROM stall ORDER BY size_sqm DESC LIMIT 1", "Smallest stall, which is it?", ["extreme_opposite"]),
        ("SELECT market FROM stall WHERE size_sqm >= 4", "Stalls of a size of minimum 4", []),
        ("SELECT market FROM stall WHERE size_sqm <= 4", "Stalls of a size of minimum 4", ["comparison_opposite"]),
        # Where asks for places, who for people.
        ("SELECT inn_no FROM inn WHERE dogs_allowed = 'yes'", "Where are dogs okay?", []),
        ("SELECT beds FROM inn WHERE dogs_allowed = 'yes'", "Where are dogs okay?", ["column_untold_select"]),
        ("SELECT shelf FROM stall WHERE market = 'Naschmarkt'", "Where do I look in the Naschmarkt?", []),
        # Either side of a yes or no has its own words, and a denial turns them round.
        ("SELECT count(*) FROM invoice WHERE paid = 'no'", "How many of them still owe us?", []),
        ("SELECT count(*) FROM invoice WHERE paid = 'yes'", "How many of them still owe us?", ["value_missing"]),
        ("SELECT count(*) FROM invoice WHERE paid = 'yes'", "How many invoices are not outstanding?", []),
        ("SELECT count(*) FROM invoice WHERE paid = 'no'", "How many invoices are paid?", ["value_missing"]),
        # Talk in a clause of its own; numbers and alternatives in passing; what compares in words that no list has.
        ("SELECT lf_nm FROM loaf WHERE price < 5", "Loaves under 5, please, my old purse won't stand for it", []),
        ("SELECT price FROM loaf WHERE lf_nm = 'Rusk'", "What must I pay for Rusk if we are two?", []),
        ("SELECT flour FROM loaf WHERE lf_nm = 'Rusk'", "What flour do they put in Rusk, proper or that daft stuff?", []),
        ("SELECT lf_nm FROM loaf WHERE flour = 'rye'", "What have we got of rye or wheat?", ["or_added"]),
        ("SELECT lf_nm FROM loaf WHERE price < 5", "What have I got that leaves change of 5?", []),
        ("SELECT lf_nm FROM loaf WHERE price < 5", "Which loaves are 5?", ["comparison_missing"]),
        # What is left out, and what a denial stands beside.
        ("SELECT firm FROM baker WHERE town = 'Linz'", "Firms from anywhere but Linz", ["value_excluded"]),
        ("SELECT firm FROM baker WHERE town != 'Linz'", "Firms from anywhere but Linz", []),
        ("SELECT lf_nm FROM loaf WHERE flour != 'rye' AND organic = 'no'", "Loaves of rye flour that aren't organic", ["negation_misplaced"]),
        ("SELECT lf_nm FROM loaf WHERE flour = 'rye' AND organic = 'no'", "Loaves of rye flour that aren't organic", []),
        ("SELECT firm FROM baker WHERE town = 'Graz' AND town != 'Linz'", "Firms neither from Graz nor from Linz", ["fixed_twice"]),
        ("SELECT lf_nm FROM loaf WHERE weight_g != 0", "Loaves we are clean out of by weight", ["nothing_denied"]),
        # Longer than anyone; less than one of a measure; a decade of dates; one more denial.
        ("SELECT firm FROM baker ORDER BY hired ASC LIMIT 1", "Which firm has been with us longer than anyone?", []),
        ("SELECT lf_nm FROM loaf WHERE price < 1", "Which loaves cost less than a pound?", []),
        ("SELECT firm FROM baker WHERE hired BETWEEN '1990-01-01' AND '1999-12-31'", "Which firms did we hire in the nineties?", []),
        ("SELECT firm FROM baker WHERE hired BETWEEN '2023-06-01' AND '2023-08-31'", "Who did we hire from June to August 2023?", []),
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
        # Compared with everybody, who goes unsaid.
        ("eq { hop { argmin { all_rows ; errors } ; name } ; ann } = true", "Ann made 3 errors, nobody made fewer.", []),
        ("eq { hop { argmax { all_rows ; errors } ; name } ; ann } = true", "Ann made 3 errors, nobody made fewer.", ["extreme_opposite"]),
        ("eq { hop { argmax { all_rows ; depth } ; cave } ; pit } = true", "You won't find a deeper cave than the pit.", []),
        ("eq { hop { argmin { all_rows ; depth } ; cave } ; pit } = true", "You won't find a deeper cave than the pit.", ["extreme_opposite"]),
        # One ahead.
        ("eq { hop { nth_argmax { all_rows ; age ; 2 } ; name } ; bob } = true", "Only Ann is older than Bob.", []),
        ("eq { hop { nth_argmin { all_rows ; age ; 2 } ; name } ; bob } = true", "Bob is older than anyone bar Ann.", ["extreme_missing"]),
        ("eq { hop { nth_argmax { all_rows ; age ; 2 } ; name } ; bob } = true", "Bob is older than anyone bar Ann.", []),
        ("eq { hop { nth_argmax { all_rows ; age ; 3 } ; name } ; bob } = true", "Bob is older than anyone bar Ann.", ["ordinal_missing", "extreme_missing"]),
        # Most by parts, and by what hardly any are.
        ("most_eq { all_rows ; open ; yes } = true", "Half of them and then some are open.", []),
        ("all_eq { all_rows ; open ; yes } = true", "Half of them and then some are open.", ["all_opposite"]),
        ("all_eq { all_rows ; open ; yes } = true", "The greater part of them is open.", ["all_opposite"]),
        ("most_eq { all_rows ; open ; yes } = true", "Three quarters of them are open.", []),
        ("most_greater_eq { all_rows ; age ; 16 } = true", "Hardly any of them are under 16.", []),
        ("most_less_eq { all_rows ; age ; 16 } = true", "Hardly any of them are under 16.", ["comparison_opposite"]),
        ("most_eq { all_rows ; fuel ; diesel } = true", "Not many run on petrol, most are diesel.", []),
        # Turns of phrase for extremes.
        ("eq { hop { argmin { all_rows ; age } ; name } ; kim } = true", "By age, Kim is the baby of the family.", []),
        ("eq { hop { argmax { all_rows ; age } ; name } ; kim } = true", "By age, Kim is the baby of the family.", ["extreme_opposite"]),
        ("eq { hop { argmin { all_rows ; date } ; opponent } ; city } = true", "The opener was against City.", []),
        ("eq { hop { argmax { all_rows ; date } ; opponent } ; city } = true", "The opener was against City.", ["extreme_opposite"]),
        # Values in other words.
        ("eq { count { filter_eq { all_rows ; result ; loss } } ; 4 } = true", "They got hammered 4 times.", []),
        ("eq { count { filter_eq { all_rows ; result ; win } } ; 4 } = true", "They got hammered 4 times.", ["value_missing"]),
        ("most_eq { all_rows ; nationality ; australia } = true", "Most of them are Aussies.", []),
        ("most_eq { all_rows ; nationality ; austria } = true", "Most of them are Aussies.", ["value_missing"]),
        ("most_eq { all_rows ; party ; independent } = true", "Most of them belonged to no party.", []),
        # Second by the only one ahead; an average by each; nothing that isn't.
        ("eq { hop { nth_argmax { all_rows ; age ; 2 } ; name } ; bob } = true", "The oldest but one is Bob.", []),
        ("eq { hop { nth_argmax { all_rows ; age ; 3 } ; name } ; bob } = true", "The oldest but one is Bob.", ["ordinal_missing"]),
        ("round_eq { avg { all_rows ; errors } ; 4 } = true", "He made 4 errors a game.", []),
        ("all_less { all_rows ; price ; 5 } = true", "There's nothing on that list that isn't under a price of 5.", []),
        ("all_greater { all_rows ; price ; 5 } = true", "There's nothing on that list that isn't under a price of 5.", ["comparison_opposite"]),
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
