"""ELMo vectors in pipelines of Apache Beam; needs `pip install 'elmo-keras[beam]'`."""

import inspect
from collections.abc import Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import Any

from apache_beam.ml.inference.base import (  # pyright: ignore[reportMissingImports]
    ModelHandler,
    PredictionResult,
)

from elmo_keras.embed.embedder import Embedder
from elmo_keras.embed.engines.engine import check_types
from elmo_keras.embed.word_vectors import N_BOUNDARIES
from elmo_keras.hub.local_files import absolute
from elmo_keras.text.sentences import Sentence


class ElmoModelHandler(ModelHandler[Sentence, PredictionResult, Embedder]):
    """Computes ELMo vectors of sentences inside of `RunInference`.

    An example is a `str`, which `Embedder` splits, or a list of tokens. The result
    is a `PredictionResult` with the example, its vectors as `Embedder` returns them,
    and the model as `model_id`. Inside a `KeyedModelHandler`, examples and results are
    `(key, example)` and `(key, PredictionResult)`.

    Each worker process reads the model once. A batch is a call of `Embedder`.

    Args:
        model: the path of a model, the same on all workers, or its published name.
        normalize: whether each vector is divided by its Euclidean length.
        batch_tokens: the largest number of tokens in a batch, with 2 for the
            boundaries of each sentence; a longer sentence is a batch by itself.
        fingerprint: `Embedder.fingerprint`; workers refuse a model with another one.
        large_model: whether the processes of a machine share one model.
        model_copies: how many models they share, 1 by default.
        env_vars: environment variables that are set before the model is read.
        **settings: further arguments of `Embedder`.

    Raises:
        TypeError: the model is neither a path nor a name, or there is no such argument.
        ValueError: an argument is out of range. What only the model's files show,
            such as a layer that it doesn't have, fails on the workers.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        normalize: bool = False,
        batch_tokens: int = 2**15,
        fingerprint: str | None = None,
        large_model: bool = False,
        model_copies: int | None = None,
        env_vars: Mapping[str, str] | None = None,
        **settings: Any,
    ):
        inspect.signature(Embedder).bind(model, **settings)
        check_types(settings.get("dtype", "float32"), settings.get("pooling"))
        weights = settings.pop("weights", None)
        self._settings = settings | {
            "model": absolute(model),  # workers read it themselves
            "weights": weights and absolute(weights),
        }
        self.normalize, self._fingerprint = normalize, fingerprint
        if batch_tokens < 1:
            raise ValueError(
                f"`batch_tokens` should be 1 or more. Received: {batch_tokens}"
            )
        super().__init__(
            # A batch is as large as it may be: no time is lost with trying sizes.
            min_batch_size=batch_tokens,
            max_batch_size=batch_tokens,
            element_size_fn=n_tokens,
            large_model=large_model,
            model_copies=model_copies,
            env_vars=dict(env_vars or {}),
        )

    def load_model(self) -> Embedder:
        """Reads the model; refuses one with another fingerprint."""
        embedder = Embedder(**self._settings)
        if self._fingerprint not in (None, embedder.fingerprint):
            raise ValueError(
                f"{self._settings['model']} should be the model with the fingerprint "
                f"{self._fingerprint}. This worker has one with "
                f"{embedder.fingerprint}: copy the right model to it."
            )
        return embedder

    def run_inference(
        self,
        batch: Sequence[Sentence],
        model: Embedder,
        inference_args: dict[str, Any] | None = None,
    ) -> Iterator[PredictionResult]:
        """Computes the vectors of a batch, which may be empty."""
        arrays = model.encode(list(batch), normalize=self.normalize)
        model_id = self._settings["model"]
        return (PredictionResult(*pair, model_id) for pair in zip(batch, arrays))


def n_tokens(example: Any) -> int:
    """The number of tokens of an example with `<S>` and `</S>`; 2 of a wrong one, for later."""
    if isinstance(example, tuple) and len(example) == 2:  # (key, sentence)
        example = example[1]
    if isinstance(example, (str, bytes)):
        example = example.split()
    return N_BOUNDARIES + (len(example) if isinstance(example, Sized) else 0)
