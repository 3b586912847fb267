"""Embeds the lines of a text with Beam's runner for one machine.

    python -m tests.benchmarks.engines_beam MODEL TEXT FOLDER --workers 2

Writes the means of the average layer to Parquet files in FOLDER, with the numbers of the
lines as ids, as `elmo-keras embed --layers average --pooling mean` does. Each worker is a
process, and together they have as many threads as there are processors.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from elmo_keras.cli.argument_types import positive
from elmo_keras.cli.command import run_command


def beam(workers: int) -> Callable[[Any], list[str]]:
    """The command with Beam and this many workers, for a job of an engine.

    A job has an interpreter, `python`, and the paths `text`, `model` and `output`.
    """
    module = "tests.benchmarks.engines_beam"
    return lambda job: [
        *(str(job.python), "-m", module),
        *map(str, (job.model, job.text, job.output)),
        *("--workers", str(workers)),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; returns its exit status."""
    options = parser().parse_args(arguments)
    return run_command("engines_beam.py", lambda: embed(**vars(options)))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("model")
    p.add_argument("text", type=Path)
    p.add_argument("folder", type=Path)
    p.add_argument("--workers", type=positive(int), default=2)
    return p


def embed(model: str, text: Path, folder: Path, *, workers: int) -> None:
    """Runs the pipeline."""
    import apache_beam as pipelines
    import pyarrow as pa
    from apache_beam.io import WriteToParquet
    from apache_beam.ml.inference.base import KeyedModelHandler, RunInference
    from apache_beam.options.pipeline_options import PipelineOptions

    from elmo_keras.beam import ElmoModelHandler, VectorRows

    threads = str(max(1, len(os.sched_getaffinity(0)) // workers))
    handler = ElmoModelHandler(
        model, pooling="mean", env_vars={"TF_NUM_INTRAOP_THREADS": threads}
    )
    rows = VectorRows(handler, id_type=pa.int64())
    numbered = list(enumerate(text.read_text(encoding="utf-8").splitlines()))
    flags = [f"--direct_num_workers={workers}"]
    flags += ["--direct_running_mode=multi_processing"] if workers > 1 else []
    with pipelines.Pipeline(options=PipelineOptions(flags)) as pipeline:
        (
            pipeline
            | pipelines.Create(numbered)
            | RunInference(KeyedModelHandler(handler))
            | pipelines.MapTuple(rows)
            | WriteToParquet(
                str(folder / "part"), rows.schema, file_name_suffix=".parquet"
            )
        )


if __name__ == "__main__":
    sys.exit(main())
