"""From what a user writes (`--model`, `--generator`) to M and G."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sensecheck.inputs.errors import InputError
from sensecheck.models.classifiers import CallableClassifier, Classifier, SmallClassifier, TableClassifier, read_answer
from sensecheck.models.generators import CallableGenerator, Generator, RuleGenerator, StoredStatements
from sensecheck.models.prompts import FLAN_PROMPT, NLI_PROMPT

SMALL = "small"
RULES = "rules"


@dataclass(frozen=True)
class Access:
    """How models are reached and run; none of it changes what they are asked."""

    device: str | None = None
    dtype: str | None = None
    revision: str | None = None
    label_names: Sequence[str] | None = None
    prompt: str | None = None
    model_name: str | None = None
    key_variable: str = "OPENAI_API_KEY"
    concurrency: int = 8
    timeout: float = 60.0
    tries: int = 8
    per_minute: float | None = None
    max_tokens: int | None = None
    """the longest answer; None: 64 of a classifier, 1024 of a generator"""
    offline: bool = False


def _endpoint(url: str, access: Access, **settings: Any) -> Any:
    from sensecheck.models.endpoint import Endpoint

    url, _, fragment = url.partition("#")
    name = fragment or access.model_name
    if not name:
        raise InputError(
            f"which model of {url}?", hint="Name it after a #: https://host/v1#model-name, or with --model-name.",
            reason="bad_option",
        )  # fmt: skip
    return Endpoint(
        url, name, key_variable=access.key_variable, concurrency=access.concurrency, timeout=access.timeout,
        tries=access.tries, per_minute=access.per_minute, **settings,
    )  # fmt: skip


def _function(spec: str, option: str) -> Callable[..., Any]:
    module, _, name = spec.removeprefix("py:").partition(":")
    if not module or not name:
        raise InputError(field=option, expected="py:module:function", got=spec, reason="bad_option")
    if "" not in sys.path:
        sys.path.insert(0, "")
    found = getattr(importlib.import_module(module), name, None)
    if not callable(found):
        raise InputError(f"{option}: module {module!r} has no function {name!r}", reason="bad_option")
    return found  # type: ignore[no-any-return]


def _is_sequence_classifier(path: str, access: Access) -> bool:
    from sensecheck.models.huggingface import configuration

    config = configuration(path, access.revision, access.offline)
    kinds = getattr(config, "architectures", None) or []
    if any("SequenceClassification" in kind for kind in kinds):
        return True
    generative = ("ConditionalGeneration", "CausalLM", "LMHeadModel")
    return not any(word in kind for kind in kinds for word in generative)


def classifier(spec: Any, access: Access | None = None) -> Classifier:
    """M from: `small`, a Hugging Face name or folder, a URL, `table:FILE`, `py:module:function`, or a Python object."""
    access = access or Access()
    if not isinstance(spec, str):
        if isinstance(spec, Classifier):
            return spec
        if callable(spec):
            return CallableClassifier(spec)
        raise InputError(
            field="model", expected="a name, a URL, a file, a function or a classifier", got=repr(type(spec))
        )
    if spec in (SMALL, "sensecheck/small-nli"):
        return SmallClassifier()
    if spec.startswith(("http://", "https://")):
        from sensecheck.models.endpoint import EndpointClassifier

        return EndpointClassifier(
            _endpoint(spec, access, max_tokens=access.max_tokens or 64), access.prompt or NLI_PROMPT
        )
    if spec.startswith("table:"):
        from sensecheck.robust.records import predictions_in_file

        path = spec.removeprefix("table:")
        return TableClassifier(predictions_in_file(path), Path(path).name)
    if spec.startswith("py:"):
        return CallableClassifier(_function(spec, "--model"), spec)
    from sensecheck.models.huggingface import PromptedModel, SequenceClassifier

    path = spec.removeprefix("hf:")
    options: dict[str, Any] = {
        "revision": access.revision, "device": access.device, "dtype": access.dtype, "offline": access.offline,
    }  # fmt: skip
    if _is_sequence_classifier(path, access):
        return SequenceClassifier(path, label_names=access.label_names, **options)
    prompt = access.prompt or (FLAN_PROMPT if "flan" in path.lower() else NLI_PROMPT)
    return PromptedModel(path, prompt=prompt, read=_read_flan if prompt == FLAN_PROMPT else read_answer, **options)


def _read_flan(text: str) -> int | None:
    """Flan-T5 answers yes, no, or says that it is not possible to tell."""
    return read_answer(text)


def generator(spec: Any, access: Access | None = None, wordnet: bool = False) -> Generator:
    """G from: `rules`, a Hugging Face name or folder, a URL, `file:FILE`, `py:module:function`, or a Python object."""
    access = access or Access()
    if not isinstance(spec, str):
        if isinstance(spec, Generator):
            return spec
        if callable(spec):
            return CallableGenerator(spec)
        raise InputError(field="generator", expected="a name, a URL, a file or a function", got=repr(type(spec)))
    if spec == RULES:
        return RuleGenerator(wordnet)
    if spec.startswith(("http://", "https://")):
        from sensecheck.models.endpoint import EndpointGenerator

        return EndpointGenerator(_endpoint(spec, access, max_tokens=access.max_tokens or 1024))
    if spec.startswith("file:"):
        from sensecheck.robust.records import statements_in_file

        path = spec.removeprefix("file:")
        return StoredStatements(statements_in_file(path), Path(path).name)
    if spec.startswith("py:"):
        return CallableGenerator(_function(spec, "--generator"), spec)
    from sensecheck.models.huggingface import PromptedModel

    return PromptedModel(
        spec.removeprefix("hf:"),
        revision=access.revision,
        device=access.device,
        dtype=access.dtype,
        offline=access.offline,
    ).generator()
