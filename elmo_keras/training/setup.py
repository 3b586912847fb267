"""Builds a training run from inputs and settings, ready for its first step."""

import dataclasses
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.models.local_files import absolute
from elmo_keras.training.distribution import n_workers, sum_over_workers
from elmo_keras.training.inputs import Inputs
from elmo_keras.training.optimizers import RowAdagrad, make_optimizer
from elmo_keras.training.options import ZERO_STATE_SHARE, RunSettings
from elmo_keras.training.progress import Progress
from elmo_keras.training.run import ZERO_STATE, TrainingRun
from elmo_keras.training.streams import Streams

WARM_UP_STEPS = 500  # default for a new softmax of a pretrained model


def make_streams(
    inputs: Inputs, settings: RunSettings, strategy: tf.distribute.Strategy
) -> Streams:
    """The batches of the training text for all replicas."""
    options = settings.options
    return Streams(
        inputs.train,
        inputs.vocabulary,
        inputs.config,
        n_rows=options.batch_size * strategy.num_replicas_in_sync,
        unroll_steps=options.unroll_steps,
        n_negatives=options.n_negatives(len(inputs.vocabulary)),
        seed=settings.seed,
        zero_state_share=_zero_state_share(settings),
    )


def _zero_state_share(settings):
    share = settings.zero_state_share
    return ZERO_STATE_SHARE if share is None else share


def make_run(
    inputs: Inputs,
    streams: Streams,
    settings: RunSettings,
    *,
    strategy: tf.distribute.Strategy,
    n_steps: int,
) -> TrainingRun:
    """Builds the model and its optimizer.

    Args:
        inputs: give sizes, words and pretrained weights.
        streams: made from `inputs`.
        settings: how updates are computed.
        strategy: the replicas' strategy.
        n_steps: the step at which the learning rate's schedule ends.
    """
    keras.utils.set_random_seed(settings.seed)
    with strategy.scope():
        bilm, optimizer = _built(inputs, settings, n_steps)
    warm_up_steps = 0
    if inputs.pretrained is not None:
        warm_up_steps = _read_pretrained(inputs, bilm, optimizer)
    identity = _identity(inputs, streams, settings)
    identity["steps of warm-up"] = warm_up_steps
    if settings.schedule != "constant":
        identity["steps of the schedule"] = n_steps
    return TrainingRun(
        strategy=strategy,
        bilm=bilm,
        optimizer=optimizer,
        streams=streams,
        options=settings.options,
        identity=identity,
        n_parts=settings.n_parts,
        warm_up_steps=warm_up_steps,
        state_by_default=settings.zero_state_share is None,
        progress=Progress(chosen_by="zero" if streams.zero_state_share else "carried"),
    )


def _built(inputs, settings, n_steps):
    """The model with random weights, and its optimizer."""
    options = settings.options
    bilm = BidirectionalLanguageModel(
        inputs.config, len(inputs.vocabulary), options.dropout, dtype=settings.dtype
    )
    bilm.build()
    optimizer = make_optimizer(
        settings.optimizer,
        options.learning_rate,
        schedule=settings.schedule,
        n_steps=n_steps,
    )
    optimizer.build(bilm.trainable_weights)
    return bilm, optimizer


def _read_pretrained(inputs, bilm, optimizer) -> int:
    """Reads the pretrained weights; returns the steps of warm-up."""
    files = inputs.pretrained
    with_softmax = (
        files.has_softmax
        and files.vocabulary.digest == inputs.vocabulary.digest
        and not inputs.start.new_softmax
    )
    files.read_into(bilm, with_softmax=with_softmax)
    accumulators = files.accumulators(bilm) if with_softmax else None
    if accumulators and isinstance(optimizer, RowAdagrad):
        optimizer.set_accumulators(accumulators)
    if inputs.start.warm_up_steps is not None:
        return inputs.start.warm_up_steps
    return 0 if with_softmax else WARM_UP_STEPS


def _identity(inputs, streams, settings) -> dict[str, Any]:
    """The values that must not change when the run is resumed."""
    start = inputs.start
    identity = dataclasses.asdict(settings.options) | {
        "rows of text in all": streams.n_rows,
        "parts": settings.n_parts,
        "model": inputs.config.to_summary(),
        "vocabulary": inputs.vocabulary.digest,
        "training text": inputs.train.digest,
        "held-out text": inputs.valid.digest,
        "seed": settings.seed,
        ZERO_STATE: streams.zero_state_share,
        "optimizer": settings.optimizer,
        "schedule": settings.schedule,
        "dtype": settings.dtype,
        "model to start from": start.model and absolute(start.model),
        "new softmax": start.new_softmax,
    }
    # A resumed run may have more epochs, and divide the rows differently.
    del identity["n_epochs"], identity["batch_size"]
    return identity


def check_same_step(run: TrainingRun, output: Path) -> None:
    """Checks that all workers resume from the same checkpoint.

    Raises:
        ValueError: they resume from different steps.
    """
    step = run.progress.step
    total = sum_over_workers(run.strategy, np.array(float(step)))
    if total != step * n_workers(run.strategy):
        raise ValueError(
            f"{output} should be one directory that all workers share. It is at step "
            f"{step} for this worker, but not for all workers."
        )
