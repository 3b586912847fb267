"""The files of a head: what a task learned, without the language model below it.

A folder holds `head.json`, see `Card`, and `head.safetensors`: the weights by the names of
`TaskModel.named_weights`, matrices in int8 with a scale for each column.
"""

import contextlib
import dataclasses
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elmo_keras.base.argument_checks import (
    check_choices,
    check_counts,
    check_lines,
    check_numbers,
    from_json,
)
from elmo_keras.base.files import file_digest, replacing, whole_file
from elmo_keras.formats.quantise import quantise
from elmo_keras.heads.kinds import Kind, find_kind, load, load_models
from elmo_keras.hub.catalogue import (
    HEAD_FILES,
    TRAINING,
    is_address,
    parts_of_model,
)
from elmo_keras.hub.local_files import absolute, local_files
from elmo_keras.text.word_rules import RULES

if TYPE_CHECKING:
    from elmo_keras.heads.model import TaskModel

HEAD, ARRAYS, *_ = HEAD_FILES
KERAS = ".keras"
MODEL = f"model{KERAS}"  # the whole model, beside a head or in its place
PREDICATES = "predicates"  # folder of the head that finds the predicates of roles
_SCALE = "|scale"  # suffix of the scales of a matrix
_MAX_BYTES, _MAX_CARD = 2**28, 2**25  # bytes of all arrays, and of head.json
_MAX_UNITS, _MAX_ROWS = 2**15, 2**24  # units of a layer, rows of n-grams
_TEMPERATURES = 0.01, 100
_LANGUAGE = re.compile("[a-z]{2,3}")
_PUBLIC = re.compile(r"hf://|https://([\w-]+\.)+[a-z]{2,}(:\d+)?(/|$)")


@dataclasses.dataclass(frozen=True, kw_only=True)
class VectorArguments:
    """The arguments of a head's `TokenVectors` except its `Elmo` layer."""

    words: list[str]
    word_dim: int
    character_dim: int
    elmo_at: str
    dropout: float
    trainable_words: bool
    endings: list[str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ElmoArguments:
    """The arguments of a head's `Elmo` layer, and two sizes of its language model."""

    layers: str | int
    num_representations: int
    layer_norm: bool
    dropout: float
    l2: float
    n_layers: int
    projection_dim: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class NetworkArguments:
    """The arguments that the networks of all kinds share, except their `TokenVectors`."""

    units: int
    dropout: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Card:
    """The content of `head.json`."""

    kind: str
    language_model: str  # its name, or its path from the head's folder
    digest: str  # SHA-256 of the largest file of the language model
    model: dict[str, Any]  # arguments of the kind's network
    token_vectors: dict[str, Any]
    elmo: dict[str, Any]
    language: str | None = None  # such as "en"
    tokenizer: str = "words"  # how a text is split, see `split_words`
    temperature: float = 1.0  # divides the weights that make logits, see `save_head`
    score_slope: float = 1.0  # factor of the log odds of a word's score in a tree
    score_bias: float = 0.0  # added to these log odds


class Head:
    """A head that was read: its card, and its weights in float32 by their names.

    Attributes:
        kind: its row of `KINDS`.
        vectors, elmo: the arguments of its token vectors and of its `Elmo` layer.
    """

    def __init__(self, card: Card, arrays: dict[str, np.ndarray]):
        self.card, self.arrays = card, arrays
        self.kind: Kind = find_kind(card.kind)
        self.vectors = from_json(VectorArguments, card.token_vectors)
        self.elmo = from_json(ElmoArguments, card.elmo)
        check_choices(tuple(RULES), tokenizer=card.tokenizer)
        slope, temperature = card.score_slope, card.temperature
        check_numbers(*_TEMPERATURES, temperature=temperature, score_slope=slope)
        check_numbers(-100, 100, score_bias=card.score_bias)
        sizes = {**card.model, **card.token_vectors, **card.elmo}
        check_counts(0, _MAX_ROWS, ngram_rows=sizes.pop("ngram_rows", 0))
        counts = {name: x for name, x in sizes.items() if type(x) is int}
        check_counts(0, _MAX_UNITS, **counts)

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


@contextlib.contextmanager
def whole_head(path: str | Path) -> Iterator[None]:
    """Errors about the content of a head's files become a ValueError that names them."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if str(path) in str(error):
            raise
        raise ValueError(f"{path} should hold a whole head. {error}") from error


def read_card(folder: Path) -> Card:
    """The card of a head; its fields have the types that they should have."""
    with whole_head(folder):
        try:
            card = from_json(Card, json.loads(whole_file(folder / HEAD, _MAX_CARD)))
        except RecursionError as error:
            raise ValueError(f"{HEAD} should not be nested: {error}") from None
        _check_card(card)
        return card


def _check_card(card):
    """Refuses values with which a pipeline would download from anywhere, or print codes."""
    check_language_model(card.language_model)
    if card.language is not None and not _LANGUAGE.fullmatch(card.language):
        raise ValueError(
            f"`language` should be a code such as en. Received: {card.language!r:.80}"
        )


def check_language_model(name: str) -> None:
    """Refuses a language model that is neither a path, a name nor a public address."""
    check_lines(language_model=[name])
    if is_address(name) and not _PUBLIC.match(name):
        raise ValueError(
            "The language model of a head should be a name, a path, hf://OWNER/NAME or "
            f"https://HOST/PATH of a public host. Received: {name:.200}"
        )


def read_head(folder: Path) -> Head:
    """A head whose language model is the one that it was trained on.

    Raises:
        ValueError: the files are damaged, or the language model is another one.
    """
    card = read_card(folder)
    beside = folder / card.language_model
    if beside.exists():
        card = dataclasses.replace(card, language_model=os.path.realpath(beside))
    with whole_head(folder):
        head = Head(card, _dequantize(_read_arrays(folder / ARRAYS)))
        for name, weight in head.arrays.items():
            if any(f"{name}/".startswith(f"{x}/") for x in head.kind.logits):
                head.arrays[name] = weight / np.float32(card.temperature)
    if model_digest(card.language_model) != card.digest:
        raise ValueError(
            f"{folder} was trained on another {card.language_model} than the one that "
            "is here. Train it again, or install the version it was made with."
        )
    return head


def _read_arrays(path):
    import safetensors
    from safetensors.numpy import load as load_arrays

    try:
        return load_arrays(whole_file(path, _MAX_BYTES))
    except (safetensors.SafetensorError, KeyError) as error:  # a type NumPy lacks
        raise ValueError(
            f"{path.name} should be a file of safetensors. {error}"
        ) from None


def _dequantize(arrays):
    weights = {}
    for name, array in arrays.items():
        if name.endswith(_SCALE):
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


def model_digest(language_model: str) -> str:
    """SHA-256 of the largest file of a language model, which holds its weights."""
    options, weights = local_files(language_model)
    files = [weights] if weights else parts_of_model(options)
    files = [file for file in files if file.is_file()]
    if not files:
        raise ValueError(f"{language_model} should hold a language model.")
    return file_digest(max(files, key=lambda file: file.stat().st_size))


def save_head(
    model: "str | Path | TaskModel",
    language_model: str,
    folder: str | Path,
    *,
    arrays: Mapping[str, np.ndarray] | None = None,
    **metadata: Any,
) -> None:
    """Writes the head of a task model.

    Args:
        model: a `.keras` file that `train-head` saved, or the model.
        language_model: the name or path of its frozen language model.
        folder: of the head.
        arrays: further weights of the head, such as those of `SpanEnds`.
        **metadata: `language`, such as `"en"`, so that a pipeline warns of another
            script; `tokenizer`, how it splits texts: `"words"`, `"ewt"` or `"gsd"`, see
            `split_words`; `temperature`, that divides the logits of scores; `score_slope`
            and `score_bias` of a parser, see `TreeDecoder`.

    Raises:
        ValueError: the model's frozen language model is another one, or it has none; or
            the file is no `.keras` file.
    """
    from elmo_keras.elmo import Elmo

    name, folder = "The model", Path(folder)
    if isinstance(model, (str, Path)):
        name, model = model, load_task_model(Path(model))
    vectors, elmo = model.token_vectors, model.token_vectors.elmo
    if elmo is None or elmo.trainable_bilm:
        raise ValueError(
            f"{name} should be a model of a task on a frozen language model."
        )
    if elmo.bilm.digest() != Elmo.from_pretrained(language_model).bilm.digest():
        raise ValueError(f"{name} was trained on another model than {language_model}.")
    arguments = json.loads(json.dumps(model.arguments()))
    config = elmo.get_config() | {
        "n_layers": elmo.config.n_layers,
        "projection_dim": elmo.config.projection_dim,
    }
    card = Card(
        kind=model.kind,
        language_model=absolute(language_model),
        digest=model_digest(language_model),
        model=arguments,
        token_vectors=vectors.arguments(),
        elmo={f.name: config[f.name] for f in dataclasses.fields(ElmoArguments)},
        **metadata,
    )
    write_head(folder, card, {**model.named_weights(), **(arrays or {})})


def write_head(folder: Path, card: Card, weights: Mapping[str, Any]) -> None:
    """Writes a card and weights, matrices in int8 with a scale for each column."""
    from safetensors.numpy import save

    arrays: dict[str, np.ndarray] = {}
    for name, weight in weights.items():
        arrays[name] = array = np.asarray(weight, np.float32)
        if array.ndim > 1:
            arrays[name], scales = quantise(array, tuple(range(array.ndim - 1)))
            arrays[name + _SCALE] = scales.reshape(-1)
    with whole_head(folder):
        _check_card(card)
        _dequantize(arrays)
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / ARRAYS) as temporary:
        # safetensors 0.8.0 saves the values of a transposed array in another order.
        contiguous = {name: np.array(x, order="C") for name, x in arrays.items()}
        temporary.write_bytes(save(contiguous))
    with replacing(folder / HEAD) as temporary:
        values = {k: v for k, v in vars(card).items() if v is not None}
        text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
        temporary.write_text(f"{text}\n", encoding="utf-8")


def copy_model(source: Path, target: Path) -> None:
    """Copies a file, a model directory, or a head with a language model that lies at a path."""
    if source.is_file():
        shutil.copy2(source, target)
        return
    # Vectors need no file of training, and a head doesn't need the whole model.
    is_head = (source / HEAD).is_file()
    ignored = shutil.ignore_patterns(TRAINING, *[MODEL] * is_head)
    shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
    for card in target.rglob(HEAD):
        metadata = json.loads(card.read_bytes())
        model = Path(metadata["language_model"])
        if model.is_absolute():
            # The copy of the language model lies beside the head.
            suffix = model.suffix if model.is_file() else ""
            copy = target / f"language_model{suffix}"
            copy_model(model, copy)
            metadata["language_model"] = os.path.relpath(copy, card.parent)
            card.write_text(json.dumps(metadata, ensure_ascii=False), encoding="utf-8")


def load_task_model(path: Path) -> "TaskModel":
    """The model in a `.keras` file of `train-head`, by TensorFlow."""
    from elmo_keras.formats.keras_files import load_keras_model
    from elmo_keras.heads.model import TaskModel

    load_models()
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    model = load_keras_model(path)
    if not isinstance(model, TaskModel):
        raise ValueError(
            f"{path} should be a model of train-head. It is a {type(model).__name__}."
        )
    return model


def keras_model(head: Head) -> "TaskModel":
    """The task model with its language model, by TensorFlow."""
    from elmo_keras.elmo import Elmo
    from elmo_keras.heads.token_vectors import TokenVectors

    make = load(head.kind.model)
    arguments = dataclasses.asdict(head.elmo)
    for name in ("n_layers", "projection_dim"):
        arguments.pop(name)
    elmo = Elmo.from_pretrained(head.card.language_model, **arguments)
    vectors = TokenVectors(elmo=elmo, **dataclasses.asdict(head.vectors))
    model = make(vectors, **head.card.model)
    model.build()
    for name, weight in model.named_weights().items():
        weight.assign(head.weight(name, *weight.shape))
    return model
