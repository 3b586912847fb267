"""Annotated texts as CoNLL-U, JSON lines, HTML, and for terminals."""

import collections
import html
import itertools
import json
import string
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elmo_keras.base.messages import printable
from elmo_keras.heads.parser.decoding import JOINED, ROOT
from elmo_keras.heads.parser.pipeline import WORD_COLUMNS
from elmo_keras.heads.pipeline import Pipeline
from elmo_keras.heads.tagger.entities import bio_tags
from elmo_keras.heads.texts import Text, join

_BEFORE = "SpacesBefore="
_ESCAPES = str.maketrans(
    {"\\": r"\\", " ": r"\s", "\t": r"\t", "\r": r"\r", "|": r"\p"}
    | dict.fromkeys("\n\v\f\x1c\x1d\x1e\x85\u2028\u2029", r"\n")
)


def json_line(text: Text, pipelines: Sequence[Pipeline], predictions: list) -> str:
    results = {
        p.name: p.annotate(text, prediction)
        for p, prediction in zip(pipelines, predictions)
    }
    return json.dumps({"text": text.source} | results, ensure_ascii=False) + "\n"


def _sentences(text, pipelines, predictions):
    """Yields (tokens, spans, tags, entities, frames, tree) of each sentence.

    The tree is one of `SyntaxPipeline.trees`, or empty; it gives the tags if no other
    pipeline does.
    """
    by_type = {p.type: parts for p, parts in zip(pipelines, predictions)}
    trees = [{}] * len(text.sentences)
    for p, parts in zip(pipelines, predictions):
        if p.type == "syntax":
            trees = p.trees(text, parts)
    for i, (tokens, spans) in enumerate(zip(text.sentences, text.spans)):
        words = by_type["words"][i] if "words" in by_type else []
        entities, frames = (by_type.get(t, {i: []})[i] for t in ("entities", "roles"))
        tags = [word.label for word in words] or trees[i].get("upos", [])
        yield tokens, spans, tags, entities, frames, trees[i]


def conllu(text: Text, pipelines: Sequence[Pipeline], predictions: list) -> str:
    """Words and trees, flat ones without a parser; MISC has entities, roles and spaces.

    `name=` has the BIO tag of an entity, `ROLES=` one for each predicate. Forms and
    `SpaceAfter=No`, `SpacesAfter=` and `SpacesBefore=` give the text back. `sent_id` is the
    number of the line and the number of the sentence in it.
    """
    lines, types = [], {p.type for p in pipelines}
    between = iter(_spaces(text))
    sentences = _sentences(text, pipelines, predictions)
    for i, (tokens, spans, tags, entities, frames, tree) in enumerate(sentences, 1):
        misc, rows = ([[] for _ in tokens] for _ in range(2))
        if "entities" in types:
            for fields, tag in zip(misc, _bio(entities, len(tokens))):
                fields.append(f"name={tag.translate(_ESCAPES)}")
        columns = [
            _bio([*roles, predicate], len(tokens)) for predicate, roles in frames
        ]
        for fields, row in zip(misc, zip(*columns)):
            fields.append(f"ROLES={','.join(row).translate(_ESCAPES)}")
        if i == 1:
            lines += ["# newdoc\n"] * (text.opens == "newdoc") + ["# newpar\n"]
        sentence = text.piece(spans[0][0], spans[-1][1])
        lines.append(f"# sent_id = {text.number}-{i}\n")
        lines.append(f"# text = {' '.join(sentence.splitlines())}\n")
        spaces = [next(between) for _ in tokens]
        for first, end in _multiword(tree.get("joined", [])):
            before = [field for field in spaces[first] if field.startswith(_BEFORE)]
            after = [field for field in spaces[end - 1] if field not in before]
            spaces[first:end] = [[]] * (end - first)
            form = text.piece(spans[first][0], spans[end - 1][1])
            row = [f"{first + 1}-{end}", form, *"_______", _misc(before + after)]
            rows[first].append(row)
        empty, others = "_" * len(tokens), len(tokens) - 1
        flat = {"head": [0] + others * [1], "deprel": [ROOT] + others * ["dep"]}
        columns = flat | tree | {"upos": tags or empty}
        table = [columns.get(name, empty) for name in WORD_COLUMNS]
        for n, (span, fields, values) in enumerate(zip(spans, misc, zip(*table))):
            row = [n + 1, text.piece(*span), *values, "_", _misc(fields + spaces[n])]
            rows[n].append(row)
        lines += ["\t".join(map(str, row)) + "\n" for row in join(rows)]
        lines.append("\n")
    return "".join(lines)


def _multiword(joined):
    """Yields the first word of each multiword token, and the one after its last."""
    first = 0
    for i, name in enumerate([*joined, JOINED[0]]):
        if name == JOINED[0]:
            if i - first > 1:
                yield first, i
            first = i


def _misc(fields):
    return "|".join(sorted(fields, key=str.lower)) or "_"


def _spaces(text):
    """Yields, for each token, the fields of MISC that hold the white space around it."""
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
            keys.append(f"{_BEFORE}{before.translate(_ESCAPES)}")
            before = ""
        yield keys


def _bio(parts, n_tokens):
    return bio_tags(((p.first, p.end, p.label) for p in parts), n_tokens)


def html_paragraph(text: Text, pipelines: Sequence[Pipeline], predictions: list) -> str:
    """Entities in colours, parts of speech above words, lines of roles, arcs of trees."""
    labels = (p.labels for p in pipelines if p.type == "entities")
    colors = {name: i for names in labels for i, name in enumerate(names)}
    pieces, before = ["<p>"], 0
    sentences = _sentences(text, pipelines, predictions)
    for tokens, spans, tags, entities, frames, tree in sentences:
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
            pairs = [map(html.escape, role) for role in roles]
            line = " · ".join(f"<i>{x}</i> {y}" for x, y in pairs) or "no roles"
            pieces.append(f"<small><b>{html.escape(predicate)}</b> {line}</small>")
        if tree:
            words = [*itertools.starmap(text.piece, spans)]
            pieces.append(_arcs(words, tree["head"], tree["deprel"]))
    return "".join(pieces) + "</p>\n"


def _frame(text, spans, predicate, roles):
    """The predicate, and the label of each role with its piece of the text."""

    def piece(part):
        return text.piece(spans[part.first][0], spans[part.end - 1][1])

    return piece(predicate), [(role.label, piece(role)) for role in roles]


def _arcs(words, heads, relations):
    """A drawing of a tree: words in a row, below labelled arcs from their heads."""
    widths = [14 + 9 * max(map(len, pair)) for pair in zip(words, relations)]
    ends = [*itertools.accumulate(widths)]
    middles = [end - width // 2 for end, width in zip(ends, widths)]
    arcs = sorted(
        (abs(i - head), min(i, head), i, head)
        for i, head in enumerate(heads, 1)
        if head
    )
    levels, pieces = [0] * len(words), []  # numbers of arcs above the gaps
    for distance, first, i, head in arcs:
        level = 1 + max(levels[first - 1 : first - 1 + distance])
        levels[first - 1 : first - 1 + distance] = [level] * distance
        begin, end = middles[head - 1], middles[i - 1] - 4 * (1 if i > head else -1)
        pieces.append(
            f'<path d="M{begin} 0V-{20 * level}H{end}V-4"/><text x="{(begin + end) // 2}" '
            f'y="-{20 * level + 3}">{html.escape(relations[i - 1])}</text>'
        )
    labels = zip(middles, map(html.escape, words))
    pieces += [f'<text x="{x}" y="18">{word}</text>' for x, word in labels]
    top, width = 20 * max(levels, default=0) + 20, ends[-1]
    return (
        f'<svg viewBox="0 -{top} {width} {top + 26}" width="{width}">'
        f"{''.join(pieces)}</svg>"
    )


def html_head(title: str, pipelines: Sequence[Pipeline]) -> str:
    """The page up to its first text: colours, the title and a legend."""
    rules, legend, folder = [], [], Path(__file__).parent
    meanings = tomllib.loads((folder / "labels.toml").read_text(encoding="utf-8"))
    for p in pipelines:
        names = p.labels
        if p.type != "entities":
            pairs = meanings.items()
            legend += [f"<i>{name}</i> {x}" for name, x in pairs if name in names]
            continue
        for i, name in enumerate(names):
            lightness = 82 - 14 * (i % 2) * (len(names) > 8)
            color = f"hsl({360 * i // len(names)} 75% {lightness}%)"
            rules.append(f".t{i} {{ background: {color} }}")
            mark = f'<mark class="t{i}"><b>{html.escape(name)}</b></mark>'
            legend.append(f"{mark} {meanings.get(name, '')}".rstrip())
    language = next((p.language for p in pipelines if p.language), "")
    head = (folder / "page.html").read_text(encoding="utf-8")
    return string.Template(head).substitute(
        language=f' lang="{html.escape(language)}"' if language else "",
        title=html.escape(title),
        rules="\n".join(rules),
        legend=", ".join(legend),
    )


def terminal(
    text: Text, pipelines: Sequence[Pipeline], predictions: list, *, color: bool
) -> str:
    """A line a sentence: `word/TAG`, entities in brackets; below predicates, trees, labels."""
    dim, bold, end = ("\x1b[2m", "\x1b[1;36m", "\x1b[0m") if color else ("", "", "")
    lines = []
    sentences = _sentences(text, pipelines, predictions)
    for tokens, spans, tags, entities, frames, tree in sentences:
        words = [printable(token) for token in tokens]
        for entity in entities:
            last = words[entity.end - 1]
            size = len(last) - entity.left_out
            label = f"{bold} {printable(entity.label)}{end}]"
            words[entity.end - 1] = f"{last[:size]}{label}{last[size:]}"
            words[entity.first] = f"[{words[entity.first]}"
        if tags:
            pairs = zip(words, map(printable, tags))
            words = [f"{word}{dim}/{tag}{end}" for word, tag in pairs]
        lines.append(" ".join(words))
        for frame in frames:
            predicate, roles = _frame(text, spans, *frame)
            parts = " · ".join(map(" ".join, roles)) or "no roles"
            lines.append(f"  {printable(f'{predicate}: {parts}')}")
        if tree:
            lines += _outline(tokens, tree["head"], tree["deprel"])
    for p, prediction in zip(pipelines, predictions):
        if p.type == "texts" and text.sentences:
            lines += _text_lines(p.annotate(text, prediction))
    return "".join(f"{line}\n" for line in lines)


def _text_lines(result):
    """The labels of a text with their scores in a line, or a line for each cluster."""
    labels = [result] if isinstance(result, dict) else result
    if labels and isinstance(labels[0], list):
        lines = [" = ".join(m["text"] for m in cluster) for cluster in labels]
    else:
        lines = [", ".join(f"{x['label']} {x['score']:.2f}" for x in labels)]
    return [f"  {printable(line)}" for line in lines if line]


def _outline(words, heads, relations, head=0, depth=1):
    """Yields a line for each word with its relation, below the line of its head."""
    for i, (word, its_head, relation) in enumerate(zip(words, heads, relations), 1):
        if its_head == head:
            yield f"{'  ' * depth}{printable(word)} {printable(relation)}"
            yield from _outline(words, heads, relations, i, depth + 1)


def table(results: list[dict[str, Any]]) -> str:
    """The entities of all texts with their labels, the most frequent first."""
    counts = collections.Counter(
        (printable(result["text"]), printable(result["label"])) for result in results
    )
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{n:6}  {label:8}  {name}\n" for (name, label), n in rows)


FORMATS = {".conllu": conllu, ".jsonl": json_line, ".html": html_paragraph}
