"""How models run fast on a device, in one place.

Texts are short and of many lengths, so what costs most is padding, and after it waiting: the device for the next batch,
or this machine for the device. Against padding there are two ways:

- `planning` sorts examples by length and cuts them into batches of about as many *tokens* each, so that rows of a
  batch are alike. Every model runs on batches of this planner: classifiers by one length an example, models that answer
  (`models.logits`) by two.
- `packing` and `encoder` do without padding altogether, for encoders of the BERT family: the tokens of a batch lie end
  to end, and attention is cut where sequences begin. `kernels` are two small programs in Triton that do this well for
  sequences shorter than the tiles of library attention; they are compared with plain torch on the device at hand
  before they are used, and where they are missing or differ, torch's own operations do the work.

Against waiting, those who run models prepare batches in another thread, launch some ahead, and copy results without
stopping the device (`models.huggingface`, `models.logits.stepping`). A batch that does not fit in the device's memory
is halved until it does.

`beams` is diverse beam search, which transformers no longer has.

Nothing here is imported before it is used: torch and transformers are the extra `models`, Triton comes with torch on
CUDA. What this gains is measured by `benchmarks/nli_throughput.py` and `benchmarks/collect_logits.py`.
"""
