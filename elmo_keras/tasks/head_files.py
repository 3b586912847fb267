"""The files of a head: what a task learned, without the language model below it.

A folder holds `head.json` (`"language_model"`, its name, and `"model"`, Keras'
configuration of the task model) and `head.npz`: its weights by the names of
`TaskModel.named_weights`, matrices in int8 with a scale for each column. There too are the
words of word vectors, which are smaller when they are compressed.
"""

import contextlib
import io
import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from elmo_keras.argument_checks import check_choices, check_counts, check_numbers
from elmo_keras.files import file_digest, replacing, whole_file
from elmo_keras.formats.quantise import quantise
from elmo_keras.hub.catalogue import HEAD_FILES, TRAINING, parts_of_model
from elmo_keras.hub.local_files import absolute, local_files
from elmo_keras.quiet import quiet_import
from elmo_keras.tasks.span_ends import SpanEnds
from elmo_keras.text.sentences import str_tokens
from elmo_keras.text.word_rules import RULES

if TYPE_CHECKING:
    from elmo_keras.tasks.task_model import TaskModel

HEAD, ARRAYS, *_ = HEAD_FILES
KERAS = ".keras"
MODEL = f"model{KERAS}"  # beside a head that a task's command trained, or in its place
_WORDS, _SCALE = "words", "|scale"  # JSON as bytes; after the name of a matrix
_MOST, _MOST_CARD = 2**28, 2**24  # bytes of all arrays and of the configuration
PREDICATES = "predicates"  # folder of the head that finds the predicates of roles
ENDS = "ends/kernel"  # of `SpanEnds`
_MOST_UNITS, _MOST_ROWS = 2**15, 2**24  # of a layer, of n-grams
_TEMPERATURES = 0.01, 100
# Parts of a head whose weights make logits, and are divided by its temperature.
_LOGITS = "scores crf decision ngrams start_scores end_scores no_answer_score".split()
_LIGHT = "Tagger", "TextClassifier", "QuestionAnswering", "DependencyParser"
# What reading values of other kinds raises.
_DAMAGES = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError),
    *(NotImplementedError, RecursionError, RuntimeError, TypeError, ValueError),
    *(zipfile.BadZipFile, zlib.error),
)


@contextlib.contextmanager
def whole_head(path: str | Path) -> Iterator[None]:
    """What damaged files of a head raise becomes a ValueError that names them."""
    try:
        yield
    except _DAMAGES as error:
        if isinstance(error, ValueError) and str(path) in str(error):
            raise
        lacks = isinstance(error, KeyError)
        reason = f"It lacks {error}." if lacks else str(error) or type(error).__name__
        raise ValueError(f"{path} should hold a whole head. {reason}") from error


class HeadFile(NamedTuple):
    """What a folder of a head holds."""

    model: dict[str, Any]  # Keras' configuration
    language_model: str
    arrays: dict[str, np.ndarray]
    language: str | None = None
    tokenizer: str = "words"  # how a text is split, see `split_words`
    temperature: float = 1.0  # that divides weights which make logits, see `save_head`

    @property
    def config(self) -> dict[str, Any]:
        """The arguments of the task model."""
        return self.model["config"]

    @property
    def vectors(self) -> dict[str, Any]:
        """The arguments of its `TokenVectors`."""
        return self.config["token_vectors"]["config"]

    def weight(self, name: str, *shape: int) -> np.ndarray:
        """A weight in float32, which should have this shape."""
        weight = self.arrays.get(name)
        if weight is None:
            raise ValueError(
                f"{name} is missing: another version saved it. Save it again with "
                "`save_head`."
            )
        if weight.shape != shape:
            raise ValueError(
                f"{name} should have the shape {shape}. Found: {weight.shape}"
            )
        return weight


def read_config(path: Path) -> dict[str, Any]:
    """Keras' configuration of the task model in a `.keras` file or a head's folder."""
    return _read_card(path)["model"]


def _read_card(path):
    with whole_head(path):
        if path.suffix == KERAS:
            with zipfile.ZipFile(path) as archive:
                _check_sizes(archive, ["config.json"], _MOST_CARD)
                card = {"model": json.loads(archive.read("config.json"))}
        else:
            card = json.loads(whole_file(path / HEAD, _MOST_CARD))
        is_light(card["model"])  # it has a class and its vectors
        return card


def is_light(config: Mapping[str, Any]) -> bool:
    """Whether the model of a head runs without TensorFlow."""
    vectors = config["config"]["token_vectors"]["config"]
    return config["class_name"] in _LIGHT and not vectors["character_dim"]


def read_head(folder: Path) -> HeadFile:
    """A head whose language model is the one that it was trained on.

    Raises:
        ValueError: the files are damaged, or the language model is another one.
    """
    card = _read_card(folder)
    with whole_head(folder):
        with np.load(io.BytesIO(whole_file(folder / ARRAYS, _MOST))) as file:
            _check_sizes(file.zip, file.zip.namelist(), _MOST)
            arrays = {name: file[name] for name in file.files}
        name, expected = card["language_model"], card["digest"]
        beside = folder / name
        name = os.path.realpath(beside) if beside.exists() else name
        optional = "language", "tokenizer", "temperature"
        more = {key: card[key] for key in optional if key in card}
        head = HeadFile(card["model"], name, _dequantized(arrays), **more)
        check_choices(tuple(RULES), tokenizer=head.tokenizer)
        check_numbers(*_TEMPERATURES, temperature=head.temperature)
        for name, weight in head.arrays.items():
            if name.partition("/")[0] in _LOGITS:
                head.arrays[name] = weight / np.float32(head.temperature)
        head.vectors["words"] = str_tokens(json.loads(arrays[_WORDS].tobytes()))
        config = head.config | head.vectors
        check_counts(0, _MOST_ROWS, ngram_rows=config.pop("ngram_rows", 0))
        sizes = [value for value in config.values() if type(value) is int]
        check_counts(least=0, most=_MOST_UNITS, sizes=max(sizes))
    if _digest(head.language_model) != expected:
        raise ValueError(
            f"{folder} was trained on another {head.language_model} than the one that "
            "is here. Train it again, or install the version it was made with."
        )
    return head


def _check_sizes(archive, names, most):
    """Refuses a ZIP whose files would take more memory than any that we write."""
    if sum(archive.getinfo(name).file_size for name in names) > most:
        raise ValueError(f"It unpacks to more than {most:,} bytes.")


def _dequantized(arrays):
    weights = {}
    for name, array in arrays.items():
        if name == _WORDS or name.endswith(_SCALE):
            continue
        scale = arrays.get(name + _SCALE)
        types = [x.dtype for x in (array, scale) if x is not None]
        if types not in ([np.float32], [np.int8, np.float32]):
            raise ValueError(f"{name} should be int8 with a scale, or float32.")
        if scale is not None:
            if scale.shape != array.shape[-1:]:
                raise ValueError(f"{name} should have a scale for each column.")
            with np.errstate(over="ignore", invalid="ignore"):  # refused below
                array = array * scale
        if not np.isfinite(array).all():
            raise ValueError(f"{name} should hold finite numbers.")
        weights[name] = array
    return weights


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
        **metadata: `language`, `"en"` or `"ko"`, so that a pipeline warns of another
            script; `tokenizer`, how it splits texts: `"words"`, `"ewt"` or `"gsd"`, see
            `split_words`; `temperature`, that divides the logits of scores, see
            `fit_temperature`.

    Raises:
        ValueError: the model's frozen language model is another one, or it has none; or
            the file is no `.keras` file.
    """
    import keras

    from elmo_keras.elmo import Elmo

    name, folder = "The model", Path(folder)
    if isinstance(model, (str, Path)):
        name, model = model, load_task_model(Path(model))
    vectors = model.token_vectors
    if vectors.elmo is None or vectors.elmo.trainable_bilm:
        raise ValueError(
            f"{name} should be a model of a task on a frozen language model."
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
    weights = model.named_weights() | ({} if ends is None else {ENDS: ends.kernel})
    for weight_name, weight in weights.items():
        arrays |= _quantized(weight_name, np.asarray(weight, np.float32))
    with whole_head(folder):
        _dequantized(arrays)
    metadata |= {
        "language_model": absolute(language_model),
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
    return {name: values, name + _SCALE: scales.reshape(-1)}


def copy_model(source: Path, target: Path) -> None:
    """Copies a file, a model directory, or a head with a language model that lies at a path."""
    if source.is_file():
        shutil.copy2(source, target)
        return
    # Vectors don't need what training does, and a head not the model that it is of.
    is_head = (source / HEAD).is_file()
    ignored = shutil.ignore_patterns(TRAINING, *[MODEL] * is_head)
    shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
    for card in target.rglob(HEAD):
        metadata = json.loads(card.read_bytes())
        model = Path(metadata["language_model"])
        if model.is_absolute():
            # Beside the head that is copied with it.
            suffix = model.suffix if model.is_file() else ""
            copy = target / f"language_model{suffix}"
            copy_model(model, copy)
            metadata["language_model"] = os.path.relpath(copy, card.parent)
            card.write_text(json.dumps(metadata, ensure_ascii=False), encoding="utf-8")


def load_task_model(path: Path) -> "TaskModel":
    """The model in a `.keras` file of a task's command, by TensorFlow."""
    with quiet_import():
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
    with quiet_import():
        import keras

        from elmo_keras.elmo import Elmo
        from elmo_keras.tasks import import_models

    import_models()
    model: Any = keras.saving.deserialize_keras_object(head.model)
    model.build()
    for name, weight in model.named_weights().items():
        weight.assign(head.weight(name, *weight.shape))
    bilm = Elmo.from_pretrained(head.language_model).bilm
    model.token_vectors.elmo.bilm.set_weights(bilm.get_weights())
    return model
