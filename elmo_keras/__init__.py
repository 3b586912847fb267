"""ELMo on Keras 3 and TensorFlow 2, and without TensorFlow where a model is only read.

- `text`, `layers`, `config`: strings become ids, and ids become vectors.
- `bilm`, `elmo`, `language_model`: the model, its vectors, and what it predicts.
- `hub`, `formats`: a name becomes files, and files become arrays.
- `lite`, `embed`: vectors by LiteRT or TensorFlow, in memory and in files.
- `training`: a language model learns from text.
- `heads`: a folder for each kind of answer, from labelled files to `pipeline`.
- `search`, `export`, `serve`, `adapters`, `commands`: what users run.
- `base`: files, progress and checks, which everything else uses.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # `X as X` says that X is public
    from elmo_keras import layers as layers
    from elmo_keras.bilm import BidirectionalLanguageModel as BidirectionalLanguageModel
    from elmo_keras.config import ElmoConfig as ElmoConfig
    from elmo_keras.elmo import Elmo as Elmo
    from elmo_keras.embed.corpus import embed_corpus as embed_corpus
    from elmo_keras.embed.embedder import Embedder as Embedder
    from elmo_keras.embed.embeddings import read_embeddings as read_embeddings
    from elmo_keras.export.version_directory import export_elmo as export_elmo
    from elmo_keras.exported_elmo import ExportedElmo as ExportedElmo
    from elmo_keras.formats.model_directory import find_model as find_model
    from elmo_keras.formats.model_directory import load_bilm as load_bilm
    from elmo_keras.formats.model_directory import save_model as save_model
    from elmo_keras.heads.fit import train_head as train_head
    from elmo_keras.heads.layer_cache import precompute_layers as precompute_layers
    from elmo_keras.heads.pipeline import pipeline as pipeline
    from elmo_keras.hub.hugging_face import push_to_hub as push_to_hub
    from elmo_keras.language_model import LanguageModel as LanguageModel
    from elmo_keras.mirrored_strategy import MirroredStrategy as MirroredStrategy
    from elmo_keras.search.find import find as find
    from elmo_keras.text.characters import character_ids as character_ids
    from elmo_keras.text.corpus import Corpus as Corpus
    from elmo_keras.text.tokenizers import split_words as split_words
    from elmo_keras.text.tokens import Tokenize as Tokenize
    from elmo_keras.text.tokens import tokenize as tokenize
    from elmo_keras.text.vocabulary import Vocabulary as Vocabulary
    from elmo_keras.training.checkpoint import Checkpoints as Checkpoints
    from elmo_keras.training.keras_model import (
        TrainableLanguageModel as TrainableLanguageModel,
    )
    from elmo_keras.training.streams import Streams as Streams

__version__ = "0.4.0"

# Public name → its module, which is imported with the first use of the name: TensorFlow
# and Keras take seconds, and an `Embedder` of LiteRT needs neither.
_MODULES = {
    "BidirectionalLanguageModel": "bilm",
    "Checkpoints": "training.checkpoint",
    "Corpus": "text.corpus",
    "Elmo": "elmo",
    "ElmoConfig": "config",
    "Embedder": "embed.embedder",
    "ExportedElmo": "exported_elmo",
    "LanguageModel": "language_model",
    "MirroredStrategy": "mirrored_strategy",
    "Streams": "training.streams",
    "Tokenize": "text.tokens",
    "TrainableLanguageModel": "training.keras_model",
    "Validation": "training.validation",
    "Vocabulary": "text.vocabulary",
    "character_ids": "text.characters",
    "embed_corpus": "embed.corpus",
    "export_elmo": "export.version_directory",
    "find": "search.find",
    "find_model": "formats.model_directory",
    "load_bilm": "formats.model_directory",
    "pipeline": "heads.pipeline",
    "precompute_layers": "heads.layer_cache",
    "push_to_hub": "hub.hugging_face",
    "read_embeddings": "embed.embeddings",
    "save_model": "formats.model_directory",
    "split_words": "text.tokenizers",
    "tokenize": "text.tokens",
    "train_head": "heads.fit",
}
__all__ = [*_MODULES, "layers"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in (*_MODULES, "layers"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"elmo_keras.{_MODULES.get(name, name)}")
    except ModuleNotFoundError as error:
        if error.name not in ("keras", "tensorflow"):
            raise
        from elmo_keras.base.argument_checks import needs_tensorflow

        raise ImportError(needs_tensorflow(f"`{name}`")) from error
    globals()[name] = getattr(module, name, module)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
