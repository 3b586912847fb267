"""Disambiguates word senses by nearest neighbours: the paper's Table 5.

    python examples/senses.py --train A.tsv --test B.tsv --model en

A use of a word gets the sense whose uses in training have the nearest mean vector, or with
`--neighbors N` the sense of the N nearest uses, whose cosines are added up. Words that are
not in training back off to their first sense, the most frequent sense of the lemma as any
other part of speech. If the lemma is not in training, there is no answer, which counts as
wrong. F1 is over all uses, and so it is the share that is right.

A line of a file has word, lemma, part of speech and sense key, separated by tabs; `_` is a
missing one. An expression of several words (`took_place`) becomes several tokens. Two keys
of one lemma are written `play%1:04:05::;1:04:04::`. Lines without a tab that begin with `#`
are comments; an empty line ends a sentence.
"""

import argparse
import collections
from typing import NamedTuple

import numpy as np

from elmo_keras import Embedder

Word = tuple[str, str]  # lemma and part of speech, which have senses to choose from
Sentence = tuple[list[str], list["Use"]]
DIGITS = 5  # beyond these, cosines differ only by rounding


class Use(NamedTuple):
    """A word, or an expression of several words, with a sense."""

    first: int  # of its tokens in the sentence
    end: int
    word: Word
    keys: tuple[str, ...]  # usually one


def main(
    train: str, test: str, model: str, arithmetic: str | None, neighbors: int | None
):
    training, scored = read_semcor(train), read_semcor(test)
    embedder = Embedder(model, layers="all", arithmetic=arithmetic)
    senses = count_senses(training)
    vectors = collections.defaultdict(list)
    for use, vector in use_vectors(embedder, training):
        for key in use.keys:
            vectors[use.word, key].append(vector)
    stacked = {
        sense: np.stack(some) if neighbors else np.mean(some, axis=0, keepdims=True)
        for sense, some in vectors.items()
    }
    right, n_senses, n_missing = [], [], 0
    for use, vector in use_vectors(embedder, scored):
        keys = senses[use.word]
        first = (keys or senses[use.word[0]] or [None])[0]
        n_missing += first is None
        answers = [first] * (1 + len(vector))
        if keys:
            uses = [stacked[use.word, key] for key in keys]
            indices = nearest_senses(uses, vector, neighbors or 1)
            answers[1:] = [keys[i] for i in indices]
        right.append([answer in use.keys for answer in answers])
        n_senses.append(len(keys))
    print_scores(np.array(right), np.array(n_senses), n_missing)


def read_semcor(path: str) -> list[Sentence]:
    sentences: list[Sentence] = [([], [])]
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            columns = line.rstrip("\r\n").split("\t")
            if line.isspace():
                sentences.append(([], []))
            elif len(columns) == 4 and ("%" in columns[3] or columns[3] == "_"):
                add_word(*sentences[-1], *columns)
            elif len(columns) > 1 or line[0] != "#":
                raise ValueError(f"{path}:{number} has not the four columns: {line!r}")
    return [sentence for sentence in sentences if sentence[0]]


def add_word(tokens: list[str], uses: list[Use], word, lemma, tag, key) -> None:
    first = len(tokens)
    tokens.extend([part for part in word.split("_") if part] or [word])
    if key != "_":
        name, _, numbers = key.partition("%")
        keys = tuple(f"{name}%{number}" for number in numbers.split(";"))
        uses.append(Use(first, len(tokens), (lemma, tag[0]), keys))


def count_senses(sentences: list[Sentence]) -> dict[Word | str, list[str]]:
    """The keys of each word and of each lemma, the most frequent one first."""
    uses = (use for _, uses in sentences for use in uses)
    counts = collections.Counter((use.word, key) for use in uses for key in use.keys)
    senses = collections.defaultdict(list)
    for (word, key), _ in counts.most_common():
        senses[word].append(key)
        senses[word[0]].append(key)
    return senses


def use_vectors(embedder: Embedder, sentences: list[Sentence]):
    """Yields each use with the mean of its tokens: `(layers, dim)`."""
    arrays = embedder.stream([tokens for tokens, _ in sentences], progress=True)
    for (_, uses), layers in zip(sentences, arrays):
        for use in uses:
            yield use, layers[:, use.first : use.end].mean(axis=1)


def nearest_senses(uses: list[np.ndarray], vector: np.ndarray, n: int) -> list[int]:
    """The sense of the `n` nearest uses in each layer; in a tie the more frequent one.

    `uses` holds the vectors of each sense, `(uses, layers, dim)`.
    """
    senses = np.repeat(np.arange(len(uses)), list(map(len, uses)))
    rows = np.concatenate(uses)
    norms = np.linalg.norm(rows, axis=-1) * np.linalg.norm(vector, axis=-1)
    cosines = np.einsum("uld,ld->ul", rows, vector) / np.maximum(norms, 1e-12)
    cosines, nearest = cosines.round(DIGITS).T, []  # (layers, uses)
    for of_layer in cosines:
        votes = collections.defaultdict(float)
        for i in np.argsort(-of_layer, kind="stable")[:n]:
            votes[senses[i]] += of_layer[i]
        nearest.append(max(sorted(votes), key=votes.__getitem__))
    return nearest


def print_scores(right: np.ndarray, n_senses: np.ndarray, n_missing: int) -> None:
    """Prints a row for the first sense and for each layer: `right` (uses, 1 + layers)."""
    print("| | F1 | F1 where training has several senses |\n|---|---|---|")
    names = ["first sense", *(f"layer {i}" for i in range(right.shape[1] - 1))]
    for name, column in zip(names, 100 * right.T):
        print(f"| {name} | {column.mean():.1f} | {column[n_senses > 1].mean():.1f} |")
    print(
        f"\n{len(right):,} uses. Training has several senses of {np.mean(n_senses > 1):.1%}, "
        f"one of {np.mean(n_senses == 1):.1%}; {np.mean(n_senses == 0):.1%} back off; "
        f"{n_missing / len(right):.1%} of all have no answer."
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", required=True, help="lines of word, lemma, tag, key")
    parser.add_argument("--test", required=True, help="the same, for scoring")
    parser.add_argument("--model", required=True, help="a directory, name or address")
    parser.add_argument("--arithmetic", help="int8, …; float32 if not given")
    parser.add_argument("--neighbors", type=int, help="nearest uses that decide")
    main(**vars(parser.parse_args()))
