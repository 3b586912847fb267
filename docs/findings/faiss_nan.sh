#!/usr/bin/env bash
# faiss-cpu 1.15.1: a query with one NaN is answered by the index -1, the last sentence in Python.
#
# One would guess: an error, or scores that are NaN.
# What happens: every answer has the id -1 and the score -3.4e38, in exact and in HNSW indices.
# Why it matters: sentences[-1] is a sentence, so that a search shows the last one of the corpus.
# Drop ids below 0, and check vectors for NaN before they are added.
exec "$(dirname "$0")/with_packages" faiss-cpu==1.15.1 numpy==2.4.6 <<'PY'
import faiss
import numpy as np

vectors = np.random.default_rng(0).normal(size=(100, 8)).astype(np.float32)
exact = faiss.index_factory(8, "Flat", faiss.METRIC_INNER_PRODUCT)
exact.add(vectors)
query = vectors[:1].copy()
query[0, 3] = np.nan
scores, ids = exact.search(query, 2)
print("Flat:", scores, ids)
graph = faiss.index_factory(8, "HNSW16", faiss.METRIC_INNER_PRODUCT)
graph.add(vectors)
_, others = graph.search(query, 2)
print("HNSW16:", others)
assert (ids == -1).all() and (scores < -3e38).all() and (others == -1).all()
PY
