"""Rules by themselves: each is a function of an alignment, says what it needs, and can be switched off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import FrozenInstanceError, replace

import pytest

from sensecheck.faithful import Checker
from sensecheck.faithful.facts import Fact, Reading, name_of
from sensecheck.faithful.matching.alignment import Alignment, Words, align
from sensecheck.faithful.matching.rules import check
from sensecheck.faithful.matching.rules.comparisons import comparisons
from sensecheck.faithful.matching.rules.numbers import numbers, numbers_added
from sensecheck.faithful.matching.rules.values import values
from sensecheck.faithful.matching.ruling import CONFIDENCE, RULES, Finding, added, rule, rules_for
from sensecheck.faithful.matching.sentence import Sentence
from sensecheck.faithful.matching.signals import Signal
from sensecheck.faithful.matching.vocabulary import load_vocabulary


def by_hand(reading: Reading, text: str, **parts: object) -> Alignment:
    """An alignment that nothing has filled but the test."""
    sentence = Sentence(text, load_vocabulary())
    empty = Alignment(reading, sentence, False, [""] * sentence.n, {}, {}, {}, frozenset(), frozenset())
    return replace(empty, **parts)


LENGTH = Fact("comparison", "length > 20", name=name_of("length"), op=">", direction=1, value="20", number=20.0)
LISBON = Fact("comparison", "home = Lisbon", name=name_of("home"), op="=", value="Lisbon")


def test_a_rule_reads_nothing_but_the_alignment() -> None:
    alone = by_hand(Reading([LISBON]), "boats of Lisbon")
    assert [(f.status, f.rule) for f in values(alone)] == [("missing", "value_partial")]
    told = replace(alone, said={LISBON: Words((2,))})
    (finding,) = values(told)
    assert (finding.status, finding.fact, finding.positions) == ("said", LISBON, (2,))
    assert told.said[LISBON].source == "question"


def test_a_comparison_is_judged_by_the_word_that_governs_its_number() -> None:
    reading = Reading([LENGTH])
    alone = by_hand(reading, "boats under 20")
    number = alone.sentence.numbers[0]
    under = replace(alone, said={LENGTH: Words((2,), number)}, governing={2: Signal("less", 1, 2)})
    (finding,) = comparisons(under)
    assert (finding.rule, finding.status, finding.fact) == ("comparison_opposite", "contradicted", LENGTH)
    assert finding.confidence == CONFIDENCE["comparison_opposite"]
    over = replace(under, governing={2: Signal("greater", 1, 2)})
    assert [f.status for f in comparisons(over)] == ["said"]


def test_numbers_are_assigned_before_any_rule_looks() -> None:
    alignment = align(Reading([LENGTH]), Sentence("boats over 20 with 3 masts", load_vocabulary()))
    assert alignment.used_numbers == {0}
    assert [f.text for f in numbers_added(alignment)] == ["3"]  # whether or not the other rule has run
    assert [f.status for f in numbers(alignment)] == ["said"]
    assert [f.text for f in numbers_added(alignment)] == ["3"]


def test_an_alignment_is_frozen() -> None:
    alignment = align(Reading([LENGTH]), Sentence("boats over 20", load_vocabulary()))
    with pytest.raises(FrozenInstanceError):
        alignment.said = {}  # type: ignore[misc]
    with pytest.raises(TypeError):
        alignment.owner[0] = "value"  # type: ignore[index]


def test_any_name_of_a_thing_will_do() -> None:
    table = Fact("table", "tbl7", name=name_of("tbl7"), also=(name_of("t7"), name_of("fishing boats")))
    alignment = align(Reading([table]), Sentence("all fishing boats", load_vocabulary()))
    assert [(f.rule, f.status) for f in RULES["tables"].find(alignment)] == [("table", "said")]


def test_rules_run_only_where_they_are_served() -> None:
    names = {offers: {r.name for r in rules_for(frozenset(offers))} for offers in (("query", "sql"), ("form",))}
    assert "quantifiers" in names["form",] and "quantifiers" not in names["query", "sql"]
    assert "yes_no_question" in names["query", "sql"] and "yes_no_question" not in names["form",]
    assert "quotation_added" not in names["query", "sql"]  # it needs names that can be said
    assert names["form",] & names["query", "sql"] == {r.name for r in RULES.values() if not r.needs}
    opaque = Reading([], opaque=True, language="sparql").offers
    assert "quotation_added" not in {r.name for r in rules_for(opaque)}


def test_a_rule_switched_off_is_silent() -> None:
    query, sentence = "SELECT name FROM boat", "Which names do boats not have, not even 5?"
    rules = {f.rule for f in Checker("sql").check(query, sentence).faults()}
    assert rules == {"negation_added", "number_added"}
    # by the name of the rule, or of what it finds
    for off in ("negation_added", "number_added", "numbers_added"):
        left = {f.rule for f in Checker("sql", without=[off]).check(query, sentence).faults()}
        assert left == rules - {off.replace("numbers", "number")}
    assert Checker("sql", without=["negation_added", "number_added"]).check(query, sentence).consistent is True


def test_an_unknown_rule_cannot_be_switched_off() -> None:
    with pytest.raises(ValueError, match="no rule or finding is called 'negatoin_added'"):
        Checker("sql", without=["negatoin_added"])


def test_a_new_rule_is_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sensecheck.faithful.matching.ruling.RULES", dict(RULES))
    monkeypatch.setitem(CONFIDENCE, "shouting", 0.6)

    @rule("sql")
    def shouting(a: Alignment) -> Iterator[Finding]:
        for i in a.sentence.by_low.get("!", ()):
            yield added(a.sentence, "sentence", "shouting", range(i, i + 1))

    verdict = Checker("sql").check("SELECT name FROM boat", "Names of boats!")
    assert [(f.rule, f.text) for f in verdict.faults()] == [("shouting", "!")]
    assert Checker("sparql").check("SELECT ?n { ?n a :boat }", "boats!").consistent is True
    with pytest.raises(ValueError, match="there is a rule 'shouting' already"):
        rule("form")(shouting)
    monkeypatch.undo()
    rules_for.cache_clear()


def test_every_finding_tells_its_fact_unless_it_was_added() -> None:
    sentence = Sentence('Names of boats under twenty, not from Lisbon, with "oars"', load_vocabulary())
    for finding in check(Reading([LENGTH, LISBON]), sentence):
        assert (finding.fact is None) is (finding.status == "added")


def test_a_need_that_no_reading_offers_and_a_finding_without_a_weight_are_told():
    with pytest.raises(ValueError, match="no reading offers 'sqll'"):
        rule("sqll")
    with pytest.raises(LookupError, match="'never_weighed' has no weight"):
        added(Sentence("one two", load_vocabulary()), "group", "never_weighed", range(1))


def test_one_rule_may_be_switched_off_by_its_name_alone():
    assert Checker("sql", without="number_added").without == {"number_added"}
