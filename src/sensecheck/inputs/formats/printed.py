"""Files that hold what Python prints of an object: nothing can be read from them with certainty, and they are told."""

from __future__ import annotations

import re

from sensecheck.inputs.errors import InputError
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.reasons import Reason

_PRINTED = re.compile(r"\s*\[?\s*([A-Z][A-Za-z0-9_.]{2,60})\(\s*[A-Za-z_]\w{0,60}\s*=")

_SAVE = {
    "RequestOutput": "of vLLM's outputs, save json.dumps with request_id, prompt and, for each of outputs, text, "
    "token_ids, cumulative_logprob and logprobs as {id: {logprob, decoded_token}}; or give them as they are: "
    "calibrated.evaluate(outputs)",
    "ModelOutput": "save what generate gives with numpy.savez or torch.save({...}), or give it as it is",
    "PredictionOutput": "save numpy.savez(path, predictions=output.predictions, label_ids=output.label_ids)",
}
_OTHERWISE = "save reply.model_dump_json(), a line each, or give the objects as they are: calibrated.evaluate(replies)"


def refuse_printed(start: Start) -> None:
    """Tell what to save instead of a printed object."""
    found = _PRINTED.match(start.text[:400])
    if found is None:
        return
    kind = found[1].rpartition(".")[2]
    hint = _SAVE.get(kind) or (_SAVE["ModelOutput"] if kind.startswith("Generate") else _OTHERWISE)
    raise InputError(
        f"is what Python prints of an object ({kind}), and no data: numbers and texts in it are cut and ambiguous",
        path=start.name or None, hint=f"Instead, {hint}.", reason=Reason.NOT_AN_INPUT,
    )  # fmt: skip
