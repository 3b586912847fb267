"""Compares the speed and vectors of embedding with AllenNLP and simple-elmo.

    python -m tests.benchmarks.embedding --text FILE

FILE holds one sentence a line, tokens separated by spaces. A random sample of its
sentences is embedded: in batches as they come, the same for all systems, and as a
whole file. All systems read the same random weights in the published layout and return
all layers of every token:

- AllenNLP: `allennlp.modules.elmo.Elmo` 2.10.1 on PyTorch 2.13, its own
  `batch_to_ids`;
- simple-elmo graph: simple-elmo 0.9.2 on TensorFlow 2.21 (`tf.compat.v1`), its
  batched graph alone, fed by its own `Batcher`;
- simple-elmo API: its `ElmoModel.get_elmo_vectors`;
- elmo-keras: `Elmo.layers` in a `tf.function`, dtype policies float32 and bfloat16;
  for a whole file `embed_corpus`, with its output file;
- elmo-keras eager: `Elmo.layers` in float32, called with lists outside of any graph;
- elmo-keras Embedder: an `Embedder` in float32, also for a whole file.

The time covers everything from lists of `str` to NumPy arrays. Only real tokens count:
no padding, no `<S>`. A turn has at least eight sentences. For the whole sample, the peers
get it sorted by length, in batches of each of --file-batch-sizes, and the fastest size
runs the further rounds; elmo-keras gets the file as it is. No peer sorts by itself: "to
its fastest batches" compares with the fastest peer's batches as they come, of the size
that is best for it.

"Of peak" is the arithmetic that was needed (see `arithmetic.py`: each distinct word
once in a batch, or once in the file) divided by time, as a share of the speed of a
product of two large matrices in TensorFlow in the system's dtype. That speed is
measured before each batch size, and the best one so far counts. Peak memory is that
of the process so far. The peers carry their LSTM states from batch to batch; the
states are reset before vectors are compared.
"""

import contextlib
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from elmo_keras.cli.argument_types import positive
from elmo_keras.config import ElmoConfig
from tests.benchmarks import runner
from tests.benchmarks.arithmetic import n_tokens, needed
from tests.benchmarks.runner import Worker, head, in_turns, row, spread

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    presets = ["small", "original"]
    p = runner.parser(__doc__, text=None, presets=presets, sentences=512, seconds=45)
    p.add_argument("--systems", nargs="+", default=[*SYSTEMS], choices=SYSTEMS)
    sizes = {"nargs": "*", "type": positive(int)}
    at_most = "at most 128, the largest that simple-elmo is built for"
    p.add_argument("--batch-sizes", default=[1, 8, 32, 128], **sizes, help=at_most)
    p.add_argument("--file-batch-sizes", default=[8, 32, 128], **sizes)
    return runner.run(p, report, arguments)


def report(text, presets, sentences, seconds, systems, batch_sizes, file_batch_sizes):
    """Measures and prints the tables."""
    given = runner.read(text, sentences)
    for system in systems:
        runner.interpreter(SYSTEMS[system][0])
    print(f"{len(given):,} sentences of {n_tokens(given):,} tokens\n")
    for preset in presets:
        with runner.inputs(preset, given) as folder, started(systems, folder) as found:
            rate = "tokens/s: median (lowest – highest)"
            relative = "to the fastest peer", "to its fastest batches", "of peak"
            head("preset", "batch", "system", rate, *relative, "peak memory", "rounds")
            speeds = Speeds(found, ElmoConfig.preset(preset), given)
            for size in batch_sizes:
                for cells in speeds.of_batches(size, seconds):
                    row(preset, size, *cells)
            file = folder / "sentences.txt"
            for cells in speeds.of_file(file, file_batch_sizes, seconds):
                row(preset, "whole file", *cells)
            peaks = (f"{d} {p / 1e9:,.0f} GFLOP/s" for d, p in speeds.peak.items())
            print("\nPeak:", ", ".join(peaks), "\n")
            cosine = "cosine to our float32 by layer: mean (worst)"
            head("preset", "system", f"largest difference to {ALLENNLP}", cosine, "on")
            for name, cells in compared(found, len(given), folder).items():
                row(preset, name, *cells, found[name].hello)
            print()


@contextlib.contextmanager
def started(systems: Sequence[str], folder: Path) -> Iterator[dict[str, Worker]]:
    """The systems, each in a process, started one after the other."""
    with contextlib.ExitStack() as stack:
        found = {}
        for name in systems:
            script, way = SYSTEMS[name]
            found[name] = stack.enter_context(runner.worker(script, folder, way))
        yield found


class Speeds:
    """Lets systems embed the same text in turns; returns the cells of their rows.

    Args:
        systems: their workers.
        config: the model's configuration, for its arithmetic.
        sentences: those of `sentences.txt`.
    """

    def __init__(
        self,
        systems: dict[str, Worker],
        config: ElmoConfig,
        sentences: list[list[str]],
    ):
        self.systems, self.config, self.sentences = systems, config, sentences
        self.peak, self._unsorted = {}, 0.0

    def of_batches(self, size: int, seconds: float) -> list[list[str]]:
        """Embeds batches of `size` sentences as they come, new ones in each round."""
        n = len(self.sentences)
        asks = {
            name: lambda i, w=worker: w.ask("embed", batches=batches_of(i, size, n))
            for name, worker in self.systems.items()
        }
        self._update_peak()
        found = in_turns(asks, seconds=seconds)
        rounds = range(len(next(iter(found.values()))))
        work = [
            [[self.sentences[place] for place in batch] for batch in batches]
            for batches in (batches_of(i, size, n) for i in rounds)
        ]
        cells, fastest = self._cells(found, work)
        self._unsorted = max(self._unsorted, fastest)
        return cells

    def of_file(self, file: Path, sizes: Sequence[int], seconds: float):
        """Embeds all sentences: once in each way of a system, then in its fastest."""
        self._update_peak()
        asks = {}
        for name, worker in self.systems.items():
            ways = file_requests(name, self.sentences, sizes, file)
            times = {
                way: worker.ask(*a, **b)["seconds"] for way, (a, b) in ways.items()
            }
            way = min(times, key=times.get)
            asks[way] = lambda _, w=worker, r=ways[way]: w.ask(*r[0], **r[1])
        found = in_turns(asks, seconds=seconds)
        work = [[self.sentences]] * len(next(iter(found.values())))
        return self._cells(found, work, self._unsorted)[0]

    def _update_peak(self):
        """Measures a large matrix product in each dtype; the best so far is kept."""
        for name, worker in self.systems.items():
            dtype = name.split()[-1]
            if name in OURS and "float" in dtype:
                speed = worker.ask("gemm", size=GEMM)
                self.peak[dtype] = max(speed, self.peak.get(dtype, 0.0))

    def _cells(self, found, work, unsorted=0.0):
        """The cells of all rows, and the fastest peer's speed; `work` is by round."""
        tokens = [sum(map(n_tokens, batches)) for batches in work]
        operations = [sum(needed(self.config, b) for b in batches) for batches in work]
        rates = {label: per_second(tokens, f) for label, f in found.items()}
        medians = {label: statistics.median(r) for label, r in rates.items()}
        names = dict(zip(found, self.systems))
        fastest = max((medians[n] for n in found if names[n] in PEERS), default=0.0)
        cells = []
        for label, name in names.items():
            dtype = "bfloat16" if "bfloat16" in name else "float32"
            speed = statistics.median(per_second(operations, found[label]))
            cells.append(
                [
                    label,
                    spread(rates[label]),
                    *(
                        f"{medians[label] / r:.2f}" if r else "–"
                        for r in (fastest, unsorted)
                    ),
                    f"{speed / self.peak[dtype]:.0%}" if dtype in self.peak else "–",
                    f"{self.systems[name].peak_memory():.2f} GB",
                    len(rates[label]),
                ]
            )
        return cells, fastest


def batches_of(i: int, size: int, n: int) -> list[list[int]]:
    """The batches of round `i`: places of `n` sentences, again and again."""
    per_turn = max(1, MIN_SENTENCES // size)
    first = i * per_turn * size
    return [
        [place % n for place in range(first + j * size, first + (j + 1) * size)]
        for j in range(per_turn)
    ]


def per_second(amounts: Sequence[float], answers: Sequence[dict]) -> list[float]:
    """What each turn did in a second."""
    return [n / answer["seconds"] for n, answer in zip(amounts, answers, strict=True)]


def file_requests(
    name: str, sentences: list[list[str]], batch_sizes: Sequence[int], file: Path
) -> dict[str, tuple]:
    """Ways in which a system embeds a file: labels, and requests to the worker."""
    if name in OURS:
        return {name: (["file"], {"path": str(file)})}
    places = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
    return {
        f"{name}, sorted, {size}": (
            ["embed"],
            {"batches": [places[i : i + size] for i in range(0, len(places), size)]},
        )
        for size in batch_sizes
    }


def compared(
    systems: dict[str, Worker], n_sentences: int, folder: Path
) -> dict[str, tuple[str, str]]:
    """The differences of the vectors of the first sentences, so that none is wrong."""
    places, vectors = list(range(min(N_COMPARED, n_sentences))), {}
    batches = [places[i : i + AT_ONCE] for i in range(0, len(places), AT_ONCE)]
    for name, worker in systems.items():
        path = folder / "vectors.npy"
        worker.ask("save", batches=batches, path=str(path))
        vectors[name] = np.load(path)
    peer, ours = vectors.get(ALLENNLP), vectors.get(FLOAT32)
    return {
        name: (
            "–" if peer is None else difference(found, peer),
            "–" if ours is None else cosines(found, ours),
        )
        for name, found in vectors.items()
    }


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
