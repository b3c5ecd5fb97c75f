"""`calibration_metric.utils.hf_utils.LogitGetter`, which reads a variable before it is set and so never ran.

Ours runs, and does what its document says: "a file like this for any seq2seq model in HuggingFace". The numbers are
those of the original's example script: probabilities under the whole vocabulary in `top_logits`, ascending, the raw
logit of the gold token in `logit_at_label`, steps labelled -100 left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from sensecheck.models.logits import collect, records

__all__ = ["LogitGetter"]


class LogitGetter:
    """`LogitGetter(trainer, tokenizer, top_k)()` gives one record for every example of the trainer's eval set.

    A model may take the trainer's place, as in the original's example; then the call needs the dataset:
    `LogitGetter(model, tokenizer, 5)(dataset, out="dev.logits")`.
    """

    def __init__(self, trainer: Any, tokenizer: Any, top_k: int = 5) -> None:
        self.trainer, self.tokenizer, self.top_k = trainer, tokenizer, top_k

    def __call__(
        self,
        dataset: Iterable[Mapping[str, Any] | tuple[str, str]] | None = None,
        out: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> list[dict[str, Any]] | None:
        """The records, or None with `out`, where the file has them; `options` are those of `models.logits.collect`."""
        is_trainer = hasattr(self.trainer, "eval_dataset")
        model = self.trainer.model if is_trainer else self.trainer
        examples = dataset if dataset is not None else getattr(self.trainer, "eval_dataset", None)
        if examples is None:
            raise ValueError("LogitGetter needs a dataset: give the trainer an eval_dataset, or pass one to the call")
        options = {"tokenizer": self.tokenizer, "top_k": self.top_k, **options}
        if out is None:
            return list(records(model, examples, **options))
        collect(model, examples, out, **options)
        return None
