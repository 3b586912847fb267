"""The command `client`."""

from pathlib import Path

import grpc

from elmo_keras.commands.arguments import Seconds
from elmo_keras.commands.command import CommandFailed, import_tensorflow
from elmo_keras.commands.outputs import check_new_file
from elmo_keras.embed.outputs import ARRAY_SUFFIXES, check_suffix, is_npy
from elmo_keras.text.files import lines_of

REFUSED = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND)


def client(
    input_file: Path,
    output_file: Path,
    /,
    *,
    server: str = "localhost:8500",
    model: str = "elmo",
    output: str | None = None,
    timeout: Seconds = 60.0,
) -> None:
    """Embeds a text file through a server: `elmo-keras serve` or TensorFlow Serving.

    INPUT holds one sentence a line, tokens separated by spaces, plain or gzipped; an
    empty line is a sentence without tokens. An .hdf5 file holds the vectors of the
    tokens in the layout of `allennlp elmo`, a .npy file one vector for each sentence.

        elmo-keras client INPUT.txt OUTPUT.hdf5 --server localhost:8500
        elmo-keras client INPUT.txt OUTPUT.npy

    Args:
        input_file: text
        output_file: ….hdf5, ….h5 or ….npy
        server: host and port of gRPC
        model: name on the server
        output: elmo, default, layers or another output; elmo for HDF5 and default for
            .npy if not given
        timeout: seconds for a request
    """
    check_suffix(output_file, ARRAY_SUFFIXES)
    check_new_file(output_file, [input_file])
    import_tensorflow()
    from elmo_keras.serve.client.remote import embed_text, write_embeddings

    with input_file.open("rb") as file:
        lines = (line.split() for line in lines_of(file, input_file))
        # Decoded after the split, which then sees ASCII white space only.
        sentences = [[token.decode() for token in line] for line in lines]
    if not sentences:
        raise ValueError(f"{input_file} holds no sentence.")
    try:
        vectors = embed_text(
            sentences,
            server=server,
            model=model,
            output=output or ("default" if is_npy(output_file) else "elmo"),
            timeout=timeout,
            progress=True,
        )
        write_embeddings(output_file, sentences, vectors)
    except grpc.RpcError as error:
        status = f"{error.code().name}: {error.details()}"
        if error.code() is grpc.StatusCode.UNAVAILABLE:
            status += ". --server should be the port of gRPC of a running server"
        if error.code() in REFUSED:
            raise ValueError(f"{server}: {status}") from error
        raise CommandFailed(f"{server}: {status}") from error
    print(f"{len(sentences):,} sentences are in {output_file}")
