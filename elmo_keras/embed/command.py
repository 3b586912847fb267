"""The command `embed`."""

import functools
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from elmo_keras.commands.arguments import Count, Finite, Layers, Mix
from elmo_keras.commands.command import (
    import_tensorflow,
    starting_libraries,
    stopping,
)
from elmo_keras.config import Arithmetic
from elmo_keras.embed.corpus import embed_corpus
from elmo_keras.embed.embedder import Embedder
from elmo_keras.embed.engines.backend import LITERT, Backend, choose_backend
from elmo_keras.embed.outputs import check_output, check_output_folder, is_npy
from elmo_keras.embed.text_rows import PIECE_BYTES
from elmo_keras.hub.catalogue import parts_of_model
from elmo_keras.hub.local_files import local_files
from elmo_keras.lite.probe import probe

RAY = Parameter(group="With Ray")


def _parse_shard(_, tokens):
    index, _, count = tokens[0].value.partition("/")
    if not (index.isdecimal() and count.isdecimal()):
        raise ValueError(f"Must be I/N, such as 1/8. Received: {tokens[0].value}")
    return int(index), int(count)


Shard = Annotated[tuple[int, int], Parameter(converter=_parse_shard, n_tokens=1)]


def embed(
    *paths: Annotated[str, Parameter(allow_leading_hyphen=True)],
    model: str | None = None,
    options: str | None = None,
    weights: str | None = None,
    layers: Layers = "mix",
    mix: Mix | None = None,
    gamma: Finite | None = None,
    pooling: Literal["mean", "max"] | None = None,
    keep_sentence_boundaries: bool = False,
    lower_case: bool = False,
    float16: bool = False,
    arithmetic: Arithmetic | None = None,
    backend: Backend | None = None,
    shard: Shard = (1, 1),
    tokens_at_once: Count | None = None,
    cache_megabytes: Count = 256,
    forget_sentences: bool = False,
    overwrite: bool = False,
    engine: Annotated[Literal["ray"] | None, RAY] = None,
    address: Annotated[str | None, RAY] = None,
    workers: Annotated[Count | None, RAY] = None,
    text_column: Annotated[str | None, RAY] = None,
    id_column: Annotated[str | None, RAY] = None,
    part_kilobytes: Annotated[Count, RAY] = PIECE_BYTES // 2**10,
) -> None:
    """Writes the vectors of a text file, or of many files by a Ray cluster.

    INPUT holds one sentence a line, tokens separated by spaces, plain or gzipped; `-`
    is standard input. OUTPUT.hdf5 has a dataset for each line, named by its index from
    0; OUTPUT.parquet has a row for each line; OUTPUT.npy has one array with the mean
    over the tokens of each line. With Ray, OUTPUT_DIR is a folder of Parquet files.
    After an interruption the same command resumes.

        elmo-keras embed INPUT.txt OUTPUT.hdf5 --model MODEL
        elmo-keras embed INPUT.txt OUTPUT.parquet --model MODEL
        elmo-keras embed INPUT.txt OUTPUT.npy --model MODEL
        elmo-keras embed INPUT… OUTPUT_DIR --engine ray --model MODEL

    Args:
        paths: INPUT, several only with Ray; and OUTPUT: ….hdf5, ….h5 or ….parquet, or
            ….npy for means
        model: a model directory, a zip, or a published model's name or address
        options: published options.json, with --weights
        weights: published HDF5 weights, with --options
        layers: which layers are kept, or an index; mix is the model's own, or the average
        mix: W0,W1,… of the layers, before the softmax
        gamma: factor of the mix; the model's own, or 1, if not given
        pooling: one vector of each line in .npy (mean if not given) or .parquet
        keep_sentence_boundaries: keep the vectors of `<S>` and `</S>`, two more of each line
        lower_case: embed the tokens in lower case
        float16: write numbers in 2 bytes, not 4
        arithmetic: float32 if not given; int8 is by LiteRT, bfloat16 by TensorFlow
        backend: what computes: litert if not given, or tensorflow on a GPU
        shard: I/N, the I-th of every N lines
        tokens_at_once: tokens in a batch
        cache_megabytes: memory for the vectors of words
        forget_sentences: leave out the texts of the sentences
        overwrite: replace an earlier output as soon as the new one is finished
        engine: compute on the machines of a Ray cluster
        address: of a cluster, or auto; RAY_ADDRESS or this machine if not given
        workers: parts at a time; one on each GPU or processor if not given
        text_column: of Parquet: strings or lists of tokens; text if not given
        id_column: of Parquet: integers or strings
        part_kilobytes: text of a part, the least work that a kill can cost
    """
    if len(paths) < 2:
        missing = f"OUTPUT is missing after {paths[0]}" if paths else "INPUT is missing"
        raise ValueError(f"{missing}. See elmo-keras embed --help")
    output = Path(paths[-1])
    inputs = [Path("/dev/stdin" if path == "-" else path) for path in paths[:-1]]
    for_ray = len(inputs) > 1 or address or workers or text_column or id_column
    if engine is None and for_ray:
        raise ValueError(
            "More than one INPUT, --address, --workers, --text-column and --id-column "
            "work only with --engine ray."
        )
    if engine and shard != (1, 1):
        raise ValueError("--shard works without --engine; Ray divides the text itself.")
    source = model or options
    if source is None or (model is None) != (None not in (options, weights)):
        raise ValueError("Give --model, or --options and --weights.")
    read = [*inputs, *(parts_of_model(model) if model else ())]
    read += [Path(path) for path in (options, weights) if path]
    if engine:
        check_output_folder(output, read, overwrite=overwrite)
    else:
        inputs[0].stat()  # a missing file is reported before the model is read
        check_output(output, read, shard=shard, pooling=pooling, overwrite=overwrite)
    # A published model is downloaded while Ctrl-C still ends the command at once.
    local_files(source, weights)
    if engine is None:
        start_backend(choose_backend(source, arithmetic, backend))
    with stopping() as stop:
        embedder = Embedder(
            source,
            weights=weights,
            layers=layers,
            mix=mix,
            gamma=gamma,
            pooling=pooling or ("mean" if is_npy(output) else None),
            keep_sentence_boundaries=keep_sentence_boundaries,
            lower_case=lower_case,
            dtype="float16" if float16 else "float32",
            arithmetic=arithmetic,
            backend=backend,
            tokens_at_once=tokens_at_once,
            cache_bytes=cache_megabytes * 2**20,
            lazy=engine is not None,  # workers read the model
        )
        write = functools.partial(
            embed_corpus, embedder, inputs[0], output, shard=shard
        )
        if engine:
            from elmo_keras.embed.ray import embed_on_ray

            write = functools.partial(
                embed_on_ray,
                embedder,
                inputs,
                output,
                text_column=text_column,
                id_column=id_column,
                workers=workers,
                address=address,
                part_bytes=part_kilobytes * 2**10,
            )
        summary = write(
            forget_sentences=forget_sentences,
            overwrite=overwrite,
            progress=True,
            stop=stop.is_set,
        )
    print(summary)
    if not summary.finished:
        raise KeyboardInterrupt


def start_backend(backend: str) -> None:
    """Starts what computes for a command, without lines of its log."""
    if backend != LITERT:
        import_tensorflow()
        return
    with starting_libraries():  # LiteRT logs with its first model
        probe()
