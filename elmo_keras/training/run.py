"""A training run: built from inputs and settings, saved and resumed."""

import dataclasses
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.bilm import BidirectionalLanguageModel
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
from elmo_keras.training.options import ZERO_STATE_SHARE, RunSettings
from elmo_keras.training.progress import Progress
from elmo_keras.training.streams import Streams
from elmo_keras.util.fingerprint import check_same_run

CHECKPOINTS = "training/checkpoints"
ZERO_STATE = "share of the sentences read from the zero state"  # in the identity
WARM_UP_STEPS = 500  # default for a new softmax of a pretrained model


@dataclasses.dataclass
class TrainingRun:
    strategy: tf.distribute.Strategy  # model and optimizer were built in its scope
    bilm: BidirectionalLanguageModel
    optimizer: keras.optimizers.Optimizer
    streams: Streams
    settings: RunSettings
    inputs: Inputs | None = None  # which it was made from
    # JSON values that must not change when the run is resumed.
    identity: dict[str, Any] = dataclasses.field(default_factory=dict)
    warm_up_steps: int = 0  # which train only the softmax
    progress: Progress = dataclasses.field(default_factory=Progress)
    state: Any = None  # LSTM state of each replica's rows

    @property
    def loss_name(self) -> str:
        """Name of the loss, so that a sampled one is never taken for a full one."""
        return "loss" if self.streams.n_negatives is None else "sampled loss"

    def reset_state(self):
        zeros = self.bilm.lstm.zero_state(self.streams.n_rows)
        self.state = scatter_rows(self.strategy, zeros)


def make_streams(
    inputs: Inputs, settings: RunSettings, strategy: tf.distribute.Strategy
) -> Streams:
    options, share = settings.options, settings.zero_state_share
    return Streams(
        inputs.train,
        inputs.vocabulary,
        inputs.config,
        n_rows=options.batch_size * strategy.num_replicas_in_sync,
        unroll_steps=options.unroll_steps,
        n_negatives=options.n_negatives(len(inputs.vocabulary)),
        seed=settings.seed,
        zero_state_share=ZERO_STATE_SHARE if share is None else share,
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
    options, schedule = settings.options, settings.schedule
    keras.utils.set_random_seed(settings.seed)
    with strategy.scope():
        bilm = BidirectionalLanguageModel(
            inputs.config,
            vocabulary_size=len(inputs.vocabulary),
            dropout=options.dropout,
            dtype=settings.dtype,
        )
        bilm.build()
        optimizer = make_optimizer(
            settings.optimizer,
            options.learning_rate,
            schedule=schedule,
            n_steps=n_steps,
        )
        optimizer.build(bilm.trainable_weights)
    warm_up_steps = 0
    if inputs.pretrained is not None:
        warm_up_steps = _read_pretrained(inputs, settings, bilm, optimizer)
    identity = _identity(inputs, streams, settings)
    identity["steps of warm-up"] = warm_up_steps
    if schedule != "constant":
        identity["steps of the schedule"] = n_steps
    return TrainingRun(
        strategy=strategy,
        bilm=bilm,
        optimizer=optimizer,
        streams=streams,
        settings=settings,
        inputs=inputs,
        identity=identity,
        warm_up_steps=warm_up_steps,
        progress=Progress(chosen_by="zero" if streams.zero_state_share else "carried"),
    )


def _read_pretrained(inputs, settings, bilm, optimizer) -> int:
    """Reads the pretrained weights; returns the steps of warm-up."""
    files = inputs.pretrained
    with_softmax = not (settings.new_softmax or inputs.new_softmax)
    # Read first, so that a damaged one leaves all weights as they are.
    accumulators = files.accumulators(bilm) if with_softmax else None
    files.read_into(bilm, with_softmax=with_softmax)
    if accumulators and isinstance(optimizer, RowAdagrad):
        optimizer.set_accumulators(accumulators)
    if settings.warm_up is not None:
        return settings.warm_up
    return 0 if with_softmax else WARM_UP_STEPS


def _identity(inputs, streams, settings) -> dict[str, Any]:
    identity = dataclasses.asdict(settings.options) | {
        "rows of text in all": streams.n_rows,
        "parts": settings.accumulation_steps,
        "model": inputs.config.to_summary(),
        "vocabulary": inputs.vocabulary.digest,
        "training text": inputs.train.digest,
        "held-out text": inputs.valid.digest,
        "seed": settings.seed,
        ZERO_STATE: streams.zero_state_share,
        "optimizer": settings.optimizer,
        "schedule": settings.schedule,
        "dtype": settings.dtype,
        "model to start from": settings.init and absolute(settings.init),
        "new softmax": settings.new_softmax or inputs.new_softmax,
    }
    # A resumed run may have more epochs, and divide the rows differently.
    del identity["n_epochs"], identity["batch_size"]
    return identity


def variables_of(run: TrainingRun) -> dict[str, keras.Variable]:
    of_model = {f"weights/{i}": w for i, w in enumerate(run.bilm.trainable_weights)}
    of_optimizer = {f"optimizer/{i}": v for i, v in enumerate(run.optimizer.variables)}
    return of_model | of_optimizer


def save(run: TrainingRun, folder: Path) -> None:
    """Writes a checkpoint; every process must call it, and the chief writes the file."""
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
    """Resumes from the newest undamaged checkpoint; returns its path, if there is one."""
    found = newest_checkpoint(folder / CHECKPOINTS)
    try:
        run.reset_state() if found is None else _read(run, *found)
    except (KeyError, TypeError) as error:
        problem = f"{found[-1]} is of another version: {error!r}."
        raise ValueError(f"{problem} Give another --output.") from error
    step = run.progress.step
    total = sum_over_workers(run.strategy, np.array(float(step)))
    if total != step * n_workers(run.strategy):
        raise ValueError(
            f"{folder} should be one directory that all workers share. It is at step "
            f"{step} for this worker, but not for all workers."
        )
    return found and found[-1]


def _read(run, arrays, about, path):
    """Resumes from a checkpoint, which is refused if it is of a different run."""
    then = about["identity"]
    if ZERO_STATE not in then:  # it was begun before there was a choice
        then[ZERO_STATE] = 0.0
        if run.settings.zero_state_share is None:
            run.streams.carry_state()
            run.identity[ZERO_STATE] = 0.0
    if run.inputs is not None and run.inputs.new_softmax:
        then["new softmax"] = True  # which earlier versions made without a word
    published = run.identity[ZERO_STATE] != then[ZERO_STATE]
    hint = " (0.0 is --published-state)" if published else ""
    advice = f"Give the same value{hint}, or another --output."
    check_same_run(run.identity, then, path, advice)
    for name, variable in variables_of(run).items():
        variable.assign(arrays[name])
    like = run.bilm.lstm.zero_state(run.streams.n_rows)
    rows = [
        tf.cast(arrays[f"state/{i}"], x.dtype)
        for i, x in enumerate(tf.nest.flatten(like))
    ]
    run.state = scatter_rows(run.strategy, tf.nest.pack_sequence_as(like, rows))
    about["progress"].pop("unwritten", None)  # of versions that outlived a full disk
    run.progress = Progress(**about["progress"])
