"""Finds the sentences of a file that are similar to a query.

    python -m elmo_keras.analyses.search FILE --elmo MODEL "a query" --top 5
    python -m elmo_keras.analyses.search VECTORS.parquet --elmo MODEL "a query"

FILE holds one sentence a line, tokens separated by spaces. The query is one such
sentence; without it, queries are read from standard input, one a line. Sentences are
compared by the cosine of their mean vectors, computed once and kept next to FILE.
After an interruption the same command resumes. VECTORS, a Parquet file or a folder of
them, holds the sentences with their vectors, as `embed --pooling mean` writes them.
For millions of sentences, --approximate makes an index once and keeps it beside the
vectors; it finds nearly all of the closest sentences.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_keras.analyses.search.chosen_index import ChosenIndex, Index
from elmo_keras.analyses.search.line_index import LineIndex
from elmo_keras.analyses.search.search_index import (
    check_index,
    make_index,
    mean_vector,
)
from elmo_keras.cli.argument_types import layer_or, positive
from elmo_keras.cli.command import (
    INTERRUPTED,
    command_parser,
    fail,
    run_command,
    stopping,
)
from elmo_keras.elmo import Elmo
from elmo_keras.embed.vector_files import is_parquet
from elmo_keras.model_files.model_parts import parts_of_model
from elmo_keras.models.local_files import MODEL_HELP
from elmo_keras.tasks.readers.words import split_at_spaces

PROGRAM = "elmo_keras.analyses.search"
RESUMES = "Interrupted. The same command resumes."


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = command_parser(PROGRAM, __doc__)
    add = p.add_argument
    add("file", type=Path, metavar="FILE", help="text, or vectors in Parquet")
    add("query", nargs="*", metavar="QUERY")
    add("--elmo", required=True, metavar="MODEL", help=MODEL_HELP)
    add("--top", type=positive(int), default=10, help="sentences (default: 10)")
    add(
        "--layers",
        type=layer_or("average", "top"),
        help="average (default), top, 0, 1, …",
    )
    add(
        "--center",
        action="store_true",
        help="subtract the mean of all sentences, which they have in common",
    )
    add("--index", type=Path, help="(default: FILE.LAYERS.npy)")
    approximate = "use an approximate index, made once, for millions of sentences"
    add("--approximate", action="store_true", help=approximate)
    cells = "cells of that index that a query searches (default: a sixteenth)"
    add("--cells", type=positive(int), help=cells)
    overwrite = "replace an index that exists as soon as the new one is finished"
    add("--overwrite", action="store_true", help=overwrite)
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
    layers: str | int | None,
    index: Path | None,
    **chosen: Any,
) -> int:
    """Makes the index and answers the queries; returns the exit status.

    Args:
        file, query, elmo, top, layers, index: see the command line.
        **chosen: the options that are fields of `ChosenIndex`.
    """
    chosen = ChosenIndex(**chosen)
    if is_parquet(file) or file.is_dir():
        if index or layers is not None or (chosen.overwrite and not chosen.approximate):
            raise ValueError(
                "--layers, --index, and --overwrite without --approximate, are for a "
                "text."
            )
        return search_parquet(file, query, elmo, top=top, chosen=chosen)
    return search_text(
        file, query, elmo, top=top, chosen=chosen, layers=layers, index=index
    )


def search_text(
    file: Path,
    query: Sequence[str],
    elmo: str,
    *,
    top: int,
    chosen: ChosenIndex,
    layers: str | int | None,
    index: Path | None,
) -> int:
    """Answers the queries from the lines of a text; returns the exit status."""
    layers = "average" if layers is None else layers
    index = index or file.with_name(f"{file.name}.{layers}.npy")
    inputs = [file, *parts_of_model(elmo)]
    check_index(index, inputs, overwrite=chosen.overwrite)
    chosen.check(index, inputs)
    with LineIndex(file) as lines:
        model = Elmo.from_pretrained(elmo)
        made_of = {"digest": lines.digest, "layers": layers}
        with stopping() as stop:
            made_of |= {"overwrite": chosen.overwrite, "stop": stop.is_set}
            finished = make_index(model, file, index, **made_of)
            found = chosen.of_text(index, stop.is_set) if finished else None
        return answer(
            query,
            found,
            model,
            layers=layers,
            top=top,
            named=lambda i: (i + 1, lines[i]),
        )


def search_parquet(
    path: Path, query: Sequence[str], elmo: str, *, top: int, chosen: ChosenIndex
) -> int:
    """Answers the queries from Parquet files; returns the exit status."""
    # pyarrow is imported only for Parquet.
    from elmo_keras.analyses.search.parquet_sentences import ParquetSentences

    chosen.check(path, [path, *parts_of_model(elmo)])
    with ParquetSentences(path) as sentences:
        model = Elmo.from_pretrained(elmo)
        layers = sentences.layers_of(model)
        with stopping() as stop:
            found = chosen.of_parquet(sentences, path, stop.is_set)
        named = sentences.__getitem__
        return answer(query, found, model, layers=layers, top=top, named=named)


def answer(
    query: Sequence[str],
    found: Index | None,
    model: Elmo,
    *,
    layers: str | int,
    top: int,
    named: Callable[[int], tuple[Any, str]],
) -> int:
    """Prints what an index finds; returns the exit status.

    Args:
        query: of the command line.
        found: the index, or None if making it was stopped.
        model, layers: what computed the vectors.
        top: how many sentences.
        named: see `print_hits`.
    """
    if found is None:
        return fail(PROGRAM, INTERRUPTED, RESUMES)
    for tokens in queries(query):
        hits = found.closest(mean_vector(model, tokens, layers), top)
        print_hits(tokens, hits, named)
    return 0


def print_hits(
    query: Sequence[str],
    hits: tuple[np.ndarray, np.ndarray],
    named: Callable[[int], tuple[Any, str]],
) -> None:
    """Prints the query; then cosine, number and text of each sentence found.

    Args:
        query: its tokens.
        hits: the indices of the sentences and their cosines.
        named: gives the number and the text of a sentence: a line counts from 1, a
            row of Parquet has its `id`, of any type.
    """
    print(f"Closest to: {' '.join(query)}")
    for i, cosine in zip(*hits):
        number, text = named(i)
        number = f"{number:,}" if isinstance(number, int) else number
        print(f"{cosine:7.3f} {number!s:>8}  {text}", flush=True)


def queries(given: Sequence[str]) -> Iterator[list[str]]:
    """The tokens of the given query, or of each line of standard input."""
    if not given:
        yield from filter(None, map(split_at_spaces, sys.stdin))
        return
    tokens = split_at_spaces(" ".join(given))
    if not tokens:
        raise ValueError("The query should have at least one token.")
    yield tokens


if __name__ == "__main__":
    sys.exit(main())
