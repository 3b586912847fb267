"""Training on files: what it writes, keeps and refuses, and when it ends."""

import dataclasses
import gc
import json
import random
import shutil
from pathlib import Path

import h5py
import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from elmo_keras import pipeline, train_head
from elmo_keras.base.files import only_process
from elmo_keras.heads import (
    EntityTagging,
    PosTagging,
    Settings,
    read_conllu,
    train_task,
)
from elmo_keras.heads import run as runs
from elmo_keras.heads.head import ARRAYS

pytestmark = pytest.mark.usefixtures("folder")
OUT = Path("out")
RESULTS = OUT / "results.json"


def run(**more):
    """Trains a small tagger, and returns its results."""
    options = {"train": "train.conllu", "dev": "dev.conllu", "output": OUT, "units": 5}
    options |= {"model": "none", "word_dim": 4, "character_dim": 2}
    options |= {"epochs": 1, "limit": 8}  # one step
    return train_task(PosTagging(no_crf=True), Settings(**options | more))


ROWS = [
    {"text": f"{name} left {town}.", "label": [[0, 3, "PER"], [9, 13, "LOC"]]}
    for name, town in zip(("Ann", "Bob", "Kim", "Sue", "Max") * 2, ("Rome", "Bonn") * 5)
]
TEXT = "Ann saw Bob in Rome."


@pytest.fixture
def train_ner(model_directory, eagerly):
    """Trains a small head on data; the model in a folder is that of other tests."""

    def train(data, **more):
        options = {"model": str(model_directory), "units": 3, "epochs": 1, "seed": 1}
        return train_head("ner", train=data, **options | more)

    return train


def test_a_list_a_data_frame_and_a_file_of_doccano_train_the_same_head(train_ner):
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    heads = []
    for data in ROWS, pd.DataFrame(ROWS), "rows.jsonl":
        random.seed()  # a head depends on its own seed alone
        heads.append(train_ner(data))
    first, *others = [(head.folder / ARRAYS).read_bytes() for head in heads]
    assert others == [first, first]
    scores = [head.evaluate("rows.jsonl").scores for head in heads]
    assert scores == [heads[0].evaluate(ROWS).scores] * 3
    other = train_ner(ROWS, seed=2)
    assert (other.folder / ARRAYS).read_bytes() != first


def test_without_output_a_head_lies_in_a_temporary_folder_until_it_is_saved(train_ner):
    head = train_ner(ROWS)
    folder, expected = head.folder, head(TEXT)
    head.save("saved")
    assert Path("saved/language_model").is_dir() and folder.exists()
    assert pipeline("saved")(TEXT) == expected
    del head
    gc.collect()
    assert not folder.exists() and pipeline("saved")(TEXT) == expected
    head = train_ner(ROWS, model="none", word_dim=4, character_dim=2)
    expected = head(TEXT)
    head.save("keras")
    assert pipeline("keras")(TEXT) == expected
    with pytest.raises(FileExistsError, match="saved exists. Give another name"):
        head.save("saved")
    assert pipeline("saved").model.tags, "the head before is intact"


def test_training_leaves_random_numbers_and_the_session_of_keras(train_ner):
    def draw():
        numbers = random.random(), np.random.rand()
        return *numbers, *(float(x.uniform(())) for x in (keras.random, tf.random))

    keras.utils.set_random_seed(3)
    expected = draw()
    keras.utils.set_random_seed(3)
    n_names = keras.backend.get_uid("name")
    train_ner(ROWS)
    assert draw() == expected and keras.backend.get_uid("name") == n_names + 1


def test_a_finished_run_on_data_in_memory_is_read_and_its_card_has_the_call(train_ner):
    expected = train_ner(ROWS, output="out")(TEXT)
    assert train_ner(ROWS, output="out")(TEXT) == expected
    card = (OUT / "model_card.md").read_text()
    assert "8 examples (train); 2 examples (dev)." in card
    assert "```python\ntrain_head('ner', train=…, output='out', model='" in card
    with pytest.raises(ValueError, match="made with data "):
        train_ner(ROWS[:8], output="out")


def test_labels_that_say_nothing_are_refused_and_new_ones_in_dev_named(train_ner):
    options = {"word_dim": 2, "model": "none"}
    with pytest.raises(ValueError, match="train should have two labels .* Found: p"):
        train_head("classify", train=[{"text": "a", "label": "p"}] * 9, **options)
    with pytest.raises(
        ValueError, match="train should have two tags or more. Found: O"
    ):
        train_head("ner", train=[{"text": "Ann", "label": []}] * 9, **options)
    with pytest.raises(ValueError, match="`labels` should be one line"):
        train_head("classify", train=[{"text": "a", "label": x} for x in "p\x1b" * 5])
    many = [{"tokens": ["a"] * 1001, "tags": [*map(str, range(1001))]}] * 9
    with pytest.raises(
        ValueError, match="1,001 tags, and a CRF takes 1,000. .*`no_crf`"
    ):
        train_head("pos", train=many)
    unanswered = {"context": "a", "question": "b", "answers": []}
    word = {"tokens": ["It"], "upos": ["PRON"], "head": [0], "deprel": ["root"]}
    for kind, row, lacking in (
        ("qa", unanswered, "an answer at its `answer_start`"),
        ("coref", {"sentences": [["a", "b"]]}, "clusters"),
        ("ud", word, "a relation other than root"),
    ):
        with pytest.raises(ValueError, match=f"^train should have {lacking}.$"):
            train_head(kind, train=[row] * 9, **options)
    multi_label = [{"text": "a", "labels": ["p", "n"]}]
    single_label = [{"text": "a", "label": label} for label in "pn"]
    with pytest.raises(ValueError, match="train has one label each, and dev or test"):
        train_head("classify", train=single_label, dev=multi_label, **options)
    dev = [{"text": "Ann left.", "label": [[0, 3, "ORG"], [4, 8, "X"]]}]
    with pytest.warns(UserWarning, match="^dev has labels that train lacks.*: ORG, X$"):
        train_ner(ROWS, dev=dev)


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[]", "5", 10**5 * "["),
        '{"dev": {}, "test": {}, "settings": []}',
        '{"dev": 5, "test": {}, "settings": {}}',
    ],
)
def test_a_file_that_holds_no_results_is_refused(text):
    OUT.mkdir()
    RESULTS.write_text(text)
    with pytest.raises(ValueError, match="^out/results.json should hold the results"):
        run()


def test_a_folder_that_another_process_writes_is_refused(eagerly):
    with only_process(OUT, ""), pytest.raises(ValueError, match="Another process wri"):
        run()
    assert not RESULTS.exists() and run()["epochs"] == 1


def test_a_language_model_that_no_head_may_name_is_refused(train_ner):
    with pytest.raises(ValueError, match="https://HOST/PATH of a public host"):
        train_ner(ROWS, model="http://127.0.0.1/lm")


def test_what_is_no_kind_and_no_setting_is_refused_by_name(train_ner):
    with pytest.raises(TypeError, match="`metric` is not a setting of ner"):
        train_ner(ROWS, metric="squad", output="out")
    for kind in "tag", ROWS:
        with pytest.raises(ValueError, match="`kind` should be one of pos, ner, "):
            train_head(kind, train=ROWS, output="out")
    for name in "output", "model", "word_vectors":
        with pytest.raises(
            TypeError, match=f"`{name}` should be a path or a name. Rec"
        ):
            train_ner(ROWS, **{"output": "out", name: ROWS})
    with pytest.raises(ValueError, match="^train:row 0: spans are expected in "):
        train_ner([{"text": "Ann"}], output="out")
    with pytest.raises(ValueError, match="A pipeline of srl needs a frozen language"):
        train_head("srl", train=ROWS, model="none", output="out")
    wrong = {"epochs": 0, "batch_size": 2.5, "patience": 0, "limit": 0, "seed": -1}
    wrong |= {"share": 0, "dev_share": 20, "dropout": 1, "tokenizer": "nltk"}
    wrong |= {"learning_rate": float("nan"), "elmo_at": "top", "columns": (0, 1)}
    with pytest.raises(ValueError, match="`metric` should be one of .* Received: 'x'"):
        train_head("qa", train=ROWS, metric="x", output="out")
    for name, value in wrong.items():
        with pytest.raises(ValueError, match=rf"^`({name}|word)` should be "):
            train_ner(ROWS, **{"output": "out", name: value})
    assert not OUT.exists()


def test_a_finished_run_is_kept_and_another_one_refused(
    eagerly, word_classes, monkeypatch
):
    results = run()
    before = RESULTS.read_bytes()
    assert run() == results == json.loads(before)
    with pytest.raises(ValueError, match="made with batch_size 8; this run has 7"):
        run(batch_size=7)
    with monkeypatch.context() as patch:
        patch.setattr(runs, "FEW_EXAMPLES", 1)
        with pytest.raises(ValueError, match="with batch_size 8; this run has 32"):
            run()
    both = "made with seed 1; this run has 2; with batch_size 8; this run has 7. Name"
    with pytest.raises(ValueError, match=both):
        run(batch_size=7, seed=2)
    word_classes("train.conllu", 31, 2)
    with pytest.raises(ValueError, match="made with data "):
        run()
    assert RESULTS.read_bytes() == before


def test_without_a_frozen_language_model_the_folder_is_its_keras_model(eagerly):
    run()
    names = {path.name for path in OUT.iterdir()}
    assert names == {"model.keras", "model_card.md", "results.json"}
    assert pipeline(OUT).type == pipeline(OUT / "model.keras").type == "words"


@pytest.mark.parametrize(
    ("more", "n_examples", "expected"),
    [
        ({}, 100, (48, 8, 0, 0, "int8")),
        ({}, 5000, (12, 32, 0, 0, "int8")),
        ({}, 9, (50, 8, 0, 0, "int8")),
        ({"epochs": 3, "batch_size": 2, "word_dim": 7}, 9, (3, 2, 7, 0, "int8")),
        ({"elmo_at": "output"}, 5000, (12, 32, 100, 64, "int8")),
        ({"model": "none", "fine_tune": True}, 5000, (12, 32, 100, 64, None)),
    ],
)
def test_the_defaults_are_those_of_the_packages_heads(more, n_examples, expected):
    pytest.importorskip("ai_edge_litert")
    settings = Settings(train=Path("x"), output=Path("y"), **more)
    resolved = runs.resolve(settings, PosTagging.defaults)
    chosen = runs.resolve_sizes(resolved, 12, n_examples)
    names = "epochs", "batch_size", "word_dim", "character_dim", "arithmetic"
    assert tuple(getattr(chosen, name) for name in names) == expected


def test_a_model_that_has_changed_is_refused(model_directory, eagerly):
    shutil.copytree(model_directory, "lm")
    assert not run(model="lm", no_cache=True)["cached"]
    with h5py.File("lm/weights.hdf5", "r+") as weights:
        weights["CNN_proj/b_proj"][0] += 1
    with pytest.raises(ValueError, match="made with different weights"):
        run(model="lm", no_cache=True)


def test_the_layers_of_the_same_files_are_computed_once(eagerly, model_directory):
    model = str(model_directory)
    options = {"model": model, "units": 3, "epochs": 1, "limit": 8}
    settings = Settings(train="train.conllu", output=Path("a"), **options)
    task, caches = PosTagging(), {}
    train_task(task, settings, caches=caches)
    [cache] = caches.values()
    other = dataclasses.replace(settings, output=Path("b"), layers="top", seed=2)
    assert train_task(task, other, caches=caches)["cached"]
    assert list(caches.values()) == [cache]
    exact = dataclasses.replace(settings, output=Path("c"), arithmetic="float32")
    train_task(task, exact, caches=caches)
    assert list(caches.values()) != [cache]


def test_a_share_of_one_file_is_held_out():
    path = Path("train.conllu")
    settings = Settings(train=path, output=Path("out"), dev_share=0.2, limit=7)
    data = runs.read_data(PosTagging(), settings)
    everything = read_conllu("train.conllu")
    assert data.dev == [everything[i] for i in (4, 9, 14, 19)]
    assert data.train == everything[:4] + everything[5:8]
    assert data.test == []


def with_vectors(**more):
    """Trains with word vectors for one step."""
    # "The" is frequent, "cat" occurs once; "bird" is in the development text only.
    Path("train").write_text("The O\ncat B-X\n\nThe O\nsun B-X\n\n")
    Path("dev").write_text("a O\nBird B-X\n\n")
    if not Path("vectors").exists():
        Path("vectors").write_text("Bird 1 2 3\ncat 4 5 6\nmoon 7 8 9\n")
    options = {"train": "train", "dev": "dev", "output": OUT, "units": 3, "epochs": 1}
    options |= {"character_dim": 2, "model": "none", "dropout": 0, "learning_rate": 0.1}
    settings = Settings(**options | more)
    return train_task(EntityTagging(no_crf=True), settings, progress=True)


@pytest.mark.journey
def test_vectors_are_those_of_the_file_and_trained_unless_they_are_frozen(
    eagerly, model_directory, capsys
):
    frozen = {"freeze_word_vectors": True, "model": str(model_directory)}
    settings = with_vectors(word_vectors="vectors", **frozen)["settings"]
    assert settings["word_dim"] == 3 and settings["freeze_word_vectors"] is True
    assert capsys.readouterr().out.startswith("2 of 5 words have a vector\n")
    layer = keras.models.load_model(OUT / "model.keras").token_vectors
    table = layer.word_vectors.embeddings.numpy()
    assert layer.words == ("the", "bird", "cat") and layer.word_dim == 3
    np.testing.assert_array_equal(table[2:], [[1, 2, 3], [4, 5, 6]])
    assert np.ptp(table[:2]) > 0.1  # random, for unknown words and "the"
    assert not layer.word_vectors.trainable and layer.elmo is not None
    RESULTS.unlink()
    with_vectors(word_vectors="vectors", word_dim=3)
    layer = keras.models.load_model(OUT / "model.keras").token_vectors
    table = layer.word_vectors.embeddings.numpy()
    np.testing.assert_array_equal(table[2], [1, 2, 3])  # not in the training text
    change = np.abs(table[3] - [4, 5, 6])
    assert np.all(change > 0.01) and np.all(change < 0.2)


@pytest.mark.parametrize(
    ("tokens", "name"),
    [("Ann lives in York", "en"), ("그는 서울 Seoul 에 갔다", "ko"), ("1990 .", "en")],
)
def test_without_a_model_the_packages_is_found_by_the_script(tokens, name):
    assert runs._package_model([tokens.split()]) == name


def test_the_mixes_are_made_and_start_as_the_settings_say(model_directory):
    one = Settings(train=Path("x"), output=Path("y"), model=model_directory)
    two = dataclasses.replace(one, elmo_at="both", no_layer_norm=True)
    mixes = [runs._elmo_layer(settings).mixes for settings in (one, two)]
    assert [[mix.layer_norm for mix in row] for row in mixes] == [[True], [False] * 2]
    assert mixes[0][0].gamma == 1
