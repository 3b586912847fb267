"""The loop of training: steps, evaluations and checkpoints."""

import contextlib
import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np

from elmo_keras.training.distribution import n_workers, sum_over_workers
from elmo_keras.training.held_out import HeldOutPerplexity
from elmo_keras.training.keeping import (
    finish,
    keep_if_better,
    save_at_the_end,
    save_if_possible,
)
from elmo_keras.training.monitor import DIVERGED, READ_EVERY, Monitor
from elmo_keras.training.options import Limits
from elmo_keras.training.run import TrainingRun, batches, compiled_step


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
        CommandFailed: the last checkpoint or the best model can't be written.
    """
    progress = run.progress
    begun = progress.step, len(progress.held_out)
    with Monitor(run, folder, limits) as monitor:
        evaluate = functools.partial(_evaluate, monitor, evaluate, keep)
        if_due = functools.partial(_evaluate_and_save_if_due, monitor, folder, evaluate)
        take_step = _stepper(monitor)
        while not limits.reached(progress):
            if _epoch(monitor, take_step, if_due, stop=stop):
                save_at_the_end(monitor, folder)
                return False
            evaluate()
            if not limits.reached(progress):
                save_if_possible(monitor, folder)
        evaluate()
        changed = begun != (progress.step, len(progress.held_out))
        finish(monitor, folder, keep, changed=changed)
    return True


def _epoch(monitor, take_step, if_due, *, stop):
    """Trains for the rest of the epoch; returns whether `stop` ended training."""
    run = monitor.run
    monitor.start_epoch()
    for batch in monitor.timed(iter(batches(run))):
        monitor.add(*take_step(batch))
        if_due()
        if monitor.limits.reached(run.progress):
            monitor.end_epoch()
            return False
        if _agreed(run, stop):
            return True
    monitor.end_epoch()
    run.start_next_epoch()
    return False


def _stepper(monitor):
    """A function of a batch that updates the run: (loss, number of predictions)."""
    run, traced = monitor.run, set()
    spec = batches(run).element_spec
    step = {warm: compiled_step(run, spec, warm) for warm in (False, True)}

    def take_step(batch):
        warm = run.progress.step < run.warm_up_steps
        first = warm not in traced
        traced.add(warm)
        with monitor.tracing() if first else contextlib.nullcontext():
            loss, n_predictions, run.state = step[warm](batch, run.state)
            run.progress.step += 1
            run.progress.epoch_step += 1
            if first:
                float(loss)  # waits for the step
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
        save_if_possible(monitor, folder)


def _evaluate(monitor, evaluate, keep):
    """Evaluates, unless the last evaluation was after the same step."""
    monitor.read()
    progress = monitor.run.progress
    if progress.held_out and progress.held_out[-1][0] == progress.tokens:
        return
    with monitor.other_work("Evaluating the held-out text"):
        result = evaluate()
    if np.isnan(result.zero.mean):
        raise FloatingPointError(DIVERGED)
    mean = progress.add_held_out(result)
    monitor.say(f"Held-out perplexity: {result}")
    monitor.write(
        {
            "held-out perplexity": result.zero.mean,
            "held-out perplexity, state carried over": result.carried.mean,
        },
        progress.step,
    )
    keep_if_better(monitor, mean, keep)
