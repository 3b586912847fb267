#!/usr/bin/env bash
# h5py 3.16.0 and NumPy 2.4.6: bfloat16 arrays are written as bytes without a type.
#
# One would guess: an error, as for NumPy's strings ("No conversion path for dtype"), or numbers.
# What happens: h5py makes an opaque dataset, np.save a file of |V2; both read back as two raw
# bytes a value, with which no arithmetic works.
# Why it matters: a file of weights or vectors seems to be saved, and hours later no reader knows
# that these bytes were numbers. Cast to float32 or float16, or store `.view("uint16")` with a note.
exec "$(dirname "$0")/with_packages" h5py==3.16.0 numpy==2.4.6 ml_dtypes==0.5.4 <<'PY'
import h5py
import ml_dtypes
import numpy as np

values = np.ones(3, ml_dtypes.bfloat16)
with h5py.File("weights.hdf5", "w") as file:
    file["kernel"] = values
with h5py.File("weights.hdf5") as file:
    read = file["kernel"][:]
np.save("vectors.npy", values)
loaded = np.load("vectors.npy")
print("saved:", values.dtype, "HDF5:", read.dtype, read, "npy:", loaded.dtype)
assert read.dtype == loaded.dtype == np.dtype("V2")
assert (loaded.view(ml_dtypes.bfloat16) == values).all()
PY
