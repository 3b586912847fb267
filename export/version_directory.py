"""A numbered version of an export, as TensorFlow Serving looks for it."""

import contextlib
import hashlib
import importlib.metadata
import json
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

from elmo_keras import Elmo
from elmo_keras.weights import array_of, published_table
from export.saved_model import ExportOptions, SavedElmo, make_saved_model
from export.session_graph import unfold_signatures
from export.warmup import write_warmup

EXTRA = "assets.extra"  # a folder that all loaders pass over
INFO = "elmo_keras.json"
MODEL_NAME = "elmo"
PACKAGES = ("elmo-keras", "keras", "tensorflow", "tensorflow-text")


def export_elmo(
    elmo: Elmo,
    output: str | Path,
    options: ExportOptions | None = None,
    representation: int = 0,
    version: int | None = None,
    warmup: bool = True,
) -> Path:
    """Writes an `Elmo` layer as a SavedModel.

    Args:
        elmo: a built layer, with its biLM, its mix, dropout and regularizer.
        output: the folder of all versions, made if there is none.
        options: what can be chosen; `ExportOptions()` if None.
        representation: which of the layer's mixes, where it has several.
        version: its number; if None, one more than the highest there is.
        warmup: whether warm-up requests for TensorFlow Serving are added.

    Returns:
        `output/<version>`, which is there only when all of it is written.

    Raises:
        FileExistsError: there is such a version.
        ImportError: an optional package is needed and not installed.
        ValueError: there is no such representation.
    """
    options = options or ExportOptions()
    if not 0 <= representation < len(elmo.mixes):
        raise ValueError(
            f"`representation` should be below {len(elmo.mixes)}, the number of the "
            f"layer's mixes. Received: {representation}"
        )
    with _new_version(Path(output), version) as folder:
        saved = make_saved_model(elmo, options, representation)
        tf.saved_model.save(saved.root, folder, signatures=saved.signatures)
        unfold_signatures(folder, saved.signatures)
        (folder / EXTRA).mkdir()
        info = json.dumps(_info(elmo, saved, options), indent=2, ensure_ascii=False)
        (folder / EXTRA / INFO).write_text(f"{info}\n", encoding="utf-8")
        if warmup:
            write_warmup(folder / EXTRA, MODEL_NAME)
        final = _place(folder, Path(output), version)
    return final


@contextlib.contextmanager
def _new_version(output: Path, version: int | None) -> Iterator[Path]:
    """A folder beside the versions to write one in, gone at the end if not placed."""
    output.mkdir(parents=True, exist_ok=True)
    if version is not None and (output / str(version)).exists():
        raise _exists(output / str(version))
    with tempfile.TemporaryDirectory(prefix=".export-", dir=output) as folder:
        yield Path(folder) / "version"


def _place(folder, output, version):
    """Renames a finished folder to the version's: all of it is there at once."""
    final = output / str(version or max(versions(output), default=0) + 1)
    if final.exists():  # a rename would replace an empty folder
        raise _exists(final)
    return folder.rename(final)


def _exists(path):
    return FileExistsError(
        f"There is a version {path} already, and none is ever overwritten. Give "
        "another --version, or none for the next one."
    )


def versions(output: str | Path) -> list[int]:
    """The numbers of the versions in a folder, from lowest to highest."""
    names = [path.name for path in Path(output).glob("[0-9]*") if path.is_dir()]
    return sorted(int(name) for name in names if name.isdecimal())


def read_info(version: str | Path) -> dict:
    """What is inside a version, as its own file says; see the README."""
    return json.loads((Path(version) / EXTRA / INFO).read_text(encoding="utf-8"))


def write_archive(version: Path) -> Path:
    """A `.tar.gz` of a version beside it, which `hub.load` takes by its address."""
    path = version.with_name(f"{MODEL_NAME}-{version.name}.tar.gz")
    temporary = path.with_name(f".{path.name}")
    with tarfile.open(temporary, "w:gz", compresslevel=1) as archive:
        for member in sorted(version.iterdir()):
            archive.add(member, member.name)
    return temporary.rename(path)


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
        "needs": ["tensorflow_text"] if needs_text else [],
        "signatures": {
            name: _description(function) for name, function in saved.signatures.items()
        },
        "versions": {name: _installed(name) for name in PACKAGES},
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


def _installed(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:  # or run from a checkout
        return None


def weights_digest(bilm) -> str:
    """SHA-256 of a biLM's weights by their published names, in float32."""
    digest = hashlib.sha256()
    for name, entry in sorted(published_table(bilm).items()):
        digest.update(name.encode())
        digest.update(array_of(entry).tobytes())
    return digest.hexdigest()
