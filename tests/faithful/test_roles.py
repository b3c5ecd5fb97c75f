"""Columns that name a role are heard in what people in that role do."""

from __future__ import annotations

import pytest

from sensecheck.faithful.measure import Checker

CHECKER = Checker("sql")

ROLES = {
    "ceo": "runs leads heads",
    "president": "heads leads runs",
    "chairman": "chairs heads leads",
    "chairperson": "chairs leads",
    "manager": "manages runs oversees leads",
    "boss": "heads manages",
    "supervisor": "supervises oversees",
    "leader": "leads heads runs",
    "chief": "leads heads",
    "head": "heads leads runs",
    "director": "directs directed runs heads made",
    "principal": "heads runs",
    "dean": "heads leads",
    "minister": "heads leads",
    "mayor": "governs runs",
    "governor": "governs",
    "king": "rules ruled",
    "author": "wrote writes penned",
    "writer": "wrote",
    "composer": "composed wrote",
    "editor": "edits edited",
    "translator": "translated",
    "publisher": "publishes published",
    "producer": "produced makes",
    "photographer": "photographed took shot",
    "artist": "sings painted performs",
    "actor": "plays stars",
    "narrator": "narrates reads",
    "owner": "owns owned",
    "landlord": "owns",
    "founder": "founded started",
    "inventor": "invented",
    "architect": "designed built",
    "builder": "built",
    "contractor": "builds",
    "winner": "won wins",
    "champion": "won",
    "victor": "won",
    "loser": "lost",
    "pilot": "flies flew",
    "driver": "drives drove",
    "rider": "rides rode",
    "captain": "commands leads",
    "coach": "coaches trains",
    "teacher": "teaches taught",
    "lecturer": "lectures taught",
    "doctor": "treats treated",
    "vet": "treats",
    "buyer": "bought buys",
    "seller": "sold sells",
    "sender": "sent",
    "recipient": "received got",
    "employer": "employs",
}


@pytest.mark.parametrize(("column", "verb"), [(role, verb) for role, verbs in ROLES.items() for verb in verbs.split()])
def test_a_role_is_heard_in_its_verb(column: str, verb: str) -> None:
    query = f"SELECT {column} FROM record WHERE label = 'Oxbow'"
    assert CHECKER.check(query, f"Who {verb} Oxbow?").consistent, (column, verb)


@pytest.mark.parametrize("column", ["ceo", "president", "manager", "head"])
def test_who_is_in_charge(column: str) -> None:
    assert CHECKER.check(f"SELECT {column} FROM firm WHERE label = 'Oxbow'", "Who is in charge of Oxbow?").consistent


@pytest.mark.parametrize(
    ("column", "verb"),
    [("ceo", "founded"), ("author", "published"), ("owner", "sold"), ("winner", "lost"), ("pilot", "built"),
     ("king", "painted"), ("doctor", "directed"), ("buyer", "sold")],
)  # fmt: skip
def test_a_role_is_not_heard_in_the_verb_of_another(column: str, verb: str) -> None:
    query = f"SELECT {column} FROM record WHERE label = 'Oxbow'"
    assert not CHECKER.check(query, f"Who {verb} Oxbow?").consistent, (column, verb)
