"""Reads HDF5 files without libhdf5, which damaged files can crash or hang."""
