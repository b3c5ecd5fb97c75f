"""Maps from stated to deserved confidence, learned from answers whose correctness is known.

    fitted = fit("temperature", confidence, correct)
    better = fitted(new_confidence)
    fitted.save("map.json"); fitted = load("map.json")

temperature  σ(logit(p)/T): one number. Guo et al. 2017 divide all logits by T; of a single confidence this is the
             same for two classes, and the usual stand-in for more.
platt        σ(a·logit(p) + b): two numbers (Platt 1999).
beta         σ(a·ln p − b·ln(1 − p) + c), a and b at least 0: three numbers (Kull, Silva Filho and Flach 2017).
isotonic     the rising step function nearest to the outcomes (Zadrozny and Elkan 2002): as many numbers as needed,
             and the only one here that can make equal what was different.

The first three minimise log loss, by Newton's method on their convex problem. Only numpy is needed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.json_arrays import read_document
from sensecheck.inputs.reasons import Reason
from sensecheck.runs.writing import write_named

Floats = NDArray[np.float64]
Method = Literal["temperature", "platt", "isotonic", "beta"]
METHODS: tuple[Method, ...] = ("temperature", "platt", "isotonic", "beta")
SCHEMA = "sensecheck.recalibration/1"

COLDEST, HOTTEST = 0.01, 100.0
"""The temperatures between which one is sought."""
EDGE = 1e-12
"""Confidences are kept this far from 0 and 1, where logits are infinite."""
_STEPS = 100
_LARGEST = 1e300
_PARAMETERS = {
    "temperature": "a list with a finite number above 0 for T",
    "platt": "a list with a finite number for each of a, b",
    "beta": "a list with a finite number for each of a, b, c",
    "isotonic": "lists of equally many finite numbers for x, y",
}


@dataclass(frozen=True)
class Recalibration:
    """A fitted map. Call it with confidences."""

    method: Method
    parameters: Mapping[str, list[float]]
    rows: int
    """Rows it was fitted on."""
    notes: tuple[str, ...] = ()
    """What to know before using it."""
    source: Mapping[str, Any] = field(default_factory=dict)
    """Where it was fitted: files and their digests."""

    def __call__(self, confidence: ArrayLike) -> Floats:
        p = np.asarray(confidence, dtype=np.float64)
        if p.size and not (np.nanmin(p) >= 0 and np.nanmax(p) <= 1):
            raise ValueError("confidences must lie in [0, 1]")
        return _APPLY[self.method](p, self.parameters)

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "method": self.method,
            "parameters": {k: list(v) for k, v in self.parameters.items()},
            "rows": self.rows,
            "notes": list(self.notes),
            "source": dict(self.source),
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        return write_named(path, (json.dumps(self.to_dict(), indent=2) + "\n").encode("utf-8"))

    def __str__(self) -> str:
        if self.method == "isotonic":
            return f"isotonic, {len(self.parameters['x'])} steps"
        return ", ".join([self.method, *(f"{k} {v[0]:.4g}" for k, v in self.parameters.items())])


def load(path: str | os.PathLike[str]) -> Recalibration:
    """A map that was saved."""
    saved = read_document(Path(path).read_bytes(), str(path), "a saved recalibration (JSON)")
    if not isinstance(saved, dict) or saved.get("schema") != SCHEMA or saved.get("method") not in METHODS:
        raise InputError(
            path=str(path), expected=f"a saved recalibration with schema {SCHEMA!r}",
            got=shown(saved.get("schema") if isinstance(saved, dict) else saved), reason=Reason.NOT_A_RECALIBRATION,
        )  # fmt: skip
    method: Method = saved["method"]
    names = {"temperature": {"T"}, "platt": {"a", "b"}, "beta": {"a", "b", "c"}, "isotonic": {"x", "y"}}[method]
    parameters = saved.get("parameters")
    if not isinstance(parameters, dict) or set(parameters) != names or not all(_finite(v) for v in parameters.values()):
        parameters = {}
    wrong = method == "isotonic" and len(parameters.get("x", ())) != len(parameters.get("y", ()))
    wrong = wrong or (method == "temperature" and any(t <= 0 for t in parameters.get("T", ())))
    if not parameters or wrong:
        raise InputError(
            path=str(path), field="parameters", expected=_PARAMETERS[method],
            got=shown(saved.get("parameters")), reason=Reason.NOT_A_RECALIBRATION,
        )  # fmt: skip
    rows, notes, source = saved.get("rows", 0), saved.get("notes", []), saved.get("source", {})
    checks: tuple[tuple[str, Any, type, str], ...] = (
        ("rows", rows, int, "a whole number"),
        ("notes", notes, list, "a list of texts"),
        ("source", source, dict, "an object"),
        ("source.inputs", source.get("inputs", []) if isinstance(source, dict) else [], list, "a list of files"),
    )
    for name, value, kind, expected in checks:
        files = value if name == "source.inputs" and isinstance(value, list) else []
        if not isinstance(value, kind) or not all(isinstance(file, dict) for file in files):
            raise InputError(
                path=str(path), field=name, expected=expected, got=shown(value, 60), reason=Reason.NOT_A_RECALIBRATION
            )
    return Recalibration(
        method, {k: [float(x) for x in v] for k, v in parameters.items()}, rows, tuple(map(str, notes)), source
    )


def _finite(values: Any) -> bool:
    return (
        isinstance(values, list)
        and bool(values)
        and all(isinstance(x, (int, float)) and not isinstance(x, bool) and abs(x) <= _LARGEST for x in values)
    )


def fit(method: Method, confidence: ArrayLike, correct: ArrayLike, weight: ArrayLike | None = None) -> Recalibration:
    """Learn a map from confidences and outcomes (0/1, or shares between)."""
    if method not in METHODS:
        raise InputError(
            field="method", expected=f"one of {', '.join(METHODS)}", got=shown(method), reason=Reason.BAD_OPTION
        )
    p, y = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    w = np.ones(len(p)) if weight is None else np.asarray(weight, dtype=np.float64)
    if p.ndim != 1 or p.shape != y.shape or p.shape != w.shape:
        raise ValueError(
            f"confidence, correct and weight must be lists of the same length, got shapes {p.shape}, {y.shape}"
        )
    if len(p) < 2:
        raise InputError(f"a recalibration needs at least 2 rows with confidence and correctness, got {len(p)}")
    if not (p.min() >= 0 and p.max() <= 1):
        raise ValueError("confidences must lie in [0, 1]")
    parameters, notes = _FIT[method](p, y, w)
    rate = float((w * y).sum() / w.sum())
    if rate in (0.0, 1.0):
        notes = (
            *notes,
            f"every answer it was fitted on is {'right' if rate else 'wrong'}, so the map can say nothing else",
        )
    return Recalibration(method, parameters, len(p), notes)


def _logit(p: Floats) -> Floats:
    q = np.clip(p, EDGE, 1 - EDGE)
    return np.asarray(np.log(q) - np.log1p(-q))


def _sigmoid(x: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x)))))


def _loss(x: Floats, y: Floats, w: Floats) -> float:
    return float((w * (np.logaddexp(0.0, x) - y * x)).sum() / w.sum())


def _newton(features: Floats, y: Floats, w: Floats, start: Floats) -> Floats:
    """Logistic regression without intercept of its own; a touch of ridge keeps separable data finite."""
    ridge = 1e-9 * np.eye(features.shape[1])
    beta = start.astype(np.float64)
    loss = _loss(features @ beta, y, w)
    share = w / w.sum()
    for _ in range(_STEPS):
        q = _sigmoid(features @ beta)
        gradient = features.T @ (share * (q - y))
        curvature = (features * (share * q * (1 - q))[:, None]).T @ features + ridge
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while size > 1e-8:
            candidate = beta - size * step
            candidate_loss = _loss(features @ candidate, y, w)
            if candidate_loss <= loss:
                break
            size /= 2
        else:
            break
        change = float(np.abs(beta - candidate).max())
        beta, loss = candidate, candidate_loss
        if change < 1e-12 * max(1.0, float(np.abs(beta).max())):
            break
    return beta


Fitted = tuple[dict[str, list[float]], tuple[str, ...]]


def _fit_temperature(p: Floats, y: Floats, w: Floats) -> Fitted:
    x = _logit(p)
    # The loss is convex in 1/T: halve the slope's sign change between the bounds.
    share = w / w.sum()

    def slope(inverse: float) -> float:
        return float((share * x * (_sigmoid(inverse * x) - y)).sum())

    low, high = 1 / HOTTEST, 1 / COLDEST
    if slope(low) >= 0:
        return {"T": [HOTTEST]}, (
            f"the temperature hit its upper bound {HOTTEST:g}: the confidences say nothing about being right (or "
            "the opposite), and all become close to 0.5",
        )
    if slope(high) <= 0:
        return {"T": [COLDEST]}, (
            f"the temperature hit its lower bound {COLDEST:g}: nearly all answers with a confidence above 0.5 are "
            "right and nearly all others wrong, so confidences go to 0 and 1",
        )
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return {"T": [2 / (low + high)]}, ()


def _fit_platt(p: Floats, y: Floats, w: Floats) -> Fitted:
    x = _logit(p)
    a, b = _newton(np.stack([x, np.ones_like(x)], axis=1), y, w, np.array([1.0, 0.0]))
    notes = () if a > 0 else ("the slope is not positive: surer answers are not more often right",)
    return {"a": [float(a)], "b": [float(b)]}, notes


def _fit_beta(p: Floats, y: Floats, w: Floats) -> Fitted:
    q = np.clip(p, EDGE, 1 - EDGE)
    features = np.stack([np.log(q), -np.log1p(-q), np.ones_like(q)], axis=1)
    coefficients = _newton(features, y, w, np.array([1.0, 1.0, 0.0]))
    # Where one of the two slopes falls below 0 the map would not rise: it is 0, and the others are fitted again.
    for slope, others in ((0, [1, 2]), (1, [0, 2])):
        if coefficients[slope] < 0:
            refitted = _newton(features[:, others], y, w, coefficients[others])
            coefficients = np.insert(refitted, slope, 0.0)
    notes: tuple[str, ...] = ()
    if coefficients[0] <= 0 and coefficients[1] <= 0:
        rate = float(np.clip((w * y).sum() / w.sum(), EDGE, 1 - EDGE))
        coefficients = np.array([0.0, 0.0, float(np.log(rate) - np.log1p(-rate))])
        notes = ("both slopes are 0: surer answers are not more often right, and all get the mean accuracy",)
    coefficients = np.maximum(coefficients, [0.0, 0.0, -np.inf])
    return {"a": [float(coefficients[0])], "b": [float(coefficients[1])], "c": [float(coefficients[2])]}, notes


def pooled(y: Floats, w: Floats) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Pool adjacent violators: the rising sequence nearest to y; value, weight and first index of each level."""
    values: list[float] = []
    weights: list[float] = []
    starts: list[int] = []
    for i, (value, weight) in enumerate(zip(y.tolist(), w.tolist(), strict=True)):
        start = i
        while values and values[-1] >= value:
            before, mass = values.pop(), weights.pop()
            start = starts.pop()
            value = (before * mass + value * weight) / (mass + weight)
            weight += mass
        values.append(value)
        weights.append(weight)
        starts.append(start)
    return np.asarray(values), np.asarray(weights), np.asarray(starts, dtype=np.intp)


def _fit_isotonic(p: Floats, y: Floats, w: Floats) -> Fitted:
    used = w > 0
    distinct, where = np.unique(p[used], return_inverse=True)
    mass = np.bincount(where, weights=w[used]).astype(np.float64)
    mean = np.bincount(where, weights=(w * y)[used]) / mass
    values, _, starts = pooled(mean, mass)
    # Both ends of each level: flat within, straight between two.
    stops = np.append(starts[1:], len(distinct)) - 1
    x = np.stack([distinct[starts], distinct[stops]], axis=1).ravel()
    level = np.repeat(values, 2)
    keep = np.concatenate([[True], (x[1:] != x[:-1]) | (level[1:] != level[:-1])])
    notes = () if len(p) >= 200 else (f"isotonic regression on {len(p)} rows follows their noise",)
    return {"x": x[keep].tolist(), "y": level[keep].tolist()}, notes


def _apply_temperature(p: Floats, parameters: Mapping[str, list[float]]) -> Floats:
    return _sigmoid(_logit(p) / parameters["T"][0])


def _apply_platt(p: Floats, parameters: Mapping[str, list[float]]) -> Floats:
    return _sigmoid(parameters["a"][0] * _logit(p) + parameters["b"][0])


def _apply_beta(p: Floats, parameters: Mapping[str, list[float]]) -> Floats:
    q = np.clip(p, EDGE, 1 - EDGE)
    return _sigmoid(parameters["a"][0] * np.log(q) - parameters["b"][0] * np.log1p(-q) + parameters["c"][0])


def _apply_isotonic(p: Floats, parameters: Mapping[str, list[float]]) -> Floats:
    return np.asarray(np.interp(p, parameters["x"], parameters["y"]))


_FIT: dict[str, Callable[[Floats, Floats, Floats], Fitted]] = {
    "temperature": _fit_temperature,
    "platt": _fit_platt,
    "beta": _fit_beta,
    "isotonic": _fit_isotonic,
}
_APPLY: dict[str, Callable[[Floats, Mapping[str, list[float]]], Floats]] = {
    "temperature": _apply_temperature,
    "platt": _apply_platt,
    "beta": _apply_beta,
    "isotonic": _apply_isotonic,
}
