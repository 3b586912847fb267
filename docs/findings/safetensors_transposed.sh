#!/usr/bin/env bash
# safetensors 0.8.0: a transposed NumPy array is saved with its values in another order.
#
# One would guess: the array comes back as it was, as from safetensors 0.4 to 0.7.
# What happens: shape and dtype are right, the values are those of memory, row after row.
# Why it matters: weights that are converted from another framework are mostly transposed. The file
# loads, and the model is wrong. np.ascontiguousarray before saving is right in all versions.
exec "$(dirname "$0")/with_packages" numpy==2.4.6 safetensors==0.8.0 <<'PY'
import numpy as np
from safetensors.numpy import load, save

kernel = np.arange(6, dtype=np.float32).reshape(2, 3).T
loaded = load(save({"kernel": kernel}))["kernel"]
copied = load(save({"kernel": np.ascontiguousarray(kernel)}))["kernel"]
print("saved:", kernel.tolist())
print("loaded:", loaded.tolist())
print("a contiguous copy, loaded:", copied.tolist())
assert loaded.tolist() == [[0, 1], [2, 3], [4, 5]]
assert copied.tolist() == kernel.tolist()
PY
