"""Exact and approximate search among the same vectors.

    elmo-keras embed text.txt means.npy --model model --layers average
    python -m tests.benchmarks.approximate_search means.npy --queries 200

The last vectors are the queries, and the others are searched. Each system runs in a
process of its own, one query at a time with one thread; `recall@10` is the share of the
10 exactly closest sentences that it finds. Indexes are built with all threads. "cells"
is the index of `search --approximate`, with several numbers of cells searched; "HNSW" is
a graph by usearch, if it is installed, with several sizes of its search.
"""

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from elmo_keras.analyses.search.search_index import ROWS_AT_ONCE, SearchIndex
from elmo_keras.cli.argument_types import positive
from elmo_keras.cli.command import run_command
from elmo_keras.embed.embeddings import open_npy
from tests.benchmarks.workers import heading, machine, row

TOP = 10
SIZES = 32, 64, 128, 256, 512
SHARES = 1 / 64, 1 / 32, 1 / 16, 1 / 8
SYSTEMS = "cells", "HNSW"
COLUMNS = (
    "index",
    "recall@10: mean (lowest)",
    "ms a query: median (99 of 100)",
    "build",
    "file",
    "peak memory: build, then queries",
)


class Way(NamedTuple):
    """A way to search.

    Attributes:
        name: for the table.
        find: gives the indices of the sentences closest to a query.
    """

    name: str
    find: Callable[[np.ndarray], np.ndarray]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    options = parser().parse_args(arguments)
    return run_command("approximate_search.py", lambda: report(**vars(options)))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("vectors", type=Path, help="a .npy file, a vector of each sentence")
    p.add_argument("--queries", type=positive(int), default=200)
    p.add_argument("--center", action="store_true", help="subtract the mean first")
    p.add_argument("--systems", nargs="*", default=SYSTEMS, choices=SYSTEMS)
    p.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    return p


def report(
    vectors: Path,
    *,
    queries: int,
    center: bool,
    systems: Sequence[str],
    step: tuple[str, str] | None,
) -> None:
    """Measures and prints the table; or runs one step, in a process of its own."""
    rows = open_npy(vectors)
    if len(rows) <= queries + TOP:
        raise ValueError(f"{vectors} has {len(rows):,} vectors: too few.")
    searched, asked = rows[:-queries], np.array(rows[-queries:], np.float32)
    if step:
        print(json.dumps(run_step(*step, searched, asked, center=center)))
        return
    command = [sys.executable, "-m", "tests.benchmarks.approximate_search", vectors]
    command += ["--queries", queries, *(["--center"] if center else [])]
    print(f"{len(searched):,} vectors of {rows.shape[1]} numbers, {queries} queries\n")
    print(heading(COLUMNS))
    with tempfile.TemporaryDirectory(dir=vectors.absolute().parent) as folder:
        for system in ("exact", *systems):
            if system == "HNSW" and not importlib.util.find_spec("usearch"):
                print("usearch isn't installed.", file=sys.stderr)
                continue
            path = Path(folder) / system
            show(system, path, [str(part) for part in command])
    print(f"\n{machine(len(os.sched_getaffinity(0)))}")


def show(system: str, path: Path, command: list[str]) -> None:
    """Prints the rows of a system."""
    built = answer([*command, "--step", f"build {system}", str(path)])
    found = answer([*command, "--step", f"ask {system}", str(path)])
    exact = path.with_name("exact.npy")
    if not exact.exists():
        np.save(exact, found["ways"][0]["indices"])
    for way in found["ways"]:
        recalls = [
            len({*a} & {*b}) / len(b) for a, b in zip(way["indices"], np.load(exact))
        ]
        times = sorted(1000 * seconds for seconds in way["seconds"])
        late = times[int(0.99 * len(times))]
        size = f"{path.stat().st_size / 1e6:,.0f} MB" if path.exists() else "–"
        cells = [
            way["name"],
            f"{statistics.mean(recalls):.3f} ({min(recalls):.1f})",
            f"{statistics.median(times):.2f} ({late:.2f})",
            f"{built['seconds']:,.0f} s",
            size,
            f"{built['gigabytes']:.2f}, {found['gigabytes']:.2f} GB",
        ]
        print(row(cells), flush=True)


def answer(command: list[str]) -> dict[str, Any]:
    """The JSON that a process prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def run_step(
    step: str, path: str, searched: np.ndarray, asked: np.ndarray, *, center: bool
) -> dict[str, Any]:
    """Builds an index, or asks it; returns what it took."""
    work, system = step.split()
    if work == "build":
        start = time.perf_counter()
        if system != "exact":
            build = {"cells": build_cells, "HNSW": build_hnsw}[system]
            build(searched, Path(path), center=center)
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "gigabytes": peak_memory()}
    ways = {"exact": exact_ways, "cells": ways_of_cells, "HNSW": ways_of_hnsw}[system]
    answers = []
    for way in ways(searched, Path(path), center=center):
        way.find(asked[0])
        answers.append({"name": way.name, "indices": [], "seconds": []})
        for query in asked:
            start = time.perf_counter()
            indices = way.find(query)
            answers[-1]["seconds"].append(time.perf_counter() - start)
            answers[-1]["indices"].append(np.asarray(indices).tolist())
    return {"ways": answers, "gigabytes": peak_memory()}


def peak_memory() -> float:
    """This process's peak so far, in GB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e9


def exact_ways(searched: np.ndarray, _, *, center: bool) -> Iterator[Way]:
    """Compares a query with all rows."""
    index = SearchIndex(np.array(searched), center)
    yield Way("exact", lambda query: index.closest(query, TOP)[0])


def build_cells(searched: np.ndarray, path: Path, *, center: bool) -> None:
    """Makes the index of `search --approximate`."""
    from elmo_keras.analyses.search.approximate_build import make_approximate_index

    make_approximate_index(searched, path, {}, center=center, verbose=1)


def ways_of_cells(_, path: Path, **__) -> Iterator[Way]:
    """The index of `search --approximate`, with several numbers of cells."""
    import faiss

    from elmo_keras.analyses.search.approximate_index import ApproximateIndex

    faiss.omp_set_num_threads(1)
    n_cells = ApproximateIndex(path).n_cells
    for share in SHARES:
        cells = max(1, round(n_cells * share))
        index = ApproximateIndex(path, cells)
        name = f"{cells:,} of {n_cells:,} cells"
        yield Way(name, lambda query, i=index: i.closest(query, TOP)[0])


def build_hnsw(searched: np.ndarray, path: Path, *, center: bool) -> None:
    """Makes usearch's index."""
    from usearch.index import Index

    mean = mean_of(searched, center)
    index = Index(ndim=searched.shape[1], metric="ip", dtype="f16")
    for first in range(0, len(searched), ROWS_AT_ONCE):
        rows = searched[first : first + ROWS_AT_ONCE]
        index.add(np.arange(first, first + len(rows)), units(rows - mean))
    index.save(str(path))


def ways_of_hnsw(searched: np.ndarray, path: Path, *, center: bool) -> Iterator[Way]:
    """Usearch's index, with several sizes of its search."""
    from usearch.index import Index

    mean, index = mean_of(searched, center), Index.restore(str(path), view=True)
    for size in SIZES:
        index.expansion_search = size
        yield Way(
            f"HNSW, search of {size}",
            lambda query: index.search(units((query - mean)[None])[0], TOP).keys,
        )


def units(rows: np.ndarray) -> np.ndarray:
    """Rows of length 1."""
    rows = np.asarray(rows, np.float32)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def mean_of(searched: np.ndarray, center: bool) -> np.ndarray:
    """What is subtracted from all rows."""
    return searched.mean(axis=0) if center else np.zeros(searched.shape[1], "float32")


if __name__ == "__main__":
    sys.exit(main())
