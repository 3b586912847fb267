"""The systems of the embedding benchmark, and the model that they all read."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import keras
import numpy as np

from elmo_keras import BidirectionalLanguageModel, ElmoConfig
from elmo_keras.model_files.model_directory import save_model
from tests.benchmarks.workers import (
    ENVIRONMENTS,
    HERE,
    ROOT,
    Worker,
    python_with,
    started,
)

ALLENNLP = "AllenNLP"
PEERS = (ALLENNLP, "simple-elmo graph", "simple-elmo API")
OURS = (
    "elmo-keras float32",
    "elmo-keras bfloat16",
    "elmo-keras eager",
    "elmo-keras Embedder",
)
SYSTEMS = (*PEERS, *OURS)
SENTENCES = "sentences.txt"
ALLENNLP_PACKAGES = ("torch==2.13.0", "h5py==3.16.0", "numpy==2.4.6")
SIMPLE_ELMO_PACKAGES = ("simple-elmo==0.9.2", "tensorflow==2.21.0", "tf_keras==2.21.0")


def allennlp_python(environments: Path = ENVIRONMENTS) -> Path:
    """The interpreter of AllenNLP's environment, which is made if it is missing."""
    return python_with(ALLENNLP_PACKAGES, ("allennlp==2.10.1",), environments)


def interpreter(system: str, environments: Path) -> Path:
    """The interpreter of a system's environment, which is made if it is missing."""
    if system in OURS:
        return Path(sys.executable)
    if system == ALLENNLP:
        return allennlp_python(environments)
    return python_with(SIMPLE_ELMO_PACKAGES, folder=environments)


@contextlib.contextmanager
def workers(
    systems: Sequence[str], folder: Path, environments: Path = ENVIRONMENTS
) -> Iterator[list[Worker]]:
    """The systems, each in a process, started one after the other.

    Args:
        systems: names from `SYSTEMS`.
        folder: holds the model and `sentences.txt`.
        environments: holds the environments.
    """
    with contextlib.ExitStack() as stack:
        all_started = []
        for system in systems:
            name, *arguments = system.split()
            script = HERE / f"embedding_{name.lower().replace('-', '_')}.py"
            python = interpreter(system, environments)
            command = [python, script, folder, *map(str.lower, arguments)]
            ours = {"PYTHONPATH": str(ROOT)}
            variables = ours if system in OURS else {"TF_USE_LEGACY_KERAS": "1"}
            worker = started(system, command, folder, environment=variables)
            all_started.append(stack.enter_context(worker))
        yield all_started


def write_inputs(folder: Path, preset: str, sentences: list[list[str]]) -> None:
    """Writes the input of all systems: a model with random weights, and the sentences.

    Kernels are normal with a variance of 1 / fan-in, so that the activations of all
    layers are as large as a trained model's; other weights stay as initialised.
    """
    keras.utils.set_random_seed(0)
    random = np.random.default_rng(0)
    bilm = BidirectionalLanguageModel(ElmoConfig.preset(preset))
    bilm.build()
    for weight in bilm.weights:
        if "kernel" in weight.name:
            fan_in = np.prod(weight.shape[:-1])
            weight.assign(random.normal(0, fan_in**-0.5, weight.shape))
    save_model(folder, bilm)
    lines = "".join(" ".join(sentence) + "\n" for sentence in sentences)
    (folder / SENTENCES).write_text(lines, encoding="utf-8")
