"""Embeds the lines of a text with Beam's runner for one machine.

    python on_beam.py MODEL TEXT FOLDER WORKERS

Writes what `embed --layers average --pooling mean` does to Parquet files in the folder.
Each worker is a process; together they have a thread for each processor.
"""

import os
import sys
from pathlib import Path

import apache_beam as beam
import pyarrow as pa
from apache_beam.io import WriteToParquet
from apache_beam.ml.inference.base import (
    KeyedModelHandler,
    PredictionResult,
    RunInference,
)
from apache_beam.options.pipeline_options import PipelineOptions

from elmo_keras.embed.beam import ElmoModelHandler


def main(model: str, text: str, folder: str, workers: str) -> None:
    threads = str(max(1, len(os.sched_getaffinity(0)) // int(workers)))
    handler = ElmoModelHandler(
        model, pooling="mean", env_vars={"TF_NUM_INTRAOP_THREADS": threads}
    )
    vector = pa.list_(pa.float32())
    schema = pa.schema([("id", pa.int64()), ("text", pa.string()), ("vector", vector)])
    numbered = list(enumerate(Path(text).read_text(encoding="utf-8").splitlines()))
    flags = [f"--direct_num_workers={workers}"]
    flags += ["--direct_running_mode=multi_processing"]
    with beam.Pipeline(options=PipelineOptions(flags)) as pipeline:
        (
            pipeline
            | beam.Create(numbered)
            | RunInference(KeyedModelHandler(handler))
            | beam.MapTuple(make_row)
            | WriteToParquet(f"{folder}/part", schema, file_name_suffix=".parquet")
        )


def make_row(index: int, result: PredictionResult) -> dict[str, object]:
    return {"id": index, "text": result.example, "vector": result.inference}


if __name__ == "__main__":
    main(*sys.argv[1:])
