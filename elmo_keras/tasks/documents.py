"""Documents: read from CoNLL-2012, and cut into windows."""

import collections
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from elmo_keras.tasks.readers.lines import SPACES, malformed, numbered_lines

_BEGIN = re.compile(r"#begin document \((?P<name>.*)\); part (?P<part>\d+)\s*$")
_PIECE = re.compile(r"(?P<begins>\(?)(?P<entity>\d+)(?P<ends>\)?)")
_COLUMN_ENDS = re.compile(f"[{SPACES}]+")
_WORD, _SPEAKER, _N_COLUMNS = 3, 9, 12
_NO_BRACKETS = "-", "_", ""


def read_conll_2012(path: str | Path) -> list[dict]:
    """The documents of a file, plain or gzipped; each part counts as a document.

    The columns are separated by tabs, or else by spaces; a word may hold other white
    space. The 4th column (word), the 10th (speaker) and the last one (coreference) are
    read. Between tabs the last one may be empty, as in LitBank's files.

    Each document is a dict of `name` and `part`; `sentences`, lists of tokens; `speakers`,
    a text for each token; `clusters`, lists of mentions, each as its first and last token
    in the document.
    """
    documents, document, number = [], None, 0
    for number, line in numbered_lines(path):
        try:
            if line.startswith("#begin document"):
                document = _Document(document, line)
            elif line.startswith("#") and not line.startswith("#end document"):
                pass
            elif document is None:
                if line.strip(SPACES):
                    raise ValueError(
                        "a line outside of `#begin document` and `#end document`."
                    )
            elif line.startswith("#"):
                documents.append(document.finish())
                document = None
            else:
                document.add(_columns(line))
        except ValueError as error:
            raise malformed(path, number, str(error)) from None
    if document or not documents:
        expected = "#end document" if document else "#begin document (name); part 000"
        raise malformed(path, number, f"the file ends without `{expected}`.")
    return documents


def _columns(line):
    columns = [column.strip(SPACES) for column in line.split("\t")]
    if len(columns) >= _N_COLUMNS:
        return columns
    return [column for column in _COLUMN_ENDS.split(line) if column]


class _Document:
    def __init__(self, unfinished, line):
        header = _BEGIN.match(line)
        if unfinished is not None or header is None:
            raise ValueError(
                "`#begin document (name); part 000` is expected, after the "
                f"`#end document` of the previous one. Received: {line.strip()!r}"
            )
        self.name, self.part = header["name"], int(header["part"])
        self.sentences, self.speakers = [], []
        self.tokens, self.turns = [], []  # of the sentence
        self.n_columns = self.n_tokens = 0
        self.open = collections.defaultdict(list)  # entity → first tokens
        self.clusters = collections.defaultdict(list)

    def add(self, columns):
        """Adds a token from its columns; no columns end the sentence."""
        if not columns:
            return self.end_sentence()
        self.n_columns = self.n_columns or max(len(columns), _N_COLUMNS)
        if len(columns) != self.n_columns:
            raise ValueError(
                f"a line should have {self.n_columns} columns. Received: {len(columns)}"
            )
        word = columns[_WORD]
        if not word:
            raise ValueError("the 4th column should hold a word. Received: ''")
        # The format writes "." and "?" as "/." and "/?".
        self.tokens.append(word[1:] if word in ("/.", "/?") else word)
        self.turns.append(columns[_SPEAKER])
        if columns[-1] not in _NO_BRACKETS:
            for piece in columns[-1].split("|"):
                self.add_bracket(piece)
        self.n_tokens += 1

    def add_bracket(self, piece):
        """Adds `(12`, `12)` or `(12)` of the coreference column."""
        bracket = _PIECE.fullmatch(piece)
        if bracket is None or not (bracket["begins"] or bracket["ends"]):
            raise ValueError(
                "the last column should be `-` or brackets such as `(1`, `1)` and "
                f"`(0)|2)`. Received: {piece!r}"
            )
        entity = bracket["entity"]
        if bracket["begins"]:
            self.open[entity].append(self.n_tokens)
        if bracket["ends"]:
            if not self.open[entity]:
                raise ValueError(f"{entity}) ends a mention that did not begin.")
            mention = (self.open[entity].pop(), self.n_tokens)
            self.clusters[entity].append(mention)

    def end_sentence(self):
        for entity, tokens in self.open.items():
            if tokens:
                raise ValueError(f"({entity} does not end within its sentence.")
        if self.tokens:
            self.sentences.append(self.tokens)
            self.speakers.append(self.turns)
        self.tokens, self.turns, self.n_columns = [], [], 0

    def finish(self):
        self.end_sentence()
        if not self.sentences:
            raise ValueError("the document has no tokens.")
        return {
            "name": self.name,
            "part": self.part,
            "sentences": self.sentences,
            "speakers": self.speakers,
            "clusters": [sorted(set(c)) for c in self.clusters.values()],
        }


def without_singletons(document: Mapping) -> dict:
    clusters = [cluster for cluster in document["clusters"] if len(cluster) > 1]
    return {**document, "clusters": clusters}


def has_singletons(documents: Iterable[Mapping]) -> bool:
    return any(len(c) == 1 for document in documents for c in document["clusters"])


def windows(
    document: Mapping, n_sentences: int, singletons: bool = False
) -> list[dict]:
    """A document in parts of `n_sentences`, each with its clusters of several mentions, or all."""
    parts, begin = [], 0
    for i in range(0, len(document["sentences"]), n_sentences):
        sentences = document["sentences"][i : i + n_sentences]
        end = begin + sum(map(len, sentences))
        within = [
            [(a - begin, b - begin) for a, b in cluster if begin <= a < end]
            for cluster in document["clusters"]
        ]
        part = {
            **document,
            "sentences": sentences,
            "speakers": document["speakers"][i : i + n_sentences],
            "clusters": [cluster for cluster in within if cluster],
        }
        parts.append(part if singletons else without_singletons(part))
        begin = end
    return parts
