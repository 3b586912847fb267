"""Measures how near the vectors of LiteRT's int8 are to those of float32.

    python -m tests.benchmarks.int8 MODEL --text FILE

MODEL is a trained model with a softmax, FILE holds one sentence a line, tokens separated
by spaces. The tables show

- for each layer the cosine to the float32 vectors of the same tokens, and how many of
  the ten nearest tokens, of the same sentences, of some tokens are the same;
- the error, relative to the vectors' length, by the position in texts of 800 tokens;
- the perplexity of the words after and before each token.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from elmo_keras import Embedder, LanguageModel
from tests.benchmarks import runner

FLOAT32, INT8 = "float32", "int8"
LONG, ENDS = 800, (0, 25, 100, 200, 400, 800)
N_LONG, N_QUERIES, TOP, AT_ONCE = 8, 1000, 10, 500
Layers = Sequence[np.ndarray]  # (layers, tokens, dim) of each sentence


def main(
    model: str,
    /,
    *,
    text: Path,
    sentences: runner.Count = 1000,
) -> None:
    tokens = runner.read(text, sentences)
    embedders = {
        kind: Embedder(model, layers="all", arithmetic=kind) for kind in (FLOAT32, INT8)
    }
    exact, rounded = (embedder.encode(tokens) for embedder in embedders.values())
    n_tokens = sum(map(len, tokens))
    print(f"{len(tokens):,} sentences of {n_tokens:,} tokens\n")
    runner.head("layer", "mean cosine", "worst", f"{TOP} nearest that are the same")
    words = [word for sentence in tokens for word in sentence]
    exact_rows, rows = (np.concatenate(layers, axis=1) for layers in (exact, rounded))
    # Layer 0 is the same for all uses of a word.
    distinct = [words.index(word) for word in dict.fromkeys(words)]
    for layer, (a, b) in enumerate(zip(exact_rows, rows)):
        a, b = (a, b) if layer else (a[distinct], b[distinct])
        cosines = runner.cosines(a, b)
        shown = f"{cosines.mean():.6f}", f"{cosines.min():.5f}"
        runner.row(layer, *shown, f"{same_neighbours(a, b):.1%}")
    print()
    runner.head("tokens of a text", "relative error of the last layer")
    texts = [words[i : i + LONG] for i in range(0, N_LONG * LONG, LONG)]
    a, b = (np.stack(e.encode(texts))[:, -1] for e in embedders.values())
    for first, end in zip(ENDS, ENDS[1:]):
        some, other = a[:, first:end], b[:, first:end]
        error = np.linalg.norm(other - some) / np.linalg.norm(some)
        runner.row(f"{first} to {end}", f"{error:.4f}")
    print()
    runner.head("arithmetic", "perplexity ahead", "perplexity back")
    lm = LanguageModel.from_pretrained(model)
    for kind, layers in ((FLOAT32, exact), (INT8, rounded)):
        runner.row(kind, *(f"{p:.3f}" for p in perplexities(lm, tokens, layers)))


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def same_neighbours(exact: np.ndarray, rounded: np.ndarray) -> float:
    """The share of the nearest rows that are nearest in both."""
    rng, n = np.random.default_rng(0), len(exact)
    queries = rng.choice(n, min(N_QUERIES, n), replace=False)

    def nearest(vectors):
        vectors = unit(vectors)
        cosines = vectors[queries] @ vectors.T
        cosines[np.arange(len(queries)), queries] = -np.inf
        return np.argpartition(cosines, -TOP, axis=1)[:, -TOP:]

    pairs = zip(nearest(exact), nearest(rounded))
    return float(np.mean([len({*a} & {*b}) / TOP for a, b in pairs]))


def perplexities(
    lm: LanguageModel, sentences: Sequence[Sequence[str]], layers: Layers
) -> Iterator[float]:
    """Perplexities of the next words and of those before, within sentences."""
    dim = layers[0].shape[-1] // 2
    ids = [lm.vocabulary.encode(sentence) for sentence in sentences]
    for half, reads, predicts in (
        (slice(None, dim), slice(None, -1), slice(1, None)),
        (slice(dim, None), slice(1, None), slice(None, -1)),
    ):
        vectors = np.concatenate([rows[-1, reads, half] for rows in layers])
        targets = np.concatenate([rows[predicts] for rows in ids])
        parts = [
            lm.bilm.softmax.log_probabilities_of(
                tf.constant(vectors[i : i + AT_ONCE]),
                tf.constant(targets[i : i + AT_ONCE]),
            )
            for i in range(0, len(targets), AT_ONCE)
        ]
        yield float(np.exp(-np.mean(np.concatenate(parts))))


if __name__ == "__main__":
    runner.run(main)
