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
        trees = []
        for sentence, spans in zip(predictions, text.spans):
            ends = [-1, *(end for _, end in spans)]
            is_apart = [end < begin for end, (begin, _) in zip(ends, spans)]
            if not isinstance(text.source, str):
                is_apart = [True] * len(spans)
            if "joined" in sentence:
                pairs = zip(sentence["joined"], is_apart)
                joined = [JOINED[0] if apart else name for name, apart in pairs]
                sentence = sentence | {"joined": joined}
            trees.append(sentence)
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
        for i, sentence in enumerate(self.trees(text, predictions)):
            columns = sentence | {"head": [head - 1 for head in sentence["head"]]}
            if "feats" in columns:
                columns["feats"] = ["" if x == "_" else x for x in columns["feats"]]
            names = [name for name in (*WORD_COLUMNS, "score") if name in columns]
            rows = zip(*(columns[name] for name in names))
            for (begin, end), row in zip(text.spans[i], rows):
                values = dict(zip(names, row))
                results.append(text.at(begin, end, sentence=i, **values))
        return results
