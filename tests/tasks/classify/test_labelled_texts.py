"""Texts with labels and pairs of sentences, read from files."""

import gzip
import json
import re

import pytest

from elmo_keras.tasks.readers.labelled_texts import (
    read_fasttext,
    read_goemotions,
    read_label_names,
    read_table,
    read_trees,
)
from elmo_keras.tasks.readers.sentence_pairs import (
    read_klue,
    read_kornli,
    read_korsts,
    read_snli,
    read_tabs,
)
from elmo_keras.tasks.readers.words import words_and_punctuation

NAMES = ["joy", "anger", "neutral"]


def goemotions(path):
    return read_goemotions(path, NAMES)


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "examples"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    "text, tokens",
    [
        ("I don't know, it's Ann's.", "I do n't know , it 's Ann 's ."),
        ("They'll say DON’T...", "They 'll say DO N’T ..."),
        ("영화 최고!! 7.5점,재밌어요^^", "영화 최고 !! 7.5점 , 재밌어요 ^ ^"),
        ("F-22s at 99.9% of a_b", "F-22s at 99.9% of a _ b"),
        ("'s a n't 'quoted' word", "'s a n't ' quoted ' word"),
        ("영화.재미 (2)~~ 🙂🙂", "영화 . 재미 ( 2 ) ~~ 🙂 🙂"),
        (" \t ", ""),
    ],
)
def test_raw_text_becomes_words_and_punctuation(text, tokens):
    assert words_and_punctuation(text) == tokens.split()
    assert words_and_punctuation(tokens) == tokens.split()


def test_korean_reviews_are_split_as_the_text_of_their_language_model_is(data):
    lines = data("ko_nsmc/lm_valid.txt").read_text(encoding="utf-8").splitlines()
    same = [words_and_punctuation(line) == line.split() for line in lines]
    # What differs is rare, such as `i'll` and addresses.
    assert sum(same) > 0.995 * len(lines) > 1000


def test_fasttext_lines_have_a_label_and_tokens(file):
    path = file("__label__4\tIt 's  lovely .\r\n__label__1 Bad\n__label__2\n")
    assert read_fasttext(path) == [
        {"tokens": ["It", "'s", "lovely", "."], "label": "4"},
        {"tokens": ["Bad"], "label": "1"},
        {"tokens": [], "label": "2"},
    ]
    raw = read_fasttext(file("__label__x It's"), words_and_punctuation)
    assert raw == [{"tokens": ["It", "'s"], "label": "x"}]


def test_a_tree_has_the_label_of_its_root_and_the_words_of_its_leaves(file):
    path = file(
        "(3 (2 A) (4 (4 fine) (2 film\\/book)))\n(0 Bad)\n(1 (2 -LRB-) (1 x))\n"
    )
    assert read_trees(path) == [
        {"tokens": ["A", "fine", "film/book"], "label": "3"},
        {"tokens": ["Bad"], "label": "0"},
        {"tokens": ["(", "x"], "label": "1"},
    ]


def test_a_table_gives_documents_by_the_names_of_its_columns(file):
    path = file('id\tdocument\tlabel\n7\t되게 "좋소~\t1\n8\t\t0\n')
    assert read_table(path) == [
        {"tokens": ["되게", '"', "좋소", "~"], "label": "1"},
        {"tokens": [], "label": "0"},
    ]
    swapped = read_table(file("label\tdocument\n1\ta b\n"), str.split)
    assert swapped == [{"tokens": ["a", "b"], "label": "1"}]


def test_a_text_may_have_several_labels(file):
    path = file("Oh no!\t2,0\tid1\nYes\t1\tid2\n")
    assert goemotions(path) == [
        {"tokens": ["Oh", "no", "!"], "labels": ["neutral", "joy"]},
        {"tokens": ["Yes"], "labels": ["anger"]},
    ]
    assert read_label_names(file("joy\nanger\n")) == ["joy", "anger"]


def test_pairs_have_premise_hypothesis_and_label(file):
    pair = {"premise": ["a", "b"], "hypothesis": ["c"], "label": "1"}
    assert read_tabs(file("a b\tc\t1\n")) == [pair]
    header = "sentence1\tsentence2\tgold_label\n"
    assert read_kornli(file(f"{header}a b\tc\t1\n")) == [pair]
    assert read_kornli(file(header)) == []


def test_pairs_without_agreement_are_left_out_of_snli(file):
    lines = [
        {"gold_label": label, "sentence1": "It isn't.", "sentence2": "No", "more": 1}
        for label in ("neutral", "-", "entailment")
    ]
    examples = read_snli(file("\n".join(map(json.dumps, lines))))
    assert [example["label"] for example in examples] == ["neutral", "entailment"]
    assert examples[0]["premise"] == ["It", "is", "n't", "."]


def test_a_list_of_json_objects_gives_pairs(file):
    record = {
        "premise": "가. [나]",
        "hypothesis": "다",
        "gold_label": "neutral",
        "x": {},
    }
    expected = {"premise": ["가", ".", "[", "나", "]"], "hypothesis": ["다"]}
    for indent in (None, 1):
        path = file(json.dumps([record, record], ensure_ascii=False, indent=indent))
        assert read_klue(path) == [expected | {"label": "neutral"}] * 2
    assert read_klue(file("\n[ ]\n")) == []


def test_pairs_have_a_score(file):
    header = "genre\tscore\tsentence1\tsentence2\n"
    assert read_korsts(file(f'{header}x\t3.80\t"가" 나.\t다\n')) == [
        {"first": ['"', "가", '"', "나", "."], "second": ["다"], "score": 3.8}
    ]


TABLE = "document\tlabel\n"
KORNLI = "sentence1\tsentence2\tgold_label\n"
KORSTS = "score\tsentence1\tsentence2\n"
SNLI = '{"sentence1": "a", "sentence2": "b", "gold_label": "x"}\n'
KLUE = '{\n"premise": "a",\n"hypothesis": "b",\n"gold_label": "x"\n}'


@pytest.mark.parametrize(
    "read, text, line, reason",
    [
        (read_fasttext, "__label__1 a\nno label\n", 2, "not 'no label'"),
        (read_fasttext, "__label__1 a\n\n", 2, "not ''"),
        (read_fasttext, "__label__ a\n", 1, "one __label__… and a text"),
        (read_fasttext, "__label__1 __label__2 a\n", 1, "one __label__… and a text"),
        (read_trees, "(1 a)\n(1 (2 a)\n", 2, "a tree as"),
        (read_trees, "(1 a) (2 b)\n", 1, "a tree as"),
        (read_trees, "(1 a))\n", 1, "a tree as"),
        (read_trees, "\n", 1, "a tree as"),
        (read_table, "", 1, "Missing: document, label"),
        (read_table, "id\tdocument\n", 1, "Missing: label"),
        (read_table, f"{TABLE}a\t1\nb\n", 3, "2 fields with tabs between .*, not 1"),
        (read_table, f"{TABLE}a\t1\t2\n", 2, "2 fields .*, not 3"),
        (read_table, f"{TABLE}a\t \n", 2, "the label is missing"),
        (goemotions, "a\t1\n", 1, "3 fields .*, not 2"),
        (goemotions, "a\t1,3\tid\n", 1, r"labels from 0 to 2 .*, not \['1', '3'\]"),
        (goemotions, "a\t1\tid\na\t\tid\n", 2, "labels from 0 to 2"),
        (goemotions, "a\t-1\tid\n", 1, "labels from 0 to 2"),
        (read_label_names, "a\n\n", 2, "a new label"),
        (read_label_names, "a\nb\na\n", 3, "a new label"),
        (read_tabs, "a\tb\t1\na\tb\n", 2, "3 fields .*, not 2"),
        (read_tabs, "a\tb\t\n", 1, "the label is missing"),
        (read_kornli, f"{KORNLI}a\tb\tc\td\n", 2, "3 fields .*, not 4"),
        (read_snli, SNLI + '{"sentence1": "a"\n', 2, "JSON is expected"),
        (read_snli, SNLI + "[]\n", 2, r"an object with strings .*, not \[\]"),
        (read_snli, SNLI + '{"sentence1": "a"}\n', 2, "an object with strings"),
        (read_snli, SNLI.replace('"b"', "1"), 1, "an object with strings"),
        (read_klue, f"[\n{KLUE},\n{KLUE}\n", 11, "JSON is expected"),
        (read_klue, KLUE, 1, "a list of objects"),
        (read_klue, f"[\n{KLUE},\n{KLUE.replace('a', 'b')}\n]", 11, "object with str"),
        (read_klue, f"[\n{KLUE},\n{KLUE.replace('x', '')}\n]", 11, "label is missing"),
        (
            read_korsts,
            f"{KORSTS}5.0\ta\tb\n5.1\ta\tb\n",
            3,
            "from 0 to 5 .*, not '5.1'",
        ),
        (read_korsts, f"{KORSTS}high\ta\tb\n", 2, "not 'high'"),
        (read_korsts, f"{KORSTS}nan\ta\tb\n", 2, "not 'nan'"),
        (read_korsts, f"{KORSTS}1\ta\n", 2, "3 fields .*, not 2"),
    ],
)
def test_a_malformed_line_is_told_with_file_line_and_reason(
    file, read, text, line, reason
):
    path = file(text)
    place = re.escape(f"{path}:{line}: ")
    with pytest.raises(ValueError, match=f"^{place}.*{reason}"):
        read(path)


def test_a_file_may_be_gzipped_and_must_be_utf8(tmp_path):
    path = tmp_path / "pairs.tsv.gz"
    path.write_bytes(gzip.compress("가\t나\tx\n".encode()))
    assert read_tabs(path)[0]["premise"] == ["가"]
    path.write_bytes("a\tb\tx\n가".encode("utf-16"))
    with pytest.raises(ValueError, match="pairs.tsv.gz.*UTF-8"):
        read_tabs(path)


@pytest.mark.parametrize(
    "name, read, count, key",
    [
        ("en_sst5/sst_dev.txt", read_fasttext, 1101, "label"),
        ("en_sst5/trees/dev.txt", read_trees, 1101, "label"),
        ("ko_nsmc/ratings_valid.txt", read_table, 10_000, "label"),
        ("en_snli/dev.txt", read_tabs, 9842, "label"),
        ("ko_klue/klue-nli-v1.1_dev.first2000.json", read_klue, 2000, "label"),
        ("ko_korsts/sts-dev.tsv", read_korsts, 1500, "score"),
    ],
)
def test_the_real_files_are_read_whole(data, name, read, count, key):
    examples = read(data(name))
    n_labels = len({example[key] for example in examples})
    assert len(examples) == count and 2 <= n_labels < 200
    assert all(all(texts(example)) for example in examples)


def test_goemotions_is_read_whole(data):
    names = read_label_names(data("en_goemotions/labels.txt"))
    examples = read_goemotions(data("en_goemotions/dev.tsv"), names)
    assert (len(names), len(examples)) == (28, 5426)
    assert {label for example in examples for label in example["labels"]} == set(names)


def texts(example):
    return [value for value in example.values() if isinstance(value, list)]
