"""Task models with an `Elmo` layer, and the commands that train and compare them."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elmo_keras.tasks.answering import QuestionAnswering as QuestionAnswering
    from elmo_keras.tasks.classifier import TextClassifier as TextClassifier
    from elmo_keras.tasks.coreference import CoreferenceModel as CoreferenceModel
    from elmo_keras.tasks.data import hold_out as hold_out
    from elmo_keras.tasks.data import read_columns as read_columns
    from elmo_keras.tasks.data import read_conllu as read_conllu
    from elmo_keras.tasks.data import read_documents as read_documents
    from elmo_keras.tasks.data import (
        read_lower_case_vectors as read_lower_case_vectors,
    )
    from elmo_keras.tasks.data import read_pairs as read_pairs
    from elmo_keras.tasks.data import read_predicates as read_predicates
    from elmo_keras.tasks.data import read_roles as read_roles
    from elmo_keras.tasks.data import read_squad as read_squad
    from elmo_keras.tasks.data import read_texts as read_texts
    from elmo_keras.tasks.data import read_word_vectors as read_word_vectors
    from elmo_keras.tasks.entailment import ESIM as ESIM
    from elmo_keras.tasks.fit import evaluate as evaluate
    from elmo_keras.tasks.fit import read_data as read_data
    from elmo_keras.tasks.fit import train as train
    from elmo_keras.tasks.layer_cache import LayerCache as LayerCache
    from elmo_keras.tasks.tagger import LinearChainCRF as LinearChainCRF
    from elmo_keras.tasks.tagger import Tagger as Tagger
    from elmo_keras.tasks.task import Answering as Answering
    from elmo_keras.tasks.task import Classification as Classification
    from elmo_keras.tasks.task import Coreference as Coreference
    from elmo_keras.tasks.task import Entailment as Entailment
    from elmo_keras.tasks.task import Settings as Settings
    from elmo_keras.tasks.task import Tagging as Tagging
    from elmo_keras.tasks.token_vectors import TokenVectors as TokenVectors

# Public name → its module. The first use of a model imports them all, and TensorFlow.
_MODELS = {
    "CoreferenceModel": "tasks.coreference",
    "ESIM": "tasks.entailment",
    "LayerCache": "tasks.layer_cache",
    "LinearChainCRF": "tasks.tagger",
    "QuestionAnswering": "tasks.answering",
    "Tagger": "tasks.tagger",
    "TextClassifier": "tasks.classifier",
    "TokenVectors": "tasks.token_vectors",
    "evaluate": "tasks.fit",
    "read_data": "tasks.fit",
    "train": "tasks.fit",
}
_DATA = {
    "Answering": "tasks.task",
    "Classification": "tasks.task",
    "Coreference": "tasks.task",
    "Entailment": "tasks.task",
    "Settings": "tasks.task",
    "Tagging": "tasks.task",
    "hold_out": "tasks.data",
    "read_columns": "tasks.data",
    "read_conllu": "tasks.data",
    "read_documents": "tasks.data",
    "read_lower_case_vectors": "tasks.data",
    "read_pairs": "tasks.data",
    "read_predicates": "tasks.data",
    "read_roles": "tasks.data",
    "read_squad": "tasks.data",
    "read_texts": "tasks.data",
    "read_word_vectors": "tasks.data",
}
__all__ = [*_MODELS, *_DATA]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _DATA:
        return getattr(importlib.import_module(f"elmo_keras.{_DATA[name]}"), name)
    if name not in _MODELS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_models()
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def import_models() -> None:
    """Imports all models, so that `keras.models.load_model` knows the classes."""
    for name, module in _MODELS.items():
        globals()[name] = getattr(importlib.import_module(f"elmo_keras.{module}"), name)
