"""A small text, and a run over it that several files of tests train."""

import random

import pytest

from elmo_keras import BidirectionalLanguageModel
from tests.support.models import randomize
from tests.support.sizes import CONFIG
from tests.support.training_runs import SIZES, VOCABULARY, prepared

LIMITS = ["--steps", "12", "--checkpoint-every", "3", "--evaluate-every", "5"]


@pytest.fixture(scope="session")
def built():
    n_words, config = len(VOCABULARY), CONFIG
    bilm = BidirectionalLanguageModel(config, vocabulary_size=n_words)
    bilm.build()
    return bilm


@pytest.fixture
def bilm(built):
    """A model over `VOCABULARY` with the same weights for every test."""
    return randomize(built)


@pytest.fixture(scope="session")
def small_text(tmp_path_factory):
    """Arguments of a text of 25 sentences, which an epoch reads in nine steps."""
    folder, rng = tmp_path_factory.mktemp("text"), random.Random(0)
    words = [f"w{i}" for i in range(40)]
    lines = (" ".join(rng.choices(words, k=rng.randint(1, 13))) for _ in range(25))
    (folder / "text.txt").write_text("\n".join(lines))
    (folder / "valid.txt").write_text("w1 w2 w3\nw4 w5\n")
    files = ["--train", str(folder / "text.txt"), "--valid", str(folder / "valid.txt")]
    return [*files, "--min-count", "1"]


@pytest.fixture(scope="session")
def small_run(small_text):
    """Arguments of a run of 12 steps with evaluations and checkpoints."""
    return [*small_text, *SIZES, *LIMITS, "--negatives", "20"]


@pytest.fixture(scope="session")
def reused(small_run, tmp_path_factory):
    """The run of these arguments, traced once; `attempt` gives it a directory."""
    nowhere = tmp_path_factory.mktemp("nowhere")
    return prepared([*small_run, "--output", str(nowhere)])
