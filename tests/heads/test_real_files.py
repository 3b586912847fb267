"""A real file of each format is read as a whole, some after their conversion."""

import pytest

from elmo_keras import heads
from elmo_keras.heads.answering.decoding import NOT_KNOWN
from elmo_keras.heads.coreference.readers import has_singletons
from elmo_keras.heads.tagger.entities import entities
from tools import convert

# Reader, file, and the numbers of its sentences, texts, pairs or predicates; of tagged text
# also of its tokens and entities.
FILES = [
    (heads.read_conllu, "en_ewt/en_ewt-ud-dev.conllu", 2_001, 25_147),
    (heads.read_conllu, "ko_ud_gsd/ko_gsd-ud-dev.conllu", 950),
    (heads.read_trees, "en_ewt/en_ewt-ud-dev.conllu", 2_001),
    (heads.read_columns, "en_ner_wnut17/emerging.dev.conll", 1_009),
    (
        heads.read_columns,
        "en_ner_misc/wikigold/CONLL-format/data/wikigold.conll.txt",
        *(1_696, 39_007, 3_558),
    ),
    (heads.read_columns, "en_ner_btc/h.conll", 2_000),  # one has no word
    (heads.read_columns, "en_ner_uner/en_ewt-ud-train.iob2", 12_543),
    (convert.klue_ner, "ko_klue/klue-ner-v1.1_dev.first4000.tsv", 4_000),
    (heads.read_roles, "en_srl_ewt/dev.conll", 4_358),
    (convert.fasttext, "en_sst5/sst_dev.txt", 1_101),
    (convert.nsmc, "ko_nsmc/ratings_valid.txt", 10_000),
    (convert.goemotions, "en_goemotions/dev.tsv", 5_426),
    (convert.tabs, "en_snli/dev.txt", 9_842),
]
# Questions, and how many of them have an answer that ends within a token.
QUESTIONS = [
    ("en_qa/dev.json", 1_180, 4),
    ("en_qa_unanswerable/dev.json", 737, 1),
    ("ko_qa/korquad_dev.json", 919, 572),
    ("ko_qa/tydiqa_train.json", 1_597, 908),
]
# Documents, tokens and mentions.
DOCUMENTS = [
    ("en_coref_gum/dev.conll", 10, 8_383, 934),
    ("en_coref_litbank/dev.conll", 16, 32_814, 3_644),
    ("ko_coref_koconovel/dev.conll", 136, 32_534, 2_420),
]

pytestmark = pytest.mark.nightly  # reads 10 MB


@pytest.mark.parametrize("row", FILES, ids=lambda row: row[1])
def test_a_file_is_read_as_a_whole(row, data):
    read, name, *expected = row
    examples = list(read(data(name)))
    numbers = [len(examples)]
    if "tags" in examples[0]:
        numbers.append(sum(len(example["tokens"]) for example in examples))
    if len(expected) > 2:
        numbers.append(sum(len(entities(example["tags"])) for example in examples))
    assert numbers[: len(expected)] == expected
    if "label" in examples[0]:
        assert 2 <= len({example["label"] for example in examples}) < 200
    if "goemotions" in name:
        labels = {label for example in examples for label in example["labels"]}
        assert labels == set(data("en_goemotions/labels.txt").read_text().split())


@pytest.mark.parametrize("name, n_questions, n_within", QUESTIONS)
def test_every_question_can_be_trained_on(name, n_questions, n_within, data):
    examples = heads.read_squad(data(name))
    assert len(examples) == n_questions
    assert not any(example["n_misplaced"] for example in examples)
    assert all(t[0] != NOT_KNOWN for t in heads.Answering().targets(examples, None))
    assert sum(bool(example["ending"]) for example in examples) == n_within
    for example in filter(lambda example: example["answers"], examples):
        source, endings = example["text"], [example["ending"]]
        answer = example["offsets"].answer(source, *example["span"], endings)
        assert answer.endswith(example["answers"][0])


@pytest.mark.parametrize("name, n_documents, n_tokens, n_mentions", DOCUMENTS)
def test_documents_have_all_mentions(name, n_documents, n_tokens, n_mentions, data):
    documents = heads.read_documents(data(name))
    assert len(documents) == n_documents and not has_singletons(documents)
    assert n_tokens == sum(len(s) for d in documents for s in d["sentences"])
    assert n_mentions == sum(len(c) for d in documents for c in d["clusters"])
