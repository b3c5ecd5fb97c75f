"""Sentences of other languages are told, those of English never."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensecheck.language.other_language import in_other_language
from sensecheck.language.rewriting.engine import OTHER_LANGUAGE, QUESTION, rewrite
from sensecheck.robust import evaluate

OTHERS = """
Un homme dort.|Une femme lit un livre.|Le chien court dans le parc.|Il pleut.|Les enfants jouent.|C'est un chat.
L'homme mange du pain.|Personne ne dort.|Ein Mann schläft.|Die Frau liest ein Buch.|Der Hund rennt im Park.
Es regnet nicht.|Zwei Kinder spielen.|Niemand ist hier.|Un hombre duerme.|La mujer lee un libro.|El perro corre.
No hay nadie aquí.|Los niños juegan.|Un uomo dorme.|La donna legge un libro.|Il cane corre nel parco.|Nessuno è qui.
Um homem está dormindo.|Een man slaapt.|De vrouw leest een boek.|De hond rent in het park.|En man sover på en bänk.
Kvinnan läser inte.|Bir adam uyuyor.|Kadın kitap okuyor ve gülüyor.|Mtu analala katika nyumba.
Một người đàn ông đang ngủ.|Mężczyzna nie śpi.|Мужчина спит.|男人在睡觉。|الرجل نائم.|एक आदमी सो रहा है।|Ένας άντρας κοιμάται.
"""
ENGLISH = """
A man in a beret eats croissants.|Juan de la Cruz sang.|El Niño is warm.|Les Misérables is a novel.|La La Land won.
Dogs bark.|Die Hard is a film.|Il Postino was filmed in Italy.|Men sleep.|Children play soccer.|She sings.|I am here.
Vincent van Gogh painted.|Angela Merkel met François Hollande.|Café owners protest.|Los Angeles burned.|Um, no.
Der Spiegel reported losses.|Rio de Janeiro hosts tourists.|Charles de Gaulle resigned.|Du Pont makes paint.|Hot dogs.
"""


@pytest.mark.parametrize("text", OTHERS.strip().replace("\n", "|").split("|"))
def test_other_languages_are_told(text: str) -> None:
    assert in_other_language(text)


@pytest.mark.parametrize("text", [*ENGLISH.strip().replace("\n", "|").split("|"), "", "...", "1998", "Ok"])
def test_english_is_never_another_language(text: str) -> None:
    assert not in_other_language(text)


@pytest.mark.golden
def test_no_sentence_of_the_english_data_sets_is_called_another_language(shared: Path) -> None:
    for file in ("snli_dev_2000", "mnli_dev_2000", "qnli_dev_500", "anli_r1_dev_1000", "control_dev_300", "sick_2000"):
        for line in (shared / "data" / "nli" / f"{file}.jsonl").read_text().splitlines():
            pair = json.loads(line)
            assert not in_other_language(pair["hypothesis"]) and not in_other_language(pair["premise"])


@given(st.text(max_size=80))
@settings(max_examples=80, deadline=None)
def test_any_text_is_survived(text: str) -> None:
    assert in_other_language(text) in (True, False)


def test_a_run_says_why_there_are_no_statements() -> None:
    rows = [
        {"premise": "A man sleeps on a bench.", "hypothesis": "A man is sleeping.", "label": "entailment"},
        {"premise": "Un homme dort sur un banc.", "hypothesis": "Un homme dort.", "label": "entailment"},
        {"premise": "A man sleeps on a bench.", "hypothesis": "Is a man sleeping?", "label": "entailment"},
    ]
    result = evaluate(rows, model=lambda p, h: [0] * len(p), generator="rules", polarity="positive", check_labels=False)
    assert result.measurements["left"].to_list() == ["judged", OTHER_LANGUAGE, QUESTION]
    assert rewrite("Un homme dort.", True, 5) == []
