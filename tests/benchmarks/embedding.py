"""Compares the speed and vectors of embedding with AllenNLP and simple-elmo.

    python -m tests.benchmarks.embedding --text FILE

FILE holds one sentence a line, tokens separated by spaces. A random sample is embedded,
in batches as they come and as a whole file, from lists of `str` to NumPy arrays of all
layers, with the same random weights in the published layout:

- AllenNLP: `allennlp.modules.elmo.Elmo` and `batch_to_ids`;
- simple-elmo graph: its batched graph and `Batcher`; API: `ElmoModel.get_elmo_vectors`;
- elmo-keras float32, bfloat16: `Elmo.all_layers` in a `tf.function`, `embed_corpus` for the
  file; eager: `Elmo.all_layers` outside of any graph; Embedder: an `Embedder`; int8, LiteRT
  float32: an `Embedder` of a `.tflite` file, without TensorFlow. Where there is a GPU,
  those of TensorFlow use it, except "float32 on the CPU".

Batches have words that elmo-keras has computed before, whole files new ones. Only real tokens count. A turn has at least eight sentences. Of the whole sample, the
peers get batches of each of --file-batch-sizes, sorted by length, and the fastest size
runs the further rounds; elmo-keras gets the file as it is. "To its fastest batches"
compares with the fastest peer's batches as they come, of the size that is best for it.
Peak memory is that of the process so far.
"""

import functools
import statistics
from collections.abc import Iterable, Mapping, Sequence
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
    for way in ("float32", "bfloat16", "eager", "Embedder")
} | {
    "elmo-keras int8": ("in_litert", "int8"),
    "elmo-keras int8 1 thread": ("in_litert", "int8-1"),
    "elmo-keras LiteRT float32": ("in_litert", "float32"),
}
SYSTEMS = PEERS | OURS
KNOWN_AT_ONCE = 128
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
    given = runner.read(text, sentences)
    known = SYSTEMS | {runner.ON_CPU: OURS[FLOAT32]}
    chosen = {name: known[name] for name in systems}
    print(f"{len(given):,} sentences of {n_tokens(given):,} tokens\n")
    for preset in presets:
        with (
            runner.inputs(preset, given) as folder,
            runner.started(
                {
                    name: runner.worker(script, folder, way, gpus=name != runner.ON_CPU)
                    for name, (script, way) in chosen.items()
                }
            ) as found,
        ):
            for name, worker in found.items():
                known = [[["a"]]] if name in PEERS else sliced(given, KNOWN_AT_ONCE)
                worker.ask("run", batches=known)
            speeds = Speeds(found, given)
            relative = "to the fastest peer", "to its fastest batches"
            columns = "system", runner.RATE, *relative, "peak memory", "rounds"
            runner.head("preset", "batch", *columns)
            for size in batch_sizes:
                for cells in speeds.of_batches(size, seconds):
                    runner.row(preset, size, *cells)
            for cells in speeds.of_file(file_batch_sizes, seconds):
                runner.row(preset, "whole file", *cells)
            print()
            cosine = "cosine to our float32 by layer: mean (worst)"
            compared = runner.ON_CPU if runner.ON_CPU in found else ALLENNLP
            difference_to = f"largest difference to {compared}"
            runner.head("preset", "system", difference_to, cosine, "on")
            vectors = {n: saved(w, given, folder) for n, w in found.items()}
            peer, ours = vectors.get(compared), vectors.get(FLOAT32)
            for name, own in vectors.items():
                off = "–" if peer is None else difference(own, peer)
                cosine = "–" if ours is None else cosines(own, ours)
                runner.row(preset, name, off, cosine, found[name].hello["on"])
            print()


class Speeds:
    """Lets workers embed the same sentences in turns; returns the cells of their rows."""

    def __init__(self, workers: Mapping, sentences: Sentences):
        self.workers, self.sentences = workers, sentences
        self._unsorted = 0.0  # speed of a peer

    def of_batches(self, size: int, seconds: float) -> list[list[str]]:
        """Embeds batches of `size` sentences as they come, new ones in each round."""
        batches = functools.partial(batches_of, size, self.sentences)
        found = runner.in_turns(
            self.workers, lambda w, i: w.ask("run", batches=batches(i)), seconds=seconds
        )
        cells, fastest = self._cells(found)
        self._unsorted = max(self._unsorted, fastest)
        return cells

    def of_file(self, sizes: Sequence[int], seconds: float) -> list[list[str]]:
        """Embeds all sentences: once in each way of a system, then in its fastest."""
        ways = {}
        for name, worker in self.workers.items():
            requests = file_requests(name, self.sentences, sizes)
            took = {
                way: worker.ask(request, **arguments)["seconds"]
                for way, (request, arguments) in requests.items()
            }
            if took:
                way = min(took, key=took.get)
                ways[way] = worker, *requests[way]
        found = runner.in_turns(
            ways, lambda way, _: way[0].ask(way[1], **way[2]), seconds=seconds
        )
        return self._cells(found, self._unsorted)[0]

    def _cells(self, found, unsorted=0.0):
        """The cells of all rows, and the fastest peer's speed."""
        rates = runner.speeds(found)
        medians = {label: statistics.median(r) for label, r in rates.items()}
        names = {label: label.split(",")[0] for label in found}
        fastest = max((medians[n] for n in found if names[n] in PEERS), default=0.0)
        cells = []
        for label, name in names.items():
            cells.append(
                [
                    label,
                    runner.spread(rates[label]),
                    f"{medians[label] / fastest:.2f}" if fastest else "–",
                    f"{medians[label] / unsorted:.2f}" if unsorted else "–",
                    f"{self.workers[name].peak_memory():.2f} GB",
                    len(rates[label]),
                ]
            )
        return cells, fastest


def batches_of(size: int, sentences: Sentences, i: int) -> list[Sentences]:
    """The batches of round `i`, of the sentences again and again."""
    per_turn, n = max(1, MIN_SENTENCES // size), len(sentences)
    firsts = (i * per_turn * size + j * size for j in range(per_turn))
    return [[sentences[k % n] for k in range(f, f + size)] for f in firsts]


def file_requests(
    name: str, sentences: Sentences, batch_sizes: Sequence[int]
) -> dict[str, tuple[str, dict]]:
    """Ways in which a system embeds a file: labels, and requests to the worker."""
    if name not in PEERS:
        return {name: ("file", {})}
    by_length = sorted(sentences, key=len)
    return {
        f"{name}, sorted, {size}": ("run", {"batches": sliced(by_length, size)})
        for size in batch_sizes
    }


def sliced(sentences: Sentences, size: int) -> list[Sentences]:
    """The sentences in batches."""
    return [sentences[i : i + size] for i in range(0, len(sentences), size)]


def saved(worker: runner.Worker, sentences: Sentences, folder: Path) -> np.ndarray:
    """A system's vectors of the first sentences: (layers, tokens, dimensions)."""
    batches, path = sliced(sentences[:N_COMPARED], AT_ONCE), folder / "vectors.npy"
    worker.ask("save", batches=batches, path=str(path))
    return np.load(path)


def difference(vectors: np.ndarray, expected: np.ndarray) -> str:
    """The largest difference, and the largest expected value."""
    return f"{np.abs(vectors - expected).max():.1e} of {np.abs(expected).max():.1f}"


def cosines(vectors: np.ndarray, expected: np.ndarray) -> str:
    """For each layer the mean over the tokens, and the lowest."""
    lengths = np.linalg.norm(vectors, axis=2) * np.linalg.norm(expected, axis=2)
    cosine = np.sum(vectors * expected, axis=2) / lengths  # (layers, tokens)
    return ", ".join(f"{c.mean():.6f} ({c.min():.6f})" for c in cosine)


def n_tokens(sentences: Iterable[Sequence[str]]) -> int:
    return sum(map(len, sentences))


if __name__ == "__main__":
    runner.run(main)
