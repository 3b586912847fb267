"""ELMo vectors of text columns in Beam's `MLTransform`."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.ml.inference.base import RunInference
from apache_beam.ml.transforms.base import EmbeddingsManager, EmbeddingTypeAdapter

from elmo_keras.embed.embedder import Embedder
from elmo_keras.embed.on_beam.model_handler import ElmoModelHandler, n_tokens


class ElmoTextEmbeddings(EmbeddingsManager):
    """Replaces texts by their ELMo vectors in `MLTransform`.

    A text is a `str`, split at ASCII white space, or a list of its tokens. Its vector
    is a list of floats. The artifacts of `MLTransform` hold these arguments, with the
    path of the model and not its weights; `fingerprint` ensures that it is the same.

    Args:
        columns: the columns of the rows (dicts or `beam.Row`) whose texts are replaced.
        model: see `ElmoModelHandler`.
        type_adapter: in place of `columns`, how texts are taken from elements and
            vectors put into them.
        **arguments: further arguments of `ElmoModelHandler`; `pooling` is `"mean"`
            unless it is given.

    Raises:
        ValueError: there are neither columns nor a type adapter, or the arguments don't
            give one vector of each text; or as in `ElmoModelHandler`.
    """

    def __init__(
        self,
        columns: list[str] | None = None,
        model: str | Path | None = None,
        type_adapter: EmbeddingTypeAdapter | None = None,
        **arguments: Any,
    ):
        if isinstance(columns, str):
            raise ValueError(f"`columns` should be a list. Received: {columns!r}")
        if model is None:
            raise ValueError("`model` should be the path or the name of a model.")
        arguments = {"model": model, "pooling": "mean", **arguments}
        pooling, layers = arguments["pooling"], arguments.get("layers")
        if pooling is None or layers == "all":
            raise ValueError(
                "A text has one vector: `pooling` should be 'mean' or 'max', and "
                f"`layers` not 'all'. Received: {pooling=}, {layers=}"
            )
        if arguments.get("tokenizer") is not None:
            raise ValueError(
                "Artifacts can't hold a `tokenizer`. Give columns with lists of tokens, "
                "which an earlier step makes."
            )
        super().__init__(columns=columns, type_adapter=type_adapter)
        self._arguments = arguments
        self.get_model_handler()  # refuses wrong arguments now

    def get_model_handler(self) -> ElmoModelHandler:
        """The handler that computes the vectors of texts."""
        return ElmoModelHandler(**self._arguments)

    def get_ptransform_for_processing(self, **_) -> beam.PTransform:
        """What `MLTransform` applies, and keeps in its artifacts."""
        return RunInference(ElmoRowHandler(self.type_adapter, self._arguments))


class ElmoRowHandler(ElmoModelHandler):
    """Computes the vectors of the texts in rows, and puts them into the rows."""

    def __init__(self, type_adapter: EmbeddingTypeAdapter, arguments: dict[str, Any]):
        super().__init__(**arguments)
        self._adapter = type_adapter

    def run_inference(
        self,
        batch: Sequence[Any],
        model: Embedder,
        inference_args: dict[str, Any] | None = None,
    ) -> Iterator[Any]:
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
