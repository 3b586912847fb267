"""ELMo on Keras 3 and TensorFlow 2."""

import keras

if keras.backend.backend() != "tensorflow":
    raise ImportError(
        "elmo_keras needs Keras on TensorFlow. Found the backend "
        f"{keras.backend.backend()!r}; set KERAS_BACKEND=tensorflow."
    )

from elmo_keras import layers  # noqa: E402
from elmo_keras.bilm import BidirectionalLanguageModel  # noqa: E402
from elmo_keras.config import ElmoConfig  # noqa: E402
from elmo_keras.elmo import Elmo  # noqa: E402
from elmo_keras.embedding import embed_corpus, read_embeddings  # noqa: E402
from elmo_keras.vocabulary import Vocabulary  # noqa: E402

__all__ = [
    "BidirectionalLanguageModel",
    "Elmo",
    "ElmoConfig",
    "Vocabulary",
    "embed_corpus",
    "layers",
    "read_embeddings",
]
