"""Predicts parts of speech, or labels of texts, from the vectors of each layer.

    elmo-keras probe --train A.conllu --dev B.conllu --elmo MODEL
    elmo-keras probe --format trees --train A.txt --dev B.txt --elmo MODEL

Trains a linear classifier for each layer of the frozen biLM, whose vectors are computed
once: of each token as in the paper's Table 6, or of the mean vector of a text's tokens.
The number of epochs is fixed, so that nothing is chosen on --dev.
"""

import argparse
import collections
import sys
from collections.abc import Iterable, Sequence

import numpy as np

from elmo_keras.embed.embedder import Embedder
from elmo_keras.hub.local_files import ARITHMETIC, MODEL_HELP
from elmo_keras.util.argument_types import Distinct, positive, seed
from elmo_keras.util.command import command_parser, run_command
from elmo_keras.util.markdown_table import markdown_table, percent_spread

PROGRAM = "elmo_keras.analyses.probe"
CONLLU = "conllu"
TEXTS = "fasttext", "trees", "nsmc"
UNKNOWN = -2  # a tag that the training examples lack


def main(arguments: Sequence[str] | None = None) -> int:
    p = command_parser(PROGRAM, __doc__)
    add = p.add_argument
    add("--train", required=True, metavar="FILE")
    add("--dev", required=True, metavar="FILE", help="for scoring")
    kinds = "parts of speech (default), or texts with a label, as in `classify`"
    add("--format", choices=[CONLLU, *TEXTS], default=CONLLU, help=kinds)
    add("--elmo", required=True, metavar="MODEL", help=MODEL_HELP)
    add("--arithmetic", **ARITHMETIC)
    add("--limit", type=positive(int), metavar="N", help="first N training examples")
    add("--seeds", type=seed, nargs="+", action=Distinct, default=[1])
    add("--epochs", type=positive(int), default=10)
    add("--batch-size", type=positive(int), default=32)
    add("--learning-rate", type=positive(float), default=1e-3)
    options = p.parse_args(arguments)
    return run_command(PROGRAM, lambda: probe(options))


def probe(options: argparse.Namespace) -> None:
    from elmo_keras.tasks.experiments.layer_cache import LayerCache  # by Keras

    train = read(options.train, options.format)[: options.limit]
    dev = read(options.dev, options.format)
    elmo = Embedder(options.elmo, layers="all", arithmetic=options.arithmetic)
    cache = LayerCache(elmo, [example["tokens"] for example in train + dev], verbose=1)
    of_sentences = options.format != CONLLU
    runs = [accuracies(train, dev, cache, options, s) for s in options.seeds]
    kind = "most frequent label" if of_sentences else "each word's most frequent tag"
    rows = [(kind, percent_spread([majority(train, dev, of_sentences)]))]
    for layer, values in enumerate(zip(*runs)):
        rows.append((f"layer {layer}", percent_spread(values)))
    print(markdown_table(("", "accuracy"), rows))
    n_scored = sum(len(example["tags"]) for example in dev)
    scored = "texts" if of_sentences else "tokens"
    print(f"\n{n_scored:,} {scored}; seeds: {len(runs)}")


def read(path: str, format: str) -> list[dict]:
    """The examples of a file: `tokens`, and the `tags` of all or one of the text."""
    from elmo_keras.tasks.readers.labelled_texts import READERS
    from elmo_keras.tasks.tag.tagged_text import read_conllu

    if format == CONLLU:
        return read_conllu(path)
    return [
        {"tokens": text["tokens"], "tags": [text["label"]]}
        for text in READERS[format](path)
    ]


def accuracies(train, dev, cache, options, seed) -> np.ndarray:
    """The accuracy of each layer's classifier on the tokens, or sentences, of `dev`."""
    import keras

    from elmo_keras.analyses.probe.layer_probes import LayerProbes
    from elmo_keras.tasks.experiments.batches import Batches, predictions

    keras.utils.set_random_seed(seed)
    tags = sorted({tag for example in train for tag in example["tags"]})
    gold = [numbers(example, tags) for example in dev]
    model = LayerProbes(cache.shape[1], len(tags), options.format != CONLLU)
    # XLA has no strings.
    model.compile(keras.optimizers.Adam(options.learning_rate), jit_compile=False)
    labels, size = [numbers(example, tags) for example in train], options.batch_size
    batches = Batches(train, ["tokens"], labels=labels, cache=cache, batch_size=size)
    for epoch in range(1, options.epochs + 1):
        model.fit(batches.shuffled(seed, epoch), shuffle=False, verbose=0)
    found = predictions(model, Batches(dev, ["tokens"], cache=cache))
    right = [f[:, : len(g)] == g for f, g in zip(found, gold)]
    return np.concatenate(right, axis=1).mean(axis=1)


def numbers(example: dict, tags: Sequence[str]) -> np.ndarray:
    """The index of each tag of an example, `UNKNOWN` for those not in `tags`."""
    return np.array([tags.index(t) if t in tags else UNKNOWN for t in example["tags"]])


def majority(train: list[dict], dev: list[dict], of_sentences: bool = False) -> float:
    """Accuracy of each word's most frequent tag, or else of all tags' most frequent one."""
    counts = collections.Counter(
        pair for example in train for pair in tagged(example, of_sentences)
    )
    of_words, of_all = {}, collections.Counter()
    for (word, tag), number in counts.most_common():
        of_words.setdefault(word, tag)
        of_all[tag] += number
    frequent = max(of_all, key=of_all.get)
    right = [
        of_words.get(word, frequent) == tag
        for example in dev
        for word, tag in tagged(example, of_sentences)
    ]
    return float(np.mean(right))


def tagged(example: dict, of_sentences: bool) -> Iterable[tuple[str, str]]:
    """The tags of an example, each with its word; a sentence's with `""`."""
    return zip([""] if of_sentences else example["tokens"], example["tags"])


if __name__ == "__main__":
    sys.exit(main())
