"""The cost of a training run: memory, disk, time."""

import os
import shutil
import sys
import time
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.formats.published import n_parameters
from elmo_keras.text.windows import window
from elmo_keras.training.options import RunSettings
from elmo_keras.training.streams import Streams

FLOAT = 4  # bytes
# Variables of an optimizer for each weight.
SLOTS = {"adagrad": 1, "adam": 2, "lion": 1, "muon": 2, "rmsprop": 1, "sgd": 0}
PROCESS = 2**30 * 3 // 4  # TensorFlow and Keras before a model is built
EFFICIENCY = 0.7  # speed of a training step, relative to a large matrix product


class Estimate(NamedTuple):
    memory: dict[str, int]  # part of a replica's memory → bytes
    disk: int  # bytes of the model and its checkpoints, while one is being written
    step_flops: float  # of a replica
    n_steps: int
    dtype: str

    def __str__(self):
        """Measures the speed of this machine by a matrix product."""
        flops_a_second = EFFICIENCY * _gemm_speed(self.dtype)
        hours = self.n_steps * self.step_flops / flops_a_second / 3600
        memory = ", ".join(f"{part} {_size(n)}" for part, n in self.memory.items())
        return (
            f"Memory of a replica: about {_size(sum(self.memory.values()))} ({memory})\n"
            f"Disk: about {_size(self.disk)}\n"
            f"Steps: {self.n_steps:,} of {self.step_flops / 1e9:,.0f} GFLOP, about "
            f"{hours:.1f} hours here"
        )


def estimate(
    streams: Streams, settings: RunSettings, *, n_replicas: int = 1, n_steps: int = 1
) -> Estimate:
    """Estimates the cost of a run from its first batch, before anything is built."""
    config, dim = streams.config, streams.config.projection_dim
    n_rows = streams.n_rows // (n_replicas * settings.parts)
    words, length = _first_words(streams, n_rows)
    tokens = n_rows * streams.unroll_steps
    # Words that the softmax scores for each token.
    scored = (streams.n_negatives or streams.vocabulary_size - 1) + 1
    softmax = rows = streams.vocabulary_size * (dim + 1)
    if streams.n_negatives is not None:  # rows of the drawn words, in both directions
        rows = min(softmax, 2 * scored * dim)
    parameters = n_parameters(config) + softmax
    slots = SLOTS[settings.optimizer_name] * parameters
    # An LSTM layer keeps gates, cell and projections, and has the gradient of its gates.
    kept, gradient = 5 * config.units + 4 * dim, 2 * 5 * config.units
    widest = max((width for width, _ in config.filters), default=0)
    window_size = widest * (config.char_embedding_dim + 1) + config.n_filters / FLOAT
    activations = (
        tokens * (2 * config.n_layers * kept + gradient)
        + words * length * window_size
        + words * config.n_filters * 6 * config.n_highway
    )
    cell = 2 * (2 * dim) * 4 * config.units
    cell += 2 * config.units * dim * config.has_lstm_projection
    convolutions = sum(w * n for w, n in config.filters) * config.char_embedding_dim
    highway = 2 * config.n_highway * config.n_filters**2
    word = 2 * (length * convolutions + highway + config.n_filters * dim)
    forward = 2 * tokens * (config.n_layers * cell + scored * dim * 2) + words * word
    return Estimate(
        memory={
            "program": PROCESS,
            "weights": parameters * FLOAT,
            "optimizer": slots * FLOAT,
            "gradients": 2 * (parameters - softmax + rows) * FLOAT,
            "activations": int(activations) * FLOAT,
            # Logits and their gradient, in both directions.
            "scores": 4 * tokens * scored * FLOAT,
        },
        disk=(3 * (parameters + slots) + parameters) * FLOAT,
        step_flops=3 * settings.parts * forward,  # the gradient takes twice as many
        n_steps=n_steps,
        dtype=settings.arithmetic,
    )


def _first_words(streams, n_rows):
    """Distinct words of a part of the first batch, and their average characters."""
    steps, maximum = streams.unroll_steps, streams.config.max_characters_per_token
    first = window(streams.corpus, streams.plan(0), 0, unroll_steps=steps)
    distinct = np.unique(first.inputs[:, :n_rows])
    lengths = [len(streams.corpus.words[i].encode()) + 2 for i in distinct]
    return len(distinct), float(np.minimum(lengths, maximum).mean())


def _gemm_speed(dtype) -> float:
    """Floating-point operations a second in a large matrix product."""
    n, times = 2048, []
    x = tf.ones((n, n), keras.DTypePolicy(dtype).compute_dtype)
    for _ in range(4):
        start = time.perf_counter()
        tf.matmul(x, x)[0, 0].numpy()
        times.append(time.perf_counter() - start)
    return 2 * n**3 / min(times)


def check_fits(estimate: Estimate, n_replicas_here: int, folder: Path) -> None:
    certain = "weights", "optimizer", "scores"
    needed = n_replicas_here * sum(estimate.memory[part] for part in certain)
    memory = sys.maxsize
    if hasattr(os, "sysconf"):  # not on Windows
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if not tf.config.list_physical_devices("GPU") and needed > memory:
        raise ValueError(
            f"Weights, optimizer and scores alone take {_size(needed)}, and this "
            f"machine has {_size(memory)}. Choose a smaller `vocabulary_size`, `preset` "
            "or `batch_size`."
        )
    folders = folder.absolute(), *folder.absolute().parents
    existing = next(path for path in folders if path.exists())
    earlier = sum(file.stat().st_size for file in folder.rglob("*.hdf5"))
    free = shutil.disk_usage(existing).free + earlier
    if estimate.disk > free:
        raise ValueError(
            f"The model and its checkpoints take {_size(estimate.disk)}, and {folder} has "
            f"room for {_size(free)}. Give an `output` with more room."
        )


def _size(n_bytes: float) -> str:
    if n_bytes >= 2**28:
        return f"{n_bytes / 2**30:.2f} GiB"
    return f"{n_bytes / 2**20:.1f} MiB"
