"""Universal Dependencies of texts."""

from elmo_keras import pipeline
from elmo_keras.heads.parser import decoding


def test_the_pieces_of_a_long_sentence_form_one_tree(head, monkeypatch):
    monkeypatch.setattr(decoding, "LONGEST", 4)
    (words,) = pipeline(head("ud"))([["bank", "of"] * 5])
    heads = [word["head"] for word in words]
    (root,) = [i for i, parent in enumerate(heads) if parent < 0]
    assert root < 4
    for i, parent in enumerate(heads):
        assert parent in (-1, root) or parent // 4 == i // 4
    for _ in heads:
        heads = [parent if parent < 0 else heads[parent] for parent in heads]
    assert {*heads} == {-1}


def test_words_have_their_columns_and_places_in_the_text(head):
    text = "The  bank. Don't!"
    words = pipeline(head("ud"))(text)
    assert [text[w["start"] : w["end"]] for w in words] == [w["text"] for w in words]
    assert [w["sentence"] for w in words] == [0, 0, 0, 1, 1, 1]
    for word in words:
        assert [*word] == [
            *("text", "sentence", "lemma", "upos", "xpos", "feats", "head"),
            *("deprel", "score", "start", "end"),
        ]
        assert isinstance(word["score"], float) and 0 < word["score"] <= 1
        assert (word["head"] < 0) == (word["deprel"] == "root")
        assert word["feats"] in ("", "Number=Sing")
