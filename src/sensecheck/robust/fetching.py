"""Data sets through Hugging Face `datasets`, when a hub can be reached; otherwise a message that says what to do."""

from __future__ import annotations

import json
import logging
import os
from typing import Any

from sensecheck.runs.writing import named_file

HOMES = {"snli": "snli", "anli": "anli", "mnli": "SetFit/mnli", "qnli": "SetFit/qnli"}


def fetch(name: str, target: str | os.PathLike[str], split: str = "validation", round_: str | None = None) -> int:
    """Write one split as JSONL with premise, hypothesis and label; returns the number of pairs."""
    try:
        import datasets
    except ImportError:
        raise ImportError(
            f"fetching {name} needs Hugging Face datasets: pip install datasets (or take a local copy: "
            "sensecheck reads JSONL, CSV, TSV and Parquet)"
        ) from None
    # The hub's client warns at every one of its own tries; what is wrong is said once, below.
    log = logging.getLogger("huggingface_hub")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        loaded: Any = datasets.load_dataset(HOMES[name])
    except Exception as error:
        words = " ".join(str(error).split())
        raise OSError(
            f"{HOMES[name]} could not be fetched from the hub ({type(error).__name__}: {words[:200]}); with a local "
            "copy, pass its file instead: the columns of MNLI, SNLI, ANLI and QNLI are known in all their layouts"
        ) from None
    finally:
        log.setLevel(level)
    if name == "anli":
        wanted = {"validation": "dev"}.get(split, split)
        parts = [f"{wanted}_{r}" for r in ([round_] if round_ else ["r1", "r2", "r3"])]
    else:
        parts = [split]
    for part in parts:
        if part not in loaded:
            raise ValueError(f"{name} has no split {part!r}; there are {', '.join(loaded)}")
    return write_pairs((row for part in parts for row in loaded[part]), target)


def write_pairs(rows: Any, target: str | os.PathLike[str]) -> int:
    """Rows of any of the data sets → JSONL in one spelling."""
    count = 0
    with named_file(target) as out:
        for row in rows:
            record = {
                "premise": row.get("premise", row.get("text1")),
                "hypothesis": row.get("hypothesis", row.get("text2")),
                "label": row.get("label_text", row["label"]),
            }
            out.write((json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", "replace"))
            count += 1
    return count
