"""What is done to records before they are scored: statements taken out of predictions, golds told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sensecheck.correct.fields import SeveralGolds
from sensecheck.correct.measure import Choices, Scored
from sensecheck.correct.records import Record, Records
from sensecheck.language.extracting import statement_in, statements_of


def take_statements(records: Records, choices: Choices) -> None:
    """Put the statement that a prediction holds in its place, where it is more than one; nothing is told of golds."""
    texts = {text for text in records.prediction if text}
    taken = {text: statement_in(text, choices.language, choices.dialect) for text in texts}
    records.written = records.prediction
    records.prediction = [text if not text else taken[text] for text in records.written]


def tell_golds_apart(records: Records, choices: Choices) -> None:
    """Where a record has several golds, listed or divided by semicolons, hold them all and score by the first."""
    for row, gold in enumerate(records.gold):
        if isinstance(gold, SeveralGolds):
            golds = list(gold.queries)
        elif choices.language == "sql" and gold is not None and ";" in gold:
            golds = statements_of(gold, choices.dialect)
        else:
            continue
        if golds:
            records.golds[row] = golds
            records.gold[row] = golds[0]


def with_other_golds(records: Records) -> Records:
    """The records, and behind them those with several golds once more for each further one."""
    if not records.golds:
        return records
    all_of_them = Records()
    all_of_them.extend(replace(records, extra={}))
    every = list(records)
    for row, golds in records.golds.items():
        for gold in golds[1:]:
            _append(all_of_them, replace(every[row], gold=gold))
    return all_of_them


def _append(records: Records, record: Record) -> None:
    for name in Record.__slots__:
        getattr(records, name).append(getattr(record, name))


def best_scores(records: Records, scores: Sequence[Scored]) -> list[Scored]:
    """For every record the score by the gold that suits its prediction best."""
    best = list(scores[: len(records)])
    others = iter(scores[len(records) :])
    for row, golds in records.golds.items():
        rivals = [best[row], *(next(others) for _ in golds[1:])]
        chosen = max(rivals, key=_rank)
        # Each convention is right where any gold makes it right, whichever the comparison of ours prefers.
        named = [rival.named for rival in rivals if not rival.unscored]
        for name in chosen.named:
            values = [verdicts[name] for verdicts in named if verdicts.get(name) is not None]
            chosen.named[name] = max(values, default=chosen.named[name])
        best[row] = chosen
    return best


def _rank(score: Scored) -> tuple[bool, bool, bool, float, bool]:
    """Of golds that are not met, the one that the prediction is nearest to."""
    f1 = score.sets.f1 if score.sets is not None else 0.0
    repairable = score.explanation is not None and bool(score.explanation.repaired)
    return not score.unscored, score.correct is True, bool(score.undecided), f1, repairable
