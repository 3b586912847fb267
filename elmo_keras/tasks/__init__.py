"""Task models with an `Elmo` layer, and the commands that train and compare them.

The command is `python -m elmo_keras.tasks.NAME`, where NAME is `tag`, `classify`,
`entail`, `similarity`, `answer` or `coreference`.
"""

from typing import TYPE_CHECKING

from elmo_keras.util.command import started_command

# Keras loads saved models whose classes are imported. The commands of the tasks, and
# `compare`, import them after their arguments have been read.
COMMANDS = "tag classify entail similarity answer coreference".split()

if TYPE_CHECKING or started_command() not in (*COMMANDS, "compare"):
    from elmo_keras.tasks.answer.answerer import Answerer
    from elmo_keras.tasks.classify.classifier import TextClassifier
    from elmo_keras.tasks.coreference.coreferent import Coreferent
    from elmo_keras.tasks.entail.esim import ESIM
    from elmo_keras.tasks.experiments.layer_cache import LayerCache
    from elmo_keras.tasks.layers.token_vectors import TokenVectors
    from elmo_keras.tasks.readers.word_vector_file import read_lower_case_vectors
    from elmo_keras.tasks.similarity.similarity_model import SimilarityModel
    from elmo_keras.tasks.tag.crf import LinearChainCRF
    from elmo_keras.tasks.tag.tagger import Tagger

    # The names of the field beside those that saved models have.
    CoreferenceModel = Coreferent
    QuestionAnswering = Answerer

__all__ = [
    "ESIM",
    "Answerer",
    "CoreferenceModel",
    "Coreferent",
    "LayerCache",
    "LinearChainCRF",
    "QuestionAnswering",
    "SimilarityModel",
    "Tagger",
    "TextClassifier",
    "TokenVectors",
    "read_lower_case_vectors",
]
