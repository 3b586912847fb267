#!/usr/bin/env bash
# Keras 3.15.1 and ai-edge-litert 2.3.0: Keras exports an LSTM for LiteRT that LiteRT can't run.
#
# One would guess: model.export(format="litert") writes operations that LiteRT has, or fails.
# What happens: it succeeds; the file holds TensorFlow's tensor lists (Flex operations), which the
# package ai-edge-litert lacks: allocating or running raises RuntimeError.
# Why it matters: the error comes on the device, not at export. Unroll the steps, or write the graph
# with LiteRT's own operations.
exec "$(dirname "$0")/with_packages" tensorflow==2.21.0 keras==3.15.1 ai-edge-litert==2.3.0 <<'PY'
import keras
import numpy as np
from ai_edge_litert.interpreter import Interpreter

inputs = keras.Input((None, 3))
lstm = keras.layers.LSTM(4, return_sequences=True)
model = keras.Model(inputs, keras.layers.Bidirectional(lstm)(inputs))
model.export("model.tflite", format="litert", verbose=False)
try:
    interpreter = Interpreter("model.tflite")
    interpreter.resize_tensor_input(0, (1, 5, 3))
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.zeros((1, 5, 3), np.float32))
    interpreter.invoke()
    message = "runs"
except RuntimeError as error:
    message = str(error)
print("exported; then:", message[:110])
assert message.startswith("Select TensorFlow op(s)")
PY
