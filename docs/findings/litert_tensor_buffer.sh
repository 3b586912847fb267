#!/usr/bin/env bash
# ai-edge-litert 2.3.0: a buffer takes an array of another type or length, and keeps what was there.
#
# One would guess: TensorBuffer.write converts numbers, or refuses an array that doesn't fit.
# What happens: int32 and float16 are copied bit by bit (ones become 1e-45, which counts as 0), and
# an array that is too short replaces the first values only: the rest is of the call before. Only
# float64 and arrays that are too long are refused.
# Why it matters: a caller who passes np.int32 ids or a shorter sentence gets numbers, not an error.
# Compare dtype and size before writing.
exec "$(dirname "$0")/with_packages" tensorflow==2.21.0 ai-edge-litert==2.3.0 numpy==2.4.6 <<'PY'
import numpy as np
import tensorflow as tf
from ai_edge_litert.compiled_model import CompiledModel


@tf.function(input_signature=[tf.TensorSpec((4,))])
def double(x):
    return 2 * x


concrete = double.get_concrete_function()
converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], double)
with open("double.tflite", "wb") as file:
    file.write(converter.convert())
model = CompiledModel.from_file("double.tflite")
inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
seen = {}
for values in (np.ones(4, "f4"), np.ones(4, "i4"), np.arange(4, dtype="f4"), np.ones(3, "f4")):
    inputs[0].write(values)
    model.run_by_index(0, inputs, outputs)
    result = seen[f"{values.dtype} {values.tolist()}"] = outputs[0].read(4, np.float32).tolist()
    print("twice", values.dtype, values.tolist(), "is", result)
assert seen["float32 [1.0, 1.0, 1.0, 1.0]"] == [2, 2, 2, 2]
assert max(seen["int32 [1, 1, 1, 1]"]) < 1e-40
assert seen["float32 [1.0, 1.0, 1.0]"] == [2, 2, 2, 6]
PY
