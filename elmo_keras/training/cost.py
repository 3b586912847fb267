"""What a run of training will take: memory, disk, time."""

import os
import shutil
import time
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from elmo_keras.config import ElmoConfig
from elmo_keras.layers.character_cnn import N_CHARACTERS
from elmo_keras.optimizers import SLOTS
from elmo_keras.streams import Streams, window

_FLOAT = 4  # bytes
_PROCESS = 2**30 * 3 // 4  # TensorFlow, Keras and what they hold by themselves
# Of the speed of a large matrix product, what a training step reaches here.
_EFFICIENCY = 0.6


class Estimate(NamedTuple):
    """What a run will take.

    Attributes:
        parameters: numbers of the model, those of the softmax included.
        softmax_parameters: those of the softmax.
        memory: part → bytes of a replica.
        disk: bytes of the model and its checkpoints, one of them being written.
        step_flops: floating-point operations of a step of a replica.
        n_steps: steps of the run.
        seconds: of the run, from the measured speed of a matrix product.
    """

    parameters: int
    softmax_parameters: int
    memory: dict[str, int]
    disk: int
    step_flops: float
    n_steps: int
    seconds: float

    def __str__(self):
        memory = ", ".join(f"{part} {_size(n)}" for part, n in self.memory.items())
        return (
            f"Parameters: {self.parameters:,}, {self.softmax_parameters:,} of them of "
            f"the softmax\n"
            f"Memory of a replica: about {_size(sum(self.memory.values()))} ({memory})\n"
            f"Disk: about {_size(self.disk)}\n"
            f"Steps: {self.n_steps:,} of {self.step_flops / 1e9:,.0f} GFLOP, about "
            f"{self.seconds / 3600:.1f} hours here"
        )


def estimate(
    streams: Streams,
    n_replicas: int = 1,
    n_parts: int = 1,
    optimizer: str = "adagrad",
    dtype: str = "float32",
    n_steps: int = 1,
) -> Estimate:
    """Estimates what a run will take, before anything of it is made.

    Args:
        streams: the text; gives sizes, and the words of its first batch.
        n_replicas: of all its rows.
        n_parts: of a replica's rows.
        optimizer: its name.
        dtype: of the matrix products.
        n_steps: of the run.
    """
    config = streams.config
    n_rows = streams.n_rows // (n_replicas * n_parts)
    words, length = _first_words(streams, n_rows)
    tokens = n_rows * streams.unroll_steps
    softmax = streams.vocabulary_size * (config.projection_dim + 1)
    parameters = n_parameters(config) + softmax
    slots = SLOTS[optimizer] * parameters
    scored = (streams.n_negatives or streams.vocabulary_size - 1) + 1
    rows = softmax
    if streams.n_negatives is not None:  # of the words drawn, in both directions
        rows = min(softmax, 2 * scored * config.projection_dim)
    memory = {
        "program": _PROCESS,
        "weights": parameters * _FLOAT,
        "optimizer": slots * _FLOAT,
        "gradients": 2 * (parameters - softmax + rows) * _FLOAT,
        "activations": _activations(config, tokens, words, length) * _FLOAT,
        # Logits and their gradient, of both directions at a time.
        "scores": 4 * tokens * scored * _FLOAT,
    }
    flops = n_parts * _flops(config, tokens, words, length, scored)
    return Estimate(
        parameters,
        softmax,
        memory,
        disk=(3 * (parameters + slots) + parameters) * _FLOAT,
        step_flops=flops,
        n_steps=n_steps,
        seconds=n_steps * flops / (_EFFICIENCY * _gemm_speed(dtype)),
    )


def n_parameters(config: ElmoConfig) -> int:
    """Numbers of a biLM without its softmax."""
    units, dim, n = config.units, config.projection_dim, config.n_filters
    characters = config.char_embedding_dim
    cnn = N_CHARACTERS * characters
    cnn += sum(width * characters * count + count for width, count in config.filters)
    cnn += config.n_highway * 2 * (n * n + n) + (n * dim + dim) * (n != dim)
    return cnn + 2 * config.n_layers * (2 * dim * 4 * units + 4 * units + units * dim)


def _first_words(streams, n_rows):
    """Distinct words of a part of the first batch, and the longest one's characters."""
    first = window(streams.corpus, streams.plan(0), 0, streams.unroll_steps)
    distinct = np.unique(first.inputs[:, :n_rows])
    longest = max(len(streams.corpus.words[i].encode()) for i in distinct) + 2
    return len(distinct), min(longest, streams.config.max_characters_per_token)


def _activations(config, tokens, words, length):
    """Numbers kept for the gradient."""
    lstm = (
        2 * config.n_layers * tokens * (13 * config.units + 4 * config.projection_dim)
    )
    widths = sum(width for width, _ in config.filters)
    windows = words * length * (widths * config.char_embedding_dim + config.n_filters)
    highway = words * config.n_filters * 6 * config.n_highway
    return lstm + windows + highway


def _flops(config, tokens, words, length, scored):
    """Of a forward pass, and twice as many for the gradient."""
    units, dim = config.units, config.projection_dim
    lstm = 2 * config.n_layers * tokens * (2 * (2 * dim) * 4 * units + 2 * units * dim)
    convolutions = sum(w * n for w, n in config.filters) * config.char_embedding_dim
    highway = 2 * config.n_highway * config.n_filters**2
    word = 2 * (length * convolutions + highway + config.n_filters * dim)
    return 3 * (lstm + words * word + 2 * tokens * scored * dim * 2)


def _gemm_speed(dtype) -> float:
    """Floating-point operations a second of a large matrix product."""
    n = 2048
    x = tf.ones((n, n), keras.DTypePolicy(dtype).compute_dtype)
    times = []
    for _ in range(4):
        start = time.perf_counter()
        tf.matmul(x, x)[0, 0].numpy()
        times.append(time.perf_counter() - start)
    return 2 * n**3 / min(times)


def check_fits(found: Estimate, n_replicas_here: int, folder: Path) -> None:
    """Refuses what can't fit.

    Raises:
        ValueError: memory or disk don't suffice for what is surely needed.
    """
    sure = {"weights", "optimizer", "scores"}
    needed = n_replicas_here * sum(found.memory[part] for part in sure)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if not tf.config.list_physical_devices("GPU") and needed > memory:
        raise ValueError(
            f"Weights, optimizer and scores alone take {_size(needed)}, and this "
            f"machine has {_size(memory)}. Take a smaller --vocabulary-size, "
            "--preset or --batch-size."
        )
    existing = next(
        p for p in (folder.absolute(), *folder.absolute().parents) if p.exists()
    )
    own = sum(f.stat().st_size for f in folder.rglob("*.hdf5"))  # of an earlier run
    free = shutil.disk_usage(existing).free + own
    if found.disk > free:
        raise ValueError(
            f"The model and its checkpoints take {_size(found.disk)}, and {folder} has "
            f"room for {_size(free)}. Give an --output with more room."
        )


def _size(n_bytes: float) -> str:
    return (
        f"{n_bytes / 2**30:.2f} GiB"
        if n_bytes >= 2**28
        else f"{n_bytes / 2**20:.1f} MiB"
    )
