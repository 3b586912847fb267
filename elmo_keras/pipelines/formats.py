"""Annotated texts as CoNLL-U, JSON lines, HTML, and for terminals."""

import html
import json
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elmo_keras.pipelines.pipeline import Pipeline, RolePipeline, TagPipeline
from elmo_keras.pipelines.texts import Text

COLORS = (
    "#7aecec #feca74 #ff9561 #aa9cfc #c887fb #9cc9cc #bfeeb7 #e4e7d2 #ffeb80 #f0a1a8"
).split()


def json_line(text: Text, pipelines: Sequence[Pipeline], analyses: list) -> str:
    results = {p.name: p.result(text, found) for p, found in zip(pipelines, analyses)}
    return json.dumps({"text": text.source} | results, ensure_ascii=False) + "\n"


def conllu(text: Text, pipelines: Sequence[Pipeline], analyses: list) -> str:
    """Parts of speech in UPOS; in MISC `NER=` and `ROLES=`, a BIO tag for each predicate."""
    lines = []
    for i, (tokens, spans) in enumerate(zip(text.sentences, text.spans)):
        tags, notes = ["_"] * len(tokens), [[] for _ in tokens]
        for pipeline, found in zip(pipelines, analyses):
            if isinstance(pipeline, RolePipeline):
                columns = [
                    _bio([*roles, predicate], len(tokens))
                    for predicate, roles in found[i]
                ]
                for note, row in zip(notes, zip(*columns)):
                    note.append(f"ROLES={','.join(row)}")
            elif pipeline.marks_spans:  # pyright: ignore[reportAttributeAccessIssue]
                for note, tag in zip(notes, _bio(found[i], len(tokens))):
                    note.append(f"NER={tag}")
            else:
                tags = [part.label for part in found[i]]
        for note, (_, end), (begin, _) in zip(notes, spans, spans[1:]):
            if end == begin:
                note.append("SpaceAfter=No")
        sentence = " ".join(text.piece(spans[0][0], spans[-1][1]).split())
        lines.append(f"# text = {sentence}\n")
        lines += [
            f"{n}\t{token}\t_\t{tag}\t_\t_\t_\t_\t_\t{'|'.join(note) or '_'}\n"
            for n, (token, tag, note) in enumerate(zip(tokens, tags, notes), 1)
        ]
        lines.append("\n")
    return "".join(lines)


def _bio(parts, n_tokens):
    tags = ["O"] * n_tokens
    for label, first, end, _ in parts:
        tags[first:end] = [f"B-{label}"] + [f"I-{label}"] * (end - first - 1)
    return tags


def html_paragraph(text: Text, pipelines: Sequence[Pipeline], analyses: list) -> str:
    """Spans in colours with their labels; parts of speech appear under the pointer."""
    pieces = ["<p>"]
    before = 0
    for i, (tokens, spans) in enumerate(zip(text.sentences, text.spans)):
        marks, ends, frames, tags = {}, {}, [], [""] * len(tokens)
        for pipeline, found in zip(pipelines, analyses):
            if isinstance(pipeline, RolePipeline):
                frames = found[i]
            elif pipeline.marks_spans:  # pyright: ignore[reportAttributeAccessIssue]
                marks |= {part.first: part for part in found[i]}
                ends |= {part.end - 1: part.label for part in found[i]}
            else:
                tags = [part.label for part in found[i]]
        for n, (token, (begin, end), tag) in enumerate(zip(tokens, spans, tags)):
            pieces.append(html.escape(text.piece(before, begin)))
            if n in marks:
                color = COLORS[sum(marks[n].label.encode()) % len(COLORS)]
                pieces.append(f'<mark style="background:{color}">')
            title = f' title="{html.escape(tag)}"' if tag else ""
            pieces.append(f"<span{title}>{html.escape(token)}</span>")
            if n in ends:
                pieces.append(f" <b>{html.escape(ends[n])}</b></mark>")
            before = end
        for predicate, roles in frames:
            pieces.append(
                f"<br><small>{html.escape(_frame(text, i, predicate, roles))}</small>"
            )
        if frames:
            pieces.append("<br>")
    return "".join(pieces) + "</p>\n"


def _frame(text, sentence, predicate, roles):
    def piece(part):
        return text.result(sentence, part)["text"]

    shown = [f"{role.label} {piece(role)}" for role in roles]
    return f"{piece(predicate)}: {' · '.join(shown) or 'no roles'}"


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
    text: Text, pipelines: Sequence[Pipeline], analyses: list, *, color: bool
) -> str:
    """A line a sentence: `word/TAG`, spans in brackets, and a line for each predicate."""
    lines = []
    for i, tokens in enumerate(text.sentences):
        words, frames = [shown(token) for token in tokens], []
        for pipeline, found in zip(pipelines, analyses):
            if isinstance(pipeline, TagPipeline) and not pipeline.marks_spans:
                pairs = zip(words, found[i])
                words = [word + _dim(f"/{part.label}", color) for word, part in pairs]
        for pipeline, found in zip(pipelines, analyses):
            if isinstance(pipeline, RolePipeline):
                frames = found[i]
            elif pipeline.marks_spans:  # pyright: ignore[reportAttributeAccessIssue]
                for part in found[i]:
                    words[part.first] = "[" + words[part.first]
                    words[part.end - 1] += _bold(f" {part.label}", color) + "]"
        lines.append(" ".join(words))
        lines += [f"  {shown(_frame(text, i, *frame))}" for frame in frames]
    return "".join(f"{line}\n" for line in lines)


def shown(text: str) -> str:
    """A text without characters that a terminal would obey."""
    return "".join("\ufffd" if unicodedata.category(c) == "Cc" else c for c in text)


def _dim(text, color):
    return f"\x1b[2m{text}\x1b[0m" if color else text


def _bold(text, color):
    return f"\x1b[1;36m{text}\x1b[0m" if color else text


def table(results: list[dict[str, Any]]) -> str:
    """The spans of all texts with their labels, the most frequent first."""
    counts: dict[tuple[str, str], int] = {}
    for result in results:
        key = " ".join(result["text"].split()), result["label"]
        counts[key] = counts.get(key, 0) + 1
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{n:6}  {label:8}  {shown(name)}\n" for (name, label), n in rows)


FORMATS = {".conllu": conllu, ".jsonl": json_line, ".html": html_paragraph}


def suffix_of(output: Path) -> str:
    if output.suffix.lower() not in FORMATS:
        raise ValueError(
            f"The output should end in {', '.join(FORMATS)}. Received: {output}"
        )
    return output.suffix.lower()
