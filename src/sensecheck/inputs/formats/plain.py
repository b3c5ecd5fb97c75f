"""Tables, and what single questions read themselves: known by `inputs.tables` and by those questions."""

from __future__ import annotations

from sensecheck.inputs.formats.registry import Format
from sensecheck.inputs.formats.start import Start

TABLES = ("csv", "tsv", "text", "jsonl", "json", "parquet", "arrow")

_LOGITS = b'"top_logits"'


def _is_logits(start: Start) -> str:
    first = start.data.lstrip()
    return "its first line holds top_logits" if first[:1] == b"{" and _LOGITS in first.split(b"\n", 1)[0] else ""


FORMATS = (
    Format("csv", "a table: a header, cells parted by commas", example="sensecheck calibrated answers.csv"),
    Format("tsv", "a table: a header, cells parted by tabs", example="sensecheck robust dev.tsv"),
    Format(
        "text",
        "a table: cells parted by white space; for diverse, LSDSCC's text",
        example="sensecheck diverse replies.txt --references references.json",
    ),
    Format("jsonl", "a JSON object a line", example="sensecheck correct predictions.jsonl --database world.sqlite"),
    Format(
        "json",
        "a JSON array of objects, an object of records by id, or of equally long lists",
        example="sensecheck correct predictions.json --graph facts.ttl",
    ),
    Format(
        "parquet",
        "a Parquet file; names of classes in Hugging Face's metadata are heeded",
        example="sensecheck robust validation.parquet",
    ),
    Format(
        "arrow",
        "an Arrow file or stream, or the folder of a saved Hugging Face dataset; names of classes are heeded",
        example="sensecheck robust saved_dataset/",
    ),
    Format(
        "logits",
        "calibration_metric's file: a JSON object a line with top_logits and labels",
        ("calibrated",),
        _is_logits,
        example="sensecheck calibrated dev.logits",
    ),
    Format(
        "miso",
        "the same with string tokens and copies, as MISO writes it",
        ("calibrated",),
        example="sensecheck calibrated dev.logits --input-format miso",
    ),
)
