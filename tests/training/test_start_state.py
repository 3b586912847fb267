"""The start state that is computed from a text, and the command that keeps it."""

import functools
import itertools

import numpy as np
import pytest

from elmo_keras import Elmo
from elmo_keras.formats.model_directory import find_model, load_bilm, save_model
from elmo_keras.formats.start_state_file import StartState
from elmo_keras.training import mean_end_state as module
from elmo_keras.training import start_state as command
from elmo_keras.training.inputs import python_reference
from elmo_keras.training.mean_end_state import mean_end_state
from tests.support import reference
from tests.support.models import published_weights
from tests.support.training_runs import SENTENCES, VOCABULARY

traced_once = functools.cache(module._graph)


@pytest.fixture(autouse=True)
def a_graph_is_traced_once(monkeypatch):
    """The graph of a model is kept, which each call makes anew."""
    monkeypatch.setattr(module, "_graph", traced_once)


@pytest.fixture
def numbered(monkeypatch):
    """Replaces the computation, which takes a trace, by the number of tokens."""

    def of_numbers(bilm, sentences):
        n = sum(map(len, sentences))
        parts = bilm.lstm.start_values()
        return StartState(*(np.full(part.shape, n, np.float32) for part in parts))

    computed = "elmo_keras.training.mean_end_state.mean_end_state"
    monkeypatch.setattr(computed, of_numbers)


def expected(bilm, rows):
    """By the oracle: output and cell, each (2, layers, …), means over all sentences."""
    weights, config = published_weights(bilm), bilm.config
    ends = [], []  # of sentences: layers of (output, cell), by direction
    for row, direction in itertools.product(rows, range(2)):
        state = None
        for sentence in row:
            reading = sentence[::-1] if direction else sentence
            words = [["<S>", "</S>"][direction], *reading]
            length = config.max_characters_per_token
            ids = [reference.character_ids(word, length) for word in words]
            x = [reference.token_vector(one, weights, config) for one in ids]
            _, state = reference.direction_layers(
                x, weights, config, direction=direction, state=state
            )
            ends[direction].append(list(state))
    return [
        [
            np.mean([[layer[part] for layer in s] for s in states], axis=0)
            for states in ends
        ]
        for part in range(2)
    ]


@pytest.mark.parametrize(
    "sentences_a_row", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (32, 1))]
)
def test_it_is_the_mean_over_sentence_ends_of_the_oracle(
    bilm, sentences_a_row, monkeypatch
):
    monkeypatch.setattr(module, "SENTENCES_A_ROW", sentences_a_row)
    sentences = [*SENTENCES, ["b", "a"]]
    n_rows = {32: 1, 2: 2, 1: 5}[sentences_a_row]  # the longest come first
    rows = np.array_split(np.array(sentences, object), n_rows)
    with pytest.raises(ValueError, match="at least one sentence"):
        mean_end_state(bilm, [])
    found = mean_end_state(bilm, iter(sentences))
    for actual, wanted in zip(found, expected(bilm, rows), strict=True):
        # float32 against float64.
        np.testing.assert_allclose(actual, wanted, atol=1e-5)


@pytest.fixture
def model(bilm, tmp_path):
    save_model(tmp_path / "model", bilm, VOCABULARY, options={"n_train_tokens": 3})
    return tmp_path / "model"


@pytest.fixture
def text(tmp_path):
    lines = "\n".join(" ".join(sentence) for sentence in SENTENCES)
    (tmp_path / "text.txt").write_text(f"{lines}\n\n")
    return str(tmp_path / "text.txt")


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.rglob("*.*")}


@pytest.mark.slow
def test_the_command_keeps_the_state_beside_the_weights(bilm, model, text, capsys):
    before = contents(model)
    assert command.main([str(model), "--text", text, "--sentences", "3"]) == 0
    assert "a mean over 3 sentences, is in" in capsys.readouterr().out
    after = contents(model)
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == {"start_state.h5"}
    wanted = mean_end_state(bilm, SENTENCES[:3])
    found = Elmo.from_pretrained(model).bilm.lstm.start_values()
    np.testing.assert_allclose(found[0], wanted.output, atol=1e-6)
    np.testing.assert_allclose(found[1], wanted.cell, atol=1e-6)


@pytest.mark.usefixtures("numbered")
def test_published_names_of_files_are_kept_and_a_state_of_other_weights_is_made_again(
    model, text
):
    for part in ("options.json", "weights.hdf5"):
        (model / part).rename(model / f"elmo_{part}")
    assert command.main([str(model), "--text", text]) == 0
    assert Elmo.from_pretrained(model).has_start_state
    state = contents(model)["start_state.h5"]
    (model / "start_state.h5").write_bytes(state.replace(b"biases", b"others"))
    with pytest.raises(ValueError, match="of other weights"):
        load_bilm(model)
    assert command.main([str(model), "--text", text]) == 0
    assert contents(model)["start_state.h5"] == state


@pytest.mark.usefixtures("numbered")
def test_the_default_text_is_pythons_reference(model):
    few = list(itertools.islice(itertools.chain(*python_reference()), 5))
    assert command.main([str(model), "--sentences", "5"]) == 0
    state = find_model(model).start_state
    assert np.unique(state.cell) == np.unique(state.output) == sum(map(len, few)) > 50


@pytest.mark.usefixtures("numbered")
def test_a_model_is_written_to_another_directory_with_its_state(model, text, tmp_path):
    (model / "mix.json").write_text('{"scalars": [1, 2, 3], "gamma": 0.5}')
    before, output = contents(model), tmp_path / "new"
    assert command.main([str(model), "--text", text, "--output", str(output)]) == 0
    assert contents(model) == before
    after = contents(output)
    state = after.pop("start_state.h5")
    assert find_model(output).mix == find_model(model).mix
    del before["mix.json"], after["mix.json"]
    assert after == before
    assert command.main([str(model), "--text", text]) == 0
    assert contents(model)["start_state.h5"] == state


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{model}", "--text", "{empty}"], "The files of --text hold no sentence"),
        (["{model}", "--text", "{no}"], "No file matches"),
        (["{model}", "--output", "{model}"], "is an input"),
        (["{no}"], "should be a directory with options.json and weights.hdf5"),
        (["{zip}"], "Give --output, a directory for the model and its state"),
        (["{model}", "--output", "{other}"], "holds a model already"),
    ],
)
def test_wrong_input_is_one_line(model, tmp_path, arguments, message, capsys):
    for name in ("empty", "zip"):
        (tmp_path / name).write_text("\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "options.json").write_text("{}")
    names = {n: tmp_path / n for n in ("empty", "zip", "no", "other", "model")}
    before = contents(tmp_path)
    assert command.main([a.format(**names) for a in arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert contents(tmp_path) == before
