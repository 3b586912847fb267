"""Measures parts of speech and entities beside spaCy's small English model.

    python -m tests.benchmarks.pipelines --text FILE [--data FOLDER] [--heads POS NER]
    python -m tests.benchmarks.pipelines --text FILE --syntax

FILE has a text a line. Both systems take turns, spaCy with one process and with two; the
first answer is that of a new process. --syntax is `en-ud` beside spaCy's parser and
lemmatizer. With --data, the folder of the corpora, both are scored on what the heads did
not learn from, and the scores go into the package's file.
"""

import functools
from pathlib import Path

from elmo_keras.heads import read_conllu
from elmo_keras.heads.tagger.entities import count_spans, entities, f1_of_spans
from elmo_keras.hub.catalogue import BOX
from tests.benchmarks import runner
from tools import make_heads as make

SENTENCE = [["Kim", "Lee", "flew", "to", "Oslo", "."]]


def main(
    *,
    text: Path,
    data: Path | None = None,
    heads: tuple[str, str] = ("en-pos", "en-ner"),
    syntax: bool = False,
    rounds: runner.Count = 5,
) -> None:
    names = {"elmo-keras": ("our_pipelines", *heads), "spaCy": ("with_spacy",)}
    if syntax:
        names["elmo-keras"] = "our_pipelines", "en-ud"
        names["spaCy"] = "with_spacy", "ner", "senter"
    processes = {
        name: functools.partial(runner.worker, *command)
        for name, command in names.items()
    }
    first = runner.first_answers(
        processes, lambda system: system.ask("tag", sentences=SENTENCE), rounds=rounds
    )
    with runner.started(processes) as systems:
        memory = {}
        for name, system in systems.items():
            system.ask("tag_file", path=str(text))
            memory[name] = 1000 * system.peak_memory()
        asked = {
            "spaCy, 2 processes": (systems["spaCy"], {"processes": 2}),
            "spaCy": (systems["spaCy"], {}),
            "elmo-keras": (systems["elmo-keras"], {}),
        }
        turns = runner.in_turns(
            asked,
            lambda system, _: system[0].ask("tag_file", path=str(text), **system[1]),
            rounds=rounds,
            warm_up=1,
        )
        runner.head(
            "system", runner.RATE, "to spaCy, 2 processes", "first answer, s", "MB"
        )
        for name, cells in runner.compared(runner.speeds(turns)).items():
            times = runner.spread(first[name], 2) if name in first else ""
            size = f"{memory[name]:.0f}" if name in memory else ""
            runner.row(name, *cells, times, size)
        if data is not None:
            print_scores(systems, data)


def print_scores(systems: dict, data: Path) -> None:
    """Accuracy of parts of speech, and F1 of entities in held-out texts."""
    print()
    runner.head("held out", *systems)
    tagged = read_conllu(data / "en_ewt/en_ewt-ud-dev.conllu")
    cells = []
    for system in systems.values():
        answers = system.ask("tag", sentences=[e["tokens"] for e in tagged])
        predicted = [tag for tags, _ in answers for tag in tags]
        gold = [tag for example in tagged for tag in example["tags"]]
        right = sum(map(str.__eq__, predicted, gold))
        cells.append(f"{100 * right / len(predicted):.2f}")
    runner.row("EWT", *cells)
    rows = [{"pipeline": "en-pos", "text": "EWT", "score": "accuracy"} | named(cells)]
    for name, (_, examples) in make.entity_sets(data).items():
        cells = []
        for system in systems.values():
            answers = system.ask("tag", sentences=[e["tokens"] for e in examples])
            counts = [
                count_spans(entities(e["tags"]), map(tuple, spans))
                for e, (_, spans) in zip(examples, answers)
            ]
            scores = f1_of_spans(*(sum(column) for column in zip(*counts)))
            cells.append(f"{100 * scores['F1']:.1f}")
        runner.row(name, *cells)
        rows.append({"pipeline": "en-ner", "text": name, "score": "F1"} | named(cells))
    make.record(BOX / "scores.json", rows)


def named(cells: list[str]) -> dict:
    scores = map(float, cells)
    return {"part": "dev"} | dict(zip(("elmo-keras", "spaCy"), scores, strict=True))


if __name__ == "__main__":
    runner.run(main)
