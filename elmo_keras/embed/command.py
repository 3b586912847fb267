"""The command `embed`."""

import dataclasses
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from elmo_keras.commands.arguments import Count
from elmo_keras.commands.command import stopping
from elmo_keras.embed.corpus import embed_corpus
from elmo_keras.embed.engines.engine import Pooling
from elmo_keras.embed.options import EmbedderOptions
from elmo_keras.embed.outputs import check_output, check_output_folder, is_npy
from elmo_keras.embed.text_rows import PIECE_BYTES


def _parse_shard(_, tokens):
    index, _, count = tokens[0].value.partition("/")
    if not (index.isdecimal() and count.isdecimal()):
        raise ValueError(f"Must be I/N, such as 1/8. Received: {tokens[0].value}")
    return int(index), int(count)


Shard = Annotated[tuple[int, int], Parameter(converter=_parse_shard, n_tokens=1)]


@Parameter(name="*", group="With Ray")
@dataclasses.dataclass(frozen=True)
class RayOptions:
    """Options of the work on a Ray cluster.

    Args:
        address: address of a cluster, or auto; RAY_ADDRESS or this machine if not given
        workers: parts at a time; one on each GPU or processor if not given
        text_column: column of Parquet with strings or lists of tokens; text if not given
        id_column: column of Parquet with integers or strings
        part_kilobytes: text of a part; a run that is killed loses only unfinished parts
    """

    address: str | None = None
    workers: Count | None = None
    text_column: str | None = None
    id_column: str | None = None
    part_kilobytes: Count = PIECE_BYTES // 2**10


DEFAULTS = EmbedderOptions()


def embed(
    *paths: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    options: EmbedderOptions = DEFAULTS,
    pooling: Pooling | None = None,
    shard: Shard = (1, 1),
    forget_sentences: bool = False,
    overwrite: bool = False,
    engine: Annotated[Literal["ray"] | None, Parameter(group="With Ray")] = None,
    ray: RayOptions | None = None,
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
        pooling: one vector of each line in .npy (mean if not given) or .parquet
        shard: I/N, the I-th of every N lines
        forget_sentences: leave out the texts of the sentences
        overwrite: replace an earlier output as soon as the new one is finished
        engine: compute on the machines of a Ray cluster
    """
    if len(paths) < 2:
        missing = f"OUTPUT is missing after {paths[0]}" if paths else "INPUT is missing"
        raise ValueError(f"{missing}. See elmo-keras embed --help")
    *inputs, output = [Path("/dev/stdin") if p == Path("-") else p for p in paths]
    if engine is None and (ray is not None or len(inputs) > 1):
        raise ValueError(
            "More than one INPUT, --address, --workers, --text-column, --id-column and "
            "--part-kilobytes work only with --engine ray."
        )
    if engine and shard != (1, 1):
        raise ValueError("--shard works without --engine; Ray divides the text itself.")
    if engine is None:
        options = options.for_text(inputs[0])
    read = [*inputs, *options.inputs()]
    if engine:
        check_output_folder(output, read, overwrite=overwrite)
    else:
        check_output(output, read, shard=shard, pooling=pooling, overwrite=overwrite)
    pooling = pooling or ("mean" if is_npy(output) else None)
    # Ray's workers read the model themselves.
    embedder = options.embedder(pooling=pooling, lazy=engine is not None)
    with stopping() as stop:
        if engine is None:
            summary = embed_corpus(
                embedder,
                inputs[0],
                output,
                shard=shard,
                forget_sentences=forget_sentences,
                overwrite=overwrite,
                progress=True,
                stop=stop.is_set,
            )
        else:
            from elmo_keras.embed.ray import embed_on_ray

            ray = ray or RayOptions()
            summary = embed_on_ray(
                embedder,
                inputs,
                output,
                text_column=ray.text_column,
                id_column=ray.id_column,
                forget_sentences=forget_sentences,
                overwrite=overwrite,
                workers=ray.workers,
                address=ray.address,
                part_bytes=ray.part_kilobytes * 2**10,
                progress=True,
                stop=stop.is_set,
            )
        print(summary)
        if not summary.finished:
            raise KeyboardInterrupt
