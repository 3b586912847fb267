"""Annotated texts in all formats, as the command writes them."""

import gzip
import json
import re
from types import SimpleNamespace

import pytest

from elmo_keras import pipeline
from elmo_keras.heads.annotate import formats
from elmo_keras.heads.parser.pipeline import SyntaxPipeline
from elmo_keras.heads.texts import Labelled, Text, read_text
from tests.support.commands import command

annotate = command("annotate")
TEXT = "The bank of Ann. It isn't \x1b[31mred.\n\nAnn & <b> sleeps.\n"
LINES = TEXT.split("\n")[:-1]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT, newline="")
    return path


def rows(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    return [line.split("\t") for line in lines if line and line[0] != "#"]


def results(head):
    return [result for line in LINES for result in pipeline(head)(line)]


def between(row):
    """The spaces before and after a word, by its row."""
    misc = dict(field.split("=", 1) for field in row[9].split("|") if "=" in field)
    unescaped = {
        r"\s": " ",
        r"\t": "\t",
        r"\n": "\n",
        r"\r": "\r",
        r"\p": "|",
        r"\\": "\\",
    }

    def read(key, default=""):
        return re.sub(r"\\.", lambda m: unescaped[m[0]], misc.get(key, default))

    return read("SpacesBefore"), read("SpacesAfter", r"\s" * ("SpaceAfter" not in misc))


RAW = "  Two  spaces,\ta tab.\u200bAnd\u00a0more!No space (a|b \\ c).\u2003 "


def test_conllu_gives_raw_text_back(head, tmp_path):
    raw = [RAW, "one", " . ", "a\u200b b", "x" * 5, "🙂 🙂\u200d🙂 e\u0301 gone\u200b."]
    text, output = tmp_path / "text.txt", tmp_path / "o.conllu"
    text.write_text("".join(f"{line}\n" for line in raw), encoding="utf-8", newline="")
    assert annotate([text, output, "--with", head("pos")]) == 0
    texts = []
    for block in output.read_text("utf-8").removesuffix("\n\n").split("\n\n"):
        *_, comment = (line for line in block.split("\n") if line[0] == "#")
        lines = [line for line in block.split("\n") if line[0] != "#"]
        words = [(between(r), r[1]) for r in (line.split("\t") for line in lines)]
        sentence = "".join(f"{before}{word}{after}" for (before, after), word in words)
        (before, _), *_, (_, after) = (pair for pair, _ in (words[0], *words))
        inner = sentence[len(before) : len(sentence) - len(after)]
        assert comment == f"# text = {inner}"
        texts.append(sentence)
    expected = []
    for line in raw:
        spans = read_text(0, line).spans
        if spans:  # nothing after the last word of a line reads as a space
            ends_in_word = spans[-1][-1][1] == len(line)
            expected.append(f"{line} " if ends_in_word else line)
    assert "".join(texts) == "".join(expected)


def test_conllu_has_tags_entities_and_roles(text, head, tmp_path):
    output, heads = tmp_path / "o.conllu", [head("pos"), head("ner"), head("srl")]
    assert annotate([text, output, "--with", *heads]) == 0
    words, (tags, spans, frames) = rows(output), map(results, heads)
    assert [(r[1], r[3]) for r in words] == [(t["text"], t["label"]) for t in tags]
    for row in words:  # tools for trees refuse a word without a head
        assert row[6:8] == (["0", "root"] if row[0] == "1" else ["1", "dep"])
    notes = [dict(n.split("=") for n in r[9].split("|") if "=" in n) for r in words]
    begins = [n["name"][2:] for n in notes if n["name"][0] == "B"]
    assert begins == [span["label"] for span in spans]
    assert "SpaceAfter=No" in words[3][9] and "SpaceAfter=No" not in words[0][9]
    n_frames = sum(n.get("ROLES", "").split(",").count("B-V") for n in notes)
    assert n_frames == len(frames) > 0
    assert "# text = Ann & <b> sleeps.\n" in output.read_text()
    assert all(len(row) == 10 for row in words)


def test_conllu_has_trees_and_names_of_paragraphs_and_sentences(head, tmp_path):
    text, output = tmp_path / "text.txt", tmp_path / "o.conllu"
    text.write_text("The bank. Don't!\nThe bank\n\nThe bank's?", encoding="utf-8")
    assert annotate([text, output, "--with", head("ud"), head("ner")]) == 0
    comments = re.findall("^# ([^t].*)", output.read_text("utf-8"), re.MULTILINE)
    expected = ["newdoc", "newpar", "sent_id = 1-1", "sent_id = 1-2", "newpar"]
    expected += ["sent_id = 2-1", "newdoc", "newpar", "sent_id = 4-1"]
    assert comments == expected
    words = [row for row in rows(output) if "-" not in row[0]]
    predicted = [w for line in pipeline(head("ud"))(LINE_BY_LINE) for w in line]
    for row, word in zip(words, predicted, strict=True):
        assert row[1:5] == [word[k] for k in ("text", "lemma", "upos", "xpos")]
        assert row[5] == (word["feats"] or "_")
        assert row[6:8] == [str(word["head"] + 1), word["deprel"]]
        fields = row[9].split("|")
        assert fields == sorted(fields, key=str.lower) and "name=" in row[9]


LINE_BY_LINE = ["The bank. Don't!", "The bank", "The bank's?"]


def test_multiword_tokens_have_a_line_and_the_space_after_them():
    spans = [(1, 3), (3, 6), (7, 9), (9, 11), (11, 12)]
    text = Text(" don't it's!", [["do", "n't", "it", "'s", "!"]], [spans], 7, "newpar")
    sentence = {
        "tokens": text.sentences[0],
        "upos": ["AUX", "PART", "PRON", "AUX", "PUNCT"],
        "head": [0, 1, 1, 1, 1],
        "deprel": ["root", "advmod", "nsubj", "aux", "punct"],
        "joined": ["no", "yes", "yes", "yes", "no"],
    }
    parser = SyntaxPipeline("x", None, kind="ud")
    lines = formats.conllu(text, [parser], [[sentence]]).split("\n")
    assert lines[:3] == ["# newpar", "# sent_id = 7-1", "# text = don't it's!"]
    cells = [line.split("\t") for line in lines[3:-2]]
    assert [(row[0], row[1], row[9]) for row in cells] == [
        ("1-2", "don't", r"SpacesBefore=\s"),
        ("1", "do", "_"),
        ("2", "n't", "_"),
        ("3-4", "it's", "SpaceAfter=No"),  # "it" follows a space
        ("3", "it", "_"),
        ("4", "'s", "_"),
        ("5", "!", "_"),
    ]


def test_html_draws_an_arc_for_each_word_but_the_root(head, tmp_path):
    text, output = tmp_path / "text.txt", tmp_path / "o.html"
    text.write_text("The bank of <b> Ann.\n", encoding="utf-8")
    assert annotate([text, output, "--with", head("ud")]) == 0
    page = output.read_text("utf-8")
    words = pipeline(head("ud"))("The bank of <b> Ann.")
    (drawing,) = re.findall("<svg.*?</svg>", page)
    assert drawing.count("<path") == len(words) - 1
    assert drawing.count("<text") == 2 * len(words) - 1 and "&lt;" in drawing
    relations = sorted(re.findall("<path[^>]*/><text[^>]*>(.*?)</text>", drawing))
    assert relations == sorted(w["deprel"] for w in words if w["head"] >= 0)


def test_json_lines_have_the_results_of_each_line_and_heads_of_one_type(
    text, head, tmp_path
):
    output = tmp_path / "o.jsonl"
    names = [str(head(kind)) for kind in ("sentiment", "ner", "plain", "emotions")]
    assert annotate([text, output, "--with", *names]) == 0
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert [line["text"] for line in lines] == LINES
    for name in names:
        assert [line[name] for line in lines] == pipeline(name)(LINES)


def test_html_escapes_and_marks_spans(text, head, tmp_path):
    output, heads = tmp_path / "o.html", [head(kind) for kind in ("ner", "pos", "srl")]
    assert annotate([text, output, "--with", *heads]) == 0
    head_of_page, *paragraphs = output.read_text().split("<p>")
    page, spans = "".join(paragraphs), results(head("ner"))
    assert page.count("<mark") == page.count("</mark>") == len(spans) > 0
    assert "&lt;" in page and "<b>sleeps" not in page
    tags = results(head("pos"))
    assert page.count("<rt>") == len(tags) and f"<rt>{tags[0]['label']}</rt>" in page
    assert page.count("<small>") == len(results(head("srl"))) > 0
    assert "<h1>o</h1>" in head_of_page and 'name="viewport"' in head_of_page
    for label in {span["label"] for span in spans}:
        name = re.search(rf'<mark class="(t\d)"><b>{label}</b></mark>', head_of_page)[1]
        assert f'<mark class="{name}">' in page
    colors = re.findall(r"^\.t\d+ { background: (.*) }$", head_of_page, re.M)
    assert len(colors) == len({*colors}) == 2


def test_the_terminal_obeys_no_text_and_gzip_is_read(text, head, tmp_path, capsys):
    zipped = tmp_path / "text.gz"
    zipped.write_bytes(gzip.compress(TEXT.encode()))
    outputs = []
    for source in text, zipped:
        assert annotate([source, "--with", head("pos"), head("ner"), head("srl")]) == 0
        outputs.append(capsys.readouterr().out)
    output, same = outputs
    assert output == same and "\x1b" not in output and "bank/" in output
    assert f" {results(head('ner'))[0]['label']}]" in output
    assert output.rstrip().splitlines()[-1].split()[0].isdecimal()  # the table


def test_formats_escape_the_names_of_heads():
    text, odd = read_text(0, "Ann"), '"|\x1b<b>'
    entities, words = (
        SimpleNamespace(type=type_, labels=[odd], language='"><b>')
        for type_ in ("entities", "words")
    )
    spans = [[Labelled(odd, 0, 1, 1.0)]]
    arguments = [entities, words], [spans, spans]
    (row,) = (
        line for line in formats.conllu(text, *arguments).split("\n") if "\t" in line
    )
    assert f"name=B-{odd}".replace("|", r"\p") in row and len(row.split("\t")) == 10
    assert "\x1b" not in formats.terminal(text, *arguments, color=False)
    page = formats.html_head("t", [entities]) + formats.html_paragraph(text, *arguments)
    assert "<b>" not in page.replace("<b>&quot;", "")
