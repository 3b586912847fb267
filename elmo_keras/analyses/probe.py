"""The command `probe`."""

import collections
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from elmo_keras.config import Arithmetic
from elmo_keras.embed.embedder import Embedder
from elmo_keras.util.arguments import Count, Positive, Seeds
from elmo_keras.util.command import import_tensorflow
from elmo_keras.util.markdown_table import markdown_table, percent_spread

if TYPE_CHECKING:
    from elmo_keras.embed.layer_cache import LayerCache

CONLLU = "conllu"
UNKNOWN = -2  # a tag that the training examples lack


def probe(
    *,
    train: str,
    dev: str,
    model: str,
    format: Literal["conllu", "fasttext", "trees", "nsmc"] = "conllu",
    arithmetic: Arithmetic | None = None,
    limit: Count | None = None,
    seeds: Seeds = (1,),  # pyright: ignore[reportArgumentType]
    epochs: Count = 10,
    batch_size: Count = 32,
    learning_rate: Positive = 1e-3,
) -> None:
    """Predicts parts of speech, or labels of texts, from the vectors of each layer.

    Trains a linear classifier for each layer of the frozen biLM, whose vectors are computed
    once: of each token as in the paper's Table 6, or of the mean vector of a text's tokens.
    The number of epochs is fixed, so that nothing is chosen on --dev.

        elmo-keras probe --train A.conllu --dev B.conllu --model MODEL
        elmo-keras probe --format trees --train A.txt --dev B.txt --model MODEL

    Args:
        train: examples to train on
        dev: examples for scoring
        model: a model directory, a zip, or a published model's name or address
        format: parts of speech, or texts with a label as in `classify`
        arithmetic: float32 if not given; int8 is by LiteRT, on CPUs
        limit: first N training examples
        seeds: of the classifiers
        epochs: number of epochs
        batch_size: examples in a step
        learning_rate: of the classifiers
    """
    import_tensorflow()
    from elmo_keras.embed.layer_cache import LayerCache

    training = read_examples(train, format)[:limit]
    scored = read_examples(dev, format)
    embedder = Embedder(model, layers="all", arithmetic=arithmetic)
    texts = [example["tokens"] for example in training + scored]
    cache = LayerCache(embedder, texts, progress=True)
    of_texts = format != CONLLU
    runs = [
        accuracies(
            training,
            scored,
            cache,
            of_texts=of_texts,
            seed=seed,
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
        )
        for seed in seeds
    ]
    baseline = "most frequent label" if of_texts else "each word's most frequent tag"
    rows = [(baseline, percent_spread([majority(training, scored, of_texts)]))]
    for layer, values in enumerate(zip(*runs)):
        rows.append((f"layer {layer}", percent_spread(values)))
    print(markdown_table(("", "accuracy"), rows))
    n_scored = sum(len(example["tags"]) for example in scored)
    print(f"\n{n_scored:,} {'texts' if of_texts else 'tokens'}; seeds: {len(seeds)}")


def read_examples(path: str | Path, format: str) -> list[dict]:
    """The examples of a file: `tokens`, and the `tags` of all or one of the text."""
    from elmo_keras.tasks.readers.labelled_texts import READERS
    from elmo_keras.tasks.tag.tagged_text import read_conllu

    if format == CONLLU:
        return read_conllu(path)
    return [
        {"tokens": text["tokens"], "tags": [text["label"]]}
        for text in READERS[format](path)
    ]


def accuracies(
    train: list[dict],
    dev: list[dict],
    cache: "LayerCache",
    *,
    of_texts: bool,
    seed: int,
    epochs: int,
    batch_size: int,
    learning_rate: float,
) -> np.ndarray:
    """The accuracy of each layer's classifier on the tokens, or texts, of `dev`."""
    import keras

    from elmo_keras.analyses.layer_probes import LayerProbes
    from elmo_keras.tasks.batches import Batches, predictions

    keras.utils.set_random_seed(seed)
    tags = sorted({tag for example in train for tag in example["tags"]})
    model = LayerProbes(len(cache.rms), len(tags), of_texts)
    # XLA has no strings.
    optimizer = keras.optimizers.Adam(learning_rate)
    model.compile(optimizer, jit_compile=False)  # pyright: ignore[reportArgumentType]
    labels = [tag_ids(example, tags) for example in train]
    batches = Batches(
        train, ["tokens"], labels=labels, cache=cache, batch_size=batch_size
    )
    for epoch in range(1, epochs + 1):
        dataset = batches.shuffled(seed, epoch)
        model.fit(dataset, shuffle=False, verbose=0)  # pyright: ignore[reportArgumentType]
    gold = [tag_ids(example, tags) for example in dev]
    predicted = predictions(
        model.predict_on_batch, Batches(dev, ["tokens"], cache=cache)
    )
    right = [p[:, : len(g)] == g for p, g in zip(predicted, gold)]
    return np.concatenate(right, axis=1).mean(axis=1)


def tag_ids(example: dict, tags: Sequence[str]) -> np.ndarray:
    """The index of each tag of an example, `UNKNOWN` for those not in `tags`."""
    return np.array([tags.index(t) if t in tags else UNKNOWN for t in example["tags"]])


def majority(train: list[dict], dev: list[dict], of_texts: bool = False) -> float:
    """Accuracy of each word's most frequent tag, or else of all tags' most frequent one."""
    counts = collections.Counter(
        pair for example in train for pair in tagged_words(example, of_texts)
    )
    of_words, of_all = {}, collections.Counter()
    for (word, tag), count in counts.most_common():
        of_words.setdefault(word, tag)
        of_all[tag] += count
    [(frequent, _)] = of_all.most_common(1)
    right = [
        of_words.get(word, frequent) == tag
        for example in dev
        for word, tag in tagged_words(example, of_texts)
    ]
    return float(np.mean(right))


def tagged_words(example: dict, of_texts: bool) -> Iterable[tuple[str, str]]:
    """The tags of an example, each with its word; a text's with `""`."""
    return zip([""] if of_texts else example["tokens"], example["tags"])
