"""Annotated texts as CoNLL-U, JSON lines, HTML, and for terminals."""

import collections
import html
import itertools
import json
import unicodedata
from collections.abc import Sequence
from typing import Any

from elmo_keras.pipelines.pipeline import Pipeline
from elmo_keras.pipelines.texts import Text, join
from elmo_keras.tasks.entities import bio_tags

MEANINGS = {
    "PER": "person",
    "LOC": "place",
    "ORG": "organisation",
    "MISC": "other name",
    "PS": "person",
    "LC": "place",
    "OG": "organisation",
    "DT": "date",
    "TI": "time",
    "QT": "quantity",
    "ADJ": "adjective",
    "ADP": "adposition",
    "ADV": "adverb",
    "AUX": "auxiliary",
    "CCONJ": "coordinating conjunction",
    "DET": "determiner",
    "INTJ": "interjection",
    "NOUN": "noun",
    "NUM": "number",
    "PART": "particle",
    "PRON": "pronoun",
    "PROPN": "proper noun",
    "SCONJ": "subordinating conjunction",
    "SYM": "symbol",
    "VERB": "verb",
    "X": "other",
    "ARG0": "who does it",
    "ARG1": "who or what it is done to",
    "ARGM-TMP": "when",
    "ARGM-LOC": "where",
    "ARGM-MNR": "how",
    "ARGM-CAU": "why",
}


def json_line(text: Text, pipelines: Sequence[Pipeline], predictions: list) -> str:
    results = {
        p.name: p.annotate(text, prediction)
        for p, prediction in zip(pipelines, predictions)
    }
    return json.dumps({"text": text.source} | results, ensure_ascii=False) + "\n"


def _sentences(text, pipelines, predictions):
    """Of each sentence its tokens, their spans, tags, entities, and frames of roles."""
    by_type = {p.type: parts for p, parts in zip(pipelines, predictions)}
    for i, (tokens, spans) in enumerate(zip(text.sentences, text.spans)):
        words = by_type["words"][i] if "words" in by_type else []
        entities, frames = (by_type.get(t, {i: []})[i] for t in ("entities", "roles"))
        yield tokens, spans, [word.label for word in words], entities, frames


def conllu(text: Text, pipelines: Sequence[Pipeline], predictions: list) -> str:
    """Parts of speech in UPOS; in MISC `name=`, `ROLES=`, and what stands between words.

    `name=` has the BIO tag of an entity, `ROLES=` one for each predicate. Forms and
    `SpaceAfter=No`, `SpacesAfter=` and `SpacesBefore=` give the text back.
    """
    lines, types = [], {p.type for p in pipelines}
    between = iter(_spaces(text))
    sentences = _sentences(text, pipelines, predictions)
    for tokens, spans, tags, entities, frames in sentences:
        misc = [[] for _ in tokens]
        if "entities" in types:
            for fields, tag in zip(misc, _bio(entities, len(tokens))):
                fields.append(f"name={tag}")
        columns = [
            _bio([*roles, predicate], len(tokens)) for predicate, roles in frames
        ]
        for fields, row in zip(misc, zip(*columns)):
            fields.append(f"ROLES={','.join(row)}")
        for fields, spaces in zip(misc, between):
            fields += spaces
        sentence = text.piece(spans[0][0], spans[-1][1])
        lines.append(f"# text = {' '.join(sentence.splitlines())}\n")
        words = itertools.starmap(text.piece, spans)
        lines += [
            f"{n}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t{'|'.join(fields) or '_'}\n"
            for n, (word, tag, fields) in enumerate(
                zip(words, tags or "_" * len(tokens), misc), 1
            )
        ]
        lines.append("\n")
    return "".join(lines)


def _spaces(text):
    """For each token the keys of MISC for what stands before and after it."""
    spans, end = join(text.spans), len(text.source)
    begins = [*(begin for begin, _ in spans), end]
    before = text.piece(0, begins[0])
    for (_, last), begin in zip(spans, begins[1:]):
        keys, after = [], text.piece(last, begin)
        if after == "" and begin < end:
            keys.append("SpaceAfter=No")
        elif after and (after != " " or begin == end):
            keys.append(f"SpacesAfter={after.translate(_ESCAPES)}")
        if before:
            keys.append(f"SpacesBefore={before.translate(_ESCAPES)}")
            before = ""
        yield keys


_ESCAPES = str.maketrans(
    {"\\": r"\\", " ": r"\s", "\t": r"\t", "\r": r"\r", "|": r"\p"}
    | dict.fromkeys("\n\v\f\x1c\x1d\x1e\x85\u2028\u2029", r"\n")
)


def _bio(parts, n_tokens):
    return bio_tags(((p.first, p.end, p.label) for p in parts), n_tokens)


def html_paragraph(text: Text, pipelines: Sequence[Pipeline], predictions: list) -> str:
    """Entities in colours with their types, parts of speech above words, lines of roles."""
    labels = (p.model.labels for p in pipelines if p.type == "entities")
    colors = {name: i for names in labels for i, name in enumerate(names)}
    pieces, before = ["<p>"], 0
    sentences = _sentences(text, pipelines, predictions)
    for tokens, spans, tags, entities, frames in sentences:
        first = {entity.first: entity.label for entity in entities}
        last = {entity.end - 1: entity for entity in entities}
        for i, (token, (begin, end)) in enumerate(zip(tokens, spans)):
            size = len(token) - (last[i].left_out if i in last else 0)
            pieces.append(html.escape(text.piece(before, begin)))
            if i in first:
                pieces.append(f'<mark class="t{colors[first[i]]}">')
            word = html.escape(token[:size])
            if tags and tags[i] != "PUNCT":
                word = f"<ruby>{word}<rt>{html.escape(tags[i])}</rt></ruby>"
            pieces.append(word)
            if i in last:
                pieces.append(f" <b>{html.escape(last[i].label)}</b></mark>")
                pieces.append(html.escape(token[size:]))
            before = end
        for frame in frames:
            predicate, roles = _frame(text, spans, *frame)
            parts = [
                f"<i>{html.escape(name)}</i> {html.escape(piece)}"
                for name, piece in roles
            ]
            line = " · ".join(parts) or "no roles"
            pieces.append(f"<small><b>{html.escape(predicate)}</b> {line}</small>")
    return "".join(pieces) + "</p>\n"


def _frame(text, spans, predicate, roles):
    """The predicate, and the label of each role with its piece of the text."""

    def piece(part):
        return text.piece(spans[part.first][0], spans[part.end - 1][1])

    return piece(predicate), [(role.label, piece(role)) for role in roles]


def html_head(title: str, pipelines: Sequence[Pipeline]) -> str:
    """The page up to its first text: colours, the title and a legend."""
    rules, legend = [], []
    for one in pipelines:
        names = one.model.labels
        if one.type != "entities":
            known = [name for name in MEANINGS if name in names]
            legend += [f"<i>{name}</i> {MEANINGS[name]}" for name in known]
            continue
        for i, name in enumerate(names):
            lightness = 82 - 14 * (i % 2) * (len(names) > 8)
            color = f"hsl({360 * i // len(names)} 75% {lightness}%)"
            rules.append(f".t{i} {{ background: {color} }}")
            mark = f'<mark class="t{i}"><b>{html.escape(name)}</b></mark>'
            legend.append(f"{mark} {MEANINGS.get(name, '')}".rstrip())
    language = next((one.language for one in pipelines if one.language), "")
    return _HTML_HEAD.format(
        language=f' lang="{language}"' if language else "",
        title=html.escape(title),
        rules="\n".join(rules),
        legend=", ".join(legend),
    )


_HTML_HEAD = """<!doctype html><html{language}><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ font: 1.1em/2.3 sans-serif; max-width: 46em; margin: 2em auto; padding: 0 1em }}
p {{ white-space: pre-wrap; word-break: keep-all; overflow-wrap: anywhere }}
mark {{ padding: 0 .4em; border-radius: .3em; color: #000; box-decoration-break: clone }} mark b {{ font-size: .65em }}
ruby {{ white-space: nowrap }} rt {{ font-size: .65em; padding: 0 .2em; color: #666 }}
small {{ display: block; line-height: 1.5; color: #555 }} i {{ font: 600 .8em sans-serif }}
{rules}
@media (prefers-color-scheme: dark) {{ body {{ background: #181818; color: #ddd }}
small, rt {{ color: #aaa }} }}</style>
<h1>{title}</h1>
<small lang="en">{legend}</small>
"""


def terminal(
    text: Text, pipelines: Sequence[Pipeline], predictions: list, *, color: bool
) -> str:
    """A line a sentence: `word/TAG`, entities in brackets, and a line for each predicate."""
    dim, bold, end = ("\x1b[2m", "\x1b[1;36m", "\x1b[0m") if color else ("", "", "")
    lines = []
    sentences = _sentences(text, pipelines, predictions)
    for tokens, spans, tags, entities, frames in sentences:
        words = [printable(token) for token in tokens]
        for entity in entities:
            size = len(words[entity.end - 1]) - entity.left_out
            name, rest = words[entity.end - 1][:size], words[entity.end - 1][size:]
            words[entity.end - 1] = f"{name}{bold} {entity.label}{end}]{rest}"
            words[entity.first] = f"[{words[entity.first]}"
        if tags:
            words = [f"{word}{dim}/{tag}{end}" for word, tag in zip(words, tags)]
        lines.append(" ".join(words))
        for frame in frames:
            predicate, roles = _frame(text, spans, *frame)
            parts = " · ".join(map(" ".join, roles)) or "no roles"
            lines.append(f"  {printable(f'{predicate}: {parts}')}")
    return "".join(f"{line}\n" for line in lines)


def printable(text: str) -> str:
    """A text in one line, without characters that a terminal would obey."""
    text = " ".join(text.split())
    return "".join("\ufffd" if unicodedata.category(c) == "Cc" else c for c in text)


def table(results: list[dict[str, Any]]) -> str:
    """The entities of all texts with their labels, the most frequent first."""
    counts = collections.Counter(
        (printable(result["text"]), result["label"]) for result in results
    )
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{n:6}  {label:8}  {name}\n" for (name, label), n in rows)


FORMATS = {".conllu": conllu, ".jsonl": json_line, ".html": html_paragraph}
