"""`--batch-out` and `--batch-in`: a run whose calls to URLs go through files, round by round."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from sensecheck.inputs.errors import InputError
from sensecheck.inputs.reasons import Reason
from sensecheck.models.calls import CallCache
from sensecheck.models.classifiers import Classifier
from sensecheck.models.generators import Generator
from sensecheck.runs.stopping import Stopped


class BatchFiles:
    """Where calls are written to, and where their results come from."""

    def __init__(self, out: Path | None, results: Path | None) -> None:
        self.out, self.results = out, results
        self.written = 0
        self.read = (0, 0)
        """answers among the results, and results without one"""

    @classmethod
    def of(cls, out: str | os.PathLike[str] | None, results: str | os.PathLike[str] | None) -> BatchFiles | None:
        if out is None and results is None:
            return None
        return cls(None if out is None else Path(out), None if results is None else Path(results))

    def check(self, model: Classifier, generator: Generator, kept_in: Path | None) -> None:
        """Refuse what could not be gone on with, before anything is written."""
        option = "--batch-out" if self.out is not None else "--batch-in"
        endpoints = [e for e in (getattr(system, "endpoint", None) for system in (model, generator)) if e is not None]
        if not endpoints:
            raise InputError(
                f"{option} is for models at a URL: neither --model nor --generator is one", reason=Reason.BAD_OPTION
            )
        if kept_in is None:
            raise InputError(
                f"{option} needs --out DIR (out=) or --cache FILE (cache=), where answers are kept between the rounds",
                reason=Reason.BAD_OPTION,
            )
        if self.out is not None:
            if self.results is not None and self.out.resolve() == self.results.resolve():
                raise InputError("--batch-out and --batch-in are the same file", reason=Reason.BAD_OPTION)
            if not self.out.resolve().parent.is_dir():
                raise InputError(
                    f"--batch-out {self.out}: there is no such folder; make it first", reason=Reason.BAD_OPTION
                )
            from sensecheck.models.batch_files import refuse_secrets

            for endpoint in endpoints:
                refuse_secrets(endpoint)

    @contextmanager
    def opened(
        self, model: Classifier, generator: Generator, cache: CallCache
    ) -> Iterator[tuple[Classifier, Generator]]:
        """Both with their calls through the files; the results are read first."""
        if self.out is None:
            yield self._through(model, generator, cache, None)
            return
        # It stays when the run stops, which is what it is written for.
        with self.out.open("wb") as out:
            yield self._through(model, generator, cache, out)

    def _through(
        self, model: Classifier, generator: Generator, cache: CallCache, out: IO[bytes] | None
    ) -> tuple[Classifier, Generator]:
        from sensecheck.models.batch_files import BatchClassifier, BatchGenerator, Calls, read_results
        from sensecheck.models.by_prompt import EndpointClassifier, EndpointGenerator

        self._calls = calls = Calls(cache, out)
        through: list[tuple[Any, Any]] = []
        if isinstance(model, EndpointClassifier):
            endpoint = model.endpoint
            model = BatchClassifier(model, calls)
            through.append((model, endpoint))
        if isinstance(generator, EndpointGenerator):
            endpoint = generator.endpoint
            generator = BatchGenerator(generator, calls)
            through.append((generator, endpoint))
        if self.results is not None:
            self.read = read_results(self.results, calls, through)
        return model, generator

    def stop_where_written(self, again: str) -> None:
        """End the run, to go on later, where calls were written."""
        self._calls.cache.commit()
        written = len(self._calls.written)
        if written:
            option = f" {again}" if again else ""
            raise Stopped(
                f"{written:,} calls are written to {self.out}. Have them answered by a batch endpoint, and run the "
                f"same command with --batch-in RESULTS{option}, and with another --batch-out for the next round."
            )
