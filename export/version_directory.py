"""Numbered versions of an export, in the layout that TensorFlow Serving reads."""

import contextlib
import functools
import hashlib
import json
import logging
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

from elmo_keras import Elmo
from elmo_keras.cli.installed_version import installed_version
from elmo_keras.cli.replacing import replacing
from elmo_keras.model_files.published import array_of, published_table
from elmo_keras.published_options import read_options

from .reusable import INPUT_NAMES
from .saved_model import ExportOptions, SavedElmo, make_saved_model
from .second_keyword import add_keyword
from .session_graph import unfold_signatures
from .version_paths import MAX_VERSION, MODEL_NAME, archive_path, new_version
from .warmup import write_warmup

LOG = logging.getLogger(__name__)
EXTRA = "assets.extra"  # a folder that all loaders ignore
INFO = "elmo_keras.json"
PACKAGES = ("elmo-keras", "keras", "tensorflow", "tensorflow-text")


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
    with _temporary_version(Path(output), version) as folder:
        saved = make_saved_model(elmo, options, representation)
        _save(saved, folder, options.input_name)
        (folder / EXTRA).mkdir()
        info = json.dumps(_info(elmo, saved, options), indent=2, ensure_ascii=False)
        (folder / EXTRA / INFO).write_text(f"{info}\n", encoding="utf-8")
        if warmup:
            write_warmup(folder / EXTRA, MODEL_NAME, options.input_name)
        # Renamed, so that it appears all at once.
        return folder.rename(new_version(Path(output), version))


def _save(saved, folder, input_name):
    """Writes the SavedModel; calls take both names of the input of `default`."""
    tf.saved_model.save(saved.root, folder, signatures=saved.signatures)
    (other_name,) = {*INPUT_NAMES} - {input_name}
    add_keyword(folder, ("default", "serving_default"), other_name)
    unfold_signatures(folder, saved.signatures)


@contextlib.contextmanager
def _temporary_version(output: Path, version: int | None) -> Iterator[Path]:
    """A temporary folder beside the versions, to write one in; removed at the end."""
    output.mkdir(parents=True, exist_ok=True)
    new_version(output, version)
    with tempfile.TemporaryDirectory(prefix=".export-", dir=output) as folder:
        yield Path(folder) / "version"


def versions(output: str | Path) -> list[int]:
    """The numbers of the versions in a folder, from lowest to highest.

    A number above `MAX_VERSION` is no version; a warning names it once.

    Raises:
        OSError: the folder can't be read.
    """
    folders = [path for path in Path(output).iterdir() if path.name.isdecimal()]
    folders = [path for path in folders if path.is_dir()]
    for path in folders:
        if int(path.name) > MAX_VERSION:
            _warn_of(path.absolute())
    return sorted(n for path in folders if (n := int(path.name)) <= MAX_VERSION)


@functools.cache
def _warn_of(path):
    LOG.warning(
        "%s is ignored: a version should be at most %d. Rename it.", path, MAX_VERSION
    )


def read_info(version: str | Path) -> dict:
    """The description stored in a version; see the README.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is not a JSON object.
    """
    return read_options(Path(version) / EXTRA / INFO)


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


def _info(elmo: Elmo, saved: SavedElmo, options: ExportOptions) -> dict:
    needs_text = options.tokenizer == "unicode_script" or options.normalization
    needs_text = needs_text or elmo.config.unicode_normalization
    return {
        "options": elmo.config.to_options(),
        "weights_sha256": weights_digest(elmo.bilm),
        "mix": {
            "scheme": saved.mix.scheme,
            "layer_weights": saved.mix.layer_weights().numpy().tolist(),
            "gamma": float(saved.mix.gamma.numpy()),
            "layer_norm": elmo.layer_norm,
            "l2": elmo.l2,
            "dropout": elmo.dropout,
        },
        "trainable": options.trainable,
        "dtype": options.dtype,
        "tokenizer": options.tokenizer,
        "normalization": options.normalization,
        "in_graph_batching": options.batching is not None,
        "as_dict": options.as_dict,
        "needs": ["tensorflow_text"] if needs_text else [],
        "signatures": {
            name: _description(function) for name, function in saved.signatures.items()
        },
        "versions": {name: installed_version(name) for name in PACKAGES},
    }


def _description(function):
    inputs = tf.nest.flatten(function.structured_input_signature)
    groups = {
        "inputs": {spec.name: spec for spec in inputs},
        "outputs": function.structured_outputs,
    }
    return {
        group: {
            name: {"dtype": spec.dtype.name, "shape": list(spec.shape)}
            for name, spec in specs.items()
        }
        for group, specs in groups.items()
    }


def weights_digest(bilm) -> str:
    """SHA-256 of a biLM's weights in float32, in the order of their published names."""
    digest = hashlib.sha256()
    for name, entry in sorted(published_table(bilm).items()):
        digest.update(name.encode())
        digest.update(array_of(entry).tobytes())
    return digest.hexdigest()
