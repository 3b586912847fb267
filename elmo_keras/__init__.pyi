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
from elmo_keras.training.validation import Validation as Validation

__version__: str
