"""The gain by ELMo in each task: the first table of the research notes, and its chart.

    python -m tests.benchmarks.gains DATA OUT [FOLDER …] --word-vectors EN KO

DATA is the folder of the corpora, OUT keeps the runs: the same command resumes. Words of
the tasks' models start from random vectors, and again from those of --word-vectors,
static vectors of English and of Korean. The biLM is the package's, in int8. Where a file
has no test part, a fifth of it is held out, chooses the epoch and gives the score.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from elmo_keras.heads import (
    Answering,
    Classification,
    Coreference,
    Entailment,
    EntityTagging,
    PosTagging,
    RoleTagging,
    Settings,
)
from examples import paper
from tests.benchmarks import runner
from tests.benchmarks.chart import Bar, draw_bars
from tools.convert import convert
from tools.make_heads import WIKIGOLD

SMALLEST_P = 0.001  # the lowest of 1,000 exchanges


class Row(NamedTuple):
    """A task on the files of a folder, to train on and to test; and the paper's gain."""

    task: Any
    title: str
    files: str
    epochs: int
    patience: int
    seeds: int
    paper: str = "–"


PARTS, SMALL = "train.conll.gz dev.conll", "klue-ner-v1.1_dev.first4000.tsv"
GOLD = WIKIGOLD.partition("/")[2]
KORQUAD = "korquad_train.json korquad_dev.json"
WNUT = "wnut17train.conll emerging.dev.conll"
NSMC, SST = "ratings_train.txt ratings_valid.txt", "sst_train.txt sst_dev.txt"
EWT, GSD = (f"{x}-ud-train.conllu {x}-ud-dev.conllu" for x in ("en_ewt", "ko_gsd"))
SQUAD, CONLL, ONTONOTES = "SQuAD, +4.7", "CoNLL-2003, +2.1", "OntoNotes, +3.2"
NER, POS, TEXTS = EntityTagging(), PosTagging(), Classification()
ROWS = {  # folders, which begin with the name of the language model
    "en_qa": Row(Answering(), "questions", "train.json dev.json", 4, 2, 1, SQUAD),
    "ko_qa": Row(Answering(metric="korquad"), "questions, Korean", KORQUAD, 4, 2, 1),
    "en_snli": Row(Entailment(), "entailment", "dev.txt", 6, 2, 3, "SNLI, +0.7"),
    "en_srl_ewt": Row(RoleTagging(), "semantic roles", PARTS, 5, 2, 1, ONTONOTES),
    "en_coref_litbank": Row(Coreference(), "coreference", PARTS, 8, 2, 3, ONTONOTES),
    "en_ner_misc": Row(NER, "entities, Wikigold", GOLD, 15, 3, 3, CONLL),
    "ko_klue": Row(NER, "entities, Korean", SMALL, 8, 2, 1, CONLL),
    "en_sst5": Row(TEXTS, "sentiment", SST, 8, 2, 3, "SST-5, +3.3"),
    "ko_nsmc": Row(TEXTS, "sentiment, Korean, 10,000", NSMC, 8, 2, 3),
    "en_ewt": Row(POS, "parts of speech", EWT, 6, 2, 1),
    "ko_ud_gsd": Row(POS, "parts of speech, Korean", GSD, 10, 3, 1),
    "en_ner_wnut17": Row(NER, "entities", WNUT, 15, 3, 3, CONLL),
    "en_coref_gum": Row(Coreference(), "coreference", PARTS, 20, 4, 1, ONTONOTES),
    "ko_coref_koconovel": Row(Coreference(), "coreference, Korean", PARTS, 10, 4, 1),
    "en_goemotions": Row(TEXTS, "emotions, a fifth", "train.tsv dev.tsv", 8, 2, 1),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "ko_nsmc": {"limit": 10_000},
    "en_goemotions": {"share": 0.2},
}
FORMATS = {  # folders whose files are converted
    "en_snli": "tabs",
    "en_sst5": "fasttext",
    "en_goemotions": "goemotions",
    "ko_klue": "klue-ner",
    "ko_nsmc": "nsmc",
}
Folder = Literal[tuple(ROWS)]


class Measured(NamedTuple):
    """The scores of a task without and with ELMo, and the p of their difference."""

    score: str
    baseline: list[float]
    elmo: list[float]
    p: float

    @property
    def gain(self) -> float:
        return 100 * float(np.mean(self.elmo) - np.mean(self.baseline))

    def cells(self) -> list[str]:
        p = f", p&nbsp;{self.p:.3f}" if self.p > SMALLEST_P else ""
        scores = _spread(self.baseline), _spread(self.elmo)
        return [*scores, f"{self.gain:+.2f}{p}"]


def _spread(scores):
    mean = f"{100 * np.mean(scores):.2f}"
    return f"{mean} ± {100 * np.std(scores, ddof=1):.2f}" if len(scores) > 1 else mean


def main(
    data: Path,
    output: Path,
    folders: Sequence[Folder] = (),
    /,
    *,
    word_vectors: tuple[Path, Path] | None = None,
    picture: Path | None = None,
) -> None:
    """Measures the tasks of these folders, all if none is named."""
    starts = ["random", "word2vec"] if word_vectors else ["random"]
    vectors: dict[str, Path] = dict(zip(("en", "ko"), word_vectors or ()))
    by_folder: dict[str, list[Measured]] = {}
    for folder in folders or ROWS:
        settings = [settings_of(folder, data, output / folder)]
        if word_vectors:
            changed: Any = {
                "word_vectors": vectors[folder[:2]],
                "output": output / f"{folder}-word2vec",
            }
            settings.append(dataclasses.replace(settings[0], **changed))
        by_folder[folder] = [measure(ROWS[folder], start) for start in settings]
    columns = [[f"{start}: baseline", "with ELMo", "gain"] for start in starts]
    runner.head("task", "score", *sum(columns, []), "the paper")
    for folder, measured in by_folder.items():
        title = f"{ROWS[folder].title}, `{folder}`"
        cells = [cell for run in measured for cell in run.cells()]
        runner.row(title, measured[0].score, *cells, ROWS[folder].paper)
    if picture:
        draw(by_folder, picture)


def settings_of(folder: str, data: Path, output: Path) -> Settings:
    row = ROWS[folder]
    train, *test = (data / folder / name for name in row.files.split())
    if name := FORMATS.get(folder):
        output.mkdir(parents=True, exist_ok=True)
        converted = [output / path.name for path in (train, *test)]
        for path, new in zip((train, *test), converted):
            convert(name, path, new)
        train, *test = converted
    settings = paper.PaperSettings(
        train=train,
        test=test[0] if test else None,
        dev_share=0.1 if test else 0.2,
        output=output,
        model=folder[:2],
        arithmetic="int8",
        epochs=row.epochs,
        patience=row.patience,
        **SETTINGS.get(folder, {}),
    )
    return settings.of_task(row.task)


def measure(row: Row, settings: Settings) -> Measured:
    """Trains what is missing; p compares the models with a biLM in float32."""
    rows = paper.rows_of("models", settings, [settings.model or ""], ())
    seeds = range(1, row.seeds + 1)
    baseline, elmo = paper.run(row.task, rows, seeds).values()
    ((*_, p),) = paper.paired_tests(row.task, rows, seeds)
    score, scores = paper.first_scores(baseline)
    return Measured(score, scores, paper.first_scores(elmo)[1], p)


def draw(by_folder: dict[str, list[Measured]], path: Path) -> None:
    """Draws the gains where words start from random vectors."""
    bars = [
        Bar(f"{ROWS[folder].title}, {folder}", run.gain, f"{run.gain:+.1f}")
        for folder, (run, *_) in by_folder.items()
    ]
    draw_bars("Gain from ELMo, points", bars, path)


if __name__ == "__main__":
    runner.run(main)
