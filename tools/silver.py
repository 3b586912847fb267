"""Trees of raw text by several parsers together, for another parser to learn from.

A parser that learns these trees too, of much text, becomes better than each of the others.
References: Hinton et al. 2015, "Distilling the Knowledge in a Neural Network"; Sagae and
Tsujii 2007, of parsers.
"""

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from elmo_keras.base.files import replacing
from elmo_keras.heads.annotate.formats import conllu
from elmo_keras.heads.parser.light import LightParser
from elmo_keras.heads.parser.pipeline import SyntaxPipeline
from elmo_keras.heads.pipeline import predict_texts
from elmo_keras.heads.texts import read_text
from elmo_keras.heads.token_batch import TokenBatch

LEMMA = 2  # the column; lemmas are learned from people alone
SIZES = range(5, 61)  # words of a sentence that is learned


class JointParser:
    """Parsers with the same labels as one, whose scores are the means of theirs."""

    def __init__(self, parsers: Sequence[LightParser]):
        self.parsers, self.decoder = parsers, parsers[0].decoder
        self.labels = self.decoder.labels
        names = [(p.decoder.relations, p.decoder.labels) for p in parsers]
        if any(other != names[0] for other in names):
            raise ValueError("The parsers should have the same relations and labels.")

    def scores(self, batch: TokenBatch) -> dict[str, np.ndarray]:
        """The outputs of `DependencyParser`: products of joined vectors are sums.

        Each part of `relation` ends with a number to add, where `relation_head` has a 1.
        """
        rows, n = [p.scores(batch) for p in self.parsers], len(self.parsers)
        shape = len(rows[0]["root"]), len(self.decoder.relations), -1
        vectors = [row["relation"].reshape(shape) for row in rows]
        return {
            "dependent": np.concatenate([row["dependent"] for row in rows], axis=1) / n,
            "relation": np.concatenate(vectors, axis=2).reshape(shape[0], -1) / n,
            **{
                name: np.concatenate([row[name] for row in rows], axis=1)
                for name in ("head", "relation_head")
            },
            **{
                name: np.mean([row[name] for row in rows], axis=0)
                for name in ("root", *self.labels)
            },
        }


def write_silver(
    parsers: Sequence[SyntaxPipeline],
    texts: Iterable[str],
    treebank: Path,
    target: Path,
    *,
    copies: int,
) -> None:
    """Writes a treebank, some times over, and the trees that parsers find in texts together."""
    pipe = parsers[0]
    pipe.model = JointParser([parser.model for parser in parsers])
    read = (read_text(i, text, pipe.tokenizer) for i, text in enumerate(texts))
    trees = "".join(
        conllu(text, [pipe], predictions)
        for text, predictions in predict_texts([pipe], read)
    )
    sentences = trees.strip().split("\n\n")
    random.Random(1).shuffle(sentences)
    with replacing(target) as temporary, temporary.open("w", encoding="utf-8") as file:
        for _ in range(copies):
            print(treebank.read_text("utf-8").strip(), end="\n\n", file=file)
        for sentence in sentences:
            lines = [line for line in sentence.split("\n") if line[0] != "#"]
            if len(lines) in SIZES:
                rows = (line.split("\t") for line in lines)
                table = [[*r[:LEMMA], "_", *r[LEMMA + 1 :]] for r in rows]
                print(*map("\t".join, table), "", sep="\n", file=file)
