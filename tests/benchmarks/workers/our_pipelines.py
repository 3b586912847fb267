"""elmo-keras' pipelines of parts of speech and entities, or of syntax: `our_pipelines.py NAME …`."""

import sys
import time

import protocol

from elmo_keras.heads.pipeline import pipeline, predict_texts
from elmo_keras.heads.texts import read_text

pipelines = [pipeline(name) for name in sys.argv[1:]]


def tag_file(path: str) -> dict:
    """Tags the lines of a file, without words that earlier runs know already."""
    for p in pipelines:
        p.embedder._read.words = p.embedder.new_words()
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    start, n_tokens = time.perf_counter(), 0
    texts = (read_text(0, line, pipelines[0].tokenizer) for line in lines)
    for text, predictions in predict_texts(pipelines, texts):
        for p, parts in zip(pipelines, predictions):
            p.annotate(text, parts)
        n_tokens += sum(map(len, text.sentences))
    return {"tokens": n_tokens, "seconds": time.perf_counter() - start}


def tag(sentences: list[list[str]]) -> list:
    """The tags of each sentence's tokens, and its entities; or what one pipeline gives."""
    if len(pipelines) == 1:
        return pipelines[0](sentences)
    tags, entities = (p(sentences) for p in pipelines)
    return [
        (
            [token["label"] for token in row],
            [(s["start"], s["end"], s["label"]) for s in spans],
        )
        for row, spans in zip(tags, entities)
    ]


protocol.answer_requests(
    protocol.hello("ai-edge-litert"),
    {"tag_file": tag_file, "tag": tag},
)
