"""Names of commands in their own help."""

import sys
import types

import pytest

from elmo_keras.cli.command import command_parser


@pytest.fixture
def start(monkeypatch):
    """Pretends that the process was started in this way."""

    def started(argument, module=None):
        spec = module and types.SimpleNamespace(name=module)
        monkeypatch.setattr(sys.modules["__main__"], "__spec__", spec)
        monkeypatch.setattr(sys, "argv", [argument])

    return started


@pytest.mark.parametrize(
    ("program", "argument", "module", "typed"),
    [
        ("export", "x/__main__.py", "export.__main__", "python -m export"),
        ("export", "x/__main__.py", "elmo_keras.export", "python -m elmo_keras.export"),
        ("export.serve", "elmo-keras serve", None, "elmo-keras serve"),
        ("train.py", "../train.py", None, "python ../train.py"),
        ("train.py", "train.py", "elmo_keras.train", "python -m elmo_keras.train"),
        ("export.serve", "/bin/pytest", None, "python -m export.serve"),
        ("export.serve", "pytest", "pytest.__main__", "python -m export.serve"),
    ],
)
def test_the_usage_shows_what_was_typed(start, program, argument, module, typed):
    start(argument, module)
    assert command_parser(program, None).format_usage() == f"usage: {typed} [-h]\n"


def test_examples_in_the_help_work_as_they_are_shown(start):
    description = "python -m export MODEL, `python -m export`, python -m export.serve"
    start("elmo-keras export")
    assert command_parser("export", description).description == (
        "elmo-keras export MODEL, `elmo-keras export`, python -m export.serve"
    )
    start("elmo-keras train")
    assert command_parser("train.py", "python train.py --evaluate").description == (
        "elmo-keras train --evaluate"
    )
