"""Converts data sets, as they are published, to files that `elmo-keras` trains on.

    python examples/convert.py FORMAT IN OUT

| FORMAT | IN | OUT |
| --- | --- | --- |
| `fasttext` | lines of `__label__4 text` | JSON lines for `classify` |
| `trees` | trees of the Stanford Sentiment Treebank | JSON lines for `classify` |
| `nsmc` | Naver movie reviews: columns `document`, `label` | JSON lines for `classify` |
| `goemotions` | `text TAB 27,3 TAB id`; `labels.txt` beside it names the labels | the same |
| `tabs` | lines of premise, hypothesis and label | JSON lines for `entail` |
| `snli` | lines of JSON of SNLI and MultiNLI | JSON lines for `entail` |
| `kornli` | columns `sentence1`, `sentence2`, `gold_label` | JSON lines for `entail` |
| `klue-nli` | KLUE's list of JSON objects | JSON lines for `entail` |
| `klue-ner` | KLUE's characters with tags | columns for `tag` |

IN may be gzipped. A malformed line ends the program: its file and number are in the error.
"""

import json
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from elmo_keras.tasks.data import (
    SPACES,
    blocks,
    malformed,
    numbered_lines,
    parse_all,
    read_json,
    read_rows,
)
from elmo_keras.tasks.entities import to_bio

LABEL = "__label__"
# A word may hold other white space than the space, such as the no-break space.
NODE = re.compile(r"\(([^ ()]+) [^()]+\)")
LEAF = re.compile(r"\([^ ()]+ ([^ ()]+)\)")
# Treebanks escape the characters of their own format.
BRACKETS = {"-LRB-": "(", "-RRB-": ")"}


def fasttext(path: Path) -> list[dict]:
    def parse(line):
        name, _, text = line.strip(SPACES).replace("\t", " ").partition(" ")
        if not name.startswith(LABEL) or name == LABEL or LABEL in text:
            raise ValueError(f"one {LABEL}… and a text are expected, not {line[:60]!r}")
        return {"text": words(text), "label": name.removeprefix(LABEL)}

    return parse_all(path, numbered_lines(path), parse)


def words(text: str) -> list[str]:
    return [word for word in text.split(" ") if word]


def trees(path: Path) -> list[dict]:
    """The words of each tree, and the label of its root."""

    def parse(line):
        tree = line.strip(SPACES)
        while not (root := NODE.fullmatch(tree)):
            larger, tree = tree, NODE.sub("node", tree)
            if tree == larger:
                raise ValueError(
                    f"a tree such as (3 (2 A) (4 film)) is expected, not {line[:60]!r}"
                )
        tokens = [re.sub(r"\\([/*])", r"\1", token) for token in LEAF.findall(line)]
        tokens = [BRACKETS.get(token, token) for token in tokens]
        return {"text": tokens, "label": root[1]}

    return parse_all(path, numbered_lines(path), parse)


def nsmc(path: Path) -> list[dict]:
    return renamed(path, read_rows(path), text="document", label="label")


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


def kornli(path: Path) -> list[dict]:
    fields = {"premise": "sentence1", "hypothesis": "sentence2", "label": "gold_label"}
    return renamed(path, read_rows(path), **fields)


def snli(path: Path) -> list[dict]:
    """Pairs without an agreed label, which is `-`, are left out."""
    return [pair for pair in kornli(path) if pair["label"] != "-"]


def klue_nli(path: Path) -> list[dict]:
    values = read_json(path)
    if not isinstance(values, list):
        raise malformed(path, 1, "a list of objects is expected")
    fields = {"premise": "premise", "hypothesis": "hypothesis", "label": "gold_label"}
    rows = ((f"[{i}]", value) for i, value in enumerate(values))
    return renamed(path, rows, **fields)


def renamed(
    path: Path, rows: Iterable[tuple[int | str, Any]], **fields: str
) -> list[dict]:
    """Numbered rows with strings in some fields, under other names."""

    def parse(row):
        values = [row.get(field) for field in fields.values()] if row else [None]
        if not all(isinstance(value, str) for value in values):
            expected = ", ".join(fields.values())
            raise ValueError(f"strings {expected} are expected, not {row!r:.80}")
        return dict(zip(fields, values))

    return parse_all(path, rows, parse)


def klue_ner(path: Path) -> Iterator[str]:
    """Tokens are eojeols with punctuation split off.

    An entity covers all tokens that contain one of its characters, with the particles that
    follow it; a token with characters of several entities belongs to the first one.
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
        tokens, tags, is_open = [], [], False
        for character, tag in parse_all(path, block, parse):
            is_punctuation = unicodedata.category(character)[0] == "P"
            if character.isspace():
                is_open = False
                continue
            if is_open and not is_punctuation:
                tokens[-1] += character
                tags[-1] = tag if tags[-1] == "O" else tags[-1]
            else:
                tokens.append(character)
                tags.append(tag)
            is_open = not is_punctuation
        if tokens:
            rows = zip(tokens, to_bio(tags))
            yield "".join(f"{token}\t{tag}\n" for token, tag in rows)


FORMATS = {
    "fasttext": fasttext,
    "trees": trees,
    "nsmc": nsmc,
    "goemotions": goemotions,
    "tabs": tabs,
    "snli": snli,
    "kornli": kornli,
    "klue-nli": klue_nli,
    "klue-ner": klue_ner,
}


def convert(name: str, path: Path, output: Path) -> None:
    """Writes the examples of a file, one a line, or those of `klue-ner` as columns."""
    examples = [
        example if isinstance(example, str) else json.dumps(example, ensure_ascii=False)
        for example in FORMATS[name](path)
    ]
    if not examples:
        raise ValueError(f"{path} holds no examples.")
    output.write_text("\n".join(examples) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in FORMATS:
        sys.exit(f"Usage: convert.py FORMAT IN OUT. FORMAT: {', '.join(FORMATS)}")
    try:
        convert(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
    except (OSError, ValueError) as error:
        sys.exit(f"convert.py: {error}")
