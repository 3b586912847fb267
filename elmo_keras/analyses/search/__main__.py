"""Finds the sentences of a file that say what a query says.

    python -m elmo_keras.tasks.search FILE --elmo MODEL_DIR "a query" --top 5

FILE holds one sentence a line, tokens separated by spaces, and so does the query;
without one, queries are read from standard input, one a line. Sentences are compared
by the cosine of their mean vectors, which are computed once and kept beside FILE.
Stopped or killed meanwhile, the same command goes on.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from elmo_keras.elmo import Elmo
from elmo_keras.stopping import INTERRUPTED, stopping
from elmo_keras.tasks.analyses.analysis import run
from elmo_keras.tasks.analyses.search_index import SearchIndex, make_index, mean_vector
from elmo_keras.tasks.readers.line_index import LineIndex
from elmo_keras.training_arguments import positive

PROGRAM = "elmo_keras.tasks.search"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(
        prog=f"python -m {PROGRAM}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = p.add_argument
    add("file", type=Path, metavar="FILE", help="plain or gzipped text")
    add("query", nargs="*", metavar="QUERY")
    add("--elmo", required=True, metavar="MODEL", help="a model directory or a zip")
    add("--top", type=positive(int), default=10, help="how many (default: 10)")
    add(
        "--layers",
        type=_layers,
        default="average",
        help="average (default), top, 0, 1, …",
    )
    add(
        "--center",
        action="store_true",
        help="take off the mean of all sentences, which makes every two of them alike",
    )
    add("--index", type=Path, help="(default: FILE.LAYERS.npy)")
    add("--overwrite", action="store_true", help="throw the index away that is there")
    return p


def main(arguments=None) -> int:
    """Runs the program; returns its exit status."""
    arguments = parser().parse_intermixed_args(arguments)
    return run(PROGRAM, lambda: search(arguments))


def search(arguments) -> int:
    """Makes the index and answers the queries: the exit status."""
    index = index_path(arguments)
    with LineIndex(arguments.file) as lines:
        elmo = Elmo.from_pretrained(arguments.elmo)
        with stopping() as stop:
            whole = make_index(
                elmo,
                arguments.file,
                lines.digest,
                index,
                arguments.layers,
                arguments.overwrite,
                stop,
            )
        if not whole:
            print(f"{PROGRAM}: Interrupted. The same command goes on.", file=sys.stderr)
            return INTERRUPTED
        found = SearchIndex(np.load(index, mmap_mode="r"), arguments.center)
        for query in queries(arguments):
            answer(elmo, found, lines, query, arguments)
    return 0


def index_path(arguments) -> Path:
    """The one that is asked for, or beside the text."""
    beside = f"{arguments.file.name}.{arguments.layers}.npy"
    index = arguments.index or arguments.file.with_name(beside)
    if index.suffix != ".npy":
        raise ValueError(f"--index should end in .npy. Received: {index}")
    return index


def queries(arguments):
    """The tokens of each query."""
    if arguments.query:
        yield " ".join(arguments.query).split()
        return
    yield from filter(None, (line.split() for line in sys.stdin))


def answer(elmo, found, lines, query, arguments):
    """Prints the cosine, the line's number from 1 and the sentence of each hit."""
    if not query:
        raise ValueError("The query should have a token or more.")
    vector = mean_vector(elmo, query, arguments.layers)
    print(f"Closest to: {' '.join(query)}")
    for i, cosine in zip(*found.closest(vector, arguments.top)):
        print(f"{cosine:7.3f} {i + 1:8,}  {lines[i]}", flush=True)


def _layers(text):
    if text not in ("average", "top") and not text.isdecimal():
        raise argparse.ArgumentTypeError(
            f"should be average, top or the number of a layer, not {text}"
        )
    return int(text) if text.isdecimal() else text


if __name__ == "__main__":
    sys.exit(main())
