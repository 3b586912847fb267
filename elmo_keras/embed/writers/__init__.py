"""Files of vectors: HDF5, NumPy and Parquet."""
