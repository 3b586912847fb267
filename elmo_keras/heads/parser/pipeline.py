"""Universal Dependencies of texts."""

from collections.abc import Sequence

from elmo_keras.heads.parser.decoding import JOINED
from elmo_keras.heads.pipeline import Pipeline
from elmo_keras.heads.texts import Text

# Columns of a word of a tree, named as in CoNLL-U.
WORD_COLUMNS = "lemma", "upos", "xpos", "feats", "head", "deprel"


class SyntaxPipeline(Pipeline):
    """Universal Dependencies: a list of words with the arcs between them.

    The score of a word is the probability that its head and its relation are right.
    """

    type = "syntax"

    def predict(self, batch):
        """The columns of each sentence."""
        scores = self.model.scores(batch)
        return self.model.decoder.trees(scores, batch.sentences, self.truecase)

    def trees(self, text: Text, predictions: Sequence) -> list[dict[str, list]]:
        """The columns of a text's sentences; no word after a space is `joined` to another."""
        trees = [{**tree} for tree, _ in zip(predictions, text.spans)]
        for tree, spans in zip(trees, text.spans):
            ends = [-1, *(end for _, end in spans)]
            if not isinstance(text.source, str):
                ends = [-1] * len(spans)
            if "joined" in tree:
                rows = zip(tree["joined"], ends, spans)
                tree["joined"] = [
                    name if end == begin else JOINED[0]
                    for name, end, (begin, _) in rows
                ]
        return trees

    @property
    def labels(self) -> list[str]:
        """The parts of speech."""
        return list(self.model.labels.get("upos", ()))

    def as_labels(self, predictions):
        (tree,) = predictions
        return tree

    def annotate(self, text, predictions):
        results = []
        # A text without words has an empty sentence in `predictions` and none in `spans`.
        for i, (tree, spans) in enumerate(zip(predictions, text.spans)):
            names = [name for name in (*WORD_COLUMNS, "score") if name in tree]
            rows = zip(*(tree[name] for name in names))
            for (begin, end), row in zip(spans, rows):
                word = text.at(begin, end, sentence=i, **dict(zip(names, row)))
                word["head"] -= 1
                if word.get("feats") == "_":
                    word["feats"] = ""
                results.append(word)
        return results
