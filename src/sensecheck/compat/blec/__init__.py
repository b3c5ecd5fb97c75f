"""BLEC under its own names: `from sensecheck.compat.blec import BLECLogic2text, BLECSpider`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sensecheck.faithful import original
from sensecheck.faithful.original import name_dict, question_test, read_template, write_template

__all__ = [
    "BLECLogic2text",
    "BLECMetrics",
    "BLECSpider",
    "name_dict",
    "question_test",
    "read_template",
    "write_template",
]


class BLECMetrics:
    """The original's base class: a language and an `evaluate` to override."""

    def __init__(self, language: str) -> None:
        self.language = language

    def evaluate(self, pred: str, logic: str, gold: str | None = None) -> list[str]:
        raise NotImplementedError


class BLECLogic2text(BLECMetrics):
    """Call positionally: `evaluate(logic, sentence, reference)`. The parameter names are the original's, swapped."""

    def __init__(self) -> None:
        super().__init__("Logic2text")

    def evaluate(self, pred: str, logic: str, gold: str | None = None) -> list[str]:
        return original.logic2text_errors(pred, logic, gold)


class BLECSpider(BLECMetrics):
    """`evaluate(question, sql)` over a template file; without one the template is built and written, and, as in
    the original, every look-up then fails: load the written file, or use `name_dict` and `question_test`."""

    def __init__(
        self,
        template_path: str | Path | None = None,
        translate: bool = False,
        original_data_path: str | Path = "spider/raw/",
        mapping_path: str | Path = "spider/preprocessed/",
        eval_type: str = "test",
    ) -> None:
        super().__init__("Spider")
        self.translate = translate
        self.template: Mapping[str, Mapping[str, str]] | list[original.Template]
        if template_path is not None:
            self.template = read_template(template_path)[1 if translate else 0]
            return
        examples = _read_json(Path(original_data_path) / f"{eval_type}.json")
        tables = _read_json(Path(original_data_path) / "tables.json")
        translations = _read_json(Path(mapping_path) / f"{eval_type}.json")
        templates = original.build_templates(examples, tables, translations)
        write_template("template_to_names.json", *templates)
        self.template = list(templates)

    def evaluate(self, pred: str, logic: str, gold: str | None = None) -> list[str]:
        if isinstance(self.template, list) or logic not in self.template:
            print("Error: the template not found, the logic is ", logic)
            return []
        return original.spider_errors(logic, self.template[logic], pred)


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))
