"""The command `senses`."""

import collections
import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmo_keras.config import Arithmetic
from elmo_keras.embed.embedder import Embedder
from elmo_keras.tasks.readers.lines import blocks, parse_all
from elmo_keras.util.arguments import Count
from elmo_keras.util.command import import_tensorflow
from elmo_keras.util.markdown_table import markdown_table

UNKNOWN = -1  # the id where no sense is known
NOTHING = "_"
_NUMBERS = r"[1-5]:\d\d:\d\d:[^:;]*:[^:;]*"
_KEY = re.compile(rf"[^%]+%{_NUMBERS}(;{_NUMBERS})*")
DIGITS = 5  # beyond these, cosines differ only by rounding


class Instance(NamedTuple):
    """A word, or an expression of several words, with a sense."""

    first: int  # of its tokens in the sentence
    end: int
    word: tuple[str, str]  # lemma and part of speech, which have senses to choose from
    senses: tuple[str, ...]  # keys, usually one


class Sentence(NamedTuple):
    tokens: list[str]
    instances: list[Instance]


def senses(
    *,
    train: str,
    test: str,
    model: str,
    arithmetic: Arithmetic | None = None,
    neighbors: Count | None = None,
    limit: Count | None = None,
) -> None:
    """Disambiguates word senses by nearest neighbours: the paper's Table 5.

    A use of a word gets the sense whose uses in training have the nearest mean vector, or
    with --neighbors N the sense of the N nearest uses, whose cosines are added up.
    Words that are not in training back off to their first sense, the most frequent sense of
    the lemma as any other part of speech. If the lemma is not in training, there is no
    answer, which counts as wrong. F1 is over all uses, and so it is the share that is right.

        elmo-keras senses --train A.tsv --test B.tsv --model MODEL

    Args:
        train: lines of word, lemma, tag and sense key
        test: the same, for scoring
        model: a model directory, a zip, or a published model's name or address
        arithmetic: float32 if not given; int8 is by LiteRT, on CPUs
        neighbors: nearest uses that decide, in place of the means of senses
        limit: first N sentences of each file
    """
    import_tensorflow()
    training, scored = read_semcor(train, limit), read_semcor(test, limit)
    for path, sentences in (train, training), (test, scored):
        if not any(sentence.instances for sentence in sentences):
            raise ValueError(f"{path} holds no word with a sense.")
    embedder = Embedder(model, layers="all", arithmetic=arithmetic)
    inventory = SenseInventory(training)
    if neighbors:
        vectors = UseVectors(embedder, training, inventory, neighbors)
    else:
        vectors = MeanVectors(embedder, training, inventory)
    instances, nearest = nearest_senses(embedder, scored, inventory, vectors)
    first = np.array([[inventory.first_sense(i.word)] for i in instances])
    keys = [*(key for _, key in inventory.senses), ""]  # the last one of UNKNOWN
    answers = zip(np.hstack([first, nearest]), instances)
    right = np.array([[keys[s] in i.senses for s in row] for row, i in answers])
    n_senses = np.array([len(inventory.sense_ids(i.word)) for i in instances])
    print(scores_table(right, n_senses))
    print(
        f"\n{len(instances):,} uses. Training has several senses of "
        f"{np.mean(n_senses > 1):.1%}, one of {np.mean(n_senses == 1):.1%}; "
        f"{np.mean(n_senses == 0):.1%} back off; {np.mean(first == UNKNOWN):.1%} of "
        "all have no answer."
    )


def read_semcor(path: str | Path, limit: int | None = None) -> list[Sentence]:
    """The sentences of a file: word, lemma, part of speech and sense key, separated by tabs.

    `_` is a missing one. An expression of several words (`took_place`) becomes several
    tokens. Two keys of one lemma are written `play%1:04:05::;1:04:04::`. Lines without a tab
    that begin with `#` are comments; an empty line ends a sentence.
    """
    sentences = (_parse_sentence(path, block) for block in blocks(path))
    return list(itertools.islice(filter(lambda s: s.tokens, sentences), limit))


def _parse_sentence(path, block):
    sentence = Sentence([], [])
    lines = [(n, line) for n, line in block if "\t" in line or line[0] != "#"]
    parse_all(path, lines, functools.partial(_add_token, sentence))
    return sentence


def _add_token(sentence, line):
    columns = line.split("\t")
    if len(columns) != 4 or not all(columns):
        raise ValueError(
            "word, lemma, part of speech and sense key, separated by tabs, are "
            f"expected (`_` for none), not {line!r}"
        )
    word, lemma, tag, key = columns
    first = len(sentence.tokens)
    sentence.tokens.extend([part for part in word.split("_") if part] or [word])
    if key == NOTHING:
        return
    if not _KEY.fullmatch(key):
        raise ValueError(
            f"a sense key such as `play%1:04:05::` is expected, not {key!r}"
        )
    name, _, numbers = key.partition("%")
    senses = tuple(f"{name}%{number}" for number in numbers.split(";"))
    word, end = (lemma, tag[0]), len(sentence.tokens)
    sentence.instances.append(Instance(first, end, word, senses))


def scores_table(right: np.ndarray, n_senses: np.ndarray) -> str:
    """A row for the first sense and for each layer, from bool `(instances, 1 + layers)`."""
    names = ["first sense", *(f"layer {i}" for i in range(right.shape[1] - 1))]
    ambiguous = right[n_senses > 1]
    scores = [right.mean(axis=0)]
    scores.append(ambiguous.mean(axis=0) if len(ambiguous) else np.nan * scores[0])
    columns = [[f"{100 * score:.1f}" for score in column] for column in scores]
    head = "", "F1", "F1 where training has several senses"
    return markdown_table(head, list(zip(names, *columns)))


class SenseInventory:
    """The senses of each word in training, the most frequent one first.

    A word is a lemma with its part of speech, a sense is a word with a key; its id is its
    index in `senses`.
    """

    def __init__(self, training: Sequence[Sentence]):
        counts = collections.Counter(
            (instance.word, key)
            for sentence in training
            for instance in sentence.instances
            for key in instance.senses
        )
        self.senses = [sense for sense, _ in counts.most_common()]
        self.id = {sense: i for i, sense in enumerate(self.senses)}
        self._of_words = collections.defaultdict(list)
        self._of_lemmas: dict[str, int] = {}  # the most frequent sense of any word
        for i, (word, _) in enumerate(self.senses):
            self._of_words[word].append(i)
            self._of_lemmas.setdefault(word[0], i)

    def sense_ids(self, word: tuple[str, str]) -> list[int]:
        return self._of_words.get(word, [])

    def first_sense(self, word: tuple[str, str]) -> int:
        """The sense most frequent in training, of the word or else its lemma; or `UNKNOWN`."""
        ids = self.sense_ids(word)
        return ids[0] if ids else self._of_lemmas.get(word[0], UNKNOWN)


class MeanVectors:
    """The mean vector of each sense's uses."""

    def __init__(
        self,
        embedder: Embedder,
        training: Sequence[Sentence],
        inventory: SenseInventory,
    ):
        config, n_senses = embedder.engine.config, len(inventory.senses)
        shape = n_senses, config.n_layers + 1, 2 * config.projection_dim
        sums = np.zeros(shape, np.float32)  # (senses, layers, dim)
        counts = np.zeros((n_senses, 1, 1), np.float32)
        for instance, vector in _instance_vectors(embedder, training):
            for key in instance.senses:
                i = inventory.id[instance.word, key]
                sums[i] += vector
                counts[i] += 1
        self.means = sums / counts

    def nearest(self, ids: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """The nearest of some senses in each layer; in a tie the first: `(layers,)`."""
        return ids[np.argmax(_cosines(self.means[ids], vector), axis=0)]


class UseVectors:
    """The vectors of all uses of each sense, of which the nearest decide."""

    def __init__(
        self,
        embedder: Embedder,
        training: Sequence[Sentence],
        inventory: SenseInventory,
        n_neighbors: int,
    ):
        self.n_neighbors, uses = n_neighbors, collections.defaultdict(list)
        for instance, vector in _instance_vectors(embedder, training):
            for key in instance.senses:
                uses[inventory.id[instance.word, key]].append(vector.astype("float16"))
        self.uses = {i: np.stack(vectors) for i, vectors in uses.items()}

    def nearest(self, ids: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """The sense of the nearest uses in each layer; in a tie the first: `(layers,)`."""
        vectors = np.concatenate([self.uses[i] for i in ids]).astype(np.float32)
        senses = np.repeat(np.arange(len(ids)), [len(self.uses[i]) for i in ids])
        cosines = _cosines(vectors, vector)  # (uses, layers)
        order = np.argsort(-cosines, axis=0, kind="stable")[: self.n_neighbors]
        votes = np.zeros((len(ids), cosines.shape[1]))
        for layer, rows in enumerate(order.T):
            np.add.at(votes[:, layer], senses[rows], cosines[rows, layer])
        return ids[np.argmax(votes, axis=0)]


def nearest_senses(
    embedder: Embedder,
    test: Sequence[Sentence],
    inventory: SenseInventory,
    vectors: MeanVectors | UseVectors,
) -> tuple[list[Instance], np.ndarray]:
    """The instances, and the ids of the senses nearest to each: int `(instances, layers)`.

    An id is `UNKNOWN` where no sense is known; in a tie it is the more frequent sense.
    """
    instances, nearest = [], []
    for instance, vector in _instance_vectors(embedder, test):
        ids = np.array(inventory.sense_ids(instance.word))
        instances.append(instance)
        if len(ids):
            nearest.append(vectors.nearest(ids, vector))
        else:
            nearest.append([inventory.first_sense(instance.word)] * len(vector))
    return instances, np.array(nearest)


def _cosines(vectors, vector):
    """Of vectors `(n, layers, dim)` with one `(layers, dim)`, rounded: `(n, layers)`."""
    norms = np.linalg.norm(vectors, axis=-1) * np.linalg.norm(vector, axis=-1)
    cosines = np.einsum("sld,ld->sl", vectors, vector) / np.maximum(norms, 1e-12)
    return np.round(cosines, DIGITS)


def _instance_vectors(
    embedder: Embedder, sentences: Sequence[Sentence]
) -> Iterator[tuple[Instance, np.ndarray]]:
    """Each instance in the order of the text, with the mean of its tokens: (layers, dim)."""
    tokens = [sentence.tokens for sentence in sentences]
    arrays = embedder.stream(tokens, progress=True)
    for sentence, layers in zip(sentences, arrays):
        for instance in sentence.instances:
            yield instance, layers[:, instance.first : instance.end].mean(axis=1)
