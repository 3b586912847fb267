"""The files of heads are saved and read, and a line names each damage."""

import functools
import itertools
import json
import os
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from elmo_keras import pipeline
from elmo_keras.heads.head import ARRAYS, HEAD, keras_model, read_head, save_head
from tests.support.heads import save_task_model, task_model


def with_header(old, new):
    """Changes the header of a file of safetensors, which begins with its length."""

    def change(content):
        end = 8 + int.from_bytes(content[:8], "little")
        header = content[8:end].replace(old, new)
        return len(header).to_bytes(8, "little") + header + content[end:]

    return change


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        (ARRAYS, lambda content: content[:-20]),
        (ARRAYS, lambda content: content[:20] + b"??" + content[22:]),
        (ARRAYS, lambda content: b"\xff" * 8 + content[8:]),
        (ARRAYS, lambda _: b""),
        (ARRAYS, with_header(b'"I8"', b'"U8"')),
        (ARRAYS, with_header(b'"I8"', b'"F8_E4M3"')),  # NumPy lacks it
        (ARRAYS, with_header(b'"shape":[3]', b'"shape":[%d]' % 2**62)),
        (HEAD, lambda content: content[:-20]),
        (HEAD, lambda _: b"[" * 10**6),
        (HEAD, lambda _: b"[]"),
        (HEAD, lambda _: b"\xff"),
    ],
)
def test_damaged_files_of_heads_are_refused(name, damage, head, tmp_path):
    folder = shutil.copytree(head("pos"), tmp_path / "head")
    (folder / name).write_bytes(damage((folder / name).read_bytes()))
    with pytest.raises(ValueError, match=f"^{folder} should hold a whole head. "):
        pipeline(folder)


@pytest.mark.parametrize(("name", "size"), [(ARRAYS, 2**28), (HEAD, 2**25)])
def test_a_file_that_is_too_large_is_refused(name, size, head, tmp_path):
    folder = shutil.copytree(head("pos"), tmp_path / "head")
    os.truncate(folder / name, size + 1)
    with pytest.raises(ValueError, match=f"{folder}/{name} should have at most"):
        pipeline(folder)


CHANGES = {
    "nan": lambda x: np.full_like(x, np.nan),
    "inf": lambda x: np.full_like(x, np.inf),
    "rows": lambda x: np.concatenate([x, x]),
    "axes": lambda x: x[None],
    "double": lambda x: x.astype("float64"),
    "missing": None,
}


@pytest.mark.parametrize("kind", ["pos", "srl", "doubting", "ud"])
def test_every_weight_of_a_head_is_checked(kind, head, tmp_path):
    arrays = load_file(head(kind) / ARRAYS)
    # All kinds of damage to the arrays of one head, and one to each of the others'.
    damages = itertools.product(arrays, CHANGES.items())
    if kind != "pos":
        damages = zip(arrays, itertools.cycle(CHANGES.items()))
    folder = shutil.copytree(head(kind), tmp_path / "head")
    for name, (change, damaged) in damages:
        array = arrays[name]
        if array.dtype.kind != "f" and change in ("nan", "inf"):
            continue
        if not array.ndim and change == "rows":
            continue
        others = {key: x for key, x in arrays.items() if key != name}
        save_file(others | ({name: damaged(array)} if damaged else {}), folder / ARRAYS)
        with pytest.raises(ValueError, match=f"{folder} should hold a whole") as error:
            pipeline(folder)
        assert name.split("|")[0] in str(error.value), (name, change)


MISSING = object()  # the value of a field that is left out
CONTROLS = "A\x1b[31m", "A\nB", "A\tB", "A\u2028", "A\x07", "\ud800"
PRIVATE = "http://127.0.0.1:8000/lm", "https://localhost/lm", "https://10.0.0.1/lm"
PRIVATE += "https://host.org@10.0.0.1/lm", "file:///etc"


@pytest.mark.parametrize(
    ("kind", "field", "value", "reason"),
    [
        ("pos", "kind", MISSING, "`kind` is missing"),
        ("pos", "kind", "tag", "`kind` should be one of pos, "),
        ("pos", "other", 1, "`other` is not known"),
        ("pos", "tokenizer", "x", "`tokenizer` should be one"),
        ("pos", "language", '"><script>', "`language` should be a code"),
        ("pos", "language_model", "a\x1b[2J", "without tabs and contr"),
        *(("pos", "language_model", name, "public host") for name in PRIVATE),
        *(("pos", "model.tags", ["X", x, "Y"], "without tabs and") for x in CONTROLS),
        ("ud", "model.relations", ["a\tb"], "`relations` should be"),
        ("ud", "model.labels.lemma", ["=a\tb"], "`lemma` should"),
        ("ud", "model.lemmas", {"a": "\n"}, "`lemmas` should be one"),
        ("pos", "elmo.layers", 3, "`layers` should be one"),
        ("pos", "elmo.n_layers", 1e9, "should be int"),
        ("pos", "model.tags", MISSING, "`tags` is missing"),
        ("pos", "model.tags", [1, 2, 3], "be list[str]"),
        ("pos", "model.tags", ["X", "X", "Y"], "each once"),
        ("pos", "model.units", 10**9, "from 0 to 32768"),
        ("sentiment", "model.threshold", None, "should be float"),
        ("ud", "model.labels.upos", ["X", "X"], "each once"),
        ("qa", "elmo", MISSING, "`elmo` is missing"),
        ("coref", "model.hidden_units", 2**15 + 1, "0 to 32768"),
        ("coref", "model.hidden_units", 7, "shape"),
        ("coref", "model.longest", "3", "should be int"),
        ("coref", "model.other", 1, "other"),
    ],
)
def test_cards_of_heads_are_checked(kind, field, value, reason, head, tmp_path):
    folder = shutil.copytree(head(kind), tmp_path / "head")
    card = json.loads((folder / HEAD).read_text())
    *path, name = field.split(".")
    part = functools.reduce(dict.__getitem__, path, card)
    part[name] = value
    if value is MISSING:
        del part[name]
    (folder / HEAD).write_text(json.dumps(card))
    with pytest.raises(ValueError, match=f"{folder} should hold a whole head") as error:
        pipeline(folder)
    assert reason in str(error.value)


def test_heads_that_are_missing_or_of_another_model_are_refused(head, tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no pipeline nope. Give the"):
        pipeline("nope")
    with pytest.raises(FileNotFoundError, match="There is no file"):
        pipeline(tmp_path / "missing.keras")
    folder = shutil.copytree(head("pos"), tmp_path / "head")
    card = json.loads((folder / HEAD).read_text())
    (folder / HEAD).write_text(json.dumps(card | {"digest": "another"}))
    with pytest.raises(ValueError, match=f"{folder} was trained on another"):
        pipeline(folder)
    (tmp_path / "lm").mkdir()
    (folder / HEAD).write_text(json.dumps(card | {"language_model": "../lm"}))
    with pytest.raises(ValueError, match=f"{tmp_path}/lm should hold a language model"):
        pipeline(folder)


def test_a_head_is_saved_with_the_frozen_language_model_below_it(
    model_directory, tmp_path
):
    tuned = task_model("pos", model_directory, trainable_bilm=True)
    with pytest.raises(ValueError, match="on a frozen language model"):
        save_head(tuned, str(model_directory), tmp_path / "head")
    path = save_task_model("pos", model_directory, tmp_path)
    with pytest.raises(ValueError, match="was trained on another model than en"):
        save_head(path, "en", tmp_path / "head")
    (tmp_path / "junk.keras").write_bytes(b"junk")
    with pytest.raises(ValueError, match="should be a sound Keras model"):
        save_head(tmp_path / "junk.keras", "en", tmp_path / "head")
    damaged = task_model("pos", model_directory)
    damaged.tag_scores.bias.assign([0.0, np.nan, 0.0])
    with pytest.raises(ValueError, match="tag_scores/bias should hold finite numbers"):
        save_head(damaged, str(model_directory), tmp_path / "head")
    assert not (tmp_path / "head").exists()
    save_head(path, str(model_directory), tmp_path / "head")
    assert pipeline(tmp_path / "head")("The bank")[1]["text"] == "bank"
    with pytest.raises(ValueError, match="roles of given predicates"):
        pipeline(save_task_model("srl", model_directory, tmp_path))


@pytest.mark.parametrize("kind", ["ner", "emotions", "qa", "coref"])
def test_a_head_has_the_weights_of_its_model(kind, model_directory, tmp_path):
    model = task_model(kind, model_directory)
    save_head(model, str(model_directory), tmp_path)
    saved = keras_model(read_head(tmp_path)).named_weights()
    for name, weight in model.named_weights().items():
        atol = np.abs(weight).max() / 254 * 1.01
        np.testing.assert_allclose(saved[name], weight, atol=atol, err_msg=name)
