"""Embeds a text file through a server: `export.serve` or TensorFlow Serving.

    python -m export.client INPUT.txt OUTPUT.hdf5 --server localhost:8500
    python -m export.client INPUT.txt OUTPUT.npy

INPUT holds one sentence a line, tokens separated by spaces, plain or gzipped; an
empty line is a sentence without tokens. An .hdf5 file holds the vectors of the tokens
in the layout of `allennlp elmo`, a .npy file one vector for each sentence.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import grpc

from elmo_keras.embed.vector_files import ARRAY_SUFFIXES, check_suffix, is_npy
from elmo_keras.serve.client.embeddings_file import write_embeddings
from elmo_keras.text.files import lines_of
from elmo_keras.util.argument_types import non_negative, positive, seconds
from elmo_keras.util.command import (
    DISK_ERRORS,
    CommandFailed,
    command_parser,
    run_command,
)
from elmo_keras.util.outputs import check_apart, check_file
from elmo_keras.util.progress import Progress

PROGRAM = __package__  # `export.client`, or `elmo_keras.serve.client` when installed
REFUSED = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    return run_command(PROGRAM, lambda: embed_file(options))


def embed_file(options: argparse.Namespace) -> None:
    check_output(options.output_file, options.input_file)
    from elmo_keras.serve.client.remote import (  # by TensorFlow
        embed_text,
        read_credentials,
    )

    credentials = read_credentials(
        options.root_certificates, options.client_key, options.client_certificate
    )
    sentences = read_lines(options.input_file)
    usual = "default" if is_npy(options.output_file) else "elmo"
    names = "server model batch_tokens batch_size timeout retries in_flight".split()
    try:
        with Progress(total=len(sentences), unit=" sentences") as progress:
            vectors = embed_text(
                sentences,
                output=options.output or usual,
                credentials=credentials,
                progress=progress.update,
                **{name: getattr(options, name) for name in names},
            )
            write_embeddings(options.output_file, sentences, vectors)
    except grpc.RpcError as error:
        kind = ValueError if error.code() in REFUSED else CommandFailed
        status = f"{error.code().name}: {error.details()}"
        if error.code() is grpc.StatusCode.UNAVAILABLE:
            status += ". --server should be the port of gRPC of a running server"
        raise kind(f"{options.server}: {status}") from error
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        raise CommandFailed(
            f"{options.output_file} can't be written: {error.strerror}. Nothing is left "
            "of it. Give an output on another disk."
        ) from error


def check_output(path: Path, source: Path) -> None:
    check_suffix(path, ARRAY_SUFFIXES)
    check_apart([path], [source])
    check_file(path)
    if path.exists():
        raise ValueError(f"{path} exists already. Give another output.")


def read_lines(path: Path) -> list[list[str]]:
    with path.open("rb") as file:
        lines = (line.split() for line in lines_of(file, path))
        # Decoded after the split, which then sees ASCII white space only.
        sentences = [[token.decode() for token in line] for line in lines]
    if not sentences:
        raise ValueError(f"{path} holds no sentence.")
    return sentences


def parser() -> argparse.ArgumentParser:
    p = command_parser(PROGRAM, __doc__)
    add = p.add_argument
    add("input_file", metavar="INPUT.txt", type=Path)
    add("output_file", metavar="OUTPUT.hdf5|.h5|.npy", type=Path)
    add("--server", default="localhost:8500", help="host and port of gRPC")
    add("--model", default="elmo", help="name on the server (default: elmo)")
    add("--output", help="elmo, default, layers or another output")
    add("--batch-tokens", type=positive(int), default=2048, help="tokens in a request")
    add("--batch-size", type=positive(int), default=32, help="sentences in a request")
    add("--in-flight", type=positive(int), default=4, help="concurrent requests")
    add("--timeout", type=seconds, default=60.0, help="of a request (default: 60 s)")
    add(
        "--retries",
        type=non_negative(int),
        default=5,
        help="further attempts while the server is busy (default: 5)",
    )
    tls = p.add_argument_group("TLS, in files with PEM")
    tls.add_argument(
        "--root-certificates",
        type=Path,
        metavar="FILE",
        help="the authorities that the server's certificate is checked with",
    )
    tls.add_argument("--client-key", type=Path, metavar="FILE")
    tls.add_argument("--client-certificate", type=Path, metavar="FILE")
    return p


if __name__ == "__main__":
    sys.exit(main())
