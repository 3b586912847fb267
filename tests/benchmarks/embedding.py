"""Compares the speed and vectors of embedding with AllenNLP and simple-elmo.

    python -m tests.benchmarks.embedding --text FILE

FILE holds one sentence a line, tokens separated by spaces. A random sample is embedded,
in batches as they come and as a whole file, from lists of `str` to NumPy arrays of all
layers, with the same random weights in the published layout:

- AllenNLP: `allennlp.modules.elmo.Elmo` and `batch_to_ids`;
- simple-elmo graph: its batched graph and `Batcher`; API: `ElmoModel.get_elmo_vectors`;
- elmo-keras float32, bfloat16: `Elmo.all_layers` in a `tf.function`, `embed_corpus` for the
  file; Embedder: an `Embedder`; int8, LiteRT float32: an `Embedder` of a `.tflite` file,
  without TensorFlow. Where there is a GPU, those of TensorFlow use it, except "float32 on
  the CPU".

Batches have words that elmo-keras has computed before, whole files new ones. Only real
tokens count. A turn has at least eight sentences. Of the whole sample, the peers get
batches of each of --file-batch-sizes, sorted by length, and the fastest size runs the
further rounds; elmo-keras gets the file as it is. Peak memory is that of the process so
far. The first vectors are those of a new process.
"""

import functools
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tests.benchmarks import runner

ALLENNLP, FLOAT32 = "AllenNLP", "elmo-keras float32"
PEERS = {  # system → script and way
    ALLENNLP: ("with_allennlp", "embedding"),
    "simple-elmo graph": ("with_simple_elmo", "graph"),
    "simple-elmo API": ("with_simple_elmo", "api"),
}
OURS = {
    f"elmo-keras {way}": ("ours", way.lower())
    for way in ("float32", "bfloat16", "Embedder")
} | {
    "elmo-keras int8": ("ours", "int8"),
    "elmo-keras int8 1 thread": ("ours", "int8-1"),
    "elmo-keras LiteRT float32": ("ours", "litert"),
}
SYSTEMS = PEERS | OURS
N_COMPARED, AT_ONCE, MIN_SENTENCES = 32, 8, 8
Sentences = list[list[str]]


def main(
    *,
    text: Path,
    presets: Sequence[runner.Preset] = ("small", "original"),
    sentences: runner.Count = 512,
    seconds: runner.Positive = 45,
    systems: Sequence[str] = tuple(SYSTEMS),
    batch_sizes: Sequence[runner.Count] = (1, 8, 32, 128),
    file_batch_sizes: Sequence[runner.Count] = (8, 32, 128),
) -> None:
    tokens = runner.read(text, sentences)
    scripts = SYSTEMS | {runner.ON_CPU: OURS[FLOAT32]}
    for preset in presets:
        with runner.inputs(preset, tokens) as folder:
            processes = {
                name: functools.partial(
                    runner.worker, script, folder, way, gpus=name != runner.ON_CPU
                )
                for name, (script, way) in ((name, scripts[name]) for name in systems)
            }
            first = runner.first_answers(
                processes, lambda worker: worker.ask("run", batches=[[["a"]]])
            )
            with runner.started(processes) as workers:
                print_speeds(
                    preset, workers, tokens, seconds, batch_sizes, file_batch_sizes
                )
                print_vectors(preset, workers, tokens, folder, first)


def print_speeds(preset, workers, sentences, seconds, batch_sizes, file_batch_sizes):
    for name, worker in workers.items():
        warm_up = [[["a"]]] if name in PEERS else sliced(sentences, 128)
        worker.ask("run", batches=warm_up)
    columns = "system", runner.RATE, "to the fastest peer", "peak memory", "rounds"
    runner.head("preset", "batch", *columns)
    for size in batch_sizes:
        turns = runner.in_turns(
            workers,
            lambda w, i, size=size: w.ask(
                "run", batches=batches_of(size, sentences, i)
            ),
            seconds=seconds,
        )
        print_rates(preset, size, turns, workers)
    by_length = sorted(sentences, key=len)
    ways = {}
    for name, worker in workers.items():
        requests = {name: ("file", {})}
        if name in PEERS:
            requests = {
                f"{name}, sorted, {size}": ("run", {"batches": sliced(by_length, size)})
                for size in file_batch_sizes
            }
        took = {way: worker.ask(r, **a)["seconds"] for way, (r, a) in requests.items()}
        way = min(took, key=took.__getitem__)
        ways[way] = worker, *requests[way]
    turns = runner.in_turns(
        ways, lambda way, _: way[0].ask(way[1], **way[2]), seconds=seconds
    )
    print_rates(preset, "whole file", turns, workers)


def print_rates(preset, title, turns: Mapping, workers: Mapping) -> None:
    rates = runner.speeds(turns)
    names = {label: label.split(",")[0] for label in rates}
    medians = {label: statistics.median(r) for label, r in rates.items()}
    peer = max((medians[n] for n in rates if names[n] in PEERS), default=float("nan"))
    for label, row in rates.items():
        memory = f"{workers[names[label]].peak_memory():.2f} GB"
        cells = runner.spread(row), f"{medians[label] / peer:.2f}", memory, len(row)
        runner.row(preset, title, label, *cells)


def print_vectors(preset, workers, sentences, folder: Path, first: Mapping) -> None:
    """Prints how far the vectors are from those of a peer and of our float32."""
    vectors = {}
    for name, worker in workers.items():
        path, batches = folder / "vectors.npy", sliced(sentences[:N_COMPARED], AT_ONCE)
        worker.ask("save", batches=batches, path=str(path))
        vectors[name] = np.load(path)  # (layers, tokens, dimensions)
    compared = runner.ON_CPU if runner.ON_CPU in workers else ALLENNLP
    cosine = "cosine to our float32 by layer: mean (worst)"
    columns = f"largest difference to {compared}", cosine, "first vectors, s", "on"
    print()
    runner.head("preset", "system", *columns)
    for name, actual in vectors.items():
        off, cosine = "–", "–"
        if compared in vectors:
            other = vectors[compared]
            off = f"{np.abs(actual - other).max():.1e} of {np.abs(other).max():.1f}"
        if FLOAT32 in vectors:
            cosine = ", ".join(
                f"{c.mean():.6f} ({c.min():.6f})"
                for c in runner.cosines(actual, vectors[FLOAT32])
            )
        start = runner.spread(first[name], 2)
        runner.row(preset, name, off, cosine, start, workers[name].hello["on"])
    print()


def batches_of(size: int, sentences: Sentences, i: int) -> list[Sentences]:
    """The batches of round `i`, of the sentences again and again."""
    per_turn, n = max(1, MIN_SENTENCES // size), len(sentences)
    firsts = (i * per_turn * size + j * size for j in range(per_turn))
    return [[sentences[k % n] for k in range(f, f + size)] for f in firsts]


def sliced(sentences: Sentences, size: int) -> list[Sentences]:
    """The sentences in batches."""
    return [sentences[i : i + size] for i in range(0, len(sentences), size)]


if __name__ == "__main__":
    runner.run(main)
