"""Probabilities of words, sentences and substitutes, against plain NumPy."""

import numpy as np
import pytest

from elmo_keras import LanguageModel
from elmo_keras.formats.model_directory import save_model
from elmo_keras.lite import bilm as bilm_module
from elmo_keras.search import predictions
from tests.support.commands import command
from tests.support.models import random_bilm
from tests.support.oracle_losses import expected_losses
from tests.support.sizes import CONFIG
from tests.support.training_runs import SENTENCES, VOCABULARY

score, substitutes = command("score"), command("substitutes")


@pytest.fixture(scope="module")
def bilm():
    return random_bilm(CONFIG, len(VOCABULARY))


@pytest.fixture(scope="module")
def lm(bilm, tmp_path_factory):
    """The path of its model directory, with a cache beside it."""
    folder = tmp_path_factory.mktemp("lm")
    save_model(folder / "lm", bilm, VOCABULARY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ELMO_KERAS_CACHE", str(folder / "cache"))
        yield str(folder / "lm")


@pytest.fixture(scope="module", params=["tensorflow", "litert"])
def model(request, bilm, lm):
    if request.param == "tensorflow":
        return LanguageModel(bilm, VOCABULARY, tokens_at_once=12)
    pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert")
    return LanguageModel.from_pretrained(lm, backend="litert")


def log_probabilities(bilm, tokens, direction):
    """Log probabilities of the targets by the oracle, in reading order."""
    losses, _ = expected_losses(bilm, VOCABULARY, tokens, direction=direction)
    return -losses


def test_scores_are_those_of_the_oracle_in_the_order_of_the_sentences(model, bilm):
    for scores, tokens in zip(model.score(SENTENCES), SENTENCES, strict=True):
        assert scores.tokens == tuple(tokens)
        forward = log_probabilities(bilm, tokens, 0)
        backward = log_probabilities(bilm, tokens, 1)
        # float32 in the model, float64 in the oracle.
        np.testing.assert_allclose(scores.forward, forward[:-1], atol=1e-4)
        np.testing.assert_allclose(scores.backward, backward[:-1][::-1], atol=1e-4)
        ends = forward[-1], backward[-1]
        np.testing.assert_allclose(scores.boundaries, ends, atol=1e-4)
        totals = forward.sum(), backward.sum()
        np.testing.assert_allclose(scores.totals, totals, atol=1e-3)


def test_unknown_words_are_marked_and_perplexity_counts_one_boundary(model):
    known_word = VOCABULARY.words[-1]
    [scores, nothing] = model.score([f"{known_word} notaword", ""])
    assert nothing.forward.shape == (0,) and np.isfinite(nothing.boundaries).all()
    assert scores.unknown.tolist() == [False, True]
    expected = np.exp(-scores.totals.sum() / 2 / 3)
    assert scores.perplexity == pytest.approx(expected)


@pytest.mark.journey  # TensorFlow builds `en`
def test_litert_and_tensorflow_find_the_same_probabilities(monkeypatch):
    monkeypatch.setattr(bilm_module, "LOGITS_AT_ONCE", 150_000)  # three tokens
    text = "The value of an unknownword is low .", "She went to the bank .", ""
    exact, lite = (
        LanguageModel.from_pretrained("en", backend=backend)
        for backend in ("tensorflow", "litert")
    )
    for a, b in zip(exact.score(text), lite.score(text), strict=True):
        for name in "forward", "backward", "boundaries":
            # Sums in another order.
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=2e-5)
    tokens = text[1].split()
    expected = exact.likeliest(tokens, 4, top=20)
    for (word, a), (other, b) in zip(expected, lite.likeliest(tokens, 4, top=20)):
        assert word == other and a == pytest.approx(b, abs=2e-5)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_the_likeliest_words_have_the_probabilities_of_the_scores(model, direction):
    tokens = list(VOCABULARY.words[3:])
    predicted = dict(model.likeliest(tokens, 1, top=100, direction=direction))
    assert set(predicted) == set(VOCABULARY.words[3:])
    for word in predicted:
        [scores] = model.score([[tokens[0], word, *tokens[2:]]])
        assert predicted[word] == pytest.approx(getattr(scores, direction)[1], abs=1e-4)
    assert list(predicted.values()) == sorted(predicted.values(), reverse=True)


def test_both_directions_are_a_normalised_product_without_frequencies(model):
    tokens = list(VOCABULARY.words[3:])
    one, other, both = (
        dict(model.likeliest(tokens, 0, top=100, direction=direction))
        for direction in ("forward", "backward", "both")
    )
    ranks = VOCABULARY.encode(both)
    offsets = [both[word] - one[word] - other[word] for word in both]
    offsets -= np.log(ranks + 2.7)  # Zipf and Mandelbrot
    np.testing.assert_allclose(offsets, offsets[0], atol=1e-4)
    assert np.exp(list(both.values())).sum() == pytest.approx(1)


def test_a_substitute_is_another_word(model):
    tokens = list(VOCABULARY.words[3:])
    predicted = [word for word, _ in model.substitutes(tokens, 2, top=2)]
    expected = [word for word, _ in model.likeliest(tokens, 2) if word != tokens[2]]
    assert predicted == expected[:2]


def test_other_positions_and_directions_are_refused(model):
    with pytest.raises(ValueError, match="`position` should be an integer from 0 to 0"):
        model.likeliest(["a"], 1)
    with pytest.raises(ValueError, match="`direction` should be one of"):
        model.likeliest(["a"], 0, direction="up")


def test_the_command_prints_a_line_for_each_sentence(bilm, lm, tmp_path, capsys):
    model = LanguageModel(bilm, VOCABULARY)
    text = tmp_path / "text.txt"
    text.write_text("\n".join(" ".join(tokens) for tokens in SENTENCES))
    assert score([str(text), "--model", lm]) == 0
    heading, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert tuple(heading) == predictions.SENTENCES
    for number, (row, scores) in enumerate(zip(rows, model.score(SENTENCES)), 1):
        assert row[0] == str(number) and row[-1] == " ".join(scores.tokens)
        np.testing.assert_allclose([*map(float, row[3:5])], scores.totals, atol=1e-3)
    assert len(rows) == len(SENTENCES)
    quoted = " ".join(SENTENCES[0])
    assert score([quoted, "--model", lm]) == 0
    assert capsys.readouterr().out.splitlines()[1].split("\t") == rows[0]


def test_the_command_writes_a_line_for_each_token(lm, tmp_path):
    text, output = tmp_path / "text.txt", tmp_path / "scores.tsv"
    text.write_text("a b\n\nc\n")
    command = [str(text), "--model", lm, "--tokens", "--output", str(output)]
    assert score(command) == 0
    rows = [line.split("\t") for line in output.read_text().splitlines()[1:]]
    assert [" ".join(row[:3]) for row in rows] == ["1 0 a", "1 1 b", "3 0 c"]
    assert score(command) == 2  # the file exists


def test_the_command_prints_substitutes(lm, capsys):
    word = VOCABULARY.words[3]
    assert substitutes([f"{word} x", "--word", word, "--model", lm]) == 0
    assert word not in capsys.readouterr().out.split()
    command = [f"{word} x", "--position", "0", "--direction", "backward", "--top", "1"]
    assert substitutes([*command, "--model", lm]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_the_packages_model_is_chosen_by_the_script(tmp_path, capsys):
    (tmp_path / "ko").write_text("나는 어제 배를 먹었다 .\n1990 .\n")
    assert score([str(tmp_path / "ko")]) == 0
    chosen = capsys.readouterr().out
    assert score([str(tmp_path / "ko"), "--model", "ko"]) == 0
    assert capsys.readouterr().out == chosen
    assert substitutes(["Привет мир", "--position", "0"]) == 2
    assert "Name a model." in capsys.readouterr().err


def test_a_word_that_is_not_in_one_place(lm, capsys):
    assert substitutes(["a b a", "--word", "a", "--model", lm]) == 2
    assert "'a' is at the positions [0, 2]. Give --pos" in capsys.readouterr().err


EN = "en", "I went to the bank to get cash .", 4, "hotel restaurant shop"
KO = "ko", "나는 어제 배를 먹었다 .", 2, "밥을 아침을 저녁을"


@pytest.mark.parametrize("name, sentence, position, expected", [EN, KO])
def test_substitutes_fit_the_sentence(name, sentence, position, expected):
    model = LanguageModel.from_pretrained(name)
    predicted = model.substitutes(sentence.split(), position, top=5)
    assert {word for word, _ in predicted} > {*expected.split()}
