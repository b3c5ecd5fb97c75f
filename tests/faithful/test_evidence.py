"""Hints beside a question: which side is words, and which names columns, conditions and operations."""

from __future__ import annotations

import pytest

from sensecheck.faithful.evidence import Condition, EvidenceReader, Hint
from sensecheck.faithful.schema import from_create_table
from sensecheck.language.morphology import stem

SCHEMA = from_create_table(
    """CREATE TABLE patient (patient_id INT, fullName TEXT, sex TEXT, A11 REAL, born DATE);
    CREATE TABLE meal ("Free Meals (All)" REAL, "Meals (All)" REAL, name TEXT, text TEXT);""",
    "ward",
)
READER = EvidenceReader(SCHEMA)


def one(text: str) -> Hint:
    (hint,) = READER.read(text).hints
    return hint


@pytest.mark.parametrize(
    ("text", "words", "columns", "conditions"),
    [
        ("women refers to sex = 'F'", "women", {"sex"}, [("sex", "=", "F")]),
        ("sex = 'F' means female", "female", {"sex"}, [("sex", "=", "F")]),
        ("A11 stands for average salary", "average salary", {"a11"}, []),
        ("average salary refers to A11", "average salary", {"a11"}, []),
        ("elders refers to patient.A11 > = 65", "elders", {"a11"}, [("a11", ">=", "65")]),
        ("'soup' is the name of the meal", "soup", {"name"}, [("name", "=", "soup")]),
        ("soup is the name of meal", "soup", {"name"}, [("name", "=", "soup")]),
        ("name = 'soup'", "", {"name"}, [("name", "=", "soup")]),
        ("who has no name refers to name IS NULL", "who has no name", {"name"}, [("name", "null", "")]),
        ("named refers to name is not empty", "named", {"name"}, [("name", "not null", "")]),
        (
            "adult refers to A11 BETWEEN 19 AND 65",
            "adult",
            {"a11"},
            [("a11", "between", "19"), ("a11", "between", "65")],
        ),
        ("soups refers to name IN ('pea', 'leek')", "soups", {"name"}, [("name", "=", "pea"), ("name", "=", "leek")]),
        ("born in 1971 refers to year(born) = 1971", "born in 1971", {"born"}, [("born", "=", "1971")]),
        ("soup lover's refers to name = 'it''s soup'", "soup lover's", {"name"}, [("name", "=", "it's soup")]),
        ("name of the patient refers to fullName", "name of the patient", {"fullname"}, []),
        ("label refers to name", "label", {"name"}, []),
        ("the patients and their text are synonyms", "the patients and their text", set(), []),
        ("over 1,500 refers to A11 > 1,500", "over 1,500", {"a11"}, [("a11", ">", "1500")]),
    ],
)
def test_a_hint(text: str, words: str, columns: set[str], conditions: list[tuple[str, str, str]]) -> None:
    hint = one(text)
    assert hint.columns == columns
    assert hint.conditions == tuple(Condition(*condition) for condition in conditions)
    for word in words.replace("lover's", "lover").split():
        assert stem(word) in hint.words or not word.isalpha(), word


def test_formulas_and_names_with_blanks() -> None:
    hint = one("Eligible free rate = `Free Meals (All)` / Meals (All)")
    assert hint.columns == {"free meals (all)", "meals (all)"} and hint.operations == {"divide"}
    assert set(hint.words) == {stem(word) for word in ("eligible", "free", "rate")}
    assert one("oldest refers to MAX(A11)").operations == {"max"}
    assert one("share = DIVIDE(COUNT(sex = 'F'), COUNT(patient_id)) * 100").operations == {"divide", "count"}
    assert one("share = DIVIDE(COUNT(sex = 'F'), COUNT(patient_id)) * 100").conditions == (Condition("sex", "=", "F"),)


def test_hints_are_parted_and_bear_on_what_they_explain() -> None:
    evidence = READER.read(
        "women refers to sex = 'F'; soup is the name of meal\nelders refers to A11 > 65. Nothing else"
    )
    assert [hint.text.split()[0] for hint in evidence.hints] == ["women", "soup", "elders", "Nothing"]
    said = {stem(word) for word in ("how", "many", "women", "had", "the", "soup")}
    assert [hint.text.split()[0] for hint in evidence.bearing_on(said)] == ["women", "soup", "Nothing"]


def test_without_a_schema_names_are_seen_by_how_they_are_written() -> None:
    (hint,) = EvidenceReader(None).read("average salary refers to avg_salary > 5").hints
    assert hint.columns == {"avg_salary"} and hint.conditions == (Condition("avg_salary", ">", "5"),)
    assert EvidenceReader(None).read("").hints == ()


@pytest.mark.parametrize(
    "text",
    ["=" * 20_000, "'" * 20_001, "a refers to " * 3_000, "(" * 20_000, "x = '" + "''" * 9_000, ";" * 20_000, "`" * 19_999,
     "is the " * 3_000, "A11 > " * 3_000, "\ud800 refers to \x00 = 'x'"],
)  # fmt: skip
def test_hostile_evidence_is_read(text: str) -> None:
    """In time that grows with its length: a quadratic reader would not end within the limit that every test has."""
    assert len(READER.read(text).hints) <= len(text)
    assert len(EvidenceReader(None).read(text).hints) <= len(text)
