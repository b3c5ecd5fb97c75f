"""What a judge is shown of each predicted query, and where the comparison of answers is in doubt."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from sensecheck.correct.figures import NOT_NORMALISED
from sensecheck.correct.measure import Scored, is_answered, shown_answer
from sensecheck.correct.records import Record, Records
from sensecheck.correct.scoring import NO_STORE, Scorer
from sensecheck.correct.ties import UNDECIDED
from sensecheck.judges.judge import Judge, Texts, fitting_schema
from sensecheck.judges.template import Asks
from sensecheck.runs.collecting import Batch
from sensecheck.stores import Answer, Failure, Request, SqlStore, Store, StoreError

ASKS = {
    "answer": Asks(
        "answer", __package__, "answer.txt",
        ("schema", "question", "gold", "gold_answer", "prediction", "predicted_answer", "message"),
        (("question",), ("gold", "gold_answer"), ("prediction", "predicted_answer", "message")),
    )
}  # fmt: skip
NO_QUESTION = "the record has no question that a judge could read"
_NO_GOLD = "no gold query"
_MATCHES = ("em", "em_tokens", "em_normalised")


class Cases:
    """Of the batches of one run."""

    def __init__(self, judge: Judge, scorer: Scorer | None) -> None:
        self._judge, self._scorer = judge, scorer
        self._store: Store | None = None if scorer is None else scorer.store
        self._schemas: dict[str, str] = {}

    def run_without_gold(self, records: Records, scores: Sequence[Scored] | None) -> None:
        """What predictions answer whose gold is missing or fails: a judge has nothing else to go by."""
        if scores is None or self._scorer is None or self._store is None:
            return
        requests: dict[int, Request] = {}
        for row, (record, score) in enumerate(zip(records, scores, strict=True)):
            if _why_unheld(record, score) and record.prediction and not record.fault and not is_answered(record):
                file = self._file(record)
                if file is not None:
                    requests[row] = Request(record.prediction, file)
        outcomes = self._scorer.ask(list(dict.fromkeys(requests.values())))
        for row, request in requests.items():
            outcome, score = outcomes.get(request), scores[row]
            if isinstance(outcome, Answer):
                score.outcome, score.answer_text = "answered", shown_answer(outcome)
            elif isinstance(outcome, Failure):
                score.outcome, score.message = str(outcome.reason), outcome.message

    def judged(self, batch: Batch, records: Records, scores: Sequence[Scored] | None) -> Batch:
        """The batch with the judge's verdicts. A row without a gold is scored, by the judge alone."""
        rows = batch.measurements
        why_unheld = [
            None if record.fault else _why_unheld(record, None if scores is None else scores[row])
            for row, record in enumerate(records)
        ]
        rows = _revived(rows, pl.Series(why_unheld, dtype=pl.String))
        verdicts = rows["correct"].to_list() if "correct" in rows.columns else [None] * len(rows)
        scored = rows["scored"].to_list()
        different = rows["proven_different"].to_list() if "proven_different" in rows.columns else [None] * len(rows)
        cases: list[Texts | str | None] = []
        for row, record in enumerate(records):
            score = None if scores is None else scores[row]
            predicts = record.prediction is not None or is_answered(record)
            sure = verdicts[row] is not None and not (different[row] or _shows_little(score))
            if not scored[row] or not predicts or (sure and not self._judge.always):
                cases.append(None)
                if scored[row] and not predicts and verdicts[row] is None:
                    verdicts[row] = False  # nothing was predicted: nobody need be asked whether that is right
                continue
            cases.append(self._texts(record, score) if record.question.strip() else NO_QUESTION)
        return self._judge.added(Batch(rows, batch.examples, batch.places), verdicts, cases)

    def _texts(self, record: Record, score: Scored | None) -> Texts:
        texts = {"question": record.question, "schema": self._schema(record), "gold": record.gold or ""}
        texts["prediction"] = record.prediction or ""
        if score is not None:
            texts |= {"gold_answer": score.gold_text, "predicted_answer": score.answer_text}
            failed = score.outcome not in ("answered", "not run")
            texts["message"] = f"{score.outcome}: {score.message}" if failed else ""
        return texts

    def _file(self, record: Record) -> str | None:
        if not isinstance(self._store, SqlStore):
            return ""
        try:
            return str(self._store.files(record.database)[0])
        except StoreError:
            return None

    def _schema(self, record: Record) -> str:
        """The tables of its database; nothing of a graph, which has none."""
        if not isinstance(self._store, SqlStore):
            return ""
        if record.database not in self._schemas:
            file = self._file(record)
            schema = None if file is None else self._store.schema(file)
            lines = []
            if schema is not None:
                lines = [f"{table}({', '.join(columns)})" for table, columns in schema.tables.items()]
                lines += [f"{a}.{b} refers to {c}.{d}" for (a, b), (c, d) in schema.foreign_keys]
            self._schemas[record.database] = "\n".join(lines)
        return fitting_schema(self._schemas[record.database], f"{record.gold or ''} {record.prediction or ''}")


def _why_unheld(record: Record, score: Scored | None) -> str | None:
    """Why there is no verdict, where a gold that answers is missing, or a store to run it on; else None."""
    if score is None:
        return None if record.gold else _NO_GOLD
    why = score.unscored
    return why if why in (_NO_GOLD, "no gold answer", NO_STORE) or why.startswith("gold query: ") else None


def _shows_little(score: Scored | None) -> bool:
    """Whether a right answer may be right by chance."""
    return score is not None and bool(score.vacuous or score.tie)


def _revived(rows: pl.DataFrame, why_unheld: pl.Series) -> pl.DataFrame:
    """The rows without a gold as scored ones, which lack every figure but the judge's, each for that reason."""
    if UNDECIDED not in rows.columns:
        rows = rows.with_columns(pl.lit(None, dtype=pl.String).alias(UNDECIDED))
    unheld = why_unheld.is_not_null()
    matches = [name for name in _MATCHES if name in rows.columns]
    whys = [name for name in (UNDECIDED, NOT_NORMALISED) if name in rows.columns]
    return rows.with_columns(
        pl.when(unheld).then(pl.lit(None)).otherwise(pl.col("reason")).alias("reason"),
        (pl.col("scored") | unheld).alias("scored"),
        *(pl.when(unheld).then(pl.lit(None)).otherwise(pl.col(name)).alias(name) for name in matches),
        *(pl.when(unheld).then(why_unheld).otherwise(pl.col(name)).alias(name) for name in whys),
    )
