"""Pipelines: text in, answers with their places out."""

import gc
import importlib
import itertools
import json
import pickle
import re
import shutil
import subprocess
import sys
import tracemalloc
import unicodedata
import warnings

import numpy as np
import pytest

from elmo_keras import pipeline
from elmo_keras.pipelines.pipeline import AnswerPipeline, predict_texts
from elmo_keras.pipelines.texts import Text, join, read_text
from elmo_keras.tasks import head_files
from tests.support.heads import save_task_model, task_model

RAW = (
    "Dr. Kim saw the bank 👩\u200d🚀.\r\nIt isn't cafe\u0301 7.5!\r\n\r\n"
    "\ufeff\u200bHe said “No way.” Then\tshe\u00a0left\u2028 \x00\x1b[31m \U0001f1f0\U0001f1f7"
)
KEYS = ["text", "label", "score", "start", "end"]


@pytest.fixture(scope="module")
def tagger(head):
    return pipeline(head("pos"))


@pytest.fixture(scope="module")
def entities(head):
    return pipeline(head("ner"))


def test_places_are_those_of_the_text_as_it_was_given(tagger, entities):
    for find in tagger, entities:
        results = find(RAW)
        assert results and all([*result] == KEYS for result in results)
        for result in results:
            assert RAW[result["start"] : result["end"]] == result["text"]
            assert isinstance(result["score"], float) and 0 <= result["score"] <= 1
    words = [result["text"] for result in tagger(RAW)]
    left = re.sub(r"[\s\ufeff\u200b]", "", RAW)
    assert re.sub(r"[\ufeff\u200b]", "", "".join(words)) == left
    assert "cafe\u0301" in words and "👩\u200d🚀" in words and "n't" in words
    decomposed, composed = (
        [
            (word["label"], word["score"])
            for word in tagger(unicodedata.normalize(form, RAW))
        ]
        for form in ("NFD", "NFC")
    )
    assert decomposed == composed


def test_one_text_many_and_a_stream_have_the_same_results(tagger):
    texts = [RAW, "", "The bank", " \n", "Ann sleeps. The river bank."]
    expected = [tagger(text) for text in texts]
    assert tagger(texts) == tagger(np.array(texts)) == expected
    assert expected[1] == expected[3] == []
    stream = tagger(iter(texts))
    assert iter(stream) is stream and list(stream) == expected
    read = itertools.count()
    next(tagger(f"{next(read)} {'The bank of the river. ' * 100}" for _ in range(100)))
    assert next(read) < 50
    assert tagger([]) == [] and next(tagger(itertools.repeat(""))) == []
    sentences = [
        word for text in tagger(["Ann sleeps.", "The river bank."]) for word in text
    ]
    for word, alone in zip(expected[-1], sentences, strict=True):
        assert (word["label"], word["score"]) == (alone["label"], alone["score"])


def test_tokens_have_places_in_tokens(tagger, entities):
    tokens = ["New York", "is", "a", "bank", "."]
    with pytest.warns(UserWarning, match="A token holds a space"):
        (results,) = tagger([tokens])
    assert [(r["start"], r["end"]) for r in results] == [(i, i + 1) for i in range(5)]
    for result in entities([["The", "bank", "of", "Ann"]])[0]:
        tokens = ["The", "bank", "of", "Ann"][result["start"] : result["end"]]
        assert result["text"] == " ".join(tokens)


def test_a_million_characters_are_read_within_bounds(tagger):
    results = tagger("x" * 10**6)
    assert len(results) == 250 and results[-1]["end"] == 10**6


def test_pipelines_of_one_language_model_get_the_same_layers(tagger, entities):
    assert tagger.embedder is entities.embedder
    texts = [read_text(0, RAW), read_text(1, ""), read_text(2, "The bank")]
    both = list(predict_texts([tagger, entities], texts))
    assert [text for text, _ in both] == texts
    for i, one in enumerate((tagger, entities)):
        together = [one.annotate(text, predictions[i]) for text, predictions in both]
        assert together == one([RAW, "", "The bank"])


def test_roles_are_a_list_by_predicate_also_in_small_batches(head, monkeypatch):
    find = pipeline(head("srl"))
    results = find(RAW)
    for frame in results:
        assert [*frame] == ["predicate", "roles"]
        for part in [frame["predicate"], *frame["roles"]]:
            assert [*part] == KEYS
            assert RAW[part["start"] : part["end"]] == part["text"]
        assert all(role["label"] != "V" for role in frame["roles"])
    assert find(["", "The"])[0] == [] and len(results) > 1
    monkeypatch.setattr(find, "batch_size", 10)
    assert find(RAW) == results


def test_labels_have_names_and_several_are_a_list(head):
    find = pipeline(head("sentiment", label_names={"0": "bad", "1": "good"}))
    result = find(RAW)
    assert [*result] == KEYS and result["label"] in ("bad", "good")
    assert (result["text"], result["start"], result["end"]) == (RAW, 0, len(RAW))
    assert 0.5 <= result["score"] <= 1
    assert find([RAW, ["The", "bank"], ""])[0] == result
    several = pipeline(head("emotions"))(["The bank", "Ann"])
    assert all(r["score"] >= 0.3 for results in several for r in results)
    with pytest.warns(UserWarning, match="reads the first 1,000 tokens"):
        find("bank " * 1001)


def test_clusters_are_lists_of_mentions(head):
    text = "Ann saw the bank.\r\nShe likes it, and Ann sleeps."
    clusters = pipeline(head("coref"))(text)
    for cluster in clusters:
        assert len(cluster) > 1
        for mention in cluster:
            assert text[mention["start"] : mention["end"]] == mention["text"]
    assert clusters
    assert pipeline(head("coref"))("") == []


def test_answers_have_places_in_long_contexts(head, monkeypatch):
    monkeypatch.setattr("elmo_keras.pipelines.pipeline.MAX_CONTEXT", 20)
    find = pipeline(head("qa"))
    context = "Ann 🌧️ saw the bank. She sleeps.\n" * 8
    assert isinstance(find, AnswerPipeline)
    (answer,) = find(question=["Who sleeps?"], context=context)
    assert [*answer] == ["text", "score", "start", "end"]
    assert context[answer["start"] : answer["end"]] == answer["text"] != ""
    pair = read_text(0, "Who sleeps?"), read_text(0, context)
    (best,) = find.best([pair], 3)
    scores = [one["score"] for one in best]
    assert best[0] == answer and scores == sorted(scores, reverse=True)
    assert len({one["start"] for one in best}) == 3 and sum(scores) < 1
    none = {"text": "", "score": 0.0, "start": 0, "end": 0}
    assert find(question=["Who?", ""], context=["", "Ann"]) == [none, none]
    assert find(question="Who?", context="") == none
    doubting = pipeline(head("doubting"))
    for question in ("Who sleeps?", "Who?", "Ann the bank of"):
        found = doubting(question, context)
        assert 0 < found["no_answer_score"] < 1
        is_none = found["no_answer_score"] == found["score"]
        assert is_none == (found["text"] == "")
    asked = {"question": "Who sleeps?", "context": context}
    assert find(asked) == find("Who sleeps?", context) == find(**asked) == answer
    row = asked | {"id": 7}
    assert find([row, row]) == find(["Who sleeps?"] * 2, context) == [answer] * 2
    assert find([]) == []
    for texts, reason in (
        ([{"question": "Who?"}], "needs `question` and `context`"),
        (["Who?"], "needs `question` and `context`"),
        ([[asked, "a"]], "needs `question` and `context`"),
        ([["Who?", "Why?"], ["Ann"]], "2 and 1 texts"),
        ([["Who?", None], "Ann"], "in row 1"),
    ):
        with pytest.raises(TypeError, match=reason):
            find(*texts)


@pytest.mark.slow
def test_a_saved_task_model_answers_by_tensorflow(tagger, model_directory, tmp_path):
    find = pipeline(save_task_model("pos", model_directory, tmp_path))
    results, light = find(RAW), tagger(RAW)
    assert [r["text"] for r in results] == [r["text"] for r in light]
    np.testing.assert_allclose(
        [r["score"] for r in results], [r["score"] for r in light], atol=0.05
    )
    find = pipeline(save_task_model("ner", model_directory, tmp_path))
    assert all([*r] == KEYS for r in find(RAW))
    find = pipeline(str(save_task_model("sentiment", model_directory, tmp_path)))
    assert find(["The bank", "Ann"])[1]["label"] in "01"
    path = save_task_model("srl", model_directory, tmp_path)
    with pytest.raises(ValueError, match="roles of given predicates"):
        pipeline(path)


def test_another_script_is_warned_of(head):
    find = pipeline(head("pos", language="en"))
    with pytest.warns(UserWarning, match="reads English; most letters"):
        find("그는 학교에 갔다.")
    korean = pipeline(head("pos", language="ko"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        korean(["ㅋㅋㅋㅋ 굿", "ㅠㅠ", unicodedata.normalize("NFD", "그는 갔다.")])
        find(["It isn’t café 7.5!", "", "👩\u200d🚀 ...", ["Ann"]])


@pytest.mark.parametrize("texts", [None, {"text": "a"}, [5], [["a", 5]]])
def test_what_is_no_text_is_refused(texts, tagger):
    with pytest.raises(TypeError, match="should be"):
        tagger(texts)
    with pytest.raises(ValueError, match="should not be empty"):
        tagger([["a", ""]])


def test_heads_that_are_missing_or_of_another_model_are_refused(
    head, tmp_path, monkeypatch
):
    with pytest.raises(FileNotFoundError, match="There is no pipeline nope. Give the"):
        pipeline("nope")
    with pytest.raises(FileNotFoundError, match="There is no file"):
        pipeline(tmp_path / "missing.keras")
    folder = head("pos")
    monkeypatch.setattr(head_files, "_digest", lambda _: "another")
    with pytest.raises(ValueError, match="was trained on another"):
        pipeline(folder)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("head.npz", lambda content: content[:-20]),
        ("head.npz", lambda c: c[:500] + b"??" + c[502:]),
        ("head.json", lambda _: b"{}"),
        ("head.json", lambda content: content[:-20]),
        ("head.json", lambda _: b"[" * 10**6),
        ("head.json", lambda _: b"[]"),
        ("head.json", lambda _: b"\xff"),
    ],
)
def test_damaged_files_of_heads_are_refused(name, damage, head, tmp_path):
    folder = shutil.copytree(head("pos"), tmp_path / "head")
    (folder / name).write_bytes(damage((folder / name).read_bytes()))
    with pytest.raises(ValueError, match=f"{folder} should hold a whole head"):
        pipeline(folder)


@pytest.mark.parametrize("kind", ["pos", "ner", "srl", "emotions", "doubting", "ud"])
def test_every_weight_of_a_head_is_checked(kind, head, tmp_path):
    with np.load(head(kind) / "head.npz") as file:
        arrays = {name: file[name] for name in file.files}
    changes = {
        "nan": lambda x: np.full_like(x, np.nan),
        "inf": lambda x: np.full_like(x, np.inf),
        "rows": lambda x: np.concatenate([x, x]),
        "axes": lambda x: x[None],
        "double": lambda x: x.astype("float64"),
        "object": lambda x: x.astype(object),
        "missing": None,
    }
    # All kinds of damage to the arrays of one head, and one to each of the others'.
    damages = itertools.product(arrays, changes.items())
    if kind != "pos":
        damages = zip(arrays, itertools.cycle(changes.items()))
    folder = shutil.copytree(head(kind), tmp_path / "head")
    for name, (change, damaged) in damages:
        array = arrays[name]
        if array.dtype.kind != "f" and change in ("nan", "inf"):
            continue
        if (not array.ndim and change == "rows") or (name, change) == ("words", "axes"):
            continue
        others = {key: x for key, x in arrays.items() if key != name}
        new = {} if damaged is None else {name: damaged(array)}
        np.savez(folder / "head.npz", **others, **new)
        with pytest.raises(ValueError, match="should hold a whole head") as error:
            pipeline(folder)
        named = name.split("|")[0] in str(error.value)
        assert named or name == "words" or change == "object", (name, change)


@pytest.mark.parametrize(
    ("kind", "change", "reason"),
    [
        ("pos", lambda config: config.pop("tags"), "lacks 'tags'"),
        ("pos", lambda config: config.update(tags=[1, 2, 3]), "list of str"),
        ("pos", lambda config: config.update(tags=["X", "X", "Y"]), "each once"),
        ("pos", lambda config: config.update(units=10**9), "from 0 to 32768"),
        ("pos", lambda config: config.update(units="3"), "str"),
        ("sentiment", lambda config: config.update(threshold=None), "`threshold`"),
        ("ud", lambda config: config["labels"].update(upos=["X", "X"]), "each once"),
        ("qa", lambda c: c["token_vectors"]["config"].pop("elmo"), "lacks 'elmo'"),
        ("coref", lambda config: config.update(hidden_units=10**9), "from 0 to 32768"),
        ("coref", lambda config: config.update(hidden_units=7), "shape"),
    ],
)
def test_cards_of_heads_are_checked(kind, change, reason, head, tmp_path):
    folder = shutil.copytree(head(kind), tmp_path / "head")
    card = json.loads((folder / "head.json").read_text())
    change(card["model"]["config"])
    (folder / "head.json").write_text(json.dumps(card))
    with pytest.raises(ValueError, match=f"should hold a whole head.*{reason}"):
        pipeline(folder)


def test_a_head_that_unpacks_to_gigabytes_is_refused_before(head, tmp_path):
    folder = shutil.copytree(head("pos"), tmp_path / "head")
    arrays = dict(np.load(folder / "head.npz"), bomb=np.zeros(2**28, np.int8))
    np.savez_compressed(folder / "head.npz", **arrays)
    assert (folder / "head.npz").stat().st_size < 2**20
    tracemalloc.start()
    with pytest.raises(ValueError, match="unpacks to more than"):
        pipeline(folder)
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


def test_a_pipeline_is_pickled_by_its_name_and_read_in_another_folder(
    tagger, head, tmp_path, monkeypatch
):
    monkeypatch.chdir(head("pos").parent)
    find = pipeline("pos")
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(pickle.dumps(find))(RAW) == tagger(RAW)
    assert repr(find) == "pipeline('pos')"


def test_without_litert_the_error_says_what_to_install(monkeypatch):
    for name in "ai_edge_litert", "ai_edge_litert.schema_py_generated":
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "elmo_keras.lite.graph")
    with pytest.raises(
        ImportError, match=r"missing: pip install 'elmo-keras\[litert\]"
    ):
        importlib.import_module("elmo_keras.lite.graph")


def test_coreference_bounds_a_sentence_and_its_padding(head):
    find = pipeline(head("coref"))
    with pytest.warns(UserWarning, match="in pieces of 250"):
        (part,) = find.split(read_text(0, ["a"] * 600))
    assert [len(sentence) for sentence in part] == [250, 250, 100]
    texts = Text("", [["a"] * 250] + [["b"]] * 3000, [])
    with pytest.warns(UserWarning, match="within parts of about 4,000"):
        parts = find.split(texts)
    assert join(parts) == texts.sentences
    assert all(len(p) * max(map(len, p)) <= 2**16 for p in parts) and len(parts) == 2


def test_tagging_and_answering_take_no_tensorflow(head):
    code = (
        "import sys\nfrom elmo_keras import pipeline\n"
        f"print(pipeline({str(head('pos'))!r})('The bank.')[1]['text'])\n"
        f"pipeline({str(head('qa'))!r})('Who?', 'Ann.')\n"
        "assert not {'tensorflow', 'keras', 'h5py'} & {*sys.modules}"
    )
    run = [sys.executable, "-c", code]
    assert subprocess.check_output(run, text=True).strip() == "bank"


def test_a_head_is_saved_with_the_frozen_language_model_below_it(
    model_directory, tmp_path
):
    tuned = task_model("pos", model_directory, trainable_bilm=True)
    with pytest.raises(ValueError, match="on a frozen language model"):
        head_files.save_head(tuned, str(model_directory), tmp_path / "head")
    path = save_task_model("pos", model_directory, tmp_path)
    with pytest.raises(ValueError, match="was trained on another model than en"):
        head_files.save_head(path, "en", tmp_path / "head")
    (tmp_path / "junk.keras").write_bytes(b"junk")
    with pytest.raises(ValueError, match="should be a complete .keras file"):
        head_files.save_head(tmp_path / "junk.keras", "en", tmp_path / "head")
    assert not (tmp_path / "head").exists()
    damaged = task_model("pos", model_directory)
    damaged.scores.bias.assign([0.0, np.nan, 0.0])
    with pytest.raises(ValueError, match="scores/bias should hold finite numbers"):
        head_files.save_head(damaged, str(model_directory), tmp_path / "head")
    assert not (tmp_path / "head").exists()
    head_files.save_head(path, str(model_directory), tmp_path / "head")
    assert pipeline(tmp_path / "head")("The bank")[1]["text"] == "bank"


def test_a_pipeline_leaves_the_collector_as_it_was():
    gc.disable()
    try:
        pipeline("en-coref")
        assert not gc.isenabled()
    finally:
        gc.enable()
