"""All models of tasks, so that Keras knows their classes and loads their files."""

from elmo_keras.embed.layer_cache import LayerCache as LayerCache
from elmo_keras.tasks.answer.question_answering import (
    QuestionAnswering as QuestionAnswering,
)
from elmo_keras.tasks.classify.classifier import TextClassifier as TextClassifier
from elmo_keras.tasks.coreference.coreference_model import (
    CoreferenceModel as CoreferenceModel,
)
from elmo_keras.tasks.entail.esim import ESIM as ESIM
from elmo_keras.tasks.layers.token_vectors import TokenVectors as TokenVectors
from elmo_keras.tasks.readers.word_vector_file import (
    read_lower_case_vectors as read_lower_case_vectors,
)
from elmo_keras.tasks.similarity.similarity_model import (
    SimilarityModel as SimilarityModel,
)
from elmo_keras.tasks.tag.crf import LinearChainCRF as LinearChainCRF
from elmo_keras.tasks.tag.tagger import Tagger as Tagger
