"""The files of a head: what a task learned, without the language model below it.

A folder holds `head.json` (`"language_model"`, its name, and `"model"`, Keras'
configuration of the task model) and `head.npz`: its weights by the names of
`TaskModel.named_weights`, matrices in int8 with a scale for each column. There too are the
words of word vectors, which are smaller when they are compressed.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from elmo_keras.files import file_digest, replacing, whole_file
from elmo_keras.formats.model_parts import parts_of_model
from elmo_keras.formats.quantise import quantise
from elmo_keras.hub.catalogue import HEAD_FILES
from elmo_keras.hub.local_files import local_files
from elmo_keras.pipelines.span_ends import SpanEnds

if TYPE_CHECKING:
    from elmo_keras.tasks.task_model import TaskModel

HEAD, ARRAYS, *_ = HEAD_FILES
_WORDS = "words"  # JSON as bytes
ENDS = "ends/kernel"  # of `SpanEnds`
_MOST = 2**28  # bytes of a file
_DAMAGES = zipfile.BadZipFile, zlib.error, EOFError, KeyError, TypeError, ValueError
LIGHT = "Tagger", "TextClassifier"  # classes that run without TensorFlow


class _Arrays(dict[str, np.ndarray]):
    def __missing__(self, name):
        raise ValueError(
            f"The head lacks {name}: another version saved it. Save it again with "
            "`save_head`."
        )


class HeadFile(NamedTuple):
    """What a folder of a head holds."""

    model: dict[str, Any]  # Keras' configuration
    language_model: str
    language: str | None
    arrays: dict[str, np.ndarray]

    @property
    def class_name(self) -> str:
        return self.model["class_name"]

    @property
    def config(self) -> dict[str, Any]:
        """The arguments of the task model."""
        return self.model["config"]


def read_head(folder: Path) -> HeadFile:
    """A head whose language model is the one that it was trained on.

    Raises:
        ValueError: the files are damaged, or the language model is another one.
    """
    try:
        metadata = json.loads(whole_file(folder / HEAD, _MOST))
        with np.load(io.BytesIO(whole_file(folder / ARRAYS, _MOST))) as file:
            arrays = {name: file[name] for name in file.files}
        model, expected = metadata["model"], metadata["digest"]
        vectors = model["config"]["token_vectors"]["config"]
        vectors["words"] = json.loads(arrays.pop(_WORDS).tobytes())
        names = metadata["language_model"], metadata.get("language")
        head = HeadFile(model, *names, _Arrays(_dequantized(arrays)))
    except _DAMAGES as error:
        raise ValueError(f"{folder} should hold a whole head. {error!r}") from error
    if _digest(head.language_model) != expected:
        raise ValueError(
            f"{folder} was trained on another {head.language_model} than the one that "
            "is here. Train it again, or install the version it was made with."
        )
    return head


def _dequantized(arrays):
    return {
        name: array * arrays.get(f"{name}|scale", np.float32(1))
        for name, array in arrays.items()
        if not name.endswith("|scale")
    }


def _digest(language_model):
    options, weights = local_files(language_model)
    files = [weights] if weights else parts_of_model(options)
    files = [file for file in files if file.is_file()]
    return file_digest(max(files, key=lambda file: file.stat().st_size))


def save_head(
    model: "str | Path | TaskModel",
    language_model: str,
    folder: str | Path,
    *,
    label_names: Mapping[str, str] | None = None,
    ends: SpanEnds | None = None,
    **metadata: Any,
) -> None:
    """Writes the head of a task model.

    Args:
        model: a `.keras` file that a task's command saved, or the model.
        language_model: what the task's command got as `--model`.
        folder: of the head.
        label_names: label → the name that the head has for it.
        ends: where the spans of a tagger end within their last token.
        **metadata: `language`, `"en"` or `"ko"`, so that a pipeline warns of another script.

    Raises:
        ValueError: the model's frozen language model is another one, or it has none; or
            the file is no `.keras` file.
    """
    import keras

    from elmo_keras.elmo import Elmo

    name = model if isinstance(model, (str, Path)) else "The model"
    if isinstance(model, (str, Path)):
        model = load_task_model(Path(model))
    vectors, folder = model.token_vectors, Path(folder)
    if vectors.elmo is None or vectors.elmo.trainable_bilm:
        raise ValueError(
            f"{name} should be a model of a task on a frozen language model."
        )
    if vectors.character_dim and type(model).__name__ in LIGHT:
        raise ValueError(
            "A head without TensorFlow has no characters. Train it with "
            "`character_dim` 0."
        )
    expected = Elmo.from_pretrained(language_model).bilm
    if _biases(vectors.elmo.bilm) != _biases(expected):
        raise ValueError(f"{name} was trained on another model than {language_model}.")
    config: Any = keras.saving.serialize_keras_object(model)
    for key in ("compile_config", "build_config"):
        config.pop(key, None)
    if label_names:
        labels = config["config"]["labels"]
        labels[:] = [label_names.get(label, label) for label in labels]
    words = config["config"]["token_vectors"]["config"].pop("words")
    words = json.dumps(words, ensure_ascii=False).encode()
    arrays: dict[str, Any] = {_WORDS: np.frombuffer(words, np.uint8)}
    for weight_name, weight in model.named_weights().items():
        arrays |= _quantized(weight_name, np.asarray(weight))
    if ends is not None:
        arrays |= _quantized(ENDS, ends.kernel)
    metadata |= {
        "language_model": language_model,
        "digest": _digest(language_model),
        "model": config,
    }
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / ARRAYS) as temporary:
        np.savez_compressed(temporary, **arrays)
    with replacing(folder / HEAD) as temporary:
        text = json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))
        temporary.write_text(f"{text}\n", encoding="utf-8")


def _biases(bilm):
    return [w.numpy().tobytes() for w in bilm.weights if len(w.shape) == 1]


def _quantized(name, array):
    """A matrix in int8, with a scale for each column; vectors as they are."""
    if array.ndim < 2:
        return {name: array}
    values, scales = quantise(array, tuple(range(array.ndim - 1)))
    return {name: values, f"{name}|scale": scales.reshape(-1)}


def load_task_model(path: Path) -> "TaskModel":
    """The model in a `.keras` file of a task's command, by TensorFlow."""
    from elmo_keras.formats.keras_files import load_keras_model
    from elmo_keras.tasks import import_models
    from elmo_keras.tasks.task_model import TaskModel

    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    import_models()
    model = load_keras_model(path)
    if not isinstance(model, TaskModel):
        raise ValueError(
            f"{path} should be a model of a task's command. It is a "
            f"{type(model).__name__}."
        )
    return model


def keras_model(head: HeadFile) -> "TaskModel":
    """The task model with its language model, by TensorFlow."""
    import keras

    from elmo_keras.elmo import Elmo
    from elmo_keras.tasks import import_models

    import_models()
    model: Any = keras.saving.deserialize_keras_object(head.model)
    model.build()
    bilm = Elmo.from_pretrained(head.language_model).bilm
    model.token_vectors.elmo.bilm.set_weights(bilm.get_weights())
    for name, weight in model.named_weights().items():
        weight.assign(head.arrays[name])
    return model
