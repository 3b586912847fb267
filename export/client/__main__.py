"""Embeds a text file through a server: `export.serve` or TensorFlow Serving.

    python -m export.client INPUT.txt OUTPUT.hdf5 --server localhost:8500
    python -m export.client INPUT.txt OUTPUT.npy

INPUT holds one sentence a line, tokens separated by spaces, plain or gzipped; an
empty line is a sentence without tokens. An .hdf5 gets the vectors of the tokens, in
the layout of `allennlp elmo`, and a .npy one vector a sentence.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import grpc
import keras

from elmo_keras.stopping import INTERRUPTED
from elmo_keras.text import lines_of
from export.arguments import positive, seconds, whole
from export.embeddings_file import ENDINGS, write_embeddings
from export.remote import embed_text

OUTPUTS = {".hdf5": "elmo", ".npy": "default"}
REFUSED = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND)


def main(arguments: Sequence[str] | None = None) -> int:
    """Embeds a file; returns the exit status."""
    options = parser().parse_args(arguments)
    try:
        check_output(options.output_file)
        embed_file(options)
    except (ValueError, OSError) as error:
        return fail(2, error)
    except grpc.RpcError as error:
        status = 2 if error.code() in REFUSED else 1
        return fail(status, f"{options.server}: {error.code().name}: {error.details()}")
    except KeyboardInterrupt:
        return fail(INTERRUPTED, "Interrupted.")
    return 0


def check_output(path: Path) -> None:
    """Refuses a file of another kind, and one that is there already.

    Raises:
        ValueError: of either.
    """
    if path.suffix not in ENDINGS:
        raise ValueError(f"The output should end in {' or '.join(ENDINGS)}: {path}")
    if path.exists():
        raise ValueError(f"{path} is there already. Give another output.")


def embed_file(options: argparse.Namespace) -> None:
    """Reads, asks and writes, with a bar for the progress."""
    sentences = read_lines(options.input_file)
    bar = keras.utils.Progbar(len(sentences), unit_name="sentence")
    vectors = embed_text(
        sentences,
        options.server,
        model=options.model,
        output=options.output or OUTPUTS[options.output_file.suffix],
        batch_tokens=options.batch_tokens,
        batch_size=options.batch_size,
        timeout=options.timeout,
        retries=options.retries,
        in_flight=options.in_flight,
        progress=bar.add,
    )
    write_embeddings(options.output_file, sentences, vectors)


def read_lines(path: Path) -> list[list[str]]:
    """The tokens of each line.

    Raises:
        OSError: the file can't be read.
        ValueError: it holds no line, or see `text.lines_of`.
    """
    with path.open("rb") as file:
        lines = (line.split() for line in lines_of(file, path))
        # Decoded after the split, which then sees ASCII white space only.
        sentences = [[token.decode() for token in line] for line in lines]
    if not sentences:
        raise ValueError(f"{path} holds no sentence.")
    return sentences


def fail(status: int, error) -> int:
    """Tells an error in a line on standard error; returns the exit status."""
    print(f"export.client: {error}", file=sys.stderr)
    return status


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(
        prog="export.client",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = p.add_argument
    add("input_file", metavar="INPUT.txt", type=Path)
    add("output_file", metavar="OUTPUT.hdf5|.npy", type=Path)
    add("--server", default="localhost:8500", help="host and port of gRPC")
    add("--model", default="elmo", help="its name on the server (default: elmo)")
    add("--output", help="of the signature `tokens`: elmo, default, layers, …")
    add("--batch-tokens", type=positive, default=2048, help="of a request")
    add("--batch-size", type=positive, default=32, help="sentences of a request")
    add("--in-flight", type=positive, default=4, help="requests at the same time")
    add("--timeout", type=seconds, default=60.0, help="seconds for a request (60)")
    add("--retries", type=whole, default=5, help="where the server is busy (5)")
    return p


if __name__ == "__main__":
    sys.exit(main())
