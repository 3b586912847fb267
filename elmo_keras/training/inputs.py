"""The inputs of a training run: texts, vocabulary, and the model to start from."""

import collections
import dataclasses
import functools
import itertools
import pydoc_data.topics
import re
from collections.abc import Iterator
from pathlib import Path

from elmo_keras.base.files import file_stamp
from elmo_keras.config import ElmoConfig
from elmo_keras.formats.model_directory import find_model
from elmo_keras.formats.model_files import ModelFiles
from elmo_keras.formats.options import read_options, to_config
from elmo_keras.text.corpus import Corpus, TextStatistics, unknown_share
from elmo_keras.text.dictionary import TokenDictionary
from elmo_keras.text.files import read_sentences, text_files
from elmo_keras.text.vocabulary import Vocabulary
from elmo_keras.training.options import RunSettings, TextData

VALIDATION_TOPICS = slice(5, None, 10)  # topics of Python's reference
MIN_COUNT = 2  # rarer words are <UNK>
MAX_UNKNOWN = 0.9  # share of the training text

_TOKEN = re.compile(r"\w+(?:['’]\w+)?|([^\w\s])\1*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[\"“(]?[A-Z])")
_PROSE = re.compile(r"(?:[*\d\[][\d.\]]* )?[\"“(*]*[A-Z].*[.:!?]\)?", re.DOTALL)
# The indices of sentences that are held out without a held-out text.
HELD_OUT = range(0, 40_000, 20)
_NOT_PROSE = re.compile(r"::=|>>>|\|  |---|Related help topics")


@dataclasses.dataclass(frozen=True)
class Inputs:
    pretrained: ModelFiles | None  # the model that training starts from
    config: ElmoConfig
    vocabulary: Vocabulary  # the words of the softmax
    new_softmax: bool  # over words that the model to start from can't predict
    train: Corpus
    valid: Corpus

    @functools.cached_property
    def statistics(self) -> list[TextStatistics]:
        return [
            TextStatistics.from_corpus(text, self.vocabulary, self.config)
            for text in (self.train, self.valid)
        ]


def read_inputs(data: TextData, settings: RunSettings, *, cache: Path) -> Inputs:
    """Reads everything that a run starts from; `cache` keeps the text as word ids."""
    pretrained = softmax_vocabulary = model_vocabulary = None
    if settings.model is not None:
        pretrained = _find_pretrained(settings, data)
        config = pretrained.config
        if pretrained.has_softmax and not settings.new_softmax:
            softmax_vocabulary = pretrained.vocabulary
        # The vocabulary of a model of tokens can't be another.
        model_vocabulary = (
            pretrained.vocabulary if config.is_of_tokens else softmax_vocabulary
        )
    else:
        preset = settings.preset or "tiny"
        is_file = preset.endswith(".json")
        config = (
            to_config(read_options(preset)) if is_file else ElmoConfig.preset(preset)
        )
        config = dataclasses.replace(config, **settings.character_options)
    # Python's reference is split into words, too.
    tokenizer = data.tokenizer if data.train and not data.raw_text else "words"
    if tokenizer:
        config = dataclasses.replace(config, tokenizer=tokenizer)
    vocabulary = (
        Vocabulary.load(data.vocabulary) if data.vocabulary else model_vocabulary
    )
    valid, train = _texts(data, config, cache)
    if vocabulary is None:
        vocabulary = _count_words(data, config, train)
    else:
        _check_no_words_are_counted(data)
    if settings.tokens or config.is_of_tokens:
        dictionary = TokenDictionary.from_vocabulary(vocabulary.words)
        if pretrained and dictionary != config.dictionary:
            raise ValueError(
                "`vocabulary` can't be another for a model of tokens. Leave it out."
            )
        config = dataclasses.replace(
            config,
            filters=(),
            n_highway=0,
            char_embedding_dim=0,
            dictionary=dictionary,
            word_embedding_dim=config.projection_dim,
        )
    predicted = softmax_vocabulary and softmax_vocabulary.digest
    new_softmax = pretrained is not None and predicted != vocabulary.digest
    return Inputs(pretrained, config, vocabulary, new_softmax, train, valid)


def _texts(data, config, cache):
    """The held-out text and the training text."""
    if data.train:
        return validation_text(data, config), _training_text(data, config, cache)
    topics = python_reference()
    valid = Corpus.from_sentences(itertools.chain(*topics[VALIDATION_TOPICS]))
    del topics[VALIDATION_TOPICS]
    return valid, Corpus.from_sentences(itertools.chain(*topics))


def _find_pretrained(settings, data):
    files = find_model(settings.model, weights=settings.weights, prefer_checkpoint=True)
    # For a checkpoint, the user's vocabulary replaces one beside it.
    if data.vocabulary and (files.vocabulary_path is None or files.is_checkpoint):
        files = dataclasses.replace(files, vocabulary_path=data.vocabulary)
    if files.vocabulary_path is None and files.is_checkpoint:
        raise ValueError(
            "`vocabulary` should name the file of words that the softmax of "
            f"{settings.model} was trained with."
        )
    return files


def _sentences(data, patterns, config) -> Iterator[list[str]]:
    return read_sentences(
        patterns, raw_text=data.raw_text, normalization=config.unicode_normalization
    )


def validation_text(data: TextData, config: ElmoConfig) -> Corpus:
    """The held-out text, which must have a sentence; a part of the training text's."""
    if data.valid:
        valid = Corpus.from_sentences(_sentences(data, data.valid, config))
    else:
        sentences = _sentences(data, data.train, config)
        held_out = itertools.islice(sentences, 0, HELD_OUT.stop, HELD_OUT.step)
        valid = Corpus.from_sentences(held_out)
    if not len(valid):
        name = "valid" if data.valid else "train"
        raise ValueError(f"`{name}` names files that hold no sentence.")
    return valid


def _training_text(data, config, cache):
    files, held_out = text_files(data.train), text_files(data.valid or ())
    if both := [path for path in files if any(map(path.samefile, held_out))]:
        raise ValueError(
            f"`train` and `valid` both name {both[0]}, and a perplexity should be of text "
            "that is not trained on. Take it out of one of them."
        )
    stamps = [data.raw_text, config.unicode_normalization, *map(file_stamp, files)]
    sentences = _sentences(data, data.train, config)
    if not data.valid:
        stamps.append(f"every {HELD_OUT.step}th left out, at most {len(HELD_OUT)}")
        sentences = (s for i, s in enumerate(sentences) if i not in HELD_OUT)
    train = Corpus.in_files(sentences, cache, stamps)
    if not len(train):
        least = "no sentence" if data.valid else "less than two sentences"
        raise ValueError(f"`train` names files that hold {least}.")
    return train


def python_reference() -> list[list[list[str]]]:
    """The sentences of prose in Python's language reference, topic by topic.

    A sentence of several topics occurs once, so that none is in both texts. Tokens are
    words, and runs of one other character.
    """
    seen: set[tuple[str, ...]] = set()
    topics = []
    for text in pydoc_data.topics.topics.values():
        sentences = dict.fromkeys(_sentences_of_topic(text))
        topics.append([list(s) for s in sentences if s not in seen])
        seen.update(sentences)
    return topics


def _sentences_of_topic(text) -> Iterator[tuple[str, ...]]:
    for paragraph in re.split(r"\n\s*\n", text):
        prose = " ".join(paragraph.split())
        if not _PROSE.fullmatch(prose) or _NOT_PROSE.search(paragraph):
            continue
        for sentence in _SENTENCE_END.split(prose):
            yield tuple(match.group() for match in _TOKEN.finditer(sentence))


def _check_no_words_are_counted(data):
    for name in ("vocabulary_size", "vocabulary_text", "min_count"):
        if getattr(data, name) is not None:
            reason = "is for counting words, and there is a vocabulary already"
            raise ValueError(f"`{name}` {reason}. Leave it out.")


def _count_words(data, config, train):
    counts = collections.Counter(dict(zip(train.words, train.counts().tolist())))
    for sentence in _sentences(data, data.vocabulary_text or [], config):
        counts.update(sentence)
    min_count = data.min_count or MIN_COUNT
    return Vocabulary.from_counts(counts, data.vocabulary_size, min_count)


def check_vocabulary(inputs: Inputs) -> None:
    """Refuses a vocabulary that lacks more than `MAX_UNKNOWN` of the training text."""
    unknown = unknown_share(inputs.train, inputs.vocabulary)
    if unknown > MAX_UNKNOWN:
        raise ValueError(
            f"`vocabulary` lacks {unknown:.1%} of the tokens of the training text: its "
            f"{len(inputs.vocabulary):,} words leave little but <UNK> to predict. Give "
            "another one, a lower `min_count`, a higher `vocabulary_size`, or "
            "`new_softmax` for a vocabulary of this text."
        )
