"""The files of vectors: their types, and checks of outputs before the work."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from elmo_keras.base.extras import import_extra
from elmo_keras.commands.outputs import check_apart, check_file, check_folder
from elmo_keras.jobs.parts import folder_of

HDF5_SUFFIXES = ".hdf5", ".h5"
ARRAY_SUFFIXES = *HDF5_SUFFIXES, ".npy"
SUFFIXES = *ARRAY_SUFFIXES, ".parquet"


def check_output(
    output: Path,
    inputs: Iterable[Path],
    *,
    overwrite: bool,
    shard: tuple[int, int] = (1, 1),
    pooling: str | None = None,
    suffixes: Sequence[str] = SUFFIXES,
) -> Path:
    index, count = shard
    if not 1 <= index <= count:
        raise ValueError(
            f"`shard` should be (i, n) with i from 1 to n. Received: {shard!r}"
        )
    if count > 1:
        output = output.with_name(f"{output.stem}.{index}-of-{count}{output.suffix}")
    check_suffix(output, suffixes)
    check_apart([output, folder_of(output)], inputs)
    check_file(output)
    check_folder(folder_of(output))
    if output.exists() and not overwrite:
        raise ValueError(
            f"{output} exists. Give another name, or overwrite it (`overwrite`)."
        )
    if pooling and is_hdf5(output):
        raise ValueError(
            "HDF5 holds the vectors of tokens. For a vector of each sentence, the "
            f"output should end in .npy or .parquet. Received: {output}"
        )
    return output


def check_output_folder(
    output: Path, inputs: Iterable[Path], *, overwrite: bool
) -> None:
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
    names = sorted(path.name for path in output.iterdir()) if output.exists() else []
    if names and not overwrite:
        raise ValueError(
            f"{output} exists. Give another name, or overwrite it (`overwrite`)."
        )
    others = [name for name in names if not name.startswith("part-")]
    if others:
        raise ValueError(
            f"{output} holds more than the parts of an earlier output: {others[0]}. It "
            "is not overwritten. Give another name."
        )


def is_npy(path: Path) -> bool:
    return path.suffix.lower() == ".npy"


def is_hdf5(path: Path) -> bool:
    return path.suffix.lower() in HDF5_SUFFIXES


def is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def check_suffix(path: Path, suffixes: Sequence[str] = SUFFIXES) -> None:
    if path.suffix.lower() not in suffixes:
        raise ValueError(
            f"The output should end in {' or '.join(suffixes)}, in upper or lower "
            f"case. Received: {path}"
        )
    if is_parquet(path):
        import_extra("pyarrow", "Parquet")
