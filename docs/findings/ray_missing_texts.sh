#!/usr/bin/env bash
# ray[data] 2.60.0: a block of texts that are all missing reaches a function as float NaN.
#
# One would guess: a column of strings is an array of objects, and a missing one is None.
# What happens: that holds as long as one row of the block has a text. Without any, the column is
# float32, and each missing text NaN.
# Why it matters: `if text is None` works for months, and then fails on one block of a large
# corpus. batch_format="pyarrow" keeps nulls apart from types.
exec "$(dirname "$0")/with_packages" 'ray[data]==2.60.0' <<'PY'
import numpy as np
import ray

ray.init(num_cpus=2, log_to_driver=False, logging_level="ERROR", include_dashboard=False)


def seen(batch):
    texts = batch["text"]
    return {"seen": np.array([f"{texts.dtype} {texts.tolist()}"])}


kinds = []
for texts in (["a", None], [None, None]):
    rows = ray.data.from_items([{"text": text} for text in texts], override_num_blocks=1)
    (row,) = rows.map_batches(seen).take_all()
    kinds.append(row["seen"])
    print(texts, "arrives as", row["seen"])
assert kinds[0].startswith("object") and kinds[1].startswith("float") and "nan" in kinds[1]
PY
