"""Numbered versions of an export, in the layout that TensorFlow Serving reads."""

import json
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import tensorflow as tf

from elmo_keras import Elmo
from elmo_keras.export.options import ExportOptions
from elmo_keras.export.saved_model import make_saved_model
from elmo_keras.export.session_graph import edit_saved_model
from elmo_keras.export.version_info import elmo_info
from elmo_keras.export.version_paths import (
    EXTRA,
    INFO,
    MODEL_NAME,
    SERVING_FILES,
    archive_path,
    new_version,
)
from elmo_keras.export.warmup import write_warmup
from elmo_keras.util.files import replacing


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

    def make():
        root, signatures, mix = make_saved_model(elmo, options, representation)
        return root, signatures, elmo_info(elmo, mix, signatures, options)

    return write_version(output, version, make, warmup=warmup)


def write_version(
    output: str | Path,
    version: int | None,
    make: Callable[[], tuple[tf.train.Checkpoint, dict, dict]],
    *,
    warmup: bool,
) -> Path:
    """Writes the files of a version into a folder that is renamed when it is complete.

    `make` returns the object to save, its signatures, and their description.
    """
    output = Path(output)
    output.mkdir(parents=True, exist_ok=True)
    new_version(output, version)
    with tempfile.TemporaryDirectory(prefix=".export-", dir=output) as temporary:
        folder = Path(temporary) / "version"
        root, signatures, info = make()
        tf.saved_model.save(root, folder, signatures=signatures)
        edit_saved_model(folder, signatures)
        (folder / EXTRA).mkdir()
        text = json.dumps(info, indent=2, ensure_ascii=False)
        (folder / EXTRA / INFO).write_text(f"{text}\n", encoding="utf-8")
        if warmup:
            write_warmup(folder / EXTRA, MODEL_NAME, signatures)
        return folder.rename(new_version(output, version))


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


def write_serving_files(output: str | Path) -> Path:
    """Copies what `output/serving` lacks of the files for TensorFlow Serving's image."""
    folder = Path(output) / SERVING_FILES
    folder.mkdir(parents=True, exist_ok=True)
    for file in (Path(__file__).parent / "tensorflow_serving").iterdir():
        if not (folder / file.name).exists():
            with replacing(folder / file.name) as temporary:
                shutil.copyfile(file, temporary)
    return folder
