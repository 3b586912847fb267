#!/usr/bin/env bash
# Keras 3.15.1: one empty sentence in a batch makes every weight NaN.
#
# One would guess: the mean of a row that is masked whole is 0, or a NaN of that row alone.
# What happens: GlobalAveragePooling1D divides 0 by 0; the loss of the batch is NaN, and so is every
# weight after one step of fit. Attention, by comparison, gives 0 for such a row.
# Why it matters: a line without a word in a corpus ends the training, many steps before it shows.
# Drop such rows, or pool with a sum over max(1, length).
exec "$(dirname "$0")/with_packages" tensorflow==2.21.0 keras==3.15.1 <<'PY'
import keras
import numpy as np

inputs = keras.Input((None,))
words = keras.layers.Embedding(9, 4, mask_zero=True)(inputs)
outputs = keras.layers.Dense(1)(keras.layers.GlobalAveragePooling1D()(words))
model = keras.Model(inputs, outputs)
model.compile("sgd", "mse")
sentences = np.array([[3, 4, 0], [0, 0, 0]])
before = model.predict(sentences, verbose=0).ravel()
model.fit(sentences, np.zeros(2), verbose=0)
shares = {w.path: float(np.isnan(w.numpy()).mean()) for w in model.weights[-2:]}
print("outputs:", before, "share of NaN after a step:", shares)
assert np.isfinite(before[0]) and np.isnan(before[1])
assert set(shares.values()) == {1.0}
PY
