"""Trains a model, epoch by epoch, and keeps the weights that score best."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
from keras.callbacks import LambdaCallback

from elmo_keras.base.progress import Progress
from elmo_keras.heads.batches import ExampleBatches
from elmo_keras.heads.evaluation import percentages
from elmo_keras.heads.model import TaskModel
from elmo_keras.heads.task import Task


def score_model(
    task: Task, model: TaskModel, batches: ExampleBatches
) -> tuple[dict[str, float], list]:
    """The scores of a model on the examples of batches; and its predictions."""
    predictions = model.results(batches)
    statistics = task.statistics(model, batches.examples, predictions)
    return task.scores(statistics), predictions


class BestEpoch(NamedTuple):
    """The result of training: its best epoch.

    Attributes:
        results: `dev`, the best scores; `best_epoch`, `epochs`, `losses` of all epochs; and
            `seconds_per_epoch`, the median without the first one, which is traced.
        predictions: the second value of `score` in the best epoch.
    """

    results: dict[str, Any]
    predictions: Any


# Keras' EarlyStopping is not used: an epoch may have more batches than the one before,
# which `fit` can't express, and with equal scores the lower loss decides.
def fit_until_best(
    model: keras.Model,
    batches: ExampleBatches,
    score: Callable[[], tuple[dict[str, float], Any]],
    *,
    epochs: int,
    patience: int,
    seed: int = 0,
    save: Callable[[], None] = lambda: None,
    progress: bool = False,
) -> BestEpoch:
    """Trains a compiled model and leaves it with the weights of its best epoch.

    `score` gives scores, and a value that is kept for the best epoch. The higher first
    score is better; if scores are equal, as F1 can be 0 in the first epochs, the lower
    training loss is better. Training stops after `patience` epochs without a better one;
    the order of the examples depends on `seed`. `save` is called after each epoch that is
    better than those before. `score` may calibrate the model; training continues without
    that change.
    """
    best, best_key, best_epoch, weights = ({}, None), None, 0, []
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
            with bar.ticking():  # the first step is traced
                history = model.fit(dataset, **options)
        seconds.append(time.perf_counter() - start)
        losses.append(float(history.history["loss"][0]))
        if not np.isfinite(losses[-1]):
            reason = f"The loss of epoch {epoch} is {losses[-1]}"
            raise FloatingPointError(f"{reason}. Give a lower learning rate.")
        trained = [np.copy(w) for w in model.trainable_variables]
        if not all(np.isfinite(w).all() for w in trained):
            reason = f"Weights after epoch {epoch} are not finite"
            raise FloatingPointError(f"{reason}. Give a lower learning rate.")
        scores, predictions = score()
        scores = {name: float(value) for name, value in scores.items()}
        if progress:
            line = f"{name}  loss {losses[-1]:.4f}  dev {percentages(scores)}"
            print(f"{line}  {seconds[-1]:.1f} s", flush=True)
        first = next(iter(scores.values()))
        key = -np.inf if np.isnan(first) else first, -losses[-1]
        if best_key is None or key > best_key:
            best, best_key, best_epoch = (scores, predictions), key, epoch
            weights = [np.copy(w) for w in model.trainable_variables]
            save()
        if epoch - best_epoch >= patience:
            break
        _assign(model, trained)
    _assign(model, weights)
    results = {
        "dev": best[0],
        "best_epoch": best_epoch,
        "epochs": len(losses),
        "losses": losses,
        "seconds_per_epoch": round(float(np.median(seconds[1:] or seconds)), 3),
    }
    return BestEpoch(results, best[1])


def _assign(model, values):
    for variable, value in zip(model.trainable_variables, values):
        variable.assign(value)
