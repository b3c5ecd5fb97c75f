"""Everything that reads, as targets: each takes one file, and reads it as a user's call would."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache, partial
from http.client import HTTPMessage
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zlib import crc32

from tests.fuzz import seeds
from tests.fuzz.mutating import Case

from sensecheck.inputs.errors import InputError
from sensecheck.report.asking import Asked


@dataclass(frozen=True)
class Target:
    name: str
    call: Callable[[Path], object]
    """Reads the file at a path, whose folder is its own to write in."""
    seeds: Callable[[], Sequence[Case]]
    process: bool = False
    """Whether every input starts a process, so that there are fewer of them."""
    owner: str = "readers"
    """Which part of the package it is about."""


TARGETS: dict[str, Target] = {}


def target(
    name: str, given: Callable[[], Sequence[Case]], *, process: bool = False, owner: str = "readers"
) -> Callable[[Callable[[Path], object]], Callable[[Path], object]]:
    def register(call: Callable[[Path], object]) -> Callable[[Path], object]:
        assert name not in TARGETS, name
        TARGETS[name] = Target(name, call, cache(given), process, owner)
        return call

    return register


def _both_ways(read: Callable[[bool], object]) -> None:
    """Strictly; and where that refuses something, once more with bad records skipped."""
    try:
        read(False)
    except InputError:
        read(True)
        raise


def _drain(items: Iterable[Any]) -> None:
    for _ in items:
        pass


def _text(path: Path) -> str:
    """Text as it comes from a JSON file: lone surrogates are possible."""
    return path.read_bytes().decode("utf-8", "surrogatepass" if b"\xed" in path.read_bytes() else "replace")


def _safe_text(path: Path) -> str:
    try:
        return _text(path)
    except UnicodeDecodeError:
        return path.read_bytes().decode("utf-8", "replace")


def _texts(stem: str, pieces: Sequence[str]) -> list[Case]:
    return [seeds.text(f"{stem}.txt", piece) for piece in pieces]


# -- tables ------------------------------------------------------------------------------------------------------


def _all_tables() -> list[Case]:
    plain = seeds.text("rows.txt", "confidence correct\n0.5 1\n0.75 0\n")
    quoted = seeds.text("rows.csv", 'id,text\n1,"a ""b"", c\nd"\n2,e\n')
    return [*seeds.tabular("rows", seeds.CONFIDENCES), plain, quoted]


@target("tables", _all_tables)
def _tables(path: Path) -> None:
    from sensecheck.inputs.tables import TableReader

    def read(skip_bad: bool) -> None:
        for batch in TableReader(path, skip_bad=skip_bad):
            batch.ids()
            for name in batch.frame.columns[1:6]:
                for how in (batch.numbers, batch.marks, batch.texts, batch.weights):
                    try:
                        how(name)
                    except InputError as error:
                        str(error)

    _both_ways(read)


@target("streams", _all_tables)
def _streams(path: Path) -> None:
    from sensecheck.inputs.opening import sources
    from sensecheck.inputs.tables import TableReader

    data = path.read_bytes()
    with suppress(InputError):
        _drain(sources(io.BytesIO(data))[0].blocks(64, 512))
    _both_ways(lambda skip_bad: _drain(TableReader(io.BytesIO(data), skip_bad=skip_bad, block_bytes=64)))


@target(
    "json arrays",
    lambda: [seeds.as_json("rows.json", seeds.CONFIDENCES), seeds.as_json("rows.json", [{"a": [{"a": "}, {"}]}] * 9)],
)
def _json_arrays(path: Path) -> None:
    from sensecheck.inputs.json_arrays import NotAnArrayError, array_pieces

    data = path.read_bytes()
    try:
        _drain(array_pieces([data[i : i + 50] for i in range(0, len(data), 50)], 40))
    except NotAnArrayError:
        pass
    except (json.JSONDecodeError, UnicodeDecodeError):
        pass  # what its callers are told to expect, and put into words


# -- Hugging Face datasets ---------------------------------------------------------------------------------------


def _labels_of(path: Path) -> None:
    from sensecheck.robust.records import Pairs

    for names in (None, "contradiction,entailment,neutral"):
        _both_ways(lambda skip, names=names: _drain(Pairs(str(path), Asked(skip_bad=skip), names)))  # type: ignore[misc]


@target("arrow", seeds.arrow)
def _arrow(path: Path) -> None:
    _tables(path)
    _labels_of(path)


def _in_saved_folder(path: Path, name: str) -> None:
    """The file stands in a saved folder under this name, beside rows that are whole."""
    folder = path.parent / "saved"
    folder.mkdir(exist_ok=True)
    (folder / "data-00000-of-00001.arrow").write_bytes(seeds.LABELLED_STREAM.read_bytes())
    (folder / "state.json").write_text(json.dumps(seeds.STATE))
    (folder / "dataset_info.json").write_text(json.dumps({"features": seeds.FEATURES}))
    (folder / name).write_bytes(path.read_bytes())
    try:
        _labels_of(folder)
    finally:
        shutil.rmtree(folder)


@target("saved info", lambda: [seeds.as_json("dataset_info.json", {"features": seeds.FEATURES, "splits": {}})])
def _saved_info(path: Path) -> None:
    _in_saved_folder(path, "dataset_info.json")


@target("saved infos", lambda: [seeds.as_json("infos.json", {n: {"features": seeds.FEATURES} for n in ("a", "b")})])
def _saved_infos(path: Path) -> None:
    (path.parent / "rows.csv").write_text("premise,hypothesis,label\na,b,0\n")
    (path.parent / "dataset_infos.json").write_bytes(path.read_bytes())
    try:
        _labels_of(path.parent / "rows.csv")
    finally:
        (path.parent / "dataset_infos.json").unlink()


@target("dataset card", lambda: [seeds.text("card.txt", seeds.CARD)])
def _dataset_card(path: Path) -> None:
    (path.parent / "rows.csv").write_text("premise,hypothesis,label\na,b,0\n")
    (path.parent / "README.md").write_bytes(path.read_bytes())
    try:
        _labels_of(path.parent / "rows.csv")
    finally:
        (path.parent / "README.md").unlink()


@target("saved state", lambda: [seeds.as_json("state.json", seeds.STATE)])
def _saved_state(path: Path) -> None:
    _in_saved_folder(path, "state.json")


@target("saved splits", lambda: [seeds.as_json("splits.json", {"splits": [s]}) for s in ("saved", "train")])
def _saved_splits(path: Path) -> None:
    from sensecheck.inputs.opening import sources

    folder = path.parent / "splits"
    folder.mkdir(exist_ok=True)
    (folder / "dataset_dict.json").write_bytes(path.read_bytes())
    sources(folder)


@target("parquet features", lambda: [seeds.as_json("features.json", {"info": {"features": seeds.FEATURES}})])
def _parquet_features(path: Path) -> None:
    rows = path.with_name("rows.parquet")
    rows.write_bytes(seeds.labelled_parquet(path.read_bytes()))
    _labels_of(rows)


# -- calibrated --------------------------------------------------------------------------------------------------


def _calibrated(path: Path, **how: Any) -> None:
    from sensecheck.calibrated.reading import Reading
    from sensecheck.calibrated.records import opened

    def read(skip_bad: bool) -> None:
        records = opened(str(path), Asked(skip_bad=skip_bad), Reading(**how))
        _drain(records.batches())
        records.remarks(), records.scale(), records.inputs()

    _both_ways(read)


def _calibrated_tables() -> list[Case]:
    spoken = seeds.text("spoken.csv", seeds.SPOKEN)
    return [
        *seeds.tabular("c", seeds.CONFIDENCES),
        spoken,
        *seeds.tabular("d", seeds.DISTRIBUTIONS, flat=False),
        *seeds.tabular("l", seeds.LISTED, flat=False),
    ]


@target("calibrated tables", _calibrated_tables)
def _calibrated_table(path: Path) -> None:
    _calibrated(path)


@target(
    "calibrated answers",
    lambda: [
        seeds.jsonl("a.jsonl", seeds.CHAT),
        seeds.as_json("a.json", seeds.CHAT),
        *seeds.packed(seeds.jsonl("a.jsonl", seeds.CHAT)),
        *(seeds.jsonl(f"{at}.jsonl", [one, one]) for at, one in enumerate(seeds.REPLIES)),
        seeds.as_json("all.json", seeds.REPLIES),
    ],
)
def _calibrated_answers(path: Path) -> None:
    _calibrated(path)


def _logits() -> list[Case]:
    plain = [
        seeds.jsonl("t.logits", rows)
        for rows in (seeds.LOGITS_HF, seeds.LOGITS_RAW, seeds.LOGITS_MISO, seeds.LOGITS_HF * 20)
    ]
    return [*plain, *seeds.packed(plain[0])]


@target("logits", _logits)
def _token_records(path: Path) -> None:
    _calibrated(path)


@target("logits by sequence", _logits)
def _sequences(path: Path) -> None:
    from sensecheck.calibrated.reading import Reading
    from sensecheck.calibrated.records import opened

    def read(skip_bad: bool) -> None:
        asked = Asked(skip_bad=skip_bad, slices=(("input_str",),))
        _drain(
            opened(
                str(path), asked, Reading(input_format="logits", level="sequence", top_k=2, ignore_tokens=("4", "y"))
            ).batches()
        )

    _both_ways(read)


@target("calibrated stream", lambda: [*_calibrated_tables(), *_logits()])
def _calibrated_stream(path: Path) -> None:
    from sensecheck.calibrated.reading import Reading
    from sensecheck.calibrated.records import opened

    _both_ways(lambda skip: _drain(opened(io.BytesIO(path.read_bytes()), Asked(skip_bad=skip), Reading()).batches()))


@target("calibrated figures", lambda: [*_calibrated_tables(), *_logits()])
def _calibrated_figures(path: Path) -> None:
    from sensecheck import calibrated
    from sensecheck.statistics.figure import IntervalOptions

    calibrated.evaluate(str(path), skip_bad=True, options=IntervalOptions(method="none"))


@target("arrays", seeds.arrays)
def _arrays(path: Path) -> None:
    from sensecheck import calibrated
    from sensecheck.statistics.figure import IntervalOptions

    def read(skip_bad: bool) -> None:
        calibrated.evaluate(
            path, skip_bad=skip_bad, input_format=path.suffix[1:], options=IntervalOptions(method="none")
        )

    _both_ways(read)


@target("recalibrations", lambda: [seeds.as_json("map.json", one) for one in seeds.RECALIBRATIONS])
def _recalibrations(path: Path) -> None:
    from sensecheck.calibrated.recalibration import load

    fitted = load(path)
    fitted([0.0, 0.3, 1.0]), str(fitted), fitted.to_dict()


@target("token kinds", lambda: [seeds.as_json("kinds.json", one) for one in seeds.TOKEN_KINDS])
def _token_kinds(path: Path) -> None:
    from sensecheck.calibrated.token_kinds import TokenKinds

    kinds = TokenKinds.of(path)
    for token in ("SELECT", "▁name", "12.5", "", None):
        kinds(token)


@target(
    "spoken confidences",
    lambda: _texts("spoken", ["85%", "about 0.4", "I am 8 out of 10 sure", "very likely, not certain"]),
)
def _spoken(path: Path) -> None:
    from sensecheck.calibrated.verbalised import spoken

    spoken(_safe_text(path))


# -- logs of hosts -----------------------------------------------------------------------------------------------


def _log_of_a_host(path: Path, damaged: Path | None = None) -> None:
    """A log for one of the questions, or for who only looks: which, the bytes of what is damaged decide."""
    from sensecheck import calibrated
    from sensecheck.inputs.formats.registry import Selection
    from sensecheck.inputs.gathering import gathered
    from sensecheck.inputs.needs import Needs
    from sensecheck.report.looking import look
    from sensecheck.statistics.figure import IntervalOptions

    def asked(question: str) -> None:
        gathered(str(path), Needs(question, nested=True), skip_bad=True, selection=Selection(question))

    def selected(**chosen: str) -> None:
        gathered(str(path), Needs("calibrated", nested=True), selection=Selection("calibrated", **chosen))

    def evaluated() -> None:
        no_intervals = IntervalOptions(method="none")
        _both_ways(lambda skip: calibrated.evaluate(str(path), skip_bad=skip, options=no_intervals))

    ways: list[Callable[[], object]] = [
        *(partial(asked, question) for question in ("diverse", "correct", "robust")),
        *(partial(selected, scorer=name) for name in ("acc_norm", "right", "f1_score")),
        partial(selected, filter="strict"),
        partial(look, str(path)),
        *[evaluated] * 4,
    ]
    ways[crc32((damaged or path).read_bytes()) % len(ways)]()


_LM_EVAL_FILE = "samples_t_2026-01-02T03-04-05.678901.jsonl"
_LM_EVAL_SUMMARY = "results_2026-01-02T03-04-05.678901.json"


def _lm_eval_logs() -> list[Case]:
    named = (seeds.lm_eval_choices(True), seeds.lm_eval_choices(False), seeds.LM_EVAL_GENERATED, seeds.LM_EVAL_OTHER)
    return [
        *(seeds.jsonl(_LM_EVAL_FILE, rows) for rows in named),
        *(seeds.jsonl(_LM_EVAL_FILE, rows[:2]) for rows in named),
        seeds.as_json("samples.json", {"t": seeds.lm_eval_choices(True), "u": seeds.LM_EVAL_GENERATED[:2]}),
    ]


target("lm-eval", _lm_eval_logs)(_log_of_a_host)


@target("lm-eval results", lambda: [seeds.as_json(_LM_EVAL_SUMMARY, seeds.LM_EVAL_RESULTS)])
def _lm_eval_results(path: Path) -> None:
    samples = path.with_name(_LM_EVAL_FILE)
    samples.write_bytes(seeds.jsonl(_LM_EVAL_FILE, seeds.lm_eval_choices(True)).data)
    path.with_name(_LM_EVAL_SUMMARY).write_bytes(path.read_bytes())
    _log_of_a_host(samples, damaged=path)
    _log_of_a_host(path)


target(
    "every_eval_ever",
    lambda: [
        seeds.jsonl("x_samples.jsonl", seeds.EVERY_EVAL_EVER),
        seeds.jsonl("x_samples.jsonl", seeds.EVERY_EVAL_EVER[::2]),
    ],
)(_log_of_a_host)


@target("every_eval_ever figures", lambda: [seeds.as_json("x.json", seeds.EVERY_EVAL_EVER_FIGURES)])
def _every_eval_ever_figures(path: Path) -> None:
    samples = path.with_name("x_samples.jsonl")
    samples.write_bytes(seeds.jsonl("x_samples.jsonl", seeds.EVERY_EVAL_EVER).data)
    path.with_name("x.json").write_bytes(path.read_bytes())
    _log_of_a_host(samples, damaged=path)
    _log_of_a_host(path)


@target("helm", lambda: [seeds.as_json("scenario_state.json", seeds.HELM_STATE)])
def _helm(path: Path) -> None:
    path.with_name("per_instance_stats.json").write_bytes(seeds.as_json("s.json", seeds.HELM_STATS).data)
    _log_of_a_host(path)


@target("helm stats", lambda: [seeds.as_json("per_instance_stats.json", seeds.HELM_STATS)])
def _helm_stats(path: Path) -> None:
    path.with_name("per_instance_stats.json").write_bytes(path.read_bytes())
    state = path.with_name("scenario_state.json")
    state.write_bytes(seeds.as_json("s.json", seeds.HELM_STATE).data)
    _log_of_a_host(state, damaged=path)


target("mlflow", lambda: [seeds.as_json("eval_results_table.json", seeds.SPLIT_TABLE)])(_log_of_a_host)


# -- faithful ----------------------------------------------------------------------------------------------------


@target("faithful pairs", lambda: seeds.tabular("pairs", seeds.PAIRS))
def _faithful_pairs(path: Path) -> None:
    from sensecheck.faithful.columns import sides_of
    from sensecheck.faithful.records import pairs_of
    from sensecheck.inputs.tables import TableReader

    def read(skip_bad: bool) -> None:
        for batch in TableReader(str(path), skip_bad=skip_bad):
            pairs_of(batch, sides_of(batch, {}, "sql"), Asked(skip_bad=skip_bad))

    _both_ways(read)


@target("faithful figures", lambda: seeds.tabular("pairs", seeds.PAIRS), owner="rooms")
def _faithful_figures(path: Path) -> None:
    from sensecheck import faithful
    from sensecheck.statistics.figure import IntervalOptions

    faithful.evaluate(str(path), skip_bad=True, options=IntervalOptions(method="none"))


def _schemas() -> list[Case]:
    return [seeds.as_json("tables.json", [seeds.SPIDER]), seeds.as_json("tables.json", seeds.SPIDER), seeds.text("tables.sql", seeds.CREATE), seeds.sqlite_schema()]  # fmt: skip


def _whole_schemas() -> list[Case]:
    """With keys, comments and descriptions."""
    return [
        *_schemas(),
        seeds.as_json("tables.json", [{**seeds.SPIDER, "primary_keys": [[1, 2], 3]}]),
        seeds.as_json("schema.json", seeds.NESTED_SCHEMA),
        seeds.text("tables.sql", seeds.COMMENTED),
        seeds.text("singer.csv", seeds.DESCRIPTION),
    ]


@target("faithful schemas", _whole_schemas)
def _faithful_schemas(path: Path) -> None:
    from sensecheck.faithful.records import load_schemas

    if path.suffix == ".csv":  # BIRD's descriptions lie in a folder of that name
        home = path.with_name("database_description")
        home.mkdir(exist_ok=True)
        shutil.copy(path, home / "singer.csv")
        path = home
        tables = home.with_name("concert.sql")
        tables.write_text("CREATE TABLE singer (id INT, name TEXT, kind TEXT, age INT)")
        _use(load_schemas([str(home), str(tables)]))
    _use(load_schemas(str(path)))


def _duckdb_schemas(path: Path) -> None:
    from sensecheck.faithful.records import load_schemas

    _use(load_schemas(str(path)))


if find_spec("duckdb") is not None:
    target("duckdb schemas", seeds.duckdb_schema)(_duckdb_schemas)


def _use(schemas: Any) -> None:
    from sensecheck.faithful.measure import Checker
    from sensecheck.faithful.records import schema_print

    schema_print(schemas)
    for schema in schemas.values() if isinstance(schemas, dict) else [schemas]:
        places = [(table, column) for table, owner in schema.tables.items() for column in owner.columns]
        for place in places[:5]:
            for other in places[:5]:
                assert schema.joinable(place, other) == schema.joinable(other, place)
        assert schema.has_descriptions in (True, False)
    Checker("sql", schemas=schemas).check(
        "SELECT name FROM singer WHERE age > 20", "Names of singers over 20.", "concert"
    )


@target("blec schemas", _schemas)
def _blec_schemas(path: Path) -> None:
    from sensecheck.faithful.parity import Slots

    Slots("sql", str(path)).of("SELECT name FROM singer WHERE age > 20", "concert")


@target("blec templates", lambda: [seeds.as_json("template.json", one) for one in seeds.TEMPLATE])
def _blec_templates(path: Path) -> None:
    from sensecheck.faithful.parity import Slots

    Slots("sql", None, str(path)).of("SELECT name FROM singer", None)


@target("lexicons", lambda: [seeds.as_json("lexicon.json", one) for one in seeds.LEXICON])
def _lexicons(path: Path) -> None:
    from sensecheck.faithful.matching import vocabulary
    from sensecheck.faithful.measure import Checker

    for held in vars(vocabulary).values():
        if hasattr(held, "cache_clear"):
            held.cache_clear()
    checker = Checker("sql", lexicon=[str(path)])
    checker.check(
        "SELECT name FROM singer WHERE age > 20 ORDER BY age DESC LIMIT 1", "The oldest vocalist not from Norway."
    )


@target(
    "labels",
    lambda: [
        seeds.as_json("labels.json", {"http://e/a": "Anna"}),
        seeds.text("labels.nt", seeds.LABELS_NT),
        seeds.text("labels.ttl", seeds.LABELS_TTL),
        *seeds.packed(seeds.text("labels.nt", seeds.LABELS_NT)),
    ],
)
def _labels(path: Path) -> None:
    from sensecheck.faithful.languages import read_labels

    read_labels(path)


@cache
def _checker(language: str) -> Any:
    from sensecheck.faithful.measure import Checker
    from sensecheck.faithful.schema import from_spider

    return Checker(
        language,
        schemas=from_spider(seeds.SPIDER) if language == "sql" else None,
        labels={"http://e/a": "Anna"},
        kept_queries=1,
    )


def _checked(language: str, queries: Sequence[str]) -> None:
    sentences = seeds.SENTENCES

    def check(path: Path) -> None:
        text = _safe_text(path)
        for sentence in sentences:
            _checker(language).check(text, sentence).evidence()

    target(f"faithful {language}", lambda: _texts("query", queries), owner="rooms")(check)


_checked("sql", seeds.SQL)
_checked("logic2text", seeds.LOGIC)
_checked("sparql", seeds.SPARQL)


@target("faithful sentences", lambda: _texts("sentence", seeds.SENTENCES), owner="rooms")
def _sentences(path: Path) -> None:
    text = _safe_text(path)
    _checker("sql").check(seeds.SQL[0], text).evidence()
    _checker("logic2text").check(seeds.LOGIC[1], text).evidence()


@cache
def _described() -> Any:
    from sensecheck.faithful.measure import Checker
    from sensecheck.faithful.schema import from_create_table

    return Checker("sql", schemas=from_create_table(seeds.DESCRIBED, "bank"))


@target("faithful evidence", lambda: _texts("evidence", seeds.EVIDENCE), owner="rooms")
def _evidence(path: Path) -> None:
    text = _safe_text(path)
    for query in seeds.DESCRIBED_SQL:
        _described().check(query, "How many women over 65 opened an account in 1995?", None, text).evidence()
        _described().check(query, text, None, seeds.EVIDENCE[0]).evidence()


# -- label sheets ------------------------------------------------------------------------------------------------


def _label_sheet(format: str, given: Callable[[], Sequence[Case]]) -> None:
    """Recognised, and as the user names it."""

    def read(path: Path) -> None:
        from sensecheck.inputs.label_sheets import read_labels

        first = InputErrors()
        with first:
            read_labels(str(path))
        read_labels(str(path), format)
        first.again()

    target(f"labels {format}", given)(read)


_label_sheet(
    "label-studio",
    lambda: [seeds.as_json("e.json", seeds.LABEL_STUDIO), seeds.as_json("m.json", seeds.LABEL_STUDIO_MIN * 3)],
)
_label_sheet(
    "prodigy", lambda: [seeds.jsonl("p.jsonl", seeds.PRODIGY), *seeds.packed(seeds.jsonl("p.jsonl", seeds.PRODIGY))]
)
_label_sheet(
    "argilla",
    lambda: [case for one in seeds.ARGILLA for case in (seeds.as_json("a.json", one), seeds.jsonl("a.jsonl", one))],
)
_label_sheet("doccano", lambda: [seeds.jsonl("d.jsonl", one) for one in seeds.DOCCANO])
_label_sheet(
    "annotators",
    lambda: [seeds.text("t.csv", seeds.BY_ANNOTATOR), seeds.text("t.tsv", seeds.BY_ANNOTATOR.replace(",", "\t"))],
)


_label_sheet(
    "plain-labels",
    lambda: [
        seeds.jsonl("l.jsonl", seeds.PLAIN_LABELS),
        seeds.text("l.csv", seeds.PLAIN_LABELS_CSV),
        seeds.text("l.tsv", seeds.PLAIN_LABELS_CSV.replace(",", "\t")),
        *seeds.packed(seeds.jsonl("l.jsonl", seeds.PLAIN_LABELS)),
    ],
)


# -- queries -----------------------------------------------------------------------------------------------------


# Queries pass the one door for text that a model wrote: what it makes of a fault is a reason, not a message.


@target("sql normal form", lambda: _texts("query", seeds.SQL), owner="queries")
def _sql_normal_form(path: Path) -> None:
    from sensecheck.inputs.guarding import guarded
    from sensecheck.language.sql_normal_form import sql_normal_form

    text = _safe_text(path)
    for dialect in ("sqlite", "duckdb"):
        guarded("normal form", sql_normal_form, text, dialect)


@target("sql gold plans", lambda: _texts("query", seeds.SQL), owner="queries")
def _gold_plans(path: Path) -> None:
    from sensecheck.correct.sql_compare import plan_gold, without_distinct
    from sensecheck.inputs.guarding import guarded

    text = _safe_text(path)
    guarded("plan", plan_gold, text)
    guarded("plan", without_distinct, text)


@target("sql parts", lambda: _texts("query", seeds.SQL), owner="queries")
def _sql_parts(path: Path) -> None:
    from sensecheck.correct.hardness import makeup_of
    from sensecheck.correct.spider_exact import exact, levelled, parts
    from sensecheck.correct.spider_query import NOTHING, UnreadableError, read_query
    from sensecheck.inputs.guarding import guarded
    from sensecheck.language.query_tokens import pieces

    def read(text: str) -> None:
        try:
            query = levelled(read_query(text, {"singer": ("singer_id", "name", "age"), "concert": ("name",)}), {})
        except UnreadableError:
            return
        assert exact(query, query)
        parts(NOTHING, query)

    text = _safe_text(path)
    makeup_of(text)
    guarded("clauses", read, text)
    for language in ("sql", "sparql"):
        assert "".join([piece.text for piece in pieces(text, language)]) == text  # type: ignore[arg-type]


@target("sparql", lambda: _texts("query", seeds.SPARQL), owner="queries")
def _sparql(path: Path) -> None:
    from sensecheck.inputs.guarding import guarded
    from sensecheck.language.sparql.algebra import normal_form, triple_count
    from sensecheck.language.sparql.grammar import parse

    def read(text: str) -> None:
        parsed = parse(text, {"wd": "http://w/", "wdt": "http://t/"})
        normal_form(parsed.query)
        triple_count(parsed.query)

    guarded("reading", read, _safe_text(path))


# -- correct -----------------------------------------------------------------------------------------------------


def _correct_records() -> list[Case]:
    wrapped = seeds.as_json("preds.json", {"meta": 1, "records": seeds.SQL_RECORDS})
    by_id = seeds.as_json("preds.json", {str(row["id"]): row for row in seeds.SQL_RECORDS})
    spice = [seeds.as_json("spice.json", seeds.SPICE), seeds.jsonl("spice.jsonl", seeds.SPICE)]
    return [*seeds.tabular("preds", seeds.SQL_RECORDS), wrapped, by_id, *spice]


@target("correct records", _correct_records)
def _correct(path: Path) -> None:
    from sensecheck.correct.records import Reader, is_spice

    def read(skip_bad: bool) -> None:
        reader = Reader(str(path), Asked(skip_bad=skip_bad))
        rows = reader.first_rows()
        is_spice(rows)
        reader.find_samples(rows)
        reader.language_of(rows)
        _drain(reader.batches())

    _both_ways(read)


@target("correct stream", _correct_records)
def _correct_stream(path: Path) -> None:
    from sensecheck.correct.records import Reader

    _both_ways(lambda skip: _drain(Reader(io.BytesIO(path.read_bytes()), Asked(skip_bad=skip)).batches()))


def _sparql_results() -> list[Case]:
    return [
        *[seeds.as_json("r.srj", one) for one in seeds.SPARQL_REPLIES],
        seeds.text("r.srx", seeds.RESULTS_XML),
        seeds.text("r.srx", '<sparql><head/><boolean>true</boolean></sparql>'),
        seeds.text("r.csv", seeds.RESULTS_CSV),
        seeds.text("r.tsv", seeds.RESULTS_TSV),
        seeds.text("r.csv", "true"),
    ]  # fmt: skip


@target("sparql results", _sparql_results)
def _sparql_results_files(path: Path) -> None:
    from sensecheck.correct.answer_sets import count_of, flat_values, row_set, verdict_of
    from sensecheck.language.sparql.results import as_json, of_json, read_results_file

    answer = read_results_file(path)
    row_set(answer, detail=answer.detail), count_of(answer), verdict_of(answer), flat_values(answer)
    again = of_json(json.loads(json.dumps(as_json(answer))))
    assert again.rows == answer.rows and again.boolean == answer.boolean


def _given_answers() -> list[Case]:
    return [
        seeds.jsonl("given.jsonl", seeds.GIVEN),
        seeds.as_json("given.json", seeds.GIVEN),
        seeds.jsonl("tables.jsonl", seeds.TABLES),
        seeds.as_json("one.json", seeds.TABLES[0]),
        seeds.text("given.csv", 'id,predicted_answers,answers\n1,"[""a"",""b""]","[""b""]"\n2,"{""boolean"": true}",yes\n'),
    ]  # fmt: skip


@target("given answers", _given_answers)
def _given_figures(path: Path) -> None:
    from sensecheck import correct
    from sensecheck.statistics.figure import IntervalOptions

    def read(skip_bad: bool) -> None:
        correct.evaluate(
            str(path), skip_bad=skip_bad, options=IntervalOptions(method="none"), ignore_labels=True, normalise=False
        )

    _both_ways(read)


@target("spider2 tables", lambda: [seeds.text("q1.csv", seeds.SPIDER2_TABLE), seeds.text("q1.csv", "n\n12212\n")])
def _spider2_tables(path: Path) -> None:
    from sensecheck.correct.given import predicted_answer
    from sensecheck.correct.spider2 import spider2_equal
    from sensecheck.inputs.guarding import guarded
    from sensecheck.inputs.spider2 import read_submission

    for record in read_submission(path.parent):
        if record["id"] == path.stem:
            answer = predicted_answer(record["predicted_answers"])
            assert answer is not None
            same = guarded("comparing", lambda table: spider2_equal(table, table, ignore_order=True), answer)
            assert same is True or not answer.columns


@target("spider2 golds", lambda: [seeds.text("spider2lite_eval.jsonl", seeds.SPIDER2_LIST)])
def _spider2_golds(path: Path) -> None:
    from sensecheck.inputs.spider2 import read_gold

    folder = path.parent / "exec_result"
    folder.mkdir(exist_ok=True)
    for name, content in (("q1_a.csv", "n\n7\n"), ("q1_b.csv", seeds.SPIDER2_TABLE), ("q2.csv", "v\n1\n")):
        (folder / name).write_text(content)
    _drain(read_gold(path))


@target("label services", lambda: _texts("query", seeds.LABEL_SERVICES), owner="queries")
def _label_services(path: Path) -> None:
    from sensecheck.stores.limits import Limits
    from sensecheck.stores.outcomes import Failure
    from sensecheck.stores.sparql_gate import STANDARD_PREFIXES, admit

    admitted = admit(_safe_text(path), STANDARD_PREFIXES, Limits(), own_labels=True)
    if not isinstance(admitted, Failure):
        # What is let through is read the same way by those who know of no services at all.
        again = admit(admitted.text, STANDARD_PREFIXES, Limits())
        assert not isinstance(again, Failure), again.message


@target("correct distances", lambda: [seeds.text("distances.tsv", seeds.DISTANCES)])
def _distances(path: Path) -> None:
    from sensecheck.correct.records import read_distances

    read_distances(path)


# -- logs of hosts -----------------------------------------------------------------------------------------------


def _read_logs(data: Any, named: str, **picked: Any) -> None:
    """As every question that reads logs does."""
    from sensecheck.calibrated.reading import Reading
    from sensecheck.calibrated.records import opened
    from sensecheck.inputs.formats.registry import Selection
    from sensecheck.inputs.gathering import gathered
    from sensecheck.inputs.needs import Needs

    def read(question: str, skip: bool) -> None:
        selection = Selection(question, **picked)
        found = gathered(data, Needs(question), input_format=named, skip_bad=skip, selection=selection)
        if question == "calibrated":
            _drain(opened(found, Asked(skip_bad=skip), Reading()).rows())

    for question in ("diverse", "correct", "calibrated"):
        _both_ways(lambda skip, question=question: read(question, skip))  # type: ignore[misc]


@target("inspect documents", lambda: [seeds.as_json("log.json", one) for one in seeds.INSPECT])
def _inspect_document(path: Path) -> None:
    for named in ("auto", "inspect"):
        _read_logs(str(path), named)


@target("inspect archives", seeds.inspect_archives)
def _inspect_archive(path: Path) -> None:
    _read_logs(str(path), "inspect-eval", scorer="match")


@target("inspect samples", lambda: [seeds.as_json("sample.json", one["samples"][0]) for one in seeds.INSPECT])
def _inspect_sample(path: Path) -> None:
    """A sample as it is in a whole archive."""
    from tests.zip_archives import archive

    log = path.with_suffix(".eval")
    sample = path.read_bytes()
    log.write_bytes(archive([("samples/a_epoch_1.json", sample), ("header.json", {"status": "success", "eval": {}})]))
    _read_logs(str(log), "auto")


@target(
    "promptfoo",
    lambda: [
        *(seeds.as_json("out.json", one) for one in seeds.PROMPTFOO),
        seeds.jsonl("out.jsonl", seeds.PROMPTFOO[1]["results"]),
    ],
)
def _promptfoo(path: Path) -> None:
    for named in ("auto", "promptfoo"):
        _read_logs(str(path), named)


# -- diverse -----------------------------------------------------------------------------------------------------


def _diverse_sets() -> list[Case]:
    plain = seeds.text("replies.txt", seeds.RESPONSES)
    by_query = seeds.as_json("replies.json", {row["query"]: row["hypotheses"] for row in seeds.SETS})
    lists = seeds.as_json("replies.json", [row["hypotheses"] for row in seeds.SETS])
    return [
        *seeds.tabular("sets", seeds.SETS, flat=False),
        seeds.text("sets.csv", seeds.FLAT_SETS),
        plain,
        *seeds.packed(plain),
        by_query,
        lists,
    ]


@target("diverse responses", _diverse_sets)
def _diverse(path: Path) -> None:
    from sensecheck.diverse.records import SetReader

    _both_ways(lambda skip: _drain(SetReader(str(path), Asked(skip_bad=skip))))


def _gathered_sets(format: str, given: Callable[[], Sequence[Case]]) -> None:
    """Responses of a layout that is read before `diverse` sees them: recognised, and as the user names it."""

    def read(path: Path) -> None:
        from sensecheck.diverse.records import SetReader
        from sensecheck.inputs.gathering import gathered
        from sensecheck.inputs.needs import Needs

        needs = Needs("diverse", nested=True, texts_are_data=True)
        for named in ("auto", format):
            _both_ways(
                lambda skip, named=named: _drain(  # type: ignore[misc]
                    SetReader(
                        gathered(str(path), needs, input_format=named, skip_bad=skip),
                        Asked(skip_bad=skip, cluster="conversation" if format == "parlai" else None),
                    )
                )
            )

    target(f"diverse {format}", given)(read)


_gathered_sets(
    "parlai",
    lambda: [
        seeds.jsonl("log.jsonl", seeds.WORLD_LOG),
        seeds.as_json("log.json", [one["dialog"] for one in seeds.WORLD_LOG]),
        *seeds.packed(seeds.jsonl("log.jsonl", seeds.WORLD_LOG)),
    ],
)
_gathered_sets("noveltybench", lambda: [seeds.jsonl("scores.jsonl", seeds.NOVELTY)])
_gathered_sets("tabbed", lambda: [seeds.text(name, seeds.TABBED) for name in ("r.tsv", "r.txt")])


@target(
    "diverse classes", lambda: [*seeds.tabular("n", seeds.NOVELTY, flat=False), seeds.jsonl("n.jsonl", seeds.NOVELTY)]
)
def _diverse_classes(path: Path) -> None:
    from sensecheck import diverse
    from sensecheck.statistics.figure import IntervalOptions

    diverse.evaluate(str(path), skip_bad=True, variety=False, options=IntervalOptions(method="none"))


@target(
    "diverse references",
    lambda: [
        seeds.as_json("refs.json", seeds.LSDSCC),
        seeds.as_json("refs.json", list(seeds.LSDSCC.values())),
        seeds.text("refs.txt", "hello</s>hi\nbye</s>so long\n"),
        *seeds.tabular(
            "refs",
            [{"query": r["query"], "references": list(r["references"].values())} for r in seeds.SETS],
            flat=False,
        ),
    ],
)
def _references(path: Path) -> None:
    from sensecheck.diverse.records import SetReader

    hypotheses = [{"query": "hi", "hypotheses": ["hello"]}, {"query": "bye", "hypotheses": ["so long"]}]
    first = InputErrors()
    with first:
        _drain(SetReader([["hello"], ["so long"]], Asked(), str(path)))
    _drain(SetReader(hypotheses, Asked(), str(path)))
    first.again()


class InputErrors:
    """Holds an InputError back, so that another way of reading can be tried before it is told."""

    held: InputError | None = None

    def __enter__(self) -> InputErrors:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        self.held = error if isinstance(error, InputError) else None
        return self.held is not None

    def again(self) -> None:
        if self.held is not None:
            raise self.held


@target("diverse queries", lambda: [seeds.text("queries.txt", "hi\nbye\n")])
def _queries(path: Path) -> None:
    from sensecheck.diverse.records import SetReader

    _drain(SetReader([["hello"], ["so long"]], Asked(), seeds.LSDSCC, queries=str(path)))


@target("diverse vectors", lambda: [seeds.vectors(f"v.{ending}") for ending in ("npz", "parquet", "jsonl")])
def _vectors(path: Path) -> None:
    from sensecheck.diverse.aligners import SetBatch, read_vectors

    aligner = read_vectors(path)
    aligner.scores(SetBatch.tokenized([["hello"]], [[["hey you"]]], str.split))


@target("diverse figures", _diverse_sets, owner="rooms")
def _diverse_figures(path: Path) -> None:
    from sensecheck import diverse
    from sensecheck.statistics.figure import IntervalOptions

    diverse.evaluate(str(path), skip_bad=True, options=IntervalOptions(method="none"))


@target("diverse tokens", lambda: _texts("text", [*seeds.SENTENCES, "it's 5.5%, isn't it? (yes)"]), owner="rooms")
def _tokens(path: Path) -> None:
    from sensecheck.diverse.tokens import TOKENIZERS, tokenizer

    text = _safe_text(path)
    for name in TOKENIZERS:
        tokenizer(name, lowercase=True)(text)


# -- robust ------------------------------------------------------------------------------------------------------


@target(
    "robust pairs",
    lambda: [
        *seeds.tabular("nli", seeds.NLI),
        *seeds.tabular("snli", seeds.SNLI),
        *seeds.tabular("qnli", seeds.NUMBERED),
    ],
)
def _robust_pairs(path: Path) -> None:
    from sensecheck.robust.records import Pairs

    _both_ways(lambda skip: _drain(Pairs(str(path), Asked(skip_bad=skip))))


@cache
def _labelled_run() -> Any:
    from sensecheck import calibrated
    from sensecheck.statistics.figure import IntervalOptions

    rows = [{"id": f"q{i}", "confidence": 0.5, "correct": i % 3 > 0, "question": f"What is {i}?"} for i in range(30)]
    return calibrated.evaluate(rows, options=IntervalOptions(method="none"))


def _label_sheets() -> list[Case]:
    """Our own labels, as the page and as the table give them, and sheets of other steps."""
    import polars as pl

    from sensecheck.labelling.drawing import draw
    from sensecheck.labelling.items import items_of
    from sensecheck.labelling.sheet import write_sheet

    items = items_of(_labelled_run())
    rows = [
        {
            "sensecheck": "labels/1", "question": items.question, "id": row["id"], "label": "right", "note": "x",
            "who": "anna", "example": row["example"], "run": items.digest, "stratum": json.loads(row["stratum"]),
            "probability": row["probability"], "size": row["size"], "of": row["of"],
        }
        for row in draw(items, 8).iter_rows(named=True)
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        sheet = Path(folder) / "sheet.csv"
        write_sheet(_labelled_run(), sheet, 8)
        pl.read_csv(sheet, infer_schema=False).with_columns(label=pl.lit("wrong")).write_csv(sheet)
        table = Case("sheet.csv", sheet.read_bytes())
    statements = (
        "row,slot,polarity,label,grammatical,polarity_right,true_label,remark\nq1,0,positive,x,yes,no,neutral,\n"
    )
    return [seeds.jsonl("labels.jsonl", rows), table, seeds.text("audit.csv", statements)]


@target("label sheets", _label_sheets)
def _label_sheets_of_a_run(path: Path) -> None:
    from sensecheck.labelling.agreement import evaluate
    from sensecheck.statistics.figure import IntervalOptions

    evaluate([_labelled_run(), path], options=IntervalOptions(method="none"))


@target("labels of a run", _label_sheets)
def _labels_of_a_run(path: Path) -> None:
    """Read, held against the run, and weighed: what is not refused stands for all of the run."""
    from sensecheck.labelling.correcting import digest_of, majority
    from sensecheck.labelling.items import items_of
    from sensecheck.labelling.matching import matched
    from sensecheck.labelling.reading import read

    fits = matched(read(str(path)), items_of(_labelled_run()))
    judged, _ = majority(fits)
    digest_of(fits)
    weights, notes = fits.weighed(judged["id"])
    strata = fits.examples.filter(fits.examples["id"].is_in(judged["id"].implode()))["stratum"].n_unique()
    if strata == fits.examples["stratum"].n_unique():
        assert abs(float(weights["stands_for"].sum()) - fits.examples.unique("stratum")["size"].sum()) < 1e-6, notes


@target("verdicts and labels", lambda: [seeds.text("v.csv", "id,judge,anna,ben\na,1,1,0\nb,0,0,0\nc,1,,1\n")])
def _verdicts(path: Path) -> None:
    from sensecheck.labelling.agreement import evaluate
    from sensecheck.statistics.figure import IntervalOptions

    evaluate(path, verdict="judge", people=["anna", "ben"], options=IntervalOptions(method="none"))


@target("robust statements", lambda: seeds.tabular("statements", seeds.STATEMENTS))
def _statements(path: Path) -> None:
    from sensecheck.models.generators import StoredStatements
    from sensecheck.robust.records import statements_in_file

    StoredStatements(statements_in_file(str(path)))


@target(
    "robust predictions", lambda: [*seeds.tabular("preds", seeds.PREDICTIONS), *seeds.tabular("scores", seeds.SCORES)]
)
def _predictions(path: Path) -> None:
    from sensecheck.models.classifiers import TableClassifier
    from sensecheck.robust.records import predictions_in_file

    model = TableClassifier(predictions_in_file(str(path)))
    _drain(model.stream([("A man plays.", "A man makes music."), ("a", "b")]))


@target("robust rewriting", lambda: _texts("hypothesis", seeds.HYPOTHESES), owner="rooms")
def _rewriting(path: Path) -> None:
    from sensecheck.language.rewriting.engine import rewrite
    from sensecheck.robust.statements import distinct, standardise

    text = _safe_text(path)
    for positive in (True, False):
        distinct([standardise(str(one.text)) for one in rewrite(standardise(text), positive, 14)], text)


# -- parity with the originals -------------------------------------------------------------------------------------


def _parity(name: str, given: Callable[[], Sequence[Case]], question: str, **how: Any) -> None:
    def call(path: Path) -> None:
        from importlib import import_module

        import_module(f"sensecheck.{question}").evaluate(str(path), **how)

    target(name, given, owner="originals")(call)


_parity("as calibration_metric", lambda: _logits(), "calibrated", parity="calibration_metric")
_parity("as lsdscc", lambda: [seeds.text("r.txt", "hello</s>hi\nbye</s>so long\n")], "diverse", parity="lsdscc", references=seeds.LSDSCC)  # fmt: skip
_parity("as lsdscc, sets", lambda: _diverse_sets(), "diverse", parity="lsdscc")
_parity("as blec", lambda: seeds.tabular("pairs", seeds.PAIRS), "faithful", parity="blec", schema=[seeds.SPIDER])


# -- evaluation files --------------------------------------------------------------------------------------------


def _evaluation_files() -> list[Case]:
    aliases = seeds.text("evaluation.yml", seeds.ALIASES)
    return [
        seeds.text("evaluation.toml", seeds.EVALUATION_TOML),
        seeds.as_json("evaluation.yaml", seeds.EVALUATION),
        aliases,
    ]


@target("evaluation files", _evaluation_files)
def _evaluation(path: Path) -> None:
    from sensecheck.evaluation.file import read

    evaluation = read(path)
    for entry in evaluation.entries:
        for system in evaluation.systems:
            entry.options_for(system, evaluation.systems)


# -- runs and caches ---------------------------------------------------------------------------------------------


def _run_files() -> list[Case]:
    return [Case(name, data) for name, data in seeds.finished_run().items()]


def _damaged_run(path: Path) -> Path:
    run = path.parent / "run"
    run.mkdir(exist_ok=True)
    for name, data in seeds.finished_run().items():
        (run / name).write_bytes(path.read_bytes() if name == path.name else data)
    return run


@target("runs", _run_files, owner="runs")
def _runs(path: Path) -> None:
    from sensecheck.report.result import load

    result = load(_damaged_run(path))
    result.show("table", io.StringIO())
    result.show("json", io.StringIO())
    _drain(result.rows.batches())


@target("run reports", _run_files, owner="runs")
def _run_reports(path: Path) -> None:
    from sensecheck.report.result import load

    result = load(_damaged_run(path))
    result.to_html(path.parent / "report.html")


@target("resumed runs", _run_files, owner="runs")
def _resumed_runs(path: Path) -> None:
    from sensecheck import calibrated
    from sensecheck.statistics.figure import IntervalOptions

    run = _damaged_run(path)
    rows = [{"confidence": 0.5, "correct": True}] * 3
    calibrated.evaluate(rows, out=run, resume=True, options=IntervalOptions(method="none"))


@cache
def _cache_files() -> list[Case]:
    import tempfile

    from sensecheck.stores.cache import ResultCache, request_key
    from sensecheck.stores.limits import Limits
    from sensecheck.stores.outcomes import Answer, Request

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cache.sqlite"
        with ResultCache(path) as kept:
            kept.put(request_key("f", Request("q")), Answer(["a"], [(1,)]), Limits())
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.close()
        return [Case("cache.sqlite", path.read_bytes())]


@target("result caches", _cache_files, owner="runs")
def _result_caches(path: Path) -> None:
    from sensecheck.stores.cache import ResultCache, request_key
    from sensecheck.stores.limits import Limits
    from sensecheck.stores.outcomes import Answer, Request

    key = request_key("f", Request("q"))
    with ResultCache(path) as kept:
        kept.get(key, Limits())
        kept.put(key, Answer(["a"], [(1,)]), Limits())
        len(kept)


@target("cached outcomes", lambda: [seeds.as_json("outcome.json", one) for one in seeds.OUTCOMES], owner="runs")
def _cached_outcomes(path: Path) -> None:
    from sensecheck.stores.cache import ResultCache, request_key
    from sensecheck.stores.limits import Limits
    from sensecheck.stores.outcomes import Answer, Request

    key = request_key("f", Request("q"))
    file = path.parent / "outcomes.sqlite"
    for ending in ("", "-wal", "-shm"):
        Path(f"{file}{ending}").unlink(missing_ok=True)
    with ResultCache(file) as kept:
        kept.put(key, Answer(["a"], [(1,)]), Limits())
        kept._connection.execute("UPDATE outcomes SET body = ?", (b"j" + path.read_bytes(),))
        kept.get(key, Limits())


@target(
    "call caches",
    lambda: [
        seeds.as_json("answer.json", one) for one in ({"label": 1, "scores": [0.1, 0.2, 0.7]}, ["A man sits."], "text")
    ],
    owner="runs",
)
def _call_caches(path: Path) -> None:
    from sensecheck.models.calls import CallCache, Identity
    from sensecheck.models.classifiers import Asked as AskedModel
    from sensecheck.models.classifiers import SmallClassifier, pair_text

    file = path.parent / "calls.sqlite"
    for ending in ("", "-wal", "-shm"):
        Path(f"{file}{ending}").unlink(missing_ok=True)
    model = _small()
    with CallCache(file) as kept:
        kept.put(model.identity, {pair_text(("a", "b")): 1})
        kept._db.execute("UPDATE calls SET answer = ?", (path.read_bytes().decode("utf-8", "replace"),))
        kept._db.commit()
        AskedModel(model, kept).answers([("a", "b")])
    del Identity, SmallClassifier


@cache
def _small() -> Any:
    from sensecheck.models.classifiers import SmallClassifier

    return SmallClassifier()


# -- servers -----------------------------------------------------------------------------------------------------


@target("sparql replies", lambda: [seeds.as_json("reply.json", one) for one in seeds.SPARQL_REPLIES], owner="servers")
def _sparql_replies(path: Path) -> None:
    from sensecheck.correct.answer_sets import count_of, flat_values, row_set, verdict_of
    from sensecheck.stores import endpoint
    from sensecheck.stores.limits import Limits
    from sensecheck.stores.outcomes import Answer, Failure, decode_outcome, encode_outcome

    for status in (200, 400, 500):
        outcome = endpoint._interpret(_reply(path, status), Limits())
        if isinstance(outcome, Answer):
            row_set(outcome), count_of(outcome), verdict_of(outcome), flat_values(outcome)
        elif isinstance(outcome, Failure):
            str(outcome.message)
        decode_outcome(json.loads(json.dumps(encode_outcome(outcome))))


def _reply(path: Path, status: int = 200) -> Any:
    from sensecheck.network.exchange import Reply, Secrets

    return Reply(status, path.read_bytes(), HTTPMessage(), Secrets())


@target("model replies", lambda: [seeds.as_json("reply.json", one) for one in seeds.MODEL_REPLIES], owner="servers")
def _model_replies(path: Path) -> None:
    from sensecheck.models.dialects import DIALECTS
    from sensecheck.models.endpoint import CallError, Endpoint, EndpointError
    from sensecheck.models.nli_words import reader
    from sensecheck.models.prompts import NLI_PROMPT

    for api in DIALECTS:
        # Faults of one reply: the caller asks again, or tells them as an error of the endpoint.
        with suppress(CallError, EndpointError):
            reader(NLI_PROMPT)(Endpoint("http://localhost:9/v1", "m", api=api)._said(_reply(path)))


def _batch_results() -> list[Case]:
    responses = [{"status_code": 200, "body": body} for body in seeds.MODEL_REPLIES] + [{"status_code": 500}, None]
    lines = [
        json.dumps({"id": f"b{i}", "custom_id": _custom_id(i), "response": response, "error": None})
        for i, response in enumerate(responses)
    ]
    return [seeds.text("results.jsonl", "\n".join(lines))]


def _custom_id(number: int) -> str:
    return f"{number:032x}"


@target("batch results", _batch_results, owner="servers")
def _batches(path: Path) -> None:
    from sensecheck.models.batch_files import BatchClassifier, Calls, read_results
    from sensecheck.models.by_prompt import EndpointClassifier
    from sensecheck.models.calls import CallCache
    from sensecheck.models.endpoint import Endpoint

    endpoint = Endpoint("http://localhost:9/v1", "m")
    with CallCache() as kept:
        calls = Calls(kept)
        model = BatchClassifier(EndpointClassifier(endpoint), calls)
        for number in range(10):
            kept.wait_for(_custom_id(number), model.identity, f"a\x1f{number}")
        read_results(path, calls, [(model, endpoint)])


@target("model answers", lambda: _texts("answer", seeds.ANSWERS), owner="servers")
def _model_answers(path: Path) -> None:
    from sensecheck.models.classifiers import LabelError, label_of
    from sensecheck.models.nli_words import reader
    from sensecheck.models.prompts import FLAN_PROMPT, NLI_PROMPT
    from sensecheck.models.said import Said

    text = _safe_text(path)
    for prompt in (NLI_PROMPT, FLAN_PROMPT):
        reader(prompt)(Said(text))
    with suppress(LabelError):
        label_of(text)


# -- judges -------------------------------------------------------------------------------------------------------


@target("judge prompts", lambda: [seeds.text("prompt.txt", one) for one in seeds.JUDGE_PROMPTS], owner="servers")
def _judge_prompts(path: Path) -> None:
    """What is read is filled: every text of the example once, between fences, in either order."""
    from sensecheck.correct.judging.cases import ASKS as OF_ANSWERS
    from sensecheck.faithful.judging.cases import ASKS

    errors = InputErrors()
    for asks in (*ASKS.values(), *OF_ANSWERS.values()):
        with errors:
            template = asks.template(path)
            texts = {name: f"the {name} <{name}> ```" for name in asks.texts}
            shown = {section.name for section in template.sections if section.name}
            for swapped in (False, True):
                filled = template.filled(texts, swapped=swapped)
                assert all(f"````\nthe {name} <{name}> ```\n````" in filled for name in shown)
            assert len(template.filled({})) <= len(_safe_text(path)) + 200
    errors.again()


@target("judged texts", lambda: _texts("text", seeds.JUDGED_TEXTS), owner="servers")
def _judged_texts(path: Path) -> None:
    """No line of a text ends its fence, and no mark of a chat template is left whole."""
    from sensecheck.judges.template import fenced

    text = _safe_text(path)
    fence, *within, last = fenced(text).split("\n")
    assert fence == last and len(fence) >= 3 and fence not in "\n".join(within)
    assert "\n".join(within).replace("< ", "<") == text.replace("< ", "<")
    assert not any(mark in "\n".join(within) for mark in ("<|", "<\uff5c", "</s>", "<end_of_turn>"))


@target("judge answers", lambda: _texts("answer", seeds.JUDGE_ANSWERS), owner="servers")
def _judge_answers(path: Path) -> None:
    """A verdict, or why there is none; and a reason that any page and any file can hold."""
    from sensecheck.judges.verdicts import VerdictReader, counted, reason_in
    from sensecheck.models.classifiers import Answer
    from sensecheck.models.said import Said

    text, read = _safe_text(path), VerdictReader()
    tokens = [(token, {"right": -0.1, "wrong": -2.5, token: -3.0}) for token in text[:400].split(" ")]
    for said in (Said(text), Said(text, finish="length"), Said(text, tokens=tokens), Said(text, reasoning="x")):
        reading = read(said)
        assert (reading.label is None) == (reading.why is not None) and reading.label in (None, 0, 1)
        answer = Answer.of(said, read)
        kept = Answer.restored(json.loads(json.dumps(answer.stored())), len(read.choices))
        assert kept is None or kept.read_again(read).label == answer.label
        opinion = counted([answer, answer])
        assert (opinion.right is None) == bool(opinion.why_not)
        for reason in (opinion.reason, reason_in(text)):
            reason.encode("utf-8")
            assert len(reason) <= 2_000 and (reason.isprintable() or not reason.isascii())


# -- the command line --------------------------------------------------------------------------------------------


def _command_lines() -> list[Case]:
    lines: list[list[str]] = [
        ["calibrated", "rows.csv", "--bins", "10", "--slice", "kind", "--columns", "confidence=p", "--no-ci"],
        ["calibrated", "rows.csv", "--limit", "2", "--coverages", "0.5,1", "--fail-over", "ece=0.5", "--seed", "3", "--level", "0.9"],
        ["faithful", "pairs.jsonl", "--schema", "tables.json", "--threshold", "0.4", "--skip-bad", "--no-ci"],
        ["diverse", "sets.jsonl", "--at", "1,2", "--orders", "1,2", "--aligner", "bleu:2", "--no-ci"],
        ["correct", "preds.jsonl", "--as", "spice", "--limit", "1"],
        ["robust", "nli.jsonl", "--limit", "1", "--keep", "2", "--model", "table:p.csv", "--generator", "rules"],
        ["run", "evaluation.toml"], ["report", "run"], ["compare", "run", "run"], ["explain", "ece"], ["init", "new"],
        ["recalibrate", "rows.csv", "--split", "0.5", "--method", "platt"], ["--version"], ["help", "calibrated"],
    ]  # fmt: skip
    return [seeds.text("arguments.txt", "\n".join(line)) for line in lines]


def _arguments(path: Path) -> list[str]:
    # The operating system takes no NUL in an argument; and who compares forty runs waits for forty comparisons.
    return _safe_text(path).encode("utf-8", "replace").decode("utf-8").replace("\0", "").split("\n")[:16]


def _furnished(folder: Path) -> None:
    if (folder / "rows.csv").exists():
        return
    for case in (seeds.tabular("rows", seeds.CONFIDENCES)[5], seeds.jsonl("pairs.jsonl", seeds.PAIRS), seeds.jsonl("sets.jsonl", seeds.SETS), seeds.jsonl("preds.jsonl", seeds.SQL_RECORDS), seeds.jsonl("nli.jsonl", seeds.NLI), seeds.as_json("tables.json", [seeds.SPIDER]), seeds.text("p.csv", "premise,hypothesis,prediction\na,b,neutral\n"), seeds.text("evaluation.toml", "title = 5\n")):  # fmt: skip
        (folder / case.name).write_bytes(case.data)
    assert (folder / "rows.csv").exists()
    (folder / "run").mkdir()
    for name, data in seeds.finished_run().items():
        (folder / "run" / name).write_bytes(data)


class ExitError(RuntimeError):
    """The command ended as it never should."""


_NEVER = ("serve", "http://", "https://", "hf:", "embedding:", "py:")


def _outcome(code: int, words: str) -> None:
    from tests.fuzz.judging import RAW

    if code not in (0, 1, 2, 3):
        raise ExitError(f"exit {code}: {words[-300:]}")
    raw = RAW.search(words)
    if raw is not None:
        raise ExitError(f"raw words {raw[0]!r}: {words[-300:]}")


@contextmanager
def _without(*heavy: str) -> Iterator[None]:
    """Packages that cannot be imported inside: loading them takes seconds. Other tests of the process need them again."""
    absent = [name for name in heavy if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in absent:
            sys.modules.pop(name, None)


@target("command lines", _command_lines, owner="cli")
def _command_line(path: Path) -> None:
    from sensecheck.cli import main

    arguments = _arguments(path)
    if any(word in argument for argument in arguments for word in _NEVER) or "-" in arguments:
        return  # nothing that would go out to a network, or wait for standard input
    _furnished(path.parent)
    out, err = io.StringIO(), io.StringIO()
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with redirect_stdout(out), redirect_stderr(err), _without("torch", "transformers"):
            try:
                code: Any = main(arguments)
            except SystemExit as ended:
                code = ended.code
    finally:
        os.chdir(before)
        for entry in path.parent.iterdir():
            if entry.is_dir() and entry.name not in ("run",):
                shutil.rmtree(entry, ignore_errors=True)
    _outcome(int(code or 0), err.getvalue())


@target("processes", _command_lines, process=True, owner="cli")
def _processes(path: Path) -> None:
    arguments = _arguments(path)
    if any(word in argument for argument in arguments for word in _NEVER):
        return
    _furnished(path.parent)
    ended = subprocess.run(
        [sys.executable, "-m", "sensecheck", *arguments], cwd=path.parent, capture_output=True, timeout=30, check=False,
        stdin=subprocess.DEVNULL, env={**os.environ, "POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    _outcome(ended.returncode, ended.stderr.decode("utf-8", "replace"))
