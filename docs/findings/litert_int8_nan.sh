#!/usr/bin/env bash
# ai-edge-quantizer 0.10.0 and ai-edge-litert 2.3.0: in int8, NaN goes in and ordinary numbers come out.
#
# One would guess: what holds a NaN gives NaN, as in float32.
# What happens: the scale of a row comes from its smallest and largest value; NaN is neither, and is
# rounded to an ordinary integer. The outputs are finite and look like any others.
# Why it matters: a damaged vector passes through the model unseen, where float32 would have shown
# it. Check inputs for NaN before int8.
exec "$(dirname "$0")/with_packages" tensorflow==2.21.0 keras==3.15.1 ai-edge-litert==2.3.0 \
  ai-edge-quantizer==0.10.0 <<'PY'
import keras
import numpy as np
from ai_edge_litert.interpreter import Interpreter
from ai_edge_quantizer import quantizer, recipe

keras.utils.set_random_seed(0)
model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(64), keras.layers.Dense(4)])
model.export("float32.tflite", format="litert", verbose=False)
quantize = quantizer.Quantizer("float32.tflite")
quantize.load_quantization_recipe(recipe.dynamic_wi8_afp32())
quantize.quantize().export_model("int8.tflite")


def run(path, x):
    interpreter = Interpreter(path)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]


x = np.random.default_rng(0).normal(size=(1, 64)).astype(np.float32)
x[0, 3] = np.nan
outputs = {name: run(f"{name}.tflite", x) for name in ("float32", "int8")}
print("one NaN of 64 inputs:", outputs)
assert np.isnan(outputs["float32"]).all() and np.isfinite(outputs["int8"]).all()
PY
