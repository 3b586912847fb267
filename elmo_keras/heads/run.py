"""A run of training, from settings and examples to the folder of a head."""

import contextlib
import dataclasses
import hashlib
import json
import os
import random
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from elmo_keras.base.files import (
    check_same_run,
    installed_version,
    only_process,
    replacing,
)
from elmo_keras.commands.command import CommandFailed
from elmo_keras.commands.outputs import check_apart, check_file, check_folder
from elmo_keras.elmo import Elmo
from elmo_keras.embed.embedder import Embedder
from elmo_keras.heads.best_epoch import BestEpoch, fit_until_best, score_model
from elmo_keras.heads.card import write_card
from elmo_keras.heads.examples import read_examples
from elmo_keras.heads.head import MODEL, check_language_model, save_head
from elmo_keras.heads.layer_cache import LayerCache
from elmo_keras.heads.model import TaskModel
from elmo_keras.heads.reading import hold_out
from elmo_keras.heads.task import AUTO, NONE, UNRECORDED, Settings, Task
from elmo_keras.heads.token_batch import elmo_positions
from elmo_keras.heads.token_vectors import (
    TokenVectors,
    frequent_endings,
    frequent_words,
)
from elmo_keras.heads.word_vector_files import WordVectorFile, read_lower_case_vectors
from elmo_keras.hub.catalogue import CARD, HEAD_FILES, parts_of_model
from elmo_keras.text.scripts import SCRIPTS, package_model

RESULTS = "results.json"
# Sizes of word and character vectors where ELMo is not at the input.
WITHOUT_ELMO = {"word_dim": 100, "character_dim": 64}
FEW_EXAMPLES = 1000
MIN_STEPS, MAX_EPOCHS = 600, 50  # few examples get more epochs


class Data(NamedTuple):
    train: list[dict]
    dev: list[dict]
    test: list[dict]


def train_task(
    task: Task,
    settings: Settings,
    *,
    caches: dict[Any, LayerCache] | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """Trains a model, and writes it and its scores to a folder; a finished run is read.

    Neither Keras' session nor the process's random numbers change.

    Args:
        task: reads the files, and makes and scores the model.
        settings: data, folder and numbers.
        caches: keeps the layers of a frozen language model for further runs on the same
            data; pass the same dict to each.
        progress: whether to print a line for each epoch, and show bars on standard error.

    Returns:
        The content of results.json: the scores `dev` and `test`, `best_epoch`, `epochs`,
        their `losses`, `seconds`, `seconds_per_epoch`, `examples`, the learned `mixes` and
        the `settings`. model.keras is the model after the best epoch so far. At the end,
        there are model_card.md and, on a frozen language model, the head: see `save_head`.

    Raises:
        ValueError, OSError: a setting, a file or the language model can't be used, or the
            folder holds another run; nothing was written.
        CommandFailed, FloatingPointError: training or writing failed.
    """
    arguments, settings = settings, resolve(settings, task.defaults)
    _check_paths(settings)
    finished = read_results(settings.output)
    data = read_data(task, settings)
    texts = [text for part in data for text in task.texts(part)]
    n_examples = settings.share * len(data.train)
    settings = resolve_sizes(settings, task.defaults["epochs"], n_examples)
    if settings.model == AUTO:
        settings = dataclasses.replace(settings, model=_package_model(texts))
        if progress:
            print(f"The language model is {settings.model}.", flush=True)
    if settings.model is not None and not settings.fine_tune:
        check_language_model(str(settings.model))
    start = _start_vectors(settings, texts)
    with seeded(settings.seed):
        elmo = _elmo_layer(settings)  # fails before training if it can't be used
        metadata = _metadata(task, settings, data, start, elmo)
        if finished is not None:
            source, advice = settings.output / RESULTS, "Name another folder."
            check_same_run(metadata, finished["settings"], source, advice)
            return finished
        if progress and start.words:
            n = len({token.lower() for text in texts for token in text})
            print(f"{len(start.words):,} of {n:,} words have a vector", flush=True)
        rows = np.random.default_rng(settings.seed).permutation(len(data.train))
        learned = [data.train[i] for i in sorted(rows[: max(1, round(n_examples))])]
        data = data._replace(train=learned)
        busy = f"Another process writes to {settings.output}. Name another folder."
        try:
            with only_process(settings.output, busy, remove=True):
                if read_results(settings.output) is not None:
                    raise ValueError(f"{busy} It has just finished.")
                clock = time.perf_counter()
                caches, digest = {} if caches is None else caches, metadata["data"]
                cache = _layer_cache(settings, texts, digest, caches, progress)
                model = _make_model(task, settings, data.train, start, elmo)
                best = _fit(task, settings, data, model, cache, progress)
                results = {"test": {}, **best.results, "examples": len(data.train)}
                results |= {
                    "mixes": _mixes(model),
                    "seconds": round(time.perf_counter() - clock, 2),
                    "cached": cache is not None,
                    "settings": metadata,
                }
                if settings.model is not None and not settings.fine_tune:
                    save_head(
                        model,
                        settings.model,
                        settings.output,
                        arrays=task.head_arrays(data.train),
                        language=settings.model if settings.model in SCRIPTS else None,
                        tokenizer=task.tokenizer,
                    )
                _write(task, arguments, data, results, best.predictions)
                return results
        except OSError as error:
            raise CommandFailed(error) from error


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Makes weights and dropout depend on a seed; Python's random state is restored.

    Keras takes the seeds of its layers from Python's `random`.
    """
    state = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(state)


def resolve(settings: Settings, defaults: Mapping[str, Any]) -> Settings:
    """Settings with the defaults of a task, if they fit each other.

    Batches and epochs depend on the number of examples, see `resolve_sizes`.
    """
    if settings.freeze_word_vectors and settings.word_vectors is None:
        raise ValueError("`freeze_word_vectors` needs `word_vectors`.")
    is_cached = not (settings.no_cache or settings.fine_tune)
    if settings.arithmetic not in (None, "float32") and not is_cached:
        raise ValueError(
            "`arithmetic` is for layers that are computed once. Leave out `fine_tune` "
            "and `no_cache`."
        )
    defaults = {**defaults}
    if settings.model in (None, NONE) or settings.elmo_at == "output":
        defaults |= WITHOUT_ELMO
    if settings.word_vectors:
        defaults["word_dim"] = None
    if is_cached and installed_version("ai-edge-litert"):
        defaults["arithmetic"] = "int8"
    values = {n: x for n, x in defaults.items() if getattr(settings, n) is None}
    values["epochs"] = settings.epochs
    if settings.model == NONE:
        values["model"] = None
    return dataclasses.replace(settings, **values)


def resolve_sizes(settings: Settings, usual_epochs: int, n_examples: float) -> Settings:
    """Settings with the size of batches and the epochs for `n_examples`."""
    # With 32, a hundred examples stop after too few steps: see the research notes.
    batch_size = settings.batch_size
    if batch_size is None:
        batch_size = 8 if n_examples < FEW_EXAMPLES else 32
    enough = int(min(MIN_STEPS * batch_size / n_examples, MAX_EPOCHS))
    epochs = settings.epochs
    epochs = max(usual_epochs, enough) if epochs is None else epochs
    return dataclasses.replace(settings, batch_size=batch_size, epochs=epochs)


def _check_paths(settings):
    """Refuses a folder that can't be written, or that holds an input."""
    check_folder(settings.output)
    names = RESULTS, MODEL, *HEAD_FILES[:2], CARD
    outputs = [settings.output / name for name in names]
    data = settings.train, settings.dev, settings.test, settings.word_vectors
    inputs = [Path(part) for part in data if isinstance(part, (str, os.PathLike))]
    parts = () if settings.model in (None, AUTO) else parts_of_model(settings.model)
    check_apart(outputs, [*inputs, *parts])
    if settings.output.exists():
        check_file(settings.output / MODEL)


def read_results(folder: Path) -> dict[str, Any] | None:
    """The results of a finished run in a folder, or None."""
    path = folder / RESULTS
    if not path.exists():
        return None
    with contextlib.suppress(ValueError, LookupError, TypeError, RecursionError):
        results = json.loads(path.read_text("utf-8"))
        if all(isinstance(results[name], dict) for name in ("dev", "test", "settings")):
            return results
    raise ValueError(f"{path} should hold the results of a task. Remove it.")


def read_data(task: Task, settings: Settings) -> Data:
    """The examples of all parts; without `dev`, a share of `train` is held out."""
    train = task.cut(read_examples(task, settings.train, "train"))
    dev, test = (
        [] if part is None else read_examples(task, part, name)
        for part, name in ((settings.dev, "dev"), (settings.test, "test"))
    )
    if settings.dev is None:
        train, dev = hold_out(train, settings.dev_share)
    if not train or not dev:
        raise ValueError("train has too few examples to hold out some of them.")
    data = Data(train[: settings.limit], dev, test)
    task.check(data.train, {"dev": dev, "test": test})
    return data


def _metadata(task, settings, data, start, elmo):
    """Everything that the results of a run depend on, by name."""
    texts = json.dumps(data, ensure_ascii=False)
    vectors = "\n".join(start.words).encode() + start.vectors.tobytes()
    fingerprints = [
        hashlib.sha256(content).hexdigest()[:16]
        for content in (texts.encode(), vectors)
    ]
    values = vars(task) | vars(settings)
    values |= {
        "kind": task.kind,
        "word_dim": start.vectors.shape[1],
        "word_vectors": fingerprints[1] if start.words else None,
        "data": fingerprints[0],
        "weights": elmo.bilm.digest() if elmo else None,
    }
    return {
        name: value if isinstance(value, int | float | None) else str(value)
        for name, value in values.items()
        if name not in UNRECORDED
    }


def _layer_cache(settings, texts, digest, caches, progress) -> LayerCache | None:
    """The layers of all texts; None if the language model runs in every epoch."""
    if settings.no_cache or settings.fine_tune or settings.model is None:
        return None
    key = settings.model, settings.arithmetic, digest
    if key not in caches:
        caches.clear()  # each has a file of gigabytes
        start, arithmetic = time.perf_counter(), settings.arithmetic
        embedder = Embedder(settings.model, layers="all", arithmetic=arithmetic)
        caches[key] = LayerCache(embedder, texts, progress=progress)
        if progress:
            seconds = time.perf_counter() - start
            print(f"  the biLM's layers, computed once: {seconds:.1f} s", flush=True)
    return caches[key]


def _make_model(task, settings, examples, start, elmo) -> TaskModel:
    texts, n = task.texts(examples), settings.min_count
    dim = start.vectors.shape[1]
    words = [*frequent_words(texts, n), *start.words] if dim else []
    vectors = TokenVectors(
        dict.fromkeys(words),
        dim,
        settings.character_dim,
        elmo=elmo,
        elmo_at=settings.elmo_at,
        dropout=settings.dropout,
        trainable_words=not settings.freeze_word_vectors,
        endings=frequent_endings(texts, settings.endings, n) if dim else (),
    )
    vectors.assign_word_vectors(start.words, start.vectors)
    sizes = {"units": settings.units, "dropout": settings.layer_dropout}
    return task.make_model(vectors, examples, **sizes)


def _fit(task, settings, data, model, cache, progress) -> BestEpoch:
    """Trains a model until it is best on dev, and saves it after each better epoch."""
    labels, size = task.targets(data.train, model), settings.batch_size
    batches = model.batches(data.train, labels=labels, cache=cache, batch_size=size)
    rate: Any = settings.learning_rate
    if settings.schedule == "cosine":
        n_steps = settings.epochs * int(batches.shuffled(0, 1).cardinality())
        rate = keras.optimizers.schedules.CosineDecay(rate, n_steps)
    adam: Any = keras.optimizers.Adam(rate, global_clipnorm=5.0)
    options: Any = {"jit_compile": False}  # XLA has no strings
    model.compile(adam, **options)
    model(batches.inputs([0]))  # makes all variables, so that a step is traced once
    model.optimizer.build(model.trainable_variables)

    def score():
        dev = model.batches(data.dev, cache=cache)
        task.calibrate(model, dev)
        return score_model(task, model, dev)

    best = fit_until_best(
        model,
        batches,
        score,
        epochs=settings.epochs,
        patience=settings.patience or settings.epochs,
        seed=settings.seed,
        save=lambda: _save_model(model, settings.output),
        progress=progress,
    )
    if data.test:
        test = model.batches(data.test, cache=cache)
        best.results["test"] = score_model(task, model, test)[0]
    return best


def _save_model(model, folder):
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / MODEL) as temporary:
        model.save(temporary)
    for name in HEAD_FILES[:2]:  # the head of an earlier model
        (folder / name).unlink(missing_ok=True)


def _write(task, arguments, data, results, predictions):
    """Writes the card, and then the results, with which a run is complete."""
    folder = arguments.output
    with replacing(folder / CARD) as temporary:
        write_card(temporary, task, arguments, data._asdict(), results, predictions)
    with replacing(folder / RESULTS) as temporary:
        text = json.dumps(results, indent=1, ensure_ascii=False)
        temporary.write_text(f"{text}\n", encoding="utf-8")


def _mixes(model) -> dict[str, dict[str, Any]]:
    """The learned mixes by the position at which ELMo is added."""
    return {
        position: {
            "weights": [round(float(w), 6) for w in mix.layer_weights()],
            "gamma": round(float(mix.gamma), 6),
        }
        for position, mix in model.token_vectors.mixes.items()
    }


def _package_model(texts):
    words = (word for text in texts[:: len(texts) // 500 + 1] for word in text)
    try:
        return package_model(" ".join(words))
    except ValueError as error:
        raise ValueError(f"{error} `{NONE}` trains without one.") from None


def _elmo_layer(settings):
    if settings.model is None:
        return None
    return Elmo.from_pretrained(
        settings.model,
        num_representations=len(elmo_positions(settings.elmo_at)),
        layers=settings.layers,
        l2=settings.l2 if settings.layers == "mix" else 0.0,
        layer_norm=not settings.no_layer_norm,
        dropout=settings.elmo_dropout,
        trainable_bilm=settings.fine_tune,
    )


def _start_vectors(settings, texts) -> WordVectorFile:
    path = settings.word_vectors
    if path is None:
        return WordVectorFile((), np.empty((0, settings.word_dim)))
    file = read_lower_case_vectors(path, texts)
    dim = file.vectors.shape[1]
    if settings.word_dim not in (None, dim):
        raise ValueError(
            f"`word_dim` is {settings.word_dim}, but the vectors of {path} have {dim} "
            "dimensions. Leave it out."
        )
    if not file.words:
        raise ValueError(f"{path} has none of the words of the examples.")
    return file
