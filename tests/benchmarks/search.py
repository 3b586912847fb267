"""Exact search, and search by an index of faiss, among the same vectors.

    elmo-keras embed text.txt means.npy --model model --layers average
    python -m tests.benchmarks.search means.npy --index IVF3038,SQfp16

The last vectors are the queries, one at a time with one thread; the others are searched.
`recall@10` is the share of the 10 exactly closest sentences that are found, when a query
searches a 64th, …, an 8th of the index's lists.
"""

import statistics
import tempfile
import time
from pathlib import Path

import faiss
import numpy as np

from elmo_keras.analyses.search import ExactIndex, FaissIndex, make_index
from tests.benchmarks import runner

TOP = 10
SHARES = 1 / 64, 1 / 32, 1 / 16, 1 / 8


def main(
    vectors: Path,
    /,
    *,
    index: str = "IVF1024,SQfp16",
    queries: runner.Count = 200,
) -> None:
    rows = np.load(vectors, mmap_mode="r")
    if len(rows) <= queries + TOP:
        raise ValueError(f"{vectors} has {len(rows):,} vectors: too few.")
    searched, asked = rows[:-queries], np.array(rows[-queries:], np.float32)
    print(f"{len(searched):,} vectors of {rows.shape[1]} numbers, {queries} queries\n")
    with tempfile.TemporaryDirectory(dir=vectors.absolute().parent) as folder:
        path, start = Path(folder) / "index", time.perf_counter()
        make_index(searched, path, index, "vectors")
        built = f"{time.perf_counter() - start:,.0f} s"
        size = f"{path.stat().st_size / 1e6:,.0f} MB"
        faiss.omp_set_num_threads(1)
        n = faiss.extract_index_ivf(FaissIndex(path).faiss).nlist
        ways = {"exact": (ExactIndex(np.array(searched)), "–", "–")}
        for k in (max(1, round(n * share)) for share in SHARES):
            ways[f"{k:,} of {n:,} lists"] = FaissIndex(path, k), built, size
        time_column = "ms a query: median (99 of 100)"
        runner.head("index", "recall@10: mean (lowest)", time_column, "build", "file")
        exact = None
        for name, (way, *cells) in ways.items():
            indices, times = asked_for(way, asked)
            exact = exact or indices
            recalls = [len(a & b) / TOP for a, b in zip(indices, exact)]
            recall = f"{statistics.mean(recalls):.3f} ({min(recalls):.1f})"
            late = sorted(times)[int(0.99 * len(times))]
            runner.row(
                name, recall, f"{statistics.median(times):.2f} ({late:.2f})", *cells
            )


def asked_for(index, asked: np.ndarray) -> tuple[list[set[int]], list[float]]:
    """What an index finds for each query, and the milliseconds that it took."""
    index.closest(asked[0], TOP)
    found, times = [], []
    for query in asked:
        start = time.perf_counter()
        indices = index.closest(query, TOP)[0]
        times.append(1000 * (time.perf_counter() - start))
        found.append({*map(int, indices)})
    return found, times


if __name__ == "__main__":
    runner.run(main)
