"""The commands `annotate` and `ask`."""

import gzip
import os
import shutil
import signal
import threading

import pytest

from elmo_keras.heads.annotate import command as module
from elmo_keras.heads.annotate import formats
from tests.support.commands import command

annotate, ask = command("annotate"), command("ask")


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("The bank of Ann. It isn't red.\n\nAnn sleeps.\n")
    return path


def test_a_text_of_blank_lines_has_no_words(head, tmp_path):
    text, output = tmp_path / "text.txt", tmp_path / "o.conllu"
    for content in "", "\n\n":
        text.write_text(content)
        assert annotate([text, output, "--with", head("pos"), "--overwrite"]) == 0
        assert "\t" not in output.read_text()


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
        assert len(earlier.read_text().splitlines()) == 3


def test_questions_are_answered_with_their_sentences(text, head, capsys):
    questions = ["Who sleeps?", "What is red?"]
    assert ask([text, *questions, "--model", head("qa"), "--answers", 2]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line[0] != " "] == questions
    answers = [line for line in lines if line[0] == " "]
    assert len(answers) >= 2 and all("): " in line for line in answers)
    assert ask([text, "Who?", "--model", head("pos")]) == 2
    assert "answers no questions" in capsys.readouterr().err
