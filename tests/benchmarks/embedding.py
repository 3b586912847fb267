"""Compares the speed and vectors of embedding with AllenNLP and simple-elmo.

    python -m tests.benchmarks.embedding --text FILE

FILE holds one sentence a line, tokens separated by spaces. A random sample of its
sentences is embedded: in batches as they come, the same for all systems, and as a
whole file. All systems read the same random weights in the published layout and return
all layers of every token, from lists of `str` to NumPy arrays:

- AllenNLP: `allennlp.modules.elmo.Elmo` 2.10.1 on PyTorch 2.13, its own `batch_to_ids`;
- simple-elmo graph: the batched graph of simple-elmo 0.9.2 on TensorFlow 2.21 alone,
  fed by its own `Batcher`; simple-elmo API: `ElmoModel.get_elmo_vectors`;
- elmo-keras: `Elmo.layers` in a `tf.function`, dtype policies float32 and bfloat16, and
  `embed_corpus` with its output file; eager: `Elmo.layers` in float32, outside of any
  graph; Embedder: an `Embedder` in float32, also for a whole file.

Only real tokens count. A turn has at least eight sentences. Of the whole sample, the
peers get batches of each of --file-batch-sizes, sorted by length, and the fastest size
runs the further rounds; elmo-keras gets the file as it is. "To its fastest batches"
compares with the fastest peer's batches as they come, of the size that is best for it.

"Of peak" is the arithmetic that was needed (see `arithmetic.py`: each distinct word
once in a batch, or in the file) divided by time, as a share of the best speed so far of
a large matrix product in TensorFlow in the system's dtype. Peak memory is that of the
process so far. The peers carry their LSTM states from batch to batch; the states are
reset before vectors are compared.
"""

import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from elmo_keras.config import ElmoConfig
from tests.benchmarks import runner
from tests.benchmarks.arithmetic import n_tokens, needed

ALLENNLP, FLOAT32 = "AllenNLP", "elmo-keras float32"
PEERS = {  # system → script and way
    ALLENNLP: ("with_allennlp", "embedding"),
    "simple-elmo graph": ("with_simple_elmo", "graph"),
    "simple-elmo API": ("with_simple_elmo", "api"),
}
OURS = {
    f"elmo-keras {way}": ("ours", way.lower())
    for way in ("float32", "bfloat16", "eager", "Embedder")
}
SYSTEMS = PEERS | OURS
N_COMPARED, AT_ONCE, MIN_SENTENCES = 32, 8, 8
GEMM = 4096  # rows and columns of the large product
Sentences = list[list[str]]


@runner.command
def main(
    *,
    text: runner.File,
    presets: runner.Presets = ("small", "original"),
    sentences: runner.Number = 512,
    seconds: runner.Seconds = 45,
    systems: runner.some_of(SYSTEMS) = tuple(SYSTEMS),
    batch_sizes: runner.Numbers = (
        1,
        8,
        32,
        128,
    ),  # 128: the largest of simple-elmo here
    file_batch_sizes: runner.Numbers = (8, 32, 128),
) -> None:
    """Measures and prints the tables."""
    given = runner.read(text, sentences)
    print(f"{len(given):,} sentences of {n_tokens(given):,} tokens\n")
    for preset in presets:
        with runner.inputs(preset, given) as folder, started(systems, folder) as found:
            speeds = Speeds(found, ElmoConfig.preset(preset), given)
            relative = "to the fastest peer", "to its fastest batches", "of peak"
            columns = "system", runner.RATE, *relative, "peak memory", "rounds"
            runner.head("preset", "batch", *columns)
            for size in batch_sizes:
                for cells in speeds.of_batches(size, seconds):
                    runner.row(preset, size, *cells)
            for cells in speeds.of_file(folder, file_batch_sizes, seconds):
                runner.row(preset, "whole file", *cells)
            peaks = (f"{d} {p / 1e9:,.0f} GFLOP/s" for d, p in speeds.peak.items())
            print("\nPeak:", ", ".join(peaks), "\n")
            cosine = "cosine to our float32 by layer: mean (worst)"
            difference_to = f"largest difference to {ALLENNLP}"
            runner.head("preset", "system", difference_to, cosine, "on")
            vectors = {n: saved(w, len(given), folder) for n, w in found.items()}
            peer, ours = vectors.get(ALLENNLP), vectors.get(FLOAT32)
            for name, own in vectors.items():
                off = "–" if peer is None else difference(own, peer)
                cosine = "–" if ours is None else cosines(own, ours)
                runner.row(preset, name, off, cosine, found[name].hello)
            print()


def started(systems: Sequence[str], folder: Path):
    """The workers of systems."""
    chosen = {name: SYSTEMS[name] for name in systems}
    return runner.started(
        {name: runner.worker(s, folder, way) for name, (s, way) in chosen.items()}
    )


class Speeds:
    """Lets workers embed the same sentences in turns; returns the cells of their rows."""

    def __init__(self, workers: Mapping, config: ElmoConfig, sentences: Sentences):
        self.workers, self.config, self.sentences = workers, config, sentences
        self.peak, self._unsorted = {}, 0.0  # speeds: of products, of a peer

    def of_batches(self, size: int, seconds: float) -> list[list[str]]:
        """Embeds batches of `size` sentences as they come, new ones in each round."""
        self._update_peak()
        found, work = embedded(self.workers, self.sentences, size, seconds=seconds)
        cells, fastest = self._cells(found, work)
        self._unsorted = max(self._unsorted, fastest)
        return cells

    def of_file(self, folder: Path, sizes: Sequence[int], seconds: float):
        """Embeds all sentences: once in each way of a system, then in its fastest."""
        self._update_peak()
        ways = {}
        for name, worker in self.workers.items():
            requests = file_requests(name, self.sentences, sizes, folder)
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
        work = [[self.sentences]] * max(map(len, found.values()), default=0)
        return self._cells(found, work, self._unsorted)[0]

    def _update_peak(self):
        """Measures a large matrix product in each dtype; the best so far is kept."""
        for dtype in ("float32", "bfloat16"):
            if worker := self.workers.get(f"elmo-keras {dtype}"):
                speed = worker.ask("gemm", size=GEMM)
                self.peak[dtype] = max(speed, self.peak.get(dtype, 0.0))

    def _cells(self, found, work, unsorted=0.0):
        """The cells of all rows, and the fastest peer's speed; `work` is by round."""
        tokens = [sum(map(n_tokens, batches)) for batches in work]
        operations = [sum(needed(self.config, b) for b in batches) for batches in work]
        rates = {label: runner.per_second(tokens, f) for label, f in found.items()}
        medians = {label: statistics.median(r) for label, r in rates.items()}
        names = {label: label.split(",")[0] for label in found}
        fastest = max((medians[n] for n in found if names[n] in PEERS), default=0.0)
        cells = []
        for label, name in names.items():
            peak = self.peak.get("bfloat16" if "bfloat16" in name else "float32")
            speed = statistics.median(runner.per_second(operations, found[label]))
            cells.append(
                [
                    label,
                    runner.spread(rates[label]),
                    f"{medians[label] / fastest:.2f}" if fastest else "–",
                    f"{medians[label] / unsorted:.2f}" if unsorted else "–",
                    f"{speed / peak:.0%}" if peak else "–",
                    f"{self.workers[name].peak_memory():.2f} GB",
                    len(rates[label]),
                ]
            )
        return cells, fastest


def embedded(
    workers: Mapping, sentences: Sentences, size: int, **turns
) -> tuple[dict[str, list[dict]], list[list[Sentences]]]:
    """Lets workers embed batches; their answers, and the batches of each round."""
    n, work = len(sentences), {}

    def ask(worker, i):
        batches = work[i] = batches_of(i, size, n)
        return worker.ask("embed", batches=batches)

    found = runner.in_turns(workers, ask, **turns)
    rounds = list(work.values())[-max(map(len, found.values())) :]  # after the warm-up
    return found, [[[sentences[i] for i in b] for b in batches] for batches in rounds]


def batches_of(i: int, size: int, n: int) -> list[list[int]]:
    """The batches of round `i`: places of `n` sentences, again and again."""
    per_turn = max(1, MIN_SENTENCES // size)
    firsts = (i * per_turn * size + j * size for j in range(per_turn))
    return [[place % n for place in range(f, f + size)] for f in firsts]


def file_requests(
    name: str, sentences: Sentences, batch_sizes: Sequence[int], folder: Path
) -> dict[str, tuple[str, dict]]:
    """Ways in which a system embeds a file: labels, and requests to the worker."""
    if name in OURS:
        return {name: ("file", {"path": str(folder / "sentences.txt")})}
    places = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
    return {
        f"{name}, sorted, {size}": (
            "embed",
            {"batches": [places[i : i + size] for i in range(0, len(places), size)]},
        )
        for size in batch_sizes
    }


def saved(worker: runner.Worker, n_sentences: int, folder: Path) -> np.ndarray:
    """A system's vectors of the first sentences: (layers, tokens, dimensions)."""
    places, path = list(range(min(N_COMPARED, n_sentences))), folder / "vectors.npy"
    batches = [places[i : i + AT_ONCE] for i in range(0, len(places), AT_ONCE)]
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


if __name__ == "__main__":
    sys.exit(main())
