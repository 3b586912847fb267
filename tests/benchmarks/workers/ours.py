"""elmo-keras' side of the benchmarks, through public names only: `ours.py FOLDER WAY`.

WAY is `float32` or `bfloat16` (`Elmo.all_layers` in a `tf.function`), `embedder`; or,
without TensorFlow, `int8` or `litert` (float32), with `-1` for one thread, the heads of
`pipelines`, or `features`: the layers of `en` side by side. PYTHONPATH names the checkout.
"""

import functools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import protocol

import elmo_keras
from elmo_keras import Embedder, embed_corpus


def main(folder: Path, way: str) -> None:
    if way == "pipelines":
        protocol.answer_requests(way, {"run": pipelines(folder)})
        return
    if way == "features":
        embed = Embedder("en", layers="all", arithmetic="int8").encode
        size = protocol.folder_size(Path(elmo_keras.__file__).parent / "box" / "en")
        requests = protocol.feature_requests(
            lambda sentences: [np.concatenate([*h], axis=1) for h in embed(sentences)]
        )
        protocol.answer_requests(protocol.hello("ai-edge-litert", size=size), requests)
        return
    kind, *one_thread = way.split("-")
    if kind in ("int8", "litert"):
        path = lite_file(folder, {"litert": "float32"}.get(kind, kind))
        model, options = path, {"threads": 1 if one_thread else 2}
        hello = protocol.hello("ai-edge-litert", "numpy")
    else:
        from elmo_keras import Elmo

        model = Elmo.from_pretrained(
            folder, dtype=kind if "float" in kind else "float32"
        )
        options, hello = {}, protocol.hello("tensorflow", "keras")
    embed = Embedder(model, layers="all", **options).encode
    if kind in ("float32", "bfloat16"):
        embed = graph(model)

    def file() -> dict:
        """Writes the vectors of a whole file, whose words are new."""
        text, output = folder / "sentences.txt", folder / f"{os.getpid()}.hdf5"
        new = Embedder(model, layers="all", **options)
        work = functools.partial(embed_corpus, new, text, output, overwrite=True)
        return protocol.timed(protocol.read(text), work)

    protocol.answer_requests(hello, protocol.requests(embed) | {"file": file})


def pipelines(folder: Path):
    from elmo_keras import pipeline

    # Each checkout has files of its own for LiteRT.
    os.environ["ELMO_KERAS_CACHE"] = str(folder / Path(os.environ["PYTHONPATH"]).name)
    heads = [pipeline("en-pos"), pipeline("en-ner")]
    text = protocol.read(folder / "sentences.txt")
    lines = [" ".join(sentence) for sentence in text]
    return lambda: protocol.timed(text, lambda: [len(head(lines)) for head in heads])


def lite_file(folder: Path, arithmetic: str) -> Path:
    """The checkout's file for LiteRT, made in a process that imports TensorFlow."""
    path = folder / f"{Path(os.environ['PYTHONPATH']).name}-{arithmetic}.tflite"
    if not path.exists():
        command = [sys.executable, "-m", "export", folder, path]
        command += ["--format", "litert", "--arithmetic", arithmetic]
        subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr)
    return path


def graph(elmo):
    """The layer in a graph of the caller's."""
    import tensorflow as tf

    spec = tf.RaggedTensorSpec((None, None), tf.string, ragged_rank=1)
    layers = tf.function(elmo.all_layers, input_signature=[spec])

    def embed(sentences):
        words = tf.constant([word for sentence in sentences for word in sentence])
        lengths = [len(sentence) for sentence in sentences]
        return layers(tf.RaggedTensor.from_row_lengths(words, lengths)).numpy()

    return embed


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
