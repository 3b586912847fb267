"""The commands `annotate` and `ask`."""

import errno
import gzip
import os
import shutil
import threading
from unittest import mock

import pytest

from elmo_keras.heads.annotate import formats
from elmo_keras.jobs.parts import Parts
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


def test_a_job_of_other_pipelines_or_heads_is_refused(
    head, tmp_path, monkeypatch, capsys
):
    text, output = tmp_path / "t.txt", tmp_path / "o.jsonl"
    text.write_text("The bank of Ann.\n")
    entities = shutil.copytree(head("ner"), tmp_path / "ner")
    arguments = [text, output, "--with", head("pos"), entities]
    with monkeypatch.context() as patch:
        full = OSError(errno.ENOSPC, "No space left on device")
        patch.setattr(Parts, "finish", mock.Mock(side_effect=full))
        assert annotate(arguments) == 1
    assert "No space left" in capsys.readouterr().err
    assert annotate([text, output, "--with", head("pos")]) == 2
    assert "was made with pipelines" in capsys.readouterr().err
    shutil.copytree(head("plain"), entities, dirs_exist_ok=True)  # another head
    assert annotate(arguments) == 2
    assert "was made with different heads. Use" in capsys.readouterr().err
    shutil.copytree(head("ner"), entities, dirs_exist_ok=True)
    zipped = tmp_path / "t.gz"
    zipped.write_bytes(gzip.compress(text.read_bytes()))
    assert annotate([zipped, *arguments[1:]]) == 0, "the same text"
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"t.txt", "o.jsonl", "t.gz", "ner"}


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
    assert ask(["Ann sleeps.", "Who?", "--model", head("qa")]) == 0
    assert ": Ann sleeps." in capsys.readouterr().out
    assert ask([text, "Who?", "--model", head("pos")]) == 2
    assert "answers no questions" in capsys.readouterr().err


def test_words_in_quotes_are_a_text_for_the_heads_of_its_language(capsys):
    assert annotate(["Ann Lee met Bob."]) == 0
    assert capsys.readouterr().out.startswith("[Ann/PROPN Lee PER]/PROPN met/VERB [Bob")
    assert annotate(["김철수는 갔다."]) == 0
    assert "철수 PS]" in capsys.readouterr().out
    assert annotate(["nowhere near.txt"]) == 2
    assert "no file nowhere near.txt" in capsys.readouterr().err
    assert annotate(["Привет мир!"]) == 2
    assert "English and Korean" in capsys.readouterr().err


def test_labels_of_texts_and_clusters_are_lines_below_the_sentence(capsys):
    assert annotate(["정말 재미있게 봤다!", "--with", "ko-sentiment,ko-pos"]) == 0
    assert "\n  positive 0.9" in capsys.readouterr().out
    assert annotate(["Ann said she was late.", "--with", "en-coref"]) == 0
    assert "\n  Ann = she\n" in capsys.readouterr().out
