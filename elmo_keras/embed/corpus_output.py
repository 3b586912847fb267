"""The output of `embed_corpus`, checked before the work."""

from collections.abc import Iterable
from pathlib import Path

from elmo_keras.cli.outputs import check_apart, check_file, check_folder
from elmo_keras.embed.numbered_batches import Shard
from elmo_keras.embed.unfinished import folder_of
from elmo_keras.embed.vector_files import check_suffix, is_hdf5, is_npy


def checked_output(
    output: Path, shard: Shard, inputs: Iterable[Path], *, overwrite: bool
) -> Path:
    """The path of a shard's output.

    Args:
        output: the path without the number of the shard.
        shard: which lines are embedded.
        inputs: files and folders that are read.
        overwrite: whether the output may exist.

    Raises:
        ValueError: the name has another suffix, the output exists or would change an
            input, or nothing can be written there.
        OSError: the disk is full or fails.
    """
    output = shard_path(output, shard)
    check_suffix(output)
    check_apart([output, folder_of(output)], inputs)
    check_file(output)
    check_folder(folder_of(output))
    if output.exists() and not overwrite:
        raise ValueError(f"{output} exists. Give another name, or ask to overwrite it.")
    return output


def checked_pooling(pooling: str | None, output: Path) -> str | None:
    """How the tokens of a sentence are pooled in this file.

    Raises:
        ValueError: HDF5 holds the vectors of tokens only.
    """
    if pooling and is_hdf5(output):
        raise ValueError(
            "HDF5 holds the vectors of tokens. For a vector of each sentence, the "
            f"output should end in .npy or .parquet. Received: {output}"
        )
    return "mean" if pooling is None and is_npy(output) else pooling


def shard_path(output: Path, shard: Shard) -> Path:
    """The name of a shard's output."""
    if shard.count == 1:
        return output
    name = f"{output.stem}.{shard.index}-of-{shard.count}{output.suffix}"
    return output.with_name(name)
