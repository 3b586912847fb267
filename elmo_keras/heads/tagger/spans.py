"""Labelled spans of characters, as annotation tools export them, as tagged sentences."""

import collections
import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

from elmo_keras.base.argument_checks import warn
from elmo_keras.base.extras import import_extra
from elmo_keras.base.files import naming_damage
from elmo_keras.heads.reading import (
    Rows,
    check_any,
    is_json,
    malformed,
    numbered_lines,
    read_rows,
    read_strings,
)
from elmo_keras.heads.tagger.entities import NO_LABEL, bio_tags, to_bio
from elmo_keras.heads.tagger.span_ends import MIN_SHARE
from elmo_keras.text.files import lines_of
from elmo_keras.text.sentence_splitter import sentence_words

BRAT, DOC_BIN = ".ann", ".spacy"
_BRAT_SPAN = re.compile(r"T\S+\t(\S+) (\d+ \d+(?:;\d+ \d+)*)\t(.*)")
# The keys of spans in rows of JSON, and of bounds and labels in spans.
_SPANS = "spans", "label", "labels", "entities"
_ANNOTATIONS = "annotations", "completions"  # Label Studio, now and until 2020
_BEGIN, _END = ("start", "start_offset", "begin"), ("end", "end_offset")
_LABEL = "label", "labels", "type"
_KLUE = re.compile(r"## \S+\t")  # precedes a text and names it
_INLINE = re.compile(r"<([^<>]+):([A-Z]{2,})>")
_MAX_NAMES = 5  # number of spans that a warning names
_WHOLE = "it is read as a whole word"


class Span(NamedTuple):
    begin: int  # characters
    end: int
    label: str
    text: str | None = None  # its text in the file


class Document(NamedTuple):
    path: Path
    text: str
    spans: list[tuple[int | str, Span]]  # with the number of its line


def holds_spans(path: Path) -> bool:
    """Whether the name of a file, or a folder, says that it holds spans of texts."""
    is_span_file = any(suffix in path.suffixes for suffix in (BRAT, DOC_BIN))
    if path.is_dir() or is_json(path) or is_span_file:
        return True
    return path.is_file() and _is_klue(path)


def read_spans(path: str | Path, tokenizer: str = "words") -> list[dict]:
    """Sentences with entities of texts whose spans are labelled: `tokens` and BIO `tags`.

    Files are JSON, a list or a row a line, as doccano, Label Studio and Prodigy write it,
    or with `tokens` and `tags`; brat's `.ann` beside its `.txt`, or a folder of them; or a
    `DocBin` of spaCy. Texts are split as pipelines split them. A span that begins or ends
    within a word is read as whole words, and of overlapping ones the longest is read: a
    warning counts them and names the first. `left_out` are, of each span, its last token, its
    label and how many characters of the token come after it, see `SpanEnds`.

    Raises:
        ValueError: a span is outside of its text or has another text than the file says,
            or the file is of no such format; the message begins with `FILE:LINE: `.
        ImportError: a `DocBin` needs spaCy.
    """
    path = Path(path)
    return _read_documents(_documents(path), path, tokenizer)


def read_span_rows(
    rows: Rows, source: str | Path, tokenizer: str = "words"
) -> list[dict]:
    """The same as `read_spans`, from dicts as the lines of a file of JSON have them."""
    documents = _documents_of_rows(Path(source), rows)
    return _read_documents(documents, Path(source), tokenizer)


def _read_documents(documents, path, tokenizer):
    examples, n_skipped, n_spans = [], 0, 0
    labels: dict[str, str] = {}  # tag → its label
    unfit = collections.defaultdict(list)  # part that doesn't fit → names of spans
    for document in documents:
        if document is None:
            n_skipped += 1
        elif isinstance(document, dict):
            examples.append(document)
        else:
            n_spans += len(document.spans)
            for line, span in document.spans:
                label = labels.setdefault(_tag(span.label), span.label)
                if label != span.label:
                    pair = f"{label!r} and {span.label!r}"
                    raise malformed(path, line, f"{pair} are one tag. Rename one.")
            examples += _sentences(document, tokenizer, unfit)
    is_learned = len(unfit["end"]) > n_spans * MIN_SHARE
    ends = "the head learns which endings to leave out" if is_learned else _WHOLE
    for part, message in (
        ("begin", f"begin within a word: {_WHOLE}"),
        ("end", f"end within a word: {ends}"),
        ("all", "overlap a longer one, and are left out"),
    ):
        if n := len(names := unfit[part]):
            text = "; ".join(names[:_MAX_NAMES]) + "; …" * (n > _MAX_NAMES)
            warn(f"{path}: {n:,} of {n_spans:,} spans {message}: {text}")
    if n_skipped:
        reason = "texts have no complete, accepted annotation, and are left out."
        warn(f"{path}: {n_skipped:,} {reason}")
    return check_any(path, examples)


def _documents(path: Path) -> Iterator[Document | dict | None]:
    """Yields a document, an example if the file has tokens, or None without annotation."""
    if path.is_dir():
        files = sorted(path.rglob(f"*{BRAT}"))
        if not files:
            raise ValueError(f"{path} should hold files of brat, *{BRAT} and *.txt.")
        yield from map(_read_brat, files)
    elif path.suffix == BRAT:
        yield _read_brat(path)
    elif path.suffix == DOC_BIN:
        yield from _read_doc_bin(path)
    elif not is_json(path) and _is_klue(path):
        for line_number, line in numbered_lines(path):
            if match := _KLUE.match(line):
                yield _read_inline(path, line_number, line[match.end() :])
    else:
        yield from _documents_of_rows(path, read_rows(path))


def _is_klue(path):
    start = itertools.islice(numbered_lines(path), 10)
    return any(_KLUE.match(line) for _, line in start)


def _read_inline(path, line_number, line):
    """A text with its spans in angle brackets: `<서울:LC>에`."""
    text, spans, position = "", [], 0
    for match in _INLINE.finditer(line):
        text += line[position : match.start()]
        span = Span(len(text), len(text) + len(match[1]), match[2])
        spans.append((line_number, span))
        text, position = text + match[1], match.end()
    return Document(path, text + line[position:], spans)


def _rows_within(rows):
    """Yields rows, and the texts of rows of NER Annotator and NIKL, which hold many."""
    for line, row in rows:
        if "classes" in row and "annotations" in row:
            pairs = filter(None, row["annotations"])
            for i, (text, spans) in enumerate(pairs, 1):
                yield f"annotation {i}", {"text": text, **spans}
        elif isinstance(row.get("document"), list):
            for sentence in itertools.chain(*(d["sentence"] for d in row["document"])):
                spans = {"text": sentence["form"], "spans": sentence.get("NE") or []}
                yield sentence.get("id", line), spans
        else:
            yield line, row


def _documents_of_rows(path, rows):
    for line, row in _rows_within(rows):
        try:
            yield _read_row(path, line, row)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else error
            raise malformed(path, line, reason) from None


def _read_brat(path):
    spans, source = [], path.with_suffix(".txt")
    with source.open("rb") as file:
        content = b"".join(lines_of(file, source)).decode()
    for line_number, line in numbered_lines(path):
        if not line.startswith("T"):  # relations, events, attributes, notes
            continue
        match = _BRAT_SPAN.fullmatch(line)
        if match is None:
            raise malformed(path, line_number, "`T1⇥TYPE BEGIN END⇥TEXT` is expected")
        label, bounds, text = match.groups()
        pieces = [[*map(int, piece.split())] for piece in bounds.split(";")]
        begin, end = min(map(min, pieces)), max(map(max, pieces))
        if len(pieces) > 1:
            joined = " ".join(content[a:b] for a, b in pieces)
            if joined.split() != text.split():
                reason = f"{label} is {joined!r}, not {text!r}"
                raise malformed(path, line_number, reason)
            text = None  # it lacks the characters between the pieces
        spans.append((line_number, Span(begin, end, label, text)))
    return Document(path, content, spans)


def _read_doc_bin(path):
    DocBin = import_extra("spacy.tokens", str(path)).DocBin
    from spacy.vocab import Vocab  # pyright: ignore[reportMissingImports]

    content = path.read_bytes()
    with naming_damage(f"{path} should be a DocBin of spaCy."):
        docs = [*DocBin().from_bytes(content).get_docs(Vocab())]
    for i, doc in enumerate(docs, 1):
        spans = [Span(e.start_char, e.end_char, e.label_) for e in doc.ents]
        document = Document(path, doc.text, [(f"document {i}", s) for s in spans])
        is_whole = doc.has_annotation("ENT_IOB", require_complete=True)
        yield document if is_whole else None


def _read_row(path, line, row):
    if row.get("answer", "accept") != "accept":  # Prodigy
        return None
    name = next((key for key in ("tags", "ner_tags") if key in row), None)
    if name and "tokens" in row:
        tokens = read_strings(row, "tokens")
        tags = to_bio(read_strings(row, name, "tokens"))
        return {"tokens": tokens, "tags": tags, "left_out": []}
    text, spans = _text(row), _labelled_spans(row)
    if spans is None:
        return None
    return Document(path, text, [(line, _span(value)) for value in spans])


def _text(row):
    """The text of a row; in Label Studio's `data`, it is `text` or the only string."""
    text = data = row.get("data", row)
    if isinstance(data, dict):
        texts = [value for value in data.values() if isinstance(value, str)]
        is_only = "text" not in data and data is not row and len(texts) == 1
        text = texts[0] if is_only else data["text"]
    if not isinstance(text, str):
        raise ValueError(f"a text is expected, not {text!r:.80}")
    return text


def _labelled_spans(row) -> Sequence[Any] | None:
    """The spans of a row by its first annotator; None if it has none."""
    for key in _ANNOTATIONS:
        if key in row:
            results = [a["result"] for a in row[key] if not a.get("was_cancelled")]
            values = (r.get("value") for r in results[0]) if results else ()
            return [*filter(_is_labelled, values)] if results else None
    # Label Studio's JSON_MIN names lists as the labelling interface does, if any.
    if "annotation_id" in row:
        lists = [value for value in row.values() if isinstance(value, list)]
        return [*filter(_is_labelled, itertools.chain(*lists))]
    lists = [row[key] for key in _SPANS if isinstance(row.get(key), list)]
    if lists:
        return next(filter(None, lists), [])
    if "answer" in row or "spans" in row:  # Prodigy has none, or null
        return []
    raise ValueError(f"spans are expected in {', '.join((*_SPANS, *_ANNOTATIONS))}")


def _is_labelled(value):
    """Whether a value of Label Studio is a labelled span, and no choice or note about one."""
    is_span = isinstance(value, Mapping) and "start" in value
    return is_span and any(value.get(key) for key in _LABEL)


def _span(value):
    text = None
    if isinstance(value, Mapping):
        text, keys = value.get("text", value.get("form")), (_BEGIN, _END, _LABEL)
        value = [next((value[k] for k in ks if k in value), None) for ks in keys]
    match value:
        case [int(begin), int(end), str(label) | [str(label)]] if label:
            return Span(begin, end, label, text)
    raise ValueError(f"begin, end and label of a span are expected, not {value}")


def _tag(label):
    """The tag of a label, which has no spaces, brackets and control characters."""
    return re.sub(f"[{NO_LABEL}]+", "_", label)


def _to_code_points(text, spans):
    """The spans of a text, counted in code points.

    Label Studio counts as JavaScript does, in which 𝒜 and emoji are two characters.
    """

    def fit(spans):
        pairs = ((text[s.begin : s.end], s.text) for _, s in spans)
        return all(y is None or x.split() == y.split() for x, y in pairs)

    def move(n):
        return len(units[: 2 * n].decode("utf-16-le", "ignore"))

    if fit(spans):
        return spans
    units = text.encode("utf-16-le")
    moved = [(i, s._replace(begin=move(s.begin), end=move(s.end))) for i, s in spans]
    return moved if fit(moved) else spans


def _bounds(document, line, span):
    """Where a span begins and ends, without white space around it."""
    text, (begin, end, label, expected) = document.text, span
    piece = text[begin:end] if 0 <= begin < end <= len(text) else ""
    if not piece.strip() or expected and piece.split() != expected.split():
        reason = f"{label} from {begin} to {end} is {piece!r:.80}"
        reason += "" if expected is None else f", not {expected!r:.80}"
        raise malformed(document.path, line, f"{reason}, in {len(text)} characters")
    begin += len(piece) - len(piece.lstrip())
    return begin, begin + len(piece.strip())


def _sentences(document, tokenizer, unfit):
    """The sentences of a document; adds the names of spans that don't fit to `unfit`."""
    text = document.text
    rows = [*sentence_words(text, tokenizer)]
    tokens = [*itertools.chain(*rows)]
    begins, ends = [a for a, _ in tokens], [b for _, b in tokens]
    edges = {*itertools.accumulate(map(len, rows))}
    words = [normalize("NFC", text[a:b]) for a, b in tokens]
    spans, left_out, covered = [], {}, set()
    bounds = [
        (line, span, *_bounds(document, line, span))
        for line, span in _to_code_points(text, document.spans)
    ]
    for line, span, begin, end in sorted(bounds, key=lambda b: b[2] - b[3]):
        inside = range(bisect_right(ends, begin), bisect_left(begins, end))
        name = f"{document.path.name}:{line} {text[begin:end]!r}"
        if not inside:
            raise malformed(document.path, line, f"{text[begin:end]!r} is no word")
        if not covered.isdisjoint(inside):
            unfit["all"].append(name)
            continue
        covered.update(inside)
        first, last = inside[0], inside[-1]
        spans.append((first, last + 1, _tag(span.label)))
        edges -= {*inside[1:]}
        (word_begin, _), (last_begin, word_end) = tokens[first], tokens[last]
        name += f" in {text[word_begin:word_end]!r}"
        if word_begin < begin:
            unfit["begin"].append(name)
        if end < word_end:
            unfit["end"].append(name)
        n_left = len(words[last]) - len(normalize("NFC", text[last_begin:end]))
        left_out[last] = words[last], _tag(span.label), max(n_left, 0)
    tags, examples = bio_tags(spans, len(words)), []
    for a, b in itertools.pairwise([0, *sorted(edges)]):
        ends = [left_out[i] for i in range(a, b) if i in left_out]
        examples.append({"tokens": words[a:b], "tags": tags[a:b], "left_out": ends})
    return examples
