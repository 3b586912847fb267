"""Annotated texts as CoNLL-U, JSON lines, HTML, and for terminals."""

import collections
import html
import itertools
import json
import unicodedata
from collections.abc import Sequence
from typing import Any

from elmo_keras.pipelines.pipeline import Pipeline
from elmo_keras.pipelines.texts import Text
from elmo_keras.tasks.entities import bio_tags

COLORS = (
    "#7aecec #feca74 #ff9561 #aa9cfc #c887fb #9cc9cc #bfeeb7 #e4e7d2 #ffeb80 #f0a1a8"
).split()


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
    """Parts of speech in UPOS; in MISC `NER=` and `ROLES=`, a BIO tag for each predicate."""
    lines, types = [], {p.type for p in pipelines}
    sentences = _sentences(text, pipelines, predictions)
    for tokens, spans, tags, entities, frames in sentences:
        misc = [[] for _ in tokens]
        if "entities" in types:
            for fields, tag in zip(misc, _bio(entities, len(tokens))):
                fields.append(f"NER={tag}")
        columns = [
            _bio([*roles, predicate], len(tokens)) for predicate, roles in frames
        ]
        for fields, row in zip(misc, zip(*columns)):
            fields.append(f"ROLES={','.join(row)}")
        for fields, (_, end), (begin, _) in zip(misc, spans, spans[1:]):
            if not any(map(str.isspace, text.piece(end, begin))):
                fields.append("SpaceAfter=No")
        sentence = " ".join(text.piece(spans[0][0], spans[-1][1]).split())
        lines.append(f"# text = {sentence}\n")
        words = itertools.starmap(text.piece, spans)
        lines += [
            f"{n}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t{'|'.join(fields) or '_'}\n"
            for n, (word, tag, fields) in enumerate(
                zip(words, tags or "_" * len(tokens), misc), 1
            )
        ]
        lines.append("\n")
    return "".join(lines)


def _bio(parts, n_tokens):
    return bio_tags(((p.first, p.end, p.label) for p in parts), n_tokens)


def html_paragraph(text: Text, pipelines: Sequence[Pipeline], predictions: list) -> str:
    """Entities in colours with their labels; parts of speech appear under the pointer."""
    pieces, before = ["<p>"], 0
    sentences = _sentences(text, pipelines, predictions)
    for tokens, spans, tags, entities, frames in sentences:
        first = {entity.first: entity.label for entity in entities}
        last = {entity.end - 1: entity.label for entity in entities}
        for i, (token, (begin, end)) in enumerate(zip(tokens, spans)):
            pieces.append(html.escape(text.piece(before, begin)))
            if i in first:
                color = COLORS[sum(first[i].encode()) % len(COLORS)]
                pieces.append(f'<mark style="background:{color}">')
            title = f' title="{html.escape(tags[i])}"' if tags else ""
            pieces.append(f"<span{title}>{html.escape(token)}</span>")
            if i in last:
                pieces.append(f" <b>{html.escape(last[i])}</b></mark>")
            before = end
        lines = [html.escape(_frame(text, spans, *frame)) for frame in frames]
        pieces += [f"<br><small>{line}</small>" for line in lines]
        if frames:
            pieces.append("<br>")
    return "".join(pieces) + "</p>\n"


def _frame(text, spans, predicate, roles):
    def piece(part):
        return text.piece(spans[part.first][0], spans[part.end - 1][1])

    parts = [f"{role.label} {piece(role)}" for role in roles]
    return f"{piece(predicate)}: {' · '.join(parts) or 'no roles'}"


def html_head(title: str) -> str:
    return _HTML_HEAD.format(title=html.escape(title))


_HTML_HEAD = """<!doctype html><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 1.1em/1.9 sans-serif; max-width: 46em; margin: 2em auto; padding: 0 1em }}
p {{ white-space: pre-wrap }} mark {{ padding: .2em .4em; border-radius: .3em }}
mark b {{ font-size: .65em }} small {{ color: #555 }}
@media (prefers-color-scheme: dark) {{ body {{ background: #181818; color: #ddd }}
small {{ color: #aaa }} }}</style>
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
        if tags:
            words = [f"{word}{dim}/{tag}{end}" for word, tag in zip(words, tags)]
        for entity in entities:
            words[entity.first] = f"[{words[entity.first]}"
            words[entity.end - 1] += f"{bold} {entity.label}{end}]"
        lines.append(" ".join(words))
        lines += [f"  {printable(_frame(text, spans, *frame))}" for frame in frames]
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
