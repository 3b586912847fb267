"""Documents cut into windows, and as inputs."""

import numpy as np
import pytest

from elmo_keras.tasks.coreference.documents import (
    DocumentBatches,
    document_inputs,
    has_singletons,
    windows,
    without_singletons,
)

SENTENCES = [["Ann", "met", "Bob", "."], ["She"], ["He", "saw", "her"]]
SPEAKERS = [["a"] * 4, ["b"], ["a"] * 3]


def test_windows_hold_the_clusters_within_them():
    document = {
        "name": "d",
        "sentences": SENTENCES,
        "speakers": SPEAKERS,
        "clusters": [[(0, 0), (4, 4), (7, 7)], [(2, 2), (5, 5)], [(5, 6), (7, 7)]],
    }
    first, second = windows(document, 2)
    assert first["sentences"] == SENTENCES[:2] and second["sentences"] == SENTENCES[2:]
    assert second["speakers"] == SPEAKERS[2:] and second["name"] == "d"
    assert first["clusters"] == [[(0, 0), (4, 4)]]
    assert second["clusters"] == [[(0, 1), (2, 2)]]
    assert windows(document, 3) == [document]
    kept, last = windows(document, 2, singletons=True)
    assert kept["clusters"] == [[(0, 0), (4, 4)], [(2, 2)]]
    assert last["clusters"] == [[(2, 2)], [(0, 0)], [(0, 1), (2, 2)]]


def test_entities_that_are_mentioned_once_can_be_left_out():
    documents = [{"name": "d", "clusters": [[(0, 0)], [(1, 1), (2, 2)]]}]
    assert has_singletons(documents)
    documents = [without_singletons(document) for document in documents]
    assert documents == [{"name": "d", "clusters": [[(1, 1), (2, 2)]]}]
    assert not has_singletons(documents)


def test_inputs_without_tokens_or_speakers_are_refused():
    with pytest.raises(ValueError, match=r"Received: \[2\] tokens .* \[1\] speakers"):
        document_inputs([["a", "b"]], [["x"]])
    with pytest.raises(ValueError, match="1 of them empty"):
        document_inputs([["a", ""]])
    with pytest.raises(ValueError, match="should hold tokens"):
        document_inputs([[]])


def test_a_batch_is_a_document_with_the_cached_layers_of_its_sentences():
    document = {"sentences": SENTENCES, "speakers": SPEAKERS}
    assert DocumentBatches.texts([document] * 2, ["sentences"]) == 2 * SENTENCES

    def lengths(sentences):
        return np.float32([[len(sentence)] for sentence in sentences])

    documents = [document] * 3
    batches = DocumentBatches(documents, ["sentences"], cache=lengths, batch_size=2)
    assert [len(rows) for rows in batches.by_length()] == [1, 1, 1]
    inputs = batches.inputs([0])
    assert inputs["sentences"].shape == inputs["speakers"].shape == (3, 4)
    assert inputs["sentences_layers"].numpy().tolist() == [[4], [1], [3]]
