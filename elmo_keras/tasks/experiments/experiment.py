"""Trains and compares a task's models over seeds."""

import time
from collections.abc import Sequence

import keras

from elmo_keras.elmo import Elmo, model_digest
from elmo_keras.embed.embedder import Embedder
from elmo_keras.tasks.experiments.batches import predictions
from elmo_keras.tasks.experiments.examples import (
    Data,
    random_share,
    read_data,
    read_given_words,
)
from elmo_keras.tasks.experiments.experiment_arguments import ExperimentOptions, Variant
from elmo_keras.tasks.experiments.fitting import fit_until_best
from elmo_keras.tasks.experiments.layer_cache import LayerCache
from elmo_keras.tasks.experiments.results import (
    FILE,
    check_output,
    model_file,
    read_results,
    write_results,
)
from elmo_keras.tasks.experiments.task import Task
from elmo_keras.tasks.layers.token_vectors import TokenVectors, frequent_words
from elmo_keras.util.command import CommandFailed
from elmo_keras.util.fingerprint import check_same_run
from elmo_keras.util.replacing import replacing

# The settings of runs that were recorded before there was a choice.
USUAL_SETTINGS = {
    "word_vectors": None,
    "freeze_word_vectors": False,
    "longest_answer": 16,
    "layer_norm": False,
    "gamma": None,
    "arithmetic": None,
}


def run(
    task: Task, options: ExperimentOptions, variants: Sequence[Variant]
) -> list[dict]:
    """The records of each variant with each seed; trains what is not recorded yet."""
    if options.freeze_word_vectors and options.word_vectors is None:
        raise ValueError("--freeze-word-vectors needs --word-vectors FILE.")
    check_output(options, variants)
    experiment = Experiment(task, options, read_data(task, options))
    experiment.check(variants)
    try:
        return experiment.records(variants)
    except OSError as error:
        raise CommandFailed(error) from error


class Experiment:
    """The runs on one set of examples, and the file of their results."""

    def __init__(self, task: Task, options: ExperimentOptions, data: Data):
        self.task, self.options, self.data = task, options, data
        self.results = options.output / FILE
        self._data_digest = data.digest
        self._texts = [text for examples in data for text in task.texts(examples)]
        self._words = read_given_words(
            options.word_vectors, self._texts, options.word_dim
        )
        self._digests = {None: None}
        self._cached = None, None  # a model, and the cache of its layers

    def check(self, variants: Sequence[Variant]) -> None:
        for record in read_results(self.results):
            if (name := record.get("task", self.task.name)) != self.task.name:
                raise ValueError(
                    f"{self.results} has runs of another task: {name}. Give another "
                    "--output."
                )
        for variant in variants:
            found = [self.recorded(variant, seed) for seed in self.options.seeds]
            if None in found:
                variant.layer()

    def records(self, variants: Sequence[Variant]) -> list[dict]:
        runs = [(v, seed) for v in variants for seed in self.options.seeds]
        return [self.recorded(*run) or self._made(*run) for run in runs]

    def recorded(self, variant: Variant, seed: int) -> dict | None:
        """The record of a run, or None; a run of this name with other settings is an error."""
        for record in read_results(self.results):
            if (record["variant"], record["seed"]) != (variant.name, seed):
                continue
            now = self._settings(variant)
            then = {n: v for n, v in USUAL_SETTINGS.items() if n in now}
            then |= record["settings"]
            now = {name: now.get(name) for name in then}
            if made_with := record.get("model"):
                weights = f"weights of {variant.elmo}"
                then[weights], now[weights] = made_with, self._digest_of(variant.elmo)
            run = f"The run of {variant.name} with seed {seed} in {self.results}"
            check_same_run(now, then, run, "Give another --output.")
            return record
        return None

    def _digest_of(self, model):
        if model not in self._digests:
            self._digests[model] = model_digest(Elmo.from_pretrained(model))
        return self._digests[model]

    def _settings(self, variant):
        """Everything that the outcome depends on, except the seed."""
        settings = self.options.settings() | self._words.settings
        settings |= variant._asdict() | {"data": self._data_digest}
        return {
            name: value if isinstance(value, int | float | None) else str(value)
            for name, value in settings.items()
        }

    def _made(self, variant, seed):
        print(f"{self.task.name}: {variant.name}, seed {seed}", flush=True)
        start = time.perf_counter()
        keras.backend.clear_session()
        keras.utils.set_random_seed(seed)
        train = random_share(self.data.train, variant.share, seed)
        cache = self._cache(variant)
        model = self._model(variant, train)
        given = {"cache": cache, "batch_size": self.options.batch_size}
        labels = self.task.targets(train, model)
        batches = self.task.batches(train, labels=labels, **given)
        # Makes all variables, so that the graph of a training step is traced once.
        model(batches.inputs([0]))
        model.optimizer.build(model.trainable_variables)

        def scores(examples):
            found = predictions(model, self.task.batches(examples, **given))
            found = self.task.scores(self.task.numbers(model, examples, found))
            return {name: float(value) for name, value in found.items()}

        def dev_scores():
            dev = self.data.dev
            self.task.calibrate(model, dev, self.task.batches(dev, **given))
            return scores(dev)

        fitted = fit_until_best(
            model,
            batches,
            dev_scores,
            epochs=self.options.epochs,
            patience=self.options.patience,
            seed=seed,
        )
        record = {
            "task": self.task.name,
            "variant": variant.name,
            "seed": seed,
            "model": self._digest_of(variant.elmo),
            **fitted._asdict(),
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
        # The model comes before the record, so that each recorded model exists.
        self.options.output.mkdir(parents=True, exist_ok=True)
        path = self.options.output / model_file(variant.name, seed)
        with replacing(path) as temporary:
            model.save(temporary)
        write_results(self.results, [*read_results(self.results), record])
        return record

    def _model(self, variant, train):
        options, given = self.options, self._words
        words = dict.fromkeys([*frequent_words(self.task.texts(train)), *given.words])
        vectors = TokenVectors(
            words,
            given.dim,
            options.character_dim,
            elmo=variant.layer(),
            elmo_at=variant.elmo_at,
            dropout=options.dropout,
            trainable_words=not options.freeze_word_vectors,
        )
        if given.words:
            vectors.assign_word_vectors(given.words, given.vectors)
        model = self.task.model(vectors, train, options.of_task)
        model.compile(
            keras.optimizers.Adam(options.learning_rate, global_clipnorm=5.0),
            loss=self.task.loss,
            jit_compile=False,  # XLA has no strings
        )
        return model

    def _cache(self, variant):
        """The layers of all texts, kept until another biLM is needed."""
        if self.options.no_cache or variant.fine_tune or variant.elmo is None:
            return None
        if self._cached[0] != variant.elmo:
            arithmetic = variant.arithmetic
            elmo = Embedder(variant.elmo, layers="all", arithmetic=arithmetic)
            start = time.perf_counter()
            self._cached = variant.elmo, LayerCache(elmo, self._texts, verbose=1)
            seconds = time.perf_counter() - start
            rms = ", ".join(f"{value:.2f}" for value in self._cached[1].rms)
            print(f"  the biLM's layers, computed once: {seconds:.1f} s", flush=True)
            print(f"  their root mean squares, from layer 0 on: {rms}", flush=True)
        return self._cached[1]
