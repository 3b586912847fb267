"""The commands `annotate` and `ask`."""

import gzip
import itertools
import json
import os
import re
import shutil
import signal
import threading

import pytest

from elmo_keras import pipeline
from elmo_keras.pipelines import annotate as module
from elmo_keras.pipelines import formats
from elmo_keras.pipelines.texts import read_text
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


def test_conllu_has_the_words_of_the_text(head, tmp_path):
    text, output = tmp_path / "text.txt", tmp_path / "o.conllu"
    text.write_text("cafe\u0301 gone\u200b.\n", encoding="utf-8")
    assert annotate([text, output, "--with", head("pos")]) == 0
    words = [(row[1], row[9]) for row in rows(output)]
    spaces = "SpacesAfter=\u200b"
    assert words == [("cafe\u0301", "_"), ("gone", spaces), (".", "_")]


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
    raw = [RAW, "one", " . ", "a\u200b b", "x" * 5, "🙂 🙂\u200d🙂 e\u0301"]
    assert_text_is_given_back(raw, head("pos"), tmp_path)


@pytest.mark.slow  # ten thousand lines
@pytest.mark.filterwarnings("ignore:ko-pos reads Korean")
def test_conllu_gives_lines_of_reviews_back(data, tmp_path):
    with data("ko_nsmc/ratings_train.txt").open(encoding="utf-8") as file:
        reviews = [line.split("\t")[1] for line in itertools.islice(file, 10_000)]
    assert_text_is_given_back(reviews, "ko-pos", tmp_path)


def assert_text_is_given_back(raw, head, folder):
    text, output = folder / "text.txt", folder / "o.conllu"
    text.write_text("".join(f"{line}\n" for line in raw), encoding="utf-8", newline="")
    assert annotate([text, output, "--with", head]) == 0
    texts = []
    for block in output.read_text("utf-8").removesuffix("\n\n").split("\n\n"):
        comment, *lines = block.split("\n")
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
        ("o.txt", ["pos"], "should end in .conllu, .jsonl, .html"),
        ("o.conllu", ["sentiment"], "Give an OUT that ends in .jsonl"),
        ("o.conllu", ["coref"], "Give an OUT that ends in .jsonl"),
        ("o.conllu", ["ner", "plain"], "give an OUT that ends in .jsonl"),
        ("o.jsonl", ["qa"], "`elmo-keras ask` asks questions"),
        ("o.jsonl", ["pos", "pos"], "should name different pipelines"),
        ("o.jsonl", [], "such as en-pos. Received: none"),
        ("earlier.jsonl", ["pos"], "exists. Give another name, or --overwrite"),
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
