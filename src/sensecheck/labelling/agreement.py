"""`agree`: a run's verdicts held against people's labels, with the figures, pages and comparisons that any run has."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import combinations
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import orjson
import polars as pl

from sensecheck.inputs.errors import InputError, did_you_mean, shown
from sensecheck.inputs.fingerprints import of_value
from sensecheck.inputs.opening import is_path, sources
from sensecheck.inputs.reasons import Reason
from sensecheck.labelling.figures import (
    LABELS_FOR_INTERVALS,
    LABELS_TABLE,
    MOST_PEOPLE,
    SAYS_RIGHT,
    SAYS_WRONG,
    pair_columns,
    person_columns,
    statistics,
)
from sensecheck.labelling.items import VERDICT, Items, items_in_file, items_of
from sensecheck.labelling.judging import RIGHT
from sensecheck.labelling.matching import Matched, matched
from sensecheck.labelling.reading import read
from sensecheck.labelling.sheet import own_pages
from sensecheck.options import Option
from sensecheck.report.asking import asked
from sensecheck.report.examples import plain_pages
from sensecheck.report.instrument import Instrument
from sensecheck.report.question import Question
from sensecheck.report.result import Result, load
from sensecheck.runs.collecting import Batch
from sensecheck.runs.directory import SUMMARY, damage_told
from sensecheck.runs.signature import Method
from sensecheck.statistics.agreement import FOR_INTERVALS, SPLITS, TABLE
from sensecheck.statistics.figure import IntervalOptions

ASKS = "How far can the verdict be believed?"
MAJORITY = "majority"
UNCLEAR, APART, UNFAIR = "people say unclear", "people disagree", "people took it out"
OTHERS = "others labelled it"
_FEW = 30


def evaluate(
    data: Annotated[Any, Option("the run, or a file with a column of verdicts; then the labels", metavar="FILE")],
    *,
    verdict: Annotated[
        str | None,
        Option("the column of verdicts: of the run (default: its outcome), or of a file in its place",
               group="what is measured", metavar="COLUMN"),
    ] = None,
    people: Annotated[
        Sequence[str] | None,
        Option("columns of labels, one a person, in the file of verdicts or in tables of labels (repeatable)",
               group="what is measured", metavar="COLUMN", repeat=True),
    ] = None,
    truth: Annotated[
        str,
        Option("whose labels are the truth: those of the majority, or of this person", group="what is measured",
               metavar="NAME"),
    ] = MAJORITY,
    slices: Annotated[
        str | Sequence[str | Sequence[str]],
        Option("figures for every value of a column; 'a×b' (or 'a*b') crosses two (repeatable)", flag="--slice",
               group="what is measured", metavar="COLUMN", repeat=True),
    ] = (),
    out: Annotated[
        str | os.PathLike[str] | None,
        Option("keep the run here: measurements, summary.json, report.html", group="output", metavar="DIR"),
    ] = None,
    overwrite: Annotated[bool, Option("replace the run in --out", group="output")] = False,
    system: Annotated[
        str | None, Option("what to call the verdict in tables and reports", group="output", metavar="NAME")
    ] = None,
    options: Annotated[IntervalOptions | None, Option("how intervals are made", group="intervals")] = None,
) -> Result:  # fmt: skip
    """How far the verdicts of a run agree with people, and people with one another.

    data: the run (a directory or a `Result`), then the labels; or a file with a column of verdicts in the place of the
    run, then labels, or columns of people in that file.
    """
    source, labels = _sorted(data)
    chosen = asked({"slices": slices, "out": out, "overwrite": overwrite, "system": system, "options": options})
    columns = [people] if isinstance(people, str) else people
    of_folder = isinstance(source, str) and Path(source).is_dir()
    with damage_told(Path(source)) if of_folder else nullcontext():
        return _Agreement(source, labels, verdict, columns, truth, chosen).run()


def _sorted(data: Any) -> tuple[Any, list[Any]]:
    """The run, and the labels."""
    records = isinstance(data, list) and all(isinstance(one, Mapping) for one in data)
    given = list(data) if isinstance(data, list | tuple) and not records else [data]
    if not given:
        raise InputError("agree takes a run and labels", hint="agree RUN labels.jsonl", reason=Reason.NO_INPUT)
    named = [os.fspath(one) if isinstance(one, os.PathLike) else one for one in given]
    return named[0], named[1:]


class _Agreement(Instrument):
    def __init__(
        self, source: Any, labels: Sequence[Any], verdict: str | None, people: Sequence[str] | None, truth: str,
        asked: Any,
    ) -> None:  # fmt: skip
        super().__init__([], asked)
        self.question = QUESTION
        self.truth = truth
        of_run = isinstance(source, Result) or (is_path(source) and not Path(source).is_file() and verdict is None)
        of_file = not (of_run or (is_path(source) and Path(source).is_dir()))
        if of_file and verdict is None:
            named = shown(str(source), 60) if is_path(source) else "the table"
            raise InputError(
                f"{named} holds no run, and nobody says which column of it holds verdicts",
                hint="Name it: --verdict COLUMN (verdict=), with right and wrong, yes and no, or 1 and 0.",
                reason=Reason.NO_COLUMN,
            )  # fmt: skip
        if not labels and not (of_file and people):
            raise InputError(
                "there are no labels", reason=Reason.NO_INPUT,
                hint="agree RUN labels.jsonl …; of a file of verdicts, --people COLUMN names the people in it.",
            )  # fmt: skip
        table = list(labels) if len(labels) != 1 else labels[0]
        said = read(table if labels else source, annotators=list(people) if people else None)
        self.labels = _of_one_question(said)
        self.measured: Result | None = None
        self.texts = pl.DataFrame()
        sliced = self.asked.sliced
        if of_file:
            self.items, self.texts = items_in_file(source, str(verdict), sliced)
        else:
            self.measured = source if isinstance(source, Result) else load(source)
            strata = _strata_columns(self.labels, self.measured)
            about = str(self.labels["question"][0] or "")
            judging = self.measured.question.judging
            about = about if judging is not None and about in judging.others else ""
            self.items = items_of(self.measured, list(dict.fromkeys([*sliced, *strata])), verdict or "", about)
            summary = self.measured.directory.path / SUMMARY if self.measured.directory is not None else None
            source = None if summary is None else str(summary)
        # What an interrupted run must find again: the run by its figures, and the files of labels.
        self.data = [given for given in (source, *labels) if isinstance(given, str)]
        self.verdict = verdict or (self.measured.question.outcome if self.measured is not None else "")
        self.fits = matched(self.labels, self.items)
        self.people = sorted(set(self.fits.labels["who"].to_list()), key=str.casefold)
        if truth != MAJORITY and truth not in self.people:
            raise InputError(
                field="truth", expected=f"majority, or one of {', '.join(shown(who, 40) for who in self.people[:12])}",
                got=shown(truth, 60), hint=did_you_mean(truth, [MAJORITY, *self.people]) or None,
                reason=Reason.BAD_OPTION,
            )  # fmt: skip

    def method(self) -> Method:
        told = self.fits.labels.select("id", "who", "label", "fair").sort("id", "who")
        return {
            "truth": self.truth,
            "people": len(self.people),
            "drawn": "by " + "×".join(self.fits.strata) if self.fits.drawn else "not said",
            "labels": of_value(told.rows()),
        }

    def defaults(self) -> Method:
        return {"truth": MAJORITY}

    def system(self) -> Mapping[str, str]:
        told = {"name": self.asked.system or self.items.name, "verdict": self.verdict}
        return told if self.measured is None else {**told, "of": self.measured.signature.short}

    def inputs(self) -> list[dict[str, Any]]:
        files = []
        for source in sources(self.data) if self.data else []:
            source.digest_file()
            files.append({"path": source.name, "sha256": source.sha256})
        return files

    def batches(self, done: int) -> Iterator[Batch]:
        if done:
            return
        frame, notes = examples(self.fits, self.items, self.truth, self.people, self.asked.sliced)
        self.notes += notes
        apart = int((frame["_no_truth"] == APART).sum())
        if apart:
            counted = f"{apart:,} example{'s' if apart > 1 else ''}"
            self.notes.append(
                f"on {counted} as many people say right as wrong: no figure of the verdict against the majority counts "
                "them, and such are the hard ones, so that it looks better than it is; let one more person decide, or "
                "name one (--truth)"
            )
        if self.items.left_out:
            self.notes.append(f"{self.items.left_out:,} examples have no verdict: no figure speaks of them")
        if len(self.people) > MOST_PEOPLE:
            self.notes.append(f"{len(self.people):,} people: pairs of them are not told apart, α takes all together")
        yield Batch(frame, self._shown(frame["id"]))

    def _shown(self, ids: pl.Series) -> pl.DataFrame:
        """What the page shows of each: the run's own view, and who said what."""
        drawn = pl.DataFrame({"id": ids}).join(self.items.frame, on="id", how="left", maintain_order="left")
        if self.measured is not None:
            pages = own_pages(self.measured, self.items, drawn)
        else:
            texts = pl.DataFrame({"id": ids}).join(self.texts, on="id", how="left", maintain_order="left")
            pages = plain_pages(texts)
        said: dict[str, list[list[str]]] = {}
        for row in self.fits.labels.iter_rows(named=True):
            label = row["label"] if row["fair"] else f"{row['label']}, {self.items.judging.flag or 'taken out'}"
            said.setdefault(row["id"], []).append([row["who"], label, row["note"] or ""])
        parts = [
            [{"label": "people", "head": ["who", "label", "note"], "rows": said[name]}, *page["parts"]]
            for name, page in zip(ids.to_list(), pages, strict=True)
        ]
        told = [str(page.get("title") or "") for page in pages]
        packed = [orjson.dumps(part, default=str).decode() for part in parts]
        return pl.DataFrame({"id": ids, "title": told, "parts": packed})


def _of_one_question(labels: pl.DataFrame) -> pl.DataFrame:
    """The labels of a tool that asked several things cannot be read as one."""
    asked_for = labels["question"].fill_null("").unique(maintain_order=True).to_list()
    if len(asked_for) > 1:
        raise InputError(
            f"the labels answer several questions: {', '.join(shown(name, 40) for name in asked_for[:8])}",
            hint="Give those of one.", reason=Reason.MIXED,
        )  # fmt: skip
    return labels


def _strata_columns(labels: pl.DataFrame, run: Result) -> list[str]:
    """The columns that labels were drawn by, as far as the run still has them."""
    told = [orjson.loads(text) for text in labels["stratum"].drop_nulls().unique().to_list()]
    names = list(dict.fromkeys(name for stratum in told for name in stratum if name != VERDICT))
    return [name for name in names if name in run.rows.schema]


# ---- rows


@dataclass
class _Votes:
    """What people said of one example."""

    said: dict[str, bool]
    who: set[str]
    """Whoever labelled it, unclear or not."""
    unfair: int = 0

    def truth(self, of: str) -> tuple[bool | None, str]:
        """Right or wrong, or why neither."""
        if self.unfair and 2 * self.unfair >= len(self.who):
            return None, UNFAIR
        if of != MAJORITY:
            return (self.said[of], "") if of in self.said else (None, UNCLEAR if of in self.who else OTHERS)
        right = sum(self.said.values())
        if not self.said:
            return None, UNCLEAR
        return (None, APART) if 2 * right == len(self.said) else (2 * right > len(self.said), "")


def examples(
    fits: Matched, items: Items, truth: str, people: Sequence[str], columns: Sequence[str] = ()
) -> tuple[pl.DataFrame, list[str]]:
    """A row for each labelled example: what verdict and people say, what it stands for, and the parts of all sums.

    columns: further columns of the items, for slices.
    """
    votes: dict[str, _Votes] = {}
    for row in fits.labels.iter_rows(named=True):
        of_example = votes.setdefault(row["id"], _Votes({}, set()))
        of_example.who.add(row["who"])
        of_example.unfair += not row["fair"]
        if row["fair"] and row["right"] is not None:
            of_example.said[row["who"]] = row["right"]
    truths = {name: own.truth(truth) for name, own in votes.items()}
    # Examples on which people are even say something of people, and nothing of the verdict.
    usable = pl.Series([name for name, (told, why) in truths.items() if not why or why == APART], dtype=pl.String)
    weights, notes = fits.weighed(usable)
    stands_for = dict(weights.select("id", "stands_for").iter_rows())
    total, labelled = sum(stands_for.values()), max(len(usable), 1)
    whole = _verdicts_known(fits, items)
    ids = pl.DataFrame({"id": list(votes)}, schema={"id": pl.String})
    of_items = ids.join(items.frame, on="id", how="left", maintain_order="left")
    own = [name for name in ("cluster", *columns) if name in of_items.columns]
    place = {who: at for at, who in enumerate(people)}
    rows = []
    for row in of_items.iter_rows(named=True):
        name = row["id"]
        told, why = truths[name]
        scored = not why or why == APART
        # The mean weight is 1, so that sums count examples where all weigh the same.
        weight = stands_for[name] / total * labelled if scored else 1.0
        verdict = row["verdict"] == RIGHT
        known = {"id": name, "scored": scored, "reason": None if scored else why, "weight": weight}
        known |= {"stands_for": stands_for[name], **{column: row[column] for column in own}}
        known |= {"verdict": verdict, "people": told, "agrees": None if told is None else told == verdict}
        known["_no_ppv"] = why or (None if verdict else SAYS_WRONG)
        known["_no_npv"] = why or (SAYS_RIGHT if verdict else None)
        if scored:
            ours = _for_intervals(verdict, weight, total / labelled, total if whole else 0.0)
            known |= {**ours, **_of_people(votes[name].said, verdict, weight, place, ours)}
        if told is not None:
            known |= _of_table(verdict, told)
        rows.append(known | {"_no_truth": why or None})
    return pl.DataFrame(rows, schema=_schema(of_items, own, people)), notes


_OWN = ("scored", "reason", "weight", "stands_for", "people", "agrees")


def _schema(of_items: pl.DataFrame, own: Sequence[str], people: Sequence[str]) -> dict[str, Any]:
    for name in own:
        if name in _OWN or name.startswith("_"):
            raise InputError(
                f"cannot slice by {shown(name)}: the measurements of agree have a column of that name",
                reason=Reason.RESERVED_NAME,
            )  # fmt: skip
    kinds: dict[str, Any] = {"id": pl.String, "scored": pl.Boolean, "reason": pl.String, "weight": pl.Float64}
    kinds["stands_for"] = pl.Float64
    kinds |= {name: of_items.schema[name] for name in own}
    kinds |= dict.fromkeys(("verdict", "people", "agrees"), pl.Boolean)
    kinds |= dict.fromkeys((*TABLE, "right_if_right", "wrong_if_wrong"), pl.Boolean)
    kinds |= dict.fromkeys(("_no_truth", "_no_ppv", "_no_npv"), pl.String)
    numbers = [*FOR_INTERVALS]
    if len(people) > 1:
        numbers += ["people_same", *SPLITS, *LABELS_TABLE, *LABELS_FOR_INTERVALS]
        if len(people) <= MOST_PEOPLE:
            numbers += [column for two in combinations(range(len(people)), 2) for column in pair_columns(*two)]
            numbers += [column for person in range(len(people)) for column in person_columns(person)]
    return kinds | dict.fromkeys(numbers, pl.Float64)


def _verdicts_known(fits: Matched, items: Items) -> bool:
    """Whether the weights give the run's share of right verdicts: it was drawn by verdict, and none has changed."""
    if not fits.drawn or VERDICT not in fits.strata:
        return False
    now = fits.examples.join(items.frame.select("id", "verdict"), on="id", how="left")
    then = now["stratum"].str.json_path_match(f"$.{VERDICT}")
    return bool((now["verdict"] == then).all())


def _of_table(verdict: bool, told: bool) -> dict[str, Any]:
    return {
        **{name: (verdict, told) == cell for name, cell in zip(TABLE, _CELLS, strict=True)},
        "right_if_right": told if verdict else None,
        "wrong_if_wrong": None if verdict else not told,
    }


def _for_intervals(verdict: bool, weight: float, each: float, total: float) -> dict[str, float]:
    values = (weight if verdict else 0.0, 0.0 if verdict else weight, 1 / weight, each, each / total if total else 0.0)
    return dict(zip(FOR_INTERVALS, values, strict=True))


def _of_people(
    said: Mapping[str, bool], verdict: bool, weight: float, place: Mapping[str, int], ours: Mapping[str, float]
) -> dict[str, float]:
    """Of an example that two people or more called right or wrong."""
    m = len(said)
    if m < 2 or len(place) < 2:
        return {}
    r = sum(said.values())
    s = m - r
    cells = dict(zip(SPLITS, (r * (r - 1) / (m - 1), r * s / (m - 1), s * (s - 1) / (m - 1)), strict=True))
    found = {"people_same": 1 - 2 * r * s / (m * (m - 1)), **cells}
    shares = (r / m, s / m, 0.0, 0.0) if verdict else (0.0, 0.0, r / m, s / m)
    found |= dict(zip(LABELS_TABLE, shares, strict=True))
    found |= dict(zip(LABELS_FOR_INTERVALS, (ours[name] for name in FOR_INTERVALS), strict=True))
    if len(place) > MOST_PEOPLE:
        return found
    by_place = {place[who]: right for who, right in said.items()}
    for one, two in combinations(range(len(place)), 2):
        there = one in by_place and two in by_place
        found |= _cell(pair_columns(one, two), by_place[one], by_place[two]) if there else {}
        found |= {} if there else dict.fromkeys(pair_columns(one, two), 0.0)
    for person in range(len(place)):
        columns = person_columns(person)
        found |= _cell(columns, verdict, by_place[person]) if person in by_place else dict.fromkeys(columns, 0.0)
    return found


def _cell(columns: Sequence[str], one: bool, two: bool) -> dict[str, float]:
    return {column: float((one, two) == cell) for column, cell in zip(columns, _CELLS, strict=True)}


_CELLS = ((True, True), (True, False), (False, True), (False, False))


# ---- the question


def example_page(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The view that the run itself has of an example, below what people said of it."""
    pages = []
    for row in frame.iter_rows(named=True):
        told = [["right" if row["verdict"] else "wrong", "good" if row["agrees"] else "bad"]]
        parts = [{"label": "verdict", "spans": told}, *orjson.loads(row["parts"] or "[]")]
        pages.append({"title": row["title"] or str(row["id"]), "parts": parts})
    return pages


def verdict_in_words(result: Result) -> list[str]:
    return list(_sentences(result))


def _sentences(result: Result) -> Iterator[str]:
    figures = {figure.name: figure for figure in result.figures}
    agreement = figures["agreement"]
    if not isinstance(agreement.value, float) or not isfinite(agreement.value):
        return
    yield f"The verdict says what people say of {agreement.value:.1%} of the examples ({agreement.n:,} were labelled)."
    told = [figures[name] for name in ("ppv", "npv")]
    words = [
        f"where it says {said}, people do so too in {figure.value:.1%}"
        for said, figure in zip(("right", "wrong"), told, strict=True)
        if isinstance(figure.value, float) and isfinite(figure.value)
    ]
    if words:
        yield f"{words[0][0].upper()}{words[0][1:]}{'; ' + words[1] if len(words) > 1 else ''}."
    gap = figures.get("to_ceiling")
    if gap is not None and isinstance(gap.value, float) and isinstance(gap.low, float) and isinstance(gap.high, float):
        if gap.high < 0:
            yield "It agrees with people less well than they do with one another."
        elif gap.low > 0:
            yield "It agrees with people better than they do with one another."
        else:
            yield "These labels do not tell whether it agrees with people as well as they do with one another."
    if agreement.n < _FEW:
        yield f"Fewer than {_FEW} labels: read the intervals, not the values."


QUESTION = Question(
    name="agree",
    asks=ASKS,
    statistics=statistics,
    headline=("agreement", "balanced_accuracy", "kappa", "ac1", "people_kappa"),
    outcome="agrees",
    outcome_words=("they disagree", "they agree"),
    example_page=example_page,
    verdict=verdict_in_words,
    given=("title",),
    reads="Takes a run and labels that people gave to its examples (of `sensecheck label`, or the export of an\n"
    "annotation tool), or a file with a column of verdicts in the place of the run: those of a judge made elsewhere.\n"
    "Says how far verdict and people agree, and people among themselves; figures stand for the whole run where the\n"
    "labels say how their examples were drawn.",
    usage=(
        "run/ labels-anna.jsonl labels-ben.jsonl --out agreement/",
        "run/ labels.jsonl --slice question_type --format markdown",
        "verdicts.csv labels.csv --verdict judge --people anna --people ben",
        "verdicts.jsonl --verdict judge --people expert_a --people expert_b",
    ),
    working=("holding verdicts against labels", "examples"),
)
