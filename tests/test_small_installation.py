"""The installation without TensorFlow, by the line of the page on installing."""

import importlib.metadata
import re
import shlex
import subprocess
import sys
from pathlib import Path

import hatchling.build
import pytest
from packaging.requirements import Requirement

from tests.support.paths import ROOT

pytestmark = pytest.mark.journey
PAGE = ROOT / "docs" / "pages" / "how-to" / "install.md"
PIPELINES = """
from elmo_keras import Embedder, pipeline
print([entity["text"] for entity in pipeline("en-ner")("Ann Lee lives in Paris.")])
print(pipeline("ko-sentiment")("정말 재미있게 봤다!")["label"])
print(Embedder("en").encode("It works").shape)
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
def packages(tmp_path_factory):
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
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        wheel = hatchling.build.build_wheel(str(folder))
    subprocess.run(
        [sys.executable, "-m", "zipfile", "-e", folder / wheel, folder], check=True
    )
    return folder


@pytest.fixture
def run(packages, tmp_path, monkeypatch):
    """Runs Python without other packages than those."""
    monkeypatch.setenv("PYTHONPATH", str(packages))
    monkeypatch.setenv("ELMO_KERAS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "text.txt").write_text("Ann Lee came to Paris .\nShe met Bob .\n")

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


def test_pipelines_and_vectors_work_without_tensorflow(run):
    assert run("-c", PIPELINES) == "['Ann Lee', 'Paris']\npositive\n(2, 256)\n"


@pytest.mark.parametrize(
    "arguments, output",
    [
        ("embed text.txt out.hdf5 --model en", "out.hdf5"),
        ("embed text.txt out.npy --model en --arithmetic int8", "out.npy"),
        ("annotate text.txt out.conllu --with en-pos en-ner en-srl", "out.conllu"),
        ("annotate text.txt out.jsonl --with en-ud en-coref", "out.jsonl"),
        ("ask text.txt Who?", "Ann Lee"),
        ("search text.txt Bob --model en", "She met Bob ."),
        ("score text.txt --model en", "She met Bob ."),
        ("substitutes text.txt --position 1 --model en", "%"),
        ("models path en", "en"),
        ("export en en.tflite --format litert", "en.tflite"),
        ("embed --help", "Usage"),
        ("train --help", "Usage"),
        ("--help", "annotate"),
    ],
)
def test_commands_work_without_tensorflow(arguments, output, run):
    if "substitutes" in arguments:
        words = ["substitutes", "She came late .", "--position", "1", "--model", "en"]
    else:
        words = arguments.split()
    assert output in run("-c", CONSOLE, *words)


@pytest.mark.parametrize(
    "arguments",
    [
        "train --train text.txt --valid text.txt --output model",
        "train-head pos --train text.txt --output head",
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
