"""gensim's word2vec: `with_word2vec.py FILE…` trains on text files, one sentence a line."""

import gzip
import sys
import tempfile
from pathlib import Path

import numpy as np
import protocol
from gensim.models import Word2Vec

DIM = 256  # as `en`


def train(paths: list[str]) -> Word2Vec:
    """Skip-grams of one epoch."""
    with tempfile.NamedTemporaryFile("wb") as text:
        for path in map(Path, paths):
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
                text.write(file.read())
        text.flush()
        return Word2Vec(
            corpus_file=text.name, vector_size=DIM, sg=1, epochs=1, workers=2
        )


vectors = train(sys.argv[1:]).wv
UNKNOWN = np.zeros(DIM, np.float32)


def features(sentences: list[list[str]]) -> list[np.ndarray]:
    return [
        np.stack(
            [vectors[w] if vectors.has_index_for(w) else UNKNOWN for w in sentence]
        )
        for sentence in sentences
    ]


hello = protocol.hello("gensim", size=vectors.vectors.nbytes)
protocol.answer_requests(hello, protocol.feature_requests(features))
