"""A training run: its parts, its checkpoints, its batches and its compiled step."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.training.checkpoint import newest_checkpoint, save_checkpoint
from elmo_keras.training.distribution import (
    distributed,
    gather_rows,
    is_chief,
    scatter_rows,
)
from elmo_keras.training.options import TrainingOptions
from elmo_keras.training.progress import Progress
from elmo_keras.training.step import train_step
from elmo_keras.training.streams import Streams

CHECKPOINTS = "training/checkpoints"
ZERO_STATE = "share of the sentences read from the zero state"  # in the identity


@dataclasses.dataclass
class TrainingRun:
    """Everything that a step reads and changes.

    Attributes:
        strategy: the model and the optimizer were built in its scope.
        bilm, optimizer: both built.
        streams: the text.
        options: the published options.
        identity: JSON values that must not change when the run is resumed.
        n_parts: parts of a replica's rows, computed one after another.
        warm_up_steps: steps at the start that train only the softmax.
        state_by_default: whether the share of the sentences that are read from the
            zero state was not asked for.
        progress: how far the run has come.
        state: LSTM state of each replica's rows.
    """

    strategy: tf.distribute.Strategy
    bilm: BidirectionalLanguageModel
    optimizer: keras.optimizers.Optimizer
    streams: Streams
    options: TrainingOptions
    identity: dict[str, Any] = dataclasses.field(default_factory=dict)
    n_parts: int = 1
    warm_up_steps: int = 0
    state_by_default: bool = False
    progress: Progress = dataclasses.field(default_factory=Progress)
    state: Any = None

    @property
    def loss_name(self) -> str:
        """Name of the loss, so that a sampled one is never taken for a full one."""
        return "loss" if self.streams.n_negatives is None else "sampled loss"

    def reset_state(self):
        """Sets the LSTM state of all rows to zeros."""
        self.state = scatter_rows(
            self.strategy, self.bilm.lstm.zero_state(self.streams.n_rows)
        )

    def start_next_epoch(self):
        """Moves on to the first step of the next epoch."""
        self.progress.epoch += 1
        self.progress.epoch_step = 0
        self.reset_state()


def variables_of(run: TrainingRun) -> dict[str, keras.Variable]:
    """Name in the checkpoint → variable."""
    of_model = {f"weights/{i}": w for i, w in enumerate(run.bilm.trainable_weights)}
    of_optimizer = {f"optimizer/{i}": v for i, v in enumerate(run.optimizer.variables)}
    return of_model | of_optimizer


def save(run: TrainingRun, folder: Path) -> None:
    """Writes a checkpoint; every process must call it, and the chief writes the file.

    Raises:
        OSError: it can't be written; older ones are unchanged.
        FloatingPointError: a weight is not finite; older ones are unchanged.
    """
    rows = tf.nest.flatten(gather_rows(run.strategy, run.state))
    if not is_chief(run.strategy):
        return
    arrays = {k: keras.ops.convert_to_numpy(v) for k, v in variables_of(run).items()}
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise FloatingPointError(
            "The weights are no longer finite, so they are not saved."
        )
    arrays |= {f"state/{i}": x for i, x in enumerate(rows)}
    about = {"identity": run.identity, "progress": dataclasses.asdict(run.progress)}
    save_checkpoint(folder / CHECKPOINTS, run.progress.step, arrays, about=about)


def restore(run: TrainingRun, folder: Path) -> Path | None:
    """Resumes from the newest undamaged checkpoint.

    Returns:
        Its path, or None if there is no checkpoint.

    Raises:
        ValueError: it belongs to another run, or all checkpoints are damaged.
    """
    found = newest_checkpoint(folder / CHECKPOINTS)
    if found is None:
        run.reset_state()
        return None
    arrays, about, path = found
    if ZERO_STATE not in about["identity"]:
        about["identity"] |= {ZERO_STATE: _always_carried(run)}
    check_identity(run.identity, about["identity"], path)
    for name, variable in variables_of(run).items():
        variable.assign(arrays[name])
    like = run.bilm.lstm.zero_state(run.streams.n_rows)
    rows = [
        tf.cast(arrays[f"state/{i}"], x.dtype)
        for i, x in enumerate(tf.nest.flatten(like))
    ]
    run.state = scatter_rows(run.strategy, tf.nest.pack_sequence_as(like, rows))
    run.progress = Progress(**about["progress"])
    return path


def _always_carried(run):
    """The share of runs begun before there was a choice, which they resume with."""
    if run.state_by_default:
        run.streams.carry_state()
        run.identity[ZERO_STATE] = 0.0
    return 0.0


def check_identity(now: dict[str, Any], then: dict[str, Any], path: Path) -> None:
    """Refuses to resume a different run.

    Raises:
        ValueError: a value differs; the message names it.
    """
    for key in now | then:
        if now.get(key) != then.get(key):
            hint = " (0.0 is --published-state)" if key == ZERO_STATE else ""
            raise ValueError(
                f"{path} was made with {key} {then.get(key)}; this run has "
                f"{now.get(key)}. Give the same value{hint}, or another --output."
            )


def compiled_step(
    run: TrainingRun, batch_spec: Any, only_softmax: bool = False
) -> Callable:
    """The training step of all replicas as a graph: (batch, state) → results.

    Args:
        run: has its `state` set.
        batch_spec: `element_spec` of its `batches`.
        only_softmax: whether to update the softmax only.
    """

    def step(parts, state):
        return train_step(
            run.bilm,
            run.optimizer,
            parts,
            state=state,
            options=run.options,
            only_softmax=only_softmax,
        )

    def of_all_replicas(parts, state):
        if run.strategy.num_replicas_in_sync == 1:
            return step(parts, state)
        loss, n, state = run.strategy.run(step, (parts, state))
        first = run.strategy.experimental_local_results
        return first(loss)[0], first(n)[0], state

    # The number of distinct words changes from batch to batch: without a signature
    # the step would be traced each time.
    state = tf.nest.map_structure(tf.type_spec_from_value, run.state)
    return tf.function(
        of_all_replicas, input_signature=[batch_spec, state], autograph=False
    )


def batches(run: TrainingRun) -> tf.data.Dataset | tf.distribute.DistributedDataset:
    """The batches of the rest of the current epoch."""
    progress, strategy = run.progress, run.strategy

    def of(replicas):
        return run.streams.batches(
            progress.epoch,
            progress.epoch_step,
            n_replicas=strategy.num_replicas_in_sync,
            n_parts=run.n_parts,
            replicas=replicas,
        )

    return distributed(strategy, of)
