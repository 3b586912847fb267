"""A training run of the command: its batches and its model, from inputs and settings."""

from collections.abc import Callable
from pathlib import Path

import keras
import tensorflow as tf

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.hub.local_files import absolute
from elmo_keras.training.callbacks import Logs, StopAt, StopWhen, Validation
from elmo_keras.training.checkpoint import Checkpoints
from elmo_keras.training.inputs import Inputs
from elmo_keras.training.keras_model import TrainableLanguageModel
from elmo_keras.training.optimizers import RowAdagrad, make_optimizer
from elmo_keras.training.options import EPOCHS, Limits, RunSettings
from elmo_keras.training.output import CHECKPOINTS, LOGS
from elmo_keras.training.streams import Streams

WARM_UP_STEPS = 500  # default for a new softmax of a pretrained model


def make_streams(
    inputs: Inputs, settings: RunSettings, strategy: tf.distribute.Strategy
) -> Streams:
    return Streams(
        inputs.train,
        inputs.vocabulary,
        inputs.config,
        n_rows=settings.n_rows * strategy.num_replicas_in_sync,
        unroll_steps=settings.unroll_steps,
        n_negatives=settings.n_negatives(len(inputs.vocabulary)),
        seed=settings.seed,
        zero_state_share=settings.zero_state_share,
    )


def make_model(
    inputs: Inputs,
    settings: RunSettings,
    *,
    strategy: tf.distribute.Strategy,
    n_steps: int,
) -> TrainableLanguageModel:
    """Builds the model and its optimizer, whose schedule ends after `n_steps`."""
    keras.utils.set_random_seed(settings.seed)
    files = inputs.pretrained
    with_softmax = not (settings.new_softmax or inputs.new_softmax)
    warm_up_steps = 0 if files is None or with_softmax else WARM_UP_STEPS
    if files is not None and settings.warm_up is not None:
        warm_up_steps = settings.warm_up
    with strategy.scope():
        bilm = BidirectionalLanguageModel(
            inputs.config,
            vocabulary_size=len(inputs.vocabulary),
            dropout=settings.dropout,
            dtype=settings.arithmetic,
        )
        model = TrainableLanguageModel(
            bilm,
            all_clip_norm_val=settings.clip_norm,
            parts=settings.parts,
            warm_up_steps=warm_up_steps,
        )
        optimizer = make_optimizer(
            settings.optimizer_name,
            settings.rate,
            schedule=settings.schedule_name,
            n_steps=n_steps,
        )
        optimizer.build(bilm.trainable_weights)
    model.compile(optimizer)
    if files is not None:
        # Read first, so that a damaged one leaves all weights as they are.
        accumulators = files.adagrad_accumulators(bilm) if with_softmax else None
        files.read_into(bilm, with_softmax=with_softmax)
        if accumulators and isinstance(optimizer, RowAdagrad):
            optimizer.set_accumulators(accumulators)
    return model


def make_callbacks(
    inputs: Inputs,
    settings: RunSettings,
    limits: Limits,
    output: Path,
    *,
    n_steps: int,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[Checkpoints, Validation, StopAt, StopWhen, Logs]:
    """The callbacks of a run; checkpoints of other inputs or settings are refused."""
    published = settings.published()
    checkpoints = Checkpoints(
        output / CHECKPOINTS,
        every=limits.checkpoint_every,
        metadata=published
        | {
            "held-out text": inputs.valid.digest,
            "schedule": settings.schedule_name,
            "steps of the schedule": settings.schedule_name != "constant" and n_steps,
            "dtype": settings.arithmetic,
            "model to start from": settings.model and absolute(settings.model),
            "new softmax": settings.new_softmax or inputs.new_softmax,
        },
    )
    validation = Validation(
        inputs.valid,
        inputs.vocabulary,
        every=limits.evaluate_every,
        directory=output,
        options=published
        | {
            "bidirectional": True,
            "n_epochs": limits.epochs or EPOCHS,
            "batch_size": settings.n_rows,
            "n_train_tokens": len(inputs.train.tokens),
            "n_tokens_vocab": len(inputs.vocabulary),
        },
    )
    return (
        checkpoints,
        validation,
        StopAt(limits),
        StopWhen(stop, checkpoints),
        Logs(output / LOGS),
    )
