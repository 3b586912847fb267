#!/usr/bin/env bash
# keras-nightly 3.16.0.dev2026102704: recurrent layers no longer pass the mask on.
#
# One would guess: Masking, then two LSTMs: steps that are masked change nothing, as in Keras 3.15.1.
# What happens: LSTM, Bidirectional and TimeDistributed use the mask, but their outputs have none (a
# warning says so): the second LSTM reads the padding, and predictions change with the batch.
# Why it matters: TensorFlow 2.22.0rc0 and tf-nightly install this Keras. Give the mask by hand:
# layer(x, mask=mask).
exec "$(dirname "$0")/with_packages" --pre tensorflow==2.22.0rc0 keras-nightly==3.16.0.dev2026102704 <<'PY'
import keras
import numpy as np

keras.utils.set_random_seed(0)
first, second = keras.layers.LSTM(4, return_sequences=True), keras.layers.LSTM(4)
x = keras.ops.convert_to_tensor(np.random.default_rng(0).normal(size=(1, 5, 3)), "float32")
mask = keras.ops.convert_to_tensor([[True, True, True, False, False]])
short = second(first(x[:, :3]))
by_hand = second(first(x, mask=mask), mask=mask)
masked = keras.layers.Masking()(x * keras.ops.cast(mask[..., None], "float32"))
implied = second(first(masked))
off = [float(keras.ops.max(keras.ops.abs(y - short))) for y in (by_hand, implied)]
print(keras.__version__, "off by: mask by hand %.0e, mask of Masking %.0e" % tuple(off))
assert off[0] < 1e-6 < 1e-3 < off[1]
PY
