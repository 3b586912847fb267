"""Reads documents with coreference in the columns of CoNLL-2012."""

import collections
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from elmo_keras.heads.reading import (
    SPACES,
    Rows,
    check_any,
    conllu_columns,
    malformed,
    numbered_lines,
    parse_all,
    read_strings,
)

_MARKS = "#begin document", "#end document"
_BEGIN = re.compile(r"#begin document \((?P<name>.*)\); part (?P<part>\d+)\s*$")
_MENTION = re.compile(r"(\(?)(\d+)(\)?)")
_WORD, _SPEAKER, _N_COLUMNS = 3, 9, 12


def read_documents(path: str | Path) -> list[dict]:
    """The documents of a file of CoNLL-2012's coreference; each part is a document.

    The columns are separated by tabs, or else by spaces; a word may hold other white
    space. The 4th column (word), the 10th (speaker) and the last one (coreference) are
    read. Between tabs the last one may be empty, as in LitBank's files.

    Each document is a dict of `name` and `part`; `sentences`, lists of tokens; `speakers`,
    a text for each token; `clusters`, lists of mentions, each as its first and last token
    in the document.
    """
    documents, header, lines, n = [], None, [], 0
    for n, line in numbered_lines(path):
        is_mark = line.startswith(_MARKS)
        if header is None:
            header, lines = _BEGIN.match(line), []
            if not header and line.strip(SPACES) and (is_mark or line[0] != "#"):
                reason = "`#begin document (name); part 000` is expected."
                raise malformed(path, n, reason)
        elif line.startswith("#end document"):
            documents.append(_read_document(path, header, [*lines, (n, "")]))
            header = None
        elif is_mark:
            raise malformed(path, n, "`#end document` is expected before it.")
        elif not line.startswith("#"):
            lines.append((n, line))
    if header or not documents:
        expected = "#end document" if header else "#begin document (name); part 000"
        raise malformed(path, n, f"the file ends without `{expected}`.")
    return documents


def _read_document(path, header, lines):
    sentences, n_columns, n_tokens = [[]], 0, 0  # words with their speakers
    clusters = collections.defaultdict(list)
    opened = collections.defaultdict(list)  # entity → first tokens of open mentions

    def parse(line):
        nonlocal n_columns, n_tokens
        columns = [column.strip(SPACES) for column in line.split("\t")]
        if len(columns) < _N_COLUMNS:
            columns = [column for column in re.split(f"[{SPACES}]+", line) if column]
        if not columns:
            if unfinished := [entity for entity, tokens in opened.items() if tokens]:
                raise ValueError(f"({unfinished[0]} does not end within its sentence.")
            sentences.append([])
            n_columns = 0
            return
        n_columns, n = n_columns or max(len(columns), _N_COLUMNS), len(columns)
        if n != n_columns:
            raise ValueError(f"a line should have {n_columns} columns. Received: {n}")
        word, mentions = columns[_WORD], columns[-1]
        if not word:
            raise ValueError("the 4th column should hold a word. Received: ''")
        # The format writes "." and "?" as "/." and "/?".
        word = word[1:] if word in ("/.", "/?") else word
        sentences[-1].append((word, columns[_SPEAKER]))
        for begins, entity, ends in _brackets(mentions):
            if begins:
                opened[entity].append(n_tokens)
            if ends and not opened[entity]:
                raise ValueError(f"{entity}) ends a mention that did not begin.")
            if ends:
                clusters[entity].append((opened[entity].pop(), n_tokens))
        n_tokens += 1

    parse_all(path, lines, parse)
    if not n_tokens:
        raise malformed(path, lines[-1][0], "the document has no tokens.")
    return {
        "name": header["name"],
        "part": int(header["part"]),
        "sentences": [[word for word, _ in rows] for rows in sentences if rows],
        "speakers": [[speaker for _, speaker in rows] for rows in sentences if rows],
        "clusters": [sorted(set(mentions)) for mentions in clusters.values()],
    }


def _brackets(cell):
    """Yields whether a bracket begins a mention, its entity, and whether it ends one."""
    for text in cell.split("|") if cell not in ("-", "_", "") else ():
        bracket = _MENTION.fullmatch(text)
        begins, entity, ends = bracket.groups() if bracket else ("", text, "")
        if not (begins or ends):
            raise ValueError(
                "the last column should be `-` or brackets such as `(1`, `1)` and "
                f"`(0)|2)`. Received: {text!r}"
            )
        yield begins, entity, ends


def read_corefud(path: str | Path) -> list[dict]:
    """The documents of CorefUD: CoNLL-U with `Entity=` in MISC, see `read_documents`.

    Empty nodes are left out, and with them mentions of these alone; a mention in pieces is
    read from the first to the last one.
    """
    documents: list[dict] = []
    opened = collections.defaultdict(list)
    position, speaker, n_tokens = 0, "", 0

    def parse(line):
        nonlocal position, speaker, n_tokens
        if line.startswith("# global.Entity ="):
            names = line.partition("=")[2].strip().split("-")
            position = next((names.index(x) for x in ("eid", "GRP") if x in names), 0)
        if line.startswith("# newdoc") or not documents:
            _, _, name = line.partition("id = ")
            documents.append({"name": name, "part": 0, "sentences": [[]]})
            documents[-1] |= {"speakers": [[]], "clusters": {}}
            opened.clear()
            n_tokens = 0
        document = documents[-1]
        if not line and document["sentences"][-1]:
            document["sentences"].append([])
            document["speakers"].append([])
        if line.startswith("# speaker ="):
            speaker = line.partition("=")[2].strip()
        word_id, *columns = conllu_columns(line) if line else "#"
        if word_id == "#" or "-" in word_id:
            return
        if is_word := word_id.isdecimal():
            document["sentences"][-1].append(columns[0])
            document["speakers"][-1].append(speaker)
            n_tokens += 1
        fields = (x for x in columns[8].split("|") if x.startswith("Entity="))
        for match in _ENTITY.finditer(next(fields, "").partition("=")[2]):
            begins, attributes, part, n_parts, ends = match.groups()
            entity = attributes.split("-")[position] if begins else attributes
            if begins and part in (None, "1"):
                opened[entity].append(n_tokens - is_word)
            if ends and part == n_parts:
                if not opened[entity]:
                    raise ValueError(f"{entity}) ends a mention that did not begin")
                first = opened[entity].pop()
                if first < n_tokens:
                    mentions = document["clusters"].setdefault(entity, set())
                    mentions.add((first, n_tokens - 1))

    parse_all(path, numbered_lines(path), parse)
    for document in documents:
        document["clusters"] = [sorted(x) for x in document["clusters"].values()]
        for name in "sentences", "speakers":
            document[name] = [*filter(None, document[name])]
    return check_any(path, [x for x in documents if x["sentences"]])


_ENTITY = re.compile(r"(\()?([^()\[\]]+)(?:\[(\d+)/(\d+)\][^()]*)?(\))?")


def without_singletons(document: Mapping) -> dict:
    clusters = [cluster for cluster in document["clusters"] if len(cluster) > 1]
    return {**document, "clusters": clusters}


def has_singletons(documents: Iterable[Mapping]) -> bool:
    return any(len(c) == 1 for document in documents for c in document["clusters"])


def windows(
    document: Mapping, n_sentences: int, *, singletons: bool = False
) -> list[dict]:
    """A document in parts of `n_sentences`, each with its clusters."""
    parts, begin = [], 0
    for i in range(0, len(document["sentences"]), n_sentences):
        part = {k: document[k][i : i + n_sentences] for k in ("sentences", "speakers")}
        end = begin + sum(map(len, part["sentences"]))
        clusters = (
            [(a - begin, b - begin) for a, b in cluster if begin <= a < end]
            for cluster in document["clusters"]
        )
        part = {**document, **part, "clusters": [*filter(None, clusters)]}
        parts.append(part if singletons else without_singletons(part))
        begin = end
    return parts


def read_document_rows(rows: Rows, source: str | Path) -> list[dict]:
    """Documents from dicts with `sentences`, `clusters` and, if they are known, `speakers`."""

    def parse(row: Mapping):
        sentences = row.get("sentences")
        if not isinstance(sentences, list) or not all(sentences):
            raise ValueError("`sentences` should be lists of tokens")
        for tokens in sentences:
            read_strings({"sentences": tokens}, "sentences")
        if not sentences:
            raise ValueError("the document has no tokens")
        speakers = row.get("speakers") or [[""] * len(s) for s in sentences]
        if [*map(len, speakers)] != [*map(len, sentences)]:
            raise ValueError("`speakers` should hold one for each token of `sentences`")
        n_tokens = sum(map(len, sentences))
        clusters = []
        for cluster in filter(None, row.get("clusters") or ()):
            mentions = {_mention(mention, n_tokens) for mention in cluster}
            clusters.append(sorted(mentions))
        return {
            "name": str(row.get("name", row.get("doc_key", source))),
            "part": 0,
            "sentences": sentences,
            "speakers": speakers,
            "clusters": clusters,
        }

    return check_any(source, parse_all(source, rows, parse))


def _mention(mention, n_tokens):
    match mention:
        case [int(first), int(last)] if 0 <= first <= last < n_tokens:
            return first, last
    raise ValueError(
        "`clusters` should be lists of mentions, each its first and its last token "
        f"in the document of {n_tokens} tokens, not {mention!r:.80}"
    )
