"""Small valid files of every kind that is read, all written for this purpose."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import zstandard
from tests.fuzz.mutating import Case
from tests.zip_archives import DEFLATED, STORED, ZSTANDARD, archive


def text(name: str, content: str) -> Case:
    return Case(name, content.encode("utf-8"))


def jsonl(name: str, rows: Iterable[Any]) -> Case:
    return Case(name, b"\n".join(json.dumps(row, ensure_ascii=False).encode() for row in rows) + b"\n")


def as_json(name: str, document: Any) -> Case:
    return text(name, json.dumps(document, ensure_ascii=False))


def parquet(name: str, columns: Mapping[str, Any]) -> Case:
    target = io.BytesIO()
    pl.DataFrame(dict(columns)).write_parquet(target)
    return Case(name, target.getvalue())


def packed(case: Case) -> list[Case]:
    return [
        Case(f"{case.name}.gz", gzip.compress(case.data, 1, mtime=0)),
        Case(f"{case.name}.zst", zstandard.compress(case.data)),
    ]


def tabular(stem: str, rows: list[dict[str, Any]], *, flat: bool = True) -> list[Case]:
    """The same rows in every format of tables."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    cases = [jsonl(f"{stem}.jsonl", rows), as_json(f"{stem}.json", rows), as_json(f"{stem}.json", columns)]
    cases += packed(cases[0])
    if flat:
        for ending, mark in (("csv", ","), ("tsv", "\t")):
            lines = [names, *([_cell(row.get(name), mark) for name in names] for row in rows)]
            cases.append(text(f"{stem}.{ending}", "".join(mark.join(line) + "\n" for line in lines)))
        cases += packed(cases[-2])
    cases.append(parquet(f"{stem}.parquet", columns))
    return cases


def _cell(value: Any, mark: str) -> str:
    spelled = "" if value is None else value if isinstance(value, str) else json.dumps(value)
    return '"' + spelled.replace('"', '""') + '"' if mark in spelled or '"' in spelled else spelled


# -- what Hugging Face datasets writes --------------------------------------------------------------------------

FEATURES: dict[str, Any] = {
    "premise": {"dtype": "string", "_type": "Value"},
    "hypothesis": {"dtype": "string", "_type": "Value"},
    "label": {"names": ["contradiction", "entailment", "neutral"], "_type": "ClassLabel"},
}
STATE: dict[str, Any] = {
    "_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_fingerprint": "6d4b", "_format_columns": None,
    "_indices_data_files": [], "_split": None,
}  # fmt: skip
CARD = "---\ndataset_info:\n  features:\n  - name: label\n    dtype:\n      class_label:\n        names:\n" + "".join(
    f"          '{number}': {name}\n" for number, name in enumerate(FEATURES["label"]["names"])
)
LABELLED_STREAM = Path(__file__).parent.parent / "inputs" / "labelled_stream.arrow"


def arrow() -> list[Case]:
    """Streams and files, packed and not, with words from a dictionary and with lists."""
    frame = pl.DataFrame(
        {"premise": ["A man plays."] * 3, "hypothesis": ["A man sits.", "A dog.", "x"], "label": [0, 2, -1],
         "kind": pl.Series(["x", "y", None]).cast(pl.Categorical), "list": [[1], [], None], "none": [None] * 3}
    )  # fmt: skip
    cases = [Case("rows.arrow", LABELLED_STREAM.read_bytes())]
    for packing in ("uncompressed", "lz4", "zstd"):
        stream, file = io.BytesIO(), io.BytesIO()
        frame.write_ipc_stream(stream, compression=packing)  # type: ignore[arg-type]
        frame.write_ipc(file, compression=packing)  # type: ignore[arg-type]
        cases += [Case("rows.arrow", stream.getvalue()), Case("rows.feather", file.getvalue())]
    return cases


def labelled_parquet(features: bytes) -> bytes:
    """Rows whose schema says this of their labels."""
    target = io.BytesIO()
    frame = pl.DataFrame({"premise": ["A man plays."] * 2, "hypothesis": ["A man sits.", "A dog."], "label": [0, 2]})
    frame.write_parquet(target, metadata={"huggingface": features.decode("utf-8", "replace").replace("\0", "")})
    return target.getvalue()


# -- calibrated ------------------------------------------------------------------------------------------------

CONFIDENCES: list[dict[str, Any]] = [
    {"id": "a", "confidence": 0.9, "correct": 1, "kind": "x", "w": 1.0},
    {"id": "b", "confidence": 0.4, "correct": 0, "kind": "y", "w": 2.0},
    {"id": "c", "confidence": 0.75, "correct": 1, "kind": "x", "w": 0.5},
]
SPOKEN = "confidence,correct\n85%,yes\nvery likely,no\n8/10,Correct\nabout 0.4,Wrong\n"
DISTRIBUTIONS: list[dict[str, Any]] = [
    {"probabilities": {"a": 0.7, "b": 0.3}, "label": "a"},
    {"probabilities": {"a": 0.2, "b": 0.8}, "label": "a"},
]
LISTED: list[dict[str, Any]] = [{"probs": [0.7, 0.3], "label": 0}, {"probs": [0.1, 0.9], "label": 1}]
LOGITS_HF: list[dict[str, Any]] = [
    {"top_logits": [[0.9, 0.1], [0.6, 0.3]], "top_logit_idxs": [[4, 7], [7, 9]], "labels": [4, 9], "logit_at_label": [0.9, 0.3], "logsumexp": [0.0, 0.0], "input_str": "a b", "kind": "x"},
    {"top_logits": [[0.5, 0.2]], "top_logit_idxs": [[1, 2]], "labels": [-100], "logit_at_label": [0.1], "logsumexp": [0.0], "input_str": "c", "kind": "y"},
    {"top_logits": [[0.8, 0.2]], "top_logit_idxs": [[3, 2]], "labels": [3], "logit_at_label": [0.8], "logsumexp": [0.0], "input_str": "d", "kind": "y"},
]  # fmt: skip
LOGITS_RAW: list[dict[str, Any]] = [
    {"top_logits": [[12.5, 3.25], [8.5, 8.25]], "top_logit_idxs": [[4, 7], [7, 9]], "labels": [4, 9], "logsumexp": [12.6, 9.5], "tokens": ["SELECT", "name"], "predicted": ["SELECT", "city"]},
    {"top_logits": [[5.5, -2.25]], "top_logit_idxs": [[1, 2]], "labels": [2], "logsumexp": [5.6], "tokens": ["FROM"], "predicted": ["FROM"]},
]  # fmt: skip
LOGITS_MISO: list[dict[str, Any]] = [
    {"top_logits": [[0.9, 0.1], [0.6, 0.3]], "top_logit_idxs": [["be-01", "SourceCopy_3"], ["x", "y"]], "labels": ["be-01", "y"], "input_str": "a"},
    {"top_logits": [[0.5, 0.2]], "top_logit_idxs": [["TargetCopy_1", "z"]], "labels": ["@@end"], "input_str": "b"},
]  # fmt: skip
REPLIES: list[dict[str, Any]] = [
    {"object": "response", "status": "completed", "gold": "ab", "output": [{"type": "message", "content": [{"type": "output_text", "text": "ab", "logprobs": [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -0.1}, {"token": "\n", "logprob": -0.1}]}]}]},
    {"custom_id": "q", "response": {"status_code": 200, "body": {"choices": [{"text": "ab", "logprobs": {"tokens": ["a", "b"], "token_logprobs": [-0.5, -0.1]}}]}}, "gold": "ab"},
    {"custom_id": "r", "response": {"status_code": 404, "body": None}, "error": {"error": {"code": 404, "message": "no"}}},
    {"request_id": "0", "gold": "ab", "outputs": [{"text": "ab", "token_ids": [5, 6], "cumulative_logprob": -0.6, "stop_reason": 6, "finish_reason": "stop", "logprobs": [{"5": {"logprob": -0.5, "rank": 1, "decoded_token": "a"}}, {"6": {"logprob": -0.1, "decoded_token": "b"}}]}]},
    {"content": "ab", "tokens_predicted": 2, "stop": True, "gold": "ab", "completion_probabilities": [{"token": "a", "bytes": [97], "logprob": -0.5}, {"token": "b", "prob": 0.9}, {"content": "c", "probs": [{"tok_str": "c", "prob": 0.5}]}]},
    {"generated_text": "ab", "details": {"finish_reason": "eos", "prefill": [], "tokens": [{"id": 1, "text": "ab", "logprob": -0.1, "special": False}, {"id": 2, "text": "</s>", "logprob": -0.1, "special": True}], "best_of_sequences": [{"generated_text": "c", "tokens": []}]}, "gold": ["ab", "c"]},
    {"text": "ab", "gold": "ab", "meta_info": {"finish_reason": {"type": "stop", "matched": 2}, "output_token_logprobs": [[-0.5, 1, "ab"], [-0.1, 2, None]]}},
    {"gold": "ab", "usageMetadata": {"candidatesTokenCount": 2}, "candidates": [{"content": {"parts": [{"text": "ab"}]}, "avgLogprobs": -0.2}]},
    {"gold": "ab", "candidates": [{"content": {"parts": [{"text": "ab"}]}, "logprobsResult": {"chosenCandidates": [{"token": "ab", "logProbability": -0.3}]}}]},
    {"custom_id": "s", "gold": "ab", "result": {"type": "succeeded", "message": {"type": "message", "content": [{"type": "text", "text": "ab\nConfidence: 60%"}]}}},
    {"text": " ab", "tokens": ["\u0120a", "b", "</s>"], "transition_scores": [-0.5, -0.1, -0.1], "gold": "ab"},
]  # fmt: skip


def lm_eval_choices(same: bool) -> list[dict[str, Any]]:
    """lm-evaluation-harness: multiple choice, where all documents have the same choices or each has its own."""
    return [
        {
            "doc_id": at, "doc": {"id": f"d{at}", "question": "Où?", "label": at % 2, "subject": "law"}, "target": str(at % 2),
            "arguments": {
                f"gen_args_{i}": {"arg_0": "Q: Où?\nA:", "arg_1": f" {text}" + ("" if same else f" {at}")}
                for i, text in enumerate(("yes", "no", "maybe"))
            },
            "resps": [[["-1.5", "False"]], [["-0.5", "True"]], [["-inf", "False"]]],
            "filtered_resps": [["-1.5", "False"], ["-0.5", "True"], ["-inf", "False"]], "filter": "none",
            "metrics": ["acc", "acc_norm", "brier_score"], "acc": float(at % 2), "acc_norm": float(at % 2),
            "brier_score": [at % 2, "[0.3 0.6 0.1]"],
        }
        for at in range(4)
    ]  # fmt: skip


LM_EVAL_GENERATED: list[dict[str, Any]] = [
    {
        "doc_id": at, "doc": {"question": "How many?"}, "target": "['5', \"it's 5\"]",
        "arguments": {"gen_args_0": {"arg_0": "How many?", "arg_1": {"until": ["\n"], "do_sample": True}}},
        "resps": [[" 5\n", " six"]], "filtered_resps": ["5"], "filter": filter, "metrics": ["exact_match"],
        "exact_match": float(at),
    }
    for filter in ("strict", "loose") for at in range(2)
]  # fmt: skip
LM_EVAL_OTHER: list[dict[str, Any]] = [
    {"doc_id": 0, "doc": {"text": "a"}, "target": "b", "arguments": [["a", " b"]], "resps": [[[-1.0, True]]],
     "filtered_resps": [[-1.0, True]], "perplexity": -1.0, "acc": 1},
    {"doc_id": 1, "doc": {"text": "a"}, "target": "b", "arguments": [["a"]], "resps": [["-9.5"]], "filtered_resps": ["-9.5"],
     "word_perplexity": [-9.5, 3]},
]  # fmt: skip
LM_EVAL_RESULTS = {
    "results": {"t": {"sample_len": 4, "acc,none": 0.5, "acc_stderr,none": "N/A"}},
    "configs": {"t": {"task": "t"}}, "n-samples": {"t": {"original": 4, "effective": 4}},
}  # fmt: skip
EVERY_EVAL_EVER: list[dict[str, Any]] = [
    {
        "schema_version": "0.3.0", "evaluation_id": "e", "model_id": "org/m", "evaluation_name": "geo",
        "evaluation_result_id": metric, "sample_id": str(at), "interaction_type": "single_turn",
        "input": {"raw": "Où?", "reference": ["1"], "choices": ["Oslo", "Lima"]}, "output": {"raw": ["Lima"]},
        "messages": None, "answer_attribution": [], "evaluation": {"score": float(at), "is_correct": at == 1},
        "error": None, "metadata": {"subject": "geo", "epoch": "1"},
    }
    for at in range(2) for metric in ("acc", "f1")
]  # fmt: skip
EVERY_EVAL_EVER_FIGURES = {
    "schema_version": "0.3.0", "evaluation_id": "e", "model_info": {"id": "org/m"},
    "evaluation_results": [
        {"evaluation_result_id": "acc", "evaluation_name": "geo", "metric_config": {"lower_is_better": False},
         "score_details": {"score": 0.5, "uncertainty": {"num_samples": 2}}},
    ],
    "detailed_evaluation_results": {"file_path": "data/x_samples.jsonl"},
}  # fmt: skip
HELM_STATE = {
    "adapter_spec": {"method": "multiple_choice_joint"},
    "request_states": [
        {
            "instance": {
                "id": name, "input": {"text": "Où?"}, "split": "test", **perturbed,
                "references": [{"output": {"text": "Oslo"}, "tags": []}, {"output": {"text": "Lima"}, "tags": ["correct"]}],
            },
            "train_trial_index": 0, "output_mapping": {"A": "Oslo", "B": "Lima"}, "request": {"echo_prompt": False},
            "result": {"success": True, "completions": [
                {"text": " B", "logprob": -0.5, "tokens": [{"text": " ", "logprob": -0.25}, {"text": "B", "logprob": -0.25}]}]},
        }
        for name, perturbed in (("a", {}), ("b", {}), ("a", {"perturbation": {"name": "robustness"}}))
    ],
}  # fmt: skip
HELM_STATS = [
    {"instance_id": name, "train_trial_index": 0, "stats": [
        {"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": 1, "mean": 1.0},
        {"name": {"name": "f1_score"}, "count": 2, "sum": 1.5}]}
    for name in ("a", "b")
]  # fmt: skip
SPLIT_TABLE = {
    "columns": ["inputs", "ground_truth", "predictions", "right/score", "judge/v1/score", "kind/value"],
    "data": [["q0", "Paris", "Paris", 1, 4, "yes"], ["q1", "Lima", None, 0, None, "no"]],
}
CHAT: list[dict[str, Any]] = [
    {"id": "r1", "choices": [{"index": 0, "message": {"role": "assistant", "content": "yes"}, "logprobs": {"content": [{"token": "yes", "logprob": -0.1}, {"token": "!", "logprob": -0.5}]}}], "gold": "yes", "kind": "x"},
    {"custom_id": "r2", "response": {"body": {"choices": [{"text": "no", "logprobs": {"tokens": ["n", "o"], "token_logprobs": [None, -0.2]}}]}}, "correct": True},
    {"content": "ok", "completion_probabilities": [{"content": "ok", "probs": [{"tok_str": "ok", "prob": 0.8}, {"tok_str": "no", "prob": 0.2}]}], "gold": "ok"},
    {"id": 5, "logprobs": [-0.1, {"logprob": -0.3}], "text": "a", "answer": "b"},
]  # fmt: skip
INSPECT: list[dict[str, Any]] = [
    {"version": 2, "status": "success", "eval": {"task": "t", "model": "m", "dataset": {}}, "results": {"scores": [{"name": "match", "scorer": "match", "metrics": {"accuracy": {"name": "accuracy", "value": 0.5}}}]}, "samples": [
        {"id": "a", "epoch": 1, "input": "q?", "target": "x", "output": {"choices": [{"message": {"role": "assistant", "content": "x"}, "logprobs": {"content": [{"token": "x", "logprob": -0.5}]}}]}, "scores": {"match": {"value": "C", "answer": "x"}}, "metadata": {"n": 1}},
        {"id": 2, "epoch": 1, "input": [{"role": "user", "content": "attachment://0123456789abcdef0123456789abcdef"}], "target": ["y", "z"], "choices": ["y", "z"], "output": {"choices": []}, "scores": {}, "error": {"message": "Sandbox('x')"}, "attachments": {"0123456789abcdef0123456789abcdef": "q"}},
        {"id": 2, "epoch": 2, "input": "q", "target": "y", "output": {"choices": [{"message": {"content": [{"type": "text", "text": "y"}]}}]}, "scores": {"match": {"value": 0.5}}, "limit": {"type": "token", "limit": 3}}]},
    {"status": "success", "eval": {"task": "t", "model": "m"}, "samples": [{"id": 1, "epoch": 1, "input": "q", "target": "y", "output": {"choices": []}, "scores": {"c": {"value": {"correct": 1, "confidence": 0.75}}}}]},
]  # fmt: skip
PROMPTFOO: list[dict[str, Any]] = [
    {"evalId": "e", "results": {"version": 3, "results": [
        {"testIdx": 0, "promptIdx": 0, "prompt": {"raw": "q", "label": "l"}, "vars": {"a": "b"}, "provider": {"id": "p"}, "success": True, "score": 1, "response": {"output": "x", "logProbs": [-0.5]}, "gradingResult": {"pass": True, "score": 1, "componentResults": [{"pass": True, "score": 1, "assertion": {"type": "equals", "metric": "m"}}]}},
        {"testIdx": 1, "promptIdx": 0, "prompt": {"raw": "q", "label": "l"}, "vars": {"a": 5}, "provider": {"id": "p"}, "success": False, "score": 0, "error": "status 429", "failureReason": 2}]}},
    {"version": 1, "results": [{"prompt": {"raw": "q", "display": "d"}, "vars": {"b": "c"}, "response": {"output": {"x": 1}}, "success": True}, {"prompt": {"raw": "r", "display": "d"}, "vars": {"b": "d"}, "response": {"output": "y"}, "success": False}]},
]  # fmt: skip


def inspect_archives() -> list[Case]:
    header = {name: part for name, part in INSPECT[0].items() if name != "samples"}
    entries = [("_journal/start.json", {}), *((f"samples/{one['id']}_epoch_{one['epoch']}.json", one) for one in INSPECT[0]["samples"]), ("header.json", header)]  # fmt: skip
    return [Case("log.eval", archive(entries, method)) for method in (STORED, DEFLATED, ZSTANDARD)]


RECALIBRATIONS: list[dict[str, Any]] = [
    {"schema": "sensecheck.recalibration/1", "method": "temperature", "parameters": {"T": [1.5]}, "rows": 10, "notes": ["n"], "source": {"inputs": [{"path": "a", "sha256": "0"}]}},
    {"schema": "sensecheck.recalibration/1", "method": "isotonic", "parameters": {"x": [0.1, 0.5], "y": [0.2, 0.7]}, "rows": 4, "notes": [], "source": {}},
    {"schema": "sensecheck.recalibration/1", "method": "beta", "parameters": {"a": [1.0], "b": [0.5], "c": [0.1]}, "rows": 4, "notes": [], "source": {"split": 0.5}},
    {"schema": "sensecheck.recalibration/1", "method": "platt", "parameters": {"a": [1.0], "b": [0.5]}, "rows": 4, "notes": [], "source": {}},
]  # fmt: skip
TOKEN_KINDS: list[Any] = [
    {"SELECT": "keyword", "name": "identifier"},
    {"classes": {"number": "[0-9.]+", "word": "\\w+"}},
]

# -- faithful --------------------------------------------------------------------------------------------------

PAIRS: list[dict[str, Any]] = [
    {"id": "p1", "query": "SELECT name FROM singer WHERE age > 20", "sentence": "Names of singers older than 20?", "db_id": "concert", "kind": "x"},
    {"id": "p2", "query": "SELECT count(*) FROM concert", "sentence": "How many concerts are there?", "db_id": "concert", "kind": "y"},
]  # fmt: skip
SPIDER: dict[str, Any] = {
    "db_id": "concert",
    "table_names_original": ["singer", "concert"],
    "table_names": ["singer", "concert"],
    "column_names_original": [[-1, "*"], [0, "name"], [0, "age"], [1, "venue_name"]],
    "column_names": [[-1, "*"], [0, "name"], [0, "age"], [1, "venue name"]],
    "column_types": ["text", "text", "number", "text"],
    "foreign_keys": [[3, 1]],
    "primary_keys": [1],
}
CREATE = (
    "CREATE TABLE singer (name TEXT PRIMARY KEY, age INT);\nCREATE TABLE concert (venue_name VARCHAR(20), year DATE);\n"
)
COMMENTED = """CREATE TABLE `singer` ( -- who sings
    id INT NOT NULL -- the number,
    name VARCHAR(20) COMMENT 'as on the bill', /* or not */
    kind CHAR(1) DEFAULT 'S' -- 'S' = soprano, 'T' means tenor
    , PRIMARY KEY (id), KEY by_name (name)
) COMMENT='all of them';
CREATE TABLE [the concert] (singer INT REFERENCES singer, tags text[], m MAP<STRING, INT>,
    -- a day
    "day" DATE, CONSTRAINT c FOREIGN KEY (singer, "day") REFERENCES x.y (a, b) ON DELETE CASCADE)
GO
COPY singer FROM stdin;
1\tit's
\\.
COMMENT ON COLUMN singer.id IS 'a ''number'' of it'; COMMENT ON TABLE singer IS $$x$$;
ALTER TABLE ONLY singer ADD CONSTRAINT k PRIMARY KEY (id), ADD FOREIGN KEY (name) REFERENCES b (c);
"""
DESCRIPTION = (
    "original_column_name,column_name,column_description,data_format,value_description,\n"
    "id,singer id,the id of the singer,integer,,\nname,,,text,in capitals\n"
    'kind,kind of voice,,text,,"""S"" stands for soprano\n""T"": tenor; 0 = unknown"\n'
)
NESTED_SCHEMA: dict[str, Any] = {
    "concert": {
        "db_id": "concert",
        "tables": {
            "singer": {
                "columns": [{"name": "name", "type": "TEXT", "notnull": True}, {"name": "age", "type": "INT"}],
                "primary_keys": ["name"],
                "foreign_keys": [{"from": "age", "to_table": "concert", "to_column": None}],
                "enhanced_ddl": "CREATE TABLE singer (name TEXT -- on the bill,\n age INT -- in years\n)",
            }
        },
    }
}
LEXICON: list[dict[str, Any]] = [
    {
        "signals": {"negation": ["not", "n't", "no ~member"], "count": ["how many", "number of"]},
        "up": {"roomy": ["size"]}, "down": {"tiny": ["size", "area"]}, "comparative": {"comfier": ["comfy", 1]},
        "superlative": {"comfiest": ["comfy", 1]}, "rank": {"words": ["tier"]},
    },
    {
        "groups": [["singer", "vocalist"], ["venue", "hall"]], "abbreviations": {"vn": "venue"}, "units": ["kg"],
        "generic": ["name"], "measured": ["weight"], "amounts": ["sum"], "dated": ["when"], "named": ["singer"],
        "nouns": ["venue"],
    },
    {
        "places": {"norway": ["norwegian", "no"]}, "codes": {"f": ["female"]}, "yes": ["yes"], "no": ["no"],
        "guards": {"counted": ["all"], "not_superlative": ["forest"]}, "about": "words of our own",
    },
]  # fmt: skip
LABELS_NT = '<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "Anna \\u00e9"@en .\n<http://e/b> <http://www.w3.org/2004/02/skos/core#prefLabel> "B \\"x\\"" .\n'
LABELS_TTL = (
    '@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n<http://e/a> rdfs:label "Anna"@en , "Anne"@fr .\n'
)
LOGIC: list[str] = [
    "eq { count { filter_eq { all_rows ; country ; norway } } ; 3 } = true",
    "and { only { filter_greater { all_rows ; points ; 10 } } ; eq { hop { argmax { all_rows ; points } ; team } ; ajax } } = true",
    "round_eq { avg { all_rows ; attendance } ; 5,000.5 } = true",
    "most_greater_eq { all_rows ; score ; 2 } = true",
    "eq { diff { hop { nth_argmax { all_rows ; year ; 2 } ; wins } ; hop { argmin { all_rows ; year } ; wins } } ; -2 } = true",
]
DESCRIBED = """
CREATE TABLE client (id INTEGER PRIMARY KEY NOT NULL, gender TEXT, -- F = woman
    born DATE, -- birth date
    district_id INTEGER REFERENCES district (id));
CREATE TABLE district (id INTEGER PRIMARY KEY NOT NULL, A2 TEXT, -- district name
    A11 INTEGER -- average salary in 1995
);
CREATE TABLE account (id INTEGER PRIMARY KEY NOT NULL, district_id INTEGER, opened DATE);
"""
DESCRIBED_SQL = [
    "SELECT COUNT(c.id) FROM client c JOIN district d ON c.district_id = d.id WHERE c.gender = 'F' AND d.A2 = 'Pisek'",
    "SELECT CAST(SUM(CASE WHEN gender = 'F' THEN 1 ELSE 0 END) AS REAL) * 100 / COUNT(*) AS share FROM client WHERE "
    "strftime('%Y', born) < '1980' OR id IN (1, 2) ORDER BY share LIMIT 1",
]
EVIDENCE = [
    "women refers to gender = 'F'; over 65 refers to A11 >= 65; share = DIVIDE(COUNT(gender = 'F'), COUNT(id)) * 100",
    "A11 stands for average salary; 'Pisek' is the A2 of district; opened in 1995 refers to opened LIKE '1995%'",
    "elders refers to born BETWEEN '1920-01-01' AND '1930-12-31'; no name refers to A2 is null\nTotal = `A11` / id.",
]
SENTENCES: list[str] = [
    "Three of the rows are from Norway.",
    "What are the names of all singers who aren't older than twenty-one, and how many concerts had they in 2014?",
    "the average attendance was 5,000.5, more than half of the 1st team's",
]
SQL: list[str] = [
    "SELECT name, count(*) AS n FROM singer WHERE age > 20 AND name LIKE '%a%' GROUP BY name HAVING count(*) > 1 ORDER BY n DESC LIMIT 3",
    "SELECT T1.name FROM singer AS T1 JOIN concert AS T2 ON T1.id = T2.singer_id WHERE T2.year BETWEEN 2014 AND 2015 OR T1.age IN (1, 2.5e3, -4)",
    "WITH old AS (SELECT * FROM singer WHERE age >= 0x1F) SELECT max(age), CAST(avg(age) AS INT) FROM old UNION SELECT 1, NULL EXCEPT SELECT 2, 'it''s'",
    "SELECT CASE WHEN a IS NOT NULL THEN 'x' ELSE \"b\" END, a || b, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a)",
    "SELECT DISTINCT a + 1 AS b, b * 2 AS c FROM t ORDER BY 1, c NULLS LAST LIMIT 5 OFFSET 2",
]
SPARQL: list[str] = [
    "PREFIX ex: <http://e/> SELECT DISTINCT ?x (COUNT(?y) AS ?n) WHERE { ?x ex:p ?y ; a ex:C . FILTER(?y > 3 && REGEX(STR(?x), 'a', 'i')) OPTIONAL { ?y ex:q/ex:r* \"v\"@en } } GROUP BY ?x HAVING (COUNT(?y) > 1) ORDER BY DESC(?n) LIMIT 3 OFFSET 1",
    'ASK { <http://e/a> <http://e/p> "3"^^<http://www.w3.org/2001/XMLSchema#integer> , 4.5e3 , true }',
    'SELECT * WHERE { { ?s ?p ?o } UNION { VALUES (?s ?o) { (<a> 1) (UNDEF "x") } } MINUS { ?s a [] } BIND(IF(?o IN (1, 2), \'a\', """b\n""") AS ?z) }',
    "SELECT ?x WHERE { ?x wdt:P31 wd:Q5 . { SELECT ?x WHERE { ?x ^wdt:P1|!(wdt:P2|^wdt:P3) (1 2) } } FILTER NOT EXISTS { GRAPH ?g { ?x ?p _:b } } }",
    "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o } # done",
]
TEMPLATE: list[Any] = [[{"SELECT name FROM singer": {"c1": "name", "t1": "singer"}}, {"SELECT name": {"c1": "name"}}]]

# -- correct ---------------------------------------------------------------------------------------------------

SPICE: list[dict[str, Any]] = [
    {"question_type": ["Simple Question (Direct)"], "description": "d", "question": "q?", "answer": "a", "actions": "SELECT ?x WHERE { wd:Q1 wdt:P1 ?x . }", "results": ["Q1", "Q2"], "sparql_delex": "SELECT ?x WHERE { wd:Q1 wdt:P1 ?x . }", "turnID": "test#QA_1#QA_2#0"},
    {"question_type": "Verification", "description": "e", "question": "q?", "answer": "YES", "actions": None, "results": ["True"], "sparql_delex": "ASK { wd:Q1 wdt:P1 wd:Q2 }", "turnID": "test#QA_1#QA_2#1"},
]  # fmt: skip
SQL_RECORDS: list[dict[str, Any]] = [
    {"id": 1, "prediction": "SELECT name FROM singer", "gold": "SELECT name FROM singer", "db_id": "concert", "kind": "x"},
    {"id": 2, "prediction": "SELECT age FROM singer", "gold": "SELECT max(age) FROM singer", "db_id": "concert", "kind": "y"},
]  # fmt: skip
RESULTS_XML = """<?xml version="1.0"?>
<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head><variable name="x"/><variable name="n"/></head><results>
<result><binding name="x"><uri>http://e/a</uri></binding><binding name="n"><literal datatype="http://www.w3.org/2001/XMLSchema#integer">3</literal></binding></result>
<result><binding name="x"><literal xml:lang="en">b &amp; c</literal></binding></result><result><binding name="x"><bnode>r1</bnode></binding></result></results></sparql>
"""
RESULTS_CSV = 'x,n\r\nhttp://e/a,3\r\n"b, ""c""",\r\n_:r1,2.5\r\n'
RESULTS_TSV = '?x\t?n\n<http://e/a>\t3\n"b \\"c\\" \\u00e4"@en\t\n_:r1\t2.5e1\n\'z\'\t"1"^^<http://www.w3.org/2001/XMLSchema#int>\n'
GIVEN: list[dict[str, Any]] = [
    {"id": "a", "predicted_answers": {"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "uri", "value": "http://e/a"}}]}}, "answers": [{"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "literal", "value": "8"}}]}}], "gold": None},
    {"id": "b", "predicted_answers": {"boolean": True}, "answers": [{"head": {}, "results": {}, "boolean": True}], "gold": None},
    {"id": "c", "predicted_answers": ["Q1", "Q2"], "answers": [["Q1", 3], ["Q2", 4.5]], "gold": None},
]  # fmt: skip
TABLES: list[dict[str, Any]] = [
    {"id": "a", "predicted_answers": {"columns": ["n", "s"], "rows": [[1, "x"], [2.5, None]]}, "gold_answers": [{"columns": ["m"], "rows": [[1], [2]]}, {"columns": ["a", "b"], "rows": [["x", 1]]}], "condition_cols": [[0], [0, 1]], "ignore_order": True},
    {"id": "b", "predicted_answers": {"columns": ["n"], "rows": []}, "gold_answers": [{"columns": ["m"], "rows": []}], "condition_cols": [], "ignore_order": False},
]  # fmt: skip
SPIDER2_TABLE = 'name,n,when,ok\n"Anna, B",1,2017-04,True\nBen,2.50,,false\n\nC,NaN,2017-05,true\n'
SPIDER2_LIST = '{"instance_id": "q1", "condition_cols": [[0], [1, 2]], "ignore_order": true, "toks": "5"}\n{"instance_id": "q2", "condition_cols": [], "ignore_order": false}\n'
LABEL_SERVICES: list[str] = [
    'SELECT ?x ?xLabel WHERE { ?x wdt:P31 wd:Q5 . SERVICE wikibase:label { bd:serviceParam wikibase:language "[AUTO_LANGUAGE],en,de" . } } ORDER BY ?xLabel LIMIT 3',
    'SELECT * { SERVICE SILENT wikibase:label { bd:serviceParam wikibase:language "en" , "fr" . ?x rdfs:label ?n . wd:Q5 schema:description ?d } { SELECT ?x (COUNT(?y) AS ?yLabel) { ?x ?p ?y } GROUP BY ?x } }',
    "SELECT (SAMPLE(?kLabel) AS ?l) { { ?x a ?k } UNION { OPTIONAL { ?k ?p ?x SERVICE wikibase:label {} } } FILTER(?kAltLabel = 'a' && EXISTS { ?x ?y ?z }) }",
]
DISTANCES = "test#QA_1#QA_2#0\t1\ntest#QA_1#QA_2#1\t2\n"

# -- diverse ---------------------------------------------------------------------------------------------------

RESPONSES = "hello there</s>hi you</s>\ngood day</s></s>bye\n\nlast one</s>two\n"
SETS: list[dict[str, Any]] = [
    {"id": "q1", "query": "hi", "hypotheses": ["hello", "hey you"], "references": {"0": ["hello there"], "1": ["good day", "hi"]}, "kind": "x"},
    {"id": "q2", "query": "bye", "hypotheses": ["see you"], "references": {"0": ["bye"], "1": ["so long"]}, "kind": "y"},
]  # fmt: skip
LSDSCC: dict[str, Any] = {
    "hi": {"0": ["hello there"], "1": ["good day", "hi"]},
    "bye": {"0": ["so long"], "2": ["bye"]},
}
FLAT_SETS = (
    'query,hypotheses,references\nhi,"[""hello"",""hey""]","[""hi""]"\nbye,so long,"[[""bye""],[""see you""]]"\n'
)

_BEAMS = [["hello", -1.5], ["hi you", -2.0]]
WORLD_LOG: list[dict[str, Any]] = [
    {"dialog": [[{"id": "Bot_1", "episode_done": False, "text": "hello", "beam_texts": _BEAMS}, {"id": "Bot_2", "text": "bye", "beam_texts": _BEAMS}]], "context": [{"id": "context", "text": "hi"}], "metadata_path": "log.metadata"},
    {"dialog": [[{"id": "task", "text": "who ?", "eval_labels": ["me", "you"], "beam_texts": ""}, {"id": "Model", "text": "me", "text_candidates": ["me"]}], [{"id": "x", "text": "a"}]]},
    {"dialog": [{"id": "x", "text": "a", "labels": "b"}, {"id": "y", "text": "c"}]},
]  # fmt: skip
NOVELTY: list[dict[str, Any]] = [
    {"id": "a", "prompt": "A colour?", "model": "m", "generations": ["red", "Red.", "blue"], "partition": [0, 0, 1], "distinct": 1, "generation_scores": [10, 0, 9], "utility": 2.5},
    {"id": "b", "prompt": "A number?", "model": "m", "generations": ["7", "8"], "partition": [0, 1], "distinct": 1, "utility": 1.5},
]  # fmt: skip
TABBED = "Who is it?\tMy sister.\tA friend.\nWhere?\tHere.\t\tThere.\nAnd when?\tNow.\t\t\n"

# -- label sheets ------------------------------------------------------------------------------------------------

LABEL_STUDIO: list[dict[str, Any]] = [
    {"id": 1, "data": {"example_id": "q1"}, "annotations": [{"id": 5, "completed_by": {"id": 2, "email": "b@x.org"}, "result": [{"type": "choices", "from_name": "verdict", "value": {"choices": ["Correct"]}}], "was_cancelled": False}]},
    {"id": 2, "data": {"id": "q2"}, "meta": {}, "annotations": [{"id": 6, "completed_by": 1, "result": [], "was_cancelled": True}]},
]  # fmt: skip
LABEL_STUDIO_MIN: list[dict[str, Any]] = [
    {"example_id": "q1", "question": "?", "id": 1, "verdict": "Correct", "tags": {"choices": ["a", "b"]}, "annotator": 1, "annotation_id": 5, "lead_time": 1.5},
    {"example_id": "q2", "question": "?", "id": 2, "verdict": "Wrong", "annotator": "b@x.org", "annotation_id": 6, "lead_time": 1.5},
]  # fmt: skip
PRODIGY: list[dict[str, Any]] = [
    {"text": "t", "meta": {"id": "q1"}, "_input_hash": -5, "_task_hash": 6, "label": "CORRECT", "answer": "accept", "_annotator_id": "anna", "_session_id": "s"},
    {"text": "t", "_input_hash": 7, "_task_hash": 8, "options": [{"id": "a"}, {"id": "b"}], "accept": ["a"], "answer": "ignore", "_view_id": "choice"},
]  # fmt: skip
ARGILLA: list[list[dict[str, Any]]] = [
    [{"id": "q1", "fields": {"question": "?"}, "responses": {"verdict": [{"value": "correct", "user_id": "u1"}, {"value": ["a", "b"], "user_id": "u2", "status": "draft"}]}, "suggestions": {}, "status": "pending"}],
    [{"external_id": "q1", "fields": {"t": "x"}, "metadata": {}, "responses": [{"user_id": "u1", "values": {"verdict": {"value": 5}}, "status": "submitted"}]}],
    [{"id": "q1", "verdict.responses": ["yes", "no"], "verdict.responses.users": ["u1", "u2"], "verdict.responses.status": ["submitted", "discarded"]}],
    [{"id": "q1", "text": "t", "annotation": "yes", "annotation_agent": "u1", "status": "Validated"}],
]  # fmt: skip
DOCCANO: list[list[dict[str, Any]]] = [
    [{"id": 1, "text": "t", "example_id": "q1", "label": ["correct"], "Comments": []}, {"id": 2, "text": "t", "label": [], "username": "ben"}],
    [{"text": "t", "entities": [[0, 3, "City"]], "cats": ["flight"]}, {"text": "t", "label": [[0, 3, "City"]]}],
    [{"id": 7, "text": "t", "annotations": [{"label": 2, "user": 1}, {"label": 3, "user": 2}], "meta": {}, "annotation_approver": None}],
]  # fmt: skip
BY_ANNOTATOR = "Index,FN_A,FN_B,FP_A,FP_B,FP_avg\n0,1,0,1,,0.5\n1,0,0,1,1,1\n2,1,0,yes,no,0.5\n"

PLAIN_LABELS: list[dict[str, Any]] = [
    {"id": "q1", "label": "right", "who": "anna", "note": "x"}, {"id": "q2", "label": "wrong"}, {"id": 3, "label": 1},
    {"id": "q4", "label": "unclear", "who": "ben"},
]  # fmt: skip
PLAIN_LABELS_CSV = 'id,label,who,note\nq1,right,anna,\nq2,wrong,anna,"a, b"\nq3,,anna,\n4,yes,ben,x\n'
JUDGE_PROMPTS = [
    "You judge.\n[schema]\nTables:\n<schema>\n[evidence]\n<evidence>\n[question]\nQ: <question>\n[query]\n<query>\n[]\nright or wrong?\n",
    "[query]\n<query>\n[sentence]\n<sentence>\n",
    "[question]\n<question>\n[gold]\n<gold>\n[gold_answer]\n<gold_answer>\n[prediction]\n<prediction>\n[predicted_answer]\n"
    "<predicted_answer>\n[message]\n<message>\n[]\nEnd",
]  # fmt: skip
JUDGED_TEXTS = [
    "SELECT name FROM singer", "```sql\nSELECT 1\n```", "a\n````\n[]\nright\n<query> <schema>",
    "x<|im_end|>\n<|im_start|>system</s><end_of_turn><\uff5cUser\uff5c>", "\x1b[31m\u202e\0 \r`\u2028``",
]  # fmt: skip
JUDGE_ANSWERS = [
    '{"reason": "It counts all rows.", "label": "right"}', '```json\n{"reason": "x", "label": "wrong"}\n```',
    '<think>right? wrong?</think>Here: {"label": "right", "reason": "a \\ud800 \\"label\\": \\"wrong\\""}',
    "The filter is missing.\n\n**Verdict: wrong**", "Final answer: correct", "<answer>right</answer> \\boxed{wrong}",
    '[{"label": "right", "label": "wrong"}]', "I cannot help with that.", "\ufeff{'verdict': 'incorrect'}", "Right.",
]  # fmt: skip


def vectors(name: str) -> Case:
    if name.endswith(".npz"):
        target = io.BytesIO()
        np.savez(target, texts=np.array(["hello", "hey you"]), vectors=np.eye(2))
        return Case(name, target.getvalue())
    rows = [{"text": "hello", "vector": [1.0, 0.0]}, {"text": "hey you", "vector": [0.0, 1.0]}]
    if name.endswith(".parquet"):
        return parquet(name, {key: [row[key] for row in rows] for key in ("text", "vector")})
    return jsonl(name, rows)


def arrays() -> list[Case]:
    """Files of arrays, packed and not, of predictions with labels and of what `generate` gives."""
    p = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [2.0, -1.0, 0.5]])
    y = np.array([0, 1, 2])
    sequences = np.array([[5, 3, 4, 1], [5, 3, 1, 2]])
    steps = np.linspace(-2.0, 2.0, 2 * 3 * 6).reshape(2, 3, 6)
    contents: list[dict[str, Any]] = [
        {"predictions": p.astype(np.float32), "label_ids": y},
        {"confidence": p[:, 0], "correct": y > 0, "name": np.array(["a", "b", "c"])},
        {"sequences": sequences, "scores": steps.astype(np.float16)},
        {"sequences": sequences, "transition_scores": -np.abs(steps[:, :, 0]), "eos_token_id": np.array(1)},
    ]
    cases = []
    for at, content in enumerate(contents):
        for save in (np.savez, np.savez_compressed):
            target = io.BytesIO()
            save(target, **content)
            cases.append(Case(f"{at}.npz", target.getvalue()))
    for array in (p, np.asfortranarray(p), y):
        target = io.BytesIO()
        np.save(target, array)
        cases.append(Case("a.npy", target.getvalue()))
    numbers = p.astype("<f4").tobytes() + y.astype("<i8").tobytes()
    header = json.dumps({
        "logits": {"dtype": "F32", "shape": [3, 3], "data_offsets": [0, 36]},
        "labels": {"dtype": "I64", "shape": [3], "data_offsets": [36, 60]},
    }).encode()  # fmt: skip
    cases.append(Case("a.safetensors", len(header).to_bytes(8, "little") + header + numbers))
    return cases


# -- robust ----------------------------------------------------------------------------------------------------

NLI: list[dict[str, Any]] = [
    {"id": "n1", "premise": "A man plays a guitar.", "hypothesis": "A man makes music.", "label": "entailment", "genre": "x"},
    {"id": "n2", "premise": "Two dogs run.", "hypothesis": "The dogs are not sleeping.", "label": "neutral", "genre": "y"},
    {"id": "n3", "premise": "A woman reads.", "hypothesis": "Nobody reads a book.", "label": "contradiction", "genre": "y"},
]  # fmt: skip
SNLI: list[dict[str, Any]] = [
    {"pairID": "1", "sentence1": "A man sits.", "sentence2": "He is tall.", "gold_label": "-"},
    {"pairID": "2", "sentence1": "A man sits.", "sentence2": "He stands.", "gold_label": "contradiction"},
]
NUMBERED: list[dict[str, Any]] = [
    {"question": "Who?", "sentence": "A man.", "label": 0},
    {"question": "Where?", "sentence": "Here.", "label": 1},
]
STATEMENTS: list[dict[str, Any]] = [
    {"hypothesis": "A man makes music.", "polarity": "positive", "statement": "A person makes music."},
    {"hypothesis": "A man makes music.", "polarity": "negative", "statement": "Nobody makes music."},
]
PREDICTIONS: list[dict[str, Any]] = [
    {"premise": "A man plays.", "hypothesis": "A man makes music.", "prediction": "entailment"},
    {"premise": "Two dogs run.", "hypothesis": "They sleep.", "prediction": "2"},
]
SCORES: list[dict[str, Any]] = [
    {"premise": "a", "hypothesis": "b", "entailment": 0.5, "neutral": 0.25, "contradiction": 0.25}
]
HYPOTHESES: list[str] = [
    "A man in a blue shirt isn't playing the guitar near two young women.",
    "The dogs are running through the park, and several children who have ice cream watch them.",
    "There are no people on the street because it was raining.",
    "Someone will have been given a red ball by her.",
]

# -- evaluation files, runs, caches, servers ---------------------------------------------------------------------

EVALUATION_TOML = """title = "Two systems"
systems = ["A", "B"]
out = "runs"
compare = true
[intervals]
method = "percentile"
level = 0.9
replicates = 200
seed = 7
[[evaluate]]
question = "calibrated"
name = "confidence"
data = "predictions/{system}.csv"
bins = 10
slices = ["kind", ["kind", "w"]]
columns = { confidence = "conf" }
fail_over = { ece = 0.1 }
[[evaluate]]
question = "robust"
data = { A = "a.jsonl", B = "b.jsonl" }
model = "http://localhost:9/v1#m"
access = { key_variable = "KEY", timeout = 5.0 }
[[evaluate]]
question = "correct"
data = "c.jsonl"
graph = "kg.nt"
limits = { seconds = 5.0 }
"""
EVALUATION: dict[str, Any] = {
    "title": "One",
    "systems": ["A", "B"],
    "intervals": {"method": "none", "seed": 3},
    "evaluate": [
        {"question": "faithful", "data": "{system}.jsonl", "schema": "tables.json", "threshold": 0.4},
        {"question": "diverse", "data": {"A": "a.txt", "B": "b.txt"}, "references": "r.json", "at": [1, 2]},
    ],
}
ALIASES = "title: &t One\nsystems: [A]\nevaluate:\n- &e {question: diverse, data: a.txt, references: *t}\n- {<<: *e, name: again}\n"
SPARQL_REPLIES: list[Any] = [
    {"head": {"vars": ["x", "n"]}, "results": {"bindings": [{"x": {"type": "uri", "value": "http://e/a"}, "n": {"type": "literal", "value": "3", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}}, {"x": {"type": "literal", "value": "b", "xml:lang": "en"}}]}},
    {"head": {}, "boolean": True},
    {"head": {"vars": ["__ASK_RETVAL"]}, "results": {"bindings": [{"__ASK_RETVAL": {"type": "literal", "value": "1"}}]}},
]  # fmt: skip
MODEL_REPLIES: list[Any] = [
    {"id": "1", "choices": [{"index": 0, "message": {"role": "assistant", "content": "entailment"}}], "usage": {"total_tokens": 3}},
    {"choices": [{"text": "1. A man sits.\n2. He stands."}, {"text": "neutral"}]},
    {"choices": [{"message": {"content": None, "reasoning_content": "Hm", "tool_calls": [{}]}, "finish_reason": "length", "logprobs": {"content": [{"token": "neut", "logprob": -0.1, "top_logprobs": [{"token": "ent", "logprob": -2}]}]}}], "usage": {"prompt_tokens": 3, "completion_tokens": 4}},
    {"output": [{"type": "reasoning", "summary": [{"text": "Hm"}]}, {"type": "message", "content": [{"type": "output_text", "text": "neutral", "logprobs": []}]}], "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    {"content": [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "entailment"}], "stop_reason": "end_turn", "usage": {"input_tokens": 3, "output_tokens": 1}},
    {"error": {"code": 429, "message": "slow"}},
]  # fmt: skip
ANSWERS: list[str] = [
    "entailment",
    "The answer is: contradiction.",
    "Label: 2",
    "I think it is not entailment but neutral",
    "**Neutral**",
    '<think>Entailment? Neither.</think>\n{"label": "neutral"}',
    "Premise and hypothesis agree.\n\n**Final Answer**\n\\boxed{\\text{entailment}}",
]
OUTCOMES: list[Any] = [
    {"columns": ["x", "n"], "rows": [[["iri", "http://e/a"], {"n": "99999999999999999999"}], [["literal", "3", "http://e/int", ""], {"f": "nan"}], [{"b": "00ff"}, {"s": "1.5", "t": "Decimal"}]], "seconds": 0.5},
    {"boolean": True, "seconds": 0.1},
    {"reason": "timeout", "message": "over 5 s", "seconds": 5.0},
]  # fmt: skip


@cache
def sqlite_schema() -> Case:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "concert.sqlite"
        connection = sqlite3.connect(path)
        connection.executescript(
            "PRAGMA page_size = 512;"
            + CREATE
            + "CREATE TABLE hall (id INT, -- its number\n name TEXT NOT NULL REFERENCES singer, PRIMARY KEY (name, id));"
            + 'CREATE VIEW "old ""ones" AS SELECT name FROM singer WHERE age > 50;'
        )
        connection.close()
        return Case("concert.sqlite", path.read_bytes())


def duckdb_schema() -> list[Case]:
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "concert.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute(
                CREATE + "CREATE TABLE hall (id INT PRIMARY KEY, name TEXT REFERENCES singer (name));"
                "COMMENT ON TABLE hall IS 'where they sing'; COMMENT ON COLUMN hall.id IS 'the number of it';"
            )
        return [Case("concert.duckdb", path.read_bytes())]


@cache
def finished_run() -> dict[str, bytes]:
    """The files of a small finished run."""
    from sensecheck import calibrated
    from sensecheck.statistics.figure import IntervalOptions

    rows = [{"id": str(i), "confidence": (i % 10) / 10, "correct": i % 3 == 0, "kind": "xy"[i % 2]} for i in range(60)]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        calibrated.evaluate(rows, slices=["kind"], out=out, options=IntervalOptions(replicates=20))
        return {path.name: path.read_bytes() for path in sorted(out.iterdir()) if path.suffix in (".json", ".parquet")}
