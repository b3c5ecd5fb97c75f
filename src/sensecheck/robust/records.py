"""Pairs from files: premise, hypothesis and label in any common spelling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import Any, Unpack

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import TableBatch, TableReader
from sensecheck.models.classifiers import LabelError, label_of
from sensecheck.report.asking import Asked, EveryQuestion, asked
from sensecheck.robust.pipeline import Pair

ALIASES = {
    "premise": ("premise", "sentence1", "text1", "sentence_A", "context", "question"),
    "hypothesis": ("hypothesis", "sentence2", "text2", "sentence_B", "sentence"),
    "label": ("label", "gold_label", "gold", "label_text", "entailment_label", "entailment_judgment", "labels"),
    "id": ("id", "pairID", "pair_id", "pair_ID", "uid", "idx", "index"),
}
TWO_LABELS = frozenset({"not_entailment", "not-entailment", "not entailment"})
BAD_LABEL = "a label that is no NLI label"
BAD_TEXT = "a premise or hypothesis that is no text"
OWN_SLICES = frozenset({"polarity", "label", "rule", "left"})
"""Columns that are measured here, and can be sliced by without being in the input."""


class Pairs:
    """Reads pairs in bounded memory; `notes` and `inputs` tell afterwards what was read."""

    def __init__(self, data: Any, asked: Asked) -> None:
        self.sliced = [column for column in asked.carried if column not in OWN_SLICES]
        """Columns of the input that slices are made of."""
        self._keeps_ids = asked.repeat is not None
        self._skip_bad = asked.skip_bad
        self._coarse = 0
        self._seen: set[str] = set()
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
            for ours in ALIASES:
                self._column(batch, ours)
            batch.require(self.sliced)
        self._begun = chain(first, batches)

    def __iter__(self) -> Iterator[Pair]:
        seen: set[str] = set()
        self._seen, self._repeated = seen, 0
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
            for i, number in enumerate(batch.record_numbers.to_list()):
                read += 1
                pair = self._pair(batch, i, number, cells, {k: str(v[i]) for k, v in extra.items()}, seen)
                seen.add(pair.id)
                self._repeated += pair.cluster != pair.id
                if pair.gold == 1 and (qnli or str(cells["label"][i]).strip().lower() in TWO_LABELS):
                    pair = replace(pair, coarse=True)
                    self._coarse += 1
                yield pair
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

    def _column(self, batch: TableBatch, ours: str) -> str | None:
        there = batch.frame.columns[1:]
        # The asked-for name first; QNLI has a question and a sentence, and "sentence" must not take a premise's place.
        for name in ALIASES[ours]:
            if name in there:
                return name
        for name in ALIASES[ours]:
            same = [column for column in there if column.strip().lower().replace(" ", "_") == name.lower()]
            if len(same) == 1:
                return same[0]
        if ours == "id":
            return None
        batch.require([ours])
        raise AssertionError("unreachable")

    def _pair(
        self, batch: TableBatch, i: int, number: int, cells: dict[str, list[Any]], extra: dict[str, str], seen: set[str]
    ) -> Pair:
        given = cells["id"][i] if "id" in cells else None
        cluster = name = str(number) if given is None else str(given)
        if name in seen and not self._keeps_ids:
            # Each pair has a name of its own; those that share an id vary together.
            name = f"{name}#{number}"
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
            gold = label_of(cells["label"][i])
        except LabelError:
            if not self._skip_bad:
                raise batch.error(
                    i,
                    field="label",
                    expected="entailment, neutral, contradiction, 0, 1, 2, or '-' for no gold",
                    got=shown(cells["label"][i]),
                    hint="Fix it, or pass --skip-bad (skip_bad=True) to count it.",
                    reason=Reason.NOT_A_LABEL,
                ) from None
            return Pair(name, texts[0], texts[1], None, extra, BAD_LABEL, cluster=cluster)
        return Pair(name, texts[0], texts[1], gold, extra, cluster=cluster)

    def inputs(self) -> list[dict[str, Any]]:
        return self._table.inputs()

    def notes(self) -> list[str]:
        notes = []
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


def pairs_of(data: Any, **shared: Unpack[EveryQuestion]) -> list[Pair]:
    """The pairs of a file, in memory."""
    return list(Pairs(data, asked(shared)))


def statements_in_file(data: Any, columns: Mapping[str, str] | None = None) -> list[tuple[str, bool, str]]:
    """(hypothesis, positive, statement) from a table with the columns hypothesis, polarity and statement."""
    from sensecheck.robust.statements import standardise

    rows = []
    for batch in TableReader(data, columns=columns, asked=["hypothesis", "polarity", "statement"], marked=True):
        batch.require(["hypothesis", "polarity", "statement"])
        frame = batch.frame
        hypotheses, statements = batch.texts("hypothesis").to_list(), batch.texts("statement").to_list()
        for i, (hypothesis, polarity, statement) in enumerate(
            zip(hypotheses, frame["polarity"].to_list(), statements, strict=True)
        ):
            if str(polarity).lower() not in ("positive", "negative"):
                raise batch.error(i, field="polarity", expected="positive or negative", got=shown(polarity))
            rows.append((standardise(hypothesis), str(polarity).lower() == "positive", statement))
    return rows


def predictions_in_file(data: Any, columns: Mapping[str, str] | None = None) -> list[tuple[str, str, object]]:
    """(premise, hypothesis, label or three scores) from a table of stored predictions."""
    rows: list[tuple[str, str, object]] = []
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
            values = frame["prediction"].to_list()
            for i, value in enumerate(values):
                try:
                    label_of(value)
                except LabelError:
                    raise batch.error(i, field="prediction", expected="an NLI label", got=shown(value)) from None
        premises, hypotheses = batch.texts("premise").to_list(), batch.texts("hypothesis").to_list()
        rows += list(zip(premises, hypotheses, values, strict=True))
    return rows
