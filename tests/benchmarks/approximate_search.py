"""Exact and approximate search among the same vectors.

    elmo-keras embed text.txt means.npy --model model --layers average
    python -m tests.benchmarks.approximate_search means.npy --queries 200

The last vectors are the queries, one at a time with one thread; the others are searched.
`recall@10` is the share of the 10 exactly closest sentences that are found, by the index
of `search --approximate`, asked with several numbers of its lists.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import faiss
import numpy as np

from elmo_keras.analyses.search.approximate_build import make_approximate_index
from elmo_keras.analyses.search.approximate_index import ApproximateIndex
from elmo_keras.analyses.search.search_index import SearchIndex
from tests.benchmarks import runner

TOP = 10
SHARES = 1 / 64, 1 / 32, 1 / 16, 1 / 8


@runner.command
def main(
    vectors: Annotated[Path, {"type": Path, "help": "a .npy file"}],
    *,
    queries: runner.Number = 200,
) -> None:
    rows = np.load(vectors, mmap_mode="r")
    if len(rows) <= queries + TOP:
        raise ValueError(f"{vectors} has {len(rows):,} vectors: too few.")
    searched, asked = rows[:-queries], np.array(rows[-queries:], np.float32)
    print(f"{len(searched):,} vectors of {rows.shape[1]} numbers, {queries} queries\n")
    with tempfile.TemporaryDirectory(dir=vectors.absolute().parent) as folder:
        path, start = Path(folder) / "approximate", time.perf_counter()
        make_approximate_index(searched, path, {})
        built = f"{time.perf_counter() - start:,.0f} s"
        size = f"{path.stat().st_size / 1e6:,.0f} MB"
        faiss.omp_set_num_threads(1)
        n = ApproximateIndex(path).n_lists
        ways = {"exact": (SearchIndex(np.array(searched)), "–", "–")}
        for k in (max(1, round(n * share)) for share in SHARES):
            ways[f"{k:,} of {n:,} lists"] = ApproximateIndex(path, k), built, size
        time_column = "ms a query: median (99 of 100)"
        runner.head("index", "recall@10: mean (lowest)", time_column, "build", "file")
        exact = None
        for name, (index, *cells) in ways.items():
            indices, times = asked_for(index, asked)
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
    sys.exit(main())
