"""Finds the sentences of a file that are similar to a query.

    python -m elmo_keras.analyses.search FILE --elmo MODEL "a query" --top 5
    python -m elmo_keras.analyses.search VECTORS.parquet --elmo MODEL "a query"

FILE holds one sentence a line, tokens separated by spaces. The query is one such
sentence; without it, queries are read from standard input, one a line. Sentences are
compared by the cosine of their mean vectors, computed once and kept next to FILE. Lines
are numbered from 1; the rows of VECTORS have their ids, which `embed` counts from 0.
After an interruption the same command resumes. VECTORS, a Parquet file or a folder of
them, holds the sentences with their vectors, as `embed --pooling mean` writes them.
For millions of sentences, --approximate makes an index once and keeps it beside the
vectors; it finds nearly all of the closest sentences.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from elmo_keras.analyses.projector import MAX_POINTS, OPTION, write_projector
from elmo_keras.analyses.search.index_note import check_written, read_note, unfinished
from elmo_keras.analyses.search.search_index import SearchIndex
from elmo_keras.analyses.search.text_index import LineIndex, check_index, make_index
from elmo_keras.embed.embedder import Embedder
from elmo_keras.embed.embeddings import open_npy
from elmo_keras.embed.vector_files import is_parquet
from elmo_keras.formats.model_parts import parts_of_model
from elmo_keras.hub.local_files import ARITHMETIC, MODEL_HELP
from elmo_keras.text.files import lines_of
from elmo_keras.text.sentences import words_of_sentences
from elmo_keras.util.argument_types import layer_or, positive
from elmo_keras.util.command import command_parser, run_command, stopping
from elmo_keras.util.fingerprint import OtherRun
from elmo_keras.util.outputs import check_folder

PROGRAM = "elmo_keras.analyses.search"


def main(arguments: Sequence[str] | None = None) -> int:
    p = command_parser(PROGRAM, __doc__)
    add = p.add_argument
    add("file", type=Path, metavar="FILE", help="text, or vectors in Parquet")
    add("query", nargs="*", metavar="QUERY")
    add("--elmo", required=True, metavar="MODEL", help=MODEL_HELP)
    add("--arithmetic", **ARITHMETIC)
    add("--top", type=positive(int), default=10, help="sentences (default: 10)")
    layers = layer_or("average", "top")
    add("--layers", type=layers, help="average (default), top, 0, 1, …")
    center = "subtract the mean of all sentences, which they have in common"
    add("--center", action="store_true", help=center)
    add("--index", type=Path, help="(default: FILE.LAYERS.npy)")
    approximate = "use an approximate index, made once, for millions of sentences"
    add("--approximate", action="store_true", help=approximate)
    cells = "lists of that index that a query searches (default: a sixteenth)"
    add("--cells", type=positive(int), help=cells)
    overwrite = "replace an index that exists as soon as the new one is finished"
    add("--overwrite", action="store_true", help=overwrite)
    add("--projector", **OPTION)
    options = p.parse_intermixed_args(arguments)

    def work():
        try:
            search(options)
        except OtherRun as error:
            raise ValueError(f"{error} --overwrite makes the index anew.") from error

    return run_command(PROGRAM, work, "Interrupted. The same command resumes.")


def search(options: argparse.Namespace) -> None:
    """Makes the index; prints cosine, number or id, and text of what it finds."""
    file, layers, index = options.file, options.layers, options.index
    in_parquet = is_parquet(file) or file.is_dir()
    only_of_text = index or layers is not None
    if in_parquet and (only_of_text or options.overwrite > options.approximate):
        raise ValueError(
            "--layers, --index, and --overwrite without --approximate, are for a text."
        )
    if options.cells is not None and not options.approximate:
        raise ValueError("--cells is for --approximate.")
    if options.projector:
        check_folder(options.projector)
    layers = "average" if layers is None else layers
    inputs = [file, *parts_of_model(options.elmo)]
    source = LineIndex
    if in_parquet:
        # pyarrow is imported only for Parquet.
        from elmo_keras.analyses.search.parquet_sentences import ParquetSentences

        index = file.resolve() if file.name in ("", "..") else file
        source = ParquetSentences
    else:
        index = index or file.with_name(f"{file.name}.{layers}.npy")
        check_index(index, inputs, overwrite=options.overwrite)
    path = index.with_name(f"{index.name}{'.centered' * options.center}.approximate")
    if options.approximate:
        check_approximate(path, inputs, overwrite=options.overwrite)
    with source(file) as sentences:
        how = {"pooling": "mean", "arithmetic": options.arithmetic}
        how["layers"] = sentences.layers if in_parquet else layers
        embedder = Embedder(options.elmo, **how)
        with stopping() as stop:
            given = {"overwrite": options.overwrite, "stop": stop.is_set}
            if in_parquet:
                sentences.check(embedder)
                rows = sentences
                note = parquet_note(sentences, path) if options.approximate else {}
            else:
                digest = sentences.digest
                if not make_index(embedder, file, index, digest=digest, **given):
                    raise KeyboardInterrupt
                rows, note = open_npy(index), {"made_of": read_note(index)}
            if not options.approximate:
                found = SearchIndex(rows[:], options.center)
            else:
                # faiss is imported only where it is needed.
                from elmo_keras.analyses.search import approximate_build as build
                from elmo_keras.analyses.search import approximate_index as built

                given |= {"center": options.center}
                if not build.make_approximate_index(rows, path, **note, **given):
                    raise KeyboardInterrupt
                found = built.ApproximateIndex(path, options.cells)
        if options.projector:
            points = rows[:MAX_POINTS]
            texts = [sentences.named(i)[1] for i in range(len(points))]
            write_projector(options.projector, {"sentences": (points, texts)})
        for tokens in queries(options.query):
            print(f"Closest to: {' '.join(tokens)}")
            print(f" cosine {sentences.number:>8}  sentence")
            closest = found.closest(embedder.encode([tokens])[0], options.top)
            for i, cosine in zip(*closest):
                number, text = sentences.named(i)
                number = f"{number:,}" if isinstance(number, int) else number
                print(f"{cosine:7.3f} {number!s:>8}  {text}", flush=True)


def check_approximate(path: Path, inputs: Sequence[Path], *, overwrite: bool) -> None:
    """Checks before the work whether an approximate index can be made."""
    try:
        import faiss  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"--approximate needs faiss: pip install 'elmo-keras[index]'. {error}"
        ) from error
    if not path.is_file() or overwrite:
        check_written(path, inputs)


def parquet_note(sentences, path: Path) -> dict[str, Any]:
    """What an index is made from; vectors aren't read again if no file has changed."""
    files = sentences.stamps()
    notes = read_note(path), read_note(unfinished(path))
    known = [note.get("vectors") for note in notes if note.get("files") == files]
    digest = known[0] if known else sentences.digest()
    return {"made_of": {"vectors": digest}, "files": files}


def queries(given: Sequence[str]) -> Iterator[list[str]]:
    """The tokens of the given query, or of each line of standard input."""
    if not given:
        lines = lines_of(sys.stdin.buffer, "standard input")
        yield from filter(None, words_of_sentences(lines))
        return
    [tokens] = words_of_sentences(" ".join(given))
    if not tokens:
        raise ValueError("The query should have at least one token.")
    yield tokens


if __name__ == "__main__":
    sys.exit(main())
