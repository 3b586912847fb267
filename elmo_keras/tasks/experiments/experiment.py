"""A task's models, trained and compared over seeds: what the commands have in common."""

import argparse
import os
import sys
import time
from collections.abc import Sequence

import keras
import numpy as np

from elmo_keras.elmo import Elmo
from elmo_keras.stopping import INTERRUPTED
from elmo_keras.tasks.experiments import experiment_arguments
from elmo_keras.tasks.experiments.batches import predictions
from elmo_keras.tasks.experiments.early_stopping import fit_until_best
from elmo_keras.tasks.experiments.examples import Data, read_data
from elmo_keras.tasks.experiments.layer_cache import LayerCache
from elmo_keras.tasks.experiments.results import (
    FILE,
    read_results,
    results_table,
    write_results,
)
from elmo_keras.tasks.experiments.task import Task
from elmo_keras.tasks.experiments.variants import Variant, learned_mixes
from elmo_keras.tasks.models.token_vectors import TokenVectors, frequent_words


def main(task: Task, description: str | None, arguments=None) -> int:
    """The command of a task; returns its exit status."""
    parser = experiment_arguments.parser(task.name, description)
    task.add_arguments(parser)
    arguments = parser.parse_args(arguments)
    try:
        variants = experiment_arguments.variants(arguments)
        experiment = prepare(task, arguments, variants)
    except (ValueError, OSError) as error:
        return _fail(task, 2, error)
    try:
        print(results_table(experiment.records(variants)))
        return 0
    except (FloatingPointError, OSError) as error:
        return _fail(task, 1, error)
    except KeyboardInterrupt:
        return _fail(task, INTERRUPTED, "Interrupted. The same command goes on.")


def _fail(task, status, error):
    print(f"elmo_keras.tasks.{task.name}: {error}", file=sys.stderr)
    return status


def prepare(
    task: Task, arguments: argparse.Namespace, variants: Sequence[Variant]
) -> "Experiment":
    """Reads the examples, and finds what can be wrong before hours of training.

    Args:
        task: the task.
        arguments: the options, see `experiment_arguments`.
        variants: what is compared; their own settings count, not the options'.

    Raises:
        ValueError: data, a model directory or `results.json` don't fit; the message
            says what was expected.
        OSError: a file can't be read.
    """
    experiment = Experiment(task, arguments, read_data(task, arguments))
    for variant in variants:
        found = [experiment.recorded(variant, seed) for seed in arguments.seeds]
        if None in found:
            variant.layer()
    return experiment


def run(
    task: Task, arguments: argparse.Namespace, variants: Sequence[Variant]
) -> list[dict]:
    """`prepare`, then all runs that are missing: the records of all."""
    return prepare(task, arguments, variants).records(variants)


class Experiment:
    """The runs over one set of examples, and their file.

    Args:
        task, arguments: as in `prepare`.
        data: the examples.
    """

    def __init__(self, task: Task, arguments: argparse.Namespace, data: Data):
        self.task, self.arguments, self.data = task, arguments, data
        self._digest = data.digest
        self._cached = None, None  # model directory, and the cache of its layers

    def records(self, variants: Sequence[Variant]) -> list[dict]:
        """Trains each variant with each seed, unless its record is there already.

        Returns:
            The records of these runs, as `results.json` has them.

        Raises:
            FloatingPointError: a loss is not a number any more.
            OSError: a file can't be written.
        """
        runs = [(v, seed) for v in variants for seed in self.arguments.seeds]
        return [self.recorded(*run) or self._made(*run) for run in runs]

    def recorded(self, variant: Variant, seed: int) -> dict | None:
        """The record of a run, or None.

        Raises:
            ValueError: a run of this name was made in another way.
        """
        path = self.arguments.output / FILE
        for record in read_results(path):
            if (record["variant"], record["seed"]) != (variant.name, seed):
                continue
            settings = self._settings(variant)
            for name, value in record["settings"].items():
                if settings.get(name) != value:
                    raise ValueError(
                        f"{path} has {variant.name} with seed {seed} of another run: "
                        f"{name} was {value}, now it is {settings.get(name)}. Give "
                        "another --output."
                    )
            return record
        return None

    def _settings(self, variant):
        """All that the outcome depends on, besides the seed."""
        passed_over = "train dev test output seeds baseline no_cache".split()
        settings = vars(self.arguments) | variant._asdict() | {"data": self._digest}
        return {
            name: value if isinstance(value, int | float | None) else str(value)
            for name, value in settings.items()
            if name not in passed_over
        }

    def _made(self, variant, seed):
        print(f"{self.task.name}: {variant.name}, seed {seed}", flush=True)
        start = time.perf_counter()
        keras.backend.clear_session()
        keras.utils.set_random_seed(seed)
        train = _some(self.data.train, variant.share, seed)
        cache = self._cache(variant)
        model = self._model(variant, train)
        _build(model, self._batches(train, cache))
        dev = self._batches(self.data.dev, cache)
        fitted = fit_until_best(
            model,
            self._batches(train, cache, self.task.targets(train, model)),
            lambda: self._scores(model, dev),
            self.arguments.epochs,
            self.arguments.patience,
            seed,
            verbose=1,
        )
        test = self._batches(self.data.test, cache)
        record = {
            "task": self.task.name,
            "variant": variant.name,
            "seed": seed,
            "dev": fitted.scores,
            "test": self._scores(model, test) if self.data.test else {},
            "examples": len(train),
            "best_epoch": fitted.best_epoch,
            "epochs": fitted.epochs,
            "seconds": round(time.perf_counter() - start, 2),
            "seconds_per_epoch": round(fitted.seconds_per_epoch, 3),
            "cached": cache is not None,
            "losses": fitted.losses,
            "mixes": learned_mixes(model.token_vectors.mixes),
            "settings": self._settings(variant),
        }
        self._keep(model, record)
        return record

    def _model(self, variant, train):
        arguments = self.arguments
        texts = self.task.batches.texts(train, self.task.text_fields)
        vectors = TokenVectors(
            frequent_words(texts),
            arguments.word_dim,
            arguments.character_dim,
            variant.layer(),
            variant.elmo_at,
            arguments.dropout,
        )
        model = self.task.model(vectors, train, arguments)
        model.compile(
            keras.optimizers.Adam(arguments.learning_rate, global_clipnorm=5.0),
            loss=self.task.loss,
            jit_compile=False,  # XLA has no strings
        )
        return model

    def _batches(self, examples, cache, labels=None):
        return self.task.batches(
            examples,
            self.task.text_fields,
            self.task.number_fields,
            labels,
            cache,
            self.arguments.batch_size,
        )

    def _scores(self, model, batches):
        scores = self.task.scores(model, batches.examples, predictions(model, batches))
        return {name: float(value) for name, value in scores.items()}

    def _cache(self, variant):
        """The layers of all texts, kept until another biLM comes."""
        if self.arguments.no_cache or not variant.is_cacheable:
            return None
        if self._cached[0] != variant.elmo:
            texts = [
                text
                for examples in self.data
                for text in self.task.batches.texts(examples, self.task.text_fields)
            ]
            elmo = Elmo.from_pretrained(variant.elmo)
            start = time.perf_counter()
            self._cached = variant.elmo, LayerCache(elmo, texts, verbose=1)
            seconds = time.perf_counter() - start
            print(f"  the biLM's layers, computed once: {seconds:.1f} s", flush=True)
        return self._cached[1]

    def _keep(self, model, record):
        """Writes the model, then the record that says that it is there."""
        output = self.arguments.output
        output.mkdir(parents=True, exist_ok=True)
        path = output / f"{record['variant']}-{record['seed']}.keras"
        unfinished = path.with_name(f".{path.stem}.unfinished.keras")
        try:
            model.save(unfinished)
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
        write_results(output / FILE, [*read_results(output / FILE), record])


def _build(model, batches):
    """Makes all variables, so that the graph of a training step is traced once."""
    model(batches.inputs([0]))
    model.optimizer.build(model.trainable_variables)


def _some(examples, share, seed):
    """A random share of examples, in their order."""
    n = max(1, round(share * len(examples)))
    rows = np.random.default_rng(seed).permutation(len(examples))[:n]
    return [examples[i] for i in sorted(rows)]
