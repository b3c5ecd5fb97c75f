"""`sensecheck.diverse.evaluate`: from records to a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from numbers import Integral
from typing import Annotated, Any, Literal, Unpack

import polars as pl

from sensecheck.diverse.aligners import Aligner, as_aligner
from sensecheck.diverse.batches import measured
from sensecheck.diverse.corpus import MAX_WORDS, corpus_figures
from sensecheck.diverse.figures import DEFAULT_AT, DEFAULT_ORDERS, GIVEN, PARITY
from sensecheck.diverse.measure import MeasureOptions
from sensecheck.diverse.ngrams import LONGEST_NGRAM, Tokens
from sensecheck.diverse.question import QUESTION
from sensecheck.diverse.records import DONORS, SetReader, SetRecord
from sensecheck.diverse.rows import BATCH_SETS, REFERENCES_NAMES, are_files, called, stems
from sensecheck.diverse.tokens import TOKENIZERS, tokenizer
from sensecheck.diverse.variety import EAD_VOCABULARY
from sensecheck.inputs import fingerprints
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.formats.dialogue import CONVERSATION
from sensecheck.inputs.gathered import Gathered
from sensecheck.inputs.needs import Needs
from sensecheck.inputs.opening import file_sources, identity
from sensecheck.inputs.reasons import Reason
from sensecheck.options import Option
from sensecheck.report.asking import Asked, WeighedRows, as_original, asked, evaluator
from sensecheck.report.instrument import Instrument
from sensecheck.report.result import Result
from sensecheck.runs.collecting import Batch
from sensecheck.runs.shards import NONE_OWN
from sensecheck.runs.signature import Method
from sensecheck.stages import READING, staged

_reading = partial(Option, group="references and queries")
_aligning = partial(Option, group="how responses are aligned with groups of references")
_figures = partial(Option, group="figures")


_NEEDS = Needs("diverse", nested=True, texts_are_data=True, decided=[REFERENCES_NAMES], told=("text",), parted_by="eos")


@evaluator(needs=_NEEDS)
def evaluate(
    data: Annotated[
        Any,
        Option(
            "one set of responses per line, separated by --eos; or JSONL, JSON, Parquet or CSV with a field "
            "'hypotheses' and, optionally, 'id', 'query', 'references' and 'classes'; - for stdin",
            metavar="FILE",
        ),
    ],
    references: Annotated[
        Any,
        _reading(
            "{query: {group: [reference]}} as JSON, or one line of references per query, or a table", short="-r",
            metavar="FILE",
        ),
    ] = None,
    *,
    eos: Annotated[
        str | None, _reading("what separates the responses of a line (default: </s>)", short="-e", metavar="TEXT")
    ] = None,
    queries: Annotated[
        Any,
        _reading("the query of each line of responses: references are found by its text, not by position",
                 metavar="FILE"),
    ] = None,
    aligner: Annotated[
        str | Aligner | Callable[[Tokens, Sequence[Tokens]], float] | None,
        _aligning(
            "bleu[:ORDER[:SMOOTHING]] (default), nltk-bleu[:METHOD], nist[:ORDER], embedding:MODEL, vectors:FILE",
            metavar="NAME",
        ),
    ] = None,
    tokenize: Annotated[
        str, _aligning("how text is cut into words; all but whitespace as in sacrebleu", choices=TOKENIZERS)
    ] = "whitespace",
    lowercase: Annotated[bool, _aligning("compare words without regard to case")] = False,
    relevance: Annotated[
        float | None,
        _aligning("the lowest score at which a response counts; 0: any above 0 (default: 0.1 for bleu, else 0)",
                  metavar="SCORE"),
    ] = None,
    donors: Annotated[
        int,
        _aligning(
            "number of other queries whose responses make a query's chance baseline; 0: none", metavar="N", at_least=0
        ),
    ] = DONORS,
    at: Annotated[
        Sequence[int], _figures("numbers of responses for MDS@k", metavar="K,K", separator=",", at_least=1)
    ] = DEFAULT_AT,
    orders: Annotated[
        Sequence[int],
        _figures("n of distinct-n, EAD, Ent-n and n-gram recall", metavar="N,N", separator=",", at_least=1),
    ] = DEFAULT_ORDERS,
    vocabulary: Annotated[
        int, _figures("number of words to choose from, for EAD", metavar="V", at_least=1)
    ] = EAD_VOCABULARY,
    variety: Annotated[bool, _figures("only the figures about references")] = True,
    parity: Annotated[Literal["lsdscc"] | None, as_original(PARITY)] = None,
    **shared: Unpack[WeighedRows],
) -> Result:  # fmt: skip
    """Do the responses cover the different good answers?

    `data` are hypotheses: LSDSCC's text file, JSONL, Parquet, CSV, a frame, records or lists (see `records`).
    `references`, where the data do not bring their own: LSDSCC's JSON, a text file, a table or lists. `queries` may be
    a list, and an aligner an object or a function of (hypothesis words, list of reference words). `variety=False`
    leaves only the figures about references. `parity="lsdscc"` gives the original's three figures, bit for bit.
    """
    at, orders = tuple(at), tuple(orders)
    _check(tokenize, at, orders, vocabulary, donors)
    if parity is not None:
        if parity != PARITY:
            raise InputError(field="parity", expected=PARITY, got=repr(parity), reason=Reason.BAD_OPTION)
        from sensecheck.diverse.parity import Lsdscc

        return Lsdscc(data, asked(shared), references, eos=eos, aligner=aligner).run()
    options = MeasureOptions(
        aligner=as_aligner(aligner), tokenize=tokenize, lowercase=lowercase, relevance=relevance,
        at=tuple(dict.fromkeys(map(int, at))), orders=tuple(dict.fromkeys(map(int, orders))),
        vocabulary=int(vocabulary), variety=variety,
    )  # fmt: skip
    data, how = _by_conversation(data, asked(shared))
    reader = SetReader(data, how, references, eos=eos, queries=queries, donors=int(donors))
    return Diverse(reader, options).run()


def _by_conversation(data: Any, asked: Asked) -> tuple[Any, Asked]:
    """Replies of one conversation vary together: they are resampled together, unless the user says otherwise."""
    if not isinstance(data, Gathered) or data.format != "parlai":
        return data, asked
    replies = data.dictionaries()
    if not all(CONVERSATION in reply for reply in replies):
        return data, asked  # some are of another format
    if len(data.files) > 1:
        data = replace(data, rows=_told_apart(replies))
    named = asked.cluster is not None or asked.repeat is not None
    return data, asked if named else replace(asked, cluster=CONVERSATION)


def _told_apart(replies: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Replies of several logs, each of which counts its conversations from 1: with the number of the log before it."""
    log, met, apart = 1, set[str](), list[Mapping[str, Any]]()
    for reply in replies:
        if reply["id"] in met:
            log, met = log + 1, set()
        met.add(reply["id"])
        apart.append({**reply, "id": f"{log}:{reply['id']}", CONVERSATION: f"{log}:{reply[CONVERSATION]}"})
    return apart


def _check(tokenize: str, at: Sequence[int], orders: Sequence[int], vocabulary: int, donors: int) -> None:
    if tokenize not in TOKENIZERS:
        raise InputError(
            field="tokenize", expected=f"one of {', '.join(TOKENIZERS)}", got=repr(tokenize), reason=Reason.BAD_OPTION
        )
    for name, numbers in (("at", at), ("orders", orders)):
        if not numbers or not all(_is_whole(number, 1) for number in numbers):
            raise InputError(
                field=name, expected="whole numbers of at least 1", got=repr(numbers), reason=Reason.BAD_OPTION
            )
    if max(orders) > LONGEST_NGRAM:
        raise InputError(
            field="orders", expected=f"n-grams of at most {LONGEST_NGRAM} words", got=shown(max(orders), 40),
            reason=Reason.BAD_OPTION,
        )  # fmt: skip
    for name, number, least in (("vocabulary", vocabulary, 1), ("donors", donors, 0)):
        if not _is_whole(number, least):
            raise InputError(
                field=name, expected=f"a whole number of at least {least}", got=repr(number), reason=Reason.BAD_OPTION
            )


def _is_whole(number: Any, least: int) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool) and int(number) >= least


class Diverse(Instrument):
    """Queries with their responses, each response given to the group of references that it is nearest to."""

    question = QUESTION

    def __init__(self, reader: SetReader, options: MeasureOptions) -> None:
        # A list of plain texts is responses here, and not files as elsewhere.
        named = are_files(reader.data) or isinstance(reader.data, Gathered)
        super().__init__(reader.data if named else None, reader.asked)
        self.reader = reader
        self.options = options
        self._any_references = False
        self._classes = False

    def batches(self, done: int) -> Iterator[Batch]:
        records = iter(self.reader)
        number = 0
        for batch in staged(READING, iter(lambda: list(islice(records, BATCH_SETS)), []), "queries", len):
            if number == 0:
                self.reader.check_columns(batch)
                self._classes = any(record.classes is not None for record in batch)
            elif not self._classes:
                _refuse_late_classes(batch)
            self._any_references = self._any_references or any(record.groups for record in batch)
            if number >= done:
                yield self._measured(batch)
            number += 1
        if number == 0:
            raise InputError("there is no query to measure", path=called(self.data, "") or None, reason=Reason.EMPTY)
        self.notes += [f"{how_many:,} {rule}" for rule, how_many in sorted(self.reader.log.counts.items())]
        if self.reader.flat:
            self.notes.append("references came as flat lists: each is a group of its own, so MDS equals PDS")
        if not self._any_references:
            self.notes.append("no references: only figures of the responses themselves")

    def _measured(self, batch: Sequence[SetRecord]) -> Batch:
        own = self.own([record.id for record in batch])
        if own == []:
            return NONE_OWN
        mine = batch if own is None else [batch[place] for place in own]
        rows = measured(mine, self.options, self.asked, chance=bool(self.reader.donors), classes=self._classes)
        return replace(rows, places=own)

    def method(self) -> Method:
        files = _content(self.reader.references)
        return {**self._method(self.options, self.reader.donors), **({"reference-files": files} if files else {})}

    def defaults(self) -> Method:
        return {**self._method(MeasureOptions(at=DEFAULT_AT, orders=DEFAULT_ORDERS), DONORS), "references": "grouped"}

    def _method(self, options: MeasureOptions, donors: int) -> Method:
        threshold = options.aligner.relevance if options.relevance is None else options.relevance
        return {
            "aligner": options.aligner.signature,
            "tok": options.tokenize,
            "case": "lower" if options.lowercase else "mixed",
            "relevance": f">={threshold:g}" if threshold > 0 else ">0",
            "at": options.at,
            "n": options.orders,
            "vocabulary": options.vocabulary,
            "chance": f"{donors}-other-queries-seed{self.asked.intervals.seed}" if donors else None,
            "variety": options.variety,
        }

    def learnt(self) -> Method:
        references = "flat" if self.reader.flat else "grouped" if self._any_references else "none"
        return {"references": references, **({"classes": GIVEN} if self._classes else {})}

    def system(self) -> Mapping[str, str]:
        return {"name": self.asked.name_of(stems(self.data))}

    def plan(self) -> Mapping[str, Any]:
        reader = self.reader
        beside = {"references": reader.references, "queries": reader.queries}
        return {
            **{name: identity(given) if are_files(given) else [] for name, given in beside.items()},
            "eos": reader.eos,
            "weight": self.asked.weight,
            "cluster": self.asked.cluster,
        }

    def inputs(self) -> list[dict[str, Any]]:
        return list(self.reader.log.files)

    def finish(self, result: Result) -> None:
        """Add the figures of all responses together."""
        options = self.options
        if not options.variety or result.texts is None:
            return
        split = tokenizer(options.tokenize, lowercase=options.lowercase)
        sets = (
            (texts, [split(text) for text in texts])
            for frame in result.texts.batches(["hypothesis"])
            for texts in frame["hypothesis"].to_list()
        )
        figures = corpus_figures(sets, options.orders, options.repetition_order)
        if figures is None:
            result.notes.append(f"figures of all responses together are left out above {MAX_WORDS:,} words")
        result.estimates.overall.extend(figures or [])


def _refuse_late_classes(records: Sequence[SetRecord]) -> None:
    """Columns of measurements are the same from the first batch to the last."""
    late = next((record for record in records if record.classes is not None), None)
    if late is not None:
        raise late.place.error(
            field="classes", expected=f"classes among the first {BATCH_SETS} queries already, or none",
            got="classes for the first time", hint="Give every query its classes, or leave out the field.",
            reason=Reason.BAD_COLUMNS,
        )  # fmt: skip


def _content(references: Any) -> str | None:
    """What a signature says of files of references: other ones are another yardstick."""
    if references is None or not are_files(references):
        return None
    files = [source.path for source in file_sources(references)]
    if None in files:
        return None  # a stream is read once
    return fingerprints.of_files([(str(place), file) for place, file in enumerate(files) if file is not None])


def alignments(result: Result) -> pl.DataFrame:
    """One row a hypothesis: its query, its group (null: none to fall in), score, margin, and whether it counts."""
    if result.texts is None:
        return pl.DataFrame(schema={"id": pl.String})
    columns = ["id", "query", "hypothesis", "fell_in", "score", "margin_of", "counts", "group_name"]
    frames = []
    for frame in result.texts.batches(columns):
        per_hypothesis = frame.filter(pl.col("hypothesis").list.len() > 0).explode(
            "hypothesis", "fell_in", "score", "margin_of", "counts"
        )
        frames.append(
            per_hypothesis.with_columns(
                group=pl.when(pl.col("fell_in") >= 0).then("fell_in"),
                group_name=pl.when(pl.col("fell_in") >= 0).then(
                    pl.col("group_name").list.get(pl.col("fell_in").clip(0), null_on_oob=True)
                ),
                score=pl.col("score").fill_nan(None),
                margin=pl.col("margin_of").fill_nan(None),
            ).select("id", "query", "hypothesis", "group", "group_name", "score", "margin", "counts")
        )
    return pl.concat(frames)
