"""The file of results: a record for each run, and the table of all of them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from elmo_keras.replacing import replacing

FILE = "results.json"


def read_results(path: str | Path) -> list[dict]:
    """The records of a file; none where there is no file.

    Raises:
        ValueError: it holds something else.
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
    """Puts a file with these records in the place of the one before."""
    with replacing(path) as temporary:
        text = json.dumps(records, indent=1, ensure_ascii=False)
        temporary.write_text(f"{text}\n", encoding="utf-8")


def results_table(records: Sequence[Mapping]) -> str:
    """The scores times 100 of each variant: mean ± standard deviation over seeds.

    With a baseline of the same share of the data among the variants, the last column
    has what each gains on it.
    """
    rows = [["variant", "seeds", *_columns(records), "s/epoch", "gain"]]
    variants = dict.fromkeys(record["variant"] for record in records)
    first = {name: _scores(_of(records, name))[0] for name in variants}
    for name in variants:
        own = _of(records, name)
        seconds = np.median([record["seconds_per_epoch"] for record in own])
        baseline = _baseline(name)
        gain = "" if name == baseline else _gain(first[name], first.get(baseline))
        told = [_spread(values) for values in _scores(own)]
        rows.append([name, str(len(own)), *told, f"{seconds:.1f}", gain])
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
        for row in rows
    )


def _parts(records):
    """Where there are scores: on the test examples if all runs have them, and dev."""
    return (
        ("test", "dev") if all(record.get("test") for record in records) else ("dev",)
    )


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


def _spread(values):
    return f"{100 * np.mean(values):.2f} ± {100 * _deviation(values):.2f}"


def _deviation(values):
    """That of a sample; 0 for one value."""
    return np.std(values, ddof=1) if len(values) > 1 else 0.0


def _gain(values, baseline):
    if baseline is None:
        return ""
    return f"{100 * (np.mean(values) - np.mean(baseline)):+.2f}"
