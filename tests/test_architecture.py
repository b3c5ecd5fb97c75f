"""The rooms, and which way their arrows point."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sensecheck
from sensecheck.instruments import OWN

SOURCE = Path(sensecheck.__file__).parent
QUESTIONS = set(OWN)
# A room may import rooms of its own level or below; a question's room, no other question's.
LEVELS = [
    {"cli", "compat", "bridges", "evaluation"},
    QUESTIONS | {"demo"},
    {"report", "plotting", "labelling", "judges"},
    {"runs", "models", "stores", "engine"},
    {"statistics", "inputs", "language", "network"},
]


def level(room: str) -> int:
    return next(i for i, rooms in enumerate(LEVELS) if room in rooms)


def imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
            found += [f"{node.module}.{a.name}" for a in node.names]
    return found


def modules() -> list[Path]:
    return [p for p in sorted(SOURCE.rglob("*.py")) if p.parent != SOURCE]


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_arrows_point_down(path):
    home = path.relative_to(SOURCE).parts[0]
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "sensecheck" or len(parts) < 2:
            continue
        target = parts[1]
        if target in ("_version", "__version__") or target == home or not (SOURCE / target).is_dir():
            continue
        if home == "demo" and target in QUESTIONS:
            continue
        assert level(target) >= level(home), f"{home} imports {name}"
        if home in QUESTIONS:
            assert target not in QUESTIONS, f"{home} reaches into {target}"


def test_no_module_is_named_for_nothing():
    assert not [p for p in SOURCE.rglob("*") if p.stem in ("utils", "util", "helpers", "helper", "common", "misc")]


def test_parity_lives_in_original_alone():
    """Nothing but the parity modes and the compat shells asks the originals for anything."""
    for path in modules():
        home = path.relative_to(SOURCE).parts[0]
        if home == "compat" or path.stem in ("original", "parity"):
            continue
        wrong = [n for n in imports(path) if n.startswith("sensecheck.") and n.endswith(".original")]
        assert not wrong, f"{path} imports {wrong}"


HEAVY = (
    "numpy",
    "polars",
    "jinja2",
    "torch",
    "transformers",
    "pyoxigraph",
    "duckdb",
    "sqlglot",
    "pandas",
    "scipy",
    "rich",
)


@pytest.mark.parametrize(
    "command",
    [
        "import sensecheck",
        "from sensecheck.cli import main; main(['--help'])",
        "from sensecheck.cli import main; main(['--version'])",
    ],
)
def test_nothing_heavy_is_imported_for_help(command):
    code = f"import sys\n{command}\nprint([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_the_public_surface_is_small_and_complete():
    assert set(sensecheck.__all__) == {
        "Comparison", "Comparisons", "Figure", "InputError", "IntervalOptions", "Result", "__version__", "compare",
        "load", "merge", *OWN,
    }  # fmt: skip
    for name in sensecheck.__all__:
        assert getattr(sensecheck, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = sensecheck.nope


def test_the_core_stays_light():
    """At most 15 packages with what they need."""
    import re
    from importlib.metadata import PackageNotFoundError, requires

    seen: set[str] = set()
    todo = ["sensecheck"]
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            needed = requires(name) or []
        except PackageNotFoundError:
            if name == "sensecheck":
                pytest.skip("sensecheck is not installed here, so its packages cannot be counted")
            continue
        for line in needed:
            if "extra ==" in line or ("sys_platform" in line and "win" in line) or "python_version <" in line:
                continue
            todo.append(re.split(r"[\s;<>=!~\[(]", line, maxsplit=1)[0].lower().replace("_", "-"))
    assert len(seen) - 1 <= 15, sorted(seen)


IN_ANY_ORDER = {
    "correct/plots.py": "sorted",
    "cli/label.py": "sorted",
    "faithful/parity.py": "made a dictionary",
    "labelling/agreement.py": "asks whether all are so",
    "labelling/correcting.py": "asks how many are so",
    "report/repeats.py": "whole numbers, sorted by example or by vote",
    "runs/collecting.py": "asks whether all are so",
    "statistics/census.py": "whole numbers, sorted or made a dictionary",
    "statistics/shared_rows.py": "nothing is summed, and it is sorted",
    "statistics/table.py": "whole numbers, which their callers sort",
}
"""Where polars may give groups in another order each time, and why no digit can hang on it."""


def test_groups_and_joins_keep_their_order():
    """Sums of numbers in another order have other last digits, once in a thousand runs or so."""
    unordered = {}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            named = {keyword.arg for keyword in node.keywords}
            joins = node.func.attr == "join" and not named.isdisjoint({"on", "left_on"})
            if (joins or node.func.attr == "group_by") and "maintain_order" not in named:
                unordered.setdefault(path.relative_to(SOURCE).as_posix(), []).append(node.lineno)
    assert unordered.keys() == IN_ANY_ORDER.keys(), unordered
