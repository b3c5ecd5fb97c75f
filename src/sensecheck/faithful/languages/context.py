"""What a language may know beside the query: a schema, a dialect, labels of a graph's names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sensecheck.faithful.schema import Schema
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.half_characters import whole
from sensecheck.inputs.json_arrays import read_document
from sensecheck.inputs.opening import Source, sources

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
    """Labels of IRIs: a JSON map (IRI → label), or the rdfs:label and skos:prefLabel triples of a graph. N-Triples need
    nothing else, any other graph format the extra `sparql`; plain, gzip or zstd. English labels come first.
    """
    (source,) = sources(path)
    names = [n for n in Path(path).suffixes if n not in (".gz", ".zst")]
    kind = names[-1].lstrip(".").lower() if names else ""
    if kind == "json":
        expected = "a JSON object that maps IRIs to labels"
        loaded: Any = read_document(source.read(), str(path), expected)
        if not isinstance(loaded, dict):
            raise InputError(path=str(path), expected=expected, got=shown(loaded, 60))
        for iri, label in loaded.items():
            if not isinstance(label, str | int | float):
                raise InputError(path=str(path), field=shown(iri, 60), expected="a label (text)", got=shown(label, 60))
        return {iri: str(label) for iri, label in loaded.items()}
    labelled = _labels_of_lines(source) if kind in ("nt", "nq") else _labels_of_graph(source, kind)
    labels: dict[str, str] = {}
    for iri, label, language in labelled:
        if (language or "en").startswith("en") or iri not in labels:
            labels[iri] = label
    return labels


def _labels_of_lines(source: Source) -> Iterator[tuple[str, str, str | None]]:
    for block in source.blocks():
        for line in block.data.decode("utf-8", "replace").splitlines():
            match = _LABEL_LINE.match(line)
            if match:
                yield match["iri"], _unescaped(match["label"]), match["lang"]


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    try:
        plain: str = json.loads('"' + text.replace("\\'", "'") + '"', strict=False)
    except json.JSONDecodeError:
        return text  # an escape that N-Triples do not have: the label as it stands
    return whole(plain)


def _labels_of_graph(source: Source, kind: str) -> Iterator[tuple[str, str, str | None]]:
    try:
        import pyoxigraph
    except ImportError:
        raise ImportError(
            f"{source.name}: reading labels from this graph format needs the extra `sparql`: "
            "pip install 'sensecheck[sparql]' (N-Triples and JSON need nothing)"
        ) from None
    form = pyoxigraph.RdfFormat.from_extension(kind) if kind else None
    if form is None:
        raise InputError(
            path=source.name,
            expected="labels in JSON or in a graph (.nt, .nq, .ttl, .trig, .rdf, .jsonld), plain, gzip or zstd",
            got=f"the ending {'.' + kind if kind else '(none)'}",
        )
    try:
        for quad in pyoxigraph.parse(source.read(), form):
            if quad.predicate.value.endswith(("rdf-schema#label", "core#prefLabel")):
                yield quad.subject.value, quad.object.value, getattr(quad.object, "language", None)
    except (SyntaxError, ValueError) as error:
        column = getattr(error, "offset", None)
        raise InputError(
            path=source.name, line=getattr(error, "lineno", None), expected=f"a graph in {form.name}",
            got=f"something else from column {column} on" if column else "something else",
        ) from None  # fmt: skip
