"""Writes `.logits` files: what a Hugging Face model thought at every step of every answer.

    from sensecheck.models.logits import collect
    collect("t5-small", [{"input": "…", "target": "…"}], "dev.logits")

Each line holds one answer: for every step the `top_k` most likely tokens (`top_logit_idxs`, ascending), their
probabilities under the whole vocabulary (`top_logits`: the name is the format's, the numbers are probabilities),
the gold token (`labels`) and its raw logit (`logit_at_label`). `sensecheck calibrated` reads it.

Teacher-forced (`mode="forced"`): the model sees the gold answer up to each step. One pass an example.
Generated (`mode="generated"`): the model sees what it said itself (greedy decoding), and `labels` holds the gold
token of the same place, `NO_GOLD` beyond the gold answer's end; such a file is meant for `--level sequence`, where
an answer is right when every token is. `generated`, `target` and `exact` tell the texts.

How it is fast: batches are cut by tokens, the longest first; only k numbers a step leave the device; while the
device works on one batch, the one before is written. How it can be stopped: finished answers go to `FILE.part`,
and `resume=True` goes on from there; the file itself appears, in the order of the input, when all are done.

Needs torch and transformers (the extra `models`), and nothing else of sensecheck's own needs.
"""

from __future__ import annotations

from sensecheck.models.logits.collecting import collect, records
from sensecheck.models.logits.examples import IGNORED, NO_GOLD
from sensecheck.models.logits.part_file import Collected

__all__ = ["IGNORED", "NO_GOLD", "Collected", "collect", "records"]
