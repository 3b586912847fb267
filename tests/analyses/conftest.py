"""What the tests of the analyses share."""

import re
import shutil

import pytest

from elmo_keras import Elmo, embed_corpus
from tests.support.commands import command

main = command("search")

SENTENCES = [
    "the river rose after the rain .",
    "",
    "she opened an account at the bank .",
    "after the rain the river rose .",
    "nobody 가나다 knows 🙂",
    "the bank closed her account .",
]
QUERY = "the rain rose after the river ."


@pytest.fixture
def model(model_directory):
    """The directory of a small model, as a command takes it."""
    return str(model_directory)


@pytest.fixture(scope="session")
def indexed(tmp_path_factory, model_directory):
    """A folder with a text and its index, which the command has made."""
    path = tmp_path_factory.mktemp("indexed") / "text.txt"
    path.write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
    assert main([str(path), "--model", str(model_directory), "rain"]) == 0
    return path.parent


@pytest.fixture
def text(tmp_path, indexed):
    """A text, with its index beside it."""
    shutil.copytree(indexed, tmp_path, dirs_exist_ok=True)
    return tmp_path / "text.txt"


@pytest.fixture(scope="session")
def in_parquet(tmp_path_factory, indexed, model_directory):
    """A folder of two Parquet files with the sentences, not in their order."""
    pq = pytest.importorskip("pyarrow.parquet")
    folder, elmo = tmp_path_factory.mktemp("in"), Elmo.from_pretrained(model_directory)
    options = {"layers": "average", "pooling": "mean"}
    embed_corpus(elmo, indexed / "text.txt", folder / "b.parquet", **options)
    table = pq.read_table(folder / "b.parquet")
    pq.write_table(table[3:], folder / "a.parquet")
    pq.write_table(table[:3], folder / "b.parquet", row_group_size=2)
    return folder


@pytest.fixture
def vectors(tmp_path, in_parquet):
    """The folder of Parquet files, to be changed."""
    return shutil.copytree(in_parquet, tmp_path / "vectors")


@pytest.fixture
def find(model, capsys):
    """Runs `search`; gives (number, sentence) of all it found, for each query."""

    def run(file, *options):
        capsys.readouterr()
        command = [file, "--model", model, *options]
        assert main([*map(str, command)]) == 0
        _, *answers = capsys.readouterr().out.split("Closest to: ")
        hit = re.compile(r"^ *-?\d\.\d{3} +(.+?)  (.*)$", re.M)
        return [hit.findall(answer) for answer in answers]

    return run
