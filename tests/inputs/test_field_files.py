"""Files as programs of the field write them: the right count and the right figure of each."""

from __future__ import annotations

import pytest

import sensecheck
from sensecheck.inputs.errors import InputError
from sensecheck.report.looking import look

pytestmark = pytest.mark.golden


@pytest.fixture
def files(shared):
    folder = shared / "data" / "formats"
    if not folder.is_dir():
        pytest.skip("no ../shared/data/formats: needs third-party files that may not be copied into the repository")
    return folder


@pytest.mark.parametrize(
    ("name", "format", "examples"),
    [
        ("spider/concert_singer_gold.sql", "sql", 45),
        ("spider/concert_singer_pred_DIN-SQL.sql", "sql", 45),
        ("spider/c3_dev_gold.sql", "sql", 103),
        ("spider/c3_predicted_sql.txt", "sql", 103),
        ("spider/c3_prediction_llama.txt", "sql", 103),
        ("spider/sparc_gold_multiturn.txt", "sql", 322),
        ("spider/sparc_predict_multiturn.txt", "sql", 322),
        ("spider/tables.json", "schema", None),
        ("bird/predict_mini_dev_gpt-4-turbo_sqlite.json", "queries", 500),
        ("bird/predict_mini_dev_mistralai-mixtral-8x7b-instru-4_sqlite.json", "queries", 500),
        ("bird/predict_dev_turbo_first200.json", "queries", 200),
        ("bird/financial_predict_dev.json", "queries", 108),
        ("bird/financial_dev.json", "json", 106),
        ("bird/financial_dev_gold.sql", "sql", 106),
        ("bird/supersql_first200.sql", "sql", 200),
        ("bird/chess_gpt4omini_first120.json", "json", 120),
        ("bird/nl2sql_bugs_first60.json", "json", 60),
        ("spider2/submission_csv", "spider2", 4),
        ("spider2/submission_sql", "spider2", 3),
        ("spider2/spider2lite_eval.jsonl", "spider2-gold", 4),
        ("spider_robust/Spider-DK_first8.json", "json", 8),
        ("spider_robust/spider-realistic_first8.json", "json", 8),
        ("sql_csv/dinsql_GPT4_DIN-SQL_first150.csv", "csv", 150),
        ("sql_csv/dinsql_GPT4_zero_shot_first150.csv", "csv", 150),
        ("sql_csv/defog_sql_eval_derived.csv", "csv", 24),
        ("sql_csv/concert_singer_fenced_derived.jsonl", "jsonl", 45),
        ("kgqa/qald-9-test_first25.json", "qald", 25),
        ("kgqa/lcquad1_test_first60.json", "json", 60),
        ("kgqa/text2sparql_INFAI_ck25_answers.json", "json", 50),
        ("kgqa/ck25_true_result_set_first12.json", "answer-sets", 12),
        ("kgqa/t2s-metrics_INFAI_first20.jsonl", "jsonl", 20),
        ("kgqa/sparql_results/people.srj", "sparql-results", 1),
        ("kgqa/sparql_results/people.srx", "sparql-results", 1),
        ("kgqa/sparql_results/people.tsv", "sparql-results", 1),
        ("nli/snli.jsonl", "jsonl", 3),
        ("nli/snli_1.0_style.jsonl", "jsonl", 40),
        ("nli/glue_MNLI_dev_matched.tsv", "tsv", 40),
        ("nli/xnli.dev.tsv", "tsv", 72),
        ("nli/anli_R1_dev.jsonl", "jsonl", 36),
        ("nli/fever_nli_dev.jsonl", "jsonl", 36),
        ("nli/hf_classlabel.parquet", "parquet", 10),
        ("nli/hf_to_json.jsonl", "jsonl", 10),
    ],
)  # fmt: skip
def test_what_a_file_is_and_how_many_it_holds(files, name, format, examples):
    seen = look(str(files / name))
    assert (seen.format, seen.examples, seen.bad) == (format, examples, 0)


@pytest.mark.parametrize(("system", "figure"), [("DIN-SQL", 0.822), ("GPT4_zero_shot", 0.578)])
def test_spider(files, system, figure):
    result = sensecheck.correct.evaluate(
        files / f"spider/concert_singer_pred_{system}.sql", gold=files / "spider/concert_singer_gold.sql",
        database=files / "spider/database", conventions=["test-suite"],
    )  # fmt: skip
    assert round(result["test_suite"].value, 3) == figure and result["test_suite"].n == 45


def test_spiders_predictions_in_fences_and_prose(files):
    data = files / "sql_csv/concert_singer_fenced_derived.jsonl"
    options = {"database": files / "spider/database", "conventions": ["test-suite"]}
    assert round(sensecheck.correct.evaluate(data, **options)["test_suite"].value, 3) == 0.822
    assert sensecheck.correct.evaluate(data, **options, extract=False)["test_suite"].value < 0.1


def test_sparcs_conversations_are_clusters(files):
    result = sensecheck.correct.evaluate(
        files / "spider/sparc_predict_multiturn.txt", gold=files / "spider/sparc_gold_multiturn.txt"
    )
    assert (result["em"].n, result["em"].clusters) == (322, 132)


@pytest.mark.parametrize("system", ["c3_predicted_sql.txt", "c3_prediction_llama.txt"])
def test_c3(files, system):
    result = sensecheck.correct.evaluate(files / "spider" / system, gold=files / "spider/c3_dev_gold.sql")
    assert (result["em"].n, result["em"].unscored) == (103, {})


@pytest.mark.parametrize("gold", ["financial_dev.json", "financial_dev_gold.sql"])
def test_birds_files_of_different_lengths_are_refused(files, gold):
    with pytest.raises(InputError, match=r"has 108 predictions and .* has 106 golds, and no key joins them"):
        sensecheck.correct.evaluate(files / "bird/financial_predict_dev.json", gold=files / "bird" / gold)


def test_birds_zeros_are_predictions_of_nothing(files):
    result = sensecheck.correct.evaluate(
        files / "bird/predict_dev_turbo_first200.json",
        gold=[{"gold": "SELECT 1"} for _ in range(200)],
    )
    assert (result["em"].n, result["em"].unscored) == (200, {})


@pytest.mark.parametrize("system", ["DIN-SQL", "zero_shot"])
def test_din_sqls_tables(files, system):
    result = sensecheck.correct.evaluate(files / f"sql_csv/dinsql_GPT4_{system}_first150.csv")
    assert (result["em"].n, result["em"].unscored) == (150, {})


def test_chess(files):
    assert sensecheck.correct.evaluate(files / "bird/chess_gpt4omini_first120.json")["em"].n == 120


def test_spider_2_lite(files):
    result = sensecheck.correct.evaluate(
        files / "spider2/submission_csv", gold=files / "spider2/spider2lite_eval.jsonl", conventions=["spider2"]
    )
    rows = dict(result.measurements.select("id", "spider2").iter_rows())
    assert rows == {"bq011": 1, "bq003": 0, "bq019": 0, "bq418": 0}
    assert (result["spider2"].value, result["spider2"].n) == (0.25, 4)


@pytest.mark.parametrize("predicted", ["srj", "srx", "csv", "tsv"])
@pytest.mark.parametrize("gold", ["srj", "srx"])
def test_results_of_queries_in_all_their_forms(files, predicted, gold):
    folder = files / "kgqa/sparql_results"
    result = sensecheck.correct.evaluate(
        str(folder / f"*.{predicted}"), gold=str(folder / f"*.{gold}"), on="id", input_format="sparql-results"
    )
    assert (result["accuracy"].value, result["accuracy"].n) == (1, 3)


def test_qald_as_golds_of_its_own_queries(files):
    gold = files / "kgqa/qald-9-test_first25.json"
    result = sensecheck.correct.evaluate(gold, gold=gold, gold_from="answers")
    assert result["em"].n + sum(result["em"].unscored.values()) == 25
