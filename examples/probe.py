"""Predicts parts of speech, or labels of texts, from the vectors of each layer.

    python examples/probe.py --train A.conllu --dev B.conllu --model en --seeds 1 2 3
    python examples/probe.py --train A.jsonl --dev B.jsonl --model en

A linear classifier learns from each layer of the frozen language model: of each token, as
in the paper's Table 6, or in files of `train-head classify` of the mean vector of a text's
tokens. The number of epochs is fixed, so that nothing is chosen on --dev. All vectors are in
memory: 4 bytes · tokens · layers · dimensions.
"""

import argparse
import collections
from typing import Any

import keras
import numpy as np

from elmo_keras import Embedder
from elmo_keras.heads import Classification, read_conllu


def main(arguments: argparse.Namespace) -> None:
    read = read_conllu if ".conllu" in arguments.train else Classification().read
    training, scored = read(arguments.train)[: arguments.limit], read(arguments.dev)
    embedder = Embedder(arguments.model, layers="all", arithmetic=arguments.arithmetic)
    (x, words, tags), (x_dev, words_dev, tags_dev) = (
        features(embedder, examples) for examples in (training, scored)
    )
    names = sorted({*tags})
    y = np.array([names.index(tag) for tag in tags])
    # A tag that training lacks is never right.
    y_dev = np.array([names.index(tag) if tag in names else -1 for tag in tags_dev])
    print("| | accuracy |\n| --- | --- |")
    frequent = 100 * majority((words, tags), (words_dev, tags_dev))
    print(f"| the most frequent label | {frequent:.2f} |")
    runs = [
        accuracies((x, y), (x_dev, y_dev), seed, arguments) for seed in arguments.seeds
    ]
    for layer, scores in enumerate(100 * np.array(runs).T):
        deviation = f" ± {scores.std(ddof=1):.2f}" if len(scores) > 1 else ""
        print(f"| layer {layer} | {scores.mean():.2f}{deviation} |")
    print(f"\n{len(tags_dev):,} labels; seeds: {len(runs)}")


def features(embedder: Embedder, examples: list[dict]) -> tuple:
    """Vectors `(n, layers, dim)` of tokens or of whole texts, their words, and their labels."""
    layers = embedder.stream([example["tokens"] for example in examples])
    x, words, tags = [], [], []
    for example, vectors in zip(examples, layers):
        if "tags" in example:
            x.append(vectors.swapaxes(0, 1))
            words += example["tokens"]
            tags += example["tags"]
        else:
            x.append(vectors.sum(axis=1)[None] / max(1, len(example["tokens"])))
            words.append("")
            tags.append(example["label"])
    return np.concatenate(x), words, tags


def accuracies(train: tuple, dev: tuple, seed: int, arguments) -> np.ndarray:
    """The accuracy of each layer's classifier; all train side by side, as if alone."""
    keras.utils.set_random_seed(seed)
    (x, y), (x_dev, y_dev) = train, dev
    shape = (x.shape[1], int(y.max()) + 1)
    scores = keras.layers.EinsumDense("nld,ldc->nlc", shape, bias_axes="lc")
    model = keras.Sequential([scores])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(arguments.learning_rate), loss)
    labels = np.repeat(y[:, None], shape[0], axis=1)
    silent: Any = 0
    model.fit(x, labels, arguments.batch_size, arguments.epochs, silent)
    predicted = model.predict(x_dev, 1024, silent).argmax(axis=2)
    return (predicted == y_dev[:, None]).mean(axis=0)


def majority(train: tuple, dev: tuple) -> float:
    """Accuracy of each word's most frequent label; of all labels' for other words."""
    of_words = {}
    for (word, tag), _ in collections.Counter(zip(*train)).most_common():
        of_words.setdefault(word, tag)
    [(frequent, _)] = collections.Counter(train[1]).most_common(1)
    right = [of_words.get(word, frequent) == tag for word, tag in zip(*dev)]
    return float(np.mean(right))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("--train", "--dev", "--model"):
        parser.add_argument(name, required=True)
    parser.add_argument("--arithmetic", help="int8 is by LiteRT, on CPUs")
    parser.add_argument("--limit", type=int, help="first N training examples")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=256, help="tokens, or texts")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    main(parser.parse_args())
