#!/usr/bin/env bash
# spaCy 3.8.18: after a token is split, doc.tensor has a row more than the doc has tokens.
#
# One would guess: as many rows as tokens, and the pieces keep the row of their token.
# What happens: the pieces have zeros, and one more row of zeros comes after the last token. Docs that
# are joined later get each other's rows, without an error.
# Why it matters: token vectors such as ELMo's lie in doc.tensor, and tokens are split to match another
# tokenisation. Compute the vectors after splitting.
exec "$(dirname "$0")/with_packages" spacy==3.8.18 <<'PY'
import numpy as np
import spacy
from spacy.tokens import Doc

nlp = spacy.blank("en")
split, other = (Doc(nlp.vocab, words) for words in (["I", "gonna", "go"], ["or", "stay"]))
for doc in split, other:
    doc.tensor = np.float32([[token.i + 1] for token in doc])
with split.retokenize() as retokenizer:
    retokenizer.split(split[1], ["gon", "na"], heads=[split[1], split[1]])
rows = split.tensor.ravel().tolist()
print([token.text for token in split], rows)
joined = Doc.from_docs([split, other])
print("joined:", [(token.text, *token.tensor.tolist()) for token in joined])
assert rows == [1, 0, 0, 3, 0] and len(split) == 4
assert joined[5].text == "stay" and joined[5].tensor == [1]
PY
