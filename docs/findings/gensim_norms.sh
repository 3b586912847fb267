#!/usr/bin/env bash
# gensim 4.4.0: after vectors are replaced, cosines come out above 1.
#
# One would guess: KeyedVectors computes norms of the vectors that it has.
# What happens: the first search computes the norms of all rows. A row that is replaced keeps the
# norm of the old one, so that most_similar ranks it by its length; where rows are added, it raises
# ValueError or IndexError.
# Why it matters: a store of ELMo vectors that is updated gives wrong neighbours without an error.
# Call fill_norms(force=True) after each change.
exec "$(dirname "$0")/with_packages" gensim==4.4.0 <<'PY'
import numpy as np
from gensim.models import KeyedVectors

words = KeyedVectors(2)
rows = np.array([[1, 0], [1, 1], [0, 1]], np.float32)
words.add_vectors(["bank", "shore", "money"], rows)
words.most_similar("bank")
words["money"] = np.array([30, 1], np.float32)
stale = dict(words.most_similar("bank"))
print("after words['money'] = …:", stale)
words.fill_norms(force=True)
right = dict(words.most_similar("bank"))
print("after fill_norms(force=True):", right)
assert stale["money"] > 29 and 0.99 < right["money"] < 1
PY
