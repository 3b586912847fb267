"""Checkpoints of training: written whole or not at all, and checked when read."""

import dataclasses
import hashlib
import json
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from elmo_keras.base.files import check_same_run, replacing
from elmo_keras.formats.hdf5 import new_hdf5, open_hdf5
from elmo_keras.training import distribution
from elmo_keras.training.keras_model import TrainingCallback
from elmo_keras.training.progress import Progress

KEPT = 2
_METADATA = "metadata"  # its name in the file
# Bytes before the HDF5 content, for its SHA-256; HDF5 allows no fewer.
_FRONT = 512
_NAME = re.compile(r"checkpoint-(\d+)\.hdf5")


def save_checkpoint(
    folder: Path,
    step: int,
    arrays: Mapping[str, np.ndarray],
    *,
    metadata: Mapping[str, Any],
) -> Path:
    """Writes a checkpoint, then removes all others but the previous one.

    `metadata` is further state, serializable as JSON. An error removes none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"checkpoint-{step:010}.hdf5"
    with replacing(path) as temporary, new_hdf5(temporary, _FRONT) as file:
        file[_METADATA] = json.dumps(metadata)  # an attribute holds 64 KiB at most
        for name, array in arrays.items():
            array = np.asarray(array)
            # HDF5 has no bfloat16.
            file[name] = array.astype(np.float32) if array.dtype.kind == "V" else array
    # A later step's checkpoint was skipped as damaged, or is from an earlier run.
    kept = [other for other in checkpoints(folder) if other <= path][:KEPT]
    # This also removes unfinished files of killed processes.
    for other in set(folder.glob("*checkpoint-*")) - set(kept):
        other.unlink()
    return path


def checkpoints(folder: Path) -> list[Path]:
    paths = [path for path in folder.glob("checkpoint-*") if _NAME.fullmatch(path.name)]
    return sorted(paths, reverse=True)


def read_checkpoint(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the further state of a checkpoint, bfloat16 as float32."""
    try:
        with path.open("rb") as file:
            expected = file.read(32)
            file.seek(_FRONT)
            if hashlib.file_digest(file, "sha256").digest() != expected:
                raise ValueError("Its content is not what was written.")
        file = open_hdf5(path)
        metadata = json.loads(file.datasets.pop(_METADATA).text())
        arrays = {name: array[...] for name, array in file.datasets.items()}
        if not isinstance(metadata, dict):
            raise ValueError(f"`{_METADATA}` should be a JSON object.")
        return arrays, metadata
    except (OSError, KeyError, RecursionError, ValueError) as error:
        raise ValueError(f"{path} is damaged. {error}") from error


def newest_checkpoint(folder: Path) -> tuple[dict, dict, Path] | None:
    """The newest undamaged checkpoint and its path; None if there is no checkpoint."""
    paths = checkpoints(folder)
    for path in paths:
        try:
            return *read_checkpoint(path), path
        except ValueError as error:
            warnings.warn(f"{error} Trying the previous one.", stacklevel=2)
    if paths:
        raise ValueError(f"All checkpoints in {folder} are damaged.")
    return None


class Checkpoints(TrainingCallback):
    """Saves all of a training every few steps and after each epoch, and resumes it.

    `fit` continues from the newest whole checkpoint, and ends bit for bit as if it had
    not been interrupted (on one device). It should be the first callback.

    Args:
        folder: of the checkpoints, of which the newest two are kept.
        every: steps between them.
        metadata: further values that must not change when training is resumed,
            serializable as JSON.

    Raises:
        ValueError: the checkpoints are of another training, or all damaged.
        FloatingPointError: a weight is not finite, so nothing is saved.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        every: int = 500,
        metadata: Mapping[str, Any] | None = None,
    ):
        super().__init__()
        self.folder, self.every = Path(folder), every
        self.metadata = dict(metadata or {})

    def all_metadata(self) -> dict[str, Any]:
        model = self.run.model
        return self.metadata | {
            **self.run.streams.metadata(),
            "optimizer": type(model.optimizer).__name__,
            "all_clip_norm_val": model.all_clip_norm_val,
            "parts": model.parts,
            "steps of warm-up": model.warm_up_steps,
        }

    def on_train_begin(self, logs=None):
        run, checkpoint = self.run, newest_checkpoint(self.folder)
        self._saved = None  # the last step that has a checkpoint
        if checkpoint is not None:
            self._restore(*checkpoint)
            self._saved = run.progress.step
            run.bar.say(f"Resuming from step {self._saved:,}, {checkpoint[-1]}")
        step = run.progress.step
        total = distribution.sum_over_workers(run.strategy, np.array(float(step)))
        if total != step * distribution.n_workers(run.strategy):
            raise ValueError(
                f"{self.folder} should be one directory that all workers share. It is at "
                f"step {step} for this worker, but not for all workers."
            )

    def on_train_batch_begin(self, batch, logs=None):
        progress = self.run.progress
        if progress.epoch_step == 0 or progress.step % self.every == 0:
            self.on_train_end()

    def on_train_end(self, logs=None):
        if self._saved != self.run.progress.step:
            self.save()

    def save(self) -> None:
        """Writes a checkpoint; every process must call it, and the first one writes."""
        run = self.run
        with run.paused("Writing a checkpoint"):
            rows = tf.nest.flatten(distribution.gather_rows(run.strategy, run.state))
            self._saved = run.progress.step
            if distribution.worker(run.strategy):
                return
            arrays = {name: v.numpy() for name, v in run.variables().items()}
            if not all(np.isfinite(array).all() for array in arrays.values()):
                raise FloatingPointError(
                    "The weights are no longer finite, so they are not saved."
                )
            arrays |= {f"state/{i}": x for i, x in enumerate(rows)}
            progress = dataclasses.asdict(run.progress)
            metadata = {"run": self.all_metadata(), "progress": progress}
            save_checkpoint(self.folder, self._saved, arrays, metadata=metadata)

    def _restore(self, arrays, metadata, path):
        run, advice = self.run, "Give the same value, or another directory."
        try:
            check_same_run(self.all_metadata(), metadata["run"], path, advice)
            for name, variable in run.variables().items():
                variable.assign(arrays[name])
            zeros = run.model.bilm.lstm.zero_state(run.streams.n_rows)
            rows = [
                tf.cast(arrays[f"state/{i}"], zero.dtype)
                for i, zero in enumerate(tf.nest.flatten(zeros))
            ]
            state = tf.nest.pack_sequence_as(zeros, rows)
            run.state = distribution.scatter_rows(run.strategy, state)
            run.progress = Progress(**metadata["progress"])
        except (KeyError, TypeError) as error:
            raise ValueError(
                f"{path} is of another version: {error!r}. Give another directory."
            ) from error
