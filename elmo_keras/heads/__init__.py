"""Heads: what is found in texts by a network on a language model, trained on labelled data."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elmo_keras.heads.answering.model import QuestionAnswering as QuestionAnswering
    from elmo_keras.heads.answering.readers import read_squad as read_squad
    from elmo_keras.heads.answering.task import Answering as Answering
    from elmo_keras.heads.classifier.model import TextClassifier as TextClassifier
    from elmo_keras.heads.classifier.task import Classification as Classification
    from elmo_keras.heads.coreference.model import CoreferenceModel as CoreferenceModel
    from elmo_keras.heads.coreference.readers import read_documents as read_documents
    from elmo_keras.heads.coreference.task import Coreference as Coreference
    from elmo_keras.heads.entailment.model import ESIM as ESIM
    from elmo_keras.heads.entailment.task import Entailment as Entailment
    from elmo_keras.heads.fit import train_head as train_head
    from elmo_keras.heads.fit import train_task as train_task
    from elmo_keras.heads.head import save_head as save_head
    from elmo_keras.heads.parser.model import DependencyParser as DependencyParser
    from elmo_keras.heads.parser.readers import read_trees as read_trees
    from elmo_keras.heads.parser.task import Parsing as Parsing
    from elmo_keras.heads.tagger.model import Tagger as Tagger
    from elmo_keras.heads.tagger.readers import read_columns as read_columns
    from elmo_keras.heads.tagger.readers import read_conllu as read_conllu
    from elmo_keras.heads.tagger.readers import read_roles as read_roles
    from elmo_keras.heads.tagger.spans import read_spans as read_spans
    from elmo_keras.heads.tagger.task import EntityTagging as EntityTagging
    from elmo_keras.heads.tagger.task import PosTagging as PosTagging
    from elmo_keras.heads.tagger.task import RoleTagging as RoleTagging
    from elmo_keras.heads.task import Settings as Settings
    from elmo_keras.heads.token_vectors import TokenVectors as TokenVectors

# Module → its public names, imported when one is first used: readers need no TensorFlow.
_NAMES = {
    "answering.model": ("QuestionAnswering",),
    "answering.readers": ("read_squad",),
    "answering.task": ("Answering",),
    "classifier.model": ("TextClassifier",),
    "classifier.task": ("Classification",),
    "coreference.model": ("CoreferenceModel",),
    "coreference.readers": ("read_documents",),
    "coreference.task": ("Coreference",),
    "entailment.model": ("ESIM",),
    "entailment.task": ("Entailment",),
    "fit": ("train_head", "train_task"),
    "head": ("save_head",),
    "parser.model": ("DependencyParser",),
    "parser.readers": ("read_trees",),
    "parser.task": ("Parsing",),
    "tagger.model": ("Tagger",),
    "tagger.readers": ("read_columns", "read_conllu", "read_roles"),
    "tagger.spans": ("read_spans",),
    "tagger.task": ("EntityTagging", "PosTagging", "RoleTagging"),
    "task": ("Settings",),
    "token_vectors": ("TokenVectors",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
    return getattr(module, name)
