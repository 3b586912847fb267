"""Rows of Parquet files that a Beam pipeline writes."""

from typing import Any

import pyarrow as pa
from apache_beam.ml.inference.base import PredictionResult

from elmo_keras.embed.arrow_rows import ID, TEXT, Rows
from elmo_keras.embed.on_beam.model_handler import ElmoModelHandler
from elmo_keras.util.fingerprint import installed_version


class VectorRows:
    """Makes the rows that `WriteToParquet` writes, with the schema `rows.schema`.

    `beam.MapTuple(rows)` makes a row of each `(key, PredictionResult)` that comes out
    of a `KeyedModelHandler`. The columns and the metadata are those of
    `arrow_rows.Rows`, as `embed_corpus` writes them, except that `id` is the key.

    Args:
        handler: computes the vectors. Its model is read, once, in the process that
            builds the pipeline, for its digest.
        id_type: the type of the keys, strings by default.
    """

    def __init__(self, handler: ElmoModelHandler, id_type: pa.DataType | None = None):
        embedder = handler.load_model()
        vectors = embedder.vectors
        about = embedder.identity | {
            "layers": str(embedder.identity["layers"]),
            "normalize": handler.normalize,
            "options": embedder.elmo.config.to_summary(),
            "elmo_keras": installed_version("elmo-keras") or "(not installed)",
        }
        rows = Rows(vectors.shape, vectors.dtype, texts=True, about=about)
        self._names, self._of_tokens = rows.names, rows.of_tokens
        key = pa.field(ID, id_type or pa.string(), nullable=False)
        self.schema = rows.schema.set(0, key)

    def __call__(self, key: Any, result: PredictionResult) -> dict[str, Any]:
        text, vectors = result.example, result.inference
        text = text if isinstance(text, str) else " ".join(text)
        layers = vectors if len(self._names) > 1 else [vectors]
        # Arrow makes lists of vectors of lists only.
        layers = map(list, layers) if self._of_tokens else layers
        return {ID: key, TEXT: text, **dict(zip(self._names, layers))}
