"""The live page in browsers, against the engine in Python."""

import dataclasses
import functools
import http.server
import importlib.util
import json
import queue
import re
import shutil
import subprocess
import threading

import numpy as np
import pytest

from elmo_keras import Embedder, LanguageModel, split_words
from elmo_keras.formats.model_directory import save_model
from elmo_keras.heads.answering.decoding import best_answer
from elmo_keras.heads.answering.light import LightAnswerer
from elmo_keras.heads.classifier.light import LightClassifier
from elmo_keras.heads.head import read_head
from elmo_keras.heads.pipeline import pipeline
from elmo_keras.heads.tagger.light import LightTagger
from elmo_keras.heads.token_batch import TokenBatch
from elmo_keras.text.vocabulary import Vocabulary
from tests.support.heads import make_head
from tests.support.models import random_bilm
from tests.support.paths import ROOT
from tests.support.sizes import CONFIG

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert")
pytestmark = pytest.mark.nightly

LIVE = ROOT / "docs" / "live"
SENTENCES = [
    "The bank of the river .".split(),
    ["bank"],
    "나는 어제 배를 먹었다 . 🙂 é <S>".split(),
    ["unbelievablylong", "가나다라마바사", "aaaaaa한국어", "\U0001f642" * 4, "word"]
    * 5,
]
TEXT = "It’s a bank, (isn't it)?\nThe bank of 3.5 's\nA well-known bank..."
TOKENS = [split_words(line) for line in TEXT.split("\n")]
BROWSERS = {
    "chromium": ["--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir={}"],
    "firefox": ["--headless", "--no-remote", "--profile", "{}"],
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    sizes = {"max_characters_per_token": 12, "cut_at": "character"}
    config = dataclasses.replace(CONFIG, **sizes)
    words = Vocabulary.count([[*"abcdefgh", "bank", "Bank", "river"]])
    bilm = random_bilm(config, len(words), seed=3)
    folder = tmp_path_factory.mktemp("live") / "model"
    save_model(folder, bilm, words)
    return folder


def head(model, kind):
    settings = {"layer_norm": True, "word_dim": 0} if kind == "ner" else None
    return make_head(kind, model, model.parent, settings=settings)


@pytest.fixture(scope="module")
def site(model, tmp_path_factory):
    """The built page."""
    if shutil.which("npm") is None:
        pytest.skip("needs Node.js with npm")
    spec = importlib.util.spec_from_file_location("build", LIVE / "build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    folder = tmp_path_factory.mktemp("site")
    languages = json.loads((LIVE / "languages.json").read_text("utf-8"))
    kinds = "pos", "ner", "srl", "sentiment", "qa"
    entry = {"model": str(model), "heads": [head(model, kind) for kind in kinds]}
    try:
        build.build(folder, {"en": languages["en"] | entry})
    except subprocess.CalledProcessError as error:
        if "install" not in error.cmd:
            raise
        pytest.skip("needs packages that npm could not fetch")
    shutil.copy(ROOT / "tests/support/live_check.html", folder)
    inputs = {"sentences": SENTENCES, "text": TEXT}
    (folder / "given.json").write_text(json.dumps(inputs))
    return folder


def test_every_text_of_the_page_is_there_in_korean():
    korean = json.loads((LIVE / "korean.json").read_text("utf-8"))
    names = "index.html", "live.js", "worker.js"
    page, script, worker = ((LIVE / name).read_text("utf-8") for name in names)
    texts = {" ".join(text.split()) for text in re.findall(r">([^<]*\w[^<]*)<", page)}
    texts |= set(re.findall(r'aria-label="(.+?)"', page)) - {""}
    texts |= set(re.findall(r'\b(?:tr|fail|Error)\("(.+?)"', script + worker))
    types = re.search(r"TYPES = {(.+?)}", script, re.S)[1]
    texts |= set(re.findall(r'\w+: "(.+?)"', types))
    texts |= {"mean", "Sentence", "Type a sentence first.", "positive", "negative"}
    assert korean.keys() == texts - {"elmo-keras", "한국어"}


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.results.put(json.loads(body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module", params=BROWSERS)
def result(request, site, tmp_path_factory):
    """The results of a browser."""
    program = shutil.which(request.param)
    if program is None:
        pytest.skip(f"needs {request.param}")
    profile = tmp_path_factory.mktemp(request.param)
    arguments = [argument.format(profile) for argument in BROWSERS[request.param]]
    handler = functools.partial(Handler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads, server.results = True, queue.Queue()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/live_check.html"
        nothing = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        browser = subprocess.Popen([program, *arguments, address], **nothing)
        try:
            result = server.results.get(timeout=120)
        finally:
            browser.terminate()
            browser.wait(30)
            server.shutdown()
    assert "error" not in result, result["error"]
    return result


def cosines(a, b):
    return (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)


def test_the_vectors_are_those_of_the_engine_in_python(result, model):
    expected = Embedder(model, layers="all", arithmetic="int8")(SENTENCES)
    for actual, layers in zip(result["worker"]["vectors"], expected, strict=True):
        with_mean = np.concatenate([layers, layers.mean(0, keepdims=True)])
        actual = np.array(actual).reshape(with_mean.shape)
        assert cosines(actual, with_mean).min() > 0.9999
        np.testing.assert_allclose(actual, with_mean, atol=0.01)


def test_substitutes_are_those_of_the_model(result, model):
    expected = LanguageModel.from_pretrained(model).substitutes(SENTENCES[0], 1, top=3)
    words, probabilities = zip(*result["worker"]["substitutes"])
    assert words == tuple(word for word, _ in expected)
    logs = [log_probability for _, log_probability in expected]
    np.testing.assert_allclose(np.log(probabilities), logs, atol=0.05)


def test_labels_are_those_of_the_heads(result, model):
    batch = TokenBatch(SENTENCES, Embedder(model, layers="all").encode(SENTENCES))
    answers = result["worker"]["labels"]
    for kind, finds in ("pos", "parts"), ("ner", "entities"):
        tagger = LightTagger(read_head(model.parent / kind))
        tags = tagger.decoder.best_tags(tagger.scores(batch), batch.lengths)
        pairs = zip([answer[finds] for answer in answers], tags, strict=True)
        same = np.concatenate([np.array(a) == np.array(b) for a, b in pairs])
        assert same.mean() > 0.9  # where tags are near to each other, rounding decides
    expected = LightClassifier(read_head(model.parent / "sentiment"))
    for answer, row in zip(answers, expected.scores(batch), strict=True):
        labels = dict(answer["labels"])
        np.testing.assert_allclose([labels["0"], labels["1"]], row, atol=0.02)
    find = pipeline(model.parent / "srl")
    for tokens, answer in zip(SENTENCES, answers):
        expected = [f["predicate"]["start"] for f in find([tokens])[0]]
        assert [frame["predicate"] for frame in answer["frames"]] == expected


def test_the_answer_is_that_of_the_head(result, model):
    question, context = SENTENCES[0], SENTENCES[2]
    embed = Embedder(model, layers="all")
    batches = [TokenBatch([text], embed.encode([text])) for text in (context, question)]
    answerer = LightAnswerer(read_head(model.parent / "qa"))
    (scores,) = answerer.scores(*batches)
    best = best_answer(scores, answerer.longest_answer)
    predicted = result["worker"]["answer"]
    # Where spans are near to each other, rounding decides.
    log_score = scores[0][predicted["first"]] + scores[1][predicted["last"]]
    assert best.score - 0.02 < log_score
    assert abs(predicted["score"] - np.exp(log_score - best.total)) < 0.005


def test_the_page_shows_uses_of_a_word_that_the_keyboard_chose(result, model):
    page, languages = result["page"], json.loads((LIVE / "languages.json").read_text())
    assert page["opening"] == len(languages["en"]["examples"][0]["sentences"])
    assert page["labels"] == ["labels"]
    assert re.search(r"1It[A-Z]+ (PER )?’s", page["spaces"]), page["spaces"]
    assert page["tab"] == "word-tab"
    assert page["focus"] == "sentences-title"
    assert page["tokens"] == TOKENS
    assert page["title"] == "“bank” in sentence 2"
    layers = Embedder(model, layers="all", arithmetic="int8")(TOKENS)
    own, *others = (
        np.concatenate([v[:, place], v[:, place].mean(0, keepdims=True)])
        for v, place in ((layers[1], 1), (layers[0], 3), (layers[2], 2))
    )
    expected = sorted((cosines(own, x) for x in others), key=lambda x: -x[2])
    np.testing.assert_allclose(page["cosines"], expected, atol=0.011)
    assert page["substitutes"] == 9  # all words but "bank" and "Bank"
    assert page["error"] == "Sentence 1 has 61 words. The page takes 60 at most."
    missing = "A file could not be fetched. Check the connection and try again."
    assert result["worker"]["missing"] == missing
