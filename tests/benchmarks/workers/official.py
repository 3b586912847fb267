"""The programs by which others score: udtools (CoNLL 2018) and seqeval."""

import importlib.metadata
import io

import protocol
from seqeval.metrics import f1_score
from seqeval.scheme import IOB2
from udtools.udeval import evaluate, load_conllu


def universal_dependencies(
    gold: str, system: str, measures: list[str]
) -> dict[str, float]:
    """F1 of each measure, of two files of CoNLL-U as text."""
    files = (load_conllu(io.StringIO(text), "", {}) for text in (gold, system))
    scores = evaluate(*files)
    return {name: 100 * scores[name].f1 for name in measures}


def entities(gold: list[list[str]], system: list[list[str]]) -> dict[str, float]:
    """Micro and macro F1 of tags in IOB2."""
    return {
        average: 100
        * f1_score(gold, system, average=average, mode="strict", scheme=IOB2)
        for average in ("micro", "macro")
    }


names = [f"{n} {importlib.metadata.version(n)}" for n in ("udtools", "seqeval")]
requests = {"universal_dependencies": universal_dependencies, "entities": entities}
protocol.answer_requests(", ".join(names), requests)
