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
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from elmo_keras.cli.command import CommandFailed
from tests.benchmarks import runner
from tests.benchmarks.arithmetic import n_tokens
from tests.benchmarks.runner import ROOT, head, in_turns, ratio, row, spread
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
BETWEEN_LOOKS = 0.3  # seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns its exit status."""
    sentences = {"sentences": 20_000, "rounds": 3}
    p = runner.parser(__doc__, text=None, presets=["small"], **sentences)
    names = [name for name in ENGINES if name != FIRST]
    p.add_argument("--engines", nargs="+", default=names, choices=names)
    p.add_argument("--python", default=sys.executable, metavar="FILE")
    return runner.run(p, report, arguments)


def report(text, presets, sentences, rounds, engines, python) -> None:
    """Measures and prints the table."""
    given = runner.read(text, sentences)
    tokens, names = n_tokens(given), [FIRST, *engines]
    print(f"{sentences:,} sentences of {tokens:,} tokens\n")
    time = "seconds: median (lowest – highest)", "tokens/s", "to the file command"
    head("preset", "engine", *time, "processor seconds", "largest difference")
    for preset in presets:
        with runner.inputs(preset, given) as folder:
            asks = {n: lambda _, n=n: turn(n, folder, python) for n in names}
            found = in_turns(asks, rounds=rounds)
        seconds = {name: [took[0] for took in own] for name, own in found.items()}
        for name, own in found.items():
            pairs = zip(own, found[FIRST])
            difference = max(np.abs(a[2] - b[2]).max() for a, b in pairs)
            row(
                preset,
                name,
                spread(seconds[name], 1),
                f"{tokens / statistics.median(seconds[name]):,.0f}",
                ratio(seconds[name], seconds[FIRST]),
                spread([took[1] for took in own], 1),
                f"{difference:.1e}",
            )


def turn(name: str, folder: Path, python: str) -> tuple[float, float, np.ndarray]:
    """Lets an engine embed: seconds, processor seconds, and the vectors in order."""
    text, output = folder / "sentences.txt", folder / "out.parquet"
    if isinstance(ENGINES[name], int):
        command = [
            "-c",
            "from tests.benchmarks.engines import beam; import sys; beam(*sys.argv[1:])",
        ]
        command += [folder, text, output, ENGINES[name]]
    else:
        command = ["-m", "elmo_keras.embed", text, output, "--model", folder]
        command += ["--layers", "average", "--pooling", "mean", *ENGINES[name]]
    seconds, processor = timed([python, *map(str, command)])
    table = pq.read_table(output, columns=["id", "vector"]).sort_by("id")
    if table["id"].to_pylist() != list(range(len(table))):
        raise CommandFailed(f"{name} should have written each sentence once.")
    shutil.rmtree(output) if output.is_dir() else output.unlink()
    return seconds, processor, np.stack(table["vector"].to_numpy())


def timed(command: Sequence[str]) -> tuple[float, float]:
    """Runs a command; returns its seconds, and those of all its processes together.

    Raises:
        CommandFailed: it failed; the message has the end of what it said.
    """
    start, computed = time.perf_counter(), {}
    with tempfile.TemporaryFile("w+") as said:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": said}
        quiet["env"] = runner.environment(ROOT)
        process = subprocess.Popen(command, cwd=ROOT, **quiet)
        while process.poll() is None:
            for pid in [process.pid, *descendants(process.pid)]:
                computed[pid] = max(computed.get(pid, 0.0), processor_seconds(pid))
            time.sleep(BETWEEN_LOOKS)
        seconds = time.perf_counter() - start
        if process.returncode:
            said.seek(0)
            raise CommandFailed(f"{' '.join(command)} failed: {said.read()[-2000:]}")
    return seconds, sum(computed.values())


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
