"""The training program, run as its users run it."""

import gzip
import json
import signal
import subprocess
import sys
import time
import unicodedata

import numpy as np
import pytest
from conftest import ROOT

import train
from elmo_keras import Elmo, cost, training_run
from elmo_keras.checkpoint import newest_checkpoint
from elmo_keras.corpus import Corpus
from elmo_keras.model_directory import load_bilm
from elmo_keras.neighbors import nearest, occurrences
from elmo_keras.training_run import CHECKPOINTS

TEXT = "the cat sat on the mat\nthe dog sat on a cat\na dog and a cat\n" * 8
TINY = ["--preset", "test", "--batch-size", "4"]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "valid.txt").write_text("the dog sat on the mat\n")
    return [
        *("--train", str(tmp_path / "t*.txt"), "--valid", str(tmp_path / "valid.txt")),
        *("--output", str(tmp_path / "model"), *TINY),
    ]


def test_it_trains_on_files_and_saves_a_model(files, tmp_path, capsys):
    assert train.main([*files, "--epochs", "3", "--neighbors", "cat"]) == 0
    shown = capsys.readouterr().out
    assert "24 sentences, 136 tokens, 8 distinct words; 0.00% of the tokens" in shown
    assert "0.000% are too long and cut" in shown
    assert shown.count("Held-out perplexity: forward") == 3
    assert "tokens/s" in shown and "Nearest to" in shown and "[cat]" in shown
    options = json.loads((tmp_path / "model" / "options.json").read_text())
    assert (options["n_train_tokens"], options["n_tokens_vocab"]) == (136, 11)
    assert load_bilm(tmp_path / "model").vocabulary_size == 11
    card = (tmp_path / "model" / "model_card.md").read_text()
    assert "t*.txt" in card and "136 tokens" in card and "full softmax" in card
    assert (tmp_path / "model" / "curves.png").read_bytes()[:4] == b"\x89PNG"
    elmo = Elmo.from_pretrained(tmp_path / "model")
    assert np.isfinite(elmo(np.array([["a", "cat"]], object))).all()


def test_python_reference_is_the_default_text(tmp_path, capsys, monkeypatch):
    traces, step = [], training_run.train_step
    monkeypatch.setattr(
        training_run, "train_step", lambda *args: traces.append(1) or step(*args)
    )
    output = ["--output", str(tmp_path / "model")]
    assert train.main([*TINY, *output, "--steps", "8", "--seed", "3"]) == 0
    shown = capsys.readouterr().out
    assert "Training text: 2," in shown and "[return]" in shown
    assert "8/8" in shown and "Epoch 2" not in shown
    # Not a trace, which takes seconds, for each number of distinct words.
    assert len(traces) == 1


def test_how_words_become_characters_is_kept_with_the_model(files, tmp_path):
    pytest.importorskip("tensorflow_text")
    own = ["--max-characters-per-token", "5", "--cut-at", "character"]
    own += ["--unicode-normalization", "NFC"]
    assert train.main([*files, *own, "--steps", "1"]) == 0
    config = load_bilm(tmp_path / "model").config
    assert config.max_characters_per_token == 5
    assert (config.cut_at, config.unicode_normalization) == ("character", "NFC")


def test_the_same_seed_gives_the_same_weights(files, tmp_path):
    weights = []
    for name in ("one", "two"):
        files[files.index("--output") + 1] = str(tmp_path / name)
        assert train.main([*files, "--steps", "3", "--seed", "7"]) == 0
        weights.append(load_bilm(tmp_path / name).get_weights())
    for a, b in zip(*weights, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_model_without_checkpoints_is_not_overwritten(files, tmp_path, capsys):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "options.json").write_text("another's")
    assert train.main([*files, "--steps", "1"]) == 2
    assert "holds a model already" in capsys.readouterr().err
    assert [p.name for p in (tmp_path / "model").iterdir()] == ["options.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--train", "nowhere*"], "No file matches nowhere*"),
        (["--train", "{empty}"], "The files of --train hold no sentence"),
        (["--valid", "{latin}"], "should be UTF-8. Line 1"),
        (["--train", "{endless}"], "endless, line 2: it has more than 1,048,576 bytes"),
        (["--train", "{gz}"], "should be a whole gzip file"),
        (["--vocabulary", "{words}"], "words: A vocabulary should start with <S>"),
        (["--options", "o"], "--options and --weights should be given together"),
        (["--batch-size", "3", "--parts", "2"], "should be a multiple of --parts 2"),
        (["--vocabulary-size", "2"], "`max_size` should be at least 3"),
        (["--max-characters-per-token", "2"], "no less than the widest filter (3)"),
        (
            ["--neighbors", "absent"],
            "--neighbors absent: it stands in the text 0 times",
        ),
    ],
)
def test_bad_input_is_an_error_in_one_line(files, tmp_path, capsys, change, message):
    (tmp_path / "empty").write_text("\n\n")
    (tmp_path / "latin").write_bytes(b"\xff\n")
    (tmp_path / "endless").write_bytes(b"a\n" + b"b" * 2**21)
    (tmp_path / "gz").write_bytes(gzip.compress(b"a b\n" * 99)[:-9])
    (tmp_path / "words").write_text("<S>\n</S>\nthe\n")
    places = {p.name: p for p in tmp_path.iterdir()}
    change = [c.format(**places) if "{" in c else c for c in change]
    assert train.main([*files, *change]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (tmp_path / "model").exists()


def test_training_text_alone_is_refused(tmp_path, capsys):
    assert train.main(["--train", "x", "--output", str(tmp_path / "model")]) == 2
    assert "--train and --valid should be given together" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epochs", "0"], "should be above 0, not 0"),
        (["--learning-rate", "nan"], "should be above 0, not nan"),
        (["--seed", "-1"], "should be from 0 to"),
    ],
)
def test_a_bad_argument_is_refused(arguments, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        train.main(arguments)
    assert message in capsys.readouterr().err


def test_an_output_that_cannot_be_written_is_found_before_training(files, capsys):
    files[files.index("--output") + 1] = "/proc"
    assert train.main(files) == 2
    assert capsys.readouterr().out == ""


def test_ctrl_c_saves_what_was_learned(files, tmp_path):
    command = [sys.executable, ROOT / "train.py", *files, "--epochs", "100000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if "Epoch 2/" in line:
                break
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 130
    assert "The same command goes on there." in rest
    assert load_bilm(tmp_path / "model").vocabulary_size == 11
    assert newest_checkpoint(tmp_path / "model" / CHECKPOINTS) is not None


def test_evaluation_is_a_command(files, tmp_path, capsys):
    assert train.main([*files, "--steps", "4"]) == 0
    after = capsys.readouterr().out.split("after training: ")[1].splitlines()[0]
    held_out = ["--valid", str(tmp_path / "valid.txt"), "--evaluate"]
    assert train.main([*held_out, "--output", str(tmp_path / "model")]) == 0
    assert f"Held-out perplexity:{after}" in capsys.readouterr().out
    assert train.main(["--evaluate", "--output", str(tmp_path / "model")]) == 2
    assert "--evaluate needs the text of --valid" in capsys.readouterr().err


def test_a_vocabulary_that_was_changed_is_found(files, tmp_path, capsys):
    assert train.main([*files, "--steps", "1"]) == 0
    words = tmp_path / "model" / "vocab.txt"
    words.write_text(words.read_text().replace("cat", "cow"))
    with pytest.raises(ValueError, match="vocab.txt is not the one"):
        load_bilm(tmp_path / "model")


def test_a_dry_run_tells_the_cost_and_leaves_nothing(files, tmp_path, capsys):
    assert train.main([*files, "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "24 sentences" in shown and "Memory of a replica: about" in shown
    assert "GFLOP" in shown and not (tmp_path / "model").exists()


def test_what_cannot_fit_is_refused(files, tmp_path, capsys, monkeypatch):
    usage = type("", (), {"free": 1000})
    monkeypatch.setattr(cost.shutil, "disk_usage", lambda path: usage)
    assert train.main([*files, "--dry-run"]) == 2
    assert "more room" in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


def test_training_ends_when_it_does_not_get_better(files, capsys):
    arguments = ["--learning-rate", "1e-9", "--epochs", "50", "--patience", "2"]
    assert train.main([*files, *arguments, "--dropout", "0"]) == 0
    assert "Epoch 49/50" not in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["--dtype", "mixed_bfloat16"],
        ["--optimizer", "adam", "--learning-rate", "0.01", "--schedule", "cosine"],
        ["--negatives", "4", "--parts", "2"],
    ],
)
def test_options_of_training_lower_the_perplexity(files, arguments, capsys):
    assert train.main([*files, *arguments, "--epochs", "6"]) == 0
    assert "The mean fell to" in capsys.readouterr().out


def test_raw_text_is_split_into_sentences_and_tokens(files, tmp_path, capsys):
    pytest.importorskip("tensorflow_text")
    (tmp_path / "text.txt").write_text("The cat sat. A dog sat, too!\n" * 9)
    assert train.main([*files, "--raw-text", "--steps", "1"]) == 0
    assert "18 sentences, 90 tokens" in capsys.readouterr().out


def test_words_have_one_spelling_where_characters_are_normalised(
    files, tmp_path, capsys
):
    pytest.importorskip("tensorflow_text")
    text = "한국어 말뭉치 이다\n" * 40
    (tmp_path / "text.txt").write_text(unicodedata.normalize("NFC", text))
    (tmp_path / "valid.txt").write_text(unicodedata.normalize("NFD", text))
    assert train.main([*files, "--unicode-normalization", "NFC", "--dry-run"]) == 0
    assert capsys.readouterr().out.count("0.00% of the tokens are <UNK>") == 2


def test_neighbours_are_sorted_by_cosine_and_leave_the_query_out():
    vectors = np.array([[1.0, 0], [0, 2], [3, 3], [-1, 0]])
    others, cosines = nearest(vectors, 0)
    assert others.tolist() == [2, 1, 3]
    np.testing.assert_allclose(cosines, [np.sqrt(0.5), 0, -1])


def test_an_occurrence_shows_its_context():
    uses = occurrences(Corpus.of([list("abcabc"), list("xyz"), list("b")]), "b")
    assert [use.position for use in uses] == [1, 4, 0]
    assert uses[1].excerpt(width=2) == "c a [b] c"
