#!/usr/bin/env bash
# pyfive 1.3.0: a chunk that was never written raises KeyError, and booleans come back as int8.
#
# One would guess: the fill value, as the HDF5 library gives, and bool.
# What happens: reading the part of a dataset that was allocated and not written raises KeyError
# with the chunk's position; an enumeration of booleans that h5py wrote is int8.
# Why it matters: files that were cut off while vectors were written, or filled out of order, can't
# be read; `~mask` of an int8 array is -2 and -1, all of them true.
exec "$(dirname "$0")/with_packages" h5py==3.16.0 pyfive==1.3.0 <<'PY'
import h5py
import pyfive

with h5py.File("vectors.hdf5", "w") as file:
    file.create_dataset("vectors", (4, 2), "f4", chunks=(2, 2), fillvalue=7)[:2] = 1
    file["mask"] = [True, False]
with h5py.File("vectors.hdf5") as file:
    print("h5py:", file["vectors"][3], file["mask"].dtype)
file = pyfive.File("vectors.hdf5")
try:
    found = file["vectors"][3]
except KeyError as error:
    found = repr(error)
inverted = ~file["mask"][:]
print("pyfive:", found, file["mask"].dtype, "inverted", inverted)
assert found.startswith("KeyError") and inverted.all()
PY
