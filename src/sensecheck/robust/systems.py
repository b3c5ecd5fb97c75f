"""From what a user writes (`--model`, `--generator`) to M and G."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason
from sensecheck.models import classifiers, generators, nli_words, revisions
from sensecheck.models.calls import CallCache, settings_line
from sensecheck.models.classifiers import LABELS, CallableClassifier, Classifier, SmallClassifier, TableClassifier
from sensecheck.models.faults_told import faults_told
from sensecheck.models.generators import CallableGenerator, Generator, RuleGenerator, StoredStatements
from sensecheck.models.prompts import FLAN_PROMPT, NLI_PROMPT
from sensecheck.models.reading_answers import Reads
from sensecheck.models.server_options import ServerOptions
from sensecheck.models.spending import Budget
from sensecheck.options import Option
from sensecheck.robust.batches import BatchFiles
from sensecheck.robust.statements import standardise
from sensecheck.runs.signature import Method

SMALL = "small"
RULES = "rules"
DTYPES = ("bfloat16", "float16", "float32")
LONGEST = 40
"""tokens that a Hugging Face language model may answer with"""


@dataclass(frozen=True)
class Asking:
    """What a language model is asked, and how its answer is read."""

    prompt: str
    read: Reads


@dataclass(frozen=True)
class Access(ServerOptions):
    """How models are reached and run; of it, only the prompt changes what they are asked."""

    device: Annotated[str | None, Option("cpu, cuda, cuda:1 … (default: a GPU if there is one)", metavar="DEVICE")] = (
        None
    )
    dtype: Annotated[
        str | None, Option("bfloat16, float16 or float32 (default: bfloat16 on a GPU)", metavar="DTYPE")
    ] = None
    revision: Annotated[
        str | None,
        Option(
            "a commit or branch of the model on the hub; for a URL, any text that tells models of the same name apart",
            metavar="REV",
        ),
    ] = None
    generator_revision: Annotated[str | None, Option("the same for the generator", metavar="REV")] = None
    label_names: Annotated[
        Sequence[str] | None,
        Option(
            "the model's classes in order, when their names do not say which is which",
            flag="--label-order",
            metavar="A,B,C",
            separator=",",
        ),
    ] = None
    prompt: Annotated[
        str | None, Option("prompt for language models, with <premise> and <hypothesis>", metavar="TEXT")
    ] = None
    answer_words: Annotated[
        Mapping[str, str] | None,
        Option("a word that stands for a label in a language model's answer (repeatable)", metavar="WORD=LABEL"),
    ] = None
    offline: Annotated[bool, Option("use only what is on this machine")] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for part in ("<premise>", "<hypothesis>"):
            if self.prompt is not None and part not in self.prompt:
                raise InputError(
                    field="--prompt",
                    expected=f"a text that holds {part}",
                    got=shown(self.prompt, 60),
                    reason=Reason.BAD_OPTION,
                )
        if self.dtype not in (None, *DTYPES):
            raise InputError(
                field="--dtype", expected=", ".join(DTYPES), got=shown(self.dtype), reason=Reason.BAD_OPTION
            )
        assert self.words is not None  # what is wrong with them is told now

    @cached_property
    def words(self) -> dict[str, int]:
        """`answer_words` with their labels by number."""
        words: dict[str, int] = {}
        for word, label in (self.answer_words or {}).items():
            if label not in LABELS or not word.strip():
                raise InputError(
                    field="--answer-words", expected=f"a word and one of {', '.join(LABELS)}",
                    got=shown(f"{word}={label}"), reason=Reason.BAD_OPTION,
                )  # fmt: skip
            words[word.strip()] = LABELS.index(label)
        return words

    def asking(self, prompt: str) -> Asking:
        """The prompt, or the user's, and the rule by which its answers are read."""
        prompt = self.prompt or prompt
        return Asking(prompt, nli_words.reader(prompt, self.words))


def _check_device(access: Access) -> None:
    """A device that torch does not know, or that is not there, is told before a model is loaded."""
    from sensecheck.models.huggingface import libraries

    torch, _ = libraries()
    if access.device is None:
        return
    try:
        kind = torch.device(access.device).type
    except RuntimeError:
        raise InputError(
            field="--device", expected="cpu, cuda, cuda:1 …", got=shown(access.device), reason=Reason.BAD_OPTION
        ) from None
    if kind == "cuda" and not torch.cuda.is_available():
        raise InputError(f"--device {access.device}: torch finds no CUDA device here", reason=Reason.BAD_OPTION)


def _function(spec: str, option: str) -> tuple[Callable[..., Any], str, str]:
    """The function, what it is called, and a digest of its module."""
    module, _, name = spec.removeprefix("py:").partition(":")
    if not module or not name:
        raise InputError(field=option, expected="py:module:function", got=spec, reason=Reason.BAD_OPTION)
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or module.split(".")[0] != error.name.split(".")[0]:
            raise  # the module is there, and lacks something itself
        raise InputError(
            f"{option}: there is no module {module!r} in this folder or on Python's path", reason=Reason.BAD_OPTION
        ) from None
    function = getattr(loaded, name, None)
    if not callable(function):
        raise InputError(f"{option}: module {module!r} has no function {name!r}", reason=Reason.BAD_OPTION)

    @functools.wraps(function)
    def checked(*args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except Exception as error:
            raise InputError(
                f"{option} {spec} raised {type(error).__name__}: {error}", reason=Reason.USER_FUNCTION
            ) from error

    # What the function calls and loads stands beside it: the whole module decides whether answers are still its own.
    source = Path(loaded.__file__) if loaded.__file__ is not None else None
    known = source is not None and source.suffix == ".py" and source.is_file()
    return checked, spec, revisions.of_text(source.read_text("utf-8")) if known and source is not None else ""


def _is_sequence_classifier(path: str, access: Access) -> bool:
    from sensecheck.models.huggingface import configuration

    config = configuration(path, access.revision, access.offline)
    kinds = getattr(config, "architectures", None) or []
    if any("SequenceClassification" in kind for kind in kinds):
        return True
    generative = ("ConditionalGeneration", "CausalLM", "LMHeadModel")
    return not any(word in kind for kind in kinds for word in generative)


def classifier(
    spec: Any, access: Access | None = None, asking: Asking | None = None, budget: Budget | None = None
) -> Classifier:
    """M from: `small`, a Hugging Face name or folder, a URL, `table:FILE`, `py:module:function`, or a Python object.

    `asking`: another prompt for language models, and another rule to read their answers by. `budget`: what calls to a
    URL may cost, shared with other models.
    """
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
        from sensecheck.models.by_prompt import EndpointClassifier

        endpoint = access.endpoint(spec, budget or access.budget())
        how = access.asking(NLI_PROMPT) if asking is None else Asking(access.prompt or asking.prompt, asking.read)
        return EndpointClassifier(endpoint, how.prompt, how.read, access.revision or "")
    if spec.startswith("table:"):
        from sensecheck.robust.records import PredictionsInFile, predictions_in_file

        path = spec.removeprefix("table:")
        rows = PredictionsInFile(path) if Path(path).is_file() else predictions_in_file(path)
        return TableClassifier(rows, Path(path).name, written=standardise)
    if spec.startswith("py:"):
        return CallableClassifier(*_function(spec, "--model"))
    from sensecheck.models.huggingface import PromptedModel, SequenceClassifier

    path = spec.removeprefix("hf:")
    _check_device(access)
    options: dict[str, Any] = {
        "revision": access.revision, "device": access.device, "dtype": access.dtype, "offline": access.offline,
    }  # fmt: skip
    if _is_sequence_classifier(path, access):
        return SequenceClassifier(path, label_names=access.label_names, **options)
    options["max_new_tokens"] = access.max_tokens or LONGEST
    how = access.asking(FLAN_PROMPT if "flan" in path.lower() else NLI_PROMPT)
    if asking is not None:
        how = Asking(access.prompt or asking.prompt, asking.read)
    return PromptedModel(path, prompt=how.prompt, read=how.read, **options)


def generator(
    spec: Any, access: Access | None = None, wordnet: bool = False, budget: Budget | None = None
) -> Generator:
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
        from sensecheck.models.by_prompt import EndpointGenerator

        endpoint = access.endpoint(spec, budget or access.budget())
        return EndpointGenerator(endpoint, revision=access.generator_revision or "")
    if spec.startswith("file:"):
        from sensecheck.robust.records import statements_in_file

        path = spec.removeprefix("file:")
        return StoredStatements(statements_in_file(path), Path(path).name)
    if spec.startswith("py:"):
        return CallableGenerator(*_function(spec, "--generator"))
    from sensecheck.models.huggingface import PromptedModel, configuration

    path = spec.removeprefix("hf:")
    _check_device(access)
    configuration(path, access.generator_revision, access.offline)  # says in one sentence what is wrong with the name
    return PromptedModel(
        path,
        revision=access.generator_revision,
        device=access.device,
        dtype=access.dtype,
        offline=access.offline,
        max_new_tokens=access.max_tokens or LONGEST,
    ).generator()


@dataclass(frozen=True)
class Systems:
    """The model under test and the generator, and where their answers are kept."""

    model: Classifier
    generator: Generator
    kept_in: Path | None = None
    """A file of calls; None: in memory, for this run."""
    batch: BatchFiles | None = None
    """The files that calls go through in place of the network."""

    @contextmanager
    def asked(self, again: str) -> Iterator[tuple[classifiers.Asked, generators.Asked]]:
        """Both behind the calls that are kept; `again`: the option by which a stopped run goes on."""
        with CallCache(self.kept_in) as calls, faults_told(calls, again, "--out DIR"):
            if self.batch is None:
                yield classifiers.Asked(self.model, calls), generators.Asked(self.generator, calls)
                return
            with self.batch.opened(self.model, self.generator, calls) as (model, generator):
                yield classifiers.Asked(model, calls), generators.Asked(generator, calls)

    def of_model(self) -> dict[str, str]:
        """Who is measured, for the signature."""
        who = self.model.identity
        found = {"model": who.model, "revision": who.revision or "unknown", "settings": settings_line(who)}
        return {**found, **self.reading()}

    def reading(self) -> dict[str, str]:
        """By which rule the answers of a language model are read."""
        read: Reads | None = getattr(self.model, "read", None)
        return {} if read is None else {"answers": f"read by {read.name}"}

    def of_generator(self) -> Method:
        """Who made the statements: part of the method, as other statements give other figures."""
        who = self.generator.identity
        return {
            "generator": who.model,
            "generator-revision": who.revision or "unknown",
            "generator-settings": settings_line(who),
        }
