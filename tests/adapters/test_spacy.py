"""The component of spaCy's pipelines."""

import pickle
import shutil

import numpy as np
import pytest

from elmo_keras import Embedder, pipeline
from elmo_keras.heads import read_conllu
from tests.support.commands import command
from tests.support.heads import make_head

spacy = pytest.importorskip("spacy", reason="needs spaCy")

from spacy import displacy  # noqa: E402
from spacy.tokens import Doc  # noqa: E402
from spacy.training import Example  # noqa: E402
from spacy.training.converters import conllu_to_docs  # noqa: E402

from elmo_keras.adapters import spacy as adapter  # noqa: E402

TEXT = "The bank  of the river. A bank was robbed!"
SENTENCES = [["The", "bank", "of", "the", "river", "."]]
SENTENCES += [["A", "bank", "was", "robbed", "!"]]


@pytest.fixture(scope="module", params=[True, False], ids=["static_too", "alone"])
def nlp(request, lite_file):
    """A pipeline, also with static vectors, which the component's go before."""
    nlp = spacy.blank("en")
    if request.param:
        nlp.vocab.set_vector("bank", np.ones(3, np.float32))
    nlp.add_pipe("sentencizer")
    model = str(lite_file("float32"))
    nlp.add_pipe("elmo", config={"model": model, "layers": "top"})
    return nlp


def test_rows_are_those_of_spacys_tokens(nlp, lite_file):
    doc = nlp(TEXT)
    expected = Embedder(lite_file("float32"), layers="top")(SENTENCES)
    words = np.array([not token.is_space for token in doc])
    assert list(words).index(False) == 2 and words.sum() == len(doc) - 1
    np.testing.assert_allclose(doc.tensor[words], np.concatenate(expected), atol=1e-6)
    np.testing.assert_allclose(doc.tensor[2], doc.vector, atol=1e-6)
    np.testing.assert_array_equal(doc[1].vector, doc.tensor[1])
    np.testing.assert_allclose(doc[1:4].vector, doc.tensor[1:4].mean(0), atol=1e-6)
    np.testing.assert_allclose(doc.vector, doc.tensor[words].mean(0), atol=1e-6)


def test_similarity_is_the_cosine_of_the_vectors(nlp):
    doc, other = nlp(TEXT), nlp("A bank")
    a, b = doc[1].vector, doc[8].vector
    cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    assert doc[1].similarity(doc[8]) == pytest.approx(cosine, abs=1e-5)
    assert cosine < 0.999  # two senses of one spelling
    assert -1 <= doc[:3].similarity(other) < doc.similarity(doc) <= 1.00001
    assert nlp("").similarity(doc) == 0.0
    assert nlp("").vector.shape == doc.vector.shape and not nlp("").vector.any()
    assert other[0].has_vector and other.has_vector


def test_a_pipeline_is_saved_and_embeds_a_stream(nlp, tmp_path):
    nlp.to_disk(tmp_path / "pipeline")
    saved = spacy.load(tmp_path / "pipeline")
    texts = [TEXT, "", " ", "One"]
    for doc, text in zip(saved.pipe(texts, batch_size=2), texts, strict=True):
        np.testing.assert_allclose(doc.tensor, nlp(text).tensor, atol=1e-6)


def test_vectors_stay_equal_in_bytes_and_pickles(model_directory):
    nlp = spacy.blank("en")
    nlp.add_pipe("elmo", config={"model": str(model_directory), "layers": "top"})
    doc = nlp(TEXT)
    with pytest.warns(UserWarning, match="W109"):  # bytes hold no hooks
        in_bytes = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    words = [i for i, token in enumerate(doc) if not token.is_space]
    for copy in in_bytes, pickle.loads(pickle.dumps(doc)):
        np.testing.assert_allclose(copy.vector, doc.tensor[words].mean(0), atol=1e-6)
        np.testing.assert_allclose(copy[1:4].vector, doc[1:4].vector, atol=1e-6)
        np.testing.assert_allclose(copy[1].vector, doc[1].vector, atol=1e-6)
        assert copy.similarity(doc) == pytest.approx(1)


def test_several_vectors_of_a_token_are_refused(nlp):
    with pytest.raises(ValueError, match="A token has one vector"):
        adapter.ElmoPipe(nlp, "elmo", layers="all")


def test_models_at_a_path_travel_with_the_pipeline(
    model_directory, tmp_path, monkeypatch
):
    first, second = tmp_path / "first", tmp_path / "second"
    second.mkdir()
    shutil.copytree(model_directory, first / "lm")
    monkeypatch.chdir(first)
    make_head("pos", "lm", first / "heads")
    nlp = spacy.blank("en")
    nlp.add_pipe("elmo", config={"model": "lm", "layers": "top"})
    nlp.add_pipe("elmo_pos", config={"model": "heads/pos"})
    nlp.add_pipe("elmo_ner")
    expected = nlp(TEXT)
    for _ in range(2):  # also over an earlier one
        nlp.to_disk(second / "saved")
    monkeypatch.chdir(second)
    shutil.rmtree(first)
    loaded = spacy.load("saved")
    loaded.to_disk("again")
    for doc in loaded(TEXT), spacy.load("again")(TEXT):
        np.testing.assert_allclose(doc.tensor, expected.tensor, atol=1e-6)
        assert [t.pos_ for t in doc] == [t.pos_ for t in expected]
        assert [str(e) for e in doc.ents] == [str(e) for e in expected.ents]
    missing = spacy.blank("en")
    missing.add_pipe("elmo_pos", config={"model": "nowhere"})
    with pytest.raises(FileNotFoundError, match="There is no pipeline nowhere"):
        missing(TEXT)


def test_components_score_and_name_their_labels_as_spacys_do():
    nlp = spacy.blank("en")
    nlp.add_pipe("elmo_ner")
    nlp.add_pipe("elmo_pos")
    doc = nlp("Angela Merkel met Barack Obama in Berlin.")
    assert [e.text for e in doc.ents] == ["Angela Merkel", "Barack Obama", "Berlin"]
    wrong = doc.copy()
    wrong.set_ents(wrong.ents[:2])
    wrong[0].pos_ = "X"
    scores = nlp.evaluate([Example(nlp.make_doc(doc.text), x) for x in (doc, wrong)])
    assert scores["ents_p"] == 5 / 6 and scores["ents_r"] == 1
    assert scores["ents_per_type"]["LOC"]["p"] == 0.5
    assert scores["pos_acc"] == 15 / 16
    assert nlp.pipe_labels["elmo_ner"] == ["LOC", "ORG", "PER"]
    assert nlp.get_pipe("elmo_pos").labels[:2] == ("ADJ", "ADP")


def test_spacys_converter_and_ours_read_the_entities_of_annotate(tmp_path):
    text, output = tmp_path / "text.txt", tmp_path / "text.conllu"
    text.write_text("Angela  Merkel met Barack Obama.\nBerlin? Yes (Paris).\n")
    assert command("annotate")([text, output, "--with", "en-pos", "en-ner"]) == 0
    docs = [*conllu_to_docs(output.read_text(), n_sents=1, no_print=True)]
    actual = [(str(e), e.label_) for doc in docs for e in doc.ents]
    names = "Angela Merkel", "Barack Obama", "Berlin", "Paris"
    assert actual == [*zip(names, ("PER", "PER", "LOC", "LOC"))]
    rows = [example["tags"] for example in read_conllu(output, entities=True)]
    begins = [tag for row in rows for tag in row if tag[0] == "B"]
    assert begins == [*2 * ["B-PER"], *2 * ["B-LOC"]]


def test_entities_and_parts_of_speech_are_those_of_pipelines(model_directory, tmp_path):
    ner, pos, coref = (
        str(make_head(kind, model_directory, tmp_path))
        for kind in ("ner", "pos", "coref")
    )
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("elmo_ner", config={"model": ner})
    nlp.add_pipe("elmo_pos", config={"model": pos})
    doc, empty, _ = nlp.pipe([TEXT, "", " "], batch_size=2)
    entities, tags = (pipeline(head)(SENTENCES) for head in (ner, pos))
    spans = [(s["text"].replace(" ", ""), s["label"]) for row in entities for s in row]
    names = [("".join(t.text for t in e if not t.is_space), e.label_) for e in doc.ents]
    assert names == spans and spans
    labels = [t["label"] for row in tags for t in row]
    assert [t.pos_ for t in doc if not t.is_space] == labels
    assert doc[2].pos_ == "SPACE" and not empty.ents
    ruler = spacy.blank("en")
    ruler.add_pipe("entity_ruler").add_patterns([{"label": "ORG", "pattern": "bank"}])
    ruler.add_pipe("elmo_ner", config={"model": ner})
    texts = [(e.text, e.label_) for e in ruler(TEXT).ents]
    assert texts.count(("bank", "ORG")) == 2
    for head in pos, coref:
        with pytest.raises(ValueError, match="labels no entities"):
            nlp.add_pipe("elmo_ner", "b", config={"model": head})


def test_trees_are_those_of_the_pipeline(model_directory, tmp_path):
    head = make_head("ud", model_directory, tmp_path)
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("elmo_ud", config={"model": str(head)})
    doc, empty, space = nlp.pipe([f"  {TEXT}", "", " "])
    words = [token for token in doc if not token.is_space]
    expected = [word for row in pipeline(head)(SENTENCES) for word in row]
    firsts = [0] * len(SENTENCES[0]) + [len(SENTENCES[0])] * len(SENTENCES[1])
    for token, word, first in zip(words, expected, firsts, strict=True):
        target = token if word["head"] < 0 else words[first + word["head"]]
        assert token.head == target and token.text == word["text"]
        assert token.dep_ == (word["deprel"] if word["head"] >= 0 else "ROOT")
        assert (token.lemma_, token.pos_) == (word["lemma"], word["upos"])
        assert (token.tag_, str(token.morph)) == (word["xpos"], word["feats"])
    assert [len(sentence) for sentence in doc.sents] == [8, 5]  # with white space
    assert [t.dep_ for t in doc if t.is_space] == ["dep"] * 2
    assert not empty and space[0].pos_ == "SPACE"
    assert displacy.render(doc, style="dep", jupyter=False).count("<textPath") == 9
    scores = nlp.evaluate([Example(nlp.make_doc(doc.text), doc)])
    assert min(scores[name] for name in ("dep_las", "lemma_acc", "pos_acc")) > 0.9
