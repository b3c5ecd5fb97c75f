"""Language models behind a URL as M and as G: what they are asked, and what is made of their answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sensecheck.models import nli_words
from sensecheck.models.calls import Identity
from sensecheck.models.classifiers import Answer, Batch, Pair
from sensecheck.models.endpoint import CallError, Endpoint
from sensecheck.models.generators import Request, StatementBatch
from sensecheck.models.listing import statements_in
from sensecheck.models.prompts import LIST_PROMPTS, NLI_PROMPT, fill
from sensecheck.models.reading_answers import Reads
from sensecheck.models.said import Said, Unreadable, answer_of

_SAMPLING = 0.9
"""The temperature at which a generator is asked again."""


class EndpointClassifier:
    """A language model behind a URL as M."""

    def __init__(
        self, endpoint: Endpoint, prompt: str = NLI_PROMPT, read: Reads | None = None, revision: str = ""
    ) -> None:
        self.endpoint, self._prompt = endpoint, prompt
        # How an answer is read is no part of what it depends on: kept answers are read anew.
        self.read = read or nli_words.reader(prompt)
        self._choices = tuple(getattr(self.read, "choices", ()))
        structured = f" structured={endpoint.structured}" if self._choices else ""
        self.identity = Identity(endpoint.model, revision, f"{prompt}\n[{endpoint.settings}{structured}]")

    def stream(self, pairs: Sequence[Pair]) -> Iterator[Batch]:
        for batch in self.endpoint.each(pairs, self._asked):
            yield [
                (i, value if isinstance(value, Answer) else Answer(None, failure=f"endpoint: {value}"))
                for i, value in batch
            ]

    def prompt_of(self, pair: Pair) -> str:
        return fill(self._prompt, *pair)

    @property
    def choices(self) -> tuple[str, ...]:
        return self._choices

    def _asked(self, pair: Pair) -> Answer:
        return Answer.of(self.endpoint.ask(self.prompt_of(pair), choices=self._choices), self.read)

    def read_again(self, kept: Answer) -> Answer:
        """An answer that was kept, by the rules of today."""
        return kept.read_again(self.read)


class EndpointGenerator:
    """A language model behind a URL as G: it is asked for a list of n statements."""

    samples = True

    def __init__(self, endpoint: Endpoint, prompts: dict[bool, str] | None = None, revision: str = "") -> None:
        self.endpoint = endpoint
        self._prompts = prompts or LIST_PROMPTS
        self.why_none: dict[str, int] = {}
        """why answers held no statements, and failed calls got none"""
        settings = f"{self._prompts[True]}\n{self._prompts[False]}\n[{endpoint.settings}]"
        self.identity = Identity(endpoint.model, revision, settings)

    def stream(self, requests: Sequence[Request]) -> Iterator[StatementBatch]:
        for batch in self.endpoint.each(requests, self._asked):
            yield [(i, self.statements(value, requests[i])) for i, value in batch]

    def prompt_of(self, request: Request) -> str:
        return self._prompts[request.positive].replace("<n>", str(request.n)).replace("<hypothesis>", request.text)

    def temperature_of(self, request: Request) -> float | None:
        return _SAMPLING if request.mode == "sample" else None

    def _asked(self, request: Request) -> Said:
        temperature = self.temperature_of(request)
        return self.endpoint.ask(self.prompt_of(request), temperature=temperature, seed=request.seed)

    def statements(self, said: Said | CallError, request: Request) -> list[str] | None:
        """The statements in an answer; None where there is no answer."""
        written = str(said) if isinstance(said, CallError) else answer_of(said)
        if isinstance(said, CallError) or isinstance(written, Unreadable):
            self.why_none[str(written)] = self.why_none.get(str(written), 0) + 1
            return None
        return statements_in(written)[: request.n]
