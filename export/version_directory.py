"""Numbered versions of an export, in the layout that TensorFlow Serving reads."""

import contextlib
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

from elmo_keras import Elmo
from elmo_keras.cli.replacing import replacing

from .reusable import INPUT_NAMES
from .saved_model import ExportOptions, make_saved_model
from .second_keyword import add_keyword
from .session_graph import inputs_of, unfold_signatures
from .version_info import elmo_info, write_info
from .version_paths import EXTRA, MODEL_NAME, archive_path, new_version
from .warmup import write_warmup


def export_elmo(
    elmo: Elmo,
    output: str | Path,
    options: ExportOptions | None = None,
    *,
    representation: int = 0,
    version: int | None = None,
    warmup: bool = True,
) -> Path:
    """Writes an `Elmo` layer as a SavedModel.

    Args:
        elmo: a built layer; its mix, dropout and regularizer are exported too.
        output: the folder of all versions, made if it is missing.
        options: `ExportOptions()` if None.
        representation: the index of the mix, for a layer with several.
        version: its number; if None, one more than the highest existing one, also
            among archives.
        warmup: whether to add warm-up requests for TensorFlow Serving.

    Returns:
        `output/<version>`, which appears only when it is complete.

    Raises:
        FileExistsError: the version exists already.
        ImportError: an optional package is needed and not installed.
        ValueError: the layer has no such mix, or the number is too large.
    """
    options = options or ExportOptions()
    if not 0 <= representation < len(elmo.mixes):
        raise ValueError(
            f"`representation` should be below {len(elmo.mixes)}, the layer's number of "
            f"mixes. Received: {representation}"
        )
    with temporary_version(Path(output), version) as folder:
        saved = make_saved_model(elmo, options, representation)
        write_version(
            folder,
            saved.root,
            saved.signatures,
            info=elmo_info(elmo, saved, options),
            warmup=warmup,
        )
        # Renamed, so that it appears all at once.
        return folder.rename(new_version(Path(output), version))


def write_version(
    folder: Path,
    root: tf.train.Checkpoint,
    signatures: dict,
    *,
    info: dict,
    warmup: bool,
) -> None:
    """Writes the files of a version.

    A session computes only what is asked of it. Calls from TensorFlow 2 take both names
    of the input of `default`, if it is text alone.

    Args:
        folder: where they are written; it does not exist yet.
        root: the object with the variables.
        signatures: name → concrete function.
        info: the description.
        warmup: whether to add warm-up requests.

    Raises:
        ImportError: an optional package is needed and not installed.
    """
    tf.saved_model.save(root, folder, signatures=signatures)
    inputs = set(inputs_of(signatures["default"]))
    if len(inputs) == 1 and inputs < {*INPUT_NAMES}:
        (other_name,) = {*INPUT_NAMES} - inputs
        add_keyword(folder, ("default", "serving_default"), other_name)
    unfold_signatures(folder, signatures)
    write_info(folder, info)
    if warmup:
        write_warmup(folder / EXTRA, MODEL_NAME, signatures)


@contextlib.contextmanager
def temporary_version(output: Path, version: int | None) -> Iterator[Path]:
    """The path of a folder to write a version in, removed at the end.

    Args:
        output: the folder of all versions, made if it is missing.
        version: the number of the version, or None for the next one.

    Raises:
        FileExistsError: the version exists already.
        ValueError: the number is too large.
    """
    output.mkdir(parents=True, exist_ok=True)
    new_version(output, version)
    with tempfile.TemporaryDirectory(prefix=".export-", dir=output) as folder:
        yield Path(folder) / "version"


def write_archive(version: Path) -> Path:
    """Writes a `.tar.gz` of a version beside it, which `hub.load` loads from a URL."""
    path = archive_path(version)
    with (
        replacing(path) as temporary,
        temporary.open("wb") as file,
        tarfile.open(path, "w:gz", file, compresslevel=1) as archive,
    ):
        for member in sorted(version.iterdir()):
            archive.add(member, member.name)
    return path
