"""Training that stops when the score on held-out examples no longer improves."""

from collections.abc import Callable
from typing import NamedTuple

import keras
import numpy as np

from elmo_keras.tasks.experiments.batches import Batches
from elmo_keras.tasks.experiments.epoch_line import EpochLine


class Fitted(NamedTuple):
    """The result of a training run.

    Attributes:
        scores: the scores of the best epoch.
        best_epoch, epochs: the best and the last epoch, counted from 1.
        losses: the mean loss of each epoch.
        seconds_per_epoch: the median, without scoring and tracing.
    """

    scores: dict[str, float]
    best_epoch: int
    epochs: int
    losses: list[float]
    seconds_per_epoch: float


def fit_until_best(
    model: keras.Model,
    batches: Batches,
    score: Callable[[], dict[str, float]],
    *,
    epochs: int,
    patience: int,
    seed: int = 0,
    verbose: int = 0,
) -> Fitted:
    """Trains a compiled model and leaves it with the weights of its best epoch.

    Args:
        model: a compiled model.
        batches: the training examples, with labels.
        score: returns the current scores of the model; the first one decides, and
            higher is better. If it is equal, the lower training loss decides, as F1
            can be 0 in the first epochs.
        epochs: the maximum.
        patience: the number of epochs without a better score after which training
            stops.
        seed: seed of the order of the examples.
        verbose: 1 to show the epochs.

    Raises:
        FloatingPointError: the loss is not finite.
    """
    best, best_key, best_epoch, losses, seconds = None, None, 0, [], []
    with EpochLine(bool(verbose)) as line:
        for epoch in range(1, epochs + 1):
            line.start(epoch)
            losses.append(_train(model, batches.shuffled(seed, epoch), line))
            seconds.append(line.end_steps())
            scores = score()
            line.finish(f"loss {losses[-1]:.4f}  dev {_shown(scores)}")
            key = next(iter(scores.values())), -losses[-1]
            if best_key is None or key > best_key:
                best, best_key, best_epoch = scores, key, epoch
                weights = [np.copy(w) for w in model.trainable_variables]
            if epoch - best_epoch >= patience:
                break
    for variable, value in zip(model.trainable_variables, weights):
        variable.assign(value)
    return Fitted(best, best_epoch, epoch, losses, float(np.median(seconds)))


def _train(model, dataset, line):
    """Trains for one epoch and returns its mean loss."""
    fitted = model.fit(dataset, shuffle=False, verbose=0, callbacks=[line])
    loss = float(fitted.history["loss"][0])
    if not np.isfinite(loss):
        raise FloatingPointError(f"The loss of epoch {line.epoch} is {loss}.")
    return loss


def _shown(scores):
    return ", ".join(f"{name} {100 * value:.2f}" for name, value in scores.items())
