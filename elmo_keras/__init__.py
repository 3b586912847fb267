"""ELMo on Keras 3 and TensorFlow 2."""

from elmo_keras.cli.collection_paused import collection_paused

with collection_paused():
    import keras

    if keras.backend.backend() != "tensorflow":
        raise ImportError(
            "elmo_keras needs Keras on TensorFlow. Found the backend "
            f"{keras.backend.backend()!r}; set KERAS_BACKEND=tensorflow."
        )

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
