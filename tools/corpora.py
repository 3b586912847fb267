"""Makes the sets of the tables that are not read as they are published.

    python -m tools.corpora SOURCES OUT

SOURCES holds clones of `dbamman/litbank`, `amir-zeldes/gum`, `propbank/propbank-release`
and `UniversalDependencies/UD_English-EWT`, each under its repository's name; what is
missing is passed over. OUT gets `en_coref_litbank`, `en_coref_gum` (CoNLL-2012's columns)
and `en_srl_ewt` (word, predicate or `-`, a column of BIO tags for each predicate).
"""

import collections
import gzip
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import cyclopts

FREE_GENRES = "academic", "bio", "interview", "news", "voyage"  # genres of GUM
AUXILIARIES = "be.03", "have.01", "do.01"


class Document(NamedTuple):
    """Words by sentence, the speaker of each sentence, brackets of mentions by token."""

    name: str
    sentences: list[list[str]]
    speakers: list[str]
    brackets: list[Sequence[str]]  # `(3`, `3)` or `(3)`


class Sentence(NamedTuple):
    words: list[str]
    tags: list[str]


def main(sources: Path, out: Path, /) -> None:
    litbank = sorted((sources / "litbank/coref/conll").glob("*.conll"))
    for name, files in ("train.conll.gz", litbank[:64]), ("dev.conll", litbank[64:80]):
        write_coreference(out / "en_coref_litbank" / name, map(read_litbank, files))
    skeletons = sources / "propbank-release/data/google/ewt"
    for part, name in ("train", "train.conll.gz"), ("dev", "dev.conll"):
        files = gum_files(sources / "gum", part)
        write_coreference(out / "en_coref_gum" / name, map(read_gum, files))
        words = sources / f"UD_English-EWT/en_ewt-ud-{part}.conllu"
        if words.exists() and skeletons.exists():
            write(out / "en_srl_ewt" / name, roles(words, skeletons))


def write(file: Path, lines: Iterable[str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{line}\n" for line in lines).encode()
    file.write_bytes(gzip.compress(text, mtime=0) if file.suffix == ".gz" else text)
    print(file)


def write_coreference(file: Path, documents: Iterable[Document]) -> None:
    if lines := [line for document in documents for line in conll_2012(document)]:
        write(file, lines)


def gum_files(gum: Path, part: str) -> list[Path]:
    """The documents of a part whose texts are free, in the order of GUM's `splits.md`."""
    splits = gum / "splits.md"
    if not splits.exists():
        return []
    section = splits.read_text(encoding="utf-8").split(f"## {part}\n")[1].split("##")[0]
    names = re.findall(rf"GUM_(?:{'|'.join(FREE_GENRES)})_\w+", section)
    return [gum / f"coref/ontogum/conllu/{name}.conllu" for name in names]


def read_litbank(file: Path) -> Document:
    sentences, brackets = [], []
    for rows in blocks(file):
        rows = [row.split("\t") for row in rows if not row.startswith("#")]
        if rows:
            sentences.append([row[3] for row in rows])
            brackets += [[p for p in row[12].split("|") if p] for row in rows]
    name = file.stem.removesuffix("_brat")
    return Document(name, sentences, ["-"] * len(sentences), brackets)


def read_gum(file: Path) -> Document:
    sentences, speakers, brackets = [], [], []
    for rows in blocks(file):
        comments = dict(row[2:].split(" = ", 1) for row in rows if " = " in row)
        rows = [row.split("\t") for row in rows if row.split("\t")[0].isdigit()]
        sentences.append([row[1].replace(" ", "_") for row in rows])
        speakers.append(comments.get("speaker", "-").replace(" ", "_"))
        for row in rows:
            entity = re.search(r"(?:^|\|)Entity=([^|]*)", row[9])
            pieces = entity[1] if entity else ""
            brackets.append(re.findall(r"\(\d+\)|\(\d+|\d+\)", pieces))
    return Document(file.stem, sentences, speakers, brackets)


def blocks(file: Path) -> Iterator[list[str]]:
    """The lines between empty ones."""
    for block in file.read_text(encoding="utf-8").split("\n\n"):
        if block.strip():
            yield block.strip("\n").split("\n")


def conll_2012(document: Document) -> Iterator[str]:
    """The lines of a document; entities keep their mentions within a sentence.

    A span counts for one entity only, and an entity with one mention is left out.
    """
    sentence_of = [i for i, words in enumerate(document.sentences) for _ in words]
    opened: Mapping[str, list[int]] = collections.defaultdict(list)
    entities: Mapping[str, set] = collections.defaultdict(set)
    for token, pieces in enumerate(document.brackets):
        for piece in pieces:
            entity = piece.strip("()")
            if piece.startswith("("):
                opened[entity].append(token)
            if piece.endswith(")"):
                entities[entity].add((opened[entity].pop(), token))
    columns: list[list[str]] = [[] for _ in sentence_of]
    seen: set[tuple[int, int]] = set()
    number = 0
    for spans in entities.values():
        spans = {s for s in spans - seen if sentence_of[s[0]] == sentence_of[s[1]]}
        if len(spans) < 2:
            continue
        seen |= spans
        for first, last in sorted(spans):
            if first == last:
                columns[first].append(f"({number})")
            else:
                columns[first].append(f"({number}")
                columns[last].append(f"{number})")
        number += 1
    yield f"#begin document ({document.name}); part 000"
    cells = iter(columns)
    for words, speaker in zip(document.sentences, document.speakers):
        for i, word in enumerate(words):
            row = document.name, "0", str(i), word, *"-----", speaker, "*"
            yield "\t".join((*row, "|".join(next(cells)) or "-"))
        yield ""
    yield "#end document"


def roles(words: Path, skeletons: Path) -> Iterator[str]:
    """The sentences of both, where they have as many tokens and mostly the same tags."""
    for name, sentences in documents(words):
        genre, _, stem = name.partition("-")
        files = (skeletons / genre).glob(f"*/{stem}.xml.gold_skel")
        frames = [[row.split() for row in rows] for f in files for rows in blocks(f)]
        if len(frames) != len(sentences):
            continue
        for sentence, rows in zip(sentences, frames):
            alike = sum(tag == row[4] for tag, row in zip(sentence.tags, rows))
            if len(rows) == len(sentence.words) and 2 * alike >= len(rows):
                yield from role_rows(sentence.words, rows)


def documents(file: Path) -> Iterator[tuple[str, list[Sentence]]]:
    """The documents of a CoNLL-U file: their names and sentences."""
    name, sentences = "", []
    for rows in blocks(file):
        if new := [row for row in rows if row.startswith("# newdoc id = ")]:
            if sentences:
                yield name, sentences
            name, sentences = new[0].partition(" = ")[2], []
        cells = [row.split("\t") for row in rows if row.split("\t")[0].isdigit()]
        sentences.append(Sentence([c[1] for c in cells], [c[4] for c in cells]))
    yield name, sentences


def role_rows(words: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Word, predicate and tags; auxiliaries without arguments are no predicates."""
    predicates, columns = ["-"] * len(words), []
    places = [i for i, row in enumerate(rows) if row[7] != "-"]
    for k, place in enumerate(places):
        frame = rows[place][7]
        tags = bio([row[8 + k] for row in rows])
        if frame in AUXILIARIES and sum(tag.startswith("B-") for tag in tags) < 2:
            continue
        predicates[place] = frame.rpartition(".")[0]
        columns.append(tags)
    for row in zip([w.replace(" ", "_") for w in words], predicates, *columns):
        yield "\t".join(row)
    yield ""


def bio(brackets: Iterable[str]) -> list[str]:
    """`(ARG0*`, `*`, `*)`, `*` → `B-ARG0`, `I-ARG0`, `I-ARG0`, `O`."""
    tags, role = [], None
    for bracket in brackets:
        if begin := re.match(r"\(([^*()]+)\*", bracket):
            role = begin[1]
        tags.append("O" if role is None else ("B-" if begin else "I-") + role)
        if bracket.endswith(")"):
            role = None
    return tags


if __name__ == "__main__":
    cyclopts.run(main)
