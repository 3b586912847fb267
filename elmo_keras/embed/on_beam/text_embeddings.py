"""ELMo vectors of text columns in Beam's `MLTransform`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.ml.inference.base import RunInference
from apache_beam.ml.transforms.base import EmbeddingsManager, EmbeddingTypeAdapter

from elmo_keras.embed.on_beam.model_handler import ElmoModelHandler
from elmo_keras.embed.on_beam.row_handler import ElmoRowHandler


class ElmoTextEmbeddings(EmbeddingsManager):
    """Replaces texts by their ELMo vectors in `MLTransform`.

    A text is a `str`, split at ASCII white space, or a list of its tokens. Its vector
    is a list of floats, as from the other text embeddings of Beam.

    The artifacts of `MLTransform` hold these arguments, with the path of the model and
    not its weights: `read_artifact_location` gives the same vectors as long as the
    same model is there, which `fingerprint` ensures.

    Args:
        columns: the columns of the rows (dicts or `beam.Row`) whose texts are replaced.
        model: see `ElmoModelHandler`.
        layers: `"average"`, `"top"`, `"mix"`, the index of a layer, or the weights of a
            mix, as in `Embedder`.
        pooling: `"mean"` or `"max"` over the tokens of a text.
        type_adapter: in place of `columns`, how texts are taken from elements and
            vectors put into them.
        **arguments: further arguments of `ElmoModelHandler`.

    Raises:
        ValueError: there are neither columns nor a type adapter, or the arguments don't
            give one vector of each text; or as in `ElmoModelHandler`.
    """

    def __init__(
        self,
        columns: list[str] | None = None,
        model: str | Path | None = None,
        layers: str | int | Sequence[float] = "average",
        *,
        pooling: str = "mean",
        type_adapter: EmbeddingTypeAdapter | None = None,
        **arguments: Any,
    ):
        _check(columns, model, layers, pooling=pooling)
        super().__init__(columns=columns, type_adapter=type_adapter)
        self._arguments = arguments | {
            "model": model,
            "layers": layers,
            "pooling": pooling,
        }
        self.get_model_handler()  # refuses wrong arguments now

    def get_model_handler(self) -> ElmoModelHandler:
        """The handler that computes the vectors of texts."""
        return ElmoModelHandler(**self._arguments)

    def get_ptransform_for_processing(self, **_) -> beam.PTransform:
        """What `MLTransform` applies, and keeps in its artifacts."""
        return RunInference(ElmoRowHandler(self.type_adapter, self._arguments))


def _check(columns, model, layers, *, pooling):
    if isinstance(columns, str):
        raise ValueError(f"`columns` should be a list. Received: {columns!r}")
    if model is None:
        raise ValueError("`model` should be the path or the name of a model.")
    if pooling is None or layers == "all":
        raise ValueError(
            "A text has one vector: `pooling` should be 'mean' or 'max', and `layers` "
            f"not 'all'. Received: pooling={pooling!r}, layers={layers!r}"
        )
