"""ELMo vectors in pipelines of Apache Beam; needs `pip install 'elmo-keras[beam]'`."""

from elmo_keras.embed.on_beam.model_handler import ElmoModelHandler
from elmo_keras.embed.on_beam.text_embeddings import ElmoTextEmbeddings
from elmo_keras.embed.on_beam.vector_rows import VectorRows

__all__ = ["ElmoModelHandler", "ElmoTextEmbeddings", "VectorRows"]
