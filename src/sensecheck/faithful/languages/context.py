"""What a language may know beside the query: a schema, a dialect, labels of a graph's names."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sensecheck.faithful.schema import Schema
from sensecheck.inputs.errors import InputError, shown

_LABEL_LINE = re.compile(
    r"^<(?P<iri>[^>]+)>\s+<(?P<p>http://www\.w3\.org/2000/01/rdf-schema#label|http://www\.w3\.org/2004/02/skos/core#prefLabel)>"
    r'\s+"(?P<label>(?:[^"\\]|\\.)*)"(?:@(?P<lang>[A-Za-z-]+))?'
)


@dataclass(frozen=True, slots=True)
class Context:
    schema: Schema | None = None
    dialect: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


def read_labels(path: str | Path) -> dict[str, str]:
    """Labels of IRIs: a JSON map (IRI → label), or the rdfs:label lines of an N-Triples graph; any other graph format
    needs the extra `sparql`."""
    source = Path(path)
    if source.suffix == ".json":
        try:
            loaded: Any = json.loads(source.read_text("utf-8"))
        except json.JSONDecodeError as error:
            raise InputError(
                path=str(path), line=error.lineno, expected="a JSON object from IRIs to labels", got=error.msg
            ) from None
        if not isinstance(loaded, dict):
            raise InputError(path=str(path), expected="a JSON object from IRIs to labels", got=shown(loaded, 60))
        return {str(k): str(v) for k, v in loaded.items()}
    if source.suffix in (".nt", ".nq"):
        labels: dict[str, str] = {}
        with source.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                match = _LABEL_LINE.match(line)
                if match and ((match["lang"] or "en").startswith("en") or match["iri"] not in labels):
                    labels[match["iri"]] = _unescaped(match["label"])
        return labels
    return _labels_of_graph(source)


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return json.loads('"' + text.replace("\\'", "'") + '"', strict=False)  # type: ignore[no-any-return]


def _labels_of_graph(source: Path) -> dict[str, str]:
    try:
        import pyoxigraph
    except ImportError:
        raise ImportError(
            f"{source}: reading labels from this graph format needs the extra `sparql`: "
            "pip install 'sensecheck[sparql]' (N-Triples and JSON need nothing)"
        ) from None
    labels: dict[str, str] = {}
    for quad in pyoxigraph.parse(path=str(source)):
        if quad.predicate.value.endswith(("rdf-schema#label", "core#prefLabel")):
            language = getattr(quad.object, "language", None)
            if (language or "en").startswith("en"):
                labels[quad.subject.value] = quad.object.value
    return labels
