"""Compares the systems' vectors, so that none is fast by being wrong."""

import json
from pathlib import Path

import numpy as np

from tests.benchmarks.embedding_systems import ALLENNLP, OURS
from tests.benchmarks.workers import Worker

COLUMNS = (
    "preset",
    "system",
    "largest difference to AllenNLP",
    "cosine to our float32 by layer: mean (worst)",
    "first vector",
    "runs on",
)
N_COMPARED, BATCH = 32, 8


def compared(
    preset: str, systems: list[Worker], sentences: list[list[str]], *, folder: Path
) -> list[list[str]]:
    """Rows about the vectors of the first sentences: all layers, real tokens only.

    Args:
        preset: the model's preset.
        systems: their workers.
        sentences: the sample.
        folder: for the file in which workers pass their vectors.
    """
    number = min(N_COMPARED, len(sentences))
    places = list(range(number))
    batches = [places[i : i + BATCH] for i in range(0, number, BATCH)]
    vectors = {}
    for worker in systems:
        path = folder / "vectors.npy"
        worker.ask(json.dumps({"batches": batches, "save": str(path)}))
        vectors[worker.name] = np.load(path)
    first, ours = vectors.get(ALLENNLP), vectors.get(OURS[0])
    return [
        [
            preset,
            worker.name,
            difference(vectors[worker.name], first),
            cosines(vectors[worker.name], ours),
            f"{worker.seconds_to_hello:.1f} s",
            worker.hello,
        ]
        for worker in systems
    ]


def difference(vectors: np.ndarray, expected: np.ndarray | None) -> str:
    """The largest difference, and the largest expected value."""
    if expected is None:
        return "–"
    return f"{np.abs(vectors - expected).max():.1e} of {np.abs(expected).max():.1f}"


def cosines(vectors: np.ndarray, expected: np.ndarray | None) -> str:
    """For each layer the mean over the tokens, and the lowest."""
    if expected is None:
        return "–"
    lengths = np.linalg.norm(vectors, axis=2) * np.linalg.norm(expected, axis=2)
    cosine = np.sum(vectors * expected, axis=2) / lengths  # (layers, tokens)
    return ", ".join(f"{c.mean():.6f} ({c.min():.6f})" for c in cosine)
