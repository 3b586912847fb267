"""Training that ends when the score on held-out examples has stopped to rise."""

import time
from collections.abc import Callable
from typing import NamedTuple

import keras
import numpy as np

from elmo_keras.tasks.experiments.batches import Batches


class Fitted(NamedTuple):
    """How a training went.

    Attributes:
        scores: those of the best epoch.
        best_epoch, epochs: from 1.
        losses: the mean loss of each epoch.
        seconds_per_epoch: the median, of training only.
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
    epochs: int,
    patience: int,
    seed: int = 0,
    verbose: int = 0,
) -> Fitted:
    """Trains a compiled model and leaves it with the weights of its best epoch.

    Args:
        model: compiled.
        batches: the training examples, with labels.
        score: gives the scores of the model as it is; the first one decides, higher is
            better, and of equal ones that with the lower loss in training: F1 can be 0
            for a while.
        epochs: at most so many.
        patience: it ends after so many epochs without a better score.
        seed: that of the order of the examples.
        verbose: 1 for a line an epoch.

    Raises:
        FloatingPointError: the loss is not a number any more.
    """
    best, best_epoch, losses, seconds = None, 0, [], []
    for epoch in range(1, epochs + 1):
        start = time.perf_counter()
        history = model.fit(
            batches.shuffled(seed, epoch), shuffle=False, verbose=0
        ).history
        seconds.append(time.perf_counter() - start)
        losses.append(float(history["loss"][0]))
        if not np.isfinite(losses[-1]):
            raise FloatingPointError(f"The loss of epoch {epoch} is {losses[-1]}.")
        scores = score()
        if verbose:
            print(_line(epoch, losses[-1], scores, seconds[-1]), flush=True)
        if best is None or _key(scores, losses[-1]) > _key(
            best, losses[best_epoch - 1]
        ):
            best, best_epoch = scores, epoch
            weights = [np.copy(w) for w in model.trainable_variables]
        if epoch - best_epoch >= patience:
            break
    for variable, value in zip(model.trainable_variables, weights):
        variable.assign(value)
    return Fitted(best, best_epoch, epoch, losses, float(np.median(seconds)))


def _key(scores, loss):
    return next(iter(scores.values())), -loss


def _line(epoch, loss, scores, seconds):
    told = ", ".join(f"{name} {100 * value:.2f}" for name, value in scores.items())
    return f"  epoch {epoch:3}  loss {loss:.4f}  dev {told}  {seconds:.1f} s"
