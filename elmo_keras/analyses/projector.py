"""Vectors for TensorBoard's embedding projector."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from elmo_keras.util.files import replacing

MAX_POINTS = 10_000  # that a browser is to draw
Points = tuple[np.ndarray, Sequence[str]]  # vectors (points, dim), their labels


def write_projector(folder: Path, tensors: Mapping[str, Points]) -> None:
    """Writes the first 10,000 points of each tensor."""
    folder.mkdir(parents=True, exist_ok=True)
    config = ""
    for name, (vectors, labels) in tensors.items():
        with replacing(folder / f"{name}.tsv") as path:
            np.savetxt(path, vectors[:MAX_POINTS], "%.6g", delimiter="\t")
        lines = [" ".join(text.split()) or "(empty)" for text in labels[:MAX_POINTS]]
        with replacing(folder / f"{name}.labels.tsv") as path:
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        config += (
            f'embeddings {{\n  tensor_name: "{name}"\n  tensor_path: "{name}.tsv"\n'
            f'  metadata_path: "{name}.labels.tsv"\n}}\n'
        )
    with replacing(folder / "projector_config.pbtxt") as path:
        path.write_text(config, encoding="utf-8")
