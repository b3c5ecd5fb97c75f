"""Aligners: how near a hypothesis is to each group of references.

An aligner sees a whole batch of sets and returns one number for every (hypothesis, group), laid out set by set,
hypothesis by hypothesis, group by group; NaN says that this pair could not be scored. Higher is nearer.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from zipfile import BadZipFile, is_zipfile

import numpy as np
from numpy.typing import NDArray

from sensecheck.diverse.bleu import (
    NLTK_METHODS,
    SACREBLEU_METHODS,
    NltkBleu,
    SentenceBleu,
    hypothesis_by_reference,
    pair_counts,
    pair_group,
)
from sensecheck.diverse.ngrams import LONGEST_NGRAM, Floats, NGramIndex, Tokens, index_sets, offsets
from sensecheck.diverse.nist import nist
from sensecheck.inputs import fingerprints
from sensecheck.inputs.errors import InputError, escaped, shown
from sensecheck.inputs.opening import sources
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import read_table

Encoder = Callable[[list[str]], Any]

BLEU_RELEVANCE = 0.1
"""Below this BLEU a response shares a common word or two with a reference, as responses to other queries do: on
LSDSCC's test set those reach two thirds of all meanings at any score above 0, and a tenth of them from here on."""


@dataclass
class SetBatch:
    """A batch of sets as text and as words, with their n-gram index."""

    hypothesis_texts: Sequence[Sequence[str]]
    reference_texts: Sequence[Sequence[Sequence[str]]]
    hypotheses: Sequence[Sequence[Tokens]]
    references: Sequence[Sequence[Sequence[Tokens]]]
    index: NGramIndex = field(init=False)

    def __post_init__(self) -> None:
        self.index = index_sets(self.hypotheses, self.references)

    @classmethod
    def tokenized(
        cls,
        hypothesis_texts: Sequence[Sequence[str]],
        reference_texts: Sequence[Sequence[Sequence[str]]],
        tokenize: Callable[[str], list[str]],
    ) -> SetBatch:
        return cls(
            hypothesis_texts,
            reference_texts,
            [[tokenize(text) for text in texts] for texts in hypothesis_texts],
            [[[tokenize(text) for text in group] for group in groups] for groups in reference_texts],
        )


@runtime_checkable
class Aligner(Protocol):
    @property
    def signature(self) -> str:
        """Every choice that can change a score."""

    @property
    def is_bleu(self) -> bool:
        """Whether the mean of the best scores may be called MaxBLEU."""

    @property
    def relevance(self) -> float:
        """The score from which a hypothesis counts unless the user says otherwise; 0 stands for any above 0."""

    def scores(self, batch: SetBatch) -> Floats: ...


@dataclass(frozen=True)
class BleuAligner:
    """Sentence BLEU with brevity penalty (sacrebleu's): the default."""

    bleu: SentenceBleu | NltkBleu = field(default_factory=SentenceBleu)
    is_bleu: bool = True

    @property
    def relevance(self) -> float:
        return BLEU_RELEVANCE if isinstance(self.bleu, SentenceBleu) else 0.0

    @property
    def signature(self) -> str:
        return self.bleu.signature

    def scores(self, batch: SetBatch) -> Floats:
        return self.bleu(pair_counts(batch.index, self.bleu.order))


@dataclass(frozen=True)
class NistAligner:
    """nltk's sentence NIST. Scores have no upper bound, and groups of rare words score higher."""

    order: int = 5
    is_bleu: bool = False
    relevance: float = 0.0

    @property
    def signature(self) -> str:
        return f"nist:{self.order}"

    def scores(self, batch: SetBatch) -> Floats:
        return nist(batch.index, self.order)[0]


@dataclass(frozen=True)
class CallableAligner:
    """Any function of the words of a hypothesis and the word lists of a group's references."""

    function: Callable[[Tokens, Sequence[Tokens]], float]
    name: str = ""
    is_bleu: bool = False
    relevance: float = 0.0

    @property
    def signature(self) -> str:
        return f"callable:{self.name or getattr(self.function, '__qualname__', type(self.function).__name__)}"

    def scores(self, batch: SetBatch) -> Floats:
        pairs = (
            float(self.function(hypothesis, group))
            for hypotheses, groups in zip(batch.hypotheses, batch.references, strict=True)
            for hypothesis in hypotheses
            for group in groups
        )
        return np.fromiter(pairs, dtype=np.float64)


@dataclass(frozen=True)
class EmbeddingAligner:
    """Cosine of sentence vectors: the nearest reference of the group decides.

    `encode` turns a list of texts into a matrix, one row a text. Each distinct text of a batch is encoded once. A
    text without any word gets no vector: it is near to nothing (0).
    """

    encode: Encoder
    name: str = "callable"
    is_bleu: bool = False
    relevance: float = 0.0

    @property
    def signature(self) -> str:
        return f"embedding:{self.name}"

    def scores(self, batch: SetBatch) -> Floats:
        index = batch.index
        hypothesis_texts = list(chain.from_iterable(batch.hypothesis_texts))
        reference_texts = list(chain.from_iterable(chain.from_iterable(batch.reference_texts)))
        texts = [text for text in dict.fromkeys([*hypothesis_texts, *reference_texts]) if text.strip()]
        row_of = {text: i for i, text in enumerate(texts)}
        vectors = self._unit_vectors(texts)
        hypothesis_rows = np.array([row_of.get(text, -1) for text in hypothesis_texts], dtype=np.int64)
        reference_rows = np.array([row_of.get(text, -1) for text in reference_texts], dtype=np.int64)
        hypothesis, reference = hypothesis_by_reference(index)
        cosine = np.zeros(len(hypothesis))
        for start in range(0, len(hypothesis), 1 << 16):  # bounds the copies of vectors
            part = slice(start, start + (1 << 16))
            a, b = hypothesis_rows[hypothesis[part]], reference_rows[reference[part]]
            cosine[part] = np.where((a < 0) | (b < 0), 0.0, np.einsum("ij,ij->i", vectors[a], vectors[b]))
        sizes = index.references_per_group[pair_group(index)]
        full = np.flatnonzero(sizes)
        nearest = np.full(len(sizes), np.nan)
        if len(full):
            nearest[full] = np.maximum.reduceat(cosine, offsets(sizes)[:-1][full])
        return nearest

    def _unit_vectors(self, texts: list[str]) -> NDArray[np.float64]:
        if not texts:
            return np.zeros((1, 1))
        vectors = np.asarray(self.encode(texts), dtype=np.float64)
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise ValueError(
                f"encoder {self.name!r} was given {len(texts)} texts and must return a matrix of as many rows; "
                f"it returned an array of shape {vectors.shape}"
            )
        if not np.isfinite(vectors).all():
            raise ValueError(f"encoder {self.name!r} returned numbers that are not finite")
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: NDArray[np.float64] = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
        return unit


def stored_vectors(vectors: Mapping[str, Any], name: str = "stored") -> EmbeddingAligner:
    """An embedding aligner from vectors made beforehand: text → vector."""

    def encode(texts: list[str]) -> NDArray[np.float64]:
        missing = [text for text in texts if text not in vectors]
        if missing:
            raise ValueError(
                f"{len(missing)} of {len(texts)} texts have no stored vector, the first is {missing[0][:80]!r}; "
                "texts are looked up as they stand in the records"
            )
        return np.stack([np.asarray(vectors[text], dtype=np.float64) for text in texts])

    return EmbeddingAligner(encode, name)


def read_vectors(path: str | Path) -> EmbeddingAligner:
    """Stored vectors from a file: .npz with arrays `texts` and `vectors`, or .parquet/.jsonl with those columns
    named `text` and `vector`."""
    (source,) = sources(str(path))  # raises where there is no such file
    file = source.path or Path(path)
    texts, rows = _vectors_in(file)
    width = 0
    for number, (text, vector) in enumerate(zip(texts, rows, strict=True), 1):
        right = isinstance(text, str) and isinstance(vector, list) and bool(vector)
        if not right or not all(isinstance(x, int | float) and isfinite(x) for x in vector):
            raise InputError(
                path=str(file), record=number, expected="a text and a vector of finite numbers",
                got=f"{shown(text, 40)} and {shown(vector, 40)}", hint=_VECTORS, reason=Reason.BAD_VECTORS,
            )  # fmt: skip
        if width and len(vector) != width:
            raise InputError(
                path=str(file), record=number, expected=f"a vector of {width} numbers, as before",
                got=str(len(vector)), reason=Reason.BAD_VECTORS,
            )  # fmt: skip
        width = len(vector)
    return stored_vectors(dict(zip(texts, rows, strict=True)), f"{file.name} {fingerprints.of_files([('', file)])}")


_VECTORS = "Give .npz with arrays 'texts' and 'vectors', or .parquet/.jsonl with columns 'text' and 'vector'."


def _vectors_in(file: Path) -> tuple[list[Any], list[Any]]:
    """The texts of a file and their vectors, as plain lists."""
    if file.suffix == ".npz":
        return _vectors_in_archive(file)
    try:
        frame = read_table(str(file), format="parquet" if file.suffix == ".parquet" else "jsonl")
    except InputError as error:
        kind = "Parquet" if file.suffix == ".parquet" else "JSON lines"
        why = error.problem or f"expected {error.expected}, got {error.got}"
        raise InputError(
            f"cannot be read as vectors in {kind} ({why})", path=str(file), line=error.line, hint=_VECTORS,
            reason=Reason.BAD_VECTORS,
        ) from None  # fmt: skip
    if not {"text", "vector"} <= set(frame.columns):
        raise InputError(
            path=str(file), expected="the columns 'text' and 'vector'",
            got=f"the columns {', '.join(shown(name, 40) for name in frame.columns[1:13])}", hint=_VECTORS,
            reason=Reason.BAD_VECTORS,
        )  # fmt: skip
    return frame["text"].to_list(), frame["vector"].to_list()


def _vectors_in_archive(file: Path) -> tuple[list[Any], list[Any]]:
    def bad(problem: str) -> InputError:
        return InputError(
            f"cannot be read as vectors in a NumPy archive ({problem})", path=str(file), hint=_VECTORS,
            reason=Reason.BAD_VECTORS,
        )  # fmt: skip

    with file.open("rb") as stream:
        is_archive = stream.read(2) == b"PK" and is_zipfile(file)
    if not is_archive:  # NumPy would advise to unpickle it, or take it for a single array
        raise bad("it is not an archive")
    try:
        with np.load(file, allow_pickle=False) as arrays:
            there = [name for name in ("texts", "vectors") if name in arrays]
            texts, vectors = (arrays[name] for name in there) if len(there) == 2 else (None, None)
    except (
        BadZipFile,
        zlib.error,
        OSError,
        ValueError,
        EOFError,
        NotImplementedError,
        SyntaxError,
        RuntimeError,
        struct.error,
    ):
        raise bad("it is damaged, or holds something else than plain arrays") from None
    if texts is None or vectors is None:
        raise bad("expected arrays 'texts' and 'vectors'")
    if texts.ndim != 1 or vectors.ndim != 2 or len(texts) != len(vectors) or vectors.dtype.kind not in "fiu":
        raise bad(
            "a list of texts and a matrix with as many rows are needed, not the shapes "
            f"{texts.shape} and {vectors.shape}"
        )
    return texts.tolist(), vectors.tolist()


def hugging_face_encoder(model: str, *, batch_size: int = 64, device: str | None = None) -> EmbeddingAligner:
    """Mean of a Hugging Face encoder's last states over the words of each text. The model loads at first use."""
    loaded: list[Any] = []

    def encode(texts: list[str]) -> NDArray[np.float64]:
        try:
            import torch
            from transformers import AutoModel, AutoTokenizer
        except ImportError as missing:
            raise ImportError(
                f"the embedding aligner needs {missing.name}: pip install 'sensecheck[models]'"
            ) from missing
        if not loaded:
            where = device or ("cuda" if torch.cuda.is_available() else "cpu")
            try:
                loaded.extend(
                    (AutoTokenizer.from_pretrained(model), AutoModel.from_pretrained(model).to(where).eval(), where)
                )
            except (OSError, ValueError) as error:
                raise InputError(
                    f"the encoder {shown(model)} cannot be loaded ({escaped(str(error).splitlines()[0][:200])})",
                    hint="Give the folder of a Hugging Face model, or its name where it can be fetched.",
                    reason=Reason.NO_MODEL,
                ) from None
        tokenizer, network, where = loaded
        rows = []
        with torch.inference_mode():
            for start in range(0, len(texts), batch_size):
                inputs = tokenizer(
                    texts[start : start + batch_size], padding=True, truncation=True, return_tensors="pt"
                ).to(where)
                states = network(**inputs).last_hidden_state
                mask = inputs["attention_mask"].unsqueeze(-1).to(states.dtype)
                means = (states * mask).sum(1) / mask.sum(1).clamp(min=1)
                rows.append(means.float().cpu().numpy())
        return np.concatenate(rows).astype(np.float64)

    return EmbeddingAligner(encode, model)


def aligner_named(text: str) -> Aligner:
    """The aligner that a name stands for.

    bleu, bleu:2 (order), bleu:4:floor (smoothing); nltk-bleu, nltk-bleu:method3; nist, nist:3;
    embedding:MODEL (a Hugging Face name or folder); vectors:FILE.
    """
    kind, _, rest = text.partition(":")
    if kind == "bleu":
        order, _, smoothing = rest.partition(":")
        if smoothing and smoothing not in SACREBLEU_METHODS:
            raise ValueError(f"aligner {text!r}: smoothing is one of {', '.join(SACREBLEU_METHODS)}")
        return BleuAligner(SentenceBleu(_order(text, order, 4), smoothing or "exp"))
    if kind == "nltk-bleu":
        if rest and rest not in NLTK_METHODS:
            raise ValueError(f"aligner {text!r}: smoothing is one of {', '.join(NLTK_METHODS)}")
        return BleuAligner(NltkBleu(rest or "method0"))
    if kind == "nist":
        return NistAligner(_order(text, rest, 5))
    if kind == "embedding" and rest:
        return hugging_face_encoder(rest)
    if kind == "vectors" and rest:
        return read_vectors(rest)
    raise ValueError(
        f"aligner {text!r} is not known; choose bleu[:ORDER[:SMOOTHING]], nltk-bleu[:METHOD], nist[:ORDER], "
        "embedding:MODEL or vectors:FILE"
    )


def _order(aligner: str, text: str, default: int) -> int:
    if not text:
        return default
    # Python refuses to read the longest numbers, and its words are not ours.
    order = int(text.lstrip("0")[:9] or 0) if text.isdecimal() else 0
    if order < 1:
        raise ValueError(f"aligner {aligner!r}: {text!r} is not an n-gram order (1, 2, ...)")
    if order > LONGEST_NGRAM:
        raise ValueError(f"aligner {shown(aligner, 40)}: n-grams have at most {LONGEST_NGRAM} words")
    return order


def as_aligner(aligner: Aligner | str | Callable[[Tokens, Sequence[Tokens]], float] | None) -> Aligner:
    """What a user may pass: an aligner, its name, or a function of (hypothesis words, reference word lists)."""
    if aligner is None:
        return BleuAligner()
    if isinstance(aligner, str):
        return aligner_named(aligner)
    if isinstance(aligner, Aligner):
        return aligner
    if callable(aligner):
        return CallableAligner(aligner)
    raise TypeError(f"an aligner is a name, an object with `scores`, or a function, not {type(aligner).__name__}")
