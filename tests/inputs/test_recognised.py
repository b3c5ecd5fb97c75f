"""Nothing is taken for the export of an annotation tool, or for a log of dialogues, that is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sensecheck.inputs.formats.registry import recognised
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.opening import Source

OURS = {"parlai", "noveltybench", "tabbed", "label-studio", "prodigy", "argilla", "doccano", "annotators"}
IN_SHARED = {
    "dialogue/noveltybench_generations_first20.jsonl": "noveltybench",
    "dialogue/noveltybench_scores_first20.jsonl": "noveltybench",
    "dialogue/parlai_selfchat_worldlog_model1.jsonl": "parlai",
    "dialogue/responses_tabs.tsv": "tabbed",
    "labels/argilla_records.json": "argilla",
    "labels/doccano.jsonl": "doccano",
    "labels/doccano_repo_intent_detection.jsonl": "doccano",
    "labels/doccano_repo_text_classification.jsonl": "doccano",
    "labels/label_studio.json": "label-studio",
    "labels/label_studio_min.json": "label-studio",
    "labels/prodigy.jsonl": "prodigy",
}


def taken_for(path: Path) -> str | None:
    found = recognised(Start.of(Source(str(path), path=path)))
    return None if found is None else found.format.name


@pytest.mark.parametrize("folder", ["data/formats", "golden", "bench"])
def test_every_file_there_is(shared: Path, folder: str) -> None:
    files = sorted(path for path in (shared / folder).rglob("*") if path.is_file())
    assert len(files) > 5
    found = {str(path.relative_to(shared / folder)): taken_for(path) for path in files}
    ours = {name: format for name, format in found.items() if format in OURS}
    assert ours == (IN_SHARED if folder == "data/formats" else {})


@pytest.mark.parametrize(
    "row",
    [
        {"sentence1": "a", "sentence2": "b", "gold_label": "neutral", "annotator_labels": ["neutral"]},
        {"premise": "a", "hypothesis": "b", "label": "neutral"},
        {"id": 1, "text": "t", "label": "neutral"},
        {"id": 1, "text": "t", "label": [0, 1]},
        {"id": 1, "text": "t", "label": ["a"], "prediction": "b"},
        {"id": 1, "text": "t", "labels": ["a"], "scores": [0.5]},
        {"id": 1, "question": "t", "answer": "accept", "gold": "accept"},
        {"id": 1, "answer": "accept", "correct": True, "confidence": 0.5},
        {"id": 1, "annotator": "anna", "label": "yes"},
        {"id": 1, "annotations": [{"a": 1}], "text": "t"},
        {"id": 1, "fields": {"a": 1}, "value": 3},
        {"hypotheses": ["a"], "responses": {"a": 1}},
        {"dialog": ["hello", "hi"], "act": [1, 2]},
        {"dialog": "hello", "text": "t"},
        {"dialog": []},
        {"generations": ["a", "b"]},
        {"prompt": "p", "generations": "a"},
        {"prompt": "p", "generations": [{"text": "a"}]},
    ],
)
def test_predictions_and_golds_are_none_of_them(tmp_path: Path, row: dict[str, Any]) -> None:
    lines, listed = tmp_path / "r.jsonl", tmp_path / "r.json"
    lines.write_text(2 * (json.dumps(row) + "\n"))
    listed.write_text(json.dumps([row, row]))
    assert taken_for(lines) not in OURS and taken_for(listed) not in OURS
