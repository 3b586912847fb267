"""Trains and compares a task's models over seeds."""

import time
from collections.abc import Sequence

import keras

from elmo_keras.elmo import Elmo, model_digest
from elmo_keras.embed.embedder import Embedder
from elmo_keras.embed.layer_cache import LayerCache
from elmo_keras.files import check_same_run, replacing
from elmo_keras.formats.model_parts import parts_of_model
from elmo_keras.tasks.data import (
    fingerprint,
    random_share,
    read_data,
    read_start_vectors,
)
from elmo_keras.tasks.fitting import fit_until_best
from elmo_keras.tasks.results import FILE, model_file, read_results, write_results
from elmo_keras.tasks.task import Task
from elmo_keras.tasks.token_vectors import TokenVectors, frequent_words
from elmo_keras.util.command import CommandFailed
from elmo_keras.util.outputs import check_apart, check_file, check_folder


def run(task: Task, variants: Sequence[Task] | None = None) -> list[dict]:
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
    runs = [(variant, seed) for variant in variants for seed in task.seeds]
    _check_output(task, [model_file(*run) for run in runs])
    experiment = _Experiment(task)
    for variant in variants:
        if not all([experiment.finished(variant, seed) for seed in task.seeds]):
            variant.elmo_layer()  # fails before training if it can't be used
    try:
        return [experiment.finished(*r) or experiment.train(*r) for r in runs]
    except OSError as error:
        raise CommandFailed(error) from error


def _check_output(task, models):
    """Refuses a folder that can't be written, or whose files would replace an input."""
    check_folder(task.output)
    files = [task.output / name for name in (FILE, *models)]
    inputs = filter(None, (task.train, task.dev, task.test, task.word_vectors))
    parts = [part for model in task.elmo for part in parts_of_model(model)]
    check_apart(files, [*inputs, *parts])
    if task.output.exists():
        for file in files:
            check_file(file)
    for result in read_results(task.output / FILE):
        if (name := result.get("task", task.name)) != task.name:
            raise ValueError(
                f"{task.output / FILE} has runs of another task: {name}. Give another "
                "--output."
            )


class _Experiment:
    """The runs on one set of examples."""

    def __init__(self, task: Task):
        self.path = task.output / FILE
        self.data = read_data(task)
        self._texts = [text for part in self.data for text in task.texts(part)]
        self._words, self._vectors = read_start_vectors(task, self._texts)
        vectors = "\n".join(self._words).encode() + self._vectors.tobytes()
        self._settings = {
            "word_dim": self._vectors.shape[1],
            "word_vectors": fingerprint(vectors) if self._words else None,
            "data": self.data.fingerprint,
        }
        self._weights = {}  # model → the fingerprint of its weights
        self._cached = None, None  # a model, and the cache of its layers

    def finished(self, variant: Task, seed: int) -> dict | None:
        """The result of a run, or None; one of this name with other settings is an error."""
        for result in read_results(self.path):
            if (result["variant"], result["seed"]) == (variant.variant, seed):
                run = f"The run of {variant.variant} with seed {seed} in {self.path}"
                settings = self.settings(variant)
                advice = "Give another --output."
                check_same_run(settings, result["settings"], run, advice)
                return result
        return None

    def settings(self, variant: Task) -> dict:
        """Everything that the outcome depends on, except the seed."""
        settings = variant.settings() | self._settings | {"weights": None}
        for model in variant.elmo:
            if model not in self._weights:
                self._weights[model] = model_digest(Elmo.from_pretrained(model))
            settings["weights"] = self._weights[model]
        return {
            name: value if isinstance(value, int | float | None) else str(value)
            for name, value in settings.items()
        }

    def train(self, variant: Task, seed: int) -> dict:
        """Trains and saves a model; returns its result, which is in the file as well."""
        print(f"{variant.name}: {variant.variant}, seed {seed}", flush=True)
        start = time.perf_counter()
        keras.backend.clear_session()
        keras.utils.set_random_seed(seed)
        train, dev, test = self.data
        train = random_share(train, variant.share, seed)
        cache = self._cache(variant)
        model = self._model(variant, train)
        labels = variant.targets(train, model)
        batches = variant.batches(train, labels=labels, cache=cache)
        rate = variant.learning_rate
        if variant.schedule == "cosine":
            n_steps = variant.epochs * int(batches.shuffled(seed, 1).cardinality())
            rate = keras.optimizers.schedules.CosineDecay(rate, n_steps)
        model.compile(
            keras.optimizers.Adam(rate, global_clipnorm=5.0),  # pyright: ignore[reportArgumentType]
            loss=variant.loss,
            # XLA has no strings.
            jit_compile=False,  # pyright: ignore[reportArgumentType]
        )
        # Makes all variables, so that the graph of a training step is traced once.
        model(batches.inputs([0]))
        model.optimizer.build(model.trainable_variables)

        def scores(examples):
            scores = variant.scores(variant.evaluate(model, examples, cache))
            return {name: float(value) for name, value in scores.items()}

        def dev_scores():
            variant.calibrate(model, dev, variant.batches(dev, cache=cache))
            return scores(dev)

        training = fit_until_best(
            model,
            batches,
            dev_scores,
            epochs=variant.epochs,
            patience=variant.patience,
            seed=seed,
        )
        result = {
            "task": variant.name,
            "variant": variant.variant,
            "seed": seed,
            **training._asdict(),
            "test": scores(test) if test else {},
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
            "settings": self.settings(variant),
        }
        # The model comes before its result, so that each model of the file exists.
        variant.output.mkdir(parents=True, exist_ok=True)
        with replacing(variant.output / model_file(variant, seed)) as temporary:
            model.save(temporary)
        write_results(self.path, [*read_results(self.path), result])
        return result

    def _model(self, variant, train):
        frequent = frequent_words(variant.texts(train), variant.min_count)
        words = dict.fromkeys([*frequent, *self._words])
        if not self._vectors.shape[1]:
            words = {}
        vectors = TokenVectors(
            words,
            self._vectors.shape[1],
            variant.character_dim,
            elmo=variant.elmo_layer(),
            elmo_at=variant.elmo_at,
            dropout=variant.dropout,
            trainable_words=not variant.freeze_word_vectors,
        )
        vectors.assign_word_vectors(self._words, self._vectors)
        return variant.model(vectors, train)

    def _cache(self, variant):
        """The layers of all texts, kept until another biLM is needed."""
        if variant.no_cache or variant.fine_tune or not variant.elmo:
            return None
        if self._cached[0] != variant.elmo:
            embedder = Embedder(
                variant.elmo[0], layers="all", arithmetic=variant.arithmetic
            )
            start = time.perf_counter()
            self._cached = (
                variant.elmo,
                LayerCache(embedder, self._texts, progress=True),
            )
            seconds = time.perf_counter() - start
            rms = ", ".join(f"{value:.2f}" for value in self._cached[1].rms)
            print(f"  the biLM's layers, computed once: {seconds:.1f} s", flush=True)
            print(f"  their root mean squares, from layer 0 on: {rms}", flush=True)
        return self._cached[1]
