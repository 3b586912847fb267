"""Pipelines from pairs of texts to answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from elmo_keras.base.argument_checks import shortened
from elmo_keras.base.progress import Progress
from elmo_keras.heads.pipeline import BasePipeline
from elmo_keras.heads.texts import Text, read_text
from elmo_keras.text.length_batches import chunks
from elmo_keras.text.sentences import plain


class PairPipeline(BasePipeline):
    """Answers for pairs of texts; `pipeline` makes one.

    A call takes the two fields of the model, `question` and `context`, or `premise` and
    `hypothesis`: by name or in this order, each a `str` or a list of `str` of the same
    length, or one `str` for all of a list; or as a dict, or a list of dicts. Returns a dict,
    or a list of dicts; `progress` is that of `Pipeline`.
    """

    type = "pairs"
    fields: tuple[str, str]
    batch_size = 2**12  # tokens

    def __call__(
        self,
        *texts: Any,
        progress: bool | None = None,
        **named: str | Sequence[str],
    ) -> Any:
        rows, is_list = self._rows(texts, named)
        pairs = []
        for i, row in enumerate(rows):
            if not all(isinstance(text, str) for text in row):
                raise self._type_error(f"{shortened(row)} in row {i}")
            pairs.append([read_text(i, text, self.tokenizer) for text in row])
            for text in pairs[-1]:
                self.check_script(text)
        results = []
        with Progress(progress=progress) as bar:
            for chunk in chunks(pairs, self.batch_size, _n_tokens):
                results += self.answer(chunk)
                bar.add(sum(map(_n_tokens, chunk)), len(results) / len(pairs))
        return results if is_list else results[0]

    def _rows(self, texts, named):
        """The texts of each pair, and whether a list was given."""
        rows = plain(texts[0]) if len(texts) == 1 and not named else None
        if isinstance(rows, (list, tuple)):
            if not all(isinstance(row, Mapping) for row in rows):
                raise self._type_error(shortened(rows))
            return [tuple(row.get(key) for key in self.fields) for row in rows], True
        named = dict(zip(self.fields, texts)) | named
        if isinstance(rows, Mapping):
            named = {key: rows[key] for key in self.fields if key in rows}
        columns = [plain(named.get(key)) for key in self.fields]
        if {*named} != {*self.fields} or not all(
            isinstance(column, (str, list, tuple)) for column in columns
        ):
            raise self._type_error(shortened(named or texts))
        lists = [column for column in columns if not isinstance(column, str)]
        n = len(lists[0]) if lists else 1
        columns = [[c] * n if isinstance(c, str) else c for c in columns]
        sizes = [len(column) for column in columns]
        if {*sizes} != {n}:
            raise self._type_error(f"{' and '.join(map(str, sizes))} texts")
        return [*zip(*columns)], bool(lists)

    def _type_error(self, received):
        return TypeError(
            f"{self.name} needs `{'` and `'.join(self.fields)}`, each a str, or lists of "
            f"str of the same length. Received: {received}"
        )

    def answer(self, pairs: Sequence[Sequence[Text]]) -> list:
        """The result of each pair, whose texts are in the order of the fields."""
        raise NotImplementedError


def _n_tokens(pair):
    return sum(len(tokens) for text in pair for tokens in text.sentences) or 1
