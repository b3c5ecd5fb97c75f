"""Pairs from files: premise, hypothesis and label in any common spelling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any, Unpack

import polars as pl

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import TableBatch, TableReader, kind_and_value
from sensecheck.models.classifiers import LABELS, LabelError
from sensecheck.models.digest_tables import DigestSet
from sensecheck.report.asking import Asked, EveryQuestion, asked
from sensecheck.robust.label_names import FLAG, GivenNames, LabelReader, UnknownNameError
from sensecheck.robust.pipeline import Pair

ALIASES = {
    "premise": ("premise", "sentence1", "text1", "sentence_A", "context", "question", "evidence"),
    "hypothesis": ("hypothesis", "sentence2", "text2", "sentence_B", "sentence", "claim", "query"),
    "label": ("label", "gold_label", "gold", "label_text", "entailment_label", "entailment_judgment", "labels"),
    "id": ("id", "pairID", "pair_id", "pair_ID", "uid", "idx", "index", "cid"),
}
LABEL_TEXT = "label_text"
"""A column that says in words what the integers of `label` are (SetFit's copies of data sets)."""
BAD_LABEL = "a label that is no NLI label"
BAD_TEXT = "a premise or hypothesis that is no text"
OWN_SLICES = frozenset({"polarity", "label", "rule", "left"})
"""Columns that are measured here, and can be sliced by without being in the input."""


class Pairs:
    """Reads pairs in bounded memory; `notes` and `inputs` tell afterwards what was read."""

    def __init__(self, data: Any, asked: Asked, label_names: GivenNames = None) -> None:
        self.labels = LabelReader(label_names)
        self._two_labels = False
        self._renamed = asked.columns
        self.sliced = [column for column in asked.carried if column not in OWN_SLICES]
        """Columns of the input that slices are made of."""
        self._keeps_ids = asked.repeat is not None
        self._skip_bad = asked.skip_bad
        self._coarse = 0
        self._seen = DigestSet()
        self._repeated = 0
        self._begun: Iterator[TableBatch] | None = None
        self._table = TableReader(
            data,
            columns=asked.columns,
            asked=[*ALIASES, *self.sliced],
            limit=asked.limit,
            skip_bad=asked.skip_bad,
            spelled=[*ALIASES["label"], *filter(None, [asked.columns.get("label")])],
        )

    def begin(self) -> None:
        """Read the first pairs, and refuse columns that are not there, before anything is asked."""
        batches = iter(self._table)
        first = list(islice(batches, 1))
        for batch in first:
            names = {ours: self._column(batch, ours) for ours in ALIASES}
            batch.require(self.sliced)
            _refuse_addresses(batch, names["premise"])
            self.labels.begin(batch, str(names["label"]))
            if _are_integers(batch.frame[str(names["label"])]):
                self.labels.names()
        self._begun = chain(first, batches)

    def __iter__(self) -> Iterator[Pair]:
        self._seen, self._repeated = DigestSet(), 0
        read = self._coarse = 0
        batches, self._begun = self._begun or iter(self._table), None
        for batch in batches:
            assert batch.record_numbers is not None
            names = {ours: self._column(batch, ours) for ours in ALIASES}
            batch.require(self.sliced)
            cells = {ours: batch.frame[name].to_list() for ours, name in names.items() if name is not None}
            extra = {name: batch.frame[name].to_list() for name in self.sliced}
            # QNLI: a question and a sentence, 0 entailment and 1 not entailment
            qnli = names["premise"] == "question"
            self._two_labels = self._two_labels or qnli
            _refuse_addresses(batch, names["premise"])
            self.labels.begin(batch, str(names["label"]))
            numbers = batch.record_numbers.to_list()
            given = cells.get("id", [None] * len(numbers))
            ids = [str(n) if name is None else str(name) for name, n in zip(given, numbers, strict=True)]
            seen = self._seen_before(ids, numbers)
            fresh: list[str] = []
            for i, number in enumerate(numbers):
                read += 1
                slices = {k: str(v[i]) for k, v in extra.items()}
                own = _own_name(ids[i], number) if ids[i] in seen and not self._keeps_ids else ids[i]
                pair = self._pair(batch, i, (own, ids[i]), cells, slices)
                if pair.id not in seen:
                    seen.add(pair.id)
                    fresh.append(pair.id)
                self._repeated += pair.cluster != pair.id
                if pair.gold == 1 and qnli:
                    pair = replace(pair, coarse=True)
                self._coarse += pair.coarse
                yield pair
            self._seen.add(fresh)
        lost = self._table.lost_lines()
        if lost is not None and read:
            for name, why in lost.select("id", "reason").iter_rows():
                yield Pair(name, "", "", None, dict.fromkeys(self.sliced, ""), why, cluster=name)
        if read == 0:
            files = ", ".join(f.path for f in self._table.files)
            bad = self._table.only_bad()
            raise InputError(
                f"there is no pair to read{', ' + bad if bad else ''}",
                path=files or None,
                hint="Each pair is a line of JSON or a row of a table with a premise, a hypothesis and a label.",
                reason=Reason.EMPTY,
            )

    def _seen_before(self, ids: Sequence[str], numbers: Sequence[int]) -> set[str]:
        """Names of earlier pairs that some rows have, or get because of their ids."""
        seen = self._seen.known(ids)
        there = set(seen)
        own = []
        for name, number in zip(ids, numbers, strict=True):
            if name in there:
                own.append(_own_name(name, number))
            there.add(name)
        return seen | self._seen.known(own)

    def _column(self, batch: TableBatch, ours: str) -> str | None:
        there = batch.frame.columns[1:]
        # The asked-for name first; QNLI has a question and a sentence, and "sentence" must not take a premise's place.
        for name in ALIASES[ours]:
            if name in there:
                return LABEL_TEXT if name == "label" and self._said_in_words(batch) else name
        for name in ALIASES[ours]:
            same = [column for column in there if column.strip().lower().replace(" ", "_") == name.lower()]
            if len(same) == 1:
                return same[0]
        if ours == "id":
            return None
        batch.require([ours])
        raise AssertionError("unreachable")

    def _said_in_words(self, batch: TableBatch) -> bool:
        """Whether the labels are integers whose names nobody gives, and another column gives them in words."""
        there = batch.frame.columns
        if LABEL_TEXT not in there or "label" in self._renamed or self.labels.given:
            return False
        return _are_integers(batch.frame["label"]) and not any(
            "label" in labels.names or labels.fault for labels in batch.class_labels
        )

    def _pair(
        self, batch: TableBatch, i: int, names: tuple[str, str], cells: dict[str, list[Any]], extra: dict[str, str]
    ) -> Pair:
        """One row, with a name of its own and the id that it may share with others: those vary together."""
        name, cluster = names
        texts = []
        for field in ("premise", "hypothesis"):
            text = cells[field][i]
            if not isinstance(text, str) or not text.strip():
                if not self._skip_bad:
                    raise batch.error(
                        i,
                        field=field,
                        expected="a text",
                        got=shown(text),
                        hint="Fix it, or pass --skip-bad (skip_bad=True) to count it.",
                        reason=Reason.NOT_A_TEXT,
                    )
                return Pair(name, str(text or ""), "", None, extra, BAD_TEXT, cluster=cluster)
            texts.append(text)
        try:
            meaning = self.labels.read(cells["label"][i])
        except LabelError as error:
            if not self._skip_bad:
                raise _no_label(batch, i, cells["label"][i], error) from None
            return Pair(name, texts[0], texts[1], None, extra, BAD_LABEL, cluster=cluster)
        return Pair(name, texts[0], texts[1], meaning.label, extra, cluster=cluster, coarse=meaning.coarse)

    def inputs(self) -> list[dict[str, Any]]:
        return self._table.inputs()

    def label_choice(self) -> str:
        """How labels were read, for the signature."""
        return self.labels.choice(self._two_labels)

    def label_notes(self) -> list[str]:
        return self.labels.notes(self._two_labels)

    def notes(self) -> list[str]:
        notes = self.label_notes()
        if self._repeated:
            pairs, ids = len(self._seen), len(self._seen) - self._repeated
            shared = f"{pairs:,} pairs share {ids:,} id{'s' if ids > 1 else ''}"
            notes.append(f"{shared}: pairs with the same id are resampled together")
        if self._coarse:
            notes.append(
                f"{self._coarse:,} pairs are only known not to be entailed: neutral and contradiction both count as "
                "right there, and the triangle is judged by the model's own label"
            )
        return notes


def pairs_of(data: Any, label_names: GivenNames = None, **shared: Unpack[EveryQuestion]) -> list[Pair]:
    """The pairs of a file, in memory."""
    return list(Pairs(data, asked(shared), label_names))


def _own_name(name: str, number: int) -> str:
    """What a pair is called whose id another one has."""
    return f"{name}#{number}"


def _are_integers(column: pl.Series) -> bool:
    return column.dtype.is_numeric() or (
        column.dtype == pl.String and bool(column.drop_nulls().str.contains(r"^\s*-?[0-9]+\s*$").all())
    )


def _refuse_addresses(batch: TableBatch, premise: str | None) -> None:
    """FEVER's own files say where the evidence stands, and not what it says."""
    if premise is not None and batch.frame[premise].dtype.is_nested():
        column = batch.frame[premise]
        raise InputError(
            path=batch.path or None, field=premise, expected="the text of the premise",
            got=kind_and_value(column[int(column.is_not_null().arg_max() or 0)]),
            hint="FEVER's own files only name pages and sentences: take a copy that holds the text of the evidence "
            "(query and context, or claim and evidence), or say which column does: --columns premise=COLUMN.",
            reason=Reason.NOT_A_TEXT,
        )  # fmt: skip


def _no_label(batch: TableBatch, row: int, value: Any, error: LabelError) -> InputError:
    """The error of a label that means nothing to us, with what can be done about it."""
    skip = "or pass --skip-bad (skip_bad=True) to count it"
    if isinstance(error, UnknownNameError):
        names = error.told.names
        example = ",".join(f"{shown(name, 30)[1:-1]}={label}" for name, label in zip(names, LABELS, strict=False))
        return batch.error(
            row, field="label", expected="a name that means entailment, neutral or contradiction",
            got=f"{error.number}, which {error.told.source} calls {shown(names[error.number], 40)}",
            hint=f"Say what the names mean, e.g. {FLAG} {example} (label_names=), {skip}.", reason=Reason.NOT_A_LABEL,
        )  # fmt: skip
    return batch.error(
        row, field="label", expected="entailment, neutral, contradiction, 0, 1, 2, or '-' for no gold",
        got=shown(value), hint=f"Fix it, say what it means ({FLAG} LABEL=entailment,…; label_names=), {skip}.",
        reason=Reason.NOT_A_LABEL,
    )  # fmt: skip


def statements_in_file(data: Any, columns: Mapping[str, str] | None = None) -> Iterator[tuple[str, bool, str, str]]:
    """(hypothesis, positive, statement, rule) from a table with the columns hypothesis, polarity and statement; the
    column rule may be missing.
    """
    from sensecheck.robust.statements import standardise

    for batch in TableReader(data, columns=columns, asked=["hypothesis", "polarity", "statement"], marked=True):
        batch.require(["hypothesis", "polarity", "statement"])
        frame = batch.frame
        hypotheses, statements = batch.texts("hypothesis").to_list(), batch.texts("statement").to_list()
        rules = batch.texts("rule").to_list() if "rule" in frame.columns else [""] * len(statements)
        for i, (hypothesis, polarity, statement, rule) in enumerate(
            zip(hypotheses, frame["polarity"].to_list(), statements, rules, strict=True)
        ):
            if str(polarity).lower() not in ("positive", "negative"):
                raise batch.error(i, field="polarity", expected="positive or negative", got=shown(polarity))
            yield standardise(hypothesis), str(polarity).lower() == "positive", statement, rule or ""


class PredictionsInFile:
    """(premise, hypothesis, label or three scores) from a table of stored predictions, read anew each time."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __iter__(self) -> Iterator[tuple[str, str, object]]:
        return predictions_in_file(self.path)


def predictions_in_file(data: Any, columns: Mapping[str, str] | None = None) -> Iterator[tuple[str, str, object]]:
    """(premise, hypothesis, label or three scores) from a table of stored predictions."""
    for batch in TableReader(data, columns=columns):
        batch.require(["premise", "hypothesis"])
        frame = batch.frame
        scores = [name for name in ("entailment", "neutral", "contradiction") if name in frame.columns]
        if len(scores) == 3:
            given = [batch.numbers(name) for name in scores]
            for column in given:
                if column.has_nulls():
                    row = int(column.is_null().arg_max() or 0)
                    raise batch.error(row, field=column.name, expected="a score", got="none")
            values: list[object] = list(zip(*(column.to_list() for column in given), strict=True))
        else:
            batch.require(["prediction"])
            labels = LabelReader()
            labels.begin(batch, "prediction")
            values = frame["prediction"].to_list()
            for i, value in enumerate(values):
                try:
                    meant = labels.read(value).label
                except LabelError:
                    raise batch.error(i, field="prediction", expected="an NLI label", got=shown(value)) from None
                if labels.by_names_in_data and meant is not None:
                    values[i] = LABELS[meant]
        premises, hypotheses = batch.texts("premise").to_list(), batch.texts("hypothesis").to_list()
        yield from zip(premises, hypotheses, values, strict=True)
