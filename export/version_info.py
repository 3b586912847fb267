"""The description of an export, stored within it as `elmo_keras.json`."""

import hashlib
import json
from pathlib import Path

from elmo_keras import Elmo
from elmo_keras.cli.fingerprint import installed_version
from elmo_keras.model_files.published import array_of, published_table
from elmo_keras.published_options import read_options
from elmo_keras.tasks import Answerer
from elmo_keras.tasks.layers.task_model import TaskModel

from .saved_model import ExportOptions, SavedElmo
from .sentences import WORDS
from .session_graph import inputs_of
from .version_paths import EXTRA, INFO

PACKAGES = ("elmo-keras", "keras", "tensorflow", "tensorflow-text")


def read_info(version: str | Path) -> dict:
    """The description stored in a version; see the README.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is not a JSON object.
    """
    return read_options(Path(version) / EXTRA / INFO)


def write_info(version: Path, info: dict) -> None:
    """Makes the folder `assets.extra` of a version, with its description."""
    (version / EXTRA).mkdir()
    text = json.dumps(info, indent=2, ensure_ascii=False)
    (version / EXTRA / INFO).write_text(f"{text}\n", encoding="utf-8")


def elmo_info(elmo: Elmo, saved: SavedElmo, options: ExportOptions) -> dict:
    """The description of an exported `Elmo` layer."""
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
        **_needs(elmo, options),
        **_interface(saved.signatures),
    }


def task_info(model: TaskModel, signatures: dict, options: ExportOptions) -> dict:
    """The description of an exported task model."""
    elmo = model.token_vectors.elmo
    names = {
        name: list(getattr(model, name))
        for name in ("tags", "labels")
        if hasattr(model, name)
    }
    return {
        "task_model": type(model).__name__,
        **names,
        "options": None if elmo is None else elmo.config.to_options(),
        "weights_sha256": None if elmo is None else weights_digest(elmo.bilm),
        "tokenizer": WORDS if isinstance(model, Answerer) else options.tokenizer,
        "normalization": options.normalization,
        **_needs(elmo, options),
        **_interface(signatures),
    }


def _needs(elmo, options):
    """The packages that a program needs to load the export."""
    needs_text = options.tokenizer == "unicode_script" or options.normalization
    if elmo is not None:
        needs_text = needs_text or elmo.config.unicode_normalization
    return {"needs": ["tensorflow_text"] if needs_text else []}


def _interface(signatures):
    return {
        "signatures": {
            name: _description(function) for name, function in signatures.items()
        },
        "versions": {name: installed_version(name) for name in PACKAGES},
    }


def _description(function):
    groups = {
        "inputs": inputs_of(function),
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
