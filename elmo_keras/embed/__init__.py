"""Writes the vectors of text files of any size to files, and reads them back."""

from elmo_keras.embed.corpus import embed_corpus
from elmo_keras.embed.embedder import Embedder
from elmo_keras.embed.embeddings import Embeddings, read_embeddings
from elmo_keras.jobs.parts import Summary

__all__ = ["Embedder", "Embeddings", "Summary", "embed_corpus", "read_embeddings"]
