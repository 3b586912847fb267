"""A training run: built from inputs and settings, saved and resumed."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.files import check_same_run
from elmo_keras.hub.local_files import absolute
from elmo_keras.training.checkpoint import newest_checkpoint, save_checkpoint
from elmo_keras.training.distribution import (
    gather_rows,
    is_chief,
    n_workers,
    scatter_rows,
    sum_over_workers,
)
from elmo_keras.training.inputs import Inputs
from elmo_keras.training.optimizers import RowAdagrad, make_optimizer
from elmo_keras.training.options import RunSettings
from elmo_keras.training.progress import Progress
from elmo_keras.training.streams import Streams

CHECKPOINTS = "training/checkpoints"
ZERO_STATE = "share of the sentences read from the zero state"  # in the metadata
WARM_UP_STEPS = 500  # default for a new softmax of a pretrained model


@dataclasses.dataclass
class TrainingRun:
    strategy: tf.distribute.Strategy  # model and optimizer were built in its scope
    bilm: BidirectionalLanguageModel
    optimizer: keras.optimizers.Optimizer
    streams: Streams
    settings: RunSettings
    inputs: Inputs
    # JSON values that must not change when the run is resumed.
    metadata: dict[str, Any] = dataclasses.field(default_factory=dict)
    warm_up_steps: int = 0  # which train only the softmax
    progress: Progress = dataclasses.field(default_factory=Progress)
    state: Any = None  # LSTM state of each replica's rows
    # Compiled steps, of the whole model (False) and of the softmax alone (True).
    steps: dict[bool, Callable] = dataclasses.field(default_factory=dict)

    @property
    def loss_name(self) -> str:
        """Name of the loss, so that a sampled one is never taken for a full one."""
        return "loss" if self.streams.n_negatives is None else "sampled loss"

    def batches(self) -> tf.distribute.DistributedDataset:
        """The batches of the rest of the epoch."""
        return self.strategy.distribute_datasets_from_function(
            lambda context: self.streams.batches(
                self.progress.epoch,
                self.progress.epoch_step,
                n_parts=self.settings.parts,
                context=context,
            )
        )

    def reset_state(self) -> None:
        zeros = self.bilm.lstm.zero_state(self.streams.n_rows)
        self.state = scatter_rows(self.strategy, zeros)

    def variables(self) -> dict[str, keras.Variable]:
        weights, slots = self.bilm.trainable_weights, self.optimizer.variables
        return {
            **{f"weights/{i}": weight for i, weight in enumerate(weights)},
            **{f"optimizer/{i}": slot for i, slot in enumerate(slots)},
        }


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


def make_run(
    inputs: Inputs,
    streams: Streams,
    settings: RunSettings,
    *,
    strategy: tf.distribute.Strategy,
    n_steps: int,
) -> TrainingRun:
    """Builds the model and its optimizer, whose schedule ends after `n_steps`."""
    keras.utils.set_random_seed(settings.seed)
    with strategy.scope():
        bilm = BidirectionalLanguageModel(
            inputs.config,
            vocabulary_size=len(inputs.vocabulary),
            dropout=settings.dropout,
            dtype=settings.dtype,
        )
        bilm.build()
        optimizer = make_optimizer(
            settings.optimizer,
            settings.rate,
            schedule=settings.schedule,
            n_steps=n_steps,
        )
        optimizer.build(bilm.trainable_weights)
    warm_up_steps = 0
    if inputs.pretrained is not None:
        warm_up_steps = _read_pretrained(inputs, settings, bilm, optimizer)
    metadata = _metadata(inputs, streams, settings)
    metadata["steps of warm-up"] = warm_up_steps
    if settings.schedule != "constant":
        metadata["steps of the schedule"] = n_steps
    return TrainingRun(
        strategy=strategy,
        bilm=bilm,
        optimizer=optimizer,
        streams=streams,
        settings=settings,
        inputs=inputs,
        metadata=metadata,
        warm_up_steps=warm_up_steps,
        progress=Progress(chosen_by="zero" if streams.zero_state_share else "carried"),
    )


def _read_pretrained(inputs, settings, bilm, optimizer) -> int:
    """Reads the pretrained weights; returns the steps of warm-up."""
    files = inputs.pretrained
    with_softmax = not (settings.new_softmax or inputs.new_softmax)
    # Read first, so that a damaged one leaves all weights as they are.
    accumulators = files.adagrad_accumulators(bilm) if with_softmax else None
    files.read_into(bilm, with_softmax=with_softmax)
    if accumulators and isinstance(optimizer, RowAdagrad):
        optimizer.set_accumulators(accumulators)
    if settings.warm_up is not None:
        return settings.warm_up
    return 0 if with_softmax else WARM_UP_STEPS


def _metadata(inputs, streams, settings) -> dict[str, Any]:
    # A resumed run may have more epochs, and divide the rows differently.
    return settings.published() | {
        "rows of text in all": streams.n_rows,
        "parts": settings.parts,
        "model": inputs.config.to_summary(),
        "vocabulary": inputs.vocabulary.digest,
        "training text": inputs.train.digest,
        "held-out text": inputs.valid.digest,
        "seed": settings.seed,
        ZERO_STATE: streams.zero_state_share,
        "optimizer": settings.optimizer,
        "schedule": settings.schedule,
        "dtype": settings.dtype,
        "model to start from": settings.model and absolute(settings.model),
        "new softmax": settings.new_softmax or inputs.new_softmax,
    }


def save(run: TrainingRun, folder: Path) -> None:
    """Writes a checkpoint; every process must call it, and the chief writes the file."""
    rows = tf.nest.flatten(gather_rows(run.strategy, run.state))
    if not is_chief(run.strategy):
        return
    arrays = {
        name: np.asarray(keras.ops.convert_to_numpy(variable))
        for name, variable in run.variables().items()
    }
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise FloatingPointError(
            "The weights are no longer finite, so they are not saved."
        )
    arrays |= {f"state/{i}": x for i, x in enumerate(rows)}
    metadata = {"identity": run.metadata, "progress": dataclasses.asdict(run.progress)}
    save_checkpoint(folder / CHECKPOINTS, run.progress.step, arrays, metadata=metadata)


def restore(run: TrainingRun, folder: Path) -> Path | None:
    """Resumes from the newest undamaged checkpoint; returns its path, if there is one."""
    checkpoint, path = newest_checkpoint(folder / CHECKPOINTS), None
    if checkpoint is None:
        run.reset_state()
    else:
        arrays, metadata, path = checkpoint
        try:
            _assign(run, arrays, metadata, path)
        except (KeyError, TypeError) as error:
            problem = f"{path} is of another version: {error!r}."
            raise ValueError(f"{problem} Give another --output.") from error
    step = run.progress.step
    total = sum_over_workers(run.strategy, np.array(float(step)))
    if total != step * n_workers(run.strategy):
        raise ValueError(
            f"{folder} should be one directory that all workers share. It is at step "
            f"{step} for this worker, but not for all workers."
        )
    return path


def _assign(run, arrays, metadata, path):
    """Sets the run to a checkpoint, which is refused if it is of a different run."""
    saved = metadata["identity"]
    published = run.metadata[ZERO_STATE] != saved[ZERO_STATE]
    hint = " (0.0 is --published-state)" if published else ""
    advice = f"Give the same value{hint}, or another --output."
    check_same_run(run.metadata, saved, path, advice)
    for name, variable in run.variables().items():
        variable.assign(arrays[name])
    zeros = run.bilm.lstm.zero_state(run.streams.n_rows)
    rows = [
        tf.cast(arrays[f"state/{i}"], zero.dtype)
        for i, zero in enumerate(tf.nest.flatten(zeros))
    ]
    run.state = scatter_rows(run.strategy, tf.nest.pack_sequence_as(zeros, rows))
    run.progress = Progress(**metadata["progress"])
