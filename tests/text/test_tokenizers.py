"""Words of raw text: in all scripts, with their places, in Python and in a graph."""

import functools
import json
import shutil
import subprocess
import time
import unicodedata

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.text.tokenizers import split_spaces, split_words, word_spans
from elmo_keras.text.tokens import placed_words
from elmo_keras.text.word_rules import RULES, word_rules
from tests.support.paths import DATA, ROOT

EVERYWHERE = [
    ("I don't know, it's Ann's.", "I do n't know , it 's Ann 's ."),
    ("They'll say DON’T... I'd've", "They 'll say DO N’T ... I 'd 've"),
    ("영화 최고!! 7.5점,재밌어요", "영화 최고 !! 7.5점 , 재밌어요"),
    ("'s a n't 'quoted' word", "'s a n't ' quoted ' word"),
    ("the boys' 'tis 'em", "the boys ' 'tis 'em"),
    ("영화.재미 (2) 🙂🙂", "영화 . 재미 ( 2 ) 🙂 🙂"),
    ("Mr. Kim and J. R. R. T. of", "Mr. Kim and J. R. R. T. of"),
    ("the U.S. Army, p.m. and e.g. W.H.S. x", "the U.S. Army , p.m. and e.g. W.H.S. x"),
    ("in the U.S.", "in the U.S ."),
    ("at 3:30 on 3/4/2001 or $1,000.50", "at 3:30 on 3/4/2001 or $ 1,000.50"),
    (
        "(http://a.b/c?d=1&e_f-g). a_b@c-d.org",
        "( http://a.b/c?d=1&e_f-g ) . a_b@c-d.org",
    ),
    ("www.a.org에서 b@c.kr로", "www.a.org 에서 b@c.kr 로"),
    ("AT&T O'Neill -- a", "AT&T O'Neill -- a"),
    (" \t ", ""),
    ("नमस्ते दुनिया।", "नमस्ते दुनिया ।"),
    ("ภาษาไทยที่ดี ครับ", "ภาษาไทยที่ดี ครับ"),
    ("שָׁלוֹם, X", "שָׁלוֹם , X"),  # with vowels
    ("か\u3099く。", "か\u3099く 。"),  # decomposed
    ("می\u200cخواهم", "می\u200cخواهم"),  # with a non-joiner
    ("co\u00adop.", "co\u00adop ."),  # a soft hyphen
    ("👩\u200d👧🙂👍🏽🇰🇷🇺🇸", "👩\u200d👧 🙂 👍🏽 🇰🇷 🇺🇸"),
    ("♥\ufe0f!", "♥\ufe0f !"),  # an emoji with a selector
    ("!\u0301a", "!\u0301 a"),  # a mark of a sign
    ("가\u200b 나\u200b \ufeff \ufe0f \xad", "가 나"),  # spaces, and joiners of nothing
]
BY_TOKENIZER = [
    ("words", "F-22s at 99.9% of well-known a/b", "F-22s at 99.9 % of well-known a/b"),
    ("words", "약 50%, 50%의 50% 정도", "약 50% , 50% 의 50% 정도"),
    ("words", "cannot gonna :) ^^ @a #b a_b", "cannot gonna : ) ^ ^ @ a # b a _ b"),
    ("ewt", "a well-known F-22 at 9%", "a well - known F - 22 at 9 %"),
    ("ewt", "an e-mail, pre-war co-op", "an e-mail , pre-war co-op"),
    ("ewt", "and/or w/o 1/2", "and / or w/o 1/2"),
    (
        "ewt",
        "Cannot, gonna, gotta, dont, thats, Im",
        "Can not , gon na , got ta , do nt , that s , I m",
    ),
    ("ewt", ":) :-( =) :D <3 ^^ ^_^ -_-", ":) :-( =) :D <3 ^^ ^_^ -_-"),
    ("ewt", "what?! no.... $$$ >> << *** ,", "what ?! no .... $$$ >> << *** ,"),
    ("ewt", "@user #topic # 1 713-853-3848", "@user #topic # 1 713-853-3848"),
    ("ewt", "@_ab @5hours: @5pm #2014cup", "@_ab @5hours : @ 5 pm #2014cup"),
    (
        "ewt",
        "10am 5p.m. in '05, the '90s, 80's",
        "10 am 5 p.m. in '05 , the '90s , 80's",
    ),
    ("ewt", "the end.Then mama`s", "the end . Then mama `s"),
    ("gsd", "10~12월, 베이징-상하이 5%로 T-50", "10~12월 , 베이징-상하이 5 % 로 T-50"),
    ("gsd", "시ㆍ도 ''인용'' ^^ 와~~", "시 ㆍ 도 '' 인용 '' ^^ 와 ~ ~"),
]
CASES = [(name, *case) for case in EVERYWHERE for name in RULES] + BY_TOKENIZER


@pytest.mark.parametrize(("tokenizer", "text", "tokens"), CASES)
def test_words_are_split_as_in_the_corpora(tokenizer, text, tokens):
    assert split_words(text, tokenizer) == tokens.split()


# What rules of `split_words` look at, and neighbours of each kind.
PIECES = [
    *"aAntTsSmdrevlK'’.,!?~-_%·/ 012é한क👩🏽²\t\u3000\u0301\u200d\u017f\u212a",
    "n't",
]
PIECES += [*"\u200b\u2060\u0130\u0131\u093f\u00ad"]
TEXTS = [
    "In 1990, Ann's café (été) cost $3.50 — _why_?",
    "서울에서 만났다. 제2차 세계 대전은",
    "नमस्ते दुनिया, สวัสดีชาวโลก",
    "nai\u0308ve a\u200db \u200da \U0001f468\u200d\U0001f469\u200d_x _a\u0301b \u0301x",
    "a\xa0b\u200bc\u3000d\x1ce\x85f\tg\nh\rj\x0bk\u2028l",
    "co\xadoperate x\u2060y \u200d \u200c",
    "",
    " \n ",
    "中文 ½² Ⅷ ٣ ª",
]


def drawn_texts(n=200):
    rng = np.random.default_rng(0)
    return ["".join(rng.choice(PIECES, n)) for n in rng.integers(0, 24, n)]


def all_texts():
    """3,000 drawn texts, and 5,000 lines of reviews, articles, messages, the web."""
    files = {
        "ko_nsmc/ratings_valid.txt": lambda line: line.split("\t")[1],
        "en_goemotions/dev.tsv": lambda line: line.split("\t")[0],
        "en_qa/train.json": None,
        "ko_qa/korquad_train.json": None,
        "en_ewt/en_ewt-ud-dev.conllu": lambda line: line.partition("# text = ")[2],
        "ko_ud_gsd/ko_gsd-ud-dev.conllu": lambda line: line.partition("# text = ")[2],
    }
    lines = []
    for name, column in files.items():
        if not (DATA / name).exists():
            pytest.skip(f"needs {name} in the folder of ELMO_KERAS_DATA")
        content = (DATA / name).read_text(encoding="utf-8")
        if column is None:
            articles = json.loads(content)["data"]
            texts = [p["context"] for a in articles for p in a["paragraphs"]]
        else:
            texts = [*filter(None, map(column, content.splitlines()))]
        lines += texts[:1000]
    assert len(lines) > 5_000
    return [*drawn_texts(3000), *lines]


@functools.cache
def spans_of(texts, tokenizer):
    """Pairs of a text and the spans that Python finds."""
    texts = [*TEXTS, *(text for _, text, _ in CASES), *texts()]
    return [(text, word_spans(text, tokenizer)) for text in texts]


EACH_TEXT = pytest.mark.parametrize(
    "texts", [drawn_texts, pytest.param(all_texts, marks=pytest.mark.nightly)]
)


@EACH_TEXT
@pytest.mark.parametrize("tokenizer", RULES)
def test_a_graph_splits_as_python_does(tokenizer, texts):
    pairs = spans_of(texts, tokenizer)
    placed = placed_words(tf.constant([text for text, _ in pairs]), tokenizer)
    rows = zip(
        pairs, *(x.to_list() for x in (placed.words, placed.begins, placed.ends))
    )
    for (text, spans), words, begins, ends in rows:
        assert [w.decode() for w in words] == [text[a:b] for a, b in spans], ascii(text)
        sizes = [(len(text[:a].encode()), len(text[:b].encode())) for a, b in spans]
        assert [*zip(begins, ends)] == sizes


@EACH_TEXT
@pytest.mark.parametrize("tokenizer", RULES)
def test_a_browser_splits_as_python_does(tokenizer, texts):
    if shutil.which("node") is None:
        pytest.skip("needs Node.js")
    pairs = spans_of(texts, tokenizer)
    source = f"""
        import {{splitter}} from {json.dumps(str(ROOT / "docs/live/words.mjs"))};
        import {{readFileSync}} from "node:fs";
        const {{rules, texts}} = JSON.parse(readFileSync(0, "utf8"));
        console.log(JSON.stringify(texts.map(splitter(rules))));
    """
    texts = [text for text, _ in pairs]
    sent = {"rules": word_rules(tokenizer, explicit=True), "texts": texts}
    node = ["node", "--input-type=module", "--eval", source]
    result = subprocess.run(
        node, input=json.dumps(sent), capture_output=True, text=True
    )
    assert not result.returncode, result.stderr[-2000:]
    for (text, spans), words in zip(pairs, json.loads(result.stdout), strict=True):
        assert words == [text[a:b] for a, b in spans], ascii(text)


KINDS = (
    "a 1 가 . , ' - / : @ # % $ ~ ! & _ ( < ` a. a- a' a/ a@ a@a. 1. 1- 1: 1/ 'a A. Mr."
)
KINDS += " http://a www. e- ^ :) 가. 가~ \u200d a\u0301 \U0001f600 n't 's can not \x1f"


@pytest.mark.parametrize("tokenizer", RULES)
def test_the_time_is_linear(tokenizer):
    kinds = KINDS.split() + ["a ", ". ", "Mr. ", "1% 가 ", " ", "\n"]
    texts = [kind * (4_000 // len(kind)) for kind in kinds]
    lengths = []
    for text in texts:
        begin = time.process_time()
        lengths.append(len(word_spans(text, tokenizer)))
        assert time.process_time() - begin < 0.5, text[:10]  # quadratic: 2.4
    begin = time.process_time()
    words = placed_words(tf.constant(texts), tokenizer).words
    assert time.process_time() - begin < len(texts)
    assert words.row_lengths().numpy().tolist() == lengths


def test_split_text_is_split_at_ascii_white_space_only():
    text = " 2\xa01/2 \t東京\u3000都\u2028x\x85\x1cy\r\n"
    assert split_spaces(text) == ["2\xa01/2", "東京\u3000都\u2028x\x85\x1cy"]
    # Text of the language model is split as bytes.
    assert split_spaces(text) == [t.decode() for t in text.encode().split()]
    assert split_spaces(" \n") == []


def test_decomposed_text_has_the_words_of_composed_text():
    composed = "José, 서울에서 3.5 café"
    tokens = split_words(unicodedata.normalize("NFD", composed))
    normalized = [unicodedata.normalize("NFC", token) for token in tokens]
    assert normalized == split_words(composed)
    assert len(tokens[0]) == 5  # "e" and its accent
