"""Trains a model of a task on files, scores it and saves it; a finished run is kept."""

import contextlib
import dataclasses
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from keras.callbacks import LambdaCallback

from elmo_keras.elmo import Elmo
from elmo_keras.embed.embedder import Embedder
from elmo_keras.files import check_same_run, installed_version, replacing
from elmo_keras.hub.catalogue import CARD, HEAD_FILES, parts_of_model
from elmo_keras.progress import Progress
from elmo_keras.tasks.batches import Batches
from elmo_keras.tasks.card import write_card
from elmo_keras.tasks.data import WordVectorFile, hold_out, read_lower_case_vectors
from elmo_keras.tasks.head_files import MODEL, save_head
from elmo_keras.tasks.layer_cache import LayerCache
from elmo_keras.tasks.span_ends import SpanEnds
from elmo_keras.tasks.task import AUTO, NONE, UNRECORDED, Settings, Task
from elmo_keras.tasks.token_vectors import (
    TokenVectors,
    frequent_endings,
    frequent_words,
)
from elmo_keras.text.scripts import SCRIPTS, is_in_script
from elmo_keras.util.command import CommandFailed
from elmo_keras.util.outputs import check_apart, check_file, check_folder

RESULTS = "results.json"
# Of words from random vectors and of their characters, where ELMo is not at the input.
ALONE = {"word_dim": 100, "character_dim": 64}
FEW_EXAMPLES = 1000
FEW_STEPS, MOST_EPOCHS = 600, 50  # fewer steps are too few


class Data(NamedTuple):
    train: list[dict]
    dev: list[dict]
    test: list[dict]


def train(
    task: Task,
    settings: Settings,
    *,
    caches: dict[Any, LayerCache] | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """Trains a model, and writes it and its scores to a folder; a finished run is read.

    Args:
        task: reads the files, and makes and scores the model.
        settings: files, folder and numbers.
        caches: keeps the layers of a frozen language model for further runs on the same
            files; pass the same dict to each.
        progress: whether to print a line for each epoch, and show bars on standard error.

    Returns:
        The content of results.json: the scores `dev` and `test`, `best_epoch`, `epochs`,
        their `losses`, `seconds`, `seconds_per_epoch`, `examples`, the learned `mixes` and
        the `settings`. model.keras is the model after its best epoch; it is there as soon
        as this epoch is over. At the end, model_card.md says how it was made and how
        good it is, and on a frozen language model there is its head, so that the folder
        is one: see `save_head`.

    Raises:
        ValueError, OSError: a setting, a file or the language model can't be used, or the
            folder holds another run; nothing was written.
        CommandFailed, FloatingPointError: training or writing failed.
    """
    given = settings
    settings = _checked(settings, task.defaults)
    before = _read_results(settings)
    data = read_data(task, settings)
    texts = [text for part in data for text in task.texts(part)]
    n = settings.share * len(data.train)
    settings = _for_examples(settings, task.defaults["epochs"], n)
    if settings.model == AUTO:
        settings = dataclasses.replace(settings, model=package_model(texts))
        if progress:
            print(f"The language model is {settings.model}.", flush=True)
    start = _start_vectors(settings, texts)
    elmo = _elmo_layer(settings)  # fails before training if it can't be used
    recorded = _record(task, settings, data, start, elmo)
    if before:
        source = settings.output / RESULTS
        check_same_run(recorded, before["settings"], source, "Name another folder.")
        return before
    if progress and start.words:
        n_words = len({token.lower() for text in texts for token in text})
        print(f"{len(start.words):,} of {n_words:,} words have a vector", flush=True)
    began = time.perf_counter()
    keras.backend.clear_session()
    keras.utils.set_random_seed(settings.seed)
    examples = _random_share(data.train, settings.share, settings.seed)
    try:
        caches = {} if caches is None else caches
        cache = _layer_cache(settings, texts, recorded["data"], caches, progress)
        vectors = _token_vectors(settings, task.texts(examples), start, elmo)
        sizes = {"units": settings.units, "dropout": settings.layer_dropout}
        model = task.make_model(vectors, examples, **sizes)
        results = _fit(task, settings, model, examples, data, cache, progress)
        results |= {
            "seconds": round(time.perf_counter() - began, 2),
            "cached": cache is not None,
            "settings": recorded,
        }
        _save_head(task, settings, model, examples)
        with replacing(settings.output / CARD) as temporary:
            found = model.results(data.dev, model.batches(data.dev, cache=cache))
            labels = [
                (task.parts(e), task.parts(e, r)) for e, r in zip(data.dev, found)
            ]
            parts = data._asdict() | {"train": examples}
            write_card(temporary, task, given, parts, results, labels)
        # What else there is comes before the results, so that it exists where these are.
        with replacing(settings.output / RESULTS) as temporary:
            text = json.dumps(results, indent=1, ensure_ascii=False)
            temporary.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise CommandFailed(error) from error
    return results


def _checked(settings, defaults) -> Settings:
    """Settings with the defaults of a task, if they fit each other."""
    if settings.freeze_word_vectors and settings.word_vectors is None:
        raise ValueError("`freeze_word_vectors` needs `word_vectors`.")
    is_cached = not (settings.no_cache or settings.fine_tune)
    if settings.arithmetic not in (None, "float32") and not is_cached:
        raise ValueError(
            "`arithmetic` is for layers that are computed once. Leave out `fine_tune` "
            "and `no_cache`."
        )
    if settings.model in (None, NONE) or settings.elmo_at == "output":
        defaults = defaults | ALONE
    if settings.word_vectors:
        defaults = defaults | {"word_dim": None}
    if is_cached and installed_version("ai-edge-litert"):
        defaults = defaults | {"arithmetic": "int8"}
    values = {n: x for n, x in defaults.items() if getattr(settings, n) is None}
    values["epochs"] = settings.epochs  # see `_for_examples`
    if settings.model == NONE:
        values["model"] = None
    return dataclasses.replace(settings, **values)


def _for_examples(settings, usual, n) -> Settings:
    """Settings whose batches and epochs are those for `n` examples; `usual` is of many."""
    # With 32, a hundred examples stop after too few steps: see the research notes.
    batch_size = settings.batch_size or (8 if n < FEW_EXAMPLES else 32)
    enough = int(min(FEW_STEPS * batch_size / n, MOST_EPOCHS))
    epochs = settings.epochs or max(usual, enough)
    return dataclasses.replace(settings, batch_size=batch_size, epochs=epochs)


def _read_results(settings):
    """The results of a finished run, or None; refuses a folder that can't be written."""
    check_folder(settings.output)
    outputs = RESULTS, MODEL, *HEAD_FILES[:2], CARD
    path, model, *others = (settings.output / name for name in outputs)
    inputs = settings.train, settings.dev, settings.test, settings.word_vectors
    parts = () if settings.model in (None, AUTO) else parts_of_model(settings.model)
    check_apart([path, model, *others], [*filter(None, inputs), *parts])
    if settings.output.exists():
        check_file(model)
    if not path.exists():
        return None
    with contextlib.suppress(ValueError, AttributeError):
        results = json.loads(path.read_text("utf-8"))
        if {"dev", "test", "settings"} <= results.keys():
            return results
    raise ValueError(f"{path} should hold the results of a task. Remove it.")


def read_data(task: Task, settings: Settings) -> Data:
    train = task.read(settings.train, training=True)
    dev, test = (
        task.read(path) if path else [] for path in (settings.dev, settings.test)
    )
    if settings.dev is None:
        train, dev = hold_out(train, settings.dev_share)
    if not train or not dev:
        raise ValueError(
            f"{settings.train} has too few examples to train on some and hold out others."
        )
    return Data(train[: settings.limit], dev, test)


def _record(task, settings, data, start, elmo):
    """All that decides about the results of a run, by name."""
    content = json.dumps(data, ensure_ascii=False).encode()
    vectors = "\n".join(start.words).encode() + start.vectors.tobytes()
    values = dataclasses.asdict(task) | dataclasses.asdict(settings)
    values |= {
        "task": task.name,
        "word_dim": start.vectors.shape[1],
        "word_vectors": _fingerprint(vectors) if start.words else None,
        "data": _fingerprint(content),
        "weights": elmo.bilm.digest() if elmo else None,
    }
    return {
        name: value if isinstance(value, int | float | None) else str(value)
        for name, value in values.items()
        if name not in UNRECORDED
    }


def _fingerprint(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _fit(task, settings, model, examples, data, cache, progress):
    """Trains and saves a model; returns its scores, and what it learned of the mixes."""
    batches = model.batches(
        examples,
        labels=task.targets(examples, model),
        cache=cache,
        batch_size=settings.batch_size,
    )
    _compile(model, batches, settings)

    def dev_scores():
        task.calibrate(model, data.dev, model.batches(data.dev, cache=cache))
        return task.scores(evaluate(task, model, data.dev, cache))

    def save():
        settings.output.mkdir(parents=True, exist_ok=True)
        with replacing(settings.output / MODEL) as temporary:
            model.save(temporary)
        for name in HEAD_FILES[:2]:  # of another model
            (settings.output / name).unlink(missing_ok=True)

    training = fit_until_best(
        model,
        batches,
        dev_scores,
        epochs=settings.epochs,
        patience=settings.patience or settings.epochs,
        seed=settings.seed,
        save=save,
        progress=progress,
    )
    test = task.scores(evaluate(task, model, data.test, cache)) if data.test else {}
    mixes = {
        place: {
            "weights": [round(float(w), 6) for w in mix.layer_weights()],
            "gamma": round(float(mix.gamma), 6),
        }
        for place, mix in model.token_vectors.mixes.items()
    }
    return training | {"test": test, "examples": len(examples), "mixes": mixes}


def _save_head(task, settings, model, examples):
    """Writes the head of a model on a frozen language model."""
    if settings.model is None or settings.fine_tune:
        return
    ends = task.left_out(examples)
    save_head(
        model,
        settings.model,
        settings.output,
        ends=SpanEnds.fit(ends) if ends else None,
        language=settings.model if settings.model in SCRIPTS else None,
        tokenizer=task.tokenizer,
    )


def _token_vectors(settings, texts, start, elmo):
    """`TokenVectors` of the frequent words of texts, and of those that have a vector."""
    dim = start.vectors.shape[1]
    frequent = frequent_words(texts, settings.min_count)
    vectors = TokenVectors(
        dict.fromkeys([*frequent, *start.words]) if dim else {},
        dim,
        settings.character_dim,
        elmo=elmo,
        elmo_at=settings.elmo_at,
        dropout=settings.dropout,
        trainable_words=not settings.freeze_word_vectors,
        endings=frequent_endings(
            texts, settings.endings if dim else 0, settings.min_count
        ),
    )
    vectors.assign_word_vectors(start.words, start.vectors)
    return vectors


def _layer_cache(settings, texts, fingerprint, caches, progress):
    """The layers of all texts; None if the language model runs in every epoch."""
    if settings.no_cache or settings.fine_tune or settings.model is None:
        return None
    key = settings.model, settings.arithmetic, fingerprint
    if key not in caches:
        caches.clear()  # a file of gigabytes each
        start = time.perf_counter()
        arithmetic = settings.arithmetic
        embedder = Embedder(settings.model, layers="all", arithmetic=arithmetic)
        caches[key] = LayerCache(embedder, texts, progress=progress)
        if progress:
            seconds = time.perf_counter() - start
            print(f"  the biLM's layers, computed once: {seconds:.1f} s", flush=True)
    return caches[key]


def package_model(texts: Sequence[Sequence[str]]) -> str:
    """The name of the package's language model for lists of tokens, by their script."""
    sample = " ".join(" ".join(text) for text in texts[:: len(texts) // 500 + 1])
    languages = [language for language in SCRIPTS if is_in_script(sample, language)]
    if languages:
        return languages[0]
    raise ValueError(
        "`model` should be given: the package's are for English and Korean, and most "
        f"letters of the texts are of another script. `{NONE}` trains without one."
    )


def _elmo_layer(settings):
    if settings.model is None:
        return None
    return Elmo.from_pretrained(
        settings.model,
        num_representations=2 if settings.elmo_at == "both" else 1,
        layers=settings.layers,
        l2=settings.l2 if settings.layers == "mix" else 0.0,
        layer_norm=not settings.no_layer_norm,
        dropout=settings.elmo_dropout,
        trainable_bilm=settings.fine_tune,
    )


def _start_vectors(settings, texts) -> WordVectorFile:
    """The vectors of words in the file of `word_vectors`."""
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


def _random_share(examples, share, seed):
    n = max(1, round(share * len(examples)))
    rows = np.random.default_rng(seed).permutation(len(examples))[:n]
    return [examples[i] for i in sorted(rows)]


def _compile(model, batches, settings):
    """Compiles a model for Adam, and makes all variables, so that a step is traced once."""
    rate = settings.learning_rate
    if settings.schedule == "cosine":
        n_steps = settings.epochs * int(batches.shuffled(0, 1).cardinality())
        rate = keras.optimizers.schedules.CosineDecay(rate, n_steps)
    model.compile(
        keras.optimizers.Adam(rate, global_clipnorm=5.0),  # pyright: ignore[reportArgumentType]
        jit_compile=False,  # XLA has no strings
    )
    model(batches.inputs([0]))
    model.optimizer.build(model.trainable_variables)


def evaluate(
    task: Task, model: Any, examples: list[dict], cache: LayerCache | None = None
) -> np.ndarray:
    """The statistics `(examples, n)` of a model's predictions, which `task.scores` takes.

    `cache` holds the language model's layers of the examples; without it, the model
    computes them.
    """
    results = model.results(examples, model.batches(examples, cache=cache))
    return task.statistics(model, examples, results)


# Keras' EarlyStopping is not used: an epoch may have more batches than the one before,
# for which `fit` has no place, and with equal scores the lower loss decides.
def fit_until_best(
    model: keras.Model,
    batches: Batches,
    score: Callable[[], dict[str, float]],
    *,
    epochs: int,
    patience: int,
    seed: int = 0,
    save: Callable[[], None] = lambda: None,
    progress: bool = False,
) -> dict[str, Any]:
    """Trains a compiled model and leaves it with the weights of its best epoch.

    The first score decides, and higher is better; if it is equal, as F1 can be 0 in the
    first epochs, the lower training loss. Training stops after `patience` epochs without a
    better one; the order of the examples depends on `seed`. `save` is called after each
    epoch that is better than those before. Returns the scores `dev` of the best epoch,
    `best_epoch`, counted from 1, `epochs`, the mean `losses` of each, and the median
    `seconds_per_epoch`, without the first one, which is traced.
    """
    best, best_key, best_epoch, weights = {}, None, 0, []
    losses, seconds = [], []
    for epoch in range(1, epochs + 1):
        dataset = batches.shuffled(seed, epoch)
        start = time.perf_counter()
        with Progress(
            total=int(dataset.cardinality()),
            desc=f"  epoch {epoch:3}",
            unit=" steps",
            leave=False,
            disable=not progress,
        ) as bar:
            count = LambdaCallback(on_train_batch_end=lambda batch, logs: bar.update(1))
            history = model.fit(
                dataset,
                shuffle=False,
                verbose=0,  # pyright: ignore[reportArgumentType]
                callbacks=[count],
            )
        seconds.append(time.perf_counter() - start)
        losses.append(float(history.history["loss"][0]))
        if not np.isfinite(losses[-1]):
            raise FloatingPointError(f"The loss of epoch {epoch} is {losses[-1]}.")
        scores = {name: float(value) for name, value in score().items()}
        if progress:
            dev = ", ".join(f"{name} {100 * x:.2f}" for name, x in scores.items())
            line = f"  epoch {epoch:3}  loss {losses[-1]:.4f}  dev {dev}"
            print(f"{line}  {seconds[-1]:.1f} s", flush=True)
        key = next(iter(scores.values())), -losses[-1]
        if best_key is None or key > best_key:
            best, best_key, best_epoch = scores, key, epoch
            weights = [np.copy(w) for w in model.trainable_variables]
            save()
        if epoch - best_epoch >= patience:
            break
    for variable, value in zip(model.trainable_variables, weights):
        variable.assign(value)
    return {
        "dev": best,
        "best_epoch": best_epoch,
        "epochs": len(losses),
        "losses": losses,
        "seconds_per_epoch": round(float(np.median(seconds[1:] or seconds)), 3),
    }
