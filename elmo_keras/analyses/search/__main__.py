"""Finds the sentences of a file that are similar to a query.

    python -m elmo_keras.analyses.search FILE --elmo MODEL_DIR "a query" --top 5

FILE holds one sentence a line, tokens separated by spaces. The query is one such
sentence; without it, queries are read from standard input, one a line. Sentences are
compared by the cosine of their mean vectors, computed once and kept next to FILE.
After an interruption the same command resumes.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from elmo_keras.analyses.search.line_index import LineIndex
from elmo_keras.analyses.search.search_index import SearchIndex, make_index, mean_vector
from elmo_keras.cli.argument_types import layer_or, positive
from elmo_keras.cli.command import INTERRUPTED, command_parser, fail, run_command
from elmo_keras.cli.stopping import stopping
from elmo_keras.elmo import Elmo
from elmo_keras.embed.embeddings import open_npy

PROGRAM = "elmo_keras.analyses.search"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = command_parser(PROGRAM, __doc__)
    add = p.add_argument
    add("file", type=Path, metavar="FILE", help="plain or gzipped text")
    add("query", nargs="*", metavar="QUERY")
    add("--elmo", required=True, metavar="MODEL", help="a model directory or a zip")
    add("--top", type=positive(int), default=10, help="sentences (default: 10)")
    add(
        "--layers",
        type=layer_or("average", "top"),
        default="average",
        help="average (default), top, 0, 1, …",
    )
    add(
        "--center",
        action="store_true",
        help="subtract the mean of all sentences, which they have in common",
    )
    add("--index", type=Path, help="(default: FILE.LAYERS.npy)")
    add("--overwrite", action="store_true", help="replace an index that exists")
    return p


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; returns its exit status."""
    options = parser().parse_intermixed_args(arguments)
    return run_command(PROGRAM, lambda: search(**vars(options)))


def search(
    file: Path,
    query: Sequence[str],
    elmo: str,
    *,
    top: int,
    layers: str | int,
    center: bool,
    index: Path | None,
    overwrite: bool,
) -> int:
    """Makes the index and answers the queries; returns the exit status."""
    index = index or file.with_name(f"{file.name}.{layers}.npy")
    if index.suffix != ".npy":
        raise ValueError(f"--index should end in .npy. Received: {index}")
    with LineIndex(file) as lines:
        model = Elmo.from_pretrained(elmo)
        with stopping() as stop:
            finished = make_index(
                model,
                file,
                index,
                digest=lines.digest,
                layers=layers,
                overwrite=overwrite,
                stop=stop.is_set,
            )
        if not finished:
            return fail(PROGRAM, INTERRUPTED, "Interrupted. The same command resumes.")
        found = SearchIndex(open_npy(index), center)
        for tokens in queries(query):
            print(f"Closest to: {' '.join(tokens)}")
            print_hits(lines, *found.closest(mean_vector(model, tokens, layers), top))
    return 0


def print_hits(lines: LineIndex, indices: np.ndarray, cosines: np.ndarray) -> None:
    """Prints the cosine, the number from 1 and the text of each line found."""
    for i, cosine in zip(indices, cosines):
        print(f"{cosine:7.3f} {i + 1:8,}  {lines[i]}", flush=True)


def queries(given: Sequence[str]) -> Iterator[list[str]]:
    """The tokens of the given query, or of each line of standard input."""
    if not given:
        yield from filter(None, (line.split() for line in sys.stdin))
        return
    tokens = " ".join(given).split()
    if not tokens:
        raise ValueError("The query should have at least one token.")
    yield tokens


if __name__ == "__main__":
    sys.exit(main())
