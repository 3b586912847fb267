"""One start of a system up to its second vectors; `first_vector.py` runs it.

    python first_vector_worker.py WAY FOLDER

WAY is `imports` (TensorFlow, Keras, elmo_keras, nothing else), `eager`, `embedder` or
`allennlp`. FOLDER holds the model and `sentences.txt`. Prints a line of JSON, the stages
in their order: the time at the end of each, and the processor seconds so far.
"""

import json
import os
import sys
import time
from pathlib import Path

WEIGHTS = "weights.hdf5"


class Stages:
    """The ends of the stages so far."""

    def __init__(self):
        self.ends = {}
        self.end("Python")

    def end(self, name: str) -> None:
        """Notes that a stage has ended."""
        self.ends[name] = time.time(), time.process_time()


def main(way: str, folder: Path) -> None:
    """Starts a system and prints its stages."""
    stages = Stages()
    first = (folder / "sentences.txt").read_text("utf-8").split("\n")[0].split(" ")
    {"imports": imports, "allennlp": allennlp}.get(way, elmo_keras)(
        stages, folder, way=way, sentences=[first]
    )
    print(json.dumps(stages.ends), flush=True)
    os._exit(0)  # TensorFlow takes its time to end


def imports(stages, folder, *, way, sentences):
    """Imports only."""
    import tensorflow  # noqa: F401

    stages.end("tensorflow")
    import keras  # noqa: F401

    stages.end("keras")
    import elmo_keras  # noqa: F401

    stages.end("elmo_keras")


def elmo_keras(stages, folder, *, way, sentences):
    """Vectors of `Elmo.layers`, called eagerly, or of an `Embedder`."""
    from elmo_keras import Elmo, Embedder

    stages.end("import")
    if way == "embedder":
        embed = Embedder(folder, layers="all").encode
    else:
        elmo = Elmo.from_pretrained(folder)

        def embed(sentences):
            return elmo.layers(sentences).numpy()

    stages.end("read")
    for name in ("first", "second"):
        embed(sentences)
        stages.end(name)


def allennlp(stages, folder, *, way, sentences):
    """Vectors of AllenNLP's biLM."""
    import allennlp_imports  # noqa: F401
    import torch
    from allennlp.modules.elmo import Elmo, batch_to_ids

    stages.end("import")
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    files = str(folder / "options.json"), str(folder / WEIGHTS)
    elmo = Elmo(*files, num_output_representations=1, dropout=0.0).eval()
    stages.end("read")
    for name in ("first", "second"):
        with torch.inference_mode():
            layers = elmo._elmo_lstm(batch_to_ids(sentences))["activations"]
            torch.stack(layers, dim=1)[:, :, 1:-1].numpy()
        stages.end(name)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
