"""Task models with an `Elmo` layer, and the commands that train and compare them.

The command is `elmo-keras NAME`, where NAME is `tag`, `classify`, `entail`,
`similarity`, `answer` or `coreference`.
"""

import importlib
from typing import TYPE_CHECKING, Any

COMMANDS = "tag classify entail similarity answer coreference".split()

# Public name → its module; Keras is imported with the first name.
_MODULES = {
    "Answerer": "answer.answerer",
    "Coreferent": "coreference.coreferent",
    "ESIM": "entail.esim",
    "LayerCache": "experiments.layer_cache",
    "LinearChainCRF": "tag.crf",
    "SimilarityModel": "similarity.similarity_model",
    "Tagger": "tag.tagger",
    "TextClassifier": "classify.classifier",
    "TokenVectors": "layers.token_vectors",
    "read_lower_case_vectors": "readers.word_vector_file",
}

if TYPE_CHECKING:  # `X as X` says that X is public
    from elmo_keras.tasks.answer.answerer import Answerer as Answerer
    from elmo_keras.tasks.classify.classifier import TextClassifier as TextClassifier
    from elmo_keras.tasks.coreference.coreferent import Coreferent as Coreferent
    from elmo_keras.tasks.entail.esim import ESIM as ESIM
    from elmo_keras.tasks.experiments.layer_cache import LayerCache as LayerCache
    from elmo_keras.tasks.layers.token_vectors import TokenVectors as TokenVectors
    from elmo_keras.tasks.readers.word_vector_file import (
        read_lower_case_vectors as read_lower_case_vectors,
    )
    from elmo_keras.tasks.similarity.similarity_model import (
        SimilarityModel as SimilarityModel,
    )
    from elmo_keras.tasks.tag.crf import LinearChainCRF as LinearChainCRF
    from elmo_keras.tasks.tag.tagger import Tagger as Tagger

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
    return getattr(module, name)
