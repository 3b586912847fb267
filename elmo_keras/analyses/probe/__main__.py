"""Tells parts of speech from the vectors of each layer alone: the paper's Table 6.

    python -m elmo_keras.tasks.probe --train A.conllu --dev B.conllu --elmo MODEL_DIR

A linear classifier for each layer of the frozen biLM, whose vectors are computed once.
They train for a number of epochs that is fixed, so that nothing is chosen on --dev.
"""

import argparse
import collections
import sys
from collections.abc import Sequence

import keras
import numpy as np

from elmo_keras.elmo import Elmo
from elmo_keras.tasks.analyses.analysis import run, spread, table
from elmo_keras.tasks.analyses.layer_probes import LayerProbes
from elmo_keras.tasks.experiments.batches import Batches, predictions
from elmo_keras.tasks.experiments.layer_cache import LayerCache
from elmo_keras.tasks.readers.tagged_text import read_conllu
from elmo_keras.training_arguments import positive, seed

PROGRAM = "elmo_keras.tasks.probe"
UNKNOWN = -2  # a tag that training lacks


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(
        prog=f"python -m {PROGRAM}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = p.add_argument
    add("--train", required=True, metavar="FILE", help="CoNLL-U")
    add("--dev", required=True, metavar="FILE", help="CoNLL-U, is scored")
    add("--elmo", required=True, metavar="MODEL", help="a model directory or a zip")
    add("--limit", type=positive(int), metavar="N", help="first N training sentences")
    add("--seeds", type=seed, nargs="+", default=[1])
    add("--epochs", type=positive(int), default=10)
    add("--batch-size", type=positive(int), default=32)
    add("--learning-rate", type=positive(float), default=1e-3)
    return p


def main(arguments=None) -> int:
    """Runs the program; returns its exit status."""
    arguments = parser().parse_args(arguments)
    return run(PROGRAM, lambda: probe(arguments))


def probe(arguments) -> int:
    """Trains the classifiers and prints their table: the exit status."""
    train = read_conllu(arguments.train)[: arguments.limit]
    dev = read_conllu(arguments.dev)
    elmo = Elmo.from_pretrained(arguments.elmo)
    cache = LayerCache(elmo, [example["tokens"] for example in train + dev], verbose=1)
    runs = [accuracies(train, dev, cache, s, arguments) for s in arguments.seeds]
    rows = [("each word's most frequent tag", f"{100 * majority(train, dev):.2f}")]
    for layer, values in enumerate(zip(*runs)):
        rows.append((f"layer {layer}", spread(values)))
    print(table(("", "accuracy"), rows))
    n_tokens = sum(len(example["tokens"]) for example in dev)
    print(f"\n{n_tokens:,} tokens; seeds: {len(runs)}")
    return 0


def accuracies(
    train: Sequence[dict],
    dev: Sequence[dict],
    cache: LayerCache,
    seed: int,
    arguments: argparse.Namespace,
) -> np.ndarray:
    """The share of the tokens of `dev` that each layer's classifier has right.

    Args:
        train, dev: examples with `tokens` and `tags`.
        cache: has the layers of their tokens.
        seed: that of the first weights and of the order.
        arguments: `epochs`, `batch_size`, `learning_rate`.

    Returns:
        float64 `(layers,)`.
    """
    keras.utils.set_random_seed(seed)
    tags = sorted({tag for example in train for tag in example["tags"]})
    gold = [numbers(example, tags) for example in dev]
    model = LayerProbes(cache.shape[1], len(tags))
    # XLA has no strings.
    model.compile(keras.optimizers.Adam(arguments.learning_rate), jit_compile=False)
    labels = [numbers(example, tags) for example in train]
    batches = Batches(train, ["tokens"], (), labels, cache, arguments.batch_size)
    for epoch in range(1, arguments.epochs + 1):
        model.fit(batches.shuffled(seed, epoch), shuffle=False, verbose=0)
    found = predictions(model, Batches(dev, ["tokens"], cache=cache))
    right = [f[:, : len(g)] == g for f, g in zip(found, gold)]
    return np.concatenate(right, axis=1).mean(axis=1)


def numbers(example: dict, tags: Sequence[str]) -> np.ndarray:
    """The numbers of an example's tags, `UNKNOWN` for what is none of `tags`."""
    return np.array([tags.index(t) if t in tags else UNKNOWN for t in example["tags"]])


def majority(train: Sequence[dict], dev: Sequence[dict]) -> float:
    """Accuracy of the tag that a word, or else any word, mostly has in training."""
    counts = collections.defaultdict(collections.Counter)
    for example in train:
        for token, tag in zip(example["tokens"], example["tags"]):
            counts[token][tag] += 1
    of_all = sum(counts.values(), collections.Counter())
    right = [
        counts.get(token, of_all).most_common(1)[0][0] == tag
        for example in dev
        for token, tag in zip(example["tokens"], example["tags"])
    ]
    return float(np.mean(right))


if __name__ == "__main__":
    sys.exit(main())
