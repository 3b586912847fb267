"""Trains and compares a task's models over seeds."""

import time
from collections.abc import Sequence
from typing import Any

import keras

from elmo_keras.elmo import Elmo, model_digest
from elmo_keras.embed.embedder import Embedder
from elmo_keras.tasks.data import Data, random_share, read_data, read_start_vectors
from elmo_keras.tasks.fitting import fit_until_best
from elmo_keras.tasks.layer_cache import LayerCache
from elmo_keras.tasks.layers.token_vectors import TokenVectors, frequent_words
from elmo_keras.tasks.results import (
    FILE,
    check_output,
    model_file,
    read_results,
    write_results,
)
from elmo_keras.tasks.task import Task, Variant
from elmo_keras.util.command import CommandFailed
from elmo_keras.util.files import check_same_run, replacing


def run(task: Task, variants: Sequence[Variant] | None = None) -> list[dict]:
    """The results of each variant with each seed; trains those that are not there yet.

    Args:
        task: the task and its settings.
        variants: those to compare; `task.variants()` if None.

    Raises:
        ValueError, OSError: a setting, a file or a model can't be used; nothing was
            written.
        CommandFailed, FloatingPointError: training or writing failed.
    """
    variants = task.variants() if variants is None else variants
    if task.freeze_word_vectors and task.word_vectors is None:
        raise ValueError("--freeze-word-vectors needs --word-vectors FILE.")
    check_output(task, variants)
    experiment = _Experiment(task, read_data(task))
    runs = [(variant, seed) for variant in variants for seed in task.seeds]
    experiment.check(runs)
    try:
        return [experiment.finished(*r) or experiment.train(*r) for r in runs]
    except OSError as error:
        raise CommandFailed(error) from error


class _Experiment:
    """The runs on one set of examples, and the file of their results."""

    def __init__(self, task: Task, data: Data):
        self.task, self.data = task, data
        self.path = task.output / FILE
        self._texts = [text for examples in data for text in task.texts(examples)]
        self._start = read_start_vectors(task, self._texts)
        self._data_fingerprint = data.fingerprint
        # Model → the fingerprint of its weights.
        self._fingerprints: dict[Any, str | None] = {None: None}
        self._cached = None, None  # a model, and the cache of its layers

    def check(self, runs: Sequence[tuple[Variant, int]]) -> None:
        """Refuses, before any training, what can't be used or belongs to other runs."""
        for result in read_results(self.path):
            if (name := result.get("task", self.task.name)) != self.task.name:
                raise ValueError(
                    f"{self.path} has runs of another task: {name}. Give another "
                    "--output."
                )
        missing = {
            variant for variant, seed in runs if not self.finished(variant, seed)
        }
        for variant in missing:
            variant.elmo_layer()

    def finished(self, variant: Variant, seed: int) -> dict | None:
        """The result of a run, or None; one of this name with other settings is an error."""
        for result in read_results(self.path):
            if (result["variant"], result["seed"]) == (variant.name, seed):
                run = f"The run of {variant.name} with seed {seed} in {self.path}"
                settings = self._settings(variant)
                advice = "Give another --output."
                check_same_run(settings, result["settings"], run, advice)
                return result
        return None

    def _settings(self, variant):
        """Everything that the outcome depends on, except the seed."""
        settings = self.task.settings() | self._start.settings | variant._asdict()
        settings["data"] = self._data_fingerprint
        if variant.elmo not in self._fingerprints:
            elmo = Elmo.from_pretrained(variant.elmo)
            self._fingerprints[variant.elmo] = model_digest(elmo)
        settings["weights"] = self._fingerprints[variant.elmo]
        return {
            name: value if isinstance(value, int | float | None) else str(value)
            for name, value in settings.items()
        }

    def train(self, variant: Variant, seed: int) -> dict:
        """Trains and saves a model; returns its result, which is in the file as well."""
        task = self.task
        print(f"{task.name}: {variant.name}, seed {seed}", flush=True)
        start = time.perf_counter()
        keras.backend.clear_session()
        keras.utils.set_random_seed(seed)
        train = random_share(self.data.train, variant.share, seed)
        cache = self._cache(variant)
        model = self._model(variant, train)
        batches = task.batches(train, labels=task.targets(train, model), cache=cache)
        # Makes all variables, so that the graph of a training step is traced once.
        model(batches.inputs([0]))
        model.optimizer.build(model.trainable_variables)

        def scores(examples):
            scores = task.scores(task.evaluate(model, examples, cache))
            return {name: float(value) for name, value in scores.items()}

        def dev_scores():
            dev = self.data.dev
            task.calibrate(model, dev, task.batches(dev, cache=cache))
            return scores(dev)

        training = fit_until_best(
            model,
            batches,
            dev_scores,
            epochs=task.epochs,
            patience=task.patience,
            seed=seed,
        )
        result = {
            "task": task.name,
            "variant": variant.name,
            "seed": seed,
            **training._asdict(),
            "test": scores(self.data.test) if self.data.test else {},
            "examples": len(train),
            "seconds": round(time.perf_counter() - start, 2),
            "cached": cache is not None,
            "mixes": {
                place: {
                    "weights": [round(float(w), 6) for w in mix.layer_weights()],
                    "gamma": round(float(mix.gamma), 6),
                }
                for place, mix in model.token_vectors.mixes.items()
            },
            "settings": self._settings(variant),
        }
        # The model comes before its result, so that each model of the file exists.
        task.output.mkdir(parents=True, exist_ok=True)
        with replacing(task.output / model_file(variant, seed)) as temporary:
            model.save(temporary)
        write_results(self.path, [*read_results(self.path), result])
        return result

    def _model(self, variant, train):
        task, start = self.task, self._start
        words = dict.fromkeys([*frequent_words(task.texts(train)), *start.words])
        vectors = TokenVectors(
            words,
            start.dim,
            task.character_dim,
            elmo=variant.elmo_layer(),
            elmo_at=variant.elmo_at,
            dropout=task.dropout,
            trainable_words=not task.freeze_word_vectors,
        )
        if start.vectors is not None:
            vectors.assign_word_vectors(start.words, start.vectors)
        model = task.model(vectors, train)
        model.compile(
            keras.optimizers.Adam(task.learning_rate, global_clipnorm=5.0),
            loss=task.loss,
            # XLA has no strings.
            jit_compile=False,  # pyright: ignore[reportArgumentType]
        )
        return model

    def _cache(self, variant):
        """The layers of all texts, kept until another biLM is needed."""
        if self.task.no_cache or variant.fine_tune or variant.elmo is None:
            return None
        if self._cached[0] != variant.elmo:
            arithmetic = variant.arithmetic
            embedder = Embedder(variant.elmo, layers="all", arithmetic=arithmetic)
            start = time.perf_counter()
            self._cached = variant.elmo, LayerCache(embedder, self._texts, verbose=1)
            seconds = time.perf_counter() - start
            rms = ", ".join(f"{value:.2f}" for value in self._cached[1].rms)
            print(f"  the biLM's layers, computed once: {seconds:.1f} s", flush=True)
            print(f"  their root mean squares, from layer 0 on: {rms}", flush=True)
        return self._cached[1]
