"""Text files to numbers, and the batches of training and evaluation."""

import numpy as np
import pytest
import reference

from elmo_keras import Vocabulary
from elmo_keras.corpus import Corpus, read_sentences, sentence_batches, stream_batches
from elmo_keras.python_reference import python_reference

SENTENCES = [list("abcdefg"), list("hi"), ["j"], list("abc"), ["a"] * 11, ["k", "l"]]
CORPUS = Corpus.of(SENTENCES)
VOCABULARY = Vocabulary.count(SENTENCES, min_count=2)


def test_a_corpus_keeps_every_sentence():
    words = [[CORPUS.words[t] for t in CORPUS.sentence(i)] for i in range(len(CORPUS))]
    assert words == SENTENCES
    assert len(CORPUS.tokens) == 26 and CORPUS.n_predictions == 26 + 6
    assert len(Corpus.of([["a"], [], ["b"]])) == 2 and len(Corpus.of([])) == 0


def test_files_are_read_in_order_and_split_by_ascii_space(tmp_path):
    (tmp_path / "b.txt").write_text("한 국\u3000어 .\r\n\n", encoding="utf-8")
    (tmp_path / "a.txt").write_text("one  two\t three\n four", encoding="utf-8")
    assert list(read_sentences([str(tmp_path / "*.txt")])) == [
        ["one", "two", "three"],
        ["four"],
        ["한", "국\u3000어", "."],
    ]


def test_a_name_may_look_like_a_pattern(tmp_path):
    (tmp_path / "en[1].txt").write_text("a b")
    assert list(read_sentences([str(tmp_path / "en[1].txt")])) == [["a", "b"]]


def test_missing_files_and_other_encodings_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="No file matches .*none"):
        list(read_sentences([str(tmp_path / "none*")]))
    (tmp_path / "latin").write_bytes(b"fine\nna\xefve\n")
    with pytest.raises(ValueError, match="latin should be UTF-8. Line 2"):
        list(read_sentences([str(tmp_path / "latin")]))


def streams(config, **kwargs):
    arguments = {"batch_size": 2, "unroll_steps": 5, "seed": (1, 0)} | kwargs
    return list(
        stream_batches(CORPUS, VOCABULARY, config, **arguments).as_numpy_iterator()
    )


def rows(batches, key, direction):
    """One direction's rows over all batches, without what is behind the text."""
    real = np.concatenate([b["weights"] for b in batches], axis=1) > 0
    stream = np.concatenate([b[key][direction] for b in batches], axis=1)
    return [row[mask].tolist() for row, mask in zip(stream, real)]


@pytest.mark.parametrize("direction", [0, 1])
def test_a_stream_reads_every_sentence_once_in_the_published_order(config, direction):
    batches = streams(config)
    for batch in batches:  # words as characters, so that batches can be joined
        batch["read"] = batch["words"].copy().astype(object)
        for place, word in np.ndenumerate(batch["words"]):
            batch["read"][place] = batch["characters"][word].tobytes()
    words = ("<S>", "</S>", *"abcdefghijkl")
    names = {reference.character_ids(w, 9).astype("int32").tobytes(): w for w in words}
    ids = dict(zip(words, VOCABULARY.encode(words).tolist()))
    first, last = ("</S>", "<S>") if direction else ("<S>", "</S>")
    seen = []
    for read, targets in zip(
        rows(batches, "read", direction), rows(batches, "targets", direction)
    ):
        read = [names[x] for x in read]
        starts = [i for i, w in enumerate(read) if w == first] + [len(read)]
        for start, end in zip(starts, starts[1:]):
            sentence = read[start + 1 : end]
            assert targets[start:end] == [ids[w] for w in [*sentence, last]]
            seen.append(sentence[::-1] if direction else sentence)
    assert sorted(seen) == sorted(SENTENCES)


def test_the_order_is_a_function_of_the_seed(config):
    def targets(seed):
        return [b["targets"].tolist() for b in streams(config, seed=seed)]

    assert targets((1, 0)) == targets((1, 0)) != targets((1, 1))


def test_more_rows_than_sentences_leave_rows_without_weight(config):
    batches = streams(config, batch_size=9, unroll_steps=4)
    weights = np.concatenate([b["weights"] for b in batches], axis=1)
    assert weights.shape[0] == 9 and (weights.sum(axis=1) == 0).sum() == 3
    assert weights.sum() == CORPUS.n_predictions


def test_a_batch_holds_each_of_its_words_once(config):
    for batch in streams(config):
        assert len(np.unique(batch["characters"], axis=0)) == len(batch["characters"])


@pytest.mark.parametrize("tokens_at_once", [1, 12, 1000])
def test_evaluation_sees_every_sentence_once_with_its_boundaries(
    config, tokens_at_once
):
    seen = {}
    for batch in sentence_batches(CORPUS, VOCABULARY, config, tokens_at_once):
        size, time = batch["mask"].shape
        assert size == 1 or size * time <= tokens_at_once
        for i, ids, mask in zip(batch["sentences"], batch["ids"], batch["mask"]):
            assert int(i) not in seen
            seen[int(i)] = ids.numpy()[mask.numpy()].tolist()
    expected = {
        i: VOCABULARY.encode(["<S>", *sentence, "</S>"]).tolist()
        for i, sentence in enumerate(SENTENCES)
    }
    assert seen == expected


def test_pythons_reference_is_english_prose_without_repetition():
    sentences = [tuple(s) for topic in python_reference() for s in topic]
    assert len(sentences) == len(set(sentences)) and len(sentences) > 1500
    assert sum(map(len, sentences)) > 40_000
    words = [token for sentence in sentences for token in sentence]
    assert words.count("the") / len(words) > 0.03
