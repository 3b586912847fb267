"""elmo-keras' side of the benchmarks without TensorFlow.

    python in_litert.py FOLDER WAY

WAY is `int8` or `float32`, with `-1` for one thread.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import protocol

from elmo_keras import Embedder


def main(folder: Path, way: str) -> None:
    imported = time.time()
    arithmetic, *one = way.split("-")
    path = folder / f"{Path(os.environ['PYTHONPATH']).name}-{arithmetic}.tflite"
    if not path.exists():  # in a process of its own, which imports TensorFlow
        command = [sys.executable, "-m", "export", folder, path]
        command += ["--format", "litert", "--arithmetic", arithmetic]
        subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr)

    def embedder():
        return Embedder(path, layers="all", threads=1 if one else 2)

    requests = protocol.requests(embedder().encode)

    def file():
        text = protocol.read(folder / "sentences.txt")

        def work():  # without words that it knows already
            for vectors in new.stream(text):
                protocol.result(vectors)

        new = embedder()
        return protocol.timed(text, work)

    requests["file"] = file
    hello = protocol.hello("ai-edge-litert", "numpy", imported=imported)
    assert "tensorflow" not in sys.modules
    protocol.answer_requests(hello, requests)


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    main(Path(sys.argv[1]), sys.argv[2])
