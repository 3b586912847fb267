"""The loop of training: steps, evaluations and checkpoints."""

import contextlib
import functools
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from elmo_keras.training.distribution import n_workers, sum_over_workers
from elmo_keras.training.held_out import HeldOutPerplexity
from elmo_keras.training.monitor import DIVERGED, READ_EVERY, Monitor
from elmo_keras.training.options import Limits
from elmo_keras.training.run import TrainingRun, batches, compiled_step, save


def fit(
    run: TrainingRun,
    folder: Path,
    limits: Limits,
    *,
    evaluate: Callable[[], HeldOutPerplexity],
    keep: Callable[[], None],
    stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Trains until a limit is reached.

    Args:
        run: has its `state` set; training continues from its `progress`.
        folder: the model directory, for checkpoints and TensorBoard's logs.
        limits: when training ends, evaluates and writes checkpoints.
        evaluate: returns the held-out perplexity.
        keep: called whenever the perplexity is the lowest so far.
        stop: called after every step; True ends training.

    Returns:
        Whether a limit was reached; False if `stop` ended training. In both cases
        a checkpoint was written after the last step.

    Raises:
        FloatingPointError: the loss is no longer finite; the checkpoints are
            from before that.
    """
    progress, monitor = run.progress, Monitor(run, folder, limits)
    evaluate = functools.partial(_evaluate, monitor, evaluate, keep)
    take_step = _stepper(run)
    while not limits.reached(progress):
        monitor.start_epoch()
        for batch in monitor.timed(iter(batches(run))):
            monitor.add(*take_step(batch))
            _evaluate_and_save_if_due(monitor, folder, evaluate)
            if limits.reached(progress):
                break
            if _agreed(run, stop):
                _save(monitor, folder)
                return False
        else:
            run.start_next_epoch()
        evaluate()
        if not limits.reached(progress):
            _save_if_possible(monitor, folder)
    evaluate()
    _save(monitor, folder)
    return True


def _stepper(run):
    """A function of a batch that updates the run: (loss, number of predictions)."""
    spec = batches(run).element_spec
    step = {warm: compiled_step(run, spec, warm) for warm in (False, True)}

    def take_step(batch):
        warm = run.progress.step < run.warm_up_steps
        loss, n_predictions, run.state = step[warm](batch, run.state)
        run.progress.step += 1
        run.progress.epoch_step += 1
        return loss, n_predictions

    return take_step


def _agreed(run, stop):
    """Whether to stop: if one worker is to stop, all stop at the same step."""
    if n_workers(run.strategy) == 1:
        return stop()
    if run.progress.step % READ_EVERY:
        return False
    return bool(sum_over_workers(run.strategy, np.array(float(stop()))) > 0)


def _evaluate_and_save_if_due(monitor, folder, evaluate):
    limits, progress = monitor.limits, monitor.run.progress
    if limits.evaluation_due(progress):
        evaluate()
    if limits.checkpoint_due(progress):
        _save_if_possible(monitor, folder)


def _save(monitor, folder):
    monitor.read()
    save(monitor.run, folder)


def _save_if_possible(monitor, folder):
    with _warning_instead("The checkpoint was not written (older ones are kept)"):
        _save(monitor, folder)


@contextlib.contextmanager
def _warning_instead(what):
    """Turns an error of the disk into a warning: there may be room the next time."""
    try:
        yield
    except OSError as error:
        warnings.warn(f"{what}: {error}. Training continues.", stacklevel=3)


def _evaluate(monitor, evaluate, keep):
    """Evaluates, unless the last evaluation was after the same step."""
    monitor.read()
    progress = monitor.run.progress
    if progress.held_out and progress.held_out[-1][0] == progress.tokens:
        return
    result = evaluate()
    if np.isnan(result.zero.mean):
        raise FloatingPointError(DIVERGED)
    mean = progress.add_held_out(result)
    monitor.say(f"\nHeld-out perplexity: {result}")
    monitor.write(
        {
            "held-out perplexity": result.zero.mean,
            "held-out perplexity, state carried over": result.carried.mean,
        }
    )
    progress.not_better += 1
    if progress.best is None or mean < progress.best:
        with _warning_instead("The model was not written (the older one is kept)"):
            keep()
            progress.best, progress.not_better = mean, 0
