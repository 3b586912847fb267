"""Pipelines: text in, answers with their places out."""

import gc
import importlib
import itertools
import pickle
import re
import sys
import unicodedata
import warnings

import numpy as np
import pytest

from elmo_keras import pipeline
from elmo_keras.heads.answering.pipeline import AnswerPipeline
from elmo_keras.heads.pipeline import predict_texts
from elmo_keras.heads.texts import Text, join, read_text

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
    for i, p in enumerate((tagger, entities)):
        together = [p.annotate(text, predictions[i]) for text, predictions in both]
        assert together == p([RAW, "", "The bank"])


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
    find = pipeline(head("sentiment"))
    result = find(RAW)
    assert [*result] == KEYS and result["label"] in find.labels
    assert (result["text"], result["start"], result["end"]) == (RAW, 0, len(RAW))
    assert 0.5 <= result["score"] <= 1
    assert find([RAW, ["The", "bank"], ""])[0] == result
    labels = pipeline(head("emotions"))(["The bank", "Ann"])
    assert all(r["score"] >= 0.3 for results in labels for r in results)
    with pytest.warns(UserWarning, match="reads the first 1,000 tokens"):
        find("bank " * 1001)


@pytest.mark.usefixtures("eagerly")
def test_clusters_are_lists_of_mentions(head):
    text = "Ann saw the bank.\r\nShe likes it, and Ann sleeps."
    clusters = pipeline(head("coref"))(text)
    for cluster in clusters:
        assert len(cluster) > 1
        for mention in cluster:
            assert [*mention] == ["text", "score", "start", "end"]
            assert text[mention["start"] : mention["end"]] == mention["text"]
            assert 0 < mention["score"] <= 1
    assert clusters


@pytest.mark.parametrize("kind", ["pos", "ner", "srl", "coref", "ud"])
def test_a_text_without_words_has_no_results(head, kind):
    find = pipeline(head(kind))
    assert find(" \n") == []
    empty, spaces, tokens, words = find(["", " ", [], "Ann saw the bank."])
    assert empty == spaces == tokens == [] and isinstance(words, list)


def test_answers_have_places_in_long_contexts(head, monkeypatch):
    monkeypatch.setattr("elmo_keras.heads.answering.pipeline.MAX_CONTEXT", 20)
    find = pipeline(head("qa"))
    context = "Ann 🌧️ saw the bank. She sleeps.\n" * 8
    assert isinstance(find, AnswerPipeline)
    (answer,) = find(question=["Who sleeps?"], context=context)
    assert [*answer] == ["text", "score", "start", "end"]
    assert context[answer["start"] : answer["end"]] == answer["text"] != ""
    pair = read_text(0, "Who sleeps?"), read_text(0, context)
    (best,) = find.best([pair], 3)
    scores = [result["score"] for result in best]
    assert best[0] == answer and scores == sorted(scores, reverse=True)
    assert len({result["start"] for result in best}) == 3 and sum(scores) < 1
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
    with pytest.raises(ImportError, match="missing: pip install 'ai-edge-litert>="):
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


def test_a_pipeline_leaves_the_collector_as_it_was():
    gc.disable()
    try:
        pipeline("en-coref")
        assert not gc.isenabled()
    finally:
        gc.enable()
