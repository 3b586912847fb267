"""The description of an export, stored within it as `elmo_keras.json`."""

from pathlib import Path
from typing import Any

from elmo_keras import Elmo
from elmo_keras.elmo import model_digest
from elmo_keras.export.options import ExportOptions
from elmo_keras.export.sentences import WORDS
from elmo_keras.export.session_graph import inputs_of
from elmo_keras.export.version_paths import EXTRA, INFO
from elmo_keras.layers import ScalarMix
from elmo_keras.published_options import read_options
from elmo_keras.tasks.answer.question_answering import QuestionAnswering
from elmo_keras.tasks.layers.task_model import TaskModel
from elmo_keras.util.files import installed_version

PACKAGES = ("elmo-keras", "keras", "tensorflow", "tensorflow-text")


def read_info(version: str | Path) -> dict[str, Any]:
    return read_options(Path(version) / EXTRA / INFO)


def elmo_info(
    elmo: Elmo, mix: ScalarMix, signatures: dict, options: ExportOptions
) -> dict[str, Any]:
    return {
        **_of_layer(elmo),
        "mix": {
            "layers": mix.layer_choice,
            "layer_weights": mix.layer_weights().numpy().tolist(),
            "gamma": float(mix.gamma.numpy()),
            "layer_norm": elmo.layer_norm,
            "l2": elmo.l2,
            "dropout": elmo.dropout,
        },
        "trainable": options.trainable,
        "dtype": options.dtype,
        "tokenizer": options.tokenizer,
        "as_dict": options.as_dict,
        **_interface(elmo, signatures, options),
    }


def task_info(
    model: TaskModel, signatures: dict, options: ExportOptions
) -> dict[str, Any]:
    elmo = model.token_vectors.elmo
    names = [name for name in ("tags", "labels") if hasattr(model, name)]
    return {
        "task_model": type(model).__name__,
        **{name: list(getattr(model, name)) for name in names},
        **_of_layer(elmo),
        "tokenizer": WORDS
        if isinstance(model, QuestionAnswering)
        else options.tokenizer,
        **_interface(elmo, signatures, options),
    }


def _of_layer(elmo):
    if elmo is None:
        return {"options": None, "weights_sha256": None}
    return {"options": elmo.config.to_options(), "weights_sha256": model_digest(elmo)}


def _interface(elmo, signatures, options):
    needs_text = options.tokenizer == "unicode_script" or options.normalization
    if elmo is not None:
        needs_text = needs_text or elmo.config.unicode_normalization
    return {
        "normalization": options.normalization,
        "needs": ["tensorflow_text"] if needs_text else [],
        "signatures": {
            name: {
                "inputs": _described(inputs_of(function)),
                "outputs": _described(function.structured_outputs),
            }
            for name, function in signatures.items()
        },
        "versions": {name: installed_version(name) for name in PACKAGES},
    }


def _described(specs):
    return {
        name: {"dtype": spec.dtype.name, "shape": list(spec.shape)}
        for name, spec in specs.items()
    }
