"""BreakNLI to the letter: its scoring, filter, regeneration, distances and text rules, quirks included.

Two states of the original are kept apart by name: ``2023-06`` (statements must be confirmed in both
directions, and a pair that is short of statements gets new ones) and ``2023-04`` (one direction, nothing
regenerated), the state behind the published table. Labels are 0 entailment, 1 neutral, 2 contradiction
everywhere.

What is wrong here is wrong on purpose; `sensecheck.robust` without parity does what a user expects instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableSequence, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

Version = Literal["2023-06", "2023-04"]
Selection = dict[str, Any]  # {"pair": input index, "statements": [slot, ...]}
Item = TypeVar("Item")

ENTAILMENT, NEUTRAL, CONTRADICTION = 0, 1, 2
PRINTED_NAMES = ("Entailment", "Neutrality", "Contradiction")

NLI_PROMPT = (
    "Read the following and determine if the hypothesis can be inferred from the premise: "
    "Premise: <premise> Hypothesis: <hypothesis>"
)
NEGATIVE_PROMPT = "Generate a statement that contradicts the following statement: <hypothesis>"
POSITIVE_PROMPT = "Rephrase the following sentence while preserving its original meaning: <hypothesis>"
# The original asks for a rephrasing here whatever the polarity.
REGENERATION_PROMPT = POSITIVE_PROMPT

PLACEHOLDER = "<PH>"
CANDIDATES_PER_CALL = 14
STATEMENTS_DRAWN = 10
STATEMENTS_KEPT = 5
REGENERATION_TRIES = 15


class EndlessRegenerationError(RuntimeError):
    """The original would never come back: its generator keeps repeating a statement, which it does not
    count as a try.
    """


# ---- texts ---------------------------------------------------------------------------------------


def standardise(texts: MutableSequence[str]) -> MutableSequence[str]:
    """Give every text a final full stop unless it ends in '.' or '?'. Changes the list it is given, as the
    original does.
    """
    for i, text in enumerate(texts):
        stripped = text.strip()
        if not stripped.endswith((".", "?")):
            texts[i] = stripped + "."
    return texts


def fill(prompt: str, premise: str, hypothesis: str) -> str:
    """Two replacements in turn: a premise that holds the word ``<hypothesis>`` is itself filled in."""
    return prompt.replace("<premise>", premise).replace("<hypothesis>", hypothesis)


def flan_answer(text: str) -> int:
    """The label behind a generated answer: exactly yes, exactly no, anything else is neutral."""
    return {"yes": ENTAILMENT, "no": CONTRADICTION}.get(text.lower(), NEUTRAL)


def label_converter(label2id: Mapping[str, int]) -> list[int]:
    """Where the original sends argmax 0, 1, 2: the inverse of the right map, wrong for two of the six label
    orders.
    """
    ids = {name.lower(): index for name, index in label2id.items()}
    return [ids["entailment"], ids["neutral"], ids["contradiction"]]


def batch_it(items: Sequence[Item], batch_size: int, keep_tail: bool = True) -> list[list[Item]]:
    """Batches in order; without the tail, fewer items than one batch is an IndexError as in the original."""
    batches = [list(items[i : i + batch_size]) for i in range(0, len(items), batch_size)]
    if not keep_tail:
        full = [batch for batch in batches if len(batch) == batch_size]
        if not full:
            raise IndexError("list index out of range")
        return full
    return batches


def parse_numbered_lists(choices: Sequence[str]) -> npt.NDArray[np.str_]:
    """Statements out of numbered lists the way the GPT-3 script did: cut at ". ", a choice with one odd
    line is lost.
    """
    parsed: list[list[str]] = []
    for choice in choices:
        blank = choice.find("\n\n", 3)
        body = choice[blank if blank >= 0 else 0 :].strip()
        try:
            parsed.append([line.split(". ")[1] for line in body.split("\n")])
        except IndexError:
            continue
    return np.array(parsed)


# ---- statements ----------------------------------------------------------------------------------


def draw_statements(
    hypotheses: Sequence[str],
    generate: Callable[[str, str, int, bool], Sequence[str]],
    rng: np.random.Generator,
    *,
    negative_prompt: str = NEGATIVE_PROMPT,
    positive_prompt: str = POSITIVE_PROMPT,
) -> tuple[npt.NDArray[np.str_], npt.NDArray[np.str_], list[int]]:
    """Ten statements of each polarity for every hypothesis, or ten placeholders where fewer than ten
    differ.

    `generate(prompt, hypothesis, n, stricter)` gives n texts; stricter asks for diverse beam search. The
    third value lists the placeholder rows of both polarities together: a pair that failed in both appears
    twice.
    """
    rows: dict[str, list[list[str]]] = {"negative": [], "positive": []}
    repeated: list[int] = []
    for i, hypothesis in enumerate(hypotheses):
        for polarity, prompt in (("negative", negative_prompt), ("positive", positive_prompt)):
            candidates: list[str] = []
            for stricter in (False, True):
                candidates += generate(prompt, hypothesis, CANDIDATES_PER_CALL, stricter)
            unique = [text for text in dict.fromkeys(candidates) if text != hypothesis]
            if len(unique) >= STATEMENTS_DRAWN:
                chosen = rng.choice(len(unique), STATEMENTS_DRAWN, replace=False)
                rows[polarity].append([unique[int(k)] for k in chosen])
            else:
                rows[polarity].append([PLACEHOLDER] * STATEMENTS_DRAWN)
                repeated.append(i)
    return np.array(rows["negative"]), np.array(rows["positive"]), repeated


def target_label(positive: bool) -> int:
    """What M must say of (h, h') for a statement to count as one of its polarity."""
    return ENTAILMENT if positive else CONTRADICTION


def pair_order(gold: Sequence[int], positive: bool) -> list[int]:
    """Input order, except that negative statements see the entailment pairs first and no neutral pair at
    all.
    """
    if positive:
        return list(range(len(gold)))
    return [i for y in (ENTAILMENT, CONTRADICTION) for i, label in enumerate(gold) if label == y]


def passing_slots(
    h_g: Sequence[int], g_h: Sequence[int] | None, positive: bool, version: Version = "2023-06"
) -> list[int]:
    """Slots whose statement M labels as meant: in both directions, or in one for the April state."""
    target = target_label(positive)
    if version == "2023-04":
        return [j for j, label in enumerate(h_g) if label == target]
    if g_h is None:
        raise ValueError("the June 2023 filter asks for the labels of (h', h) too; pass pred_g_h")
    return [j for j, (forth, back) in enumerate(zip(h_g, g_h, strict=True)) if forth == target == back]


def select(
    gold: Sequence[int],
    pred_ph: Sequence[int],
    pred_h_g: Sequence[Sequence[int]],
    pred_g_h: Sequence[Sequence[int]] | None,
    positive: bool,
    version: Version = "2023-06",
) -> list[Selection]:
    """The pairs that keep five statements, and which slots: correct pairs in the original's order, first
    five slots.

    Nothing is regenerated here, which is also what happens when every regenerated statement is refused.
    """
    if version not in ("2023-06", "2023-04"):
        raise ValueError(f"unknown version {version!r}: expected '2023-06' or '2023-04'")
    kept: list[Selection] = []
    for i in pair_order(gold, positive):
        if pred_ph[i] != gold[i]:
            continue
        slots = passing_slots(pred_h_g[i], None if pred_g_h is None else pred_g_h[i], positive, version)
        if len(slots) >= STATEMENTS_KEPT:
            kept.append({"pair": i, "statements": slots[:STATEMENTS_KEPT]})
    return kept


def regenerate(
    row: npt.NDArray[np.str_],
    slots: Sequence[int],
    sample: Callable[[], str],
    accepts: Callable[[str], bool],
    *,
    guard: int = 10_000,
) -> tuple[list[int], int]:
    """Fill a row that is short of statements, in place; returns the slot list and the number of generator
    calls.

    To the letter: every accepted text goes to the *first* free slot again, so later ones overwrite earlier
    ones; the array's fixed width cuts what is longer than its longest text; a repeated text is not counted
    as a try, so a generator that repeats itself would go on for ever (`guard` calls, then
    EndlessRegenerationError).
    """
    taken = list(slots)
    free = [j for j in range(len(row)) if j not in taken]
    tries = calls = 0
    while len(taken) < STATEMENTS_KEPT and tries < REGENERATION_TRIES:
        if calls >= guard:
            raise EndlessRegenerationError(
                f"the generator repeated known statements for {guard} calls; the original never ends here"
            )
        text = sample()
        calls += 1
        if text in row.tolist():
            continue
        if accepts(text):
            row[free[0]] = text
            taken.append(free[0])
        tries += 1
    return taken, calls


def evaluate(
    premises: Sequence[str],
    hypotheses: Sequence[str],
    gold: Sequence[int],
    statements: npt.NDArray[np.str_],
    predict: Callable[[Sequence[str], Sequence[str]], Sequence[int]],
    positive: bool,
    *,
    version: Version = "2023-06",
    sample: Callable[[str, str], str] | None = None,
) -> dict[str, Any]:
    """The whole of the original's evaluation but the embeddings: filter, regeneration, M(p, h'), in its
    pair order.

    `sample(prompt, hypothesis)` regenerates one statement; without it a short pair is dropped (15
    refusals).
    """
    texts = np.array(statements)  # a copy: regeneration writes into it, and its fixed width matters
    order = pair_order(gold, positive)
    pred_ph = predict([premises[i] for i in order], [hypotheses[i] for i in order]) if order else []
    correct = [i for i, label in zip(order, pred_ph, strict=True) if label == gold[i]]
    target = target_label(positive)
    chosen: list[tuple[int, list[int]]] = []
    calls = 0

    for i in correct:
        row = texts[i]
        cells = row.tolist()
        forth = predict([hypotheses[i]] * len(cells), cells)
        back = predict(cells, [hypotheses[i]] * len(cells)) if version == "2023-06" else None
        slots = passing_slots(forth, back, positive, version)
        if version == "2023-06" and sample is not None:

            def accepts(text: str, h: str = hypotheses[i]) -> bool:
                return predict([h], [text])[0] == target == predict([text], [h])[0]

            def draw(h: str = hypotheses[i]) -> str:
                return sample(REGENERATION_PROMPT, h)

            slots, used = regenerate(row, slots, draw, accepts)
            calls += used
        if len(slots) >= STATEMENTS_KEPT:
            chosen.append((i, slots[:STATEMENTS_KEPT]))

    kept_statements = [[str(texts[i][j]) for j in slots] for i, slots in chosen]
    flat_p = [premises[i] for i, slots in chosen for _ in slots]
    flat_g = [text for row_texts in kept_statements for text in row_texts]
    flat = list(predict(flat_p, flat_g)) if flat_g else []
    return {
        "pairs": [i for i, _ in chosen],
        "premises": [premises[i] for i, _ in chosen],
        "hypotheses": [hypotheses[i] for i, _ in chosen],
        "labels": [gold[i] for i, _ in chosen],
        "slots": [slots for _, slots in chosen],
        "g_hypotheses": kept_statements,
        "pred_labels": [flat[k : k + STATEMENTS_KEPT] for k in range(0, len(flat), STATEMENTS_KEPT)],
        "regeneration_attempts": calls,
        "correct": len(correct),
    }


# ---- scoring -------------------------------------------------------------------------------------


def expected_label(label: int, positive: bool) -> int:
    """What the original holds M(p, h') to be; for negative statements of a contradiction pair that is
    entailment (!).
    """
    return label if positive or label == NEUTRAL else CONTRADICTION - label


def pair_marks(label: int, predicted: Sequence[int], positive: bool) -> tuple[bool, bool]:
    """(inequal, relaxed inequal) of one pair: any statement of the opposite label, any statement off the
    expected one.
    """
    expected = expected_label(label, positive)
    relaxed = any(p != expected for p in predicted)
    if label == NEUTRAL:
        return relaxed, relaxed
    return any(p == CONTRADICTION - expected for p in predicted), relaxed


def count_inequalities(
    labels: Sequence[int], pred_labels: Sequence[Sequence[int]], positive: bool
) -> dict[str, dict[str, int]]:
    """Pairs, inequal pairs and relaxed inequal pairs of each class that occurs."""
    counts: dict[str, dict[str, int]] = {}
    for label, name in enumerate(PRINTED_NAMES):
        marks = [pair_marks(label, row, positive) for y, row in zip(labels, pred_labels, strict=True) if y == label]
        if marks:
            counts[name] = {
                "n": len(marks),
                "inequal": sum(m[0] for m in marks),
                "relaxed_inequal": sum(m[1] for m in marks),
            }
    return counts


def rate_string(inequal: float, relaxed: float) -> str:
    """A cell of the published table: both rates as Python prints a float."""
    return f"{inequal}%/{relaxed}%"


def show_results(
    labels: Sequence[int], pred_labels: Sequence[Sequence[int]], positive: bool, *, echo: bool = True
) -> list[str]:
    """Print the rates of each class and overall as the original does, and return them as strings.

    Classes without a pair are left out. A label outside 0..2 counts in the overall denominator alone; no
    pair at all is a ZeroDivisionError: both as in the original.
    """
    counts = count_inequalities(labels, pred_labels, positive)
    blocks = [(f"Class of {name}", c["inequal"], c["relaxed_inequal"], c["n"]) for name, c in counts.items()]
    inequal = sum(b[1] for b in blocks)
    relaxed = sum(b[2] for b in blocks)
    blocks.append(("Overall:", inequal, relaxed, len(labels)))
    strings = []
    for heading, a, b, n in blocks:
        rates = (100 * a / n, 100 * b / n)
        strings.append(rate_string(round(rates[0], 2), round(rates[1], 2)))
        if echo:
            print(heading)
            print(f"{rates[0]:.2f}% inequal triangle; {rates[1]:.2f}% relaxed inequal triangle.")
    return strings


# ---- distances -----------------------------------------------------------------------------------

Floats = npt.NDArray[np.float64]


def _softmax(logits: Floats) -> Floats:
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))


def _relative_entropy(p: Floats, q: Floats) -> Floats:
    """Σ p ln(p/q) with 0·ln 0 = 0 and p·ln(p/0) = inf."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, np.where(q > 0, p * np.log(p / q), np.inf), 0.0)
    return np.asarray(terms.sum(axis=-1))


def statement_distances(dataset: Mapping[str, Any], metric: str, sorted: bool = False) -> Floats:
    """Distance of each statement's prediction (or embedding) from that of its hypothesis, n × k.

    The names are the original's and say the wrong thing: js_divergence is the Jensen–Shannon distance,
    ks_divergence the largest difference of probabilities, variance the standard deviation of the
    statement's own probabilities, and every other name is the Kullback–Leibler divergence.
    """
    if metric == "cosine_distance":
        h = np.asarray(dataset["h_embeddings"], dtype=float)[:, None, :]
        g = np.asarray(dataset["ha_embeddings"], dtype=float)
        cosine = (h * g).sum(-1) / (np.linalg.norm(h, axis=-1) * np.linalg.norm(g, axis=-1))
        return np.asarray(1.0 - cosine)
    h = _softmax(np.asarray(dataset["h_logits"], dtype=float))[:, None, :]
    g = _softmax(np.asarray(dataset["ha_logits"], dtype=float))
    if sorted:
        h, g = np.sort(h, axis=-1), np.sort(g, axis=-1)
    if metric == "js_divergence":
        middle = (h + g) / 2
        with np.errstate(invalid="ignore"):
            js = np.sqrt((_relative_entropy(h, middle) + _relative_entropy(g, middle)) / np.log(2) / 2)
        return np.asarray(np.nan_to_num(js, nan=0.0))
    if metric == "ks_divergence":
        return np.asarray(np.abs(h - g).max(axis=-1))
    if metric == "variance":
        return np.asarray(g.std(axis=-1))
    return np.asarray(_relative_entropy(h, g) / np.log(2))


def _rounded_mean(values: Floats) -> float:
    return round(float(values.mean()), 4) if values.size else float("nan")


def overall_analysis(dataset: Mapping[str, Any], metric: str, sorted: bool = False) -> tuple[float, ...]:
    """Mean distance over statements whose label stayed and over those whose label changed; nan for an empty
    group.

    `variance` gives the mean over the hypotheses first. An unknown name is silently the KL divergence.
    """
    distances = statement_distances(dataset, metric, sorted)
    stayed = np.asarray(dataset["pred_labels"]) == np.asarray(dataset["labels"])[:, None]
    summary = (_rounded_mean(distances[stayed]), _rounded_mean(distances[~stayed]))
    if metric == "variance":
        own = _softmax(np.asarray(dataset["h_logits"], dtype=float)).std(axis=-1)
        return (_rounded_mean(own), *summary)
    return summary
