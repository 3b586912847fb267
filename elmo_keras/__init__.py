"""ELMo on Keras 3 and TensorFlow 2."""

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from elmo_keras.util.collection_paused import collection_paused
from elmo_keras.util.command import import_problem, report_early
from elmo_keras.util.quiet_import import quiet_tensorflow

# A command of the package, whose modules come next.
if sys.argv[:1] == ["-m"]:
    sys.excepthook = report_early
    quiet_tensorflow()

# Public name → its module. TensorFlow and Keras are imported with the first name that
# needs them: not with `Embedder`, if LiteRT computes.
_MODULES = {
    "BidirectionalLanguageModel": "bilm",
    "Corpus": "text.corpus",
    "Elmo": "elmo",
    "ElmoConfig": "config",
    "Embedder": "embed.embedder",
    "ExportedElmo": "exported_elmo",
    "LanguageModel": "language_model",
    "MirroredStrategy": "text.mirrored_strategy",
    "Vocabulary": "text.vocabulary",
    "character_ids": "text.characters",
    "embed_corpus": "embed.corpus",
    "find_model": "formats.model_directory",
    "load_bilm": "formats.model_directory",
    "push_to_hub": "hub.hugging_face",
    "read_embeddings": "embed.embeddings",
    "tokenize": "text.token_batches",
}

if TYPE_CHECKING:  # `X as X` says that X is public
    from elmo_keras import layers as layers
    from elmo_keras.bilm import BidirectionalLanguageModel as BidirectionalLanguageModel
    from elmo_keras.config import ElmoConfig as ElmoConfig
    from elmo_keras.elmo import Elmo as Elmo
    from elmo_keras.embed.corpus import embed_corpus as embed_corpus
    from elmo_keras.embed.embedder import Embedder as Embedder
    from elmo_keras.embed.embeddings import read_embeddings as read_embeddings
    from elmo_keras.exported_elmo import ExportedElmo as ExportedElmo
    from elmo_keras.formats.model_directory import find_model as find_model
    from elmo_keras.formats.model_directory import load_bilm as load_bilm
    from elmo_keras.hub.hugging_face import push_to_hub as push_to_hub
    from elmo_keras.language_model import LanguageModel as LanguageModel
    from elmo_keras.text.characters import character_ids as character_ids
    from elmo_keras.text.corpus import Corpus as Corpus
    from elmo_keras.text.mirrored_strategy import MirroredStrategy as MirroredStrategy
    from elmo_keras.text.token_batches import tokenize as tokenize
    from elmo_keras.text.vocabulary import Vocabulary as Vocabulary

__all__ = sorted([*_MODULES, "layers"])


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with collection_paused():
        if name == "layers":
            return importlib.import_module(f"{__name__}.layers")
        try:
            module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
        except ImportError as error:
            if "KERAS_BACKEND" not in os.environ:
                raise
            raise ImportError(import_problem(error)) from None
    globals()[name] = getattr(module, name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
