"""Vectors for text files of any size, written to files and read back."""

from elmo_keras.embedding.loop import Summary
from elmo_keras.embedding.reader import Embeddings, read_embeddings
from elmo_keras.embedding.run import embed_corpus

__all__ = ["Embeddings", "Summary", "embed_corpus", "read_embeddings"]
