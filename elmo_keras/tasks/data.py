"""Readers of the tasks' files: each gives examples as dicts, for training and scoring.

Files are UTF-8, plain or gzipped. A `ValueError` about a line begins with `FILE:LINE: `.
"""

import codecs
import collections
import csv
import itertools
import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from elmo_keras.files import naming_damage
from elmo_keras.tasks.answer_text import OffsetTokens, offset_tokens
from elmo_keras.tasks.entities import OUTSIDE, PREDICATE, TAG, full_tags, to_bio
from elmo_keras.tasks.trees import JOINED, TREE_COLUMNS
from elmo_keras.text.files import GZIP_ERRORS, lines_of, unzipped
from elmo_keras.text.tokenizers import Tokenizer, split_words

T = TypeVar("T")
R = TypeVar("R")
HELD_OUT_RUNS = 4
SPACES = " \t"  # what separates columns; a word may hold other white space
MARK = "-DOCSTART-"


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The lines of a file without line ends, numbered from 1.

    Lines of spaces and tabs at the end of the file are left out.
    """
    empty = []
    with Path(path).open("rb") as file:
        for number, content in enumerate(lines_of(file, path), 1):
            line = content.decode().rstrip("\r\n")
            empty.append((number, line))
            if line.strip(SPACES):
                yield from empty
                empty.clear()


def blocks(path: str | Path) -> Iterator[list[tuple[int, str]]]:
    """Groups of lines between empty ones: sentences, in most column formats."""
    lines = numbered_lines(path)
    for filled, block in itertools.groupby(
        lines, lambda pair: bool(pair[1].strip(SPACES))
    ):
        if filled:
            yield list(block)


def malformed(path: str | Path, line: int | str, reason: object) -> ValueError:
    return ValueError(f"{path}:{line}: {reason}")


def parse_all(
    path: str | Path,
    lines: Iterable[tuple[int | str, T]],
    parse: Callable[[T], R | None],
) -> list[R]:
    """The results of `parse` for lines, without `None`; its errors get file and line."""
    results = []
    for number, line in lines:
        try:
            results.append(parse(line))
        except ValueError as error:
            raise malformed(path, number, error) from None
    return [result for result in results if result is not None]


def read_rows(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of a table as dicts, with their numbers.

    Each line is a JSON object; or the first one names the columns, which are separated by
    tabs, or by commas as in CSV.
    """
    lines = numbered_lines(path)
    _, head = next(lines, (1, ""))
    if head.startswith("{"):
        for number, line in itertools.chain([(1, head)], lines):
            try:
                row = json.loads(line)
            except ValueError as error:
                raise malformed(path, number, f"JSON is expected. {error}") from None
            if not isinstance(row, dict):
                raise malformed(path, number, f"an object is expected, not {line[:80]}")
            yield number, row
        return
    rows = ((number, line.split("\t")) for number, line in lines)
    names = head.split("\t")
    if len(names) == 1:
        names, *_ = csv.reader([head])
        rows = _csv_rows(path, lines)
    for number, cells in rows:
        if len(cells) != len(names):
            reason = f"{len(names)} columns are expected ({', '.join(names)}), not "
            raise malformed(path, number, f"{reason}{len(cells)}")
        yield number, dict(zip(names, cells))


def _csv_rows(path, lines):
    """Rows whose quoted cells may have line ends; a row has the number of its last line."""
    reader = csv.reader((f"{line}\n" for _, line in lines), strict=True)
    try:
        for cells in reader:
            yield reader.line_num + 1, cells
    except csv.Error as error:
        raise malformed(path, reader.line_num + 1, error) from None


def read_texts(path: str | Path, split: Tokenizer = split_words) -> list[dict]:
    """Labelled texts of a table: `{"tokens": […], "label": …}`, or `"labels": […]`.

    The columns are `text` and `label`, or `labels` for none or several: a list in JSON,
    separated by commas in other tables. A `text` that is a list in JSON holds tokens.
    """
    return _read_labelled(path, split, text="tokens")


def read_pairs(path: str | Path, split: Tokenizer = split_words) -> list[dict]:
    """Pairs of a table with the columns `premise`, `hypothesis` and `label`."""
    return _read_labelled(path, split, premise="premise", hypothesis="hypothesis")


def _read_labelled(path, split, **fields):
    """Examples with the tokens of some columns, under other names, and their labels."""

    def parse(row):
        kind = "labels" if "labels" in row else "label"
        columns = ", ".join([*fields, kind])
        if missing := ", ".join(name for name in (*fields, kind) if name not in row):
            raise ValueError(f"the columns {columns} are expected. Missing: {missing}")
        example = {new: _tokens(row[name], split) for name, new in fields.items()}
        labels = row[kind]
        if kind == "label":
            return example | {kind: _label(labels)}
        if isinstance(labels, str):
            labels = labels.split(",") if labels.strip() else []
        if not isinstance(labels, list):
            raise ValueError(f"a list of labels is expected, not {labels!r:.80}")
        return example | {kind: [_label(label) for label in labels]}

    examples = parse_all(path, read_rows(path), parse)
    if len({"labels" in example for example in examples}) > 1:
        raise ValueError(
            f"{path} should have `label` in all lines, or `labels` in all."
        )
    return examples


def _tokens(text, split):
    if isinstance(text, str):
        return split(text)
    if isinstance(text, list) and all(isinstance(t, str) and t for t in text):
        return text
    raise ValueError(f"a text or a list of tokens is expected, not {text!r:.80}")


def _label(value):
    label = str(value).strip() if isinstance(value, (str, int)) else ""
    if not label:
        raise ValueError(f"a label is expected, not {value!r:.80}")
    return label


def read_conllu(path: str | Path, *, entities: bool = False) -> list[dict]:
    """Words of CoNLL-U and their universal parts of speech: `{"tokens": […], "tags": […]}`.

    With `entities`, tags are the BIO tags of `name=`, `NE=` or `NER=` in MISC, or of a tag
    alone there. Multiword tokens and empty nodes are left out.
    """

    def parse(line):
        columns = _conllu_columns(line)
        if not columns[0].isdecimal():
            return None
        in_misc = filter(None, map(_IN_MISC.fullmatch, columns[9].split("|")))
        tag = next((m["tag"] for m in in_misc), OUTSIDE) if entities else columns[3]
        if not columns[1] or tag in ("", "_"):
            raise ValueError("the word or its part of speech is missing")
        return columns[1], tag

    examples = _read_sentences(path, blocks(path), parse, as_bio=entities)
    if entities and not any({*example["tags"]} - {OUTSIDE} for example in examples):
        raise ValueError(
            f"{path} has no entities: they are expected in the last column, such as "
            "`name=B-PER`."
        )
    return examples


_ID = re.compile(r"\d+([-.]\d+)?")
_IN_MISC = re.compile(rf"((NER|NE|name)=)?(?P<tag>{TAG.pattern})")


def _conllu_columns(line):
    """The ten columns of a line; the first one of a comment is `#`."""
    if line[0] == "#":
        return ["#"]
    columns = line.split("\t")
    if (n := len(columns)) != 10:
        raise ValueError(f"10 columns separated by tabs are expected, not {n}")
    if not _ID.fullmatch(columns[0]):
        raise ValueError(f"the first column should be a number, not {columns[0]!r}")
    return columns


def read_trees(path: str | Path) -> list[dict]:
    """The sentences of CoNLL-U with their trees, by columns, see `trees`.

    Empty nodes are left out; `joined` tells of the words of a multiword token.
    """
    trees = (_read_tree(path, block) for block in blocks(path))
    return _check_any(path, [tree for tree in trees if tree])


def _read_tree(path, block):
    joined, n_words = set(), 0

    def parse(line):
        nonlocal n_words
        columns = _conllu_columns(line)
        first, dash, end = columns[0].partition("-")
        if dash:
            joined.update(range(int(first) + 1, int(end) + 1))
        if not columns[0].isdecimal():
            return None
        n_words += 1
        if int(first) != n_words:
            raise ValueError(f"word {n_words} is expected, not {first}")
        _, form, lemma, upos, xpos, feats, head, relation, *_ = columns
        if not form or "_" in (upos, relation) or not head.isdecimal():
            raise ValueError(
                "a form, a part of speech, a head and a relation are expected"
            )
        known = None if lemma == "_" != form else lemma
        mark = JOINED[n_words in joined]
        return form, known, upos, xpos, feats, int(head), relation, mark

    rows = parse_all(path, block, parse)
    columns = dict(zip(TREE_COLUMNS, map(list, zip(*rows))))
    if rows and (max(columns["head"]) > len(rows) or columns["head"].count(0) != 1):
        reason = "heads should be words of the sentence, and 0 for one of them"
        raise malformed(path, block[0][0], reason)
    return columns


def _read_sentences(path, sentences, parse, *, as_bio):
    """An example for each block of lines from which `parse` gets words and tags."""
    examples = []
    for block in sentences:
        if rows := parse_all(path, block, parse):
            tokens, tags = map(list, zip(*rows))
            examples.append(
                {"tokens": tokens, "tags": to_bio(tags) if as_bio else tags}
            )
    return _check_any(path, examples)


def _check_any(path, examples):
    if not examples:
        raise ValueError(f"{path} holds no sentence.")
    return examples


def read_columns(
    path: str | Path, columns: tuple[int, int] | None = None
) -> list[dict]:
    """Words and entities: `{"tokens": […], "tags": […]}` with BIO tags.

    Tags have any scheme of `to_bio`, or are types alone, or prefixes alone, whose entities
    have the type `ENTITY`. Columns are separated by tabs, or else by spaces, and all lines
    have the same number of them. If the first one counts the words of each sentence, as in
    GermEval and Universal NER, the word is the second and its tag the third; otherwise
    these are the first and the last one. `columns` are the positions of word and tag, from
    1. Lines without a word, `-DOCSTART-` and comments are left out. Of CoNLL-U, the
    entities in MISC are read, see `read_conllu`.
    """
    sentences = list(blocks(path))
    tokens = [[_columns(x) for _, x in s if x[0] != "#"] for s in sentences]
    rows = [row for rows in tokens for row in rows]
    word, tag = 0, -1
    if columns is not None:
        word, tag = (column - 1 for column in columns)
    elif rows and all(len(row) == 10 and _ID.fullmatch(row[0]) for row in rows):
        return read_conllu(path, entities=True)
    elif rows and _are_counted(tokens):
        word, tag = 1, 2
    lengths = collections.Counter(len(row) for row in rows if MARK not in row[:2])
    ((usual, _),) = lengths.most_common(1) or [(0, 0)]
    n_columns = max(usual, word + 1, tag + 1, 2)
    tags = {row[tag] for row in rows if len(row) == n_columns and MARK not in row[:2]}
    full = full_tags(tags)

    def parse(line):
        row = _columns(line)
        is_token = len(row) == n_columns
        is_tag = is_token and (row[tag] in tags or TAG.fullmatch(row[tag]))
        if MARK in row[:2] or line[0] == "#" and not is_tag:
            return None
        if not is_token:
            raise ValueError(
                f"{n_columns} columns are expected, among them a word and its tag, as "
                f"in most lines, not {len(row)}"
            )
        name = full.get(row[tag], row[tag])
        to_bio([name])  # checks it
        return (row[word], name) if row[word] else None

    return _read_sentences(path, sentences, parse, as_bio=True)


def _are_counted(sentences):
    """Whether the first columns are 1, 2, … in each sentence, before a word and its tag."""
    return all(
        row[0] == str(i) and len(row) > 2
        for rows in sentences
        for i, row in enumerate(rows, 1)
    )


def _columns(line: str) -> list[str]:
    if "\t" in line:
        return [column.strip(SPACES) for column in line.rstrip(SPACES).split("\t")]
    return [column for column in line.split(" ") if column]


_BRACKET = re.compile(r"(\((?P<role>[^\s,()|*]+))?\*(?P<end>\))?")


def read_roles(path: str | Path) -> list[dict]:
    """Semantic roles: `tokens`, `tags` and `predicate` for each predicate of a sentence.

    The columns are the word, the predicate (its lemma, or `-`), and BIO tags or brackets
    for each predicate of the sentence in turn, as in CoNLL-2005; or all columns of
    CoNLL-2012. `predicate` is 1 at the predicate of the example, else 0.
    """
    examples = []
    for block in blocks(path):
        lines = [(n, x) for n, x in block if not x.startswith(("#begin ", "#end "))]
        rows = parse_all(path, lines, _role_columns)
        predicates = [i for i, columns in enumerate(rows) if columns[1] != "-"]
        expected = 2 + len(predicates)
        for (number, _), row in zip(lines, rows):
            if len(row) != expected:
                reason = (
                    f"{expected} columns are expected: word, predicate, and one for "
                    f"each of {len(predicates)} predicates, not {len(row)}"
                )
                raise malformed(path, number, reason)
        for column, predicate in enumerate(predicates, 2):
            cells = [(number, row[column]) for (number, _), row in zip(lines, rows)]
            example = {
                "tokens": [row[0] for row in rows],
                "predicate": [int(i == predicate) for i in range(len(rows))],
                "tags": _role_tags(path, cells),
            }
            examples.append(example)
    return _check_any(path, examples)


def _role_columns(line):
    """The word, its predicate and the roles; of CoNLL-2012's columns, these alone."""
    columns = _columns(line)
    if len(columns) > 11 and columns[2].isdecimal():
        columns = [columns[3], columns[7], *columns[11:-1]]
    if len(columns) < 2 or not all(columns):
        raise ValueError("a word, its predicate or `-`, and roles are expected")
    return columns


def _role_tags(path, cells):
    """The tags of a column of roles: BIO, or brackets such as `(A0*`, `*` and `*)`."""
    role = ""

    def parse(cell):
        nonlocal role
        bracket = _BRACKET.fullmatch(cell)
        if bracket is None or bracket["role"] and role:
            to_bio([cell])  # checks it
            return cell
        prefix, role = ("B", bracket["role"]) if bracket["role"] else ("I", role)
        tag = f"{prefix}-{role}" if role else OUTSIDE
        if bracket["end"]:
            if not role:
                raise ValueError(f"{cell!r} ends a role that did not begin")
            role = ""
        return tag

    tags = parse_all(path, cells, parse)
    if role:
        reason = f"({role}* does not end within its sentence"
        raise malformed(path, cells[-1][0], reason)
    return to_bio(tags)


def read_predicates(path: str | Path) -> list[dict]:
    """The predicates of sentences with semantic roles, tagged `B-V`."""
    sentences: list[dict] = []
    for example in read_roles(path):
        tokens = example["tokens"]
        if not sentences or sentences[-1]["tokens"] != tokens:
            sentences.append({"tokens": tokens, "tags": [OUTSIDE] * len(tokens)})
        sentences[-1]["tags"][example["predicate"].index(1)] = f"B-{PREDICATE}"
    return sentences


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
    documents, header, lines, number = [], None, [], 0
    for number, line in numbered_lines(path):
        is_mark = line.startswith(_MARKS)
        if header is None:
            header, lines = _BEGIN.match(line), []
            if not header and line.strip(SPACES) and (is_mark or line[0] != "#"):
                reason = "`#begin document (name); part 000` is expected."
                raise malformed(path, number, reason)
        elif line.startswith("#end document"):
            documents.append(_read_document(path, header, [*lines, (number, "")]))
            header = None
        elif is_mark:
            raise malformed(path, number, "`#end document` is expected before it.")
        elif not line.startswith("#"):
            lines.append((number, line))
    if header or not documents:
        expected = "#end document" if header else "#begin document (name); part 000"
        raise malformed(path, number, f"the file ends without `{expected}`.")
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
        for text in mentions.split("|") if mentions not in ("-", "_", "") else ():
            bracket = _MENTION.fullmatch(text)
            begins, entity, ends = bracket.groups() if bracket else ("", text, "")
            if not (begins or ends):
                raise ValueError(
                    "the last column should be `-` or brackets such as `(1`, `1)` and "
                    f"`(0)|2)`. Received: {text!r}"
                )
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


def without_singletons(document: Mapping) -> dict:
    clusters = [cluster for cluster in document["clusters"] if len(cluster) > 1]
    return {**document, "clusters": clusters}


def has_singletons(documents: Iterable[Mapping]) -> bool:
    return any(len(c) == 1 for document in documents for c in document["clusters"])


def windows(
    document: Mapping, n_sentences: int, *, singletons: bool = False
) -> list[dict]:
    """A document in parts of `n_sentences`, each with its clusters of several mentions, or all."""
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


def read_squad(path: str | Path) -> list[dict]:
    """The questions of a file of SQuAD 1.1, 2.0 or KorQuAD 2, or of lines as Hugging Face's.

    Each line is a JSON object: a `context` and `question` with its `answers`, an object of
    the lists `text` and `answer_start`. Errors name the file and the question.

    Each has `id`; the tokens of `context` and `question`; `text`, the paragraph; `offsets`,
    its tokens with their offsets; `answers`; of the first answer that is at its offset, the
    `span`, its first and last token, and the `ending`, the characters of its last token
    after it, or None; `n_misplaced`, the number of answers that are not.
    """
    examples, key = [], "data"
    content = read_json(path)
    try:
        for place, paragraph in _paragraphs(content):
            key = place
            text = _check_text(paragraph["context"])
            offsets = offset_tokens(text)
            for k, question in enumerate(paragraph.get("qas", [paragraph])):
                key = f"{place}.qas[{k}]" if "qas" in paragraph else place
                examples.append(_question(text, offsets, question))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else repr(error)
        raise ValueError(f"{path}: {key} is not as in SQuAD: {reason}") from None
    if not examples:
        raise ValueError(f"{path}: data should hold questions. Received: none")
    return examples


def read_json(path: str | Path) -> Any:
    """The content of a file of JSON; of JSON lines a list."""
    with Path(path).open("rb") as file:
        try:
            return json.loads(unzipped(file).read())
        except (ValueError, *GZIP_ERRORS) as error:
            if getattr(error, "msg", "") != "Extra data":
                raise ValueError(f"{path} should be a file of JSON. {error}") from None
    return [row for _, row in read_rows(path)]


def _paragraphs(content):
    """The place and the object of each paragraph, or of each question with its context."""
    if not isinstance(content, list):
        content = content.get("data", [content])
    for i, article in enumerate(content):
        if "paragraphs" not in article:
            yield f"data[{i}]", article
            continue
        for j, paragraph in enumerate(article["paragraphs"]):
            yield f"data[{i}].paragraphs[{j}]", paragraph


def _check_text(text):
    if not offset_tokens(text).tokens:
        raise ValueError(f"text is expected. Received: {text!r}")
    return text


def _question(text, offsets: OffsetTokens, question):
    span = ending = None
    n_misplaced, answers = 0, []
    for begin, answer in _answers(question):
        begin += len(answer) - len(answer.lstrip())
        answers.append(_check_text(answer).strip())
        end = begin + len(answers[-1])
        if begin < 0 or text[begin:end] != answers[-1]:
            n_misplaced += 1
        elif span is None and (span := offsets.span(begin, end)):
            ending = text[end : offsets.ends[span[1]]]
    return {
        "id": str(question.get("id", "")),
        "context": offsets.tokens,
        "question": offset_tokens(_check_text(question["question"])).tokens,
        "text": text,
        "offsets": offsets,
        "answers": answers,
        "span": span,
        "ending": ending,
        "n_misplaced": n_misplaced,
    }


def _answers(question):
    if question.get("is_impossible"):
        return []
    # KorQuAD 2 has one answer.
    answers = [question["answer"]] if "answer" in question else question["answers"]
    if isinstance(answers, dict):  # columns
        return zip(answers["answer_start"], answers["text"], strict=True)
    return [(answer["answer_start"], answer["text"]) for answer in answers]


def answer_endings(examples: Sequence[Mapping]) -> list[str]:
    """Endings of tokens that answers leave out, such as the particles of Korean eojeols.

    These are left out at least twice, and by more than half of the answers whose last
    token ends with them.
    """
    counts = collections.Counter(e["ending"] for e in examples if e["ending"])
    tokens = [e["context"][e["span"][1]] for e in examples if e["span"]]
    return sorted(
        ending
        for ending, n in counts.items()
        if n > 1 and 2 * n > sum(t.endswith(ending) and t != ending for t in tokens)
    )


MAX_LINE, MAX_WORD = 2**20, 2**12  # bytes
# The last byte of float32 numbers such as vectors have: 0, or from 2^-61 to 2^31. Where a
# word has a space, that byte is the space, or any.
_TOP_BYTES = bytes(b for b in range(256) if b % 128 in (0, *range(0x21, 0x4F)))


class WordVectorFile(NamedTuple):
    """Words, and their vectors, float32 `(words, dim)`."""

    words: tuple[str, ...]
    vectors: np.ndarray


def read_word_vectors(
    path: str | Path, wanted: Container[str] | None = None
) -> WordVectorFile:
    """Reads the vectors of words: GloVe's, and word2vec's as text or binary.

    Of repeated words, the first one counts. word2vec's files and fastText's `.vec` start
    with the numbers of words and of dimensions, GloVe's with the first word.
    """
    rows: dict[str, np.ndarray] = {}
    with (
        Path(path).open("rb") as file,
        naming_damage(
            f"{path} should hold word vectors of GloVe or word2vec, plain or gzipped."
        ),
    ):
        dim, entries = _read_start(unzipped(file))
        for index, (content, numbers) in enumerate(entries, 1):
            word = content.decode("utf-8", "replace")
            if word in rows or not (wanted is None or word in wanted):
                continue
            vector = _finite(numbers)
            if vector is None:
                raise ValueError(
                    f"Word {index:,}, {word!r}, should have {dim} finite numbers."
                )
            rows[word] = vector
    vectors = np.array(list(rows.values()), np.float32).reshape(len(rows), dim)
    return WordVectorFile(tuple(rows), vectors)


def read_lower_case_vectors(
    path: str | Path, sentences: Iterable[Sequence[str]]
) -> WordVectorFile:
    """Reads the vectors of the words of sentences (lists of tokens), for `TokenVectors`.

    A word has the vector of its lower-case form or, where the file lacks this form, the
    vector of the form that is most frequent in the sentences. The words that have one are
    in lower case, the most frequent one first. `read_word_vectors` knows the formats.

    Raises:
        ValueError, OSError: the file is damaged, of another format, or can't be read.
    """
    counts = collections.Counter(token for tokens in sentences for token in tokens)
    forms: dict[str, list[str]] = {}  # by preference: lower case, then by frequency
    for token in sorted(counts, key=lambda token: (-counts[token], token)):
        forms.setdefault(token.lower(), [token.lower()]).append(token)
    file = read_word_vectors(path, set(itertools.chain.from_iterable(forms.values())))
    row_of = {form: row for row, form in enumerate(file.words)}
    rows = {}
    for word, word_forms in forms.items():
        if known := [row_of[form] for form in word_forms if form in row_of]:
            rows[word] = known[0]
    return WordVectorFile(tuple(rows), file.vectors[list(rows.values())])


def _read_start(file):
    """The size of the vectors, and each word with its numbers as text or as bytes."""
    first = file.readline(MAX_LINE).removeprefix(codecs.BOM_UTF8)
    lines = iter(lambda: file.readline(MAX_LINE), b"")
    heading = first.split()
    if len(heading) == 2 and all(cell.isdigit() for cell in heading):
        n_words, dim = map(int, heading)
        if _is_text(file.peek(MAX_LINE)):
            return dim, _read_text(lines, dim, n_words)
        return dim, _read_binary(file, dim, n_words)
    cells = first.rstrip().split(b" ")[1:]
    if len(cells) < 2 or _finite(cells) is None:
        raise ValueError(f"Line 1 should be a word and its numbers: {first[:80]!r}")
    return len(cells), _read_text(itertools.chain([first], lines), len(cells))


def _is_text(start):
    """Whether numbers follow the first word, as far as the line was read ahead."""
    line, line_end, _ = start.partition(b"\n")
    cells = line.rstrip().split(b" ")[1:]
    if not line_end:
        cells = cells[:-1]  # may be cut
    return bool(cells) and _finite(cells) is not None


def _finite(numbers):
    """The numbers of an entry, or None if they are no finite ones."""
    try:
        is_text = isinstance(numbers, list)
        vector = np.array(numbers, "f4") if is_text else np.frombuffer(numbers, "<f4")
    except ValueError:
        return None
    return vector if np.isfinite(vector).all() else None


def _read_text(lines, dim, n_words=0):
    """Entries of lines; the word may contain spaces, as some of GloVe's do."""
    index = 0
    for index, line in enumerate(itertools.filterfalse(bytes.isspace, lines), 1):
        word, *numbers = line.rstrip().rsplit(b" ", dim)
        if len(numbers) < dim:
            raise ValueError(
                f"Word {index:,} should have {dim} numbers. Its line: {line[:80]!r}"
            )
        yield word, numbers
    if index < n_words:
        raise ValueError(
            f"Line 1 says {n_words:,} words. The file ends after {index:,}."
        )


def _read_binary(file, dim, n_words):
    """Entries `word SPACE float32…`, with or without a line break between them."""
    for index in range(1, n_words + 1):
        word = bytearray()
        while (byte := file.read(1)) != b" ":
            if not byte or len(word) > MAX_WORD:
                raise ValueError(f"Word {index:,} has no end.")
            word += byte
        word, numbers = bytes(word).lstrip(b"\n"), file.read(4 * dim)
        if len(numbers) < 4 * dim:
            raise ValueError(
                f"Line 1 says {n_words:,} words. The file ends within word {index:,}."
            )
        if numbers[3::4].translate(None, _TOP_BYTES):
            raise ValueError(
                f"No vector follows word {index:,}, {word.decode('utf-8', 'replace')!r}. "
                "A space ends words in this format: write words that have one as text."
            )
        yield word, numbers


def hold_out(examples: Sequence[T], share: float) -> tuple[list[T], list[T]]:
    """Splits off a share: a few long runs of neighbours, often of one document each."""
    size = max(1, round(len(examples) * share / HELD_OUT_RUNS))
    block = np.arange(len(examples)) // size
    is_dev = np.floor((block + 1) * share) > np.floor(block * share)
    train = [example for example, held_out in zip(examples, is_dev) if not held_out]
    return train, [example for example, held_out in zip(examples, is_dev) if held_out]
