"""The programs by which others score: udtools (CoNLL 2018), seqeval and scorch."""

import importlib.metadata
import io

import protocol
from scorch.scores import conll2012
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


def coreference(gold: list[list], system: list[list]) -> float:
    """CoNLL F1 of clusters of mentions."""
    files = ([{*map(tuple, cluster)} for cluster in x] for x in (gold, system))
    return 100 * conll2012(*files)


names = [
    f"{n} {importlib.metadata.version(n)}" for n in ("udtools", "seqeval", "scorch")
]
requests = {
    "universal_dependencies": universal_dependencies,
    "entities": entities,
    "coreference": coreference,
}
protocol.answer_requests(", ".join(names), requests)
