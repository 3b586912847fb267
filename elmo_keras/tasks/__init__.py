"""ELMo at work: task models with an `Elmo` layer, and commands that train them.

`python -m elmo_keras.tasks.tag`, `classify`, `entail`, `similarity`, `answer` and
`coreference` train and compare; `compare`, `layer_weights`, `probe`, `senses`,
`neighbors` and `search` analyse.
"""

from elmo_keras.tasks.experiments.layer_cache import LayerCache
from elmo_keras.tasks.models.answerer import Answerer
from elmo_keras.tasks.models.classifier import TextClassifier
from elmo_keras.tasks.models.coreferent import Coreferent
from elmo_keras.tasks.models.crf import LinearChainCRF
from elmo_keras.tasks.models.esim import ESIM
from elmo_keras.tasks.models.similarity_model import SimilarityModel
from elmo_keras.tasks.models.tagger import Tagger
from elmo_keras.tasks.models.token_vectors import TokenVectors

__all__ = [
    "ESIM",
    "Answerer",
    "Coreferent",
    "LayerCache",
    "LinearChainCRF",
    "SimilarityModel",
    "Tagger",
    "TextClassifier",
    "TokenVectors",
]
