"""Runs the real inspect_ai offline, on a mock model: `python inspect_tasks.py FOLDER`.

Writes every task's log in both formats, and figures.json: what inspect itself made of each, and what sensecheck reads from
the objects in memory.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, write_eval_log
from inspect_ai.model import (
    ChatMessage,
    Logprob,
    Logprobs,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import Score, Target, accuracy, choice, match, mean, scorer
from inspect_ai.solver import Generate, TaskState, generate, multiple_choice, solver

import sensecheck
from sensecheck import IntervalOptions

FIRST, AGAIN = {"capital": "Lima", "sum": "7", "river": "Nile"}, {"sum": "eight"}
"""What the model answers to the question with this word; and when it is asked again."""


def answers():
    """An answer by the words of the question, so that the order in which samples run changes nothing."""
    asked = Counter()

    def answer(messages: list[ChatMessage], *_) -> ModelOutput:
        text = messages[-1].text
        word = next((word for word in FIRST if word in text), "")
        asked[word] += 1
        said = AGAIN.get(word, "") if word in AGAIN and asked[word] > 1 else FIRST.get(word, "")
        output = ModelOutput.from_content("mockllm/model", "ANSWER: B" if "ANSWER:" in text else said)
        steps = [Logprob(token=part, logprob=-0.25 * len(said)) for part in (said[:2], said[2:]) if part]
        output.choices[0].logprobs = Logprobs(content=steps) if "sure" in text else None
        # Without a count of its own the mock model would ask the network for a tokenizer.
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    return answer


@solver
def breaks_for(name: str):
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.sample_id == name:
            raise RuntimeError("the sandbox is gone")
        return await generate(state)

    return solve


@scorer(metrics={"correct": [accuracy()], "confidence": [mean()]})
def sure():
    async def score(state: TaskState, target: Target) -> Score:
        right = target.text in state.output.completion
        return Score(value={"correct": right, "confidence": 0.75 if right else 0.5}, answer=state.output.completion)

    return score


def questions(word: str = "") -> list[Sample]:
    golds = {"capital": "Lima", "sum": "7", "river": "Amazon"}
    return [
        Sample(
            id=name, input=f"Which {name}{word}? {'long ' * 40}", target=gold, metadata={"region": name[:1], "n": at}
        )
        for at, (name, gold) in enumerate(golds.items())
    ]


TASKS = {
    "choice": Task(
        dataset=[
            Sample(id=at, input=f"Question {at}?", choices=["yes", "no"], target=target)
            for at, target in enumerate("BAB")
        ],
        solver=multiple_choice(),
        scorer=choice(),
    ),
    "epochs": Task(dataset=questions(), solver=generate(), scorer=match(location="any"), epochs=2),
    "error": Task(dataset=questions(), solver=breaks_for("sum"), scorer=match(location="any"), fail_on_error=False),
    "logprobs": Task(dataset=questions(" (sure)"), solver=generate(), scorer=[match(location="any"), sure()]),
    "object": Task(dataset=questions(), solver=generate(), scorer=sure()),
    "unfinished": Task(dataset=questions(), solver=breaks_for("sum"), scorer=match(location="any")),
}


def read(data: object, name: str) -> float | str:
    scorer = "match" if name == "logprobs" else None
    try:
        result = sensecheck.calibrated.evaluate(data, scorer=scorer, options=IntervalOptions(method="none"))
    except sensecheck.InputError as error:
        return str(error)
    return result["accuracy"].value


def told(log: EvalLog) -> dict[str, float]:
    scores = log.results.scores if log.results is not None else []
    return {f"{one.name} {key}": metric.value for one in scores for key, metric in one.metrics.items()}


def main(folder: Path) -> None:
    figures = {}
    for name, task in TASKS.items():
        model = get_model("mockllm/model", custom_outputs=answers(), memoize=False)
        [log] = eval(task, model=model, display="none", log_dir=str(folder / "logs"), max_samples=1)
        for kind in ("eval", "json"):
            write_eval_log(log, str(folder / f"{name}.{kind}"), format=kind)
        Path(log.location).rename(folder / f"{name}-as-written.eval")
        figures[name] = {
            "status": log.status,
            "metrics": {key: None if math.isnan(value) else value for key, value in told(log).items()},
            "log": read(log, name),
            "samples": read(log.samples, name) if log.status == "success" else "",
        }
    (folder / "figures.json").write_text(json.dumps(figures))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
