"""Task models with an `Elmo` layer, and the commands that train and compare them."""

import importlib
from typing import TYPE_CHECKING, Any

from elmo_keras.tasks.data import hold_out as hold_out
from elmo_keras.tasks.data import read_columns as read_columns
from elmo_keras.tasks.data import read_conllu as read_conllu
from elmo_keras.tasks.data import read_documents as read_documents
from elmo_keras.tasks.data import read_lower_case_vectors as read_lower_case_vectors
from elmo_keras.tasks.data import read_pairs as read_pairs
from elmo_keras.tasks.data import read_predicates as read_predicates
from elmo_keras.tasks.data import read_roles as read_roles
from elmo_keras.tasks.data import read_squad as read_squad
from elmo_keras.tasks.data import read_texts as read_texts
from elmo_keras.tasks.data import read_trees as read_trees
from elmo_keras.tasks.data import read_word_vectors as read_word_vectors
from elmo_keras.tasks.head_files import save_head as save_head
from elmo_keras.tasks.spans import read_spans as read_spans

if TYPE_CHECKING:
    from elmo_keras.tasks.answering import QuestionAnswering as QuestionAnswering
    from elmo_keras.tasks.classifier import TextClassifier as TextClassifier
    from elmo_keras.tasks.coreference import CoreferenceModel as CoreferenceModel
    from elmo_keras.tasks.entailment import ESIM as ESIM
    from elmo_keras.tasks.fit import evaluate as evaluate
    from elmo_keras.tasks.fit import read_data as read_data
    from elmo_keras.tasks.fit import train as train
    from elmo_keras.tasks.layer_cache import LayerCache as LayerCache
    from elmo_keras.tasks.parser import DependencyParser as DependencyParser
    from elmo_keras.tasks.tagger import LinearChainCRF as LinearChainCRF
    from elmo_keras.tasks.tagger import Tagger as Tagger
    from elmo_keras.tasks.task import Answering as Answering
    from elmo_keras.tasks.task import Classification as Classification
    from elmo_keras.tasks.task import Coreference as Coreference
    from elmo_keras.tasks.task import Entailment as Entailment
    from elmo_keras.tasks.task import Parsing as Parsing
    from elmo_keras.tasks.task import Settings as Settings
    from elmo_keras.tasks.task import Tagging as Tagging
    from elmo_keras.tasks.token_vectors import TokenVectors as TokenVectors

# Module → its names, which are all imported, with TensorFlow, when one is first used.
_NAMES = {
    "answering": "QuestionAnswering",
    "classifier": "TextClassifier",
    "coreference": "CoreferenceModel",
    "entailment": "ESIM",
    "fit": "evaluate read_data train",
    "layer_cache": "LayerCache",
    "parser": "DependencyParser",
    "tagger": "LinearChainCRF Tagger",
    "task": "Answering Classification Coreference Entailment Parsing Settings Tagging",
    "token_vectors": "TokenVectors",
}


def __getattr__(name: str) -> Any:
    if name not in " ".join(_NAMES.values()).split():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_models()
    return globals()[name]


def import_models() -> None:
    """Imports all models, so that `keras.models.load_model` knows the classes."""
    for module, names in _NAMES.items():
        imported = importlib.import_module(f"{__name__}.{module}")
        globals().update({name: getattr(imported, name) for name in names.split()})
