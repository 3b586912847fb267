"""Converts data sets, as they are published, to files that `elmo-keras` trains on.

    python -m tools.convert FORMAT IN OUT

| FORMAT | IN | OUT |
| --- | --- | --- |
| `fasttext` | lines of `__label__4 text` | JSON lines for `classify` |
| `nsmc` | Naver movie reviews: columns `document`, `label` | JSON lines for `classify` |
| `goemotions` | `text TAB 27,3 TAB id`; `labels.txt` beside it names the labels | the same |
| `tabs` | lines of premise, hypothesis and label | JSON lines for `entail` |
| `snli` | SNLI, MultiNLI, KorNLI: `sentence1`, `sentence2`, `gold_label` | the same |
| `klue-ner` | KLUE's characters with tags | columns for `ner` |
| `klue-ner-ends` | the same | columns whose types say where entities end |

IN may be gzipped. A malformed line ends the program: its file and number are in the error.
"""

import functools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from unicodedata import normalize

from elmo_keras.heads.reading import (
    SPACES,
    blocks,
    numbered_lines,
    parse_all,
    read_rows,
)
from elmo_keras.heads.tagger.entities import bio_tags, entities, to_bio
from elmo_keras.text.tokenizers import word_spans

LABEL = "__label__"


def fasttext(path: Path) -> list[dict]:
    def parse(line):
        name, _, text = line.strip(SPACES).replace("\t", " ").partition(" ")
        if not name.startswith(LABEL) or name == LABEL or LABEL in text:
            raise ValueError(f"one {LABEL}… and a text are expected, not {line[:60]!r}")
        return {"text": words(text), "label": name.removeprefix(LABEL)}

    return parse_all(path, numbered_lines(path), parse)


def words(text: str) -> list[str]:
    return [word for word in text.split(" ") if word]


def nsmc(path: Path) -> list[dict]:
    return renamed(path, text="document", label="label")


def goemotions(path: Path) -> list[dict]:
    """Multi-label texts; a label is the index of a line of labels.txt."""
    names = [name.strip() for _, name in numbered_lines(path.parent / "labels.txt")]

    def parse(line):
        text, indices = columns(line, 3)[:2]
        if not all(i.isdecimal() and int(i) < len(names) for i in indices.split(",")):
            last = len(names) - 1
            raise ValueError(f"labels from 0 to {last} are expected, not {indices!r}")
        return {"text": text, "labels": [names[int(i)] for i in indices.split(",")]}

    return parse_all(path, numbered_lines(path), parse)


def columns(line: str, n: int) -> list[str]:
    cells = line.split("\t")
    if len(cells) != n:
        raise ValueError(
            f"{n} columns separated by tabs are expected, not {len(cells)}"
        )
    return cells


def tabs(path: Path) -> list[dict]:
    def parse(line):
        premise, hypothesis, label = columns(line, 3)
        pair = {"premise": words(premise), "hypothesis": words(hypothesis)}
        return pair | {"label": label}

    return parse_all(path, numbered_lines(path), parse)


def snli(path: Path) -> list[dict]:
    """Pairs without an agreed label, which is `-`, are left out."""
    pairs = renamed(
        path, premise="sentence1", hypothesis="sentence2", label="gold_label"
    )
    return [pair for pair in pairs if pair["label"] != "-"]


def renamed(path: Path, **fields: str) -> list[dict]:
    """The rows of a table with strings in some fields, under other names."""

    def parse(row):
        values = [row.get(field) for field in fields.values()]
        if not all(isinstance(value, str) for value in values):
            expected = ", ".join(fields.values())
            raise ValueError(f"strings {expected} are expected, not {row!r:.80}")
        return dict(zip(fields, values))

    return parse_all(path, read_rows(path), parse)


def klue_ner(path: Path, ends: bool = False) -> Iterator[str]:
    """Tokens as a `str` is split, and the entities that begin with one.

    Of an entity that ends N characters before its last token does, as before a particle,
    the type is `TYPE/N` with `ends`.
    """

    def parse(line):
        if line.startswith("##"):
            return None
        character, tab, tag = line.partition("\t")
        if len(character) != 1 or not tab:
            raise ValueError("a character, a tab and its tag are expected")
        to_bio([tag])  # checks it
        return character, tag

    for block in blocks(path):
        characters, tags = zip(*parse_all(path, block, parse))
        text, tokens = "".join(characters), []
        spans = word_spans(text)
        firsts = {begin: i for i, (begin, _) in enumerate(spans)}
        lasts = {place: i for i, span in enumerate(spans) for place in range(*span)}
        for begin, end, type_ in entities(tags):
            if begin in firsts and end - 1 in lasts:
                last = lasts[end - 1]
                n_left = spans[last][1] - end
                name = f"{type_}/{n_left}" if ends and n_left else type_
                tokens.append((firsts[begin], last + 1, name))
        tags = bio_tags(tokens, len(spans))
        rows = ((normalize("NFC", text[a:b]), tag) for (a, b), tag in zip(spans, tags))
        yield "".join(f"{token}\t{tag}\n" for token, tag in rows)


FORMATS = {
    "fasttext": fasttext,
    "nsmc": nsmc,
    "goemotions": goemotions,
    "tabs": tabs,
    "snli": snli,
    "klue-ner": klue_ner,
    "klue-ner-ends": functools.partial(klue_ner, ends=True),
}


def convert(name: str, path: Path, output: Path) -> None:
    """Writes the examples of a file, one a line, or those of KLUE as columns."""
    examples = [
        example if isinstance(example, str) else json.dumps(example, ensure_ascii=False)
        for example in FORMATS[name](path)
    ]
    if not examples:
        raise ValueError(f"{path} holds no examples.")
    output.write_text("\n".join(examples) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in FORMATS:
        sys.exit(f"Usage: tools.convert FORMAT IN OUT. FORMAT: {', '.join(FORMATS)}")
    try:
        convert(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
    except (OSError, ValueError) as error:
        sys.exit(f"tools.convert: {error}")
