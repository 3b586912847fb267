"""The heads that come with the package."""

import zlib

import pytest

from elmo_keras import pipeline
from elmo_keras.heads import read_conllu
from elmo_keras.heads.annotate.command import annotate
from elmo_keras.heads.find import names
from elmo_keras.hub.catalogue import BOX, CARD, heads

NAMES = (
    "en-coref en-ner en-pos en-qa en-srl en-ud ko-ner ko-pos ko-sentiment ko-ud".split()
)
ANSWERS = {  # name → text → what is found
    "en-pos": (
        "She can open the can.",
        "She/PRON can/AUX open/VERB the/DET can/NOUN ./PUNCT",
    ),
    "en-ner": (
        "Angela Merkel met Barack Obama in Berlin.",
        "Angela Merkel/PER Barack Obama/PER Berlin/LOC",
    ),
    "ko-pos": ("그는 책을 샀다.", "그는/PRON 책을/NOUN 샀다/VERB ./PUNCT"),
    "ko-ner": ("문재인 대통령이 서울에서 연설했다.", "문재인/PS 서울/LC"),
}


def test_heads_are_small_and_their_cards_say_what_they_learned_from():
    assert names() == sorted(head.name for head in heads()) == NAMES
    licences = {head.name: head.licence for head in heads()}
    assert all(name in annotate.__doc__ for name in NAMES if name != "en-qa")
    total = 0
    for name in NAMES:
        files = (BOX / name).rglob("head.*")
        size = sum(len(zlib.compress(f.read_bytes())) for f in files)  # as in a wheel
        card = (BOX / name / CARD).read_text(encoding="utf-8")
        assert "**Text.**" in card and f"**Licence.** {licences[name]}" in card
        assert f"<!-- scores: {name} -->" in card
        assert name in ("en-coref", "en-qa") or "F1 by label" in card
        assert size < (4e6 if "-ud" in name else 2e6)
        total += size
    assert total < 17e6


@pytest.mark.parametrize("name", ANSWERS)
def test_labels_of_a_sentence(name):
    text, expected = ANSWERS[name]
    words = [f"{answer['text']}/{answer['label']}" for answer in pipeline(name)(text)]
    assert " ".join(words) == expected


@pytest.mark.parametrize("text", ["ELON MUSK BUYS TWITTER", "elon musk buys twitter"])
def test_names_are_found_in_letters_of_one_case(text):
    answers = pipeline("en-ner")(text)
    names = [(answer["text"].title(), answer["label"]) for answer in answers]
    assert names == [("Elon Musk", "PER"), ("Twitter", "ORG")]


def test_curly_apostrophes_are_read_as_straight_ones():
    straight, curly = pipeline("en-ud")(["They're Ann's.", "They’re Ann’s."])
    names = "lemma", "upos", "xpos", "feats", "head", "deprel", "start", "end"
    assert [[w[n] for n in names] for w in curly] == [
        [w[n] for n in names] for w in straight
    ]
    assert [w["text"] for w in curly] == ["They", "’re", "Ann", "’s", "."]


def test_roles_and_sentiment():
    (event,) = pipeline("en-srl")("Mary sold the car to John yesterday.")
    assert event["predicate"]["text"] == "sold"
    assert [(role["text"], role["label"]) for role in event["roles"]] == [
        ("Mary", "ARG0"),
        ("the car", "ARG1"),
        ("to John", "ARG2"),
        ("yesterday", "ARGM-TMP"),
    ]
    feel = pipeline("ko-sentiment")
    answers = feel(["배우들의 연기가 훌륭했다.", "너무 지루해서 졸았다."])
    assert [answer["label"] for answer in answers] == ["positive", "negative"]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "en-ud",
            "She didn't read the books. It rains.",
            "She|she|nsubj|read did|do|aux|read n't|not|advmod|read read|read|root|- "
            "the|the|det|books books|book|obj|read .|.|punct|read It|it|nsubj|rains "
            "rains|rain|root|- .|.|punct|rains",
        ),
        (
            "ko-ud",
            "그는 책을 샀다.",
            "그는|그+는|nsubj|샀다 책을|책+을|obj|샀다 샀다|사+았+다|root|- .|.|punct|샀다",
        ),
    ],
)
def test_trees_and_lemmas_of_sentences(name, text, expected):
    words = pipeline(name)(text)
    found = []
    for word in words:
        sentence = [w["text"] for w in words if w["sentence"] == word["sentence"]]
        head = "-" if word["head"] < 0 else sentence[word["head"]]
        found.append("|".join([word["text"], word["lemma"], word["deprel"], head]))
    assert " ".join(found) == expected


@pytest.mark.journey  # by TensorFlow, in which both models are built
def test_coreference_and_answers():
    clusters = pipeline("en-coref")(
        "Mary met John at the station. She gave him a book."
    )
    texts = [[mention["text"] for mention in cluster] for cluster in clusters]
    assert texts == [["Mary", "She"], ["John", "him"]]
    tower = "The Eiffel Tower was built from 1887 to 1889. It is 330 metres tall."
    asked = ["How tall is the Eiffel Tower?", "When was it built?"]
    answers = pipeline("en-qa")(question=asked, context=tower)
    assert [answer["text"] for answer in answers] == ["330 metres", "1887"]


def test_parts_of_speech_of_held_out_text(data):
    examples = read_conllu(data("en_ewt/en_ewt-ud-dev.conllu"))[:500]
    answers = pipeline("en-pos")([example["tokens"] for example in examples])
    pairs = [
        (word["label"], tag)
        for answer, example in zip(answers, examples)
        for word, tag in zip(answer, example["tags"], strict=True)
    ]
    assert sum(a == b for a, b in pairs) / len(pairs) > 0.955
