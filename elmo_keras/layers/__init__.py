"""The Keras layers of ELMo."""

import keras

if keras.backend.backend() != "tensorflow":
    raise ImportError(
        "elmo_keras needs Keras on TensorFlow. Found the backend "
        f"{keras.backend.backend()!r}; set KERAS_BACKEND=tensorflow."
    )

from elmo_keras.layers.bidirectional_lstm import BidirectionalLSTM
from elmo_keras.layers.character_cnn import CharacterCNN
from elmo_keras.layers.highway import Highway
from elmo_keras.layers.pooling import MaxPooling, MeanPooling
from elmo_keras.layers.projected_lstm import ProjectedLSTM
from elmo_keras.layers.scalar_mix import ScalarMix
from elmo_keras.layers.word_softmax import WordSoftmax

__all__ = [
    "BidirectionalLSTM",
    "CharacterCNN",
    "Highway",
    "MaxPooling",
    "MeanPooling",
    "ProjectedLSTM",
    "ScalarMix",
    "WordSoftmax",
]
