"""Training that stops when the score on held-out examples no longer improves."""

import time
from collections.abc import Callable
from typing import NamedTuple

import keras
import numpy as np
from keras.callbacks import LambdaCallback

from elmo_keras.progress import Progress
from elmo_keras.tasks.batches import Batches

# Keras' EarlyStopping is not used: an epoch may have more batches than the one before,
# for which `fit` has no place, and with equal scores the lower loss decides.


class Training(NamedTuple):
    """How a model was trained."""

    dev: dict[str, float]  # the scores of the best epoch
    best_epoch: int  # counted from 1
    epochs: int
    losses: list[float]  # the mean loss of each epoch
    seconds_per_epoch: float  # the median, without the first one, which is traced


def fit_until_best(
    model: keras.Model,
    batches: Batches,
    score: Callable[[], dict[str, float]],
    *,
    epochs: int,
    patience: int,
    seed: int = 0,
) -> Training:
    """Trains a compiled model and leaves it with the weights of its best epoch.

    The first score decides, and higher is better; if it is equal, as F1 can be 0 in the
    first epochs, the lower training loss. Training stops after `patience` epochs without a
    better one; the order of the examples depends on `seed`.
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
        scores = score()
        dev = ", ".join(f"{name} {100 * x:.2f}" for name, x in scores.items())
        line = f"  epoch {epoch:3}  loss {losses[-1]:.4f}  dev {dev}"
        print(f"{line}  {seconds[-1]:.1f} s", flush=True)
        key = next(iter(scores.values())), -losses[-1]
        if best_key is None or key > best_key:
            best, best_key, best_epoch = scores, key, epoch
            weights = [np.copy(w) for w in model.trainable_variables]
        if epoch - best_epoch >= patience:
            break
    for variable, value in zip(model.trainable_variables, weights):
        variable.assign(value)
    median = round(float(np.median(seconds[1:] or seconds)), 3)
    return Training(best, best_epoch, epoch, losses, median)
