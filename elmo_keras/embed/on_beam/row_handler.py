"""A model handler for rows that contain texts."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apache_beam.ml.transforms.base import EmbeddingTypeAdapter

from elmo_keras.embed.embedder import Embedder
from elmo_keras.embed.on_beam.batch_tokens import n_tokens
from elmo_keras.embed.on_beam.model_handler import ElmoModelHandler


class ElmoRowHandler(ElmoModelHandler):
    """Computes the vectors of the texts in rows, and puts them into the rows.

    Args:
        type_adapter: takes texts from rows, and puts vectors into them.
        arguments: those of `ElmoModelHandler`.
    """

    def __init__(
        self, type_adapter: EmbeddingTypeAdapter, arguments: Mapping[str, Any]
    ):
        super().__init__(**arguments)
        self._adapter = type_adapter

    def run_inference(
        self,
        batch: Sequence[Any],
        model: Embedder,
        inference_args: dict[str, Any] | None = None,
    ) -> Iterator[Any]:
        """The rows with vectors, which are lists of floats."""
        # Beam's adapter changes dicts, which other steps of the pipeline may read.
        rows = [dict(row) if isinstance(row, dict) else row for row in batch]
        texts = self._adapter.input_fn(rows) if rows else []
        results = super().run_inference(texts, model, inference_args)
        vectors = [result.inference.tolist() for result in results]
        return iter(self._adapter.output_fn(rows, vectors))

    def batch_elements_kwargs(self) -> Mapping[str, Any]:
        """The size of a row is that of its texts."""
        return {**super().batch_elements_kwargs(), "element_size_fn": self._size}

    def _size(self, row):
        # A row without its columns is reported by `run_inference`.
        with contextlib.suppress(Exception):
            return sum(map(n_tokens, self._adapter.input_fn([row])))
        return 1
