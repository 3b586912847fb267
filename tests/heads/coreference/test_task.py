"""Coreference as a task."""

import sys

import numpy as np
import pytest

from elmo_keras.heads import Coreference, CoreferenceModel
from elmo_keras.heads.best_epoch import score_model
from tests.support import task_models as support
from tests.support.task_models import built, token_vectors


def test_the_training_file_decides_whether_single_mentions_count(tmp_path):
    """Entities mentioned once are learned and scored where --train has such."""
    text = stories(2, np.random.default_rng(0))
    train, single = tmp_path / "train.conll", tmp_path / "single.conll"
    train.write_text(text)
    single.write_text(text.replace("* -\n", "* (7)\n", 1))
    for path, options, learned in [
        (single, {}, True),
        (single, {"no_singletons": True}, False),
        (train, {}, False),
    ]:
        task = Coreference(sentences=9, **options)
        model = task.make_model(token_vectors(), task.cut(task.read(path)))
        assert model.singletons == learned
        documents = task.read(single)
        pairs = [max(document["clusters"], key=len) for document in documents]
        scores = support.scores_of(task, model, documents, [[pair] for pair in pairs])
        # The single mention is missing: 4 of 5 mentions, 2 of 3 entities.
        assert scores["MUC"] == 1
        assert scores["B³"] == pytest.approx(2 * 4 / 9 if learned else 1)
        assert scores["CEAF φ4"] == pytest.approx(2 * 2 / 5 if learned else 1)


def test_the_labels_are_spans_with_the_number_of_their_cluster():
    documents = [{"clusters": [[(0, 1), (4, 4)], [(2, 2), (3, 3)]]}, {"clusters": []}]
    first, second = Coreference().targets(documents, None)
    assert first.tolist() == [[0, 1, 0], [4, 4, 0], [2, 2, 1], [3, 3, 1]]
    assert second.shape == (0, 3) and second.dtype == "int32"


WOMEN, MEN = ["Ann", "Eve", "Dora", "Mary"], ["Bob", "Tom", "Cem", "Paul"]


def stories(n, rng):
    """Two people meet; then one of them does something, as "she" or "he"."""
    text = ""
    for i in range(n):
        pair = [(rng.choice(WOMEN), "She"), (rng.choice(MEN), "He")]
        if rng.random() < 0.5:
            pair.reverse()
        mentioned = int(rng.integers(2))
        entity = ["-", "-"]
        entity[mentioned] = "(0)"
        words = [(pair[0][0], entity[0]), ("met", "-"), (pair[1][0], entity[1]), None]
        words += [(pair[mentioned][1], "(0)"), ("smiled", "-"), None]
        text += support.document(words, f"d{i}")
    return text


@pytest.mark.journey
def test_links_are_as_likely_as_raises_f1_most(tmp_path):
    path, task = tmp_path / "dev.conll", Coreference()
    path.write_text(stories(9, np.random.default_rng(0)))
    documents, vectors = task.read(path), token_vectors(words=("ann", "bob"))
    sizes = {"units": 3, "hidden_units": 7, "longest": 2, "mentions_per_token": 9.0}
    model = built(CoreferenceModel(vectors, **sizes))
    batches, bias = model.batches(documents), model.antecedents.scores.bias
    before = bias.numpy()

    def f1_with(shift):
        bias.assign(before + shift)
        return score_model(task, model, batches)[0]["CoNLL F1"]

    shifts = [-2, -0.5, 0, 0.5, 1, 2, 4]
    scores = [f1_with(shift) for shift in shifts]
    bias.assign(before)
    task.calibrate(model, batches)
    shift = bias.numpy() - before
    assert f1_with(shift) >= max(scores) > min(scores)


def test_without_scipy_no_file_is_read(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ImportError, match="scipy"):
        Coreference().read("train.conll")
