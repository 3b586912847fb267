"""The benchmark of a GPU, rehearsed without one."""

import json
import subprocess
import sys

import pytest

from tests.support.paths import ROOT


@pytest.mark.nightly
def test_each_row_is_measured_whether_others_fail(tmp_path):
    text, valid = tmp_path / "text.txt", tmp_path / "valid.txt"
    lines = (f"w{i % 7} a b {'c ' * (i % 5)}d" for i in range(64))
    text.write_text("\n".join(lines) + "\n")
    valid.write_text("w1 a b c d\nw3 a\n")
    options = ["--text", text, "--presets", "tiny", "--sentences", "64"]
    options += ["--rows", "3"]  # it can't be divided among two replicas
    options += ["--train", text, "--valid", valid, "--train-steps", "8"]
    result = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.gpu", *map(str, options)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [json.loads(x) for x in result.stdout.splitlines() if x.startswith("{")]
    failed = [row for row in rows if "error" in row]
    assert [row["system"] for row in failed] == ["this, two replicas"]
    assert "divided by 2" in failed[0]["error"]
    said = [row["said"] for row in rows if row["job"] == "train"]
    assert [line.split(":")[0] for line in said if "Step" in line][-1] == "Step 8"
    assert "perplexity" in said[-1]
    measured = [row for row in rows if row["job"] != "train" and row not in failed]
    assert all(row["tokens/s"] > 0 for row in measured)
    compared = [row for row in measured if "difference" in row]
    assert all(row["difference"] <= row["tolerance"] for row in compared)
    assert {row["job"] for row in compared} == {"training", "batches", "one"}
