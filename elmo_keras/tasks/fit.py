"""Trains a model of a task on files, scores it and saves it; a finished run is kept."""

import collections
import contextlib
import dataclasses
import hashlib
import json
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
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
from elmo_keras.util.markdown_table import markdown_table
from elmo_keras.util.outputs import check_apart, check_file, check_folder

RESULTS = "results.json"
# Of words from random vectors and of their characters, where ELMo is not at the input.
ALONE = {"word_dim": 100, "character_dim": 64}
FEW_EXAMPLES = 1000
FEW_STEPS, MOST_EPOCHS = 600, 50  # fewer steps are too few
LABELS, MISTAKES = 20, 8  # of a card, at most
NOTHING = "none"  # where a label is missing


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
        the `settings`. model.keras is the model after the best epoch so far. At the end,
        there are model_card.md and, on a frozen language model, the head: see `save_head`.

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
    n_kept = max(1, round(n))
    rows = np.random.default_rng(settings.seed).permutation(len(data.train))[:n_kept]
    data = data._replace(train=[data.train[i] for i in sorted(rows)])
    try:
        caches = {} if caches is None else caches
        cache = _layer_cache(settings, texts, recorded["data"], caches, progress)
        vectors = _token_vectors(settings, task.texts(data.train), start, elmo)
        sizes = {"units": settings.units, "dropout": settings.layer_dropout}
        model = task.make_model(vectors, data.train, **sizes)
        results = _fit(task, settings, model, data, cache, progress)
        results |= {
            "seconds": round(time.perf_counter() - began, 2),
            "cached": cache is not None,
            "settings": recorded,
        }
        if (name := settings.model) is not None and not settings.fine_tune:
            ends = task.left_out(data.train)
            save_head(
                model,
                name,
                settings.output,
                ends=SpanEnds.fit(ends) if ends else None,
                language=name if name in SCRIPTS else None,
                tokenizer=task.tokenizer,
            )
        with replacing(settings.output / CARD) as temporary:
            found = model.results(data.dev, model.batches(data.dev, cache=cache))
            pairs = zip(data.dev, found)
            labels = [(task.parts(e), task.parts(e, result)) for e, result in pairs]
            _write_card(temporary, task, given, data._asdict(), results, labels)
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
    names = RESULTS, MODEL, *HEAD_FILES[:2], CARD
    path, model, *others = (settings.output / name for name in names)
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
    paths = settings.dev, settings.test
    dev, test = (task.read(path) if path else [] for path in paths)
    if settings.dev is None:
        train, dev = hold_out(train, settings.dev_share)
    if not train or not dev:
        raise ValueError(
            f"{settings.train} has too few examples to train on some and hold out others."
        )
    return Data(train[: settings.limit], dev, test)


def _record(task, settings, data, start, elmo):
    """All that decides about the results of a run, by name."""
    texts = json.dumps(data, ensure_ascii=False)
    vectors = "\n".join(start.words).encode() + start.vectors.tobytes()
    fingerprints = [
        hashlib.sha256(content).hexdigest()[:16]
        for content in (texts.encode(), vectors)
    ]
    values = dataclasses.asdict(task) | dataclasses.asdict(settings)
    values |= {
        "task": task.name,
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


def _fit(task, settings, model, data, cache, progress):
    """Trains and saves a model; returns its scores, and what it learned of the mixes."""
    labels, size = task.targets(data.train, model), settings.batch_size
    batches = model.batches(data.train, labels=labels, cache=cache, batch_size=size)
    rate = settings.learning_rate
    if settings.schedule == "cosine":
        n_steps = settings.epochs * int(batches.shuffled(0, 1).cardinality())
        rate = keras.optimizers.schedules.CosineDecay(rate, n_steps)
    model.compile(
        keras.optimizers.Adam(rate, global_clipnorm=5.0),  # pyright: ignore[reportArgumentType]
        jit_compile=False,  # XLA has no strings
    )
    model(batches.inputs([0]))  # makes all variables, so that a step is traced once
    model.optimizer.build(model.trainable_variables)

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
    return training | {"test": test, "examples": len(data.train), "mixes": mixes}


def _token_vectors(settings, texts, start, elmo):
    dim = start.vectors.shape[1]
    words = [*frequent_words(texts, settings.min_count), *start.words]
    vectors = TokenVectors(
        dict.fromkeys(words if dim else ()),
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
    name, arithmetic = settings.model, settings.arithmetic
    key = name, arithmetic, fingerprint
    if key not in caches:
        caches.clear()  # a file of gigabytes each
        start = time.perf_counter()
        embedder = Embedder(name, layers="all", arithmetic=arithmetic)
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


def evaluate(
    task: Task, model: Any, examples: list[dict], cache: LayerCache | None = None
) -> np.ndarray:
    """The statistics `(examples, n)` of a model's predictions, which `task.scores` takes.

    `cache` holds the language model's layers of the examples; without it, the model
    computes them.
    """
    results = model.results(examples, model.batches(examples, cache=cache))
    return task.statistics(model, examples, results)


def percentages(scores: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {100 * x:.2f}" for name, x in scores.items())


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

    The first score decides, higher being better; if it is equal, as F1 can be 0 in the
    first epochs, the lower training loss. Training stops after `patience` epochs without a
    better one; the order of the examples depends on `seed`. `save` is called after each
    epoch that is better than those before. `score` may calibrate the model, which training
    then goes on without. For what is returned, see `train`; the median
    `seconds_per_epoch` is without the first one, which is traced.
    """
    best, best_key, best_epoch, weights = {}, None, 0, []
    losses, seconds = [], []
    for epoch in range(1, epochs + 1):
        dataset = batches.shuffled(seed, epoch)
        start, n_steps = time.perf_counter(), int(dataset.cardinality())
        name, hidden = f"  epoch {epoch:3}", not progress
        with Progress(
            total=n_steps, desc=name, unit=" steps", leave=False, disable=hidden
        ) as bar:
            count = LambdaCallback(on_train_batch_end=lambda batch, logs: bar.update(1))
            options: Any = {"shuffle": False, "verbose": 0, "callbacks": [count]}
            history = model.fit(dataset, **options)
        seconds.append(time.perf_counter() - start)
        losses.append(float(history.history["loss"][0]))
        if not np.isfinite(losses[-1]):
            raise FloatingPointError(f"The loss of epoch {epoch} is {losses[-1]}.")
        trained = [np.copy(w) for w in model.trainable_variables]
        scores = {name: float(value) for name, value in score().items()}
        if progress:
            line = f"{name}  loss {losses[-1]:.4f}  dev {percentages(scores)}"
            print(f"{line}  {seconds[-1]:.1f} s", flush=True)
        key = next(iter(scores.values())), -losses[-1]
        if best_key is None or key > best_key:
            best, best_key, best_epoch = scores, key, epoch
            weights = [np.copy(w) for w in model.trainable_variables]
            save()
        if epoch - best_epoch >= patience:
            break
        _assign(model, trained)
    _assign(model, weights)
    return {
        "dev": best,
        "best_epoch": best_epoch,
        "epochs": len(losses),
        "losses": losses,
        "seconds_per_epoch": round(float(np.median(seconds[1:] or seconds)), 3),
    }


def _assign(model, values):
    for variable, value in zip(model.trainable_variables, values):
        variable.assign(value)


def _write_card(path, task, settings, data, results, pairs):
    """Writes the card of a model; `pairs` are the expected and predicted labels of dev."""
    folder, model = settings.output, "A Keras model"
    if size := sum(file.stat().st_size for file in folder.glob("head.*")):
        name = results["settings"]["model"]
        model = f"A head of `{name}`, {size / 1e6:.2f} MB in int8"
    files = {part: getattr(settings, part) or settings.train for part in data}
    counts = [
        f"{len(examples):,} examples of `{files[part].name}` ({part})"
        for part, examples in data.items()
        if examples
    ]
    rows = [
        [part, *(f"{100 * x:.1f}" for x in results[part].values())]
        for part in ("dev", "test")
        if results[part]
    ]
    sections = [
        f"# {folder.resolve().name}",
        f'{model}, for `elmo_keras.pipeline("{folder}")`, by `elmo-keras {task.name}`.',
        f"**Data.** {'; '.join(counts)}.",
        f"**Scores.** Of {results['epochs']} epochs dev chose number "
        f"{results['best_epoch']}; test chose nothing.",
        markdown_table(["part", *results["dev"]], rows),
        *_scores_by_label(pairs),
        "**Made by**",
        f"```sh\n{_command(task, settings)}\n```",
    ]
    path.write_text("\n\n".join(sections) + "\n", encoding="utf-8")


def _command(task, settings):
    words = ["elmo-keras", task.name]
    for one in (settings, task):
        for field in dataclasses.fields(one):
            value = getattr(one, field.name)
            if value not in (None, field.default):
                values = value if isinstance(value, tuple) else [value]
                values = [] if value is True else map(str, values)
                words += f"--{field.name.replace('_', '-')}", *values
    return shlex.join(words)


def _scores_by_label(pairs):
    """F1 by label, and the most frequent mistakes, of expected and predicted labels."""
    counts = collections.Counter(
        (expected.get(key, NOTHING), predicted.get(key, NOTHING))
        for expected, predicted in pairs
        for key in {*expected, *predicted}
    )
    expected, predicted = collections.Counter(), collections.Counter()
    for (a, b), n in counts.items():
        expected[a] += n
        predicted[b] += n
    by_label = [
        f"{label} {200 * counts[label, label] / (n + predicted[label]):.1f} ({n:,})"
        for label, n in expected.most_common()
        if label != NOTHING
    ]
    mistakes = [f"{a} → {b} ({n})" for (a, b), n in counts.most_common() if a != b]
    lines = {
        "F1 by label, with its number in dev": by_label[:LABELS],
        "Most frequent mistakes, expected → found": mistakes[:MISTAKES],
    }
    return [f"{title}: {', '.join(x)}." for title, x in lines.items() if x]
