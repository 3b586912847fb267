"""The file of results, with a record for each run, and the table of all runs."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from elmo_keras.cli.markdown_table import markdown_table, percent_spread
from elmo_keras.cli.replacing import replacing

FILE = "results.json"


def read_results(path: str | Path) -> list[dict]:
    """The records of a file; none where there is no file.

    Raises:
        ValueError: the file holds something else.
    """
    path = Path(path)
    if not path.exists():
        return []
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
        if all("variant" in r and "seed" in r and "dev" in r for r in records):
            return records
    except (json.JSONDecodeError, UnicodeDecodeError, TypeError):
        pass
    raise ValueError(f"{path} should hold the results of a task. Remove it.")


def write_results(path: Path, records: Sequence[Mapping]) -> None:
    """Replaces the file by one with these records."""
    with replacing(path) as temporary:
        text = json.dumps(records, indent=1, ensure_ascii=False)
        temporary.write_text(f"{text}\n", encoding="utf-8")


def results_table(records: Sequence[Mapping]) -> str:
    """The scores of each variant in percent: mean ± standard deviation over seeds.

    The last column holds the gain of a variant over the baseline with the same share of
    the data, if there is one among the records.
    """
    rows = []
    variants = dict.fromkeys(record["variant"] for record in records)
    first = {name: _scores(_of(records, name))[0] for name in variants}
    for name in variants:
        own = _of(records, name)
        seconds = np.median([record["seconds_per_epoch"] for record in own])
        baseline = _baseline(name)
        gain = "" if name == baseline else _gain(first[name], first.get(baseline))
        scores = map(percent_spread, _scores(own))
        rows.append([name, str(len(own)), *scores, f"{seconds:.1f}", gain])
    head = ["variant", "seeds", *_columns(records), "s/epoch", "gain"]
    return markdown_table(head, rows)


def _parts(records):
    """The parts with scores: the test examples, if all runs have them, and dev."""
    has_test = all(record.get("test") for record in records)
    return ("test", "dev") if has_test else ("dev",)


def _columns(records):
    return [f"{part} {name}" for part in _parts(records) for name in records[0][part]]


def _scores(records):
    """The values over seeds of each column."""
    return [
        [record[part][name] for record in records]
        for part in _parts(records)
        for name in records[0][part]
    ]


def _of(records, variant):
    return [record for record in records if record["variant"] == variant]


def _baseline(name):
    """The variant without ELMo on the same data."""
    _, *share = name.split("-share-")
    return "-share-".join(["baseline", *share])


def _gain(values, baseline):
    if baseline is None:
        return ""
    return f"{100 * (np.mean(values) - np.mean(baseline)):+.2f}"
