"""Compares engines that embed a corpus, from the start of the command to its end.

    python -m tests.benchmarks.engines --text FILE

FILE holds one sentence a line. Its first --sentences are embedded with a model of
random weights, the mean over the tokens of each, by the file command and by engines
with several workers. The engines take turns; all use the same processors. Processor
seconds are those of all processes that a command starts; on a busy machine they say more
than seconds. The vectors of each are compared with those of the file command. --python
is an interpreter in which the engines are installed.
"""

import os
import shutil
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from elmo_keras.cli.command import CommandFailed
from tests.benchmarks import runner
from tests.benchmarks.arithmetic import n_tokens
from tests.support.processes import descendants, processor_seconds

FIRST = "embed"  # what the others are compared with
RAY = ["--engine", "ray", "--workers"]
ENGINES = {  # the number of Beam's workers, or more arguments of `embed`
    FIRST: [],
    "Ray, 1 worker": [*RAY, "1"],
    "Ray, 2 workers": [*RAY, "2"],
    "Ray, 4 workers": [*RAY, "4"],
    "Beam, 2 workers": 2,
}
OTHERS = tuple(ENGINES)[1:]
BETWEEN_LOOKS = 0.3  # seconds


@runner.command
def main(
    *,
    text: runner.File,
    presets: runner.Presets = ("small",),
    sentences: runner.Number = 20_000,
    rounds: runner.Number = 3,
    engines: runner.some_of(OTHERS) = OTHERS,
    python: runner.Python = sys.executable,
) -> None:
    """Measures and prints the table."""
    given = runner.read(text, sentences)
    tokens = n_tokens(given)
    print(f"{sentences:,} sentences of {tokens:,} tokens\n")
    columns = "seconds: median (lowest – highest)", "tokens/s", "to the file command"
    more = "processor seconds", "largest difference"
    runner.head("preset", "engine", *columns, *more)
    for preset in presets:
        with runner.inputs(preset, given) as folder:
            found = runner.in_turns(
                {name: ENGINES[name] for name in (FIRST, *engines)},
                lambda engine, _, f=folder: turn(engine, f, python),
                rounds=rounds,
            )
        first, _, expected = zip(*found[FIRST])
        for name, own in found.items():
            seconds, processor, vectors = zip(*own)
            off = max(np.abs(a - b).max() for a, b in zip(vectors, expected))
            rate = f"{tokens / statistics.median(seconds):,.0f}"
            cells = [runner.spread(seconds, 1), rate, runner.ratio(seconds, first)]
            runner.row(preset, name, *cells, runner.spread(processor, 1), f"{off:.1e}")


def turn(
    engine: int | list[str], folder: Path, python: str
) -> tuple[float, float, np.ndarray]:
    """Lets an engine embed: seconds, processor seconds, and the vectors in order."""
    text, output = folder / "sentences.txt", folder / "out.parquet"
    if isinstance(engine, int):
        module = "from tests.benchmarks import engines; import sys"
        command = ["-c", f"{module}; engines.beam(*sys.argv[1:])"]
        command += [folder, text, output, engine]
    else:
        command = ["-m", "elmo_keras.embed", text, output, "--model", folder]
        command += ["--layers", "average", "--pooling", "mean", *engine]
    seconds, processor = timed([python, *command])
    table = pq.read_table(output, columns=["id", "vector"]).sort_by("id")
    if table["id"].to_pylist() != list(range(len(table))):
        raise CommandFailed(f"{command} should have written each sentence once.")
    shutil.rmtree(output) if output.is_dir() else output.unlink()
    return seconds, processor, np.stack(table["vector"].to_numpy())


def timed(command: Sequence[object]) -> tuple[float, float]:
    """Runs a command; returns its seconds, and those of all its processes together."""
    start, computed = time.perf_counter(), {}
    with runner.finished(command, runner.ROOT) as process:
        while process.poll() is None:
            for pid in [process.pid, *descendants(process.pid)]:
                computed[pid] = max(computed.get(pid, 0.0), processor_seconds(pid))
            time.sleep(BETWEEN_LOOKS)
    return time.perf_counter() - start, sum(computed.values())


def beam(model: str, text: str, folder: str, workers: str) -> None:
    """Embeds the lines of a text with Beam's runner for one machine.

    Writes what `embed --layers average --pooling mean` does to Parquet files in the
    folder. Each worker is a process; together they have a thread for each processor.
    """
    import apache_beam as pipelines
    import pyarrow as pa
    from apache_beam.io import WriteToParquet
    from apache_beam.ml.inference.base import KeyedModelHandler, RunInference
    from apache_beam.options.pipeline_options import PipelineOptions

    from elmo_keras.beam import ElmoModelHandler, VectorRows

    threads = str(max(1, len(os.sched_getaffinity(0)) // int(workers)))
    handler = ElmoModelHandler(
        model, pooling="mean", env_vars={"TF_NUM_INTRAOP_THREADS": threads}
    )
    rows = VectorRows(handler, id_type=pa.int64())
    numbered = list(enumerate(Path(text).read_text(encoding="utf-8").splitlines()))
    flags = [f"--direct_num_workers={workers}"]
    flags += ["--direct_running_mode=multi_processing"] if int(workers) > 1 else []
    with pipelines.Pipeline(options=PipelineOptions(flags)) as pipeline:
        (
            pipeline
            | pipelines.Create(numbered)
            | RunInference(KeyedModelHandler(handler))
            | pipelines.MapTuple(rows)
            | WriteToParquet(f"{folder}/part", rows.schema, file_name_suffix=".parquet")
        )


if __name__ == "__main__":
    sys.exit(main())
