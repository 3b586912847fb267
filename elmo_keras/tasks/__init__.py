"""Task models with an `Elmo` layer, and the commands that train and compare them."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elmo_keras.embed.layer_cache import LayerCache as LayerCache
    from elmo_keras.tasks.answering import QuestionAnswering as QuestionAnswering
    from elmo_keras.tasks.classifier import TextClassifier as TextClassifier
    from elmo_keras.tasks.coreference import CoreferenceModel as CoreferenceModel
    from elmo_keras.tasks.entailment import ESIM as ESIM
    from elmo_keras.tasks.readers.word_vector_file import (
        read_lower_case_vectors as read_lower_case_vectors,
    )
    from elmo_keras.tasks.tagger import LinearChainCRF as LinearChainCRF
    from elmo_keras.tasks.tagger import Tagger as Tagger
    from elmo_keras.tasks.token_vectors import TokenVectors as TokenVectors

# Public name → its module; all are imported with the first use of a name.
_MODULES = {
    "CoreferenceModel": "tasks.coreference",
    "ESIM": "tasks.entailment",
    "LayerCache": "embed.layer_cache",
    "LinearChainCRF": "tasks.tagger",
    "QuestionAnswering": "tasks.answering",
    "Tagger": "tasks.tagger",
    "TextClassifier": "tasks.classifier",
    "TokenVectors": "tasks.token_vectors",
    "read_lower_case_vectors": "tasks.readers.word_vector_file",
}
__all__ = [*_MODULES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_models()
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def import_models() -> None:
    """Imports all public names, so that `keras.models.load_model` knows the classes."""
    for name, module in _MODULES.items():
        globals()[name] = getattr(importlib.import_module(f"elmo_keras.{module}"), name)
