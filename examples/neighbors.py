"""Prints the nearest neighbours of words and of their uses: the paper's Table 4.

    python examples/neighbors.py text.txt --model en --words play bank

The text holds one sentence a line, tokens separated by spaces. A word by itself is compared
by its context-independent vector, layer 0, with one list of nearest words. Its uses are
compared by the last layer of the biLM, each with a list of its own; two are shown, the
first one in the text and the one least similar to it. That tells apart senses of different
parts of speech (to play, a play); the other words of a sentence tell more about two nouns
(bank).
"""

import argparse
import collections

import numpy as np

from elmo_keras import Embedder

MAX_WORDS, MAX_USES = 20_000, 1000  # the most frequent words, the first uses
AROUND = 5  # tokens that are shown on either side


def main(text: str, model: str, words: list[str], arithmetic: str | None, top: int):
    with open(text, encoding="utf-8") as file:
        sentences = [line.split() for line in file]
    counts = collections.Counter(token for tokens in sentences for token in tokens)
    candidates = [word for word, _ in counts.most_common(MAX_WORDS)]
    candidates = list(dict.fromkeys([*candidates, *words]))
    # The last layer distinguishes the senses of a word best (Peters et al., Table 5).
    embedder = Embedder(model, layers="top", arithmetic=arithmetic)
    alone = Embedder(model, layers=0, arithmetic=arithmetic)
    vectors = np.concatenate(alone.encode([[word] for word in candidates]))
    for word in words:
        order, cosines = nearest(vectors, candidates.index(word))
        shown = (f"{candidates[i]} {c:.3f}" for i, c in zip(order[:top], cosines))
        print(f"\n{word}: {', '.join(shown)}")
        uses = [(s, i) for s in sentences for i, token in enumerate(s) if token == word]
        print_uses(embedder, uses[:MAX_USES], top)


def print_uses(embedder: Embedder, uses: list[tuple[list[str], int]], top: int) -> None:
    """Prints the uses nearest to the first one, and to the one least similar to it."""
    if len(uses) < 2:
        print(f"  {len(uses)} uses: two are needed to compare them.")
        return
    layers = embedder.stream([tokens for tokens, _ in uses])
    vectors = np.stack([layer[i] for layer, (_, i) in zip(layers, uses)])
    for query in (0, nearest(vectors, 0)[0][-1]):
        print(f"  Nearest to {excerpt(*uses[query])}")
        for other, cosine in list(zip(*nearest(vectors, query)))[:top]:
            print(f"     {cosine:6.3f} {excerpt(*uses[other])}")


def nearest(vectors: np.ndarray, query: int) -> tuple[np.ndarray, np.ndarray]:
    """The other rows in descending order of their cosine to row `query`."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit[query]
    order = np.argsort(-cosines, kind="stable")
    order = order[order != query]
    return order, cosines[order]


def excerpt(tokens: list[str], i: int) -> str:
    before, after = tokens[max(0, i - AROUND) : i], tokens[i + 1 : i + 1 + AROUND]
    return " ".join([*before, f"[{tokens[i]}]", *after])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text", help="one sentence a line")
    parser.add_argument("--model", required=True, help="a directory, name or address")
    parser.add_argument("--words", nargs="+", required=True, help="to look for")
    parser.add_argument("--arithmetic", help="int8, …; float32 if not given")
    parser.add_argument("--top", type=int, default=3, help="length of a list")
    main(**vars(parser.parse_args()))
