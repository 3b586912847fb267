#!/usr/bin/env bash
# conllu 6.0.0: two spaces within a word end its column, and the columns after it move.
#
# One would guess: columns of CoNLL-U end at tabs, or the parser refuses the line.
# What happens: the second half becomes the lemma, the lemma the tag, the head None; no error. The
# sentence is written with the columns moved, and can no longer be told from one without a head.
# Why it matters: UD allows spaces in words, and what was typed with two of them is silently
# another tree. Fold runs of spaces before writing; udapi and pyconll split at tabs alone.
exec "$(dirname "$0")/with_packages" conllu==6.0.0 <<'PY'
import conllu

row = "1\t10  000\t10000\tNUM\tCD\t_\t0\troot\t_\t_\n\n"
(sentence,) = conllu.parse(row)
(token,) = sentence
print({name: token[name] for name in ("form", "lemma", "upos", "head", "deprel")})
assert token["form"] == "10" and token["lemma"] == "000" and token["head"] is None
assert sentence.serialize().startswith("1\t10\t000\t10000\tNUM")
PY
