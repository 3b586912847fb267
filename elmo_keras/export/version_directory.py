"""Numbered versions of an export, in the layout that TensorFlow Serving reads."""

import itertools
import json
import shutil
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from elmo_keras.base.argument_checks import check_choices, check_counts
from elmo_keras.base.extras import import_extra
from elmo_keras.base.files import installed_version, replacing
from elmo_keras.config import Splitting
from elmo_keras.elmo import Elmo
from elmo_keras.export.saved_model import make_saved_model
from elmo_keras.export.sentences import splitter
from elmo_keras.export.session_graph import edit_saved_model, inputs_of
from elmo_keras.export.version_paths import (
    EXTRA,
    METADATA,
    MODEL_NAME,
    SERVING_FILES,
    WARM_UP,
    archive_path,
    new_version,
)
from elmo_keras.exported_elmo import LENGTHS
from elmo_keras.formats.options import to_options

PACKAGES = ("elmo-keras", "keras", "tensorflow", "tensorflow-text")
# Sentences and tokens of each warm-up request.
SIZES = ((1, 1), (1, 20), (8, 20), (32, 30))


def export_elmo(
    elmo: Elmo,
    output: str | Path,
    *,
    representation: int = 0,
    trainable: Literal["nothing", "mix", "all"] = "mix",
    arithmetic: Literal["float32", "bfloat16"] = "float32",
    tokenizer: Splitting | None = None,
    normalization: Literal["NFC"] | None = None,
    as_dict: bool = False,
    input_name: Literal["sentences", "text"] = "sentences",
    version: int | None = None,
    warmup: bool = True,
) -> str:
    """Writes an `Elmo` layer as a SavedModel.

    Args:
        elmo: a built layer; its mix, dropout and regularizer are exported too.
        output: the folder of all versions, made if it is missing.
        representation: the index of the mix, for a layer with several.
        trainable: the part that is trained when a model uses the SavedModel:
            `"nothing"`, the `"mix"`, or `"all"`, the mix and the biLM.
        arithmetic: numbers of the biLM's weights and products, `"float32"` or
            `"bfloat16"`. Outputs, mix and cell state are float32 either way.
        tokenizer: how the texts of `default` are split: `"spaces"`; `"words"`, which
            separates punctuation too (`split_words`); `"whitespace"` of ASCII; or
            `"unicode_script"` of tensorflow-text. None for that of the model's text.
        normalization: `"NFC"` to normalize the text of `default` first.
        as_dict: whether a call of the SavedModel returns all outputs as a dict unless
            it says otherwise. If not, it returns `default`, as google/elmo does.
        input_name: the name of the input of `default` in requests, `"sentences"` or
            google/elmo's `"text"`. Calls from TensorFlow 2 take both.
        version: the number of the version; if None, one more than the highest existing one, also
            among archives.
        warmup: whether to add warm-up requests for TensorFlow Serving.

    Returns:
        `output/<version>`, which `hub.load` and `tf.saved_model.load` take. It appears
        only when it is complete.

    Raises:
        FileExistsError: the version exists already.
        ImportError: an optional package is needed and not installed.
        ValueError: an argument is out of range, or the layer has no such mix.
    """
    check_choices(("nothing", "mix", "all"), trainable=trainable)
    check_choices(("float32", "bfloat16"), arithmetic=arithmetic)
    check_choices(("sentences", "text"), input_name=input_name)
    check_counts(0, len(elmo.mixes) - 1, representation=representation)
    new_version(Path(output), version)
    tokenizer = tokenizer or elmo.config.tokenizer
    root, signatures, mix = make_saved_model(
        elmo,
        splitter(tokenizer, normalization),
        representation=representation,
        trainable=trainable,
        arithmetic=arithmetic,
        as_dict=as_dict,
        input_name=input_name,
    )
    metadata = {
        **describe(elmo, signatures, tokenizer, normalization),
        "mix": {
            "layers": mix.layer_choice,
            "layer_weights": np.array(mix.layer_weights()).tolist(),
            "gamma": float(mix.gamma),
            "layer_norm": elmo.layer_norm,
            "l2": elmo.l2,
            "dropout": elmo.dropout,
        },
        "trainable": trainable,
        "dtype": arithmetic,
        "as_dict": as_dict,
    }
    return write_version(output, version, root, signatures, metadata, warmup=warmup)


def write_version(
    output: str | Path,
    version: int | None,
    root: tf.train.Checkpoint,
    signatures: dict,
    metadata: dict[str, Any],
    *,
    warmup: bool,
) -> str:
    """Writes the files of a version into a folder that is renamed when it is complete."""
    output = Path(output)
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".export-", dir=output) as temporary:
        folder = Path(temporary) / "version"
        tf.saved_model.save(root, folder, signatures=signatures)
        edit_saved_model(folder, signatures)
        (folder / EXTRA).mkdir()
        text = json.dumps(metadata, indent=2, ensure_ascii=False)
        (folder / EXTRA / METADATA).write_text(f"{text}\n", encoding="utf-8")
        if warmup:
            write_warmup(folder / WARM_UP, signatures)
        return str(folder.rename(new_version(output, version)))


def write_archive(version: str | Path) -> Path:
    """Writes a `.tar.gz` of a version beside it, which `hub.load` loads from a URL."""
    version = Path(version)
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


def describe(
    elmo: Elmo | None, signatures: dict, tokenizer: str, normalization: str | None
) -> dict[str, Any]:
    normalizations = normalization, elmo and elmo.config.unicode_normalization
    needs_text = tokenizer == "unicode_script" or any(normalizations)

    def tensors(specs):
        return {
            name: {"dtype": spec.dtype.name, "shape": list(spec.shape)}
            for name, spec in specs.items()
        }

    return {
        "options": None if elmo is None else to_options(elmo.config),
        "weights_sha256": None if elmo is None else elmo.bilm.digest(),
        "tokenizer": tokenizer,
        "normalization": normalization,
        "needs": ["tensorflow_text"] if needs_text else [],
        "signatures": {
            name: {
                "inputs": tensors(inputs_of(function)),
                "outputs": tensors(function.structured_outputs),
            }
            for name, function in signatures.items()
        },
        "versions": {name: installed_version(name) for name in PACKAGES},
    }


def write_warmup(path: Path, signatures: Mapping) -> None:
    """Writes requests that TensorFlow Serving runs before the first user's."""
    module = "tensorflow_serving.apis.prediction_log_pb2"
    prediction_log_pb2 = import_extra(module, "A warm-up")
    names = [name for name in ("default", "tokens") if name in signatures]
    with tf.io.TFRecordWriter(str(path)) as file:
        for (rows, length), name in itertools.product(SIZES, names):
            log = prediction_log_pb2.PredictionLog()
            request = log.predict_log.request
            request.model_spec.name = MODEL_NAME
            request.model_spec.signature_name = name
            words = np.array([f"word{i}" for i in range(rows * length)], object)
            tokens = words.reshape(rows, length)
            for key, spec in inputs_of(signatures[name]).items():
                if spec.dtype != tf.string:
                    value = np.full(rows, length if key == LENGTHS else 0, np.int32)
                elif spec.shape.rank == 1:
                    value = [" ".join(row) for row in tokens]
                else:
                    value = tokens
                request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
            file.write(log.SerializeToString())
