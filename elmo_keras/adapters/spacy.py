"""ELMo in pipelines of spaCy: `nlp.add_pipe("elmo")`; needs `pip install spacy`."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from elmo_keras.embed.embedder import Embedder


@Language.factory("elmo", assigns=["doc.tensor"])
class ElmoPipe:
    """Sets `doc.tensor`, with a row for each token, 0 for white space.

    `vector` and `similarity` of documents, spans and tokens follow from it. Each sentence
    is read on its own if an earlier component has found them, else a document is one.

    Args:
        model, layers, gamma, arithmetic: as in `Embedder`, for vectors of tokens.
    """

    def __init__(
        self,
        nlp: Language,
        name: str,
        model: str = "original",
        layers: str | int | Sequence[float] = "average",
        gamma: float | None = None,
        arithmetic: str | None = None,
    ):
        if layers == "all":
            raise ValueError("A token has one vector. `layers` should not be 'all'.")
        self.embedder = Embedder(
            model, None, layers, gamma=gamma, arithmetic=arithmetic
        )

    def __call__(self, doc: Doc) -> Doc:
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], batch_size: int = 128) -> Iterator[Doc]:
        """Yields the documents with their vectors."""
        for docs in minibatch(stream, batch_size):
            sentences = [sentence for doc in docs for sentence in _sentences(doc)]
            vectors = self.embedder([[t.text for t in s] for s in sentences])
            for doc in docs:
                doc.tensor = np.zeros((len(doc), self.embedder.dim), np.float32)
                for hooks in doc.user_hooks, doc.user_span_hooks, doc.user_token_hooks:
                    hooks.update(_HOOKS)
            for sentence, rows in zip(sentences, vectors):
                for token, row in zip(sentence, rows):
                    token.doc.tensor[token.i] = row
            yield from docs


def _sentences(doc):
    """The tokens of each sentence, without white space."""
    spans = doc.sents if doc.has_annotation("SENT_START") else [doc]
    return [[token for token in span if not token.is_space] for span in spans]


def _vector(part: Any) -> np.ndarray:
    """The vector of a token; the mean over the tokens of a document or a span."""
    doc = part.doc
    first = getattr(part, "start", getattr(part, "i", 0))
    rows = doc.tensor[
        first : getattr(part, "end", first + 1 if part is not doc else None)
    ]
    rows = rows[rows.any(axis=1)]
    return rows.sum(axis=0) / max(len(rows), 1)


def _similarity(part: Any, other: Any) -> float:
    lengths = part.vector_norm * other.vector_norm
    return float(part.vector @ other.vector / lengths) if lengths else 0.0


_HOOKS = {"vector": _vector, "similarity": _similarity, "has_vector": lambda part: True}
