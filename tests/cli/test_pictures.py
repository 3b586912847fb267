"""Names of pictures are checked before the work."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from elmo_keras.cli import outputs
from elmo_keras.cli.outputs import SUFFIXES, check_picture
from elmo_keras.cli.replacing import replacing


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".PNG", ".Svg"])
def test_matplotlib_writes_every_picture_that_is_accepted(tmp_path, suffix):
    path = tmp_path / f"picture{suffix}"
    check_picture(path, [])
    figure = Figure(figsize=(1, 1))
    figure.subplots()
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=20)
    assert list(tmp_path.iterdir()) == [path] and path.stat().st_size > 100


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("results.json", "A picture should end in one of .png .svg"),
        ("picture", "Received: picture"),
        ("picture.pgf", "Received: picture.pgf"),
        ("no/picture.png", "There is no folder no for no/picture.png"),
        ("read.png", "The output read.png is an input"),
    ],
)
def test_other_pictures_are_refused(tmp_path, monkeypatch, name, problem):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=problem):
        check_picture(Path(name), [Path("read.png")])


def test_a_picture_needs_matplotlib_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(outputs.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        check_picture(tmp_path / "a.png", [])
