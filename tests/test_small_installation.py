"""The installation without TensorFlow, by the line of the page on installing."""

import importlib.metadata
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.paths import ROOT

pytestmark = pytest.mark.journey
PAGE = ROOT / "docs" / "pages" / "how-to" / "install.md"
# Calls and commands that only read a model, in one process.
WITHOUT = """
import elmo_keras as ek
from elmo_keras.adapters.embedders import ElmoModel
from elmo_keras.commands.console import main

def command(line):
    assert main(line.split()) == 0, line

assert ek.Embedder("en").encode("It works").shape == (2, 256)
ek.Embedder("en", arithmetic="int8", pooling="mean")(["It works"])
names = ek.pipeline("en-ner")("Ann Lee lives in Paris.")
assert [name["text"] for name in names] == ["Ann Lee", "Paris"]
assert ek.pipeline("ko-sentiment")("정말 재미있게 봤다!")["label"] == "positive"
ek.pipeline("en-qa")("Who met Bob?", "Anna met Bob .")
ek.find_model("en").datasets["char_embed"][...]
ek.Corpus.from_sentences(["a b"])
ek.LanguageModel.from_pretrained("en").score(["It works"])
ek.embed_corpus("en", "text", "a.npy")
ek.read_embeddings("a.npy")[0]
ElmoModel().load("en")
command("models path en")
command("embed text out.hdf5 --model en")
command("embed text out.npy --model en --arithmetic int8")
command("annotate text out.conllu --with en-pos en-ner en-srl")
command("annotate text out.jsonl --with en-ud en-coref")
command("ask text Who?")
command("search text Bob --model en")
command("score text --model en")
command("substitutes rates --word rates --model en")
command("evaluate en-ner tagged")
command("export en en.tflite --format litert")
"""
CONSOLE = "import sys; from elmo_keras.commands.console import main; sys.exit(main())"
NEEDS_TENSORFLOW = "needs TensorFlow: pip install git+https://github.com/elmo-keras/"


def requirements(names):
    """The distributions of these names, and of all that they require."""
    distributions = {}
    while names:
        name = names.pop()
        if name.lower() not in distributions:
            distribution = importlib.metadata.distribution(name)
            distributions[name.lower()] = distribution
            for line in distribution.requires or ():
                requirement = Requirement(line)
                if not requirement.marker or requirement.marker.evaluate({"extra": ""}):
                    names.append(requirement.name)
    return distributions.values()


@pytest.fixture(scope="module")
def packages(site, tmp_path_factory):
    """A folder of packages: the wheel's, and links to those that the page names."""
    folder = tmp_path_factory.mktemp("packages")
    (line,) = re.findall(
        r"^pip install .* (ai-edge-litert .*)$", PAGE.read_text(), re.M
    )
    names = [Requirement(word).name for word in shlex.split(line)]
    for distribution in requirements(names):
        for file in distribution.files or ():
            link = folder / file.parts[0]
            if file.parts[0] not in ("..", "__pycache__") and not link.exists():
                link.symlink_to(Path(str(distribution.locate_file(file.parts[0]))))
    shutil.copytree(site, folder, dirs_exist_ok=True)
    return folder


@pytest.fixture
def run(packages, tmp_path, monkeypatch):
    """Runs Python without other packages than those."""
    monkeypatch.setenv("PYTHONPATH", str(packages))
    monkeypatch.setenv("ELMO_KERAS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "text").write_text("Ann Lee came to Paris .\nShe met Bob .\n")
    (tmp_path / "tagged").write_text("The O\nbank B-ORG\n\nShe O\nsat O\n\n")

    def run(*arguments, status=0):
        done = subprocess.run(
            [sys.executable, "-P", "-S", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout if status == 0 else done.stderr

    return run


def test_calls_and_commands_that_only_read_a_model_need_no_tensorflow(run):
    assert "She met Bob ." in run("-c", WITHOUT)


@pytest.mark.parametrize(
    "arguments",
    [
        "train --train text --valid text --output model",
        "train-head pos --train text --output head",
        "export en exported --no-warmup",
    ],
)
def test_commands_that_need_tensorflow_say_how_it_is_installed(arguments, run):
    error = run("-c", CONSOLE, *arguments.split(), status=2)
    assert NEEDS_TENSORFLOW in error and error.count("\n") == 1


def test_a_server_names_all_that_it_lacks_before_it_exports(run):
    error = run("-c", CONSOLE, "serve", "en", status=2)
    names = "aiohttp, grpc, grpc_health, orjson, prometheus_client, tensorflow_serving"
    assert f"This needs {names}: pip install 'elmo-keras[serve]" in error


def test_layers_that_need_tensorflow_say_how_it_is_installed(run):
    assert NEEDS_TENSORFLOW in run("-c", "from elmo_keras import Elmo", status=1)
