"""A model that reads documents; `long_documents.py` starts it.

python long_documents_worker.py TASK MODEL

Each line of standard input is a document, a list of sentences, which are lists of
tokens.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from elmo_keras import Elmo
from elmo_keras.tasks import Answerer, Coreferent, TokenVectors

QUESTION = "Who was it that came home ?"


def main(task: str, model: Path) -> None:
    """Answers each document with the seconds that it took."""
    solve = solver(task, TokenVectors(["it"], elmo=Elmo.from_pretrained(model)))
    print(json.dumps({}), flush=True)
    for line in sys.stdin:
        document = json.loads(line)
        start = time.perf_counter()
        solve(document)
        print(json.dumps({"seconds": time.perf_counter() - start}), flush=True)


def solver(task: str, vectors: TokenVectors) -> Callable[[list[list[str]]], object]:
    """What resolves a document's mentions, or finds the answer to a question in it."""
    if task == "coreference":
        return Coreferent(vectors).resolve
    answerer = Answerer(vectors)
    return lambda document: answerer.answer(
        " ".join(token for sentence in document for token in sentence), QUESTION
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
