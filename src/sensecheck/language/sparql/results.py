"""SPARQL 1.1 query results as they are written to files and sent by servers: JSON, XML, CSV and TSV.

All four give an `Answer`. CSV says nothing of the kind of its values, so that its answers are compared by their text
and as numbers; the others are exact. Whoever wrote them, they are bounded: in bytes, in rows, in depth.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias
from xml.parsers import expat

import orjson

from sensecheck.inputs.delimited import comma_separated
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.half_characters import whole_value
from sensecheck.inputs.reasons import Reason
from sensecheck.language.answers import Answer, Cell, Term

from .tree import RDF, XSD

Form: TypeAlias = Literal["json", "xml", "csv", "tsv"]
FORMS: dict[str, Form] = {".srj": "json", ".json": "json", ".srx": "xml", ".xml": "xml", ".csv": "csv", ".tsv": "tsv"}
"""The form of a file by the end of its name."""
MOST_BYTES = 64 << 20
MOST_ROWS = 1_000_000
MOST_COLUMNS = 10_000
_DEEPEST = 32  # elements of XML inside each other; the standard needs six

_STRING, _LANGUAGE_STRING = XSD + "string", RDF + "langString"
_TERMS = ("uri", "literal", "typed-literal", "bnode")
TRIPLE = "a triple as a value (RDF-star), which is not compared"
_UNNAMED = "a binding of a variable that the head does not name"


class ResultsError(ValueError):
    """What is no result of a SPARQL query, in words that name no file."""


class TooLargeError(ResultsError):
    """More than anybody should have to read."""


# ---- JSON, as it is sent and as it lies in records


def json_parts(document: Any) -> bool | tuple[list[str], list[Any]]:
    """The verdict, or the variables and the bindings, of SPARQL results in JSON; ResultsError where they are not what
    the standard says."""
    if not isinstance(document, dict):
        raise ResultsError("no object")
    if "boolean" in document:
        if not isinstance(document["boolean"], bool) or "results" in document:
            raise ResultsError("a boolean that is none, or beside rows")
        return document["boolean"]
    columns = json_part(json_part(document, "head", dict), "vars", list)
    bindings = json_part(json_part(document, "results", dict), "bindings", list)
    if not all(isinstance(column, str) for column in columns) or len(set(columns)) < len(columns):
        raise ResultsError("vars that are no names, or the same twice")
    return columns, bindings


def json_rows(
    columns: Sequence[str],
    bindings: Sequence[Any],
    most_bytes: int = MOST_BYTES,
    seen: Callable[[str], None] | None = None,
) -> list[tuple[Cell, ...]]:
    """The rows of bindings. `seen` is shown the text of every term and may object."""
    # A few names and many empty bindings are a short text and a large table: empty cells count too.
    size = 8 * len(columns) * len(bindings)
    rows: list[tuple[Cell, ...]] = []
    for binding in bindings if size <= most_bytes else ():
        if not isinstance(binding, dict):
            raise ResultsError("a binding that is no object")
        row: list[Cell] = []
        for column in columns:
            bound = binding.get(column)
            if bound is None:
                row.append(None)
                continue
            term = _json_term(bound)
            if seen is not None:
                seen(f"{term.value}\n{bound.get('datatype') or ''}\n{bound.get('xml:lang') or ''}")
            size += len(term.value) + len(bound.get("datatype") or "") + len(term.language)
            row.append(term)
        rows.append(tuple(row))
    if size > most_bytes:
        raise TooLargeError(f"an answer of more than {most_bytes:,} bytes")
    return rows


def json_part(value: Any, name: str, kind: type) -> Any:
    part = value.get(name) if isinstance(value, dict) else None
    if not isinstance(part, kind):
        raise ResultsError(f"no {name}")
    return part


def _json_term(bound: Any) -> Term:
    if not isinstance(bound, dict):
        raise ResultsError("a term that is no object")
    kind, value = bound.get("type"), bound.get("value")
    datatype, language = bound.get("datatype") or "", bound.get("xml:lang") or ""
    if kind == "triple":
        raise ResultsError(TRIPLE)
    if not (isinstance(value, str) and isinstance(datatype, str) and isinstance(language, str)):
        raise ResultsError("a term with a value, datatype or language that is no text")
    if kind == "uri":
        return Term("iri", value)
    if kind == "bnode":
        return Term("blank", value)
    if kind not in ("literal", "typed-literal"):
        raise ResultsError("a term that is neither uri, bnode nor literal")
    return _literal(value, datatype, language)


def _literal(value: str, datatype: str = "", language: str = "") -> Term:
    return Term("literal", value, datatype or (_LANGUAGE_STRING if language else _STRING), language.lower())


def is_json_term(value: Any) -> bool:
    """Whether an object of JSON is a term of SPARQL's own; any other that has a type and a value is a row of these."""
    return isinstance(value, Mapping) and "value" in value and value.get("type") in _TERMS


def is_json_results(value: Any) -> bool:
    """Whether an object of JSON is meant as results of a SPARQL query."""
    if not isinstance(value, Mapping):
        return False
    if isinstance(value.get("boolean"), bool):
        return value.keys() <= {"boolean", "head", "results", "link", "typed"}
    results = value.get("results")
    return isinstance(results, Mapping) and "bindings" in results


def of_json(document: Any) -> Answer:
    """The answer in an object of JSON, read as people keep them: QALD writes `results` beside `boolean`, a table in
    memory has null for a field that is not there, and some leave `vars` out."""
    if not isinstance(document, Mapping):
        raise ResultsError("no object")
    if document.get("boolean") is not None:
        results = document.get("results")
        if isinstance(results, Mapping) and results.get("bindings"):
            raise ResultsError("a boolean beside rows")
        document = {"boolean": document["boolean"]}
    else:
        document = {name: part for name, part in document.items() if name != "boolean"}
        bindings = json_part(json_part(document, "results", dict), "bindings", list)
        head = document.get("head")
        if not isinstance(head, dict) or head.get("vars") is None:
            names = dict.fromkeys(name for binding in bindings if isinstance(binding, dict) for name in binding)
            document["head"] = {"vars": list(names)}
    parts = json_parts(document)
    if isinstance(parts, bool):
        return Answer(boolean=parts)
    columns, bindings = parts
    _bounded(columns, len(bindings))
    named = set(columns)
    if not all(named.issuperset(binding) for binding in bindings if isinstance(binding, dict)):
        raise ResultsError(_UNNAMED)
    says_string = any(
        isinstance(bound, dict) and bound.get("datatype") == _STRING
        for binding in bindings
        if isinstance(binding, dict)
        for bound in binding.values()
    )
    answer = _told(columns, json_rows(columns, bindings), says_string=says_string)
    if document.get("typed") is False:
        answer.detail = "plain"
    return answer


def _told(columns: list[str], rows: list[tuple[Cell, ...]], *, says_string: bool) -> Answer:
    """An answer. QALD's golds and some systems say of no literal what it is: "8" may be a number there. Whoever writes
    of one that it is a string has said it of the others by leaving their types out."""
    types = {cell.datatype for row in rows for cell in row if isinstance(cell, Term) and cell.kind == "literal"}
    return Answer(columns, rows, detail="plain" if types == {_STRING} and not says_string else "full")


def as_json(answer: Answer) -> dict[str, Any]:
    """The object of JSON that `of_json` reads back: for a record that brings an answer read from a file."""
    if answer.boolean is not None:
        return {"head": {}, "boolean": answer.boolean}
    bindings = []
    for row in answer.rows:
        pairs = zip(answer.columns, row, strict=True)
        bindings.append({name: _as_term(cell) for name, cell in pairs if cell is not None})
    written: dict[str, Any] = {"head": {"vars": list(answer.columns)}, "results": {"bindings": bindings}}
    return written if answer.detail == "full" else {**written, "typed": False}


def _as_term(cell: Cell) -> dict[str, str]:
    if not isinstance(cell, Term):
        return {"type": "literal", "value": str(cell)}
    if cell.kind != "literal":
        return {"type": "uri" if cell.kind == "iri" else "bnode", "value": cell.value}
    told = {"datatype": cell.datatype if cell.datatype != _LANGUAGE_STRING else "", "xml:lang": cell.language}
    return {"type": "literal", "value": cell.value, **{name: text for name, text in told.items() if text}}


# ---- files


def form_of(data: bytes, name: str = "") -> Form:
    """The form of some results: by the end of the name, or by how they begin."""
    start = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] in (b"{", b"["):
        return "json"
    if start[:1] == b"<" or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "xml"
    named = FORMS.get(Path(name).suffix.lower())
    if named in ("csv", "tsv"):
        return named
    first_line = start.split(b"\n", 1)[0]
    return "tsv" if first_line[:1] in (b"?", b"$") or b"\t" in first_line else "csv"


def read_results(data: bytes, form: Form | None = None, name: str = "") -> Answer:
    """The answer in some bytes. Raises ResultsError where they are no results of a SPARQL query."""
    if len(data) > MOST_BYTES:
        raise TooLargeError(f"{len(data):,} bytes, where {MOST_BYTES:,} are allowed")
    form = form or form_of(data, name)
    if form == "xml":
        return _XmlResults().read(data)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ResultsError("text that is not UTF-8") from None
    if form == "json":
        try:
            # Deeper than a thousand it is refused; results need six.
            document = orjson.loads(text)
        except orjson.JSONDecodeError:
            document = _lenient_json(text)
        return of_json(whole_value(document))
    if text.strip() in ("true", "false"):
        # Neither form has a place for the verdict of an ASK; engines write the word alone.
        return Answer(boolean=text.strip() == "true")
    return _from_csv(text) if form == "csv" else _from_tsv(text)


def _lenient_json(text: str) -> Any:
    """JSON with halves of characters, which orjson refuses."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ResultsError(f"no JSON from line {error.lineno}, column {error.colno} on") from None
    except RecursionError:
        raise ResultsError("JSON that is nested too deeply") from None
    except ValueError:
        raise ResultsError("JSON with a number of thousands of digits") from None


def read_results_file(path: str | Path) -> Answer:
    """The answer in a file of SPARQL results. Raises InputError with its path."""
    path = Path(path)
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})", path=str(path), hint="Name a file of SPARQL results.",
            reason=Reason.UNREADABLE,
        ) from None  # fmt: skip
    try:
        return read_results(data, name=path.name)
    except ResultsError as error:
        raise InputError(
            path=str(path), expected="results of a SPARQL query in JSON, XML, CSV or TSV", got=str(error),
            hint="Was the file cut short?", reason=Reason.BAD_INPUT,
        ) from None  # fmt: skip


def _bounded(columns: Sequence[str], rows: int) -> None:
    if rows > MOST_ROWS:
        raise TooLargeError(f"more than {MOST_ROWS:,} rows")
    if len(columns) > MOST_COLUMNS or len(columns) * rows > MOST_BYTES // 8:
        raise TooLargeError(f"{rows:,} rows of {len(columns):,} variables")


# ---- CSV


_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*+:[^\s<>\"{}|\\^`]*+")
_SCHEMES = ("http", "https", "urn", "mailto", "tag", "file", "ftp", "did", "info")


def _from_csv(text: str) -> Answer:
    columns: list[str] | None = None
    rows: list[tuple[Cell, ...]] = []
    try:
        for number, cells in enumerate(comma_separated(text), 1):
            if columns is None:
                columns = _variables([cell.strip() for cell in cells])
                continue
            if cells == [""] and len(columns) > 1:
                continue  # a blank line is no row of several values
            if not columns:
                cells = cells[1:] if cells[0] == "" else cells
            if len(cells) != len(columns):
                raise ResultsError(f"row {number - 1} has {len(cells)} values where there are {len(columns)} variables")
            rows.append(tuple([_csv_term(cell) for cell in cells]))
            _bounded(columns, len(rows))
    except ResultsError:
        raise
    except ValueError as error:
        raise ResultsError(str(error)) from None
    if columns is None:
        raise ResultsError("nothing, not even a line with the variables")
    return Answer(columns, rows, detail="plain")


def _csv_term(cell: str) -> Term | None:
    """The kind is a guess that comparing does not lean on; an empty text and nothing at all are written the same."""
    if not cell:
        return None
    if cell.startswith("_:"):
        return Term("blank", cell[2:])
    if _ABSOLUTE.fullmatch(cell) and cell.partition(":")[0].lower() in _SCHEMES:
        return Term("iri", cell)
    return _literal(cell)


def _variables(cells: list[str]) -> list[str]:
    names = [] if cells == [""] else [cell.removeprefix("?") for cell in cells]
    if not all(names) or len(set(names)) < len(names):
        raise ResultsError("a first line whose variables have no name, or the same twice")
    return names


# ---- TSV


_TSV_CELL = re.compile(
    r"""
      <(?P<iri>[^<>\s]*+)>
    | _:(?P<blank>\S++)
    | (?: "{3}(?P<long>(?:[^"\\]++|\\.|"(?!""))*+)"{3}
        | "(?P<double>(?:[^"\\]++|\\.)*+)"
        | '(?P<single>(?:[^'\\]++|\\.)*+)' )
      (?: @(?P<language>[A-Za-z]++(?:-[A-Za-z0-9]++)*+) | \^\^<(?P<datatype>[^<>\s]*+)> )?
    | (?P<number>[+-]?(?:(?P<e>(?:\d++\.\d*+|\.\d++|\d++)[eE][+-]?\d++)|(?P<dot>\d*+\.\d++)|\d++))
    | (?P<boolean>true|false)
    """,
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", "\\": "\\", '"': '"', "'": "'"}


def _from_tsv(text: str) -> Answer:
    lines = text.replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    if not lines:
        raise ResultsError("nothing, not even a line with the variables")
    columns = _variables([name.strip().strip('"') for name in lines[0].split("\t")])
    _bounded(columns, len(lines) - 1)
    rows: list[tuple[Cell, ...]] = []
    for number, line in enumerate(lines[1:], 1):
        cells = line.split("\t") if columns else []
        if not line and len(columns) > 1:
            continue
        if len(cells) != len(columns):
            raise ResultsError(f"row {number} has {len(cells)} values where there are {len(columns)} variables")
        rows.append(tuple([_tsv_term(cell.strip(" "), number) for cell in cells]))
    return _told(columns, rows, says_string=f"^^<{_STRING}>" in text)


def _tsv_term(cell: str, row: int) -> Term | None:
    if not cell:
        return None
    if cell.startswith("<<"):
        raise ResultsError(TRIPLE)
    found = _TSV_CELL.fullmatch(cell)
    if found is None:
        raise ResultsError(f"a value in row {row} that is neither an IRI, a blank node nor a literal")
    if (iri := found["iri"]) is not None:
        return Term("iri", _unescaped(iri))
    if (blank := found["blank"]) is not None:
        return Term("blank", blank)
    if found["number"] is not None:
        kind = "double" if found["e"] else "decimal" if found["dot"] else "integer"
        return _literal(found["number"], XSD + kind)
    if found["boolean"] is not None:
        return _literal(found["boolean"], XSD + "boolean")
    value = next(text for text in (found["long"], found["double"], found["single"]) if text is not None)
    return _literal(_unescaped(value), _unescaped(found["datatype"] or ""), found["language"] or "")


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_expanded, text) if "\\" in text else text


def _expanded(escape: re.Match[str]) -> str:
    four_digits, eight_digits, letter = escape.groups()
    if letter is not None:
        if letter not in _ESCAPED:
            raise ResultsError(f"an unknown escape \\{letter}" if letter.isprintable() else "an unknown escape")
        return _ESCAPED[letter]
    code = int(four_digits or eight_digits, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ResultsError("an escape outside Unicode")
    return chr(code)


# ---- XML


_VALUES = ("uri", "bnode", "literal")
_XML_LANGUAGE = "http://www.w3.org/XML/1998/namespace lang"


class _XmlResults:
    """Results in XML, taken in while expat reads: nothing is built that the answer does not hold.

    A document type is refused outright, and with it every entity that could grow or reach for another file.
    """

    def __init__(self) -> None:
        self.columns: list[str] = []
        self.rows: list[tuple[Cell, ...]] = []
        self.boolean: bool | None = None
        self.path: list[str] = []
        self.bound: dict[str, Term] = {}
        self.variable: str | None = None
        self.text: list[str] | None = None
        self.datatype = self.language = ""
        self.has_results = self.says_string = False

    def read(self, data: bytes) -> Answer:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._no_document_type
        parser.EntityDeclHandler = self._no_document_type
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        try:
            parser.Parse(data, True)
        except expat.ExpatError as error:
            raise ResultsError(f"no XML from line {error.lineno}, column {error.offset + 1} on") from None
        except (LookupError, UnicodeError):
            raise ResultsError("XML in an unknown encoding") from None
        except ResultsError:
            raise
        except ValueError:  # a declared encoding that expat cannot do
            raise ResultsError("XML in an unknown encoding") from None
        if self.boolean is not None:
            if self.has_results:
                raise ResultsError("a boolean beside rows")
            return Answer(boolean=self.boolean)
        if not self.has_results:
            raise ResultsError("neither results nor a boolean")
        return _told(self.columns, self.rows, says_string=self.says_string)

    def _no_document_type(self, *_: Any) -> None:
        raise ResultsError("a document type or an entity, which results have no use for")

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        element = name.rpartition(" ")[2]
        depth = len(self.path)
        if depth >= _DEEPEST:
            raise ResultsError("XML that is nested too deeply")
        if depth == 0 and element != "sparql":
            raise ResultsError("XML whose first element is not sparql")
        self.path.append(element)
        if self.text is not None:
            raise ResultsError("an element inside a value")
        if element == "variable" and self.path[1:2] == ["head"]:
            variable = attributes.get("name", "")
            if not variable or variable in self.columns:
                raise ResultsError("a variable without a name, or the same twice")
            self.columns.append(variable)
            if len(self.columns) > MOST_COLUMNS:
                raise TooLargeError(f"more than {MOST_COLUMNS:,} variables")
        elif element == "results" and depth == 1:
            self.has_results = True
        elif element == "result":
            self.bound = {}
        elif element == "binding":
            self.variable = attributes.get("name")
            if self.variable not in self.columns:
                raise ResultsError(_UNNAMED)
        elif element == "triple":
            raise ResultsError(TRIPLE)
        elif element in _VALUES and self.variable is not None:
            if self.variable in self.bound:
                raise ResultsError("a binding with two values")
            self.text = []
            self.datatype, self.language = attributes.get("datatype", ""), attributes.get(_XML_LANGUAGE, "")
            self.says_string = self.says_string or self.datatype == _STRING
        elif element == "boolean" and depth == 1:
            self.text = []

    def _characters(self, text: str) -> None:
        if self.text is not None:
            self.text.append(text)

    def _end(self, name: str) -> None:
        element = self.path.pop()
        if element == "boolean" and self.text is not None:
            word = "".join(self.text).strip()
            if word not in ("true", "false", "1", "0") or self.boolean is not None:
                raise ResultsError("a boolean that is none, or a second one")
            self.boolean, self.text = word in ("true", "1"), None
        elif element in _VALUES and self.text is not None and self.variable is not None:
            value = "".join(self.text)
            if element == "literal":
                self.bound[self.variable] = _literal(value, self.datatype, self.language)
            else:
                self.bound[self.variable] = Term("iri" if element == "uri" else "blank", value.strip())
            self.text = None
        elif element == "binding":
            if self.variable not in self.bound:
                raise ResultsError("a binding without a value")
            self.variable = None
        elif element == "result":
            self.rows.append(tuple([self.bound.get(column) for column in self.columns]))
            _bounded(self.columns, len(self.rows))
