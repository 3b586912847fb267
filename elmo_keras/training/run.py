"""A run of training: what it is made of, how it is saved, how it goes on."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.checkpoint import newest_checkpoint, save_checkpoint
from elmo_keras.distribution import (
    distributed,
    gather_rows,
    is_chief,
    scatter_rows,
)
from elmo_keras.streams import Streams
from elmo_keras.training import TrainingOptions, train_step, zero_state

CHECKPOINTS = "training/checkpoints"


@dataclasses.dataclass
class Progress:
    """How far a run is.

    Attributes:
        epoch: number of the epoch under way, from 0.
        epoch_step: steps of it done.
        step: steps done in all.
        tokens: tokens predicted in each direction.
        seconds: time spent in steps.
        losses: rows of (tokens, mean loss since the row before).
        held_out: rows of (tokens, forward and backward perplexity).
        best: lowest mean held-out perplexity, or None.
        not_better: evaluations since then.
    """

    epoch: int = 0
    epoch_step: int = 0
    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    losses: list[tuple[int, float]] = dataclasses.field(default_factory=list)
    held_out: list[tuple[int, float, float]] = dataclasses.field(default_factory=list)
    best: float | None = None
    not_better: int = 0


@dataclasses.dataclass
class TrainingRun:
    """All that a step needs and changes.

    Attributes:
        strategy: in whose scope the model and the optimizer were made.
        bilm, optimizer: both built.
        streams: the text.
        options: of the training.
        identity: what must be the same when the run goes on, as JSON can hold it.
        n_parts: parts of a replica's rows that are gone through one by one.
        warm_up_steps: steps at the start that train the softmax only.
        progress: how far it is.
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
    progress: Progress = dataclasses.field(default_factory=Progress)
    state: Any = None

    @property
    def loss_name(self) -> str:
        """What its loss is called: a sampled one never looks like a full one."""
        return "loss" if self.streams.n_negatives is None else "sampled loss"

    def reset_state(self):
        """Sets the LSTM state of all rows to zeros."""
        self.state = scatter_rows(
            self.strategy, zero_state(self.bilm, self.streams.n_rows)
        )


def variables_of(run: TrainingRun) -> dict[str, keras.Variable]:
    """Name in the checkpoint → variable."""
    of_model = {f"weights/{i}": w for i, w in enumerate(run.bilm.trainable_weights)}
    of_optimizer = {f"optimizer/{i}": v for i, v in enumerate(run.optimizer.variables)}
    return of_model | of_optimizer


def save(run: TrainingRun, folder: Path) -> None:
    """Writes a checkpoint; every process takes part, one writes.

    Raises:
        OSError: it can't be written; the older ones are as they were.
        FloatingPointError: a weight is not finite; likewise.
    """
    rows = tf.nest.flatten(gather_rows(run.strategy, run.state))
    if not is_chief(run.strategy):
        return
    arrays = {k: keras.ops.convert_to_numpy(v) for k, v in variables_of(run).items()}
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise FloatingPointError("Weights are not finite any more, and are not saved.")
    arrays |= {f"state/{i}": x for i, x in enumerate(rows)}
    about = {"identity": run.identity, "progress": dataclasses.asdict(run.progress)}
    save_checkpoint(folder / CHECKPOINTS, run.progress.step, arrays, about)


def restore(run: TrainingRun, folder: Path) -> Path | None:
    """Goes on from the newest whole checkpoint: its path, or None if there is none.

    Raises:
        ValueError: it is one of another run, or all are damaged.
    """
    found = newest_checkpoint(folder / CHECKPOINTS)
    if found is None:
        run.reset_state()
        return None
    arrays, about, path = found
    check_identity(run.identity, about["identity"], path)
    for name, variable in variables_of(run).items():
        variable.assign(arrays[name])
    like = zero_state(run.bilm, run.streams.n_rows)
    rows = [
        tf.cast(arrays[f"state/{i}"], x.dtype)
        for i, x in enumerate(tf.nest.flatten(like))
    ]
    run.state = scatter_rows(run.strategy, tf.nest.pack_sequence_as(like, rows))
    run.progress = Progress(**about["progress"])
    return path


def check_identity(now: dict[str, Any], then: dict[str, Any], path: Path) -> None:
    """Refuses to go on with something else.

    Raises:
        ValueError: a value differs; the message names it.
    """
    for key in now | then:
        if now.get(key) != then.get(key):
            raise ValueError(
                f"{path} was made with {key} {then.get(key)}, this run has "
                f"{now.get(key)}. Give what it was made with, or another --output."
            )


def compiled_step(
    run: TrainingRun, batch_spec: Any, only_softmax: bool = False
) -> Callable:
    """The training step of all replicas as a graph: (batch, state) → results.

    Args:
        run: its `state` is set.
        batch_spec: `element_spec` of its `batches`.
        only_softmax: see `training.train_step`.
    """

    def step(parts, state):
        return train_step(
            run.bilm, run.optimizer, parts, state, run.options, only_softmax
        )

    def of_all_replicas(parts, state):
        if run.strategy.num_replicas_in_sync == 1:
            return step(parts, state)
        loss, n, state = run.strategy.run(step, (parts, state))
        first = run.strategy.experimental_local_results
        return first(loss)[0], first(n)[0], state

    # The number of distinct words changes from batch to batch: without a signature
    # the step would be traced again.
    state = tf.nest.map_structure(tf.type_spec_from_value, run.state)
    return tf.function(
        of_all_replicas, input_signature=[batch_spec, state], autograph=False
    )


def batches(run: TrainingRun) -> tf.data.Dataset | tf.distribute.DistributedDataset:
    """The rest of the epoch under way."""
    progress, strategy = run.progress, run.strategy

    def of(replicas):
        return run.streams.batches(
            progress.epoch,
            progress.epoch_step,
            strategy.num_replicas_in_sync,
            run.n_parts,
            replicas,
        )

    return distributed(strategy, of)
