"""Tokenisers against sacrebleu's, on text made to be difficult and on real replies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensecheck.diverse.tokens import TOKENIZERS, tokenizer

PEERS = {
    "13a": ("tokenizer_13a", "Tokenizer13a"),
    "char": ("tokenizer_char", "TokenizerChar"),
    "intl": ("tokenizer_intl", "TokenizerV14International"),
}
DIFFICULT = [
    "", " ", "It's 3.14, isn't it?", "$1,000.00-$2,000", "a-b 3-4 -5 5-", "&quot;hi&quot; &amp;amp; <b>",
    "e.g., U.S.A.",
    "…“quoted” – dash—dash", "١٢٣٫٤٥ ½ ²", "你好，世界。", "100€ £5 ¥", "tab\there\nnew-\nline <skipped>",
    "a.b,c;d:e!f?g", "1.", ".1", "1.,2", "x²+y²=z²", "``a'' (b) [c] {d} ~e^f_g|h\\i/j", "naïve café e\u0301",
    "\u3000wide\u00a0space\u2028",
]  # fmt: skip


@pytest.mark.parametrize("name", list(PEERS))
def test_difficult_text(name: str) -> None:
    peer = _peer(name)
    for text in DIFFICULT:
        assert tokenizer(name)(text) == peer(text).split(), text


# sacrebleu's regex engine brings its own Unicode tables, newer than Python's: characters that this Python does not
# know (Cn) are left out.
CHARACTERS = st.one_of(
    st.sampled_from(" .,-'&;$€0123ab½²«»\n"), st.characters(codec="utf-8", exclude_categories=["Cn", "Cs"])
)


@pytest.mark.parametrize("name", list(PEERS))
@settings(max_examples=150, deadline=None)
@given(text=st.text(alphabet=CHARACTERS))
def test_any_text(name: str, text: str) -> None:
    assert tokenizer(name)(text) == _peer(name)(text).split()


@pytest.mark.golden
def test_real_replies(shared: Path) -> None:
    corpus = json.loads((shared / "golden/diverse/lsdscc/references.json").read_text())
    texts = [text for groups in corpus.values() for group in groups.values() for text in group]
    for name in PEERS:
        peer = _peer(name)
        assert [tokenizer(name)(text) for text in texts] == [peer(text).split() for text in texts]


def test_names() -> None:
    assert set(TOKENIZERS) == {"whitespace", *PEERS}
    assert tokenizer(lowercase=True)("A b\u00a0C") == ["a", "b", "c"]
    with pytest.raises(ValueError, match="not one of whitespace, 13a, char, intl"):
        tokenizer("13b")


def _peer(name: str):  # type: ignore[no-untyped-def]
    module, klass = PEERS[name]
    pytest.importorskip("sacrebleu")
    return getattr(__import__(f"sacrebleu.tokenizers.{module}", fromlist=[klass]), klass)()
