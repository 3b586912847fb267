"""The outputs of embedding, checked before the work."""

from collections.abc import Iterable
from pathlib import Path

from elmo_keras.embed.parts import folder_of
from elmo_keras.embed.vector_files import ARRAY_SUFFIXES, check_suffix, is_hdf5
from elmo_keras.util.outputs import check_apart, check_file, check_folder


def checked_output(
    output: Path,
    inputs: Iterable[Path],
    *,
    shard: tuple[int, int],
    pooling: str | None,
    overwrite: bool,
) -> Path:
    index, count = shard
    if not 1 <= index <= count:
        raise ValueError(
            f"`shard` should be (i, n) with i from 1 to n. Received: {shard!r}"
        )
    if count > 1:
        output = output.with_name(f"{output.stem}.{index}-of-{count}{output.suffix}")
    check_suffix(output)
    check_apart([output, folder_of(output)], inputs)
    check_file(output)
    check_folder(folder_of(output))
    if output.exists() and not overwrite:
        raise ValueError(f"{output} exists. Give another name, or ask to overwrite it.")
    if pooling and is_hdf5(output):
        raise ValueError(
            "HDF5 holds the vectors of tokens. For a vector of each sentence, the "
            f"output should end in .npy or .parquet. Received: {output}"
        )
    return output


def checked_folder(output: Path, inputs: Iterable[Path], *, overwrite: bool) -> Path:
    if output.suffix.lower() in ARRAY_SUFFIXES:
        raise ValueError(
            "A corpus is written as a folder of Parquet files, whose name should not "
            f"end in {output.suffix}. Received: {output}"
        )
    check_apart([output, folder_of(output)], inputs)
    if not output.absolute().parent.is_dir():
        raise ValueError(
            f"There is no folder {output.parent} for {output}. Make it first."
        )
    check_folder(output)
    check_folder(folder_of(output))
    found = sorted(path.name for path in output.iterdir()) if output.exists() else []
    if found and not overwrite:
        raise ValueError(f"{output} exists. Give another name, or ask to overwrite it.")
    others = [name for name in found if not name.startswith("part-")]
    if others:
        raise ValueError(
            f"{output} holds more than the parts of an earlier output: {others[0]}. It "
            "is not overwritten. Give another name."
        )
    return output
