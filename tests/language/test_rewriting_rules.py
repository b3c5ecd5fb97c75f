"""Each sentence rule by itself, and that the data beside the rules fits them.

rewriting_rules.csv is the list to edit: a sentence, which way a rule rewrites it, the rule, and a statement that it makes.
"""

from __future__ import annotations

import csv
import dataclasses
import re
from pathlib import Path

import pytest

from sensecheck.language.rewriting import lexicon as lexicon_module
from sensecheck.language.rewriting import replacing
from sensecheck.language.rewriting.engine import rewrites
from sensecheck.language.rewriting.lexicon import english, listed
from sensecheck.language.rewriting.reading import read
from sensecheck.language.rewriting.rules import ANY_KIND, RULES, Rule
from sensecheck.language.rewriting.wordnet import WordNet

SHEET = Path(__file__).with_name("rewriting_rules.csv")
FOLDER = Path(lexicon_module.__file__).parent
SOURCE = "\n".join(path.read_text("utf-8") for path in sorted(FOLDER.glob("*.py")))


class FewWords(WordNet):
    """What the rules that ask WordNet find in it."""

    def synonyms(self, word: str, part: str) -> list[str]:
        return ["slide horn"] if word == "trombone" else []

    def wider(self, word: str, part: str) -> list[str]:
        return ["brass"] if word == "trombone" else []

    def opposites(self, word: str, part: str) -> list[str]:
        return ["humble"] if word == "proud" else []


LEXICON = dataclasses.replace(english(), wordnet=FewWords(Path()))
RULE_NAMED = {rule.name: rule for rule in RULES}


def rows() -> list[dict[str, str]]:
    with SHEET.open(newline="", encoding="utf-8") as sheet:
        return list(csv.DictReader(sheet))


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row['rule']}: {row['sentence']}")
def test_a_rule_alone(row: dict[str, str]) -> None:
    rule = RULE_NAMED[row["rule"]]
    made = list(rule.rewrites(read(row["sentence"], LEXICON)))
    assert row["statement"] in [rewrite.text for rewrite in made]
    assert all(rewrite.rule == rule.name and rewrite.family == rule.family for rewrite in made)


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row['rule']}: {row['sentence']}")
def test_a_statement_knows_its_rule(row: dict[str, str]) -> None:
    positive = row["polarity"] == "positive"
    rule_of = {rewrite.text: rewrite.rule for rewrite in rewrites(row["sentence"], positive, LEXICON)}
    assert rule_of[row["statement"]] == row["rule"]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_says_what_it_does(rule: Rule) -> None:
    assert re.fullmatch(r"\S.*[.]", rule.description), "one line that ends in a full stop"
    assert rule.relation in ("equivalent", "follows", "contradicts")
    assert rule.kinds <= set(ANY_KIND.split())
    assert rule.name in {row["rule"] for row in rows()}, f"{SHEET.name} has no sentence for it"


def test_no_two_rules_share_a_name() -> None:
    assert len(RULE_NAMED) == len(RULES)


def test_the_word_classes_are_those_that_are_asked_for() -> None:
    exceptions = lexicon_module.read_data("exceptions.txt")
    asking = re.findall(r"(?:listed|table_of|said|_with)\(([^()]+)\)", SOURCE)
    asked = {name for names in asking for name in re.findall(r'"([^"]+)"', names)}
    asked |= {name.replace("_", " ") for name in re.findall(r" @([\w-]+)", exceptions)} - set(replacing._CLASSES)
    kept = set(lexicon_module.sections_of(lexicon_module.read_data("grammar.txt")))
    assert asked == kept
    assert all(listed(name) for name in kept)


def test_exceptions_ask_what_can_be_answered() -> None:
    sections = lexicon_module.sections_of(lexicon_module.read_data("exceptions.txt"))
    assert set(sections) == set(re.findall(r'(?:swaps|allowed)\("([^"]+)"', SOURCE))
    swap = replacing.Swap(read("A tall man is happy.", LEXICON), "tall", "short", "a", "man", 1)
    for section in sections:
        for provisos in replacing.provisos(section).values():
            for proviso in provisos:
                assert {condition(swap) for condition in proviso.conditions} <= {True, False}


def test_an_exception_keeps_a_word_or_puts_another_in_its_place() -> None:
    def made(sentence: str) -> set[str]:
        return {rewrite.text for rewrite in RULE_NAMED["opposite"].rewrites(read(sentence, LEXICON))}

    assert "A big girl sings." not in made("A little girl sings.")
    assert "A teenage girl sings." in made("A little girl sings.")
    assert made("A man comes before the queen.") == set()
