"""Which commands and calls import TensorFlow, each in a process that did not."""

import os
import subprocess
import sys

import pytest

from tests.support.paths import ROOT

pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert")

START = """
import os, pathlib, signal, sys, threading, time
import elmo_keras as ek
from elmo_keras.commands.console import main
def command(line):
    status = main(line.split())
    assert status == 0, (line, status)
def stop_server():
    while signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        time.sleep(0.1)
    os.kill(os.getpid(), signal.SIGTERM)
def serve(line):
    threading.Thread(target=stop_server, daemon=True).start()
    command(line)
pathlib.Path("text").write_text("The bank raised its rates .\\nShe sat on the bank .\\n")
pathlib.Path("tagged").write_text("The O\\nbank B-ORG\\n\\nShe O\\nsat O\\n\\n")
"""
WITHOUT = [
    'ek.Embedder("en")("It works")',
    'ek.Embedder("en", arithmetic="int8", pooling="mean")(["It works"])',
    'ek.pipeline("en-ner")("Anna met Bob .")',
    'ek.pipeline("en-srl")("Anna met Bob .")',
    'ek.pipeline("en-ud")("Anna met Bob .")',
    'ek.pipeline("ko-sentiment")("재미있다 .")',
    'ek.pipeline("en-qa")("Anna met Bob .", "Who met Bob?")',
    'ek.pipeline("en-coref")("Anna said she won .")',
    'ek.find_model("en").datasets["char_embed"][...]',
    'ek.Corpus.from_sentences(["a b"])',
    'list(ek.split_words("Two words"))',
    'list(ek.LanguageModel.from_pretrained("en").score(["It works"]))',
    'ek.embed_corpus("en", "text", "a.npy"); ek.read_embeddings("a.npy")[0]',
    'from elmo_keras.adapters import embedders as e; e.ElmoModel().load("en")',
    'command("models")',
    'command("embed text vectors.hdf5 --model en")',
    'command("search text river --model en")',
    'command("score text --model en")',
    'command("substitutes rates --word rates --model en")',
    'command("annotate text out.jsonl --with en-pos en-ner")',
    'command("ask text Who?")',
    'command("evaluate en-ner tagged")',
    'command("export en en.tflite --format litert")',
]
WITH = [
    'ek.Elmo.from_pretrained("en")',
    'ek.Embedder("en", backend="tensorflow")',
    'ek.Embedder("en", arithmetic="bfloat16")',
    'ek.LanguageModel.from_pretrained("en", backend="tensorflow")',
    'ek.LanguageModel.from_pretrained("en").perplexity(["It works"])',
    'ek.load_bilm("en")',
    "ek.precompute_layers",
    'command("export en exported --no-warmup")',
    'command("train --evaluate --valid text --output " + ek.__path__[0] + "/box/en")',
    'command("train-head ner --train tagged --dev tagged --output h --epochs 1")',
    'serve("serve en --port 0 --rest-port 0")',
]


def imports_tensorflow(code, folder):
    code += "\nsys.exit(10 * bool({'tensorflow', 'keras'} & {*sys.modules}))"
    command = [sys.executable, "-c", START + code]
    paths = os.environ | {"PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, cwd=folder, env=paths, stderr=subprocess.PIPE)
    assert result.returncode in (0, 10), result.stderr.decode()
    return result.returncode == 10


def test_calls_that_only_read_a_model_import_no_tensorflow(tmp_path):
    assert not imports_tensorflow("\n".join(WITHOUT), tmp_path)


@pytest.mark.nightly  # a process each
@pytest.mark.parametrize("code", [*WITHOUT, *WITH])
def test_a_process_of_its_own_imports_tensorflow_or_not(code, tmp_path):
    assert imports_tensorflow(code, tmp_path) == (code in WITH)
