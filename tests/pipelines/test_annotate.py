"""The commands `annotate` and `ask`."""

import gzip
import json
import os
import signal
import threading

import pytest

from elmo_keras import pipeline
from elmo_keras.pipelines import annotate as module
from elmo_keras.pipelines import formats
from tests.support.commands import command
from tests.support.heads import save_task_model

annotate, ask = command("annotate"), command("ask")
TEXT = "The bank of Ann. It isn't \x1b[31mred.\n\nAnn & <b> sleeps.\n"


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT, newline="")
    return path


def rows(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    return [line.split("\t") for line in lines if line and line[0] != "#"]


def test_conllu_has_the_words_of_the_text(head, tmp_path):
    text, output = tmp_path / "text.txt", tmp_path / "o.conllu"
    text.write_text("cafe\u0301 gone\u200b.\n", encoding="utf-8")
    assert annotate([text, output, "--with", head("pos")]) == 0
    words = [(row[1], row[9]) for row in rows(output)]
    assert words == [("cafe\u0301", "_"), ("gone", "SpaceAfter=No"), (".", "_")]


def test_conllu_has_tags_entities_and_roles(text, head, tmp_path):
    output, heads = tmp_path / "o.conllu", [head("pos"), head("ner"), head("srl")]
    assert annotate([text, output, "--with", *heads]) == 0
    words = rows(output)
    assert all(len(row) == 10 for row in words)
    lines = TEXT.split("\n")
    tags = [result for line in lines for result in pipeline(heads[0])(line)]
    assert [(r[1], r[3]) for r in words] == [(t["text"], t["label"]) for t in tags]
    spans = [result for line in lines for result in pipeline(heads[1])(line)]
    notes = [dict(n.split("=") for n in r[9].split("|") if "=" in n) for r in words]
    begins = [n["NER"][2:] for n in notes if n["NER"][0] == "B"]
    assert begins == [span["label"] for span in spans]
    assert "SpaceAfter=No" in words[3][9] and "SpaceAfter=No" not in words[0][9]
    frames = [result for line in lines for result in pipeline(heads[2])(line)]
    found = sum(n.get("ROLES", "").split(",").count("B-V") for n in notes)
    assert found == len(frames) > 0
    assert "# text = Ann & <b> sleeps.\n" in output.read_text()


def test_json_lines_have_the_results_of_each_line(text, head, tmp_path):
    output = tmp_path / "o.jsonl"
    names = [str(head(kind)) for kind in ("pos", "sentiment", "emotions")]
    assert annotate([text, output, "--with", *names]) == 0
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert [line["text"] for line in lines] == TEXT.split("\n")[:-1]
    for name in names:
        assert [line[name] for line in lines] == pipeline(name)(TEXT.split("\n")[:-1])


def test_html_escapes_and_marks_spans(text, head, tmp_path):
    output = tmp_path / "o.html"
    assert (
        annotate([text, output, "--with", head("ner"), head("pos"), head("srl")]) == 0
    )
    page = output.read_text()
    spans = [s for line in TEXT.split("\n") for s in pipeline(head("ner"))(line)]
    assert page.count("<mark") == page.count("</mark>") == len(spans) > 0
    assert "&lt;</span>" in page and "<b>sleeps" not in page


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


def test_the_terminal_obeys_no_text(text, head, capsys):
    assert annotate([text, "--with", head("pos"), head("ner"), head("srl")]) == 0
    output = capsys.readouterr().out
    assert "\x1b" not in output and "bank/" in output
    span = pipeline(head("ner"))("The bank of Ann.")[0]
    assert f" {span['label']}]" in output
    assert output.rstrip().splitlines()[-1].split()[0].isdecimal()  # the table


def test_gzip_and_standard_input_are_read(text, head, tmp_path, capsys):
    zipped = tmp_path / "text.gz"
    zipped.write_bytes(gzip.compress(TEXT.encode()))
    outputs = []
    for source in text, zipped:
        assert annotate([source, "--with", head("pos")]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != ""


def test_an_interrupted_run_resumes_from_a_pipe_or_file_of_the_same_text(
    head, tmp_path, monkeypatch, capsys
):
    text, output = tmp_path / "t.txt", tmp_path / "o.html"
    text.write_text("The bank of Ann. It sleeps.\n" * 50)
    arguments = ["--with", head("pos"), head("ner")]
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
    other = tmp_path / "other.gz"
    other.write_bytes(gzip.compress(b"Another text.\n" * 99))
    assert annotate([other, output, *arguments]) == 2
    assert "belongs to a run over other texts" in capsys.readouterr().err
    other.write_bytes(gzip.compress(text.read_bytes()))
    assert annotate([other, output, *arguments]) == 0
    assert output.read_bytes() == whole and indices == [*range(5)]
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"t.txt", "o.html", "other.gz"}


def test_two_of_a_type_need_json_lines(head, text, tmp_path, capsys):
    two = ["--with", head("ner"), head("plain")]
    assert annotate([text, tmp_path / "o.conllu", *two]) == 2
    assert "give an OUT that ends in .jsonl" in capsys.readouterr().err
    assert annotate([text, tmp_path / "o.jsonl", *two]) == 0


@pytest.mark.parametrize(
    ("output", "kind", "message"),
    [
        ("o.txt", "pos", "should end in .conllu, .jsonl, .html"),
        ("o.conllu", "sentiment", "Give an OUT that ends in .jsonl"),
        ("text.txt/o.html", "pos", "text.txt"),
        ("o.jsonl", "qa", "`elmo-keras ask` asks questions"),
    ],
)
def test_outputs_that_cannot_be_written_are_refused_in_one_line(
    output, kind, message, text, head, tmp_path, capsys
):
    assert annotate([text, tmp_path / output, "--with", head(kind)]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_an_output_that_exists_stays_unless_asked(text, head, tmp_path, capsys):
    output = tmp_path / "o.jsonl"
    output.write_text("mine")
    arguments = [text, output, "--with", head("pos")]
    assert annotate(arguments) == 2 and output.read_text() == "mine"
    assert "exists. Give another name" in capsys.readouterr().err
    assert annotate([*arguments, "--overwrite"]) == 0
    assert len(output.read_text().splitlines()) == 3
    assert annotate([*arguments[:-1], head("pos"), head("pos")]) == 2


def test_questions_are_answered_with_their_sentences(
    text, head, model_directory, tmp_path, capsys
):
    assert annotate([tmp_path / "none", "--with", head("pos")]) == 2
    capsys.readouterr()
    questions = ["Who sleeps?", "What is red?"]
    arguments = [text, *questions, "--model", head("qa"), "--answers", 2]
    assert ask(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line[0] != " "] == questions
    answers = [line for line in lines if line[0] == " "]
    assert len(answers) >= 2 and all("): " in line for line in answers)
    path = save_task_model("pos", model_directory, tmp_path)
    assert ask([text, "Who?", "--model", path]) == 2
    assert "answers no questions" in capsys.readouterr().err
