"""Measures how near the vectors of LiteRT's int8 are to those of float32.

    python -m tests.benchmarks.int8 MODEL --text FILE --data ../shared/data

MODEL is a trained model with a softmax, FILE holds one sentence a line, tokens separated
by spaces. The tables show

- for each layer the cosine to the float32 vectors of the same tokens, and how many of
  the ten nearest tokens, of the same sentences, of some tokens are the same;
- the error, relative to the vectors' length, by the position in texts of 800 tokens;
- the perplexity of the words after and before each token;
- with --data, the scores of tasks: a model trained on float32 layers and scored with
  them and with int8 layers, and one trained on int8 layers and scored with them; the
  last row has float32 and other seeds, and shows what chance alone does to a training.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from elmo_keras import Embedder, LanguageModel
from elmo_keras.analyses.compare import _task
from elmo_keras.analyses.paired_test import paired_test
from elmo_keras.tasks.experiments import experiment, experiment_arguments
from elmo_keras.tasks.experiments.layer_cache import LayerCache
from elmo_keras.tasks.experiments.results import ScoredRuns
from tests.benchmarks import runner

FLOAT32, INT8, OTHERS = "float32", "int8", "float32 with other seeds"
LONG, ENDS = 800, (0, 25, 100, 200, 400, 800)
N_LONG, N_QUERIES, TOP, AT_ONCE = 8, 1000, 10, 500
USUAL = "--dev-share 0.2 --epochs 15 --patience 3".split()
TASKS = {
    "entities": (
        "tag",
        "--kind ner --train en_ner_misc/wikigold/CONLL-format/data/wikigold.conll.txt",
    ),
    "parts of speech": ("tag", "--train en_ewt/en_ewt-ud-dev.conllu"),
    "sentiment": ("classify", "--train en_sst5/sst_train.txt --limit 3000"),
}
Layers = Sequence[np.ndarray]  # (layers, tokens, dim) of each sentence


def main(
    model: Path,
    /,
    *,
    text: Path,
    data: Path | None = None,
    sentences: runner.Count = 1000,
    seeds: Sequence[runner.Count] = (1, 2, 3),
) -> None:
    given = runner.read(text, sentences)
    embedders = {
        kind: Embedder(model, layers="all", arithmetic=kind) for kind in (FLOAT32, INT8)
    }
    exact, found = (embedder.encode(given) for embedder in embedders.values())
    n_tokens = sum(map(len, given))
    print(f"{len(given):,} sentences of {n_tokens:,} tokens\n")
    runner.head("layer", "mean cosine", "worst", f"{TOP} nearest that are the same")
    words = [word for sentence in given for word in sentence]
    exact_rows, rows = (np.concatenate(layers, axis=1) for layers in (exact, found))
    # Layer 0 is the same for all uses of a word.
    distinct = [words.index(word) for word in dict.fromkeys(words)]
    for layer, (a, b) in enumerate(zip(exact_rows, rows)):
        a, b = (a, b) if layer else (a[distinct], b[distinct])
        cosines = np.sum(unit(a) * unit(b), axis=1)
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
    for kind, layers in ((FLOAT32, exact), (INT8, found)):
        runner.row(kind, *(f"{p:.3f}" for p in perplexities(lm, given, layers)))
    if data:
        print()
        columns = "task", "score", "trained, scored on", "score", "difference", "p"
        runner.head(*columns)
        with tempfile.TemporaryDirectory() as folder:
            for name, (task, options) in TASKS.items():
                words = [*options.split(), *USUAL, "--elmo", model, "--output"]
                output = Path(folder, name)
                given = [data / w if "/" in str(w) and w != model else w for w in words]
                for cells in scores(task, [*given, output], seeds, model):
                    runner.row(name, *cells)


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def same_neighbours(exact: np.ndarray, found: np.ndarray) -> float:
    """The share of the nearest rows that are nearest in both."""
    rng, n = np.random.default_rng(0), len(exact)
    queries = rng.choice(n, min(N_QUERIES, n), replace=False)

    def nearest(vectors):
        vectors = unit(vectors)
        cosines = vectors[queries] @ vectors.T
        cosines[np.arange(len(queries)), queries] = -np.inf
        return np.argpartition(cosines, -TOP, axis=1)[:, -TOP:]

    pairs = zip(nearest(exact), nearest(found))
    return float(np.mean([len({*a} & {*b}) / TOP for a, b in pairs]))


def perplexities(
    lm: LanguageModel, sentences: Sequence[Sequence[str]], layers: Layers
) -> Iterator[float]:
    """Of the next words, and of the ones before; of all words within sentences."""
    dim = layers[0].shape[-1] // 2
    ids = [lm.vocabulary.encode(sentence) for sentence in sentences]
    for own, reads, predicts in (
        (slice(None, dim), slice(None, -1), slice(1, None)),
        (slice(dim, None), slice(1, None), slice(None, -1)),
    ):
        vectors = np.concatenate([of_one[-1, reads, own] for of_one in layers])
        targets = np.concatenate([of_one[predicts] for of_one in ids])
        parts = [
            lm.bilm.softmax.log_probabilities_of(
                tf.constant(vectors[i : i + AT_ONCE]),
                tf.constant(targets[i : i + AT_ONCE]),
            )
            for i in range(0, len(targets), AT_ONCE)
        ]
        yield float(np.exp(-np.mean(np.concatenate(parts))))


def scores(
    name: str, words: Sequence[object], seeds: Sequence[int], model: Path
) -> Iterator[list[str]]:
    """Trains a task's models and yields a row for each way to score them."""
    task = _task(name)
    parser = experiment_arguments.parser("int8", task, "")

    seeds = [str(seed) for seed in seeds]
    others = [str(int(seed) + len(seeds)) for seed in seeds]

    def parsed(*more):
        all_words = [str(word) for word in (*words, *more)]
        return experiment_arguments.parse(parser, task, all_words)[0]

    found, models = {}, {}
    for name, kind, own in (
        (FLOAT32, FLOAT32, seeds),
        (INT8, INT8, seeds),
        (OTHERS, FLOAT32, others),
    ):
        options = parsed("--arithmetic", kind, "--seeds", *own)
        experiment.run(task, options, options.variants())
        runs, (variant,) = ScoredRuns(task, options), options.variants()
        models[name] = [runs.model(variant, seed) for seed in options.seeds]
    texts = task.texts(runs.examples)
    caches = {
        kind: LayerCache(Embedder(model, layers="all", arithmetic=kind), texts)
        for kind in (FLOAT32, INT8)
    }
    for ways in (
        (FLOAT32, FLOAT32),
        (FLOAT32, INT8),
        (INT8, INT8),
        (OTHERS, FLOAT32),
    ):
        trained, scored = ways
        found[ways] = [runs.numbers(m, caches[scored]) for m in models[trained]]
    first = found[FLOAT32, FLOAT32]
    for ways, own in found.items():
        mean = np.mean([runs.score(numbers) for numbers in own])
        cells = [", ".join(ways), f"{100 * mean:.2f}"]
        if own is not first:
            test = paired_test(first, own, runs.score)
            cells += [f"{100 * test.difference:+.2f}", f"{test.p:.3f}"]
        yield [next(iter(task.scores(own[0]))), *cells]


if __name__ == "__main__":
    runner.run(main)
