"""The commands `annotate` and `ask`."""

import gzip
import itertools
import json
import os
import re
import shutil
import signal
import threading
from types import SimpleNamespace

import pytest

from elmo_keras import pipeline
from elmo_keras.pipelines import annotate as module
from elmo_keras.pipelines import formats
from elmo_keras.pipelines.pipeline import SyntaxPipeline
from elmo_keras.pipelines.texts import Text, read_text
from tests.support.commands import command

annotate, ask = command("annotate"), command("ask")
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


def test_a_text_of_blank_lines_has_no_words(head, tmp_path):
    text, output = tmp_path / "text.txt", tmp_path / "o.conllu"
    for content in "", "\n\n":
        text.write_text(content)
        assert annotate([text, output, "--with", head("pos"), "--overwrite"]) == 0
        assert not rows(output)


def between(row):
    """What stands before and after a word, by its row."""
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
    assert_text_is_given_back(raw, head("pos"), tmp_path)


@pytest.mark.slow  # two thousand lines
@pytest.mark.filterwarnings("ignore:ko-pos reads Korean")
def test_conllu_gives_lines_of_reviews_back(data, tmp_path):
    with data("ko_nsmc/ratings_train.txt").open(encoding="utf-8") as file:
        reviews = [line.split("\t")[1] for line in itertools.islice(file, 2_000)]
    assert_text_is_given_back(reviews, "ko-pos", tmp_path)


def assert_text_is_given_back(raw, head, folder):
    text, output = folder / "text.txt", folder / "o.conllu"
    text.write_text("".join(f"{line}\n" for line in raw), encoding="utf-8", newline="")
    assert annotate([text, output, "--with", head]) == 0
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
    found = [w for line in pipeline(head("ud"))(LINE_BY_LINE) for w in line]
    for row, word in zip(words, found, strict=True):
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
    model = SimpleNamespace(follows_guidelines=True)
    parser = SyntaxPipeline("x", model)
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


def test_what_is_typed_is_answered_line_by_line(head, monkeypatch):
    (ours, theirs), stdin = os.openpty(), os.dup(0)
    print_line, answered = formats.terminal, []

    def terminal(text, *arguments, **options):
        answered.append(text.source)
        os.write(ours, b"Ann sleeps.\n" if len(answered) == 1 else b"\x04")
        return print_line(text, *arguments, **options)

    monkeypatch.setattr(formats, "terminal", terminal)
    late = threading.Timer(20, os.write, (ours, b"\x04\x04"))  # nothing was answered
    late.start()
    os.write(ours, b"The bank.\n")
    os.dup2(theirs, 0)
    try:
        assert annotate(["-", "--with", head("pos")]) == 0
    finally:
        late.cancel()
        os.dup2(stdin, 0)
        for file in ours, theirs, stdin:
            os.close(file)
    assert answered == ["The bank.", "Ann sleeps."]


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


def test_an_interrupted_run_resumes_from_a_pipe_or_file_of_the_same_text(
    head, tmp_path, monkeypatch, capsys
):
    text, output = tmp_path / "t.txt", tmp_path / "o.html"
    text.write_text("The bank of Ann. It sleeps.\n" * 50)
    entities = shutil.copytree(head("ner"), tmp_path / "ner")
    arguments = ["--with", head("pos"), entities]
    assert annotate([text, output, *arguments]) == 0
    whole = output.read_bytes()
    output.unlink()
    monkeypatch.setattr(module, "PART_BYTES", 300)
    writing, indices = module.Parts.writing, []

    def interrupted(parts, index):
        indices.append(index)
        if index == 1:
            signal.raise_signal(signal.SIGINT)
        return writing(parts, index)

    monkeypatch.setattr(module.Parts, "writing", interrupted)
    assert annotate([text, output, *arguments]) == 130
    assert "The same command resumes" in capsys.readouterr().err
    assert not output.exists() and indices == [0, 1]
    assert annotate([text, output, "--with", head("pos")]) == 2
    assert "was made with pipelines" in capsys.readouterr().err
    shutil.copytree(head("plain"), entities, dirs_exist_ok=True)  # another head
    assert annotate([text, output, *arguments]) == 2
    assert "was made with heads" in capsys.readouterr().err
    shutil.copytree(head("ner"), entities, dirs_exist_ok=True)
    other = tmp_path / "other.gz"
    other.write_bytes(gzip.compress(b"Another text.\n" * 99))
    assert annotate([other, output, *arguments]) == 2
    assert "belongs to a run over other texts" in capsys.readouterr().err
    other.write_bytes(gzip.compress(text.read_bytes()))
    (part,) = tmp_path.glob("o.html.unfinished/parts/*0.*")
    part.write_bytes(part.read_bytes()[:-150])  # by a disk
    assert annotate([other, output, *arguments]) == 0
    assert output.read_bytes() == whole and indices == [0, 1, 0, 2, 3, 4]
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"t.txt", "o.html", "other.gz", "ner"}


@pytest.mark.parametrize(
    ("output", "kinds", "message"),
    [
        ("o.conllu", ["sentiment"], "Give an OUT that ends in .jsonl"),
        ("o.conllu", ["ner", "plain"], "give an OUT that ends in .jsonl"),
        ("o.jsonl", ["qa"], "`elmo-keras ask` asks questions"),
        ("o.jsonl", ["pos", "pos"], "should name different pipelines"),
        ("o.jsonl", [], "such as en-pos. Received: none"),
        ("earlier.jsonl", ["pos"], "exists. Give another name, or overwrite"),
    ],
)
def test_what_cannot_be_written_is_refused(
    output, kinds, message, text, head, tmp_path, capsys
):
    earlier = tmp_path / "earlier.jsonl"
    earlier.write_text("mine")
    arguments = [text, tmp_path / output, "--with", *map(head, kinds)]
    assert annotate(arguments) == 2 and earlier.read_text() == "mine"
    assert message in capsys.readouterr().err
    if output == earlier.name:
        assert annotate([*arguments, "--overwrite"]) == 0
        assert len(earlier.read_text().splitlines()) == len(LINES)


def test_questions_are_answered_with_their_sentences(text, head, capsys):
    questions = ["Who sleeps?", "What is red?"]
    assert ask([text, *questions, "--model", head("qa"), "--answers", 2]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line[0] != " "] == questions
    answers = [line for line in lines if line[0] == " "]
    assert len(answers) >= 2 and all("): " in line for line in answers)
    assert ask([text, "Who?", "--model", head("pos")]) == 2
    assert "answers no questions" in capsys.readouterr().err
