"""The inputs of a training run: texts, vocabulary, and the model to start from."""

import collections
import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

from elmo_keras.config import ElmoConfig
from elmo_keras.model_files.found_model import ModelFiles
from elmo_keras.model_files.model_directory import find_model
from elmo_keras.text.corpus import Corpus
from elmo_keras.text.files import raw_text_tokenizer, read_sentences, text_files
from elmo_keras.text.vocabulary import SPECIAL_WORDS, Vocabulary
from elmo_keras.training.python_reference import python_reference

HELD_OUT = slice(5, None, 10)  # topics of Python's reference
MIN_COUNT = 2  # rarer words are <UNK>


@dataclasses.dataclass(frozen=True)
class TextFiles:
    """The files of text, plain or gzipped.

    Args:
        train: patterns of files to train on, or None for Python's language reference.
        valid: patterns of files that are held out, or None as in `train`.
        raw_text: whether they hold raw text instead of one tokenized sentence a line.
    """

    train: list[str] | None = None
    valid: list[str] | None = None
    raw_text: bool = False

    def sentences(self, patterns: list[str], config: ElmoConfig):
        """Yields the sentences of files that match the patterns."""
        tokenizer = raw_text_tokenizer() if self.raw_text else None
        return read_sentences(patterns, tokenizer, config.unicode_normalization)


@dataclasses.dataclass(frozen=True)
class VocabularySource:
    """The source of the vocabulary.

    Args:
        file: a `vocab.txt`, or None to count words.
        text: patterns of further files whose words are counted, or None.
        max_size: maximum number of words, or None.
        min_count: rarer words are left out; None for `MIN_COUNT`.

    Raises:
        ValueError: `max_size` leaves no room for a word besides the special ones.
    """

    file: Path | None = None
    text: list[str] | None = None
    max_size: int | None = None
    min_count: int | None = None

    def __post_init__(self):
        special = len(SPECIAL_WORDS)
        if self.max_size is not None and self.max_size <= special:
            raise ValueError(
                f"--vocabulary-size should be at least {special + 1}, as "
                f"{', '.join(SPECIAL_WORDS)} are part of it. Received: {self.max_size}"
            )


@dataclasses.dataclass(frozen=True)
class StartingPoint:
    """The model and the weights that training starts from.

    Args:
        model: what `find_model` takes, or None for random weights.
        weights: published HDF5 weights, if `model` is an `options.json`.
        preset: name of the sizes for random weights; None for `tiny`.
        changes: fields of `ElmoConfig` that replace those of the preset.
        new_softmax: whether the softmax is new even if the model has one.
        warm_up_steps: steps that train only the softmax; None for the default.
    """

    model: str | Path | None = None
    weights: str | Path | None = None
    preset: str | None = None
    changes: dict[str, Any] = dataclasses.field(default_factory=dict)
    new_softmax: bool = False
    warm_up_steps: int | None = None


class Inputs(NamedTuple):
    """The checked inputs of a run.

    Attributes:
        start: the model that training starts from.
        pretrained: its files, or None for random weights.
        config: sizes of the model.
        vocabulary: words of the softmax.
        train, valid: the texts.
    """

    start: StartingPoint
    pretrained: ModelFiles | None
    config: ElmoConfig
    vocabulary: Vocabulary
    train: Corpus
    valid: Corpus


def read_inputs(
    text: TextFiles, words: VocabularySource, start: StartingPoint, *, cache: Path
) -> Inputs:
    """Reads everything that a run starts from.

    Args:
        text: the texts.
        words: the source of the vocabulary.
        start: the model that training starts from.
        cache: folder that keeps the training text as numbers.

    Raises:
        ValueError, OSError: an input is wrong; the message names it.
    """
    pretrained = None
    if start.model is not None:
        pretrained = _pretrained(start, words)
    config = pretrained.config if pretrained else _new_config(start)
    if text.train:
        valid = held_out_text(text, config)
        train = _training_text(text, config, cache)
    else:
        train, valid = _python_reference()
    has_words = pretrained and pretrained.has_softmax and not start.new_softmax
    known = pretrained.vocabulary if has_words else None
    vocabulary = _vocabulary(words, known) or _counted(words, text, config, train=train)
    return Inputs(
        start=start,
        pretrained=pretrained,
        config=config,
        vocabulary=vocabulary,
        train=train,
        valid=valid,
    )


def _pretrained(start, words):
    files = find_model(start.model, start.weights, prefer_checkpoint=True)
    if files.vocabulary_file is None:
        files = dataclasses.replace(files, vocabulary_file=words.file)
    if files.vocabulary_file is None and files.is_checkpoint:
        raise ValueError(
            f"{start.model} has a softmax, whose words are needed. Give the file that "
            "it was trained with as --vocabulary."
        )
    return files


def _new_config(start):
    preset = ElmoConfig.preset(start.preset or "tiny")
    try:
        return dataclasses.replace(preset, **start.changes)
    except ValueError as error:
        message = str(error)
        for field in start.changes:
            message = message.replace(f"`{field}`", f"--{field.replace('_', '-')}")
        raise ValueError(message) from error


def _python_reference():
    topics = python_reference()
    held_out = range(len(topics))[HELD_OUT]
    parts = ([], [])
    for i, topic in enumerate(topics):
        parts[i in held_out].extend(topic)
    return Corpus.of(parts[0]), Corpus.of(parts[1])


def held_out_text(text: TextFiles, config: ElmoConfig) -> Corpus:
    """The held-out text.

    Raises:
        ValueError: it is empty.
    """
    valid = Corpus.of(text.sentences(text.valid, config))
    if not len(valid):
        raise ValueError("The files of --valid hold no sentence.")
    return valid


def _training_text(text, config, cache):
    train = Corpus.in_files(
        text.sentences(text.train, config),
        cache,
        [
            text.raw_text,
            config.unicode_normalization,
            *map(_fingerprint, text_files(text.train)),
        ],
    )
    if not len(train):
        raise ValueError("The files of --train hold no sentence.")
    return train


def _fingerprint(path):
    """A value that changes whenever the file is written."""
    about = path.stat()
    return [str(path), about.st_size, about.st_mtime_ns]


def _vocabulary(words, known):
    """The vocabulary of the file or of the model, or None if words are counted."""
    if not (words.file or known):
        return None
    counting = {
        "vocabulary-size": words.max_size,
        "vocabulary-text": words.text,
        "min-count": words.min_count,
    }
    for name, value in counting.items():
        if value is not None:
            raise ValueError(
                f"There is a vocabulary already, so words are not counted. Leave out "
                f"--{name}."
            )
    return Vocabulary.load(words.file) if words.file else known


def _counted(words, text, config, *, train):
    counts = collections.Counter(dict(zip(train.words, train.counts().tolist())))
    for sentence in text.sentences(words.text or [], config):
        counts.update(sentence)
    return Vocabulary.from_counts(counts, words.max_size, words.min_count or MIN_COUNT)
