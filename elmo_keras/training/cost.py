"""The memory and the disk space that a training run takes."""

import os
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

from elmo_keras.formats.published import n_parameters
from elmo_keras.training.options import OPTIMIZERS, RunSettings
from elmo_keras.training.streams import Streams

FLOAT = 4  # bytes


class Estimate(NamedTuple):
    memory: dict[str, int]  # part of a replica's memory → bytes
    disk: int  # bytes of the model and its checkpoints, while one is being written

    def __str__(self):
        memory = ", ".join(f"{part} {_size(n)}" for part, n in self.memory.items())
        total = _size(sum(self.memory.values()))
        return (
            f"Memory of a replica: at least {total} ({memory})\n"
            f"Disk: at least {_size(self.disk)}"
        )


def estimate(
    streams: Streams, settings: RunSettings, *, n_replicas: int = 1
) -> Estimate:
    """Estimates the cost of a run before anything is built.

    The character CNN's activations, and those of TensorFlow itself, are left out.
    """
    config, dim = streams.config, streams.config.projection_dim
    tokens = streams.n_rows // (n_replicas * settings.parts) * streams.unroll_steps
    # Words that the softmax scores for each token.
    scored = (streams.n_negatives or streams.vocabulary_size - 1) + 1
    softmax = rows = streams.vocabulary_size * (dim + 1)
    if streams.n_negatives is not None:  # rows of the drawn words, in both directions
        rows = min(softmax, 2 * scored * dim)
    parameters = n_parameters(config) + softmax
    slots = OPTIMIZERS[settings.optimizer_name].n_variables * parameters
    # An LSTM layer keeps gates, cell and projections, and has the gradient of its gates.
    activations, gradient = 5 * config.units + 4 * dim, 2 * 5 * config.units
    return Estimate(
        memory={
            "weights": parameters * FLOAT,
            "optimizer": slots * FLOAT,
            "gradients": 2 * (parameters - softmax + rows) * FLOAT,
            "activations": tokens
            * (2 * config.n_layers * activations + gradient)
            * FLOAT,
            # Logits and their gradient, in both directions.
            "scores": 4 * tokens * scored * FLOAT,
        },
        disk=(3 * (parameters + slots) + parameters) * FLOAT,
    )


def check_fits(estimate: Estimate, n_replicas_here: int, folder: Path) -> None:
    certain = "weights", "optimizer", "scores"
    needed = n_replicas_here * sum(estimate.memory[part] for part in certain)
    memory = sys.maxsize
    if hasattr(os, "sysconf"):  # Windows lacks it
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > memory and not tf.config.list_physical_devices("GPU"):
        raise ValueError(
            "`vocabulary_size`, `preset` or `batch_size` should be smaller: weights, "
            f"optimizer and scores alone take {_size(needed)}, and this machine has "
            f"{_size(memory)}."
        )
    path = folder.absolute()
    existing = next(path for path in (path, *path.parents) if path.exists())
    earlier = sum(file.stat().st_size for file in folder.rglob("*.hdf5"))
    free = shutil.disk_usage(existing).free + earlier
    if estimate.disk > free:
        raise ValueError(
            f"`output` {folder} has room for {_size(free)}, and the model and its "
            f"checkpoints take {_size(estimate.disk)}. Give one with more room."
        )


def _size(n_bytes: float) -> str:
    if n_bytes >= 2**28:
        return f"{n_bytes / 2**30:.2f} GiB"
    return f"{n_bytes / 2**20:.1f} MiB"
