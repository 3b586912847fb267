#!/usr/bin/env bash
# spaCy 3.8.18: a component that is being loaded is asked for its labels before it was read.
#
# One would guess: from_disk comes first, since the labels stand in what it reads.
# What happens: spacy.load builds the component, asks for `labels` twice, and only then calls
# from_disk. A property that reads the model from an attribute raises AttributeError there.
# Why it matters: components whose labels come from their files must answer () until then.
exec "$(dirname "$0")/with_packages" spacy==3.8.18 <<'PY'
import spacy
from spacy.language import Language

calls = []


@Language.factory("probe")
class Probe:
    def __init__(self, nlp, name):
        calls.append("__init__")

    def __call__(self, doc):
        return doc

    @property
    def labels(self):
        calls.append("labels")
        return ()

    def to_disk(self, path, exclude=()):
        path.mkdir()

    def from_disk(self, path, exclude=()):
        calls.append("from_disk")
        return self


nlp = spacy.blank("en")
nlp.add_pipe("probe")
nlp.to_disk("pipeline")
calls.clear()
spacy.load("pipeline")
print("spacy.load calls", calls)
assert calls.index("labels") < calls.index("from_disk")
PY
