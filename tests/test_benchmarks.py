"""The benchmarks' own arithmetic, requests and tables; the peers are not needed."""

import importlib
import sys

import numpy as np
import pytest

from elmo_keras.tasks import read_documents, read_roles
from tests.benchmarks import corpora, embedding, gains, runner


def test_too_little_text_is_refused_before_anything_runs(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n", encoding="utf-8")
    with pytest.raises(ValueError, match="the text has 0"):
        embedding.main(text=text)


def test_a_worker_answers_or_tells_why_not(tmp_path, monkeypatch):
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers" / "ours.py").write_text(
        "print(1, flush=True); print(input(), flush=True); exit('no more')"
    )
    monkeypatch.setattr(runner, "HERE", tmp_path)
    with runner.worker("ours", "x") as worker:
        assert worker.hello == 1 and worker.peak_memory() > 0
        assert worker.ask("embed", batches=[[1]]) == ["embed", {"batches": [[1]]}]
        with pytest.raises(RuntimeError, match="ours ended before it .*\nno more"):
            worker.ask("embed", batches=[[1]])


def test_real_tokens_are_counted(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(runner.HERE / "workers")
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # which the module replaces
    protocol = importlib.import_module("protocol")
    batches = [[["a", "b"], ["c"]], [["a", "d"]]]
    requests = protocol.requests(lambda batch: np.zeros((len(batch), 3, 2, 4)))
    answer = requests["run"](batches=batches)
    assert answer["tokens"] == 5 and answer["seconds"] > 0
    requests["save"](batches=batches, path=tmp_path / "vectors.npy")
    assert np.load(tmp_path / "vectors.npy").shape == (3, 5, 4)
    requests = protocol.requests(lambda batch: [None] * len(batch))
    with pytest.raises(TypeError, match="should be in NumPy"):
        requests["run"](batches=batches)


def test_each_row_of_the_gains_is_a_task_with_files(data, tmp_path, monkeypatch):
    converted = []
    monkeypatch.setattr(gains, "convert", lambda *row: converted.append(row))
    for folder in gains.ROWS:
        settings = gains.settings_of(folder, data(folder).parent, tmp_path / folder)
        files = [path for path in (settings.train, settings.test) if path]
        sources = {new: path for _, path, new in converted}
        assert all(sources.get(path, path).is_file() for path in files)


def test_corpora_become_what_the_tasks_read(tmp_path):
    sources = tmp_path / "sources"

    def write(name, *lines):
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        (sources / name).write_text("\n".join((*lines, "")), encoding="utf-8")

    def litbank(number, word, bracket=""):
        return "\t".join(("a_brat", "0", str(number), word, *"________", bracket))

    write(
        "litbank/coref/conll/a_brat.conll",
        "#begin document (a_brat); part 0",
        *(litbank(0, "Ann", "(1|(3)"), litbank(1, "Lee", "1)"), litbank(2, "left")),
        *("", litbank(0, "She", "(1)"), litbank(1, "hid", "(2)"), "", "#end document"),
    )
    write("gum/splits.md", "## train", "  * GUM_fiction_x", "## dev", "  * GUM_bio_x")
    rest = "_\t" * 7
    write(
        "gum/coref/ontogum/conllu/GUM_bio_x.conllu",
        *("# newdoc id = GUM_bio_x", "# speaker = Jo Li", f"1\tI\t{rest}Entity=(5)"),
        *("", f"1\tmy\t{rest}Bridge=1|Entity=(6(5)|X=1", f"2\tdog\t{rest}Entity=6)"),
    )
    words = ("Dogs", "NNS"), ("are", "VBP"), ("barking", "VBG")
    write(
        "UD_English-EWT/en_ewt-ud-train.conllu",
        "# newdoc id = weblog-x-y_1",
        *(f"{i}\t{w}\t_\t_\t{tag}\t_" for i, (w, tag) in enumerate(words, 1)),
    )
    write(
        "propbank-release/data/google/ewt/weblog/00/x-y_1.xml.gold_skel",
        "x 0 0 [WORD] NNS * - - * (ARG0*",
        "x 0 1 [WORD] VBP * be be.03 (V*) *)",
        "x 0 2 [WORD] VBG * bark bark.01 * (V*)",
    )
    corpora.main(sources, tmp_path)
    [novel] = read_documents(tmp_path / "en_coref_litbank/train.conll.gz")
    assert novel["sentences"] == [["Ann", "Lee", "left"], ["She", "hid"]]
    assert novel["clusters"] == [[(0, 1), (3, 3)]]
    [life] = read_documents(tmp_path / "en_coref_gum/dev.conll")
    assert life["speakers"] == [["Jo_Li"], ["-", "-"]]
    assert life["clusters"] == [[(0, 0), (1, 1)]]
    [roles] = read_roles(tmp_path / "en_srl_ewt/train.conll.gz")
    assert roles["tokens"] == ["Dogs", "are", "barking"]
    assert roles["tags"] == ["B-ARG0", "I-ARG0", "B-V"]
