"""ELMo on Keras 3 and TensorFlow 2."""

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from elmo_keras.cli.collection_paused import collection_paused
from elmo_keras.cli.command import import_problem, report_early
from elmo_keras.cli.quiet_import import quiet_tensorflow

_top = os.path.dirname(os.path.dirname(__file__))
if os.path.isfile(os.path.join(os.path.dirname(__file__), "export")):
    __path__.insert(0, _top)  # a checkout without links, as on Windows
_train = os.path.join(_top, "train.py")
# A command of the package, whose modules come next, or the one beside it.
if sys.argv[:1] == ["-m"] or [*map(os.path.abspath, sys.argv[:1])] == [_train]:
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
    "find_model": "model_files.model_directory",
    "held_out_perplexity": "training.perplexity",
    "load_bilm": "model_files.model_directory",
    "log_probabilities": "training.perplexity",
    "mean_end_state": "training.mean_end_state",
    "perplexity": "training.perplexity",
    "read_embeddings": "embed.embeddings",
    "tokenize": "text.token_batches",
}

if TYPE_CHECKING:
    from elmo_keras import layers
    from elmo_keras.bilm import BidirectionalLanguageModel
    from elmo_keras.config import ElmoConfig
    from elmo_keras.elmo import Elmo
    from elmo_keras.embed import Embedder, embed_corpus, read_embeddings
    from elmo_keras.exported_elmo import ExportedElmo
    from elmo_keras.language_model import LanguageModel
    from elmo_keras.model_files.model_directory import find_model, load_bilm
    from elmo_keras.text.characters import character_ids
    from elmo_keras.text.corpus import Corpus
    from elmo_keras.text.mirrored_strategy import MirroredStrategy
    from elmo_keras.text.token_batches import tokenize
    from elmo_keras.text.vocabulary import Vocabulary
    from elmo_keras.training.mean_end_state import mean_end_state
    from elmo_keras.training.perplexity import (
        held_out_perplexity,
        log_probabilities,
        perplexity,
    )

__all__ = [
    "BidirectionalLanguageModel",
    "Corpus",
    "Elmo",
    "ElmoConfig",
    "Embedder",
    "ExportedElmo",
    "LanguageModel",
    "MirroredStrategy",
    "Vocabulary",
    "character_ids",
    "embed_corpus",
    "find_model",
    "held_out_perplexity",
    "layers",
    "load_bilm",
    "log_probabilities",
    "mean_end_state",
    "perplexity",
    "read_embeddings",
    "tokenize",
]


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
